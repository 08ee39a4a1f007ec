//! TCP sockets: connections are refused, come back, or come back closed, as is asked for.

use std::fs;
use std::path::{Path, PathBuf};

use strobe_criu::locate::{CRIU_VARIABLE, private_prefix};
use strobe_evaluation::Session;

use crate::harness::{Ended, Folder, LIMIT, run, start, strobe};

/// A CRIU that saves TCP sockets on every kernel.
fn criu() -> PathBuf {
    let prefix = private_prefix().expect("a home");
    let criu = prefix.with_file_name("criu-4.2.1").join("criu");
    assert!(criu.exists(), "cargo xtask setup --tests");
    criu
}

fn pairs(folder: &Folder, arguments: &[&str]) -> Session {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/pairs.py");
    let program = [&["python3", program, "1000000"], arguments].concat();
    let mut session = start(folder, &program);
    session.wait_for("log", "round 5", LIMIT).expect("it works");
    session
}

fn checkpoint(session: &Session, images: &Path, options: &[&str]) -> Ended {
    let mut command = strobe().command();
    command.env(CRIU_VARIABLE, criu());
    command.args(["checkpoint", &session.pid().to_string(), "-o"]);
    command.arg(images).args(options);
    Ended::new(&command.output().expect("strobe starts"))
}

fn restore(images: &Path) -> Ended {
    let strobe = strobe();
    let mut command = strobe.command();
    command.env(CRIU_VARIABLE, criu());
    command.args(["softgpu", "--"]).arg(strobe.path());
    command.args(["restore", "--wait"]).arg(images);
    Ended::new(&command.output().expect("strobe starts"))
}

fn rounds(many: usize) -> String {
    let rounds: String = (0..many).map(|round| format!("round {round}\n")).collect();
    rounds + "end\n"
}

/// Takes a checkpoint, kills the program and brings it back, twice.
fn comes_back_twice(name: &str, arguments: &[&str], options: &[&str]) -> String {
    let folder = Folder::new(name);
    let session = pairs(&folder, arguments);
    let images = folder.join("images");
    checkpoint(&session, &images, options).well();
    session.kill().expect("it dies");
    let many = folder.rounds_enough();
    for _ in 0..2 {
        restore(&images).well();
        let log = fs::read_to_string(folder.join("log")).expect("its log");
        assert_eq!(log, rounds(many));
    }
    fs::read_to_string(folder.join("stdout")).expect("its output")
}

#[test]
fn a_connection_with_both_ends_in_the_program_comes_back_with_what_was_under_way() {
    let said = comes_back_twice("tcp-both", &["connected"], &["--tcp", "established"]);
    assert_eq!(said, "");
}

#[test]
fn a_connection_comes_back_closed_where_that_is_asked_for() {
    let said = comes_back_twice("tcp-closed", &["connected"], &["--tcp", "close"]);
    assert!(said.starts_with("closed: "), "{said}");
}

#[test]
fn a_socket_that_listens_does_so_again() {
    comes_back_twice("tcp-listens", &[], &[]);
}

#[test]
fn a_connection_that_nobody_has_decided_about_is_refused_and_goes_on() {
    let folder = Folder::new("tcp-refused");
    let session = pairs(&folder, &["connected"]);
    let images = folder.join("images");
    let refused = checkpoint(&session, &images, &[]).badly(&["a connected TCP socket", "--tcp"]);
    assert_eq!(refused.code, Some(3));
    assert!(!images.exists());
    let many = folder.rounds_enough();
    assert!(session.wait(LIMIT).expect("it ends").success());
    let log = fs::read_to_string(folder.join("log")).expect("its log");
    assert_eq!(log, rounds(many));
}

/// Debian's CRIU 4.1.1, which the others of these tests do not use.
#[test]
fn what_this_kernel_makes_impossible_doctor_knows_and_a_checkpoint_says() {
    let report: serde_json::Value = {
        let doctor = run(["doctor", "--json"]);
        serde_json::from_str(&doctor.stdout).expect("JSON")
    };
    let checks = report.as_array().expect("a list");
    let tcp = checks.iter().find(|check| check["name"] == "tcp");
    let found = tcp.expect("it looks")["found"].to_string();
    let folder = Folder::new("tcp-impossible");
    let session = pairs(&folder, &[]);
    let taken = crate::harness::checkpoint_of(session.pid(), &folder.join("images"), &[]);
    match found.contains("saves no TCP sockets") {
        false => _ = taken.well(),
        true => {
            let refused = taken.badly(&["a TCP socket", "CRIU 4.2.1 does"]);
            assert_eq!(refused.code, Some(3));
        }
    }
    assert!(session.is_alive());
    session.kill().expect("it dies");
}
