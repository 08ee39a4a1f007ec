//! SIGSTOP and SIGCONT for a program whose threads CRIU has in its hands.
//!
//! To save a process CRIU makes its threads run code of its own, with every signal blocked that can be.
//! SIGSTOP cannot, and SIGCONT has every seized thread stop, blocked or not (to tell its tracer). CRIU
//! takes such a stop for a crash of its code and gives up, and not always can it give a thread its
//! registers back then: a few in a hundred of such programs die, of the breakpoint in CRIU's code or of
//! its broken pipes. And of a program that is stopped while its threads are being seized, CRIU may wait
//! for a stop that it was told of already (`skip_sigstop` in compel/src/lib/infect.c), for ever.
//!
//! So this library is preloaded into CRIU too, for its `ptrace`, `wait4`, `waitpid` and `kill` to come
//! before the C library's. What holds then:
//!
//! - While a thread's registers are CRIU's, CRIU hears of no stop but those that it has asked for: the
//!   thread goes on as CRIU had let it. The program is sent the signal again when CRIU lets go of the
//!   thread, unless it has got a SIGCONT since.
//! - CRIU does not see a SIGCONT or a SIGSTOP that is pending: brought back, it would stop a thread in the middle
//!   of its restoration, which fails then, always. What SIGCONT does to a process it does when it is sent;
//!   only a handler of it is not called in the restored program.
//! - A thread that CRIU wants to move on before that, without a signal, is one it has found stopped:
//!   that fails, and with it the dump, while nothing of the program has been changed. CRIU would send
//!   the stop again that it believes to have taken away: it is still there, or a SIGCONT has ended
//!   it since; so it is not sent.
//!
//! A thread whose registers are asked for while they are its own is shown as `interrupted` says.
//!
//! In a restore nothing of this is needed, but who is seized there goes with CRIU (`PTRACE_O_EXITKILL`) until CRIU
//! lets go of it: a CRIU that is killed would let it run, half made. CRIU seizes the first process when it has made
//! it, and all others before they can run (`attach_to_tasks` there).
//!
//! Of ptrace(2): a stop because of a signal (signal-delivery-stop) is told from others by the upper half of
//! the status, and only the tracer lets the signal through. CRIU waits in its handler of SIGCHLD too; so
//! whoever holds the lock has signals blocked, and so have all threads of ours.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_long, c_uint, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use strobe_proto::kernel_text;

use libc::{pid_t, rusage, siginfo_t};
use nix::errno::Errno;
use nix::sys::signal::Signal;

use crate::agent_first::{self, Turn};
use crate::interrupted;
use crate::letting_go;
use crate::signals::mask;
use strobe_program::signals::without_signals;

/// A thread that CRIU traces.
#[derive(Debug, Default)]
struct Thread {
    /// The process that it is of.
    process: pid_t,
    /// CRIU has set its registers.
    runs_criu: bool,
    /// How CRIU let it go on last.
    resumed_by: c_uint,
    /// CRIU waits for it to stop.
    is_interrupted: bool,
    /// A SIGSTOP of it has not been let through.
    owes_stop: bool,
    /// CRIU found it stopped, and was not let move it.
    is_as_found: bool,
}

static THREADS: Mutex<BTreeMap<pid_t, Thread>> = Mutex::new(BTreeMap::new());

static IN_RESTORE: AtomicBool = AtomicBool::new(false);

/// From now on CRIU seizes what it has made itself.
pub(crate) fn begin_restore() {
    IN_RESTORE.store(true, Ordering::Relaxed);
}

fn with_threads<R>(body: impl FnOnce(&mut BTreeMap<pid_t, Thread>) -> R) -> R {
    without_signals(|| body(&mut THREADS.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// As ptrace(2) in the C library.
///
/// # Safety
///
/// As there.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ptrace(
    request: c_uint,
    pid: pid_t,
    address: *mut c_void,
    data: *mut c_void,
) -> c_long {
    let in_restore = IN_RESTORE.load(Ordering::Relaxed);
    let data = match request {
        libc::PTRACE_SEIZE | libc::PTRACE_SETOPTIONS if in_restore => {
            data.map_addr(|options| options | libc::PTRACE_O_EXITKILL as usize)
        }
        _ => data,
    };
    if in_restore && request == libc::PTRACE_DETACH {
        if !letting_go::may_begin() {
            Errno::EBUSY.set();
            return -1;
        }
        match agent_first::turn_of(pid) {
            Turn::Its => {}
            Turn::Over => return 0,
            Turn::Never => {
                Errno::EBUSY.set();
                return -1;
            }
        }
    }
    if !in_restore && let Err(error) = before(request, pid, data.is_null()) {
        error.set();
        return -1;
    }
    if request == libc::PTRACE_PEEKSIGINFO {
        // SAFETY: as the kernel takes it: `address` is the arguments, `data` has room for `nr` entries.
        return unsafe { peek_signals(pid, address.cast(), data.cast()) };
    }
    // Where the kernel writes what it was asked for, the C library returns it.
    let is_asked = matches!(
        request,
        libc::PTRACE_PEEKTEXT | libc::PTRACE_PEEKDATA | libc::PTRACE_PEEKUSER
    );
    let mut word: c_long = 0;
    let data = match is_asked {
        true => (&raw mut word).cast(),
        false => data,
    };
    // SAFETY: the caller's arguments, or room for the word.
    let result = unsafe { libc::syscall(libc::SYS_ptrace, request, pid, address, data) };
    if request == libc::PTRACE_GETREGSET && result >= 0 && !in_restore && has_its_own_registers(pid)
    {
        // SAFETY: the kernel has taken them.
        unsafe { interrupted::show_again(pid, address, data) };
    }
    if !is_asked || result < 0 {
        return result;
    }
    Errno::clear();
    word
}

fn has_its_own_registers(thread: pid_t) -> bool {
    with_threads(|all| all.get(&thread).is_some_and(|thread| !thread.runs_criu))
}

/// `PTRACE_PEEKSIGINFO`, of the signals that can be brought back.
///
/// # Safety
///
/// `wanted` is valid, and `into` has room for as many entries as it asks for.
unsafe fn peek_signals(
    pid: pid_t,
    wanted: *const libc::ptrace_peeksiginfo_args,
    into: *mut siginfo_t,
) -> c_long {
    /// Of one request; a queue is read in several.
    const SOME: usize = 32;
    // SAFETY: the caller's promise.
    let wanted = unsafe { wanted.read() };
    let (mut at, mut kept, mut written) = (0, 0, 0);
    loop {
        let mut part = libc::ptrace_peeksiginfo_args {
            off: at,
            nr: SOME as i32,
            ..wanted
        };
        // SAFETY: plain numbers, of which zero is a value.
        let mut signals: [siginfo_t; SOME] = unsafe { std::mem::zeroed() };
        let (part, place) = (&raw mut part, signals.as_mut_ptr());
        // SAFETY: room for as many as are asked for.
        let found =
            unsafe { libc::syscall(libc::SYS_ptrace, libc::PTRACE_PEEKSIGINFO, pid, part, place) };
        let Ok(count @ 1..) = usize::try_from(found) else {
            return if found < 0 { found } else { written };
        };
        for signal in signals.iter().take(count) {
            if matches!(signal.si_signo, libc::SIGCONT | libc::SIGSTOP) {
                continue;
            }
            if kept >= wanted.off {
                if written >= c_long::from(wanted.nr) {
                    return written;
                }
                // SAFETY: the caller gives room for `nr`, of which this is one.
                unsafe { into.add(written as usize).write(*signal) };
                written += 1;
            }
            kept += 1;
        }
        at += count as u64;
    }
}

/// Keeps account of a request. An error where it must not be made.
fn before(request: c_uint, pid: pid_t, is_without_signal: bool) -> Result<(), Errno> {
    match request {
        libc::PTRACE_SEIZE => {
            let thread = Thread {
                process: process_of(pid),
                ..Thread::default()
            };
            with_threads(|all| all.insert(pid, thread));
        }
        libc::PTRACE_SETREGS | libc::PTRACE_SETREGSET => with_threads(|all| {
            if let Some(thread) = all.get_mut(&pid) {
                thread.runs_criu = true;
            }
        }),
        libc::PTRACE_INTERRUPT => with_threads(|all| {
            if let Some(thread) = all.get_mut(&pid) {
                thread.is_interrupted = true;
            }
        }),
        libc::PTRACE_CONT | libc::PTRACE_SYSCALL => {
            return with_threads(|all| match all.get_mut(&pid) {
                Some(thread) if !thread.runs_criu && is_without_signal => {
                    thread.is_as_found = true;
                    Err(Errno::EBUSY)
                }
                Some(thread) => {
                    thread.resumed_by = request;
                    Ok(())
                }
                None => Ok(()),
            });
        }
        libc::PTRACE_DETACH => {
            let thread = with_threads(|all| all.remove(&pid));
            if thread.is_some_and(|thread| thread.owes_stop) && !has_pending(pid, Signal::SIGCONT) {
                // One that has ended owes nothing any more.
                kill(pid, libc::SIGSTOP);
            }
        }
        _ => {}
    }
    Ok(())
}

/// As wait4(2).
///
/// # Safety
///
/// As there.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn wait4(
    pid: pid_t,
    status: *mut c_int,
    options: c_int,
    usage: *mut rusage,
) -> pid_t {
    loop {
        let mut said: c_int = 0;
        // SAFETY: `said` is ours, and the others are the caller's arguments.
        let found = unsafe { libc::syscall(libc::SYS_wait4, pid, &raw mut said, options, usage) };
        let found = found as pid_t;
        if found > 0
            && let Some(stop) = Stop::of(said)
            && goes_on_as_before(found, stop)
        {
            continue;
        }
        if !status.is_null() && found > 0 {
            // SAFETY: the caller gives room for a status.
            unsafe { status.write(said) };
        }
        return found;
    }
}

/// As waitpid(2).
///
/// # Safety
///
/// As there.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn waitpid(pid: pid_t, status: *mut c_int, options: c_int) -> pid_t {
    // SAFETY: the caller's arguments; usage is not asked for.
    unsafe { wait4(pid, status, options, std::ptr::null_mut()) }
}

/// As kill(2).
#[unsafe(no_mangle)]
pub(crate) extern "C" fn kill(pid: pid_t, signal: c_int) -> c_int {
    if is_stop_again(pid, signal) {
        return 0;
    }
    // SAFETY: two numbers.
    unsafe { libc::syscall(libc::SYS_kill, pid, signal) as c_int }
}

/// Whether CRIU means to stop a thread again that nothing has let go on (`compel_wait_task` there).
fn is_stop_again(pid: pid_t, signal: c_int) -> bool {
    matches!(
        signal,
        libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU
    ) && with_threads(|all| all.get(&pid).is_some_and(|thread| thread.is_as_found))
}

/// A stop that CRIU may not have asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// A thread is about to take SIGSTOP.
    Signal,
    /// A thread stops at the request of its tracer, or because its process has got SIGCONT
    /// (`PTRACE_EVENT_STOP`).
    Event,
    /// The same, with its process.
    Group,
}

impl Stop {
    fn of(status: c_int) -> Option<Stop> {
        let event = status >> 16;
        match libc::WIFSTOPPED(status) {
            true if event == libc::PTRACE_EVENT_STOP => match libc::WSTOPSIG(status) {
                libc::SIGTRAP => Some(Stop::Event),
                _ => Some(Stop::Group),
            },
            true if event == 0 && libc::WSTOPSIG(status) == libc::SIGSTOP => Some(Stop::Signal),
            _ => None,
        }
    }
}

/// Lets a thread go on that runs code of CRIU's and that CRIU has not stopped.
fn goes_on_as_before(pid: pid_t, stop: Stop) -> bool {
    let request = with_threads(|all| {
        let thread = all.get_mut(&pid)?;
        let is_asked_for = stop != Stop::Signal && std::mem::take(&mut thread.is_interrupted);
        if is_asked_for || !thread.runs_criu {
            return None;
        }
        thread.owes_stop |= stop == Stop::Signal;
        let (request, process) = (thread.resumed_by, thread.process);
        if stop == Stop::Event {
            // SIGCONT: it takes back every stop before it. (Another thread's may be older than the stop, which
            // is lost then.)
            let others = all.values_mut().filter(|other| other.process == process);
            others.for_each(|other| other.owes_stop = false);
        }
        Some(request)
    });
    let Some(request) = request else { return false };
    let none = std::ptr::null_mut::<c_void>();
    // SAFETY: these requests take no pointers. It fails for a thread that has been killed, which
    // the next wait tells.
    unsafe { libc::syscall(libc::SYS_ptrace, request, pid, none, none) };
    true
}

fn process_of(thread: pid_t) -> pid_t {
    let status = kernel_text::read(format!("/proc/{thread}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    line.and_then(|number| number.trim().parse().ok())
        .unwrap_or(thread)
}

fn has_pending(pid: pid_t, signal: Signal) -> bool {
    let status = kernel_text::read(format!("/proc/{pid}/status")).unwrap_or_default();
    is_pending(&status, signal)
}

/// Of a thread or its process, as `/proc/PID/status` lists them: signal 1 is bit 0.
fn is_pending(status: &str, signal: Signal) -> bool {
    let masks = ["SigPnd:", "ShdPnd:"];
    let masks = masks.into_iter().filter_map(|name| mask(status, name));
    masks.fold(0, |all, mask| all | mask) >> (signal as u32 - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_are_told_from_one_another() {
        let stopped = |signal: c_int| signal << 8 | 0x7f;
        assert_eq!(Stop::of(stopped(libc::SIGSTOP)), Some(Stop::Signal));
        assert_eq!(Stop::of(stopped(libc::SIGTRAP)), None);
        let event = libc::PTRACE_EVENT_STOP << 16;
        assert_eq!(Stop::of(stopped(libc::SIGSTOP) | event), Some(Stop::Group));
        assert_eq!(Stop::of(stopped(libc::SIGTRAP) | event), Some(Stop::Event));
        assert_eq!(Stop::of(libc::SIGSTOP), None, "it has ended");
    }

    #[test]
    fn a_signal_is_pending_at_the_thread_or_its_process() {
        let status = "Name:\tx\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000020000\nSigBlk:\t0\n";
        assert!(is_pending(status, Signal::SIGCONT));
        assert!(!is_pending(status, Signal::SIGSTOP));
        assert!(is_pending("SigPnd:\t40000", Signal::SIGSTOP));
        assert!(!is_pending("", Signal::SIGSTOP));
    }

    #[test]
    fn a_thread_that_criu_found_stopped_is_not_moved_before_its_registers_are_criu_s() {
        let pid = pid_t::MAX;
        before(libc::PTRACE_SEIZE, pid, true).unwrap();
        let moved = |request, is_without_signal| before(request, pid, is_without_signal);
        assert!(!is_stop_again(pid, libc::SIGSTOP));
        assert_eq!(moved(libc::PTRACE_CONT, true), Err(Errno::EBUSY));
        assert!(is_stop_again(pid, libc::SIGSTOP));
        assert!(!is_stop_again(pid, libc::SIGKILL));
        moved(libc::PTRACE_CONT, false).expect("a signal is let through");
        moved(libc::PTRACE_SETREGSET, false).unwrap();
        moved(libc::PTRACE_CONT, true).expect("it runs CRIU's code");
        moved(libc::PTRACE_DETACH, true).unwrap();
        moved(libc::PTRACE_CONT, true).expect("it is not ours to judge");
        assert!(!is_stop_again(pid, libc::SIGSTOP), "CRIU has let go of it");
    }
}
