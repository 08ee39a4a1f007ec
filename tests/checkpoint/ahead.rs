//! Fingerprints ahead of the cut, of a program that does not keep still.

use std::fs;

use serde_json::Value;
use strobe_evaluation::Session;

use crate::harness::{Folder, LIMIT, checkpoint, hip_program, restore, run, strobe};

/// Until it is told that they are enough.
const ROUNDS: &str = "1000000";
const CHECKPOINTS: usize = 10;

/// A batch that reads what is not there any more ends the program with a fault of the GPU. At each
/// checkpoint that would be about as likely as not: for half of the time a batch is under way, and the
/// program gives half of its memory back at once.
#[test]
fn memory_that_is_being_read_is_not_given_back_before() {
    let program = hip_program("churn.cpp");
    let folder = Folder::new("churn");
    let command = [program.as_str(), ROUNDS, "log"];
    let mut session =
        Session::start(&strobe(), &[], &command, folder.path()).expect("the program starts");
    session
        .wait_for("log", "round 2 ", LIMIT)
        .expect("it works");
    let mut ahead = 0;
    for number in 0..CHECKPOINTS {
        let images = folder.join(&format!("images-{number}"));
        let ended = checkpoint(&session, &images, &["--json"]).well();
        let report: Value = serde_json::from_str(&ended.stdout).expect("a report");
        ahead += report["fingerprinted_ahead_bytes"].as_u64().expect("bytes");
    }
    assert!(ahead > 64 << 20, "only {ahead} bytes of all checkpoints");
    session.kill().expect("it dies");
    let last = format!("images-{}", CHECKPOINTS - 1);
    let rounds = folder.rounds_enough().to_string();
    restore(&folder.join(&last)).well();
    let alone = Folder::new("churn-alone");
    let log = alone.join("log");
    let head = ["softgpu", "--", &program, &rounds];
    run(head.map(AsRef::as_ref).into_iter().chain([log.as_os_str()])).well();
    let read = |path| fs::read_to_string(path).expect("a log");
    assert_eq!(read(folder.join("log")), read(log));
}
