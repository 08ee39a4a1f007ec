//! Runs `criu dump` and `criu restore`.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{io, iter, thread};

use strobe_program::namespaces::{NamespaceError, Namespaces};
use strobe_program::{maps, process};
use strobe_proto::TcpConnections;
use strobe_proto::environment::{ON_DEMAND, PRELOAD, UNWATCHED};

use crate::failure;
use crate::locate::Criu;
use crate::point_of_no_return::{self, GivenUp};
use crate::{said, tcp};

/// File name of the library that puts the software GPU under a process.
const SOFTGPU_LIBRARY: &str = "libsoftgpu.so";
/// Tells our plugin how many bytes of the program's files to save.
pub const FILES_LIMIT_VARIABLE: &str = "STROBE_FILES_LIMIT";
/// Bytes of a deleted file that CRIU saves by itself.
const CRIU_GHOST_LIMIT: u64 = 1 << 20;
pub(crate) const DUMP_LOG: &str = "dump.log";
pub(crate) const RESTORE_LOG: &str = "restore.log";
/// The end of a log that is read for its errors.
const LOG_LIMIT: usize = 64 << 20;

#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum RunError {
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    #[error("{path} does not start: {error}")]
    Spawn { path: PathBuf, error: io::Error },
    #[error("{0}")]
    Failed(String),
    /// By our plugin, or because a number that the program needs is taken.
    #[error("{0}")]
    Refused(String),
    /// By our plugin; another dump may succeed.
    #[error("{0}")]
    NotNow(String),
    #[error("CRIU was interrupted")]
    Interrupted,
    #[error("process {0} has ended while CRIU was looking at it")]
    Ended(u32),
    #[error("CRIU did not finish within {} s and was killed", .0.as_secs())]
    TimeOut(Duration),
}

/// The library of the software GPU, if the process runs on it.
pub fn softgpu_library(pid: u32) -> io::Result<Option<PathBuf>> {
    let maps = maps::read(pid)?;
    Ok(maps
        .into_iter()
        .find(|m| m.is_file_named(SOFTGPU_LIBRARY))
        .map(|m| m.path))
}

/// Puts libraries into a command, and none besides.
pub fn preload<'a>(command: &mut Command, libraries: impl IntoIterator<Item = &'a Path>) {
    let libraries: Vec<_> = libraries.into_iter().map(Path::as_os_str).collect();
    // Nor is ours given back where this command itself is part of a `strobe run`.
    command.env(UNWATCHED, "1");
    match libraries.is_empty() {
        true => command.env_remove(PRELOAD),
        false => command.env(PRELOAD, libraries.join(OsStr::new(":"))),
    };
}

/// What dump and restore have in common. All paths are absolute.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The program to run.
    pub criu: &'a Criu,
    /// Holds the images.
    pub images: &'a Path,
    /// An existing folder for logs and statistics.
    pub work: &'a Path,
    /// Folder of plugins.
    pub plugins: &'a Path,
    /// Ours among them: preloaded, it keeps SIGSTOP away from a dump, and has what a restore has made end with CRIU.
    pub plugin: &'a Path,
    /// The software GPU's library ([`softgpu_library`]), which CRIU then needs under it too.
    pub softgpu: Option<&'a Path>,
    /// What becomes of connected TCP sockets: the same at the dump and the restore.
    pub tcp: TcpConnections,
    /// After this CRIU is killed.
    pub time_out: Duration,
}

/// A CRIU at work. Killed when dropped unfinished.
#[derive(Debug)]
pub struct Running {
    child: Child,
    work: PathBuf,
    log: PathBuf,
    messages: PathBuf,
    started: Instant,
    time_out: Duration,
    /// The root of the processes that are dumped.
    dumped: Option<u32>,
    next_look: Instant,
    /// A process that has ended in CRIU's hands, and when that was seen.
    dead: Option<(u32, Instant)>,
    /// Of a restore, until CRIU is dead.
    given_up: Option<GivenUp>,
}

/// How often it is looked for those that have ended in CRIU's hands, and how long CRIU may take to see it.
const LOOK: Duration = Duration::from_millis(500);
const DEAD_PATIENCE: Duration = Duration::from_secs(2);

impl Setting<'_> {
    /// Starts a dump of the process tree under `pid`, in its namespaces. Of the files that it writes
    /// `files_limit` bytes are saved, and each that it has deleted if it is not larger (or small).
    pub fn dump(
        &self,
        pid: u32,
        leave_running: bool,
        files_limit: u64,
    ) -> Result<Running, RunError> {
        let mut command = self.command("dump", DUMP_LOG);
        command.args(["-t", &pid.to_string()]);
        // A word of 32 bits to CRIU, which saves small ones in any case.
        let deleted = files_limit.clamp(CRIU_GHOST_LIMIT, u32::MAX.into());
        let deleted = deleted.to_string();
        command.args(["--ghost-limit", &deleted]);
        command.env(FILES_LIMIT_VARIABLE, files_limit.to_string());
        // What was opened under a name that is gone may have another ([`crate::remapped`]).
        command.arg("--link-remap");
        if leave_running {
            command.arg("--leave-running");
        }
        command.stdin(Stdio::null());
        lead_session(&mut command);
        Namespaces::of(pid)?.enter_on_spawn(&mut command);
        let mut running = self.spawn(command, DUMP_LOG)?;
        running.dumped = Some(pid);
        Ok(running)
    }

    /// How long the plugin's phases of a dump took so far, if it was asked to report that.
    pub fn dump_phases(&self) -> Vec<String> {
        said::of(&self.work.join(DUMP_LOG), said::PHASE)
    }

    /// The same of a restore.
    pub fn restore_phases(&self) -> Vec<String> {
        said::of(&self.work.join(RESTORE_LOG), said::PHASE)
    }

    /// What a restored program did not get, a sentence each.
    pub fn restore_remarks(&self) -> Vec<String> {
        said::of(&self.work.join(RESTORE_LOG), said::REMARK)
    }

    /// Starts a restore; the program becomes a child of ours ([`Self::restored_pid`]), and may run before all its
    /// memory is filled where that is to come `on_demand`.
    pub fn restore(&self, on_demand: bool) -> Result<Running, RunError> {
        let mut command = self.command("restore", RESTORE_LOG);
        command.env(ON_DEMAND, if on_demand { "YES" } else { "NO" });
        command.env(
            point_of_no_return::VARIABLE,
            point_of_no_return::path(self.work),
        );
        command.args(["--restore-detached", "--restore-sibling", "--pidfile"]);
        command.arg(self.pid_file());
        // A program that does not lead its session, like many a daemon, comes back in CRIU's, and must not get the
        // terminal that this command is given at.
        lead_session(&mut command);
        end_with_this_thread(&mut command);
        self.spawn(command, RESTORE_LOG)
    }

    /// The number of the restored root process.
    pub fn restored_pid(&self) -> io::Result<u32> {
        let text = fs::read_to_string(self.pid_file())?;
        text.trim()
            .parse()
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, text))
    }

    fn pid_file(&self) -> PathBuf {
        self.work.join("pidfile")
    }

    fn command(&self, action: &str, log: &str) -> Command {
        let mut command = Command::new(&self.criu.path);
        command.arg(action).arg("--images-dir").arg(self.images);
        command
            .arg("--work-dir")
            .arg(self.work)
            .arg("--libdir")
            .arg(self.plugins);
        command.args(["--log-file", log, "-v4", "--shell-job", "--file-locks"]);
        command.args(tcp::options(self.tcp));
        // CRIU's own alarm while it stops the tasks, during which the plugin waits for the GPU.
        command
            .arg("--timeout")
            .arg(self.time_out.as_secs().max(1).to_string());
        preload(&mut command, iter::once(self.plugin).chain(self.softgpu));
        command
    }

    fn spawn(&self, mut command: Command, log: &str) -> Result<Running, RunError> {
        let failed = |error| RunError::Spawn {
            path: self.criu.path.clone(),
            error,
        };
        let messages = self.work.join("messages");
        let file = File::create(&messages).map_err(failed)?;
        let copy = file.try_clone().map_err(failed)?;
        let child = command.stdout(copy).stderr(file).spawn().map_err(failed)?;
        Ok(Running {
            child,
            work: self.work.to_owned(),
            log: self.work.join(log),
            messages,
            started: Instant::now(),
            time_out: self.time_out,
            dumped: None,
            next_look: Instant::now() + LOOK,
            dead: None,
            given_up: None,
        })
    }
}

/// Has a child lead a session. So a terminal's interrupt does not end CRIU halfway, with the program in its hands. And when
/// this process is killed, nobody continues what is stopped in CRIU's group, as the kernel does where that becomes an
/// orphaned one: CRIU waits for a child of its own to stop (`vdso_mmap_compat` there), which goes on then, and would wait for
/// ever.
fn lead_session(command: &mut Command) {
    let lead = || {
        // SAFETY: it takes no arguments.
        match unsafe { libc::setsid() } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    };
    // SAFETY: the closure runs between fork and exec, and makes one bare system call.
    unsafe { command.pre_exec(lead) };
}

/// Has the kernel kill a child when the thread that spawns it ends.
fn end_with_this_thread(command: &mut Command) {
    let parent = std::process::id();
    let end = move || {
        // SAFETY: both are bare system calls on numbers.
        let parent_now = unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            libc::getppid()
        };
        // It may have ended before.
        match parent_now.cast_unsigned() == parent {
            true => Ok(()),
            false => Err(io::ErrorKind::Interrupted.into()),
        }
    };
    // SAFETY: the closure runs between fork and exec: two system calls, and an error without an allocation.
    unsafe { command.pre_exec(end) };
}

impl Running {
    /// When CRIU was started.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// Waits for the end, or until `stop` says so, which is asked every few milliseconds. A program that CRIU has begun to
    /// let go comes back all the same.
    pub fn finish(mut self, stop: impl Fn() -> bool) -> Result<(), RunError> {
        loop {
            let status = self.child.try_wait().map_err(|error| RunError::Spawn {
                path: self.log.clone(),
                error,
            })?;
            if let Some(status) = status {
                return self.judge(status);
            }
            self.check_is_of_use()?;
            if stop() {
                match GivenUp::now(&self.work) {
                    Ok(None) => {}
                    given_up => {
                        self.given_up = given_up.ok().flatten();
                        return Err(RunError::Interrupted);
                    }
                }
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until `done`, while CRIU holds the program frozen. An error when it ends before.
    pub fn until(&mut self, mut done: impl FnMut() -> bool) -> Result<(), RunError> {
        while !done() {
            let status = self.child.try_wait().map_err(|error| RunError::Spawn {
                path: self.log.clone(),
                error,
            })?;
            if let Some(status) = status {
                self.judge(status)?;
                // It may have been done in the moment before.
                return match done() {
                    true => Ok(()),
                    false => Err(RunError::Failed("CRIU has let the program go on".into())),
                };
            }
            self.check_is_of_use()?;
            thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    /// Whether there is anything to wait for. A process that is killed while its threads are being seized CRIU
    /// waits for for ever: for its first thread, which the kernel reports after all others, while CRIU, their
    /// tracer, asks for none of them. Nobody else hears of that end before CRIU has ended.
    fn check_is_of_use(&mut self) -> Result<(), RunError> {
        let now = Instant::now();
        if now - self.started > self.time_out {
            return Err(RunError::TimeOut(self.time_out));
        }
        if let Some(root) = self.dumped
            && now >= self.next_look
        {
            self.next_look = now + LOOK;
            let criu = self.child.id();
            let tree = process::tree(root).unwrap_or_default();
            let dead = tree.into_iter().find(|pid| {
                process::tracer(*pid) == Some(criu)
                    && process::stat(*pid).is_ok_and(|stat| stat.is_dead())
            });
            match (dead, self.dead) {
                (Some(pid), Some((same, since))) if pid == same => {
                    if now - since > DEAD_PATIENCE {
                        return Err(RunError::Ended(pid));
                    }
                }
                (dead, _) => self.dead = dead.map(|pid| (pid, now)),
            }
        }
        Ok(())
    }

    fn judge(&self, status: ExitStatus) -> Result<(), RunError> {
        let text = tail(&self.log) + &tail(&self.messages);
        // Some of CRIU's versions go on when the plugin's last hook of a restore fails.
        if status.success() && !text.contains(failure::PLUGIN_PREFIX) {
            return Ok(());
        }
        let sentence = failure::explain(&text).unwrap_or_else(|| match status.signal() {
            Some(signal) => format!("CRIU was ended by signal {signal}"),
            None => match text.lines().last() {
                Some(line) => format!("CRIU failed; it says last: {line}"),
                None => format!("CRIU failed with {status} and says nothing"),
            },
        });
        if let Some(why) = sentence.strip_prefix(failure::REFUSAL) {
            return Err(RunError::Refused(why.to_owned()));
        }
        if let Some(why) = sentence.strip_prefix(failure::PASSING) {
            return Err(RunError::NotNow(why.to_owned()));
        }
        if sentence.ends_with(failure::NUMBER_IN_USE) {
            // Taken since that was looked at.
            return Err(RunError::Refused(sentence));
        }
        // What our plugin says, and that a program has ended, needs no log to be understood.
        let is_clear = text.contains(failure::PLUGIN_PREFIX) || sentence.ends_with(failure::ENDED);
        let kept = (!is_clear).then(|| keep(&text));
        Err(RunError::Failed(match kept {
            Some(Ok(log)) => format!("{sentence} (CRIU's log: {})", log.display()),
            _ => sentence,
        }))
    }
}

/// Keeps a log for whoever wants to know more: the folder of the run goes away.
fn keep(log: &str) -> io::Result<PathBuf> {
    let name = tempfile::Builder::new()
        .prefix("strobe-criu-")
        .suffix(".log")
        .tempfile()?;
    fs::write(name.path(), log)?;
    Ok(name.keep().map_err(|error| error.error)?.1)
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only when CRIU has ended and was waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn tail(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    let start = bytes.len().saturating_sub(LOG_LIMIT);
    String::from_utf8_lossy(&bytes[start..]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_program::process;

    #[test]
    fn who_is_left_by_a_killed_command_is_of_another_session() {
        let mut command = Command::new("sleep");
        command.arg("60");
        lead_session(&mut command);
        let mut child = command.spawn().unwrap();
        let session = process::stat(child.id()).unwrap().session;
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(session, child.id());
    }
}
