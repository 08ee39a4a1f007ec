//! Request numbers, and the one unsafe call.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// An ioctl argument block.
pub trait Request: FromBytes + IntoBytes + Immutable {
    /// The request number: direction, size, type and number, as `_IOC` packs them.
    const NUMBER: u32;
    /// The kernel's name of the request.
    const NAME: &'static str;
}

/// `_IOC(direction, kind, nr, size)`; direction 1 writes to the kernel, 2 reads from it, 3 both.
pub const fn number(direction: u32, kind: u8, nr: u8, size: usize) -> u32 {
    direction << 30 | (size as u32) << 16 | (kind as u32) << 8 | nr as u32
}

/// (type, number) of a request number.
pub const fn number_parts(request: u32) -> (u8, u8) {
    ((request >> 8) as u8, request as u8)
}

/// Declares requests: `Struct = direction, type, number, size, KERNEL_NAME = expected number;`
macro_rules! requests {
    ($($ty:ty = $dir:literal, $kind:literal, $nr:literal, $size:literal, $name:literal;)*) => {$(
        impl $crate::Request for $ty {
            const NUMBER: u32 = $crate::number($dir, $kind, $nr, size_of::<$ty>());
            const NAME: &'static str = $name;
        }
        const _: () = assert!(size_of::<$ty>() == $size);
    )*};
}
pub(crate) use requests;

/// Issues a request, again after a signal.
///
/// # Errors
/// The kernel's.
///
/// # Safety
/// Every pointer-valued field of `args` must satisfy the contract of this request: valid for the
/// reads and writes the kernel makes through it.
pub unsafe fn call<R: Request>(fd: BorrowedFd<'_>, args: &mut R) -> io::Result<()> {
    loop {
        // SAFETY: `args` is a live block of exactly the size encoded in the request number; the
        // pointers inside it are the caller's promise.
        let result = unsafe {
            libc::ioctl(
                fd.as_raw_fd(),
                libc::c_ulong::from(R::NUMBER),
                std::ptr::from_mut(args),
            )
        };
        if result != -1 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
