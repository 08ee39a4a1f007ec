//! What a command owes to the program it stands for (`strobe run`, `strobe restore --wait`): the
//! program inherits what the command was given, gets the signals that the command gets, and the
//! command ends as the program did.
//!
//! CRIU wants the program in a session of its own, so a terminal no longer reaches it; and Rust's
//! runtime ignores SIGPIPE before `main`, and empties the mask of what it spawns.

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use libc::c_int;

/// Not taken away from this command: what cannot be, what a fault of its own raises, what a write of
/// its own raises, and what job control stops it with when it uses the terminal.
const OUR_OWN: [c_int; 12] = [
    libc::SIGKILL,
    libc::SIGSTOP,
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGTRAP,
    libc::SIGABRT,
    libc::SIGSYS,
    libc::SIGPIPE,
    libc::SIGTTIN,
    libc::SIGTTOU,
];
/// `_NSIG` (asm/signal.h).
const SIGNALS: c_int = 64;

static IGNORED_PIPE: AtomicBool = AtomicBool::new(false);
/// Bit n stands for signal n + 1.
static MASK: AtomicU64 = AtomicU64::new(0);

/// Before Rust's runtime changes them.
#[used]
// SAFETY: the loader calls what is in this section before `main`, with arguments that this does not
// look at.
#[unsafe(link_section = ".init_array")]
static NOTE: extern "C" fn() = note;

extern "C" fn note() {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: only asks; fills a local in.
    if unsafe { libc::sigaction(libc::SIGPIPE, std::ptr::null(), action.as_mut_ptr()) } == 0 {
        // SAFETY: it was filled in.
        let handler = unsafe { action.assume_init() }.sa_sigaction;
        IGNORED_PIPE.store(handler == libc::SIG_IGN, Ordering::Relaxed);
    }
    let mut set = no_signals();
    // SAFETY: only asks; fills a local in.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &mut set) };
    // SAFETY: a set that was filled in, and numbers of signals.
    let is_in = |signal: &c_int| unsafe { libc::sigismember(&set, *signal) } == 1;
    let mask = (1..=SIGNALS)
        .filter(is_in)
        .fold(0, |mask, signal| mask | 1 << (signal - 1));
    MASK.store(mask, Ordering::Relaxed);
}

fn no_signals() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: fills the set in; cannot fail.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    }
}

fn signals(are_in: impl Fn(c_int) -> bool) -> libc::sigset_t {
    let mut set = no_signals();
    for signal in (1..=SIGNALS).filter(|signal| are_in(*signal)) {
        // SAFETY: a valid set. The numbers that the C library keeps for itself it refuses.
        unsafe { libc::sigaddset(&mut set, signal) };
    }
    set
}

/// Lets a program inherit the signal mask, and whether SIGPIPE is ignored, as this process did.
pub fn inherit(command: &mut Command) {
    let mask = MASK.load(Ordering::Relaxed);
    let mask = signals(|signal| mask & 1 << (signal - 1) != 0);
    let pipe = match IGNORED_PIPE.load(Ordering::Relaxed) {
        true => libc::SIG_IGN,
        false => libc::SIG_DFL,
    };
    let give_back = move || {
        // SAFETY: both are calls that are allowed between fork and exec, with valid arguments.
        unsafe {
            libc::signal(libc::SIGPIPE, pipe);
            libc::pthread_sigmask(libc::SIG_SETMASK, &mask, std::ptr::null_mut());
        }
        Ok(())
    };
    // SAFETY: the closure only makes the two calls above.
    unsafe { command.pre_exec(give_back) };
}

/// The signals that would end or stop this command; they wait until they are taken.
#[derive(Debug)]
pub struct Held(());

/// Who a signal is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Its number.
    pub signal: c_int,
    /// A terminal's: for all of its foreground.
    pub to_all: bool,
}

impl Held {
    /// Call before any thread or child exists.
    pub fn hold() -> io::Result<Self> {
        // SAFETY: a valid set.
        match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set(), std::ptr::null_mut()) } {
            0 => Ok(Self(())),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// The next signal. `None` when a child may have ended.
    pub fn next(&self) -> io::Result<Option<Taken>> {
        let mut info = MaybeUninit::<libc::siginfo_t>::uninit();
        // SAFETY: a valid set; fills a local in.
        let signal = unsafe { libc::sigwaitinfo(&set(), info.as_mut_ptr()) };
        if signal < 0 {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::Interrupted => Ok(None),
                _ => Err(error),
            };
        }
        // SAFETY: it was filled in.
        let to_all = unsafe { info.assume_init() }.si_code == libc::SI_KERNEL;
        Ok((signal != libc::SIGCHLD).then_some(Taken { signal, to_all }))
    }

    /// Gives the program what this command was given. Stopped with it, this command goes on with it.
    pub fn pass_on(&self, taken: Taken, program: u32) {
        let Ok(program @ 1..) = libc::pid_t::try_from(program) else {
            return;
        };
        // It leads a session, and so a group, of its own.
        let whom = if taken.to_all { -program } else { program };
        // SAFETY: these send signals, and this command may stop.
        unsafe {
            if taken.signal == libc::SIGTSTP {
                // Of a group that is orphaned, as the program's is, the kernel drops this signal.
                libc::kill(whom, libc::SIGSTOP);
                libc::raise(libc::SIGSTOP);
                libc::kill(whom, libc::SIGCONT);
            } else {
                libc::kill(whom, taken.signal);
            }
        }
    }
}

fn set() -> libc::sigset_t {
    signals(|signal| !OUR_OWN.contains(&signal))
}

/// Ends this process by the signal that has ended the program, so that whoever waits for it sees what
/// it would have seen. Returns where a signal ends nobody.
pub fn end_by(signal: c_int) {
    let none = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    let one = signals(|other| other == signal);
    // SAFETY: valid arguments; the memory of this process need not be dumped beside the program's.
    unsafe {
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &one, std::ptr::null_mut());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_it_was_asked_for() {
        let all = set();
        // SAFETY: a valid set and numbers of signals.
        let is_in = |signal| unsafe { libc::sigismember(&all, signal) } == 1;
        assert!(is_in(libc::SIGUSR2) && is_in(libc::SIGTSTP) && is_in(libc::SIGRTMIN()));
        assert!(!is_in(libc::SIGSEGV) && !is_in(libc::SIGKILL) && !is_in(libc::SIGPIPE));
    }

    #[test]
    fn what_was_inherited_is_given_on() {
        // Rust's runtime has changed it here since; this process was started by cargo.
        let mut command = Command::new("grep");
        command.args(["SigBlk", "/proc/self/status"]);
        inherit(&mut command);
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let blocked = text.trim().rsplit('\t').next().unwrap();
        let blocked = u64::from_str_radix(blocked, 16).unwrap();
        assert_eq!(blocked, MASK.load(Ordering::Relaxed));
    }
}
