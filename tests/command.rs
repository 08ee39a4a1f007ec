//! The command as a user meets it, as far as that needs neither root nor a GPU.

#[path = "command/footprints.rs"]
mod footprints;
#[path = "command/inspect.rs"]
mod inspect;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Output, Stdio};

fn strobe(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strobe"));
    command.args(arguments);
    command
}

fn output(arguments: &[&str]) -> Output {
    strobe(arguments).output().expect("strobe starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

#[test]
fn every_command_has_help_and_wrong_usage_is_code_2() {
    for command in [
        "run",
        "softgpu",
        "checkpoint",
        "restore",
        "release",
        "ps",
        "inspect",
        "footprints",
        "verify",
        "list",
        "info",
        "report",
        "status",
        "diff",
        "gc",
        "doctor",
    ] {
        let help = output(&[command, "--help"]);
        assert!(help.status.success(), "{command}");
        assert!(text(&help.stdout).contains("Usage: strobe"), "{command}");
        let wrong = output(&[command, "--no-such-option"]);
        assert_eq!(wrong.status.code(), Some(2), "{command}");
    }
}

#[test]
fn a_text_that_cannot_be_written_is_a_failure_and_a_reader_that_goes_away_is_none() {
    for command in [&["ps"][..], &["ps", "--json"], &["doctor"]] {
        let told = output(command).status.code();
        let full = fs::File::options().write(true).open("/dev/full");
        let mut unwritable = strobe(command);
        let ended = unwritable.stdout(full.expect("it is there")).output();
        let ended = ended.expect("strobe starts");
        assert_eq!(ended.status.code(), Some(1), "{command:?}");
        assert_eq!(
            text(&ended.stderr),
            "strobe: cannot write to stdout: No space left on device (os error 28)\n"
        );
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let ended = strobe(command).stdout(writer).output();
        let ended = ended.expect("strobe starts");
        assert_eq!(ended.status.code(), told, "{command:?}");
        assert_eq!(text(&ended.stderr), "");
    }
}

#[test]
fn run_passes_on_output_and_exit_code() {
    let ended = output(&["run", "--", "sh", "-c", "echo one; echo two >&2; exit 41"]);
    assert_eq!(ended.status.code(), Some(41));
    assert_eq!(text(&ended.stdout), "one\n");
    assert_eq!(text(&ended.stderr), "two\n");
}

#[test]
fn run_ends_by_the_signal_that_ended_the_program() {
    for signal in [1, 6, 9, 11, 13, 15] {
        // Under nohup, for one, a signal is ignored that is to end the program here.
        let mut command = Command::new("env");
        command.args(["--default-signal", env!("CARGO_BIN_EXE_strobe"), "run"]);
        command.args(["--", "sh", "-c", &format!("kill -{signal} $$")]);
        let ended = command.output().expect("env starts");
        assert_eq!(ended.status.signal(), Some(signal));
    }
}

/// The signals that `grep` has blocked and ignores, started by a shell that was told `before`.
fn signals_of(before: &str, wrapped: bool) -> Vec<u64> {
    // The C library's own, 32 and 33, are as its last `posix_spawn` left them.
    const OF_PROGRAMS: u64 = !(0b11 << 31);
    let run = format!("{} run -- ", env!("CARGO_BIN_EXE_strobe"));
    let run = if wrapped { &run } else { "" };
    let script = format!("{before}; {run}grep -E 'SigBlk|SigIgn' /proc/self/status");
    let output = Command::new("sh").args(["-c", &script]).output();
    let output = output.expect("sh starts");
    let sets = text(&output.stdout).lines().map(|line| {
        let (_, digits) = line.split_once('\t').expect("a name and a set");
        u64::from_str_radix(digits, 16).expect("a set") & OF_PROGRAMS
    });
    sets.collect()
}

#[test]
fn a_program_under_run_inherits_what_it_would_have_inherited() {
    for before in [":", "trap '' PIPE", "trap '' USR2 HUP", "trap '' PIPE TERM"] {
        assert_eq!(
            signals_of(before, true),
            signals_of(before, false),
            "{before}"
        );
    }
}

#[test]
fn run_keeps_the_order_of_what_goes_to_one_pipe() {
    let lines = "for i in 1 2 3 4 5 6 7 8 9; do echo o$i; echo e$i >&2; done";
    let script = format!(
        "{} run -- sh -c '{lines}' 2>&1 | cat",
        env!("CARGO_BIN_EXE_strobe")
    );
    let output = Command::new("sh").args(["-c", &script]).output();
    let text = String::from_utf8(output.expect("sh starts").stdout).expect("UTF-8");
    let wanted: String = (1..=9).map(|i| format!("o{i}\ne{i}\n")).collect();
    assert_eq!(text, wanted);
}

#[test]
fn run_passes_on_what_those_say_who_outlive_the_program() {
    let ended = output(&[
        "run",
        "--",
        "sh",
        "-c",
        "(sleep 0.3; echo late) & echo early",
    ]);
    assert_eq!(text(&ended.stdout), "early\nlate\n");
}

#[test]
fn a_program_whose_reader_is_gone_ends_as_it_would_have() {
    let mut child = strobe(&["run", "--", "yes"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    // Read a little, and no more.
    let mut some = [0; 2];
    let mut reader = child.stdout.take().expect("a pipe");
    reader.read_exact(&mut some).expect("yes");
    drop(reader);
    let status = child.wait().expect("it ends");
    assert_eq!(status.signal(), Some(13), "{status}");
}

#[test]
fn a_program_under_run_leads_a_session_and_has_the_library() {
    let script = "cut -d' ' -f1,6 /proc/$$/stat; echo $LD_PRELOAD; readlink /proc/$$/fd/1";
    let ended = output(&["run", "--", "sh", "-c", script]);
    let lines: Vec<&str> = text(&ended.stdout).lines().collect();
    let (pid, session) = lines[0].split_once(' ').expect("two numbers");
    assert_eq!(pid, session, "it is in the session of somebody else");
    assert!(lines[1].ends_with("/libstrobe.so"), "{}", lines[1]);
    assert!(
        lines[2].starts_with('/'),
        "its output is no file but {}",
        lines[2]
    );
}

#[test]
fn run_passes_signals_on() {
    for signal in ["TERM", "USR2", "ALRM", "WINCH", "PWR", "RTMIN+3"] {
        let script =
            format!("trap 'echo told; exit 5' {signal}; echo ready; while :; do sleep 0.01; done");
        let mut child = strobe(&["run", "--", "bash", "-c", &script])
            .stdout(Stdio::piped())
            .spawn()
            .expect("strobe starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        assert_eq!(lines.next().expect("a line").expect("UTF-8"), "ready");
        send(signal, &child);
        let told = lines.next().expect("a line").expect("UTF-8");
        assert_eq!(told, "told", "{signal}");
        assert_eq!(child.wait().expect("it ends").code(), Some(5), "{signal}");
    }
}

fn send(signal: &str, child: &Child) {
    let kill = format!("kill -s {signal} {}", child.id());
    let status = Command::new("bash").args(["-c", &kill]).status();
    assert!(status.expect("bash starts").success(), "{signal}");
}

#[test]
fn run_stops_and_goes_on_with_its_program() {
    let mut child = strobe(&[
        "run",
        "--",
        "sh",
        "-c",
        "while :; do echo x; sleep 0.01; done",
    ])
    .stdout(Stdio::piped())
    .spawn()
    .expect("strobe starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    assert_eq!(lines.next().expect("a line").expect("UTF-8"), "x");
    send("TSTP", &child);
    let state = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("it is there");
        let after = stat.rfind(')').expect("a name") + 2;
        stat.as_bytes()[after]
    };
    while state() != b'T' {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    send("CONT", &child);
    // More than was under way.
    for _ in 0..100 {
        assert_eq!(lines.next().expect("a line").expect("UTF-8"), "x");
    }
    send("TERM", &child);
    let status = child.wait().expect("it ends");
    assert_eq!(status.signal(), Some(15), "{status}");
}

#[test]
fn the_pid_file_names_the_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("pid");
    let option = path.to_str().expect("UTF-8");
    let ended = output(&["run", "--pid-file", option, "--", "sh", "-c", "echo $$"]);
    assert_eq!(
        fs::read_to_string(&path).expect("the file"),
        text(&ended.stdout)
    );
}

#[track_caller]
fn one_sentence(ended: &Output, code: i32, word: &str) {
    let said = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(code), "{said}");
    assert!(
        said.starts_with("strobe: ") && said.contains(word),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn a_program_that_cannot_be_started_is_named() {
    one_sentence(
        &output(&["run", "--", "/nonexistent/program"]),
        1,
        "/nonexistent/program",
    );
}

#[test]
fn what_is_no_checkpoint_is_neither_verified_nor_restored() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("letter"), "dear").expect("a file");
    let path = folder.path().to_str().expect("UTF-8");
    one_sentence(&output(&["verify", path]), 1, path);
    one_sentence(&output(&["restore", path]), 3, path);
    assert_eq!(
        fs::read(folder.path().join("letter")).expect("the file"),
        b"dear"
    );
}

#[test]
fn processes_without_an_agent_are_refused() {
    let me = std::process::id().to_string();
    let folder = tempfile::tempdir().expect("a folder");
    let images = folder.path().join("images");
    let path = images.to_str().expect("UTF-8");
    one_sentence(
        &output(&["checkpoint", &me, "-o", path]),
        3,
        "not running under strobe",
    );
    one_sentence(
        &output(&["checkpoint", "4194305", "-o", path]),
        3,
        "no process",
    );
    assert!(!images.exists());
}

#[test]
fn doctor_names_a_remedy_for_whatever_is_missing() {
    let ended = output(&["doctor", "--json"]);
    let checks: serde_json::Value = serde_json::from_slice(&ended.stdout).expect("JSON");
    let checks = checks.as_array().expect("an array");
    assert!(checks.iter().any(|check| check["name"] == "criu"));
    for check in checks {
        let remedy = check["remedy"].as_str().expect("a remedy");
        assert_eq!(check["ok"].as_bool(), Some(remedy.is_empty()), "{check}");
    }
    let missing = checks
        .iter()
        .any(|c| c["ok"] == false && c["optional"] == false);
    assert_eq!(ended.status.success(), !missing);
}

#[test]
fn ps_prints_json() {
    let ended = output(&["ps", "--json"]);
    assert!(ended.status.success());
    let programs: serde_json::Value = serde_json::from_slice(&ended.stdout).expect("JSON");
    assert!(programs.is_array());
}
