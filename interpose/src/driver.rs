//! `ioctl`: requests that make, change and end hardware queues are seen by the agent, which can stop them then, and so is
//! what is mapped for the GPU by handles.

use crate::next::Next;
use std::ffi::{c_int, c_ulong, c_void};
use std::mem::transmute;
use strobe_agent::{mapped, queues};

static IOCTL: Next = Next::new(c"ioctl");
pub(crate) static FUNCTIONS: [&Next; 1] = [&IOCTL];

/// As in the C library, whose variable argument is passed in the same register.
#[unsafe(no_mangle)]
unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    type Ioctl = unsafe extern "C" fn(c_int, c_ulong, *mut c_void) -> c_int;
    // SAFETY: the C library's function of this name, or of who wraps it, too.
    let real: Ioctl = unsafe { transmute(IOCTL.found()) };
    // SAFETY: the caller's arguments.
    let real = |argument| unsafe { real(fd, request, argument) };
    if queues::concerns(request) {
        // SAFETY: the caller's promise, for a request of this number.
        return unsafe { queues::request(request, argument, real) };
    }
    if mapped::concerns(request) {
        // SAFETY: as above.
        return unsafe { mapped::request(fd, request, argument, || real(argument)) };
    }
    real(argument)
}
