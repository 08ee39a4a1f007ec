//! The render node.

mod gem;
mod info;
mod submit;

use nix::errno::Errno;
use strobe_kfd::render::context::{BoList, Ctx};
use strobe_kfd::render::gem::{Close, Create, GemOp, ListHandles, Mmap, Userptr, Va, WaitIdle};
use strobe_kfd::render::info::Info;
use strobe_kfd::render::prime::{FdToHandle, HandleToFd};
use strobe_kfd::render::submit::{Submit, WaitSubmit};
use strobe_kfd::render::{GetCap, GetClient, Version};

use super::caller::Caller;
use super::request::{Block, Named, args, by_request, unknown};

/// # Safety
/// The block must be that of the request; pointers in it are the caller's promise.
pub(super) unsafe fn answer(caller: &Caller, number: u8, block: &mut Block) -> Result<(), Errno> {
    // SAFETY: each function gets the block of its own request.
    unsafe {
        by_request!(number {
            Version => version(args(block)),
            GetClient => client(args(block)),
            Close => gem::close(caller, args(block)),
            GetCap => capability(args(block)),
            HandleToFd => gem::handle_to_fd(caller, args(block)),
            FdToHandle => gem::fd_to_handle(caller, args(block)),
            Create => gem::create(caller, args(block)),
            Mmap => gem::mmap(caller, args(block)),
            Ctx => submit::context(caller, args(block)),
            BoList => submit::bo_list(args(block)),
            Submit => submit::submit(caller, args(block)),
            Info => info::answer(caller, args(block)),
            WaitIdle => gem::wait_idle(args(block)),
            Va => gem::va(caller, args(block)),
            WaitSubmit => submit::wait(args(block)),
            GemOp => gem::operate(caller, args(block)),
            Userptr => gem::userptr(caller, args(block)),
            ListHandles => gem::list(caller, args(block)),
        } else {
            static NAMED: Named = Named::new();
            Err(unknown(&NAMED, "DRM", number))
        })
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
