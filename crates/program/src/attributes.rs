//! Attributes of threads and processes that CRIU does not save: the CPUs that a thread is bound to, its I/O priority
//! and timer slack, and which mappings a core dump of a process has (sched_setaffinity(2), ioprio_set(2), proc(5)).
//! They are read while a program is frozen, and put back before a restored one runs. What can be seen and not be set
//! from outside is named.
//!
//! A thread that may run on all CPUs of its cpuset is bound to none: on another machine it may run on all, too.

mod cpus;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use nix::libc;
use strobe_proto::{ProcessAttributes, ThreadAttributes};

use crate::attributes::cpus::Cpus;
use crate::{namespaces, process, threads, zombies};

/// Of so many threads of a process something is kept.
const THREADS: usize = 1 << 16;
/// The longest file that is read here.
const TEXT_LIMIT: u64 = 1 << 16;
/// `IOPRIO_WHO_PROCESS` and `IOPRIO_CLASS_SHIFT` of linux/ioprio.h. A thread of class 0 has chosen none.
const WHO_PROCESS: libc::c_int = 1;
const CLASS_SHIFT: u32 = 13;

/// What a process has of them.
#[derive(Debug, Default)]
pub struct Found {
    /// What can be put back.
    pub kept: ProcessAttributes,
    /// What cannot.
    pub lost: Vec<LostAttribute>,
}

/// What a restored process does not have.
#[derive(Debug)]
pub struct LostAttribute {
    pid: u32,
    what: What,
}

#[derive(Debug)]
enum What {
    Personality(u32),
    MemoryMerge,
    MachineCheck,
    Unread(&'static str, io::Error),
    Threads,
}

impl fmt::Display for LostAttribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pid, what } = self;
        match what {
            What::Personality(value) => write!(
                f,
                "process {pid} has a personality of its own ({value:#x}, setarch): a restored program has that of \
                 the command that restores it"
            ),
            What::MemoryMerge => write!(
                f,
                "process {pid} has its memory merged (PR_SET_MEMORY_MERGE): that of a restored program is not"
            ),
            What::MachineCheck => write!(
                f,
                "process {pid} has chosen what an error of its memory does (PR_MCE_KILL): a restored program has not"
            ),
            What::Unread(what, error) => write!(
                f,
                "the {what} of process {pid} cannot be read, and is not put back: {error}"
            ),
            What::Threads => write!(
                f,
                "process {pid} has more than {THREADS} threads: CPUs, I/O priorities and timer slack of the others \
                 are not put back"
            ),
        }
    }
}

/// What could not be put back: of a process, or of one of its threads and some others.
#[derive(Debug)]
pub struct NotPutBack {
    /// As the program knows it.
    pid: u32,
    thread: Option<u32>,
    more: usize,
    what: &'static str,
    why: String,
}

impl fmt::Display for NotPutBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pid, what, why, .. } = self;
        write!(f, "not put back: the {what} of ")?;
        if let Some(thread) = self.thread {
            write!(f, "thread {thread} of ")?;
        }
        write!(f, "process {pid} ({why})")?;
        match self.more {
            0 => Ok(()),
            more => write!(f, ", and of {more} more"),
        }
    }
}

const CPUS: &str = "CPUs";
const IO_PRIORITY: &str = "I/O priority";
const TIMER_SLACK: &str = "timer slack";
const COREDUMP_FILTER: &str = "coredump_filter";

/// Reads what a process has. Of one that runs, threads may end meanwhile.
pub fn read(pid: u32) -> Found {
    let mut found = Found::default();
    let mut lose = |what| found.lost.push(LostAttribute { pid, what });
    let inside = Inside::of(pid);
    let all = threads::of(pid).unwrap_or_default();
    if all.len() > THREADS {
        lose(What::Threads);
    }
    let cpus = Cpus::of_cpuset(pid);
    let mut threads = Vec::new();
    let mut unread: Vec<(&'static str, io::Error)> = Vec::new();
    for thread in all.into_iter().take(THREADS) {
        let (attributes, failed) = of_thread(thread, &cpus);
        for (what, error) in failed {
            if unread.iter().all(|(known, _)| *known != what) {
                unread.push((what, error));
            }
        }
        threads.extend(inside.number(thread).map(|number| ThreadAttributes {
            thread: number,
            ..attributes
        }));
    }
    let (coredump_filter, failed) = asked(COREDUMP_FILTER, coredump_filter(pid));
    unread.extend(failed);
    for (what, error) in unread {
        lose(What::Unread(what, error));
    }
    for what in unkept(pid) {
        lose(what);
    }
    found.kept = ProcessAttributes {
        pid: inside.number(pid).unwrap_or_default(),
        coredump_filter,
        threads,
    };
    found
}

/// Gives them to a restored process that has not run yet, where it has others.
pub fn put_back(pid: u32, all: &[ProcessAttributes]) -> Vec<NotPutBack> {
    let inside = Inside::of(pid);
    let number = inside.number(pid);
    let Some(kept) = all.iter().find(|kept| Some(kept.pid) == number) else {
        return Vec::new();
    };
    let mut failures = Vec::new();
    let mut note = |thread, what, why| failures.push((thread, what, why));
    if let Some(filter) = kept.coredump_filter
        && let Err(error) = set_coredump_filter(pid, filter)
    {
        note(None, COREDUMP_FILTER, error.to_string());
    }
    let threads = kept.threads.iter().map(|kept| (kept.thread, kept));
    let threads: BTreeMap<_, _> = threads.collect();
    for thread in threads::of(pid).unwrap_or_default() {
        let Some(kept) = inside
            .number(thread)
            .and_then(|number| threads.get(&number))
        else {
            continue;
        };
        for (what, why) in put_back_of_thread(thread, kept) {
            note(Some(kept.thread), what, why);
        }
    }
    together(kept.pid, failures)
}

/// One of each kind, with how many there are.
fn together(
    pid: u32,
    failures: impl IntoIterator<Item = (Option<u32>, &'static str, String)>,
) -> Vec<NotPutBack> {
    let mut all: Vec<NotPutBack> = Vec::new();
    for (thread, what, why) in failures {
        match all.iter_mut().find(|known| known.what == what) {
            Some(known) => known.more += 1,
            None => all.push(NotPutBack {
                pid,
                thread,
                more: 0,
                what,
                why,
            }),
        }
    }
    all
}

/// The numbers that a process and its threads have in their own PID namespace.
enum Inside {
    Same,
    Others,
}

impl Inside {
    fn of(pid: u32) -> Self {
        match namespaces::is_elsewhere(pid, "pid") {
            Ok(true) => Self::Others,
            _ => Self::Same,
        }
    }

    fn number(&self, thread: u32) -> Option<u32> {
        match self {
            Self::Same => Some(thread),
            Self::Others => process::number_inside(thread)
                .ok()
                .map(|(_, number)| number),
        }
    }
}

/// What was asked for, or what could not be read: neither, where the thread or the kernel's file is not there.
fn asked<T>(
    what: &'static str,
    answer: io::Result<T>,
) -> (Option<T>, Option<(&'static str, io::Error)>) {
    match zombies::still_there(answer) {
        Ok(answer) => (answer, None),
        Err(error) => (None, Some((what, error))),
    }
}

/// All but the number of the thread; `all` are the CPUs of its cpuset.
fn of_thread(
    thread: u32,
    all: &Cpus,
) -> (
    ThreadAttributes,
    impl Iterator<Item = (&'static str, io::Error)>,
) {
    let (cpus, no_cpus) = asked(CPUS, Cpus::of_thread(thread));
    let (io_priority, no_priority) = asked(IO_PRIORITY, io_priority(thread));
    let (timer_slack_ns, no_slack) = asked(TIMER_SLACK, timer_slack(thread));
    let bound = cpus.filter(|cpus| !cpus.are_all_of(all));
    let attributes = ThreadAttributes {
        thread,
        cpus: bound.map(|cpus| cpus.bytes()).unwrap_or_default(),
        io_priority,
        timer_slack_ns,
    };
    let failed = [no_cpus, no_priority, no_slack];
    (attributes, failed.into_iter().flatten())
}

/// What it could not be given, and why.
fn put_back_of_thread(thread: u32, kept: &ThreadAttributes) -> Vec<(&'static str, String)> {
    let mut failures = Vec::new();
    if !kept.cpus.is_empty()
        && let Err(why) = Cpus::from_bytes(&kept.cpus).bind(thread)
    {
        failures.push((CPUS, why));
    }
    let mut note = |what, result: io::Result<()>| {
        failures.extend(result.err().map(|error| (what, error.to_string())));
    };
    if let Some(priority) = kept.io_priority {
        note(IO_PRIORITY, set_io_priority(thread, priority));
    }
    if let Some(slack) = kept.timer_slack_ns {
        note(TIMER_SLACK, set_timer_slack(thread, slack));
    }
    failures
}

/// What is chosen by a process and can only be chosen by itself. Where the kernel does not tell, nobody knows.
fn unkept(pid: u32) -> Vec<What> {
    let mut lost = Vec::new();
    let personality = text(format!("/proc/{pid}/personality"));
    if let Some(value) = personality.ok().as_deref().and_then(unusual_personality) {
        lost.push(What::Personality(value));
    }
    if text(format!("/proc/{pid}/ksm_stat")).is_ok_and(|stat| is_merged(&stat)) {
        lost.push(What::MemoryMerge);
    }
    if process::stat(pid).is_ok_and(|stat| stat.has_chosen_machine_checks()) {
        lost.push(What::MachineCheck);
    }
    lost
}

/// Not those that say where what is started next lies: nobody sees that (`setarch -R`, `-L`).
fn unusual_personality(text: &str) -> Option<u32> {
    const PLACES: u32 = (libc::ADDR_NO_RANDOMIZE | libc::ADDR_COMPAT_LAYOUT).cast_unsigned();
    let value = u32::from_str_radix(text.trim(), 16).ok()?;
    (value & !PLACES != 0).then_some(value)
}

fn is_merged(ksm_stat: &str) -> bool {
    let mut lines = ksm_stat.lines();
    lines.any(|line| line.split_ascii_whitespace().eq(["ksm_merge_any:", "yes"]))
}

fn coredump_filter(pid: u32) -> io::Result<u32> {
    let text = text(format!("/proc/{pid}/coredump_filter"))?;
    if text.is_empty() {
        // It has no memory any more.
        return Err(io::ErrorKind::NotFound.into());
    }
    u32::from_str_radix(text.trim(), 16).map_err(invalid)
}

fn set_coredump_filter(pid: u32, filter: u32) -> io::Result<()> {
    if coredump_filter(pid).is_ok_and(|now| now == filter) {
        return Ok(());
    }
    fs::write(
        format!("/proc/{pid}/coredump_filter"),
        format!("{filter:#x}"),
    )
}

fn timer_slack(thread: u32) -> io::Result<u64> {
    let text = text(format!("/proc/{thread}/timerslack_ns"))?;
    text.trim().parse().map_err(invalid)
}

fn set_timer_slack(thread: u32, slack_ns: u64) -> io::Result<()> {
    if timer_slack(thread).is_ok_and(|now| now == slack_ns) {
        return Ok(());
    }
    fs::write(
        format!("/proc/{thread}/timerslack_ns"),
        slack_ns.to_string(),
    )
}

/// 0 where the thread has chosen none.
fn io_priority(thread: u32) -> io::Result<u32> {
    // SAFETY: the call takes numbers only.
    let priority = unsafe { libc::syscall(libc::SYS_ioprio_get, WHO_PROCESS, thread) };
    let priority = u32::try_from(priority).map_err(|_| io::Error::last_os_error())?;
    Ok(match priority >> CLASS_SHIFT {
        0 => 0,
        _ => priority,
    })
}

fn set_io_priority(thread: u32, priority: u32) -> io::Result<()> {
    if io_priority(thread).is_ok_and(|now| now == priority) {
        return Ok(());
    }
    // SAFETY: the call takes numbers only.
    match unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, thread, priority) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A file of the kernel's; the program's mounts say what lies there.
fn text(path: impl AsRef<Path>) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?
        .take(TEXT_LIMIT)
        .read_to_string(&mut text)?;
    Ok(text)
}

fn invalid(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::unistd::gettid;

    fn mine() -> u32 {
        gettid().as_raw().cast_unsigned()
    }

    fn of(thread: u32, all: &Cpus) -> ThreadAttributes {
        let (attributes, failed) = of_thread(thread, all);
        assert_eq!(failed.count(), 0);
        attributes
    }

    #[test]
    fn a_thread_gets_back_what_another_had() {
        let all = Cpus::of_cpuset(std::process::id());
        let before = of(mine(), &all);
        let mut others = before.clone();
        others.cpus = Cpus::from_iter([all.iter().next().expect("it runs")]).bytes();
        others.io_priority = Some(2 << CLASS_SHIFT | 6);
        others.timer_slack_ns = Some(123_456);
        let chosen = others.clone();
        let was_bound = std::thread::spawn(move || {
            others.thread = mine();
            let failed = put_back_of_thread(others.thread, &others);
            assert!(failed.is_empty(), "{failed:?}");
            // Where there is one CPU only, nobody is bound to a part of them.
            let expected = match all.iter().count() {
                1 => ThreadAttributes {
                    cpus: Vec::new(),
                    ..others.clone()
                },
                _ => others.clone(),
            };
            assert_eq!(of(others.thread, &all), expected);
            let chosen_none = ThreadAttributes {
                cpus: all.bytes(),
                io_priority: Some(0),
                timer_slack_ns: Some(50_000),
                ..others
            };
            put_back_of_thread(others.thread, &chosen_none);
            let now = of(others.thread, &all);
            assert_eq!(now.io_priority, Some(0));
            now.cpus.is_empty()
        });
        assert!(
            was_bound.join().expect("no panic"),
            "bound to all is bound to none"
        );
        assert_ne!(before.io_priority, chosen.io_priority);
        assert_eq!(of(mine(), &Cpus::of_cpuset(std::process::id())), before);
    }

    #[test]
    fn cpus_that_are_not_here_are_said_and_the_others_are_given() {
        let kept = |cpus: &[usize]| ThreadAttributes {
            cpus: Cpus::from_iter(cpus.iter().copied()).bytes(),
            ..ThreadAttributes::default()
        };
        let bound = std::thread::spawn(move || {
            let me = mine();
            let before = Cpus::of_thread(me).expect("it runs");
            let none = put_back_of_thread(me, &kept(&[1022, 1023]));
            let nothing = Cpus::of_thread(me).expect("it runs") == before;
            let first = before.iter().next().expect("it runs");
            let some = put_back_of_thread(me, &kept(&[first, 1023]));
            assert_eq!(
                Cpus::of_thread(me).expect("it runs"),
                Cpus::from_iter([first])
            );
            (none, nothing, some, first)
        });
        let (none, nothing, some, first) = bound.join().expect("no panic");
        assert_eq!(none, [(CPUS, "1022-1023: none of them is here".into())]);
        assert!(nothing);
        assert_eq!(some, [(CPUS, format!("{first},1023: not here are 1023"))]);
        let failures = [none, some].concat().into_iter();
        let said = together(7, failures.map(|(what, why)| (Some(8), what, why)));
        let said: Vec<_> = said.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "not put back: the CPUs of thread 8 of process 7 (1022-1023: none of them is here), and of 1 more"
            ]
        );
    }

    #[test]
    fn all_threads_of_a_process_are_read_and_those_of_others_stay() {
        let me = std::process::id();
        let found = read(me);
        assert_eq!(found.kept.pid, me);
        assert!(found.kept.coredump_filter.is_some());
        assert!(
            found
                .kept
                .threads
                .iter()
                .any(|thread| thread.thread == mine())
        );
        let other = ProcessAttributes {
            pid: me + 1,
            coredump_filter: Some(0),
            threads: found.kept.threads,
        };
        assert!(put_back(me, &[other]).is_empty());
        assert_eq!(read(me).kept.coredump_filter, found.kept.coredump_filter);
    }

    #[test]
    fn of_a_process_that_has_ended_nothing_is_missed() {
        let mut child = std::process::Command::new("true").spawn().expect("true");
        while !process::stat(child.id()).expect("a child").is_dead() {
            std::thread::yield_now();
        }
        let found = read(child.id());
        child.wait().expect("it was ours");
        let unread = |lost: &LostAttribute| matches!(lost.what, What::Unread(..));
        assert!(!found.lost.iter().any(unread), "{:?}", found.lost);
        assert_eq!(found.kept.coredump_filter, None);
    }

    #[test]
    fn what_only_a_process_itself_can_choose_is_seen() {
        assert_eq!(unusual_personality("00000000\n"), None);
        assert_eq!(unusual_personality("00240000\n"), None, "setarch -R -L");
        assert_eq!(unusual_personality("00440008\n"), Some(0x0044_0008));
        assert!(is_merged(
            "ksm_zero_pages 0\nksm_merge_any: yes\nksm_mergeable: yes\n"
        ));
        assert!(!is_merged("ksm_merge_any: no\nksm_mergeable: yes\n"));
    }
}
