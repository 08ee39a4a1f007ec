//! The C library's functions that start programs: a child gets what it is watched by, also where the program gives it an
//! environment of its own ([`strobe_agent::children`]).
//!
//! Those that take no environment give on `environ`, which the program may have emptied. Of what starts a shell and of
//! `execl`, whose arguments cannot be counted here, such a child is noted only.

use std::ffi::{c_char, c_int, c_void};
use std::mem::transmute;

use strobe_agent::children::{NewProgram, Strings, each_opening, note_unless_watched, watched};
use strobe_agent::journal::Given;

use crate::files::{opens, resolve};
use crate::next::Next;

unsafe extern "C" {
    /// environ(7)
    static environ: Strings;
}

/// As the C library reads it.
pub(crate) fn inherited() -> Strings {
    // SAFETY: a word; a program that changes it meanwhile has that race with the C library, too.
    unsafe { (&raw const environ).read_volatile() }
}

/// The program starts another by `environ`, in a function to which nothing else can be passed.
pub(crate) fn inherits(program: NewProgram) {
    // SAFETY: the C library is about to read both.
    unsafe { note_unless_watched(program, inherited()) };
}

/// A path of the process's.
const fn here(path: *const c_char) -> Given {
    Given {
        folder: libc::AT_FDCWD,
        path,
    }
}

/// A path of a child's, which may go to another folder before.
fn there(path: *const c_char, actions: *const c_void) -> Given {
    let folder = match actions.is_null() {
        true => libc::AT_FDCWD,
        false => -1,
    };
    Given { folder, path }
}

/// What the C library finds by a name.
pub(crate) fn searched(name: Given) -> NewProgram {
    NewProgram::Searched(name, inherited())
}

/// As in the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn execve(
    path: *const c_char,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    let go_on = |environment: Strings| {
        // SAFETY: the program's call, of which the kernel checks all.
        unsafe { libc::syscall(libc::SYS_execve, path, arguments, environment) as c_int }
    };
    // SAFETY: the program's strings.
    unsafe { watched(NewProgram::File(here(path)), environment, go_on) }
}

/// As in the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn execv(path: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: passed on.
    unsafe { execve(path, arguments, inherited()) }
}

/// As in the C library, which passes no null either.
#[unsafe(no_mangle)]
unsafe extern "C" fn fexecve(file: c_int, arguments: Strings, environment: Strings) -> c_int {
    if file < 0 || arguments.is_null() || environment.is_null() {
        // SAFETY: the calling thread's own.
        unsafe { *libc::__errno_location() = libc::EINVAL };
        return -1;
    }
    // SAFETY: passed on.
    unsafe {
        execveat(
            file,
            c"".as_ptr(),
            arguments,
            environment,
            libc::AT_EMPTY_PATH,
        )
    }
}

/// As in the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn execveat(
    folder: c_int,
    path: *const c_char,
    arguments: Strings,
    environment: Strings,
    flags: c_int,
) -> c_int {
    let program = NewProgram::File(Given { folder, path });
    let go_on = |environment: Strings| {
        let number = libc::SYS_execveat;
        // SAFETY: the program's call, of which the kernel checks all.
        unsafe { libc::syscall(number, folder, path, arguments, environment, flags) as c_int }
    };
    // SAFETY: the program's strings.
    unsafe { watched(program, environment, go_on) }
}

/// As in the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn execvpe(
    file: *const c_char,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    type Real = unsafe extern "C" fn(*const c_char, Strings, Strings) -> c_int;
    resolve();
    // SAFETY: the C library's function of this name.
    let real: Real = unsafe { transmute(EXECVPE.real()) };
    // SAFETY: the program's call and its strings.
    unsafe {
        watched(searched(here(file)), environment, |given| {
            real(file, arguments, given)
        })
    }
}

/// As in the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn execvp(file: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: passed on.
    unsafe { execvpe(file, arguments, inherited()) }
}

type Spawn = unsafe extern "C" fn(
    *mut libc::pid_t,
    *const c_char,
    *const c_void,
    *const c_void,
    Strings,
    Strings,
) -> c_int;

/// # Safety
/// `function` is one of the C library's two, and the program passes the strings and the actions to it.
unsafe fn spawned(
    function: &Next,
    program: NewProgram,
    actions: *const c_void,
    environment: Strings,
    spawn: impl FnOnce(Spawn, Strings) -> c_int,
) -> c_int {
    resolve();
    // SAFETY: the caller's promise.
    unsafe { each_opening(actions, opens) };
    // SAFETY: the caller's promise.
    let real: Spawn = unsafe { transmute(function.real()) };
    // SAFETY: likewise.
    unsafe { watched(program, environment, |given| spawn(real, given)) }
}

/// As in the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawn(
    pid: *mut libc::pid_t,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    let spawn = |real: Spawn, given| {
        // SAFETY: the program's call. The child has its own when this returns.
        unsafe { real(pid, path, actions, attributes, arguments, given) }
    };
    // SAFETY: the program's strings.
    unsafe {
        spawned(
            &POSIX_SPAWN,
            NewProgram::File(there(path, actions)),
            actions,
            environment,
            spawn,
        )
    }
}

/// As in the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawnp(
    pid: *mut libc::pid_t,
    file: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    let spawn = |real: Spawn, given| {
        // SAFETY: the program's call. The child has its own when this returns.
        unsafe { real(pid, file, actions, attributes, arguments, given) }
    };
    // SAFETY: the program's strings.
    unsafe {
        spawned(
            &POSIX_SPAWNP,
            searched(there(file, actions)),
            actions,
            environment,
            spawn,
        )
    }
}

static EXECVPE: Next = Next::new(c"execvpe");
static POSIX_SPAWN: Next = Next::new(c"posix_spawn");
static POSIX_SPAWNP: Next = Next::new(c"posix_spawnp");
pub(crate) static FUNCTIONS: [&Next; 3] = [&EXECVPE, &POSIX_SPAWN, &POSIX_SPAWNP];
