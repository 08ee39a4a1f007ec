//! A program that is far ahead of its GPU: a cut waits for a few milliseconds of work, whatever there is.

use serde_json::Value;
use strobe_evaluation::Session;

use crate::harness::{Folder, LIMIT, checkpoint, hip_program, restore, strobe};

fn start(folder: &Folder, rest: &[&str]) -> Session {
    let program = hip_program("ahead.cpp");
    let program = [&[program.as_str(), "1000000", "log"], rest].concat();
    let session = Session::start(&strobe(), &[], &program, folder.path());
    let mut session = session.expect("the program starts");
    session
        .wait_for("log", "round 1 ", LIMIT)
        .expect("it works");
    session
}

/// Takes a checkpoint; how long the cut waited for the GPU, in milliseconds.
fn waited(session: &Session, folder: &Folder, name: &str, run_ahead: &str) -> f64 {
    let options = ["--json", "--cut", "drain", "--run-ahead", run_ahead];
    let taken = checkpoint(session, &folder.join(name), &options).well();
    let report: Value = serde_json::from_str(&taken.stdout).expect("a report");
    report["drain_ms"].as_f64().expect("a number")
}

/// Both are measured in one run, one after the other: what the machine does otherwise, it does to both. A bounded lead is
/// a hundredth and less of what there is to do here.
#[test]
fn a_cut_does_not_wait_for_what_was_enqueued_long_before() {
    let folder = Folder::new("lead");
    let session = start(&folder, &["1500"]);
    let far = waited(&session, &folder, "far", "0");
    let near = waited(&session, &folder, "near", "10");
    assert!(near < far / 4.0, "{near} ms, and {far} ms from afar");
    session.kill().expect("it dies");
    folder.rounds_enough_of(&["log"], 2);
    restore(&folder.join("near")).well();
}

/// The program checks its graphs, and what its kernels make, itself.
#[test]
fn captures_hold_nothing_but_what_the_program_puts_into_them() {
    let folder = Folder::new("lead-captures");
    let session = start(&folder, &["300", "captures"]);
    for number in 0..5 {
        waited(&session, &folder, &format!("near-{number}"), "10");
    }
    folder.rounds_enough_of(&["log"], 2);
    assert!(session.wait(LIMIT).expect("it ends").success());
    restore(&folder.join("near-4")).well();
}
