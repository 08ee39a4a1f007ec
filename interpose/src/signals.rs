//! `sigaction` and `signal`: while device memory is away, SIGSEGV is how the CPU is kept from that, and what the program wants
//! done about it is kept for it. (HIP's compiler sets handlers, and gives back what was before them.)

use crate::next::Next;
use libc::{sigaction as Action, sighandler_t};
use std::ffi::c_int;
use std::mem::{transmute, zeroed};
use std::ptr;
use strobe_agent::handles_segv;

static SIGACTION: Next = Next::new(c"sigaction");
static SIGNAL: Next = Next::new(c"signal");
pub(crate) static FUNCTIONS: [&Next; 2] = [&SIGACTION, &SIGNAL];

/// As in the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigaction(signal: c_int, new: *const Action, old: *mut Action) -> c_int {
    // SAFETY: the caller's arguments.
    if signal == libc::SIGSEGV && unsafe { handles_segv(new, old) } {
        return 0;
    }
    type Sigaction = unsafe extern "C" fn(c_int, *const Action, *mut Action) -> c_int;
    // SAFETY: the C library's function of this name, or of who wraps it, too.
    let real: Sigaction = unsafe { transmute(SIGACTION.found()) };
    // SAFETY: the caller's arguments.
    unsafe { real(signal, new, old) }
}

/// As in the C library, where calls that a handler has interrupted go on.
#[unsafe(no_mangle)]
unsafe extern "C" fn signal(signal: c_int, handler: sighandler_t) -> sighandler_t {
    if signal == libc::SIGSEGV && handler != libc::SIG_ERR {
        // SAFETY: plain data, of which zeros are a value.
        let (mut new, mut old): (Action, Action) = unsafe { zeroed() };
        new.sa_sigaction = handler;
        new.sa_flags = libc::SA_RESTART;
        // SAFETY: valid places.
        if unsafe { handles_segv(ptr::from_ref(&new), &raw mut old) } {
            return old.sa_sigaction;
        }
    }
    type Signal = unsafe extern "C" fn(c_int, sighandler_t) -> sighandler_t;
    // SAFETY: the C library's function of this name, or of who wraps it, too.
    let real: Signal = unsafe { transmute(SIGNAL.found()) };
    // SAFETY: the caller's arguments.
    unsafe { real(signal, handler) }
}
