//! Output that goes to a pipe, whose other end CRIU cannot restore.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, PipeWriter, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nix::fcntl::{FcntlArg, OFlag, fcntl};

use crate::harness::{Ended, Folder, LIMIT, hip_program, restore, run, start, strobe, verify};

/// `mixed` with its output in a pipe.
fn piped(pid_file: &Path, stdin: Stdio) -> Child {
    let strobe = strobe();
    let mut command = strobe.command();
    command.args(["softgpu", "--"]).arg(strobe.path());
    command.args(["run", "--pid-file"]).arg(pid_file);
    command
        .args(["--", &hip_program("mixed.cpp"), ROUNDS])
        .stdin(stdin)
        .stdout(Stdio::piped());
    command.spawn().expect("strobe starts")
}

/// Starts `mixed` with its output in a pipe and takes a checkpoint; what it said before its end, and what
/// it says after the restore.
fn said_before_and_after(name: &str, options: &[&str]) -> (String, String) {
    let folder = Folder::new(name);
    let (pid_file, images) = (folder.join("pid"), folder.join("images"));
    let mut child = piped(&pid_file, Stdio::null());
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut all = String::new();
    while !all.contains("round 5 ") {
        let read = lines.read_line(&mut all).expect("text");
        assert_ne!(read, 0, "it ended early: {all}");
    }
    let pid = fs::read_to_string(&pid_file).expect("a pid file");
    let taken = ["checkpoint", pid.trim(), "-o"];
    let taken = taken.iter().map(OsStr::new).chain([images.as_os_str()]);
    let taken = run(taken.chain(options.iter().map(OsStr::new))).well();
    if options.contains(&"--kill") {
        // What the plugin copied while the program was frozen is all there is.
        assert!(
            taken.stdout.contains("copying      0.0 ms"),
            "{}",
            taken.stdout
        );
    }
    lines.read_to_string(&mut all).expect("text");
    child.wait().expect("it was ours");
    // The files it wrote to went with it.
    let Ended { stdout: rest, .. } = restore(&images).well();
    (all, rest)
}

const ROUNDS: &str = "200";

#[test]
fn piped_output_is_passed_on_before_the_checkpoint_and_after_the_restore() {
    let (all, rest) = said_before_and_after("piped", &[]);
    assert!(all.ends_with(&format!("end rounds {ROUNDS}\n")), "{all}");
    let passed_on = all.len() - rest.len();
    assert!(!rest.is_empty() && passed_on > 0, "{rest}");
    assert_eq!(rest, all[passed_on..]);
}

/// It does nothing after the cut.
#[test]
fn a_program_that_is_killed_with_its_checkpoint_says_nothing_twice() {
    let whole = Folder::new("piped-whole");
    let mut session = start(&whole, &[&hip_program("mixed.cpp"), ROUNDS]);
    session
        .wait_for("stdout", "end rounds", LIMIT)
        .expect("it ends");
    session.wait(LIMIT).expect("it ends");
    let whole = fs::read_to_string(whole.join("stdout")).expect("its output");
    for mode in ["cow", "stop"] {
        let name = format!("piped-killed-{mode}");
        let (all, rest) = said_before_and_after(&name, &["--kill", "--mode", mode]);
        assert!(!rest.is_empty(), "{mode}");
        assert_eq!(all + &rest, whole, "{mode}");
    }
}

/// Its other end is not saved.
#[test]
fn a_pipe_that_the_program_reads_from_outside_is_named() {
    let folder = Folder::new("pipe-in");
    let (pid_file, images) = (folder.join("pid"), folder.join("images"));
    let mut child = piped(&pid_file, Stdio::piped());
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let worked = lines.find(|line| line.as_ref().is_ok_and(|line| line.starts_with("round 2 ")));
    assert!(worked.is_some(), "it ended early");
    let pid = fs::read_to_string(&pid_file).expect("a pid file");
    let taken = ["checkpoint", pid.trim(), "--json", "-o"];
    let taken = run(taken.iter().map(OsStr::new).chain([images.as_os_str()])).well();
    let report: serde_json::Value = serde_json::from_str(&taken.stdout).expect("JSON");
    let warnings = report["warnings"].as_array().expect("a list");
    let named = |warning: &serde_json::Value| {
        let text = warning.as_str().expect("a sentence");
        text.starts_with(&format!("descriptor 0 of process {} ", pid.trim()))
    };
    assert!(warnings.iter().any(named), "{warnings:?}");
    drop(child.stdin.take());
    assert!(lines.all(|line| line.is_ok()), "text");
    assert!(child.wait().expect("it was ours").success());
}

#[test]
fn two_programs_of_one_number_in_two_containers_each_have_their_output() {
    const SCRIPT: &str = "for i in $(seq 15); do echo $0 $i; sleep 0.1; done";
    let start = |name: &str| {
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork", "--mount-proc", "--kill-child"]);
        command.arg(strobe().path());
        command.args(["run", "--", "sh", "-c", SCRIPT, name]);
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("unshare starts")
    };
    let both = ["one", "two"].map(|name| (name, start(name)));
    for (name, child) in both {
        let ended = Ended::new(&child.wait_with_output().expect("it ends")).well();
        let all: String = (1..=15).map(|i| format!("{name} {i}\n")).collect();
        assert_eq!(ended.stdout, all);
        assert_eq!(ended.stderr, "");
    }
}

/// What a command's stdout and stderr can be when nothing can be written there.
fn unwritable() -> [(&'static str, OwnedFd); 3] {
    let full = File::options().write(true).open("/dev/full");
    let (reader, without_reader) = std::io::pipe().expect("a pipe");
    drop(reader);
    [
        ("full", full.expect("it is there").into()),
        ("without a reader", without_reader.into()),
        ("a full pipe", full_pipe().into()),
    ]
}

/// A pipe that nobody reads and that takes no more.
fn full_pipe() -> PipeWriter {
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    fcntl(&writer, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).expect("a flag");
    while writer.write(&[0; 4096]).is_ok() {}
    while writer.write(&[0]).is_ok() {}
    fcntl(&writer, FcntlArg::F_SETFL(OFlag::empty())).expect("a flag");
    // Whoever writes would otherwise learn that it is gone.
    std::mem::forget(reader);
    writer
}

/// Checkpoints, and restores that cut the program's log back, with all phases reported.
#[test]
fn what_cannot_be_told_is_done_all_the_same() {
    for (name, file) in unwritable() {
        let stderr = file.try_clone();
        let folder = Folder::new(&format!("untold-{}", name.replace(' ', "-")));
        let program = hip_program("mixed.cpp");
        let mut session = start(&folder, &[&program, "1000000", "log"]);
        session
            .wait_for("log", "round 1 ", LIMIT)
            .expect("it works");
        let images = folder.join("images");
        let full = File::options().write(true).open("/dev/full");
        let mut command = strobe().command();
        let status = command
            .env("STROBE_LOG", "debug")
            .args(["checkpoint", &session.pid().to_string(), "-o"])
            .arg(&images)
            .stdout(full.expect("it is there"))
            .stderr(file)
            .status();
        assert_eq!(status.expect("strobe starts").code(), Some(0), "{name}");
        verify(&images).well();
        let staged = fs::read_dir(folder.path()).expect("a folder").flatten();
        let staged = staged.filter(|entry| entry.file_name().as_encoded_bytes()[0] == b'.');
        assert_eq!(staged.count(), 0, "{name}: something was left behind");
        let rounds = fs::read_to_string(folder.join("log")).expect("its log");
        let later = format!("round {} ", rounds.lines().count() + 2);
        session.wait_for("log", &later, LIMIT).expect("it goes on");
        session.kill().expect("it is there");
        folder.rounds_enough();
        let strobe = strobe();
        let mut command = strobe.command();
        command.args(["softgpu", "--"]).arg(strobe.path());
        let status = command
            .env("STROBE_LOG", "debug")
            .args(["restore", "--wait"])
            .arg(&images)
            .stderr(stderr.expect("another like it"))
            .status();
        assert_eq!(status.expect("strobe starts").code(), Some(0), "{name}");
    }
}

#[test]
fn every_phase_of_a_checkpoint_is_reported_on_demand() {
    let folder = Folder::new("phases");
    let mut session = start(&folder, &[&hip_program("mixed.cpp"), "1000000", "log"]);
    session
        .wait_for("log", "round 1 ", LIMIT)
        .expect("it works");
    let output = strobe()
        .command()
        .env("STROBE_LOG", "debug")
        .env("STROBE_LOG_FORMAT", "json")
        .args(["checkpoint", &session.pid().to_string(), "-o"])
        .arg(folder.join("images"))
        .output()
        .expect("strobe starts");
    let text = String::from_utf8(output.stderr).expect("text");
    assert!(output.status.success(), "{text}");
    let lines = text.lines().map(|line| {
        serde_json::from_str::<serde_json::Value>(line).unwrap_or_else(|e| panic!("{line}: {e}"))
    });
    let closed = lines.filter(|line| line["fields"]["message"] == "close");
    let phases: Vec<String> = closed
        .map(|line| line["span"]["name"].as_str().expect("a name").to_owned())
        .collect();
    // The command's, and two of the plugin's.
    let expected = [
        "prepare",
        "arm",
        "dump",
        "commit",
        "copy",
        "checkpoint",
        "cut",
        "residual",
    ];
    for phase in expected {
        assert!(
            phases.iter().any(|name| name == phase),
            "no {phase}: {phases:?}"
        );
    }
}
