//! Options of sockets that newer kernels know for some of them only.
//!
//! CRIU before 4.2 asks every socket whether it passes credentials, and gives up where the answer is an error;
//! Linux says EOPNOTSUPP for those that never do (`sk_may_scm_recv` in include/net/sock.h; with 6.18 those of
//! IP, seen). What they never do is not switched on; so this library's `getsockopt` says that, and comes
//! before the C library's, as the functions of `stops` do.

use std::ffi::{c_int, c_void};

use libc::{SO_PASSCRED, SO_PASSSEC, SOL_SOCKET, socklen_t};
use nix::errno::Errno;

use crate::limits::syscall;

/// As getsockopt(2) in the C library, but of what a socket cannot pass it says that it is off.
///
/// # Safety
///
/// As there.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn getsockopt(
    socket: c_int,
    level: c_int,
    option: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    // SAFETY: the caller's arguments, of which the call takes five.
    let result = unsafe {
        syscall(
            libc::SYS_getsockopt,
            socket as usize,
            level as usize,
            option as usize,
            value.addr(),
            len.addr(),
            0,
        )
    } as c_int;
    let is_passing = level == SOL_SOCKET && [SO_PASSCRED, SO_PASSSEC].contains(&option);
    if result == 0 || !is_passing || Errno::last() != Errno::EOPNOTSUPP {
        return result;
    }
    // SAFETY: the kernel has read the length before it looked at the option.
    let room = unsafe { *len } as usize;
    let off = 0 as c_int;
    if value.is_null() || room < size_of_val(&off) {
        return result;
    }
    // SAFETY: there is room for it, as the caller has said.
    unsafe { value.cast::<c_int>().write_unaligned(off) };
    // SAFETY: as above; the kernel writes there, too.
    unsafe { *len = size_of_val(&off) as socklen_t };
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixDatagram;

    use nix::sys::socket::{setsockopt, sockopt};

    fn asked(socket: &impl AsRawFd, level: c_int, option: c_int) -> Result<c_int, Errno> {
        let (mut value, mut len) = (-1 as c_int, size_of::<c_int>() as socklen_t);
        let place = (&raw mut value).cast();
        // SAFETY: room for a number, and its length.
        let result = unsafe { getsockopt(socket.as_raw_fd(), level, option, place, &raw mut len) };
        match result {
            0 => Ok(value),
            _ => Err(Errno::last()),
        }
    }

    #[test]
    fn what_a_socket_cannot_pass_is_off_and_the_rest_is_as_the_kernel_says() {
        let inet = UdpSocket::bind("127.0.0.1:0").expect("a port");
        for option in [SO_PASSCRED, SO_PASSSEC] {
            assert_eq!(asked(&inet, SOL_SOCKET, option), Ok(0));
        }
        assert_eq!(asked(&inet, SOL_SOCKET, libc::SO_DOMAIN), Ok(libc::AF_INET));
        assert_eq!(asked(&inet, SOL_SOCKET, 4711), Err(Errno::ENOPROTOOPT));
        let unix = UnixDatagram::unbound().expect("a socket");
        for on in [false, true] {
            setsockopt(&unix, sockopt::PassCred, &on).expect("it passes them");
            assert_eq!(asked(&unix, SOL_SOCKET, SO_PASSCRED), Ok(on.into()));
        }
    }
}
