//! Tables of pointers: what a cut brings to light.

use serde_json::Value;
use strobe_evaluation::Session;

use crate::harness::{Folder, LIMIT, checkpoint, hip_program, restore_on, strobe};

/// One launch of each round follows a table of which nobody knows what is in it, until it is read at a cut. Where
/// the CPU can write it nobody would know it for certain afterwards, so it cannot.
#[test]
fn a_table_that_is_read_at_the_cut_is_known_from_then_on() {
    let folder = Folder::new("tables");
    let program = [&hip_program("tables.cpp"), "1000000", "log", "20"];
    let private = ["--private-vram".to_owned()];
    let session = Session::start(&strobe(), &private, &program, folder.path());
    let mut session = session.expect("the program starts");
    let mut taken = |round: &str, images: &str| {
        session.wait_for("log", round, LIMIT).expect("it works");
        let taken = checkpoint(&session, &folder.join(images), &["--json"]).well();
        let report: Value = serde_json::from_str(&taken.stdout).expect("a report");
        ["launches", "footprints_conservative"].map(|key| report[key].as_u64().expect("a number"))
    };
    let [launches, not_known] = taken("round 5 ", "first");
    assert!(not_known >= 5, "{not_known} of {launches}");
    let [later, not_known_later] = taken("round 50 ", "second");
    assert!(later >= launches + 100, "{launches} and {later}");
    assert_eq!(not_known_later, not_known);
    session.kill().expect("it dies");
    folder.rounds_enough();
    restore_on(&folder.join("second"), &["--private-vram"]).well();
}
