//! The C library's functions that open a file to write, and that make, remove and rename what has a name: it goes into
//! the journal ([`strobe_agent::journal`]), and the program's own call goes on to the C library.
//!
//! They are naked and jump on, so whatever the real function does (variadic arguments, cancellation, `errno`)
//! is between the program and it.

use crate::dynamic::is_own;
use crate::next::Next;
use crate::{children, driver, ending, signals};
use std::arch::naked_asm;
use std::ffi::{CStr, c_char, c_int, c_uint};
use std::sync::atomic::{AtomicBool, Ordering};
use strobe_agent::children::NewProgram;
use strobe_agent::given::look_up;
use strobe_agent::journal::{Change, Given, note, note_binding, note_removal, note_renaming};

/// An argument of whichever function it is.
type Argument = usize;

/// Finds all at the first call of any.
#[inline]
pub(crate) fn resolve() {
    static RESOLVED: AtomicBool = AtomicBool::new(false);
    if RESOLVED.load(Ordering::Acquire) {
        return;
    }
    let others = children::FUNCTIONS.into_iter().chain(ending::FUNCTIONS);
    let others = others.chain(driver::FUNCTIONS);
    let others = others.chain(signals::FUNCTIONS);
    FUNCTIONS.iter().copied().chain(others).for_each(Next::find);
    // Before the program writes something else over it.
    look_up();
    RESOLVED.store(true, Ordering::Release);
}

/// `$name` is what is exported; the body says which path is noted for the arguments.
macro_rules! noted {
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
                    e: Argument,
                    caller: usize,
                ) {
                    resolve();
                    let mut arguments = [a, b, c, d, e].into_iter();
                    $(let $argument = arguments.next().unwrap_or_default();)*
                    // What the agent writes is none of the program's files.
                    if !is_own(caller) {
                        $body
                    }
                }
                naked_asm!(
                    "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax",
                    "mov r9, [rsp + 56]",
                    "call {before}",
                    "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                    "jmp qword ptr [rip + {function} + {real}]",
                    before = sym before,
                    function = sym functions::$name,
                    real = const Next::REAL,
                )
            }
        )*

        /// The real ones.
        #[allow(non_upper_case_globals, reason = "the names are the C library's")]
        mod functions {
            use super::Next;

            $(
                pub(super) static $name: Next = Next::new(
                    match super::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => panic!("a name"),
                    },
                );
            )*
        }

        static FUNCTIONS: &[&Next] = &[$(&functions::$name),*];
    };
}

noted! {
    open(path, flags) { opens(given(CWD, path), flags as c_int) }
    open64(path, flags) { opens(given(CWD, path), flags as c_int) }
    openat(folder, path, flags) { opens(given(folder, path), flags as c_int) }
    openat64(folder, path, flags) { opens(given(folder, path), flags as c_int) }
    creat(path) { changes(CWD, path, Change::WriteOrMake) }
    creat64(path) { changes(CWD, path, Change::WriteOrMake) }
    fopen(path, mode) { opens_stream(path, mode) }
    fopen64(path, mode) { opens_stream(path, mode) }
    freopen(path, mode) { opens_stream(path, mode) }
    freopen64(path, mode) { opens_stream(path, mode) }
    link(_old, new) { changes(CWD, new, Change::Make) }
    linkat(_from, _old, folder, new) { changes(folder, new, Change::Make) }
    symlink(_target, path) { changes(CWD, path, Change::Make) }
    symlinkat(_target, folder, path) { changes(folder, path, Change::Make) }
    mkfifo(path) { changes(CWD, path, Change::Make) }
    mkfifoat(folder, path) { changes(folder, path, Change::Make) }
    mknod(path) { changes(CWD, path, Change::Make) }
    mknodat(folder, path) { changes(folder, path, Change::Make) }
    bind(_socket, address, len) { binds(address, len) }
    mkdir(path) { changes(CWD, path, Change::MakeFolder) }
    mkdirat(folder, path) { changes(folder, path, Change::MakeFolder) }
    unlink(path) { removes(CWD, path) }
    unlinkat(folder, path) { removes(folder, path) }
    remove(path) { removes(CWD, path) }
    rmdir(path) { removes(CWD, path) }
    rename(old, new) { renames((CWD, old), (CWD, new), 0) }
    renameat(from, old, to, new) { renames((from, old), (to, new), 0) }
    execl(path) { children::inherits(NewProgram::File(given(CWD, path))) }
    execlp(file) { children::inherits(children::searched(given(CWD, file))) }
    system(command) { children::inherits(NewProgram::Command(command as *const c_char)) }
    popen(command) { children::inherits(NewProgram::Command(command as *const c_char)) }
    renameat2(from, old, to, new, flags) { renames((from, old), (to, new), flags) }
}

/// As a program passes it.
const CWD: Argument = libc::AT_FDCWD as Argument;

const fn given(folder: Argument, path: Argument) -> Given {
    Given {
        folder: folder as c_int,
        path: path as *const c_char,
    }
}

/// The program opens a file with these flags of open(2), or has a child do it.
pub(crate) fn opens(file: Given, flags: c_int) {
    let has = |flag: c_int| flags & flag != 0;
    // The path is that of a folder, or nothing is opened.
    if flags & libc::O_TMPFILE == libc::O_TMPFILE || has(libc::O_PATH) {
        return;
    }
    let writes = has(libc::O_WRONLY | libc::O_RDWR | libc::O_TRUNC);
    let change = match (has(libc::O_CREAT), writes) {
        // One that is there is somebody else's, and stays what it is.
        (true, _) if has(libc::O_EXCL) => Change::Make,
        (true, true) => Change::WriteOrMake,
        (true, false) => Change::Make,
        (false, true) => Change::Write,
        (false, false) => return,
    };
    // SAFETY: the program is about to pass it to the kernel.
    unsafe { note(file, change) };
}

/// The letters of a mode that the C library looks at.
const MODE_LETTERS: usize = 7;

fn opens_stream(path: Argument, mode: Argument) {
    if mode == 0 {
        return;
    }
    // SAFETY: the C library reads the same string.
    let mode = unsafe { CStr::from_ptr(mode as *const c_char) }.to_bytes();
    let Some((first, rest)) = mode[..mode.len().min(MODE_LETTERS)].split_first() else {
        return;
    };
    let mut flags = match first {
        b'r' => libc::O_RDONLY,
        b'w' => libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC,
        b'a' => libc::O_WRONLY | libc::O_CREAT,
        _ => return,
    };
    for letter in rest {
        flags |= match letter {
            b'+' => libc::O_RDWR,
            b'x' => libc::O_EXCL,
            _ => 0,
        };
    }
    opens(given(CWD, path), flags);
}

fn changes(folder: Argument, path: Argument, change: Change) {
    // SAFETY: the program is about to pass it to the kernel.
    unsafe { note(given(folder, path), change) };
}

fn binds(address: Argument, len: Argument) {
    // SAFETY: the program is about to pass it to the kernel.
    unsafe { note_binding(address, len as c_uint as usize) };
}

fn removes(folder: Argument, path: Argument) {
    // SAFETY: likewise.
    unsafe { note_removal(given(folder, path)) };
}

fn renames(old: (Argument, Argument), new: (Argument, Argument), flags: Argument) {
    let (old, new) = (given(old.0, old.1), given(new.0, new.1));
    // SAFETY: likewise.
    unsafe { note_renaming(old, new, flags as c_uint) };
}
