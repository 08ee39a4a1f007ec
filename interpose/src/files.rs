//! The C library's functions that open a file to write, or give one another name: the path is remembered
//! ([`strobe_agent::written_files`]), and the program's own call goes on to the C library.
//!
//! They are naked and jump on, so whatever the real function does (variadic arguments, cancellation, `errno`)
//! is between the program and it.

use crate::dynamic::is_own;
use crate::glibc;
use std::arch::naked_asm;
use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicPtr, Ordering};
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

    fn resolve(&self) {
        if self.real.load(Ordering::Acquire).cast_const() == absent as *const ()
            && let Some(real) = glibc::dlsym(libc::RTLD_NEXT, self.name)
        {
            self.real.store(real, Ordering::Release);
        }
    }
}

/// A C library has all of them.
extern "C" fn absent() -> ! {
    std::process::abort()
}

/// `$name` is what is exported; the body says which path is remembered for the arguments.
macro_rules! remembered {
    ($($name:ident($($argument:ident),*) $body:block)*) => {
        $(
            /// As in the C library.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            extern "C" fn $name() {
                static FUNCTION: Function = Function::new(
                    match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => panic!("a name"),
                    },
                );
                extern "C" fn before(
                    a: Argument,
                    b: Argument,
                    c: Argument,
                    d: Argument,
                    _: Argument,
                    caller: usize,
                ) {
                    FUNCTION.resolve();
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
                    function = sym FUNCTION,
                    real = const std::mem::offset_of!(Function, real),
                )
            }
        )*
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
