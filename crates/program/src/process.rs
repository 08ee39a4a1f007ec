//! Facts of a process from `/proc/PID`.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};
use strobe_proto::kernel_text;

use nix::libc;
use nix::time::{ClockId, clock_gettime};
use strobe_proto::start_time::{is_same_start, start_time};

/// A process by number and start time: numbers are used again, the pair is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// In this process's pid namespace.
    pub pid: u32,
    /// As [`strobe_proto::start_time`] gives it.
    pub start_time: u64,
}

impl Identity {
    /// The process that has this number now.
    pub fn of(pid: u32) -> io::Result<Self> {
        Ok(Self {
            pid,
            start_time: start_time(pid)?,
        })
    }

    /// How long ago it was started; `None` where the clock cannot be asked.
    pub fn age(self) -> Option<Duration> {
        // SAFETY: asks for a number.
        let per_s = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
        let per_s = u64::try_from(per_s).ok().filter(|ticks| *ticks > 0)?;
        let started = Duration::from_millis(self.start_time.saturating_mul(1000) / per_s);
        let now = clock_gettime(ClockId::CLOCK_BOOTTIME).ok()?;
        Some(Duration::from(now).saturating_sub(started))
    }

    /// Whether this very process still runs (a zombie does not).
    pub fn is_alive(self) -> bool {
        start_time(self.pid).is_ok_and(|start| is_same_start(start, self.start_time))
            && stat(self.pid).is_ok_and(|stat| !stat.is_dead())
    }
}

/// What `/proc/PID/stat` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// A letter: `R`, `S`, `T`, `Z` and so on.
    pub state: char,
    /// Its process number.
    pub parent: u32,
    /// The number of its process group.
    pub group: u32,
    /// That of its session.
    pub session: u32,
    /// The kernel's flags of it (`PF_` of include/linux/sched.h).
    flags: u32,
    /// Of a dead one, as wait(2) gives it; 0 where that may not be seen.
    pub status: i32,
}

/// The thread has begun to end.
const PF_EXITING: u32 = 4;
/// It has chosen what an error of its memory does (`PR_MCE_KILL`).
const PF_MCE_PROCESS: u32 = 0x80;

impl Stat {
    /// By a signal, or by a tracer.
    pub fn is_stopped(&self) -> bool {
        matches!(self.state, 'T' | 't')
    }

    /// By a tracer alone.
    pub fn is_traced(&self) -> bool {
        self.state == 't'
    }

    /// By prctl(2), `PR_MCE_KILL`, for itself or for those that it has started since.
    pub(crate) fn has_chosen_machine_checks(&self) -> bool {
        self.flags & PF_MCE_PROCESS != 0
    }

    /// A zombie, or gone any moment.
    pub fn is_dead(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }
}

/// Reads `/proc/PID/stat`.
pub fn stat(pid: u32) -> io::Result<Stat> {
    let text = kernel_text::read(format!("/proc/{pid}/stat"))?;
    parse_stat(&text)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("/proc/{pid}/stat")))
}

fn parse_stat(text: &str) -> Option<Stat> {
    // The second field is the name in parentheses, and may hold blanks and parentheses.
    let mut fields = text[text.rfind(')')? + 1..].split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let parent = fields.next()?.parse().ok()?;
    // The group of one that is gone any moment is -1.
    let group = fields.next()?.parse::<i32>().ok()?.cast_unsigned();
    let session = fields.next()?.parse().ok()?;
    // The ninth and the last of 52 fields; the session is the sixth (proc_pid_stat(5)).
    let flags = fields.nth(9 - 7)?.parse().ok()?;
    let status = fields.nth(52 - 10)?.parse().ok()?;
    Some(Stat {
        state,
        parent,
        group,
        session,
        flags,
        status,
    })
}

/// The process that a thread belongs to; of a process, itself.
pub fn of_thread(thread: u32) -> io::Result<u32> {
    let number = status(thread, "Tgid:")?.parse();
    number.map_err(|_| io::ErrorKind::InvalidData.into())
}

/// A process as its own PID namespace knows it: the inode of that namespace, and its number there.
pub fn number_inside(pid: u32) -> io::Result<(u64, u32)> {
    let namespace = fs::metadata(format!("/proc/{pid}/ns/pid"))?.ino();
    let status = kernel_text::read(format!("/proc/{pid}/status"))?;
    let number = innermost_number(&status).ok_or(io::ErrorKind::InvalidData)?;
    Ok((namespace, number))
}

/// The number of a process of our PID namespace that another one's /proc, mounted there, has for it.
pub fn number_elsewhere(proc: &Path, inside: u32) -> io::Result<Option<u32>> {
    let ours = fs::read_link("/proc/self/ns/pid")?;
    for entry in fs::read_dir(proc)? {
        let name = entry?.file_name();
        let Some(number) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let process = proc.join(number.to_string());
        // Others end meanwhile.
        let is_it = fs::read_link(process.join("ns/pid")).is_ok_and(|theirs| theirs == ours)
            && kernel_text::read(process.join("status"))
                .is_ok_and(|status| innermost_number(&status) == Some(inside));
        if is_it {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

/// The session of a process as its own PID namespace knows it; 0 if that was begun outside.
pub fn session_inside(pid: u32) -> io::Result<u32> {
    let status = kernel_text::read(format!("/proc/{pid}/status"))?;
    innermost(&status, "NSsid:").ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn innermost_number(status: &str) -> Option<u32> {
    innermost(status, "NSpid:")
}

/// Such a line lists numbers from our namespace inwards (proc(5)).
fn innermost(status: &str, name: &str) -> Option<u32> {
    let numbers = status.lines().find_map(|line| line.strip_prefix(name))?;
    numbers.split_ascii_whitespace().next_back()?.parse().ok()
}

/// Whether a process has memory: one that is ending has none any more. (Nor has a kernel thread.)
pub fn has_memory(pid: u32) -> bool {
    fs::read(format!("/proc/{pid}/maps")).is_ok_and(|maps| !maps.is_empty())
}

/// Whether a process or thread has ended, or will as soon as it has the processor: the kernel kills each
/// thread of a process that ends. There is a moment, when it has taken the signal, in which nothing tells.
pub fn is_ending(pid: u32) -> bool {
    let pending = || u64::from_str_radix(&status(pid, "SigPnd:").ok()?, 16).ok();
    match stat(pid) {
        Ok(stat) if stat.is_dead() || stat.flags & PF_EXITING != 0 => true,
        Ok(_) => pending().is_some_and(|signals| signals & 1 << (libc::SIGKILL - 1) != 0),
        Err(_) => !exists(pid),
    }
}

/// Who traces a process or thread; the first number is no process's.
pub fn tracer(pid: u32) -> Option<u32> {
    let tracer = status(pid, "TracerPid:").ok()?.parse().ok()?;
    (tracer != 0).then_some(tracer)
}

/// A line of `/proc/PID/status`, without its name.
fn status(pid: u32, name: &str) -> io::Result<String> {
    let text = kernel_text::read(format!("/proc/{pid}/status"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.map(|line| line.trim().to_owned())
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// The user of a process, whose rights it has.
pub fn user(pid: u32) -> io::Result<u32> {
    let users = status(pid, "Uid:")?;
    // Real, effective, saved, of the file system.
    let effective = users.split_ascii_whitespace().nth(1);
    let effective = effective.and_then(|user| user.parse().ok());
    effective.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// The groups of a process, whose rights it has; first that which its new files get.
pub(crate) fn groups(pid: u32) -> io::Result<Vec<u32>> {
    let groups = status(pid, "Gid:")?;
    let effective = groups.split_ascii_whitespace().nth(1);
    let others = status(pid, "Groups:")?;
    let all = effective.into_iter().chain(others.split_ascii_whitespace());
    let all: Option<_> = all.map(|group| group.parse().ok()).collect();
    all.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Whether a program was given more rights than who started it had: it has libraries of its own choice alone
/// (getauxval(3), `AT_SECURE`).
pub(crate) fn is_secure(pid: u32) -> io::Result<bool> {
    let vector = fs::read(format!("/proc/{pid}/auxv"))?;
    let words: Vec<_> = vector
        .as_chunks()
        .0
        .iter()
        .copied()
        .map(u64::from_ne_bytes)
        .collect();
    let secure = words
        .as_chunks()
        .0
        .iter()
        .find(|[key, _]| *key == libc::AT_SECURE);
    Ok(secure.is_some_and(|[_, value]| *value != 0))
}

/// Whether a process or a zombie has this number.
pub fn exists(pid: u32) -> bool {
    fs::exists(format!("/proc/{pid}")).unwrap_or(false)
}

/// All process numbers, ascending.
pub fn all() -> io::Result<Vec<u32>> {
    let mut pids: Vec<u32> = fs::read_dir("/proc")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    pids.sort_unstable();
    Ok(pids)
}

/// A process and all below it, parents first. It may have changed when this returns.
pub fn tree(root: u32) -> io::Result<Vec<u32>> {
    stat(root)?;
    let mut pids = vec![root];
    let mut next = 0;
    while let Some(&parent) = pids.get(next) {
        let is_child = |pid: &u32| stat(*pid).is_ok_and(|stat| stat.parent == parent);
        pids.extend(all()?.into_iter().filter(is_child));
        next += 1;
    }
    Ok(pids)
}

/// The program's file, as its own namespace names it.
pub fn executable(pid: u32) -> io::Result<PathBuf> {
    fs::read_link(format!("/proc/{pid}/exe"))
}

/// The program's arguments, the name it was started by first.
pub fn command_line(pid: u32) -> io::Result<Vec<String>> {
    let text = fs::read(format!("/proc/{pid}/cmdline"))?;
    let text = text.strip_suffix(b"\0").unwrap_or(&text);
    Ok(text
        .split(|&b| b == 0)
        .map(|a| String::from_utf8_lossy(a).into_owned())
        .collect())
}

/// A variable of the environment that the program was started in. None where it was not set, or where
/// the program has written something else over it.
pub fn variable(pid: u32, name: &str) -> io::Result<Option<String>> {
    let environment = fs::read(format!("/proc/{pid}/environ"))?;
    let value = environment.split(|&b| b == 0).find_map(|variable| {
        let value = variable.strip_prefix(name.as_bytes())?;
        value.strip_prefix(b"=")
    });
    Ok(value.map(|value| String::from_utf8_lossy(value).into_owned()))
}

/// Bytes to which the process may make a file (`RLIMIT_FSIZE`); `None` without a limit.
pub fn file_size_limit(pid: u32) -> io::Result<Option<u64>> {
    let text = kernel_text::read(format!("/proc/{pid}/limits"))?;
    parse_file_size_limit(&text)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("/proc/{pid}/limits")))
}

fn parse_file_size_limit(text: &str) -> Option<Option<u64>> {
    let values = text
        .lines()
        .find_map(|line| line.strip_prefix("Max file size"))?;
    match values.split_ascii_whitespace().next()? {
        "unlimited" => Some(None),
        bytes => Some(Some(bytes.parse().ok()?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::Command;

    #[test]
    fn the_limit_of_a_file_s_size_is_the_soft_one() {
        let text = "Limit                     Soft Limit           Hard Limit           Units\n\
                    Max cpu time              unlimited            unlimited            seconds\n\
                    Max file size             100000               unlimited            bytes\n";
        assert_eq!(parse_file_size_limit(text), Some(Some(100_000)));
        let unlimited = text.replace("100000   ", "unlimited");
        assert_eq!(parse_file_size_limit(&unlimited), Some(None));
        assert_eq!(parse_file_size_limit("Max cpu time 1 1 seconds"), None);
        assert!(file_size_limit(std::process::id()).is_ok());
    }

    #[test]
    fn what_has_ended_has_no_memory() {
        assert!(has_memory(std::process::id()));
        let mut child = Command::new("true").spawn().expect("true starts");
        while !stat(child.id()).expect("not waited for").is_dead() {
            std::thread::yield_now();
        }
        assert!(!has_memory(child.id()));
        child.wait().expect("it was ours");
        assert!(!has_memory(child.id()));
    }

    #[test]
    fn what_was_killed_is_ending_and_what_runs_is_not() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("it starts");
        assert!(!is_ending(child.id()));
        child.kill().expect("it runs");
        while !is_ending(child.id()) {
            std::thread::yield_now();
        }
        child.wait().expect("it was ours");
        assert!(is_ending(child.id()), "it is gone");
    }

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let text = "42 (a) Z (b) S 7 42 41 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 98765 1 2";
        let rest = "0 ".repeat(52 - 25);
        let expected = Stat {
            state: 'S',
            parent: 7,
            group: 42,
            session: 41,
            flags: 4_194_560,
            status: 512,
        };
        assert_eq!(parse_stat(&format!("{text} {rest}512")), Some(expected));
        assert_eq!(parse_stat(text), None, "cut off");
    }

    #[test]
    fn identity_tells_ourselves_from_another_with_our_number() {
        let me = Identity::of(std::process::id()).expect("we run");
        assert!(me.is_alive());
        assert!(
            !Identity {
                start_time: me.start_time + 2,
                ..me
            }
            .is_alive()
        );
    }

    #[test]
    fn a_tree_has_children_and_their_children() {
        // A job in the background has /dev/null for its input unless it is given one.
        let script = "exec 3<&0; sh -c 'read x; exit' <&3 & echo $!; wait";
        let mut child = Command::new("sh")
            .args(["-c", script])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("sh starts");
        let mut line = String::new();
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
        lines.read_line(&mut line).expect("a line");
        let grandchild: u32 = line.trim().parse().expect("a number");
        let found = tree(std::process::id()).expect("we run");
        let place = |pid| found.iter().position(|found| *found == pid);
        assert_eq!(found[0], std::process::id());
        assert!(place(child.id()) < place(grandchild), "{found:?}");
        assert!(tree(u32::MAX >> 1).is_err());
        drop(child.stdin.take());
        child.wait().expect("it ends");
    }

    #[test]
    fn a_process_is_known_by_its_innermost_number() {
        assert_eq!(innermost_number("Name:\tx\nNSpid:\t70\t7\n"), Some(7));
        assert_eq!(innermost_number("Pid:\t70\n"), None);
        let number = number_inside(std::process::id()).expect("we run").1;
        assert_eq!(number, std::process::id());
    }

    #[test]
    fn a_zombie_is_not_alive() {
        let mut child = Command::new("true").spawn().expect("true starts");
        let identity = Identity::of(child.id()).expect("not yet waited for");
        let deadline = std::time::Instant::now() + Duration::from_secs(10);
        while identity.is_alive() {
            assert!(std::time::Instant::now() < deadline, "true does not end");
            std::thread::yield_now();
        }
        assert!(exists(child.id()), "the zombie keeps its number");
        child.wait().expect("it was our child");
    }
}
