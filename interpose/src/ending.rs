//! The ways in which a program ends: by a call of `exit`, or out of `main`.
//!
//! A thread of ours may be in HIP then, during a checkpoint. What HIP and its compiler have is destroyed by handlers of the
//! exit, the last registered first, and some are registered under our call: no handler of ours is sure to run before
//! them. So the end is met where it begins.

use std::ffi::{c_char, c_int, c_void};
use std::mem::transmute;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::files::resolve;
use crate::next::Next;

static EXIT: Next = Next::new(c"exit");
static START: Next = Next::new(c"__libc_start_main");
pub(crate) static FUNCTIONS: [&Next; 2] = [&EXIT, &START];

/// The program's.
static MAIN: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

type Main = unsafe extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;

/// As in the C library, which calls this from the program's first instructions.
#[unsafe(no_mangle)]
unsafe extern "C" fn __libc_start_main(
    main: Main,
    count: c_int,
    arguments: *mut *mut c_char,
    begin: *const c_void,
    end: *const c_void,
    end_of_linker: *const c_void,
    stack: *const c_void,
) -> c_int {
    type Start = unsafe extern "C" fn(
        Main,
        c_int,
        *mut *mut c_char,
        *const c_void,
        *const c_void,
        *const c_void,
        *const c_void,
    ) -> c_int;
    MAIN.store(main as *mut (), Ordering::Relaxed);
    resolve();
    // SAFETY: the C library's function of this name.
    let real: Start = unsafe { transmute(START.real()) };
    // SAFETY: the program's call; its `main` is called by ours.
    unsafe { real(ours, count, arguments, begin, end, end_of_linker, stack) }
}

unsafe extern "C" fn ours(
    count: c_int,
    arguments: *mut *mut c_char,
    environment: *mut *mut c_char,
) -> c_int {
    // SAFETY: it was stored before the C library began.
    let main: Main = unsafe { transmute(MAIN.load(Ordering::Relaxed)) };
    // SAFETY: what the C library passes.
    let code = unsafe { main(count, arguments, environment) };
    strobe_agent::before_exit();
    code
}

/// As in the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn exit(code: c_int) -> ! {
    strobe_agent::before_exit();
    resolve();
    // SAFETY: the C library's function of this name.
    let real: unsafe extern "C" fn(c_int) -> ! = unsafe { transmute(EXIT.real()) };
    // SAFETY: the program's call.
    unsafe { real(code) }
}
