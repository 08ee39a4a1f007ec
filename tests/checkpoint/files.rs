//! Files of the program: what comes back works on them as they were at the cut, or not at all.

use std::fs;

use crate::harness::{Folder, LIMIT, checkpoint, hip_program, restore, start};

const ROUNDS: &str = "60";

/// Takes a checkpoint in the middle and lets the program end by itself.
fn run_past_a_checkpoint(folder: &Folder, way: &str) {
    let program = hip_program("shares.cpp");
    let mut session = start(folder, &[&program, ROUNDS, "log", "counter", way]);
    session
        .wait_for("log", "round 5 ", LIMIT)
        .expect("it works");
    checkpoint(&session, &folder.join("images"), &[]).well();
    let status = session.wait(LIMIT).expect("it ends");
    assert!(status.success(), "{status}");
}

#[test]
fn a_log_that_a_child_holds_too_is_cut_back_and_written_again() {
    let folder = Folder::new("shared-log");
    run_past_a_checkpoint(&folder, "descriptor");
    let whole = fs::read_to_string(folder.join("log")).expect("a log");
    assert!(whole.ends_with("end\n"), "{whole}");
    // As it was at the cut: the log says how often it had been counted up.
    let images = folder.join("images");
    let refused = restore(&images).badly(&["counter", "other contents"]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert_eq!(
        fs::read_to_string(folder.join("log")).expect("a log"),
        whole,
        "a restore that is refused changes nothing"
    );
    let count = (1..60_u64).find(|count| {
        fs::write(folder.join("counter"), count.to_le_bytes()).expect("the counter");
        restore(&images).code == Some(0)
    });
    assert!(count.is_some(), "no count is that of the cut");
    let again = fs::read_to_string(folder.join("log")).expect("a log");
    assert_eq!(again, whole);
}

#[test]
fn a_file_that_was_changed_through_a_mapping_is_refused_by_name() {
    let folder = Folder::new("mapped-counter");
    run_past_a_checkpoint(&folder, "mapping");
    let refused = restore(&folder.join("images")).badly(&["counter", "other contents"]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
}
