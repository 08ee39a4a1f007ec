//! The C library's functions that open a file to write, or give one another name: the path is remembered
//! ([`strobe_agent::written_files`]), and the program's own call goes on to the C library.
//!
//! They are naked and jump on, so whatever the real function does (variadic arguments, cancellation, `errno`)
//! is between the program and it.

use crate::dynamic::is_own;
use crate::glibc;
use std::arch::naked_asm;
use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use strobe_agent::written_files::note;

/// An argument of whichever function it is.
type Argument = usize;

/// A function of the C library.
struct Function {
    name: &'static CStr,
    real: AtomicPtr<()>,
}

impl Function {
    const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            real: AtomicPtr::new(absent as *const () as *mut ()),
        }
    }
}

/// A C library has all of them.
extern "C" fn absent() -> ! {
    std::process::abort()
}

/// Finds all at the first call of any. That takes a lock of the dynamic linker's, which another thread may have
/// had when a process was forked: so it is done when a program begins to open files, and not in such a child.
#[inline]
fn resolve() {
    static RESOLVED: AtomicBool = AtomicBool::new(false);
    if RESOLVED.load(Ordering::Acquire) {
        return;
    }
    for function in FUNCTIONS {
        if let Some(real) = glibc::dlsym(libc::RTLD_NEXT, function.name) {
            function.real.store(real, Ordering::Release);
        }
    }
    RESOLVED.store(true, Ordering::Release);
}

/// `$name` is what is exported; the body says which path is remembered for the arguments.
macro_rules! remembered {
    ($($name:ident($($argument:ident),*) $body:block)*) => {
        $(
            /// As in the C library.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            extern "C" fn $name() {
                extern "C" fn before(
                    a: Argument,
                    b: Argument,
                    c: Argument,
                    d: Argument,
                    _: Argument,
                    caller: usize,
                ) {
                    resolve();
                    let mut arguments = [a, b, c, d].into_iter();
                    $(let $argument = arguments.next().unwrap_or_default();)*
                    // What the agent writes is none of the program's files.
                    if !is_own(caller) {
                        $body
                    }
                }
                naked_asm!(
                    "push rdi", "push rsi", "push rdx", "push rcx", "push r8",
                    "mov r9, [rsp + 40]",
                    "call {before}",
                    "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                    "jmp qword ptr [rip + {function} + {real}]",
                    before = sym before,
                    function = sym functions::$name,
                    real = const std::mem::offset_of!(Function, real),
                )
            }
        )*

        /// The real ones.
        #[allow(non_upper_case_globals, reason = "the names are the C library's")]
        mod functions {
            use super::Function;

            $(
                pub(super) static $name: Function = Function::new(
                    match super::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => panic!("a name"),
                    },
                );
            )*
        }

        static FUNCTIONS: &[&Function] = &[$(&functions::$name),*];
    };
}

remembered! {
    open(path, flags) { opens(libc::AT_FDCWD, path, flags) }
    open64(path, flags) { opens(libc::AT_FDCWD, path, flags) }
    openat(folder, path, flags) { opens(folder as c_int, path, flags) }
    openat64(folder, path, flags) { opens(folder as c_int, path, flags) }
    creat(path) { opens(libc::AT_FDCWD, path, libc::O_WRONLY as Argument) }
    creat64(path) { opens(libc::AT_FDCWD, path, libc::O_WRONLY as Argument) }
    fopen(path, mode) { opens_stream(path, mode) }
    fopen64(path, mode) { opens_stream(path, mode) }
    freopen(path, mode) { opens_stream(path, mode) }
    freopen64(path, mode) { opens_stream(path, mode) }
    link(_old, new) { remember(libc::AT_FDCWD, new) }
    linkat(_from, _old, folder, new) { remember(folder as c_int, new) }
    rename(_old, new) { remember(libc::AT_FDCWD, new) }
    renameat(_from, _old, folder, new) { remember(folder as c_int, new) }
    renameat2(_from, _old, folder, new) { remember(folder as c_int, new) }
}

fn opens(folder: c_int, path: Argument, flags: Argument) {
    if flags as c_int & (libc::O_WRONLY | libc::O_RDWR) != 0 {
        remember(folder, path);
    }
}

fn opens_stream(path: Argument, mode: Argument) {
    if mode == 0 {
        return;
    }
    // SAFETY: the C library reads the same string.
    let mode = unsafe { CStr::from_ptr(mode as *const c_char) };
    if mode.to_bytes().iter().any(|letter| b"wa+".contains(letter)) {
        remember(libc::AT_FDCWD, path);
    }
}

fn remember(folder: c_int, path: Argument) {
    // SAFETY: the program is about to pass it to the kernel.
    unsafe { note(folder, path as *const c_char) };
}
