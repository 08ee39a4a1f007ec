//! The command as a user meets it, as far as that needs neither root nor a GPU.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

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
        "verify",
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
fn run_passes_on_output_and_exit_code() {
    let ended = output(&["run", "--", "sh", "-c", "echo one; echo two >&2; exit 41"]);
    assert_eq!(ended.status.code(), Some(41));
    assert_eq!(text(&ended.stdout), "one\n");
    assert_eq!(text(&ended.stderr), "two\n");
}

#[test]
fn run_says_128_and_the_signal_of_a_program_that_was_killed() {
    let ended = output(&["run", "--", "sh", "-c", "kill -9 $$"]);
    assert_eq!(ended.status.code(), Some(128 + 9));
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
    let script = "trap 'echo told; exit 5' TERM; echo ready; while :; do sleep 0.01; done";
    let mut child = strobe(&["run", "--", "sh", "-c", script])
        .stdout(Stdio::piped())
        .spawn()
        .expect("strobe starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    assert_eq!(lines.next().expect("a line").expect("UTF-8"), "ready");
    let kill = Command::new("sh")
        .args(["-c", &format!("kill {}", child.id())])
        .status();
    assert!(kill.expect("sh starts").success());
    assert_eq!(lines.next().expect("a line").expect("UTF-8"), "told");
    assert_eq!(child.wait().expect("it ends").code(), Some(5));
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
