//! The render node.

mod gem;
mod info;
mod submit;

use nix::errno::Errno;
use strobe_kfd::render::{GetCap, GetClient, Version};

use super::caller::Caller;
use super::request::{Block, Named, args, unknown};

/// # Safety
/// The block must be that of the request; pointers in it are the caller's promise.
pub(super) unsafe fn answer(
    caller: &Caller<'_>,
    number: u8,
    block: &mut Block,
) -> Result<(), Errno> {
    // SAFETY: each function gets the block of its own request.
    unsafe {
        match number {
            0x00 => version(args(block)),
            0x05 => client(args(block)),
            0x09 => gem::close(caller, args(block)),
            0x0c => capability(args(block)),
            0x2d => gem::handle_to_fd(caller, args(block)),
            0x2e => gem::fd_to_handle(caller, args(block)),
            0x40 => gem::create(caller, args(block)),
            0x41 => gem::mmap(caller, args(block)),
            0x42 => submit::context(caller, args(block)),
            0x43 => submit::bo_list(args(block)),
            0x44 => submit::submit(caller, args(block)),
            0x45 => info::answer(caller, args(block)),
            0x47 => gem::wait_idle(args(block)),
            0x48 => gem::va(caller, args(block)),
            0x49 => submit::wait(args(block)),
            0x50 => gem::operate(caller, args(block)),
            0x51 => gem::userptr(caller, args(block)),
            0x59 => gem::list(caller, args(block)),
            _ => {
                static NAMED: Named = Named::new();
                Err(unknown(&NAMED, "DRM", number))
            }
        }
    }
}

/// # Safety
/// The text pointers must be valid for the lengths beside them.
unsafe fn version(args: &mut Version) -> Result<(), Errno> {
    args.major = 3;
    args.minor = 57;
    args.patch = 0;
    let texts: [(&mut u64, u64, &[u8]); 3] = [
        (&mut args.name_len, args.name, b"amdgpu"),
        (&mut args.date_len, args.date, b"20150101"),
        (&mut args.desc_len, args.desc, b"AMD GPU"),
    ];
    for (length, pointer, text) in texts {
        let room = (*length as usize).min(text.len());
        if pointer != 0 && room > 0 {
            // SAFETY: the caller has `room` bytes there.
            unsafe {
                text.as_ptr()
                    .copy_to_nonoverlapping(pointer as *mut u8, room)
            };
        }
        *length = text.len() as u64;
    }
    Ok(())
}

fn client(args: &mut GetClient) -> Result<(), Errno> {
    if args.index != 0 {
        return Err(Errno::EINVAL);
    }
    args.auth = 1;
    args.pid = u64::from(std::process::id());
    args.uid = u64::from(nix::unistd::getuid().as_raw());
    Ok(())
}

fn capability(args: &mut GetCap) -> Result<(), Errno> {
    /// Sharing by dma-buf: import and export.
    const PRIME: u64 = 5;
    args.value = if args.capability == PRIME { 3 } else { 0 };
    Ok(())
}
