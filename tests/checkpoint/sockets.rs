//! TCP sockets: connections are refused, come back, or come back closed, as is asked for.

use std::fs;
use std::net::TcpListener;

use strobe_evaluation::Session;

use crate::harness::{Folder, LIMIT, checkpoint, restore, run, start};

fn pairs(folder: &Folder, arguments: &[&str]) -> Session {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/pairs.py");
    let program = [&["python3", program, "1000000"], arguments].concat();
    let mut session = start(folder, &program);
    session.wait_for("log", "round 5", LIMIT).expect("it works");
    session
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

/// Those that have no port yet, those of UDP, connected or not, and of IPv6.
#[test]
fn sockets_without_a_connection_come_back() {
    comes_back_twice("sockets-others", &["others"], &[]);
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

/// CRIU dumps its socket, and then does not restore it.
#[test]
fn a_connection_that_is_over_is_one_as_long_as_its_socket_is_open() {
    let folder = Folder::new("tcp-over");
    let session = pairs(&folder, &["over"]);
    let images = folder.join("images");
    let words = ["a connected TCP socket, or one whose connection is over"];
    let refused = checkpoint(&session, &images, &[]).badly(&words);
    assert_eq!(refused.code, Some(3));
    assert!(session.is_alive());
    session.kill().expect("it dies");
    comes_back_twice("tcp-over-closed", &["over"], &["--tcp", "close"]);
}

#[test]
fn a_port_that_somebody_else_has_taken_is_named_before_a_restore_begins() {
    let folder = Folder::new("tcp-taken");
    let session = pairs(&folder, &[]);
    let images = folder.join("images");
    checkpoint(&session, &images, &[]).well();
    session.kill().expect("it dies");
    let many = folder.rounds_enough();
    let port = fs::read_to_string(folder.join("port")).expect("it says which");
    let port: u16 = port.parse().expect("a number");
    let taken = TcpListener::bind(("127.0.0.1", port)).expect("it is free");
    let before = fs::read(folder.join("log")).expect("its log");
    let refused = restore(&images).badly(&[&format!("TCP port 127.0.0.1:{port}"), "is in use"]);
    assert_eq!(refused.code, Some(3));
    assert_eq!(fs::read(folder.join("log")).expect("its log"), before);
    drop(taken);
    restore(&images).well();
    let log = fs::read_to_string(folder.join("log")).expect("its log");
    assert_eq!(log, rounds(many));
}

#[test]
fn what_sockets_lose_is_named_and_is_theirs_until_then() {
    let folder = Folder::new("sockets-lose");
    let session = pairs(&folder, &["loses"]);
    let images = folder.join("images");
    let lost = [
        " (UDP): a restored program does not get datagrams that were not read yet, IP_RECVERR",
        " (UDP): a restored program does not get its memberships in multicast groups",
        " (TCP): a restored program does not get TCP_USER_TIMEOUT",
    ];
    let said_so = |text: &str| {
        for words in lost {
            assert_eq!(text.matches(words).count(), 1, "{words}: {text}");
        }
    };
    let pid = session.pid().to_string();
    said_so(&run(["checkpoint", &pid, "--check"]).well().stdout);
    let taken = checkpoint(&session, &images, &["--json"]).well();
    let report: serde_json::Value = serde_json::from_str(&taken.stdout).expect("JSON");
    said_so(&report["warnings"].to_string());
    folder.rounds_enough();
    assert!(session.wait(LIMIT).expect("it ends").success());
    let kept = || fs::read_to_string(folder.join("kept")).expect("what is there");
    assert_eq!(kept(), "unread IP_RECVERR member TCP_USER_TIMEOUT");
    restore(&images).well();
    assert_eq!(kept(), "");
}
