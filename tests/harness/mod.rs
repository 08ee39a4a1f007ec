//! What end-to-end tests share: a folder each, compiled programs, and commands whose end is checked.
#![allow(dead_code, reason = "each test program uses a part of it")]

pub(crate) mod environment;
pub(crate) mod lethal;
pub(crate) mod rocm;
pub(crate) mod streamer;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use strobe_evaluation::{Session, Strobe, compile};
use strobe_isa::Target;
use strobe_program::process;

/// Longest wait for anything a test waits for.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// The command under test.
pub(crate) fn strobe() -> Strobe {
    Strobe::new(env!("CARGO_BIN_EXE_strobe"))
}

/// A test's own folder, gone when the test is over.
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    pub(crate) fn new(test: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        // Tests that run side by side may ask for the same.
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("strobe-{test}-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).expect("a folder for the test");
        Self { path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Tells a program that logs its rounds to "log" to end some rounds from now (`rounds_in_all` in
    /// tests/programs/check.h), and one that is restored here likewise; how many it makes in all.
    pub(crate) fn rounds_enough(&self) -> usize {
        self.rounds_enough_of(&["log"], 10)
    }

    /// The same of programs with these logs: all make as many, `more` than any has made.
    pub(crate) fn rounds_enough_of(&self, logs: &[&str], more: usize) -> usize {
        let made = |log: &&str| {
            let log = fs::read_to_string(self.join(log)).expect("its log");
            log.lines().count()
        };
        let rounds = logs.iter().map(made).max().unwrap_or(0) + more;
        for log in logs {
            // Whole from the first moment.
            let part = self.join(&format!("{log}.rounds.part"));
            fs::write(&part, rounds.to_string()).expect("it is our folder");
            fs::rename(part, self.join(&format!("{log}.rounds"))).expect("it is our folder");
        }
        rounds
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Where compiled programs are: the soak's are there too, so that each is compiled once.
pub(crate) fn programs() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("programs")
}

/// A HIP program of tests/programs, compiled.
pub(crate) fn hip_program(source: &str) -> String {
    hip_program_for(compile::TARGET, source)
}

/// The same for any target.
pub(crate) fn hip_program_for(target: &Target, source: &str) -> String {
    static COMPILER: Mutex<()> = Mutex::new(());
    // Several tests use one program; the first compiles it.
    let _turn = COMPILER.lock().unwrap_or_else(PoisonError::into_inner);
    let program =
        compile::hip_for(target, source, "-O2", &programs()).expect("hipcc compiles the program");
    program
        .into_os_string()
        .into_string()
        .expect("a path in UTF-8")
}

/// Starts a program under `strobe run` on a software GPU.
pub(crate) fn start(folder: &Folder, program: &[&str]) -> Session {
    Session::start(&strobe(), &[], program, folder.path()).expect("the program starts")
}

/// The log of `mixed` for so many rounds when nothing interrupts it.
pub(crate) fn uninterrupted(rounds: usize) -> String {
    let rounds = &rounds.to_string();
    let folder = Folder::new(&format!("uninterrupted-{rounds}"));
    let program = hip_program("mixed.cpp");
    let session = start(&folder, &[&program, rounds, "log"]);
    let status = session.wait(LIMIT).expect("it ends");
    assert!(status.success(), "{status}");
    fs::read_to_string(folder.join("log")).expect("its log")
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    pub(crate) fn new(output: &Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    #[track_caller]
    pub(crate) fn well(self) -> Self {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self
    }

    /// It failed or refused with one sentence that has all of `words` in it.
    #[track_caller]
    pub(crate) fn badly(self, words: &[&str]) -> Self {
        assert!(
            matches!(self.code, Some(1 | 3)),
            "ended with {:?}: {}",
            self.code,
            self.stderr
        );
        let lines: Vec<&str> = self.stderr.lines().collect();
        assert_eq!(lines.len(), 1, "not one sentence: {}", self.stderr);
        assert!(lines[0].starts_with("strobe: "), "{}", self.stderr);
        for word in words {
            assert!(lines[0].contains(word), "no {word:?} in: {}", self.stderr);
        }
        self
    }
}

/// Runs `strobe` with these arguments to its end.
pub(crate) fn run<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Ended {
    let output = strobe()
        .command()
        .args(arguments)
        .output()
        .expect("strobe starts");
    Ended::new(&output)
}

/// `strobe checkpoint`, with further options, of a program that writes nothing unannounced. Had a copy
/// come too late, or a footprint been too small, validation would find it out and take the checkpoint
/// again: the image would be right, and what made it wrong would be seen by nobody.
#[track_caller]
pub(crate) fn checkpoint(session: &Session, images: &Path, options: &[&str]) -> Ended {
    let ended = checkpoint_of(session.pid(), images, options);
    let (stdout, stderr) = (&ended.stdout, &ended.stderr);
    let missed = match serde_json::from_str::<serde_json::Value>(stdout) {
        Ok(report) => report["missed_writes"] != serde_json::json!([]),
        Err(_) => stderr.contains("unannounced"),
    };
    assert!(!missed, "written unannounced: {stdout}{stderr}");
    ended
}

/// The same, of whatever program.
#[track_caller]
pub(crate) fn checkpoint_of(pid: u32, images: &Path, options: &[&str]) -> Ended {
    let mut command = strobe().command();
    command
        .arg("checkpoint")
        .arg(pid.to_string())
        .arg("-o")
        .arg(images)
        .args(options);
    Ended::new(&command.output().expect("strobe starts"))
}

/// `strobe restore --wait` on a new software GPU; ends when the program does.
pub(crate) fn restore(images: &Path) -> Ended {
    restore_on(images, &[])
}

/// The same, with options of `strobe softgpu`.
pub(crate) fn restore_on(images: &Path, device: &[&str]) -> Ended {
    let strobe = strobe();
    let mut command = strobe.command();
    command
        .arg("softgpu")
        .args(device)
        .arg("--")
        .arg(strobe.path());
    command.args(["restore", "--wait"]).arg(images);
    Ended::new(&command.output().expect("strobe starts"))
}

/// `strobe restore --check` on a new software GPU.
pub(crate) fn check(images: &Path) -> Ended {
    let strobe = strobe();
    let mut command = strobe.command();
    command.args(["softgpu", "--"]).arg(strobe.path());
    command.args(["restore", "--check"]).arg(images);
    Ended::new(&command.output().expect("strobe starts"))
}

/// The guard of a command, which would put in order what that leaves.
pub(crate) fn guard_of(command: u32) -> u32 {
    let strobe = strobe().path().display().to_string();
    let is_guard = |pid: &u32| {
        let words = process::command_line(*pid).unwrap_or_default();
        process::stat(*pid).is_ok_and(|stat| stat.parent == command)
            && words.first().is_some_and(|name| *name == strobe)
    };
    let mut all = process::all().expect("processes").into_iter();
    all.find(is_guard).expect("it has a guard")
}

/// `strobe verify`.
pub(crate) fn verify(images: &Path) -> Ended {
    run([OsStr::new("verify"), images.as_os_str()])
}
