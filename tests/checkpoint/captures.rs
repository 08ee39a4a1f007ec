//! Stream captures: there is no cut while one is under way, and HIP alone knows whether one is.

use crate::harness::{Folder, LIMIT, checkpoint, hip_program, start, verify};

fn after_a_capture_that_went_wrong(what: &str) {
    let folder = Folder::new(&format!("captures-{what}"));
    let program = hip_program("captures.cpp");
    let mut session = start(&folder, &[&program, what]);
    session
        .wait_for("stdout", "ready", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    checkpoint(&session, &images, &["--kill"]).well();
    verify(&images).well();
}

#[test]
fn a_begin_that_failed_holds_no_checkpoint_up() {
    after_a_capture_that_went_wrong("fails");
}

#[test]
fn a_stream_destroyed_while_it_captured_holds_no_checkpoint_up() {
    after_a_capture_that_went_wrong("destroyed");
}

#[test]
fn an_end_that_failed_does_not_end_a_capture() {
    let folder = Folder::new("captures-unmatched");
    let program = hip_program("captures.cpp");
    let mut session = start(&folder, &[&program, "unmatched"]);
    session
        .wait_for("stdout", "ready", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    checkpoint(&session, &images, &["--drain-timeout", "1"]).badly(&["capture does not end"]);
    session.signal("TERM").expect("it runs");
    session
        .wait_for("stdout", "ended", LIMIT)
        .expect("it runs on");
    checkpoint(&session, &images, &["--kill"]).well();
    verify(&images).well();
}
