//! What a restore has left whose CRIU, or whose command, was killed.
//!
//! Whom CRIU has seized goes with it (the plugin sees to that); the others of a tree, which it seizes last, wait for it
//! for ever. They are told from everybody else by the files of CRIU's work folder that they have open: its
//! log, which each closes (`std_log_set_fd` in pie/restorer.c) when it is seized already. Those that CRIU had let
//! go of when it was killed run, without the rest: they are named in the log.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, fmt, thread};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use strobe_program::descriptor::{is_written, links};
use strobe_program::process::{self, Identity};

use crate::point_of_no_return::{self, GivenUp};
use crate::{ghosts, run};

/// How the name of a work folder starts.
const NAME: &str = "strobe-criu-";
/// Locked as long as the command lives, or the one that puts its affairs in order; says when it was started, and
/// where.
const OWNER: &str = "owner";
/// What CRIU says when it has let go of all.
const DONE: &str = "Restore finished successfully";
/// What is around the number of a process where the plugin says in CRIU's log that it is whole.
const WHOLE: (&str, &str) = ("(strobe): process ", " is whole");
/// A killed process is in the driver's hands for a while.
const PATIENCE: Duration = Duration::from_secs(30);
/// Who makes a work folder has long made its lock.
const MAKING: Duration = Duration::from_secs(60);
/// Two clocks tell of the same moment.
const SLACK: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// A folder for the logs of one restore, readable by nobody else. It goes when this does.
#[derive(Debug)]
pub struct WorkFolder {
    path: PathBuf,
    /// CLOCK_BOOTTIME ticks; no process of the restore is older.
    started: u64,
    _owner: File,
}

impl WorkFolder {
    /// In the folder for temporary files.
    pub fn create() -> io::Result<Self> {
        let me = Identity::of(std::process::id())?;
        for number in 0..1000 {
            let path = env::temp_dir().join(format!("{NAME}{}-{number}", me.pid));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {}
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(e) => return Err(e),
            }
            let path = path.canonicalize()?;
            let mut owner = OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(path.join(OWNER))?;
            owner.lock()?;
            write!(owner, "{} {}", me.start_time, Here::now()?)?;
            File::create(point_of_no_return::path(&path))?;
            return Ok(Self {
                path,
                started: me.start_time,
                _owner: owner,
            });
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether CRIU has let the whole program go.
    pub fn is_done(&self) -> bool {
        log(&self.path).contains(DONE)
    }

    /// Ends all that CRIU has made, and CRIU, unless it has let the whole program go. No process of it is there any
    /// more when this returns, but for those that nobody has waited for.
    pub fn end_all(&self) {
        end_all(&self.path, self.started);
    }

    /// Removes the stand-ins of deleted files that CRIU has left, when no process of the restore exists any more.
    pub fn remove_ghosts(&self) {
        ghosts::remove(&log(&self.path));
    }

    /// Removes it, for who is dead.
    pub fn remove(&self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        self.remove();
    }
}

/// What the plugin says of each process before CRIU lets go of the first.
pub fn whole(pid: u32) -> String {
    format!("process {pid} is whole")
}

/// Clears up after restores that were killed with all that belonged to them.
pub fn clear() {
    let entries = fs::read_dir(env::temp_dir()).into_iter().flatten();
    for entry in entries.flatten() {
        let path = entry.path();
        if !entry.file_name().to_string_lossy().starts_with(NAME) {
            continue;
        }
        remove_half_made(&path);
        if let Some((_owner, started)) = dead(&path) {
            // Those of another boot are gone.
            if let Some(started) = started {
                end_all(&path, started);
            }
            ghosts::remove(&log(&path));
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Where numbers of processes and moments mean something: a boot, and in it a PID namespace.
struct Here {
    boot: String,
    numbers: u64,
}

impl Here {
    fn now() -> io::Result<Self> {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
        Ok(Self {
            boot: boot.trim().to_owned(),
            numbers: fs::metadata("/proc/self/ns/pid")?.ino(),
        })
    }
}

impl fmt::Display for Here {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.boot, self.numbers)
    }
}

/// The lock of a work folder of ours whose owner is dead, and when that was started; `None` for the latter where
/// that was before the machine was. Whose numbers are of another PID namespace is left to who has that.
fn dead(path: &Path) -> Option<(File, Option<u64>)> {
    if !is_private_folder(&path.symlink_metadata().ok()?) {
        return None;
    }
    let mut owner = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path.join(OWNER))
        .ok()?;
    owner.try_lock().ok()?;
    let mut text = String::new();
    Read::by_ref(&mut owner)
        .take(128)
        .read_to_string(&mut text)
        .ok()?;
    let (started, place) = text.split_once(' ')?;
    let here = Here::now().ok()?;
    if !place.starts_with(&here.boot) {
        return Some((owner, None));
    }
    let started = started.parse().ok()?;
    (place == here.to_string()).then_some((owner, Some(started)))
}

/// Removes a work folder whose maker was killed before it was marked: nothing else has been done yet.
fn remove_half_made(path: &Path) {
    let is_old = |folder: fs::Metadata| {
        let age = folder.modified().ok().and_then(|then| then.elapsed().ok());
        is_private_folder(&folder) && age.is_some_and(|age| age > MAKING)
    };
    if path.symlink_metadata().is_ok_and(is_old) {
        let owner = path.join(OWNER);
        if owner.symlink_metadata().is_ok_and(|mark| mark.len() == 0) {
            let _ = fs::remove_file(owner);
        }
        // Only an empty one goes.
        let _ = fs::remove_dir(path);
    }
}

/// Whether it is a folder of this user that nobody else may look into.
fn is_private_folder(there: &fs::Metadata) -> bool {
    there.is_dir() && there.uid() == geteuid().as_raw() && there.mode() & 0o077 == 0
}

fn log(work: &Path) -> String {
    run::tail(&work.join(run::RESTORE_LOG))
}

fn end_all(work: &Path, started: u64) {
    let _given_up = GivenUp::after_criu(work);
    kill_while(|| users(work));
    let text = log(work);
    if text.contains(DONE) {
        return;
    }
    // Numbers are used again, and by the next restore of the same program on purpose.
    let written = age_of_log(work);
    let is_of_it = |one: &Identity| {
        one.start_time >= started && one.age().is_some_and(|age| age + SLACK >= written)
    };
    let released = released(&text).flat_map(Identity::of);
    let released: Vec<_> = released.filter(is_of_it).collect();
    let alive = released.iter().filter(|one| one.is_alive());
    kill_while(|| alive.clone().map(|one| one.pid).collect());
}

/// How long nobody has written to it; of a clock that was set, no time at all.
fn age_of_log(work: &Path) -> Duration {
    let modified = work.join(run::RESTORE_LOG).metadata();
    let modified = modified.and_then(|there| there.modified());
    let age = modified.ok().and_then(|then| then.elapsed().ok());
    age.unwrap_or_default()
}

/// Kills whom `look` finds, until it finds nobody.
fn kill_while(look: impl Fn() -> Vec<u32>) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let left = look();
        if left.is_empty() || Instant::now() > deadline {
            return;
        }
        for pid in left {
            // It may have ended meanwhile.
            let _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
        }
        thread::sleep(LOOK_AGAIN);
    }
}

/// Processes that write to a file in a work folder, other than its owner's lock. Who reads CRIU's log is somebody
/// who looks.
fn users(folder: &Path) -> Vec<u32> {
    let owner = folder.join(OWNER);
    let is_used = |path: &Path| path.starts_with(folder) && path != owner;
    let uses = |pid: &u32| {
        let files = links(*pid).unwrap_or_default();
        let mut used = files.iter().filter(|(_, path)| is_used(Path::new(path)));
        used.any(|(descriptor, _)| is_written(*pid, *descriptor))
    };
    let all = process::all().unwrap_or_default().into_iter();
    all.filter(|pid| *pid != std::process::id() && uses(pid))
        .collect()
}

/// The processes that CRIU was about to let go of.
fn released(log: &str) -> impl Iterator<Item = u32> {
    log.lines().filter_map(|line| {
        let rest = line.split_once(WHOLE.0)?.1;
        rest.strip_suffix(WHOLE.1)?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn who_writes_to_a_file_of_the_folder_is_ended_and_nobody_else() {
        let work = WorkFolder::create().unwrap();
        let cat = |output: Stdio, errors: Stdio| {
            let mut cat = Command::new("cat");
            let cat = cat.stdin(Stdio::piped()).stdout(output).stderr(errors);
            cat.spawn().unwrap()
        };
        let log = work.path().join("restore.log");
        let mut ours = cat(File::create(&log).unwrap().into(), Stdio::null());
        let reader = File::open(&log).unwrap();
        let others = [Stdio::null(), reader.into()].map(|file| cat(Stdio::null(), file));
        // Dead it stays a zombie, which has no files.
        work.end_all();
        assert!(!ours.wait().unwrap().success());
        for mut other in others {
            assert!(other.try_wait().unwrap().is_none());
            drop(other.stdin.take());
            other.wait().unwrap();
        }
    }

    #[test]
    fn processes_that_were_let_go_are_ended_unless_all_were() {
        let work = WorkFolder::create().unwrap();
        let log = work.path().join("restore.log");
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let said = format!("(00.1) (strobe): {}\n", whole(child.id()));
        fs::write(&log, format!("{said}(00.2) {DONE}. Tasks resumed.\n")).unwrap();
        assert!(work.is_done());
        work.end_all();
        assert!(child.try_wait().unwrap().is_none());
        fs::write(&log, said).unwrap();
        work.end_all();
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn a_folder_whose_owner_lives_is_left_alone() {
        let work = WorkFolder::create().unwrap();
        clear();
        assert!(work.path().exists());
        let path = work.path().to_owned();
        // As if killed.
        let WorkFolder { _owner: owner, .. } = &work;
        owner.unlock().unwrap();
        clear();
        assert!(!path.exists());
    }

    #[test]
    fn what_was_not_marked_yet_when_its_maker_was_killed_goes_when_it_is_old() {
        let of_dead = |number: u32, mark: &[&str]| {
            let path = env::temp_dir().join(format!("{NAME}{}-{number}", std::process::id()));
            DirBuilder::new().mode(0o700).create(&path).unwrap();
            mark.iter()
                .for_each(|name| drop(File::create(path.join(name)).unwrap()));
            path
        };
        let young = of_dead(1001, &[OWNER]);
        let old = [&[OWNER][..], &[], &["something"]];
        let old: Vec<_> = (1002..)
            .zip(old)
            .map(|(number, mark)| of_dead(number, mark))
            .collect();
        let before = std::time::SystemTime::now() - MAKING * 2;
        for path in &old {
            File::open(path).unwrap().set_modified(before).unwrap();
        }
        clear();
        let are_there: Vec<bool> = old.iter().map(|path| path.exists()).collect();
        assert_eq!(are_there, [false, false, true]);
        assert!(young.exists());
        for path in [&young, &old[2]] {
            fs::remove_dir_all(path).unwrap();
        }
    }

    #[test]
    fn who_was_started_after_a_log_was_written_is_not_of_that_restore() {
        let work = WorkFolder::create().unwrap();
        let log = work.path().join("restore.log");
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        fs::write(&log, format!("(00.1) (strobe): {}\n", whole(child.id()))).unwrap();
        let file = File::options().write(true).open(&log).unwrap();
        let before = std::time::SystemTime::now() - Duration::from_secs(3600);
        file.set_modified(before).unwrap();
        drop(file);
        work.end_all();
        assert!(child.try_wait().unwrap().is_none());
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn of_another_boot_nobody_is_left_and_of_another_namespace_nobody_is_known() {
        let work = WorkFolder::create().unwrap();
        work._owner.unlock().unwrap();
        let owner = work.path().join(OWNER);
        let here = Here::now().unwrap();
        let told = |text: String| {
            fs::write(&owner, text).unwrap();
            dead(work.path()).map(|(_, started)| started)
        };
        assert_eq!(told(format!("7 {here}")), Some(Some(7)));
        assert_eq!(told(format!("7 {}1", here)), None);
        assert_eq!(told("7 another-boot 3".to_owned()), Some(None));
        assert_eq!(told("7".to_owned()), None);
    }
}
