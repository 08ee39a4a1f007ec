//! Memory that is copied in rounds while the program runs, and the rest at the cut.

use std::time::Duration;

use serde_json::Value;
use strobe_evaluation::{Rates, Session};

use crate::harness::environment::wait_until;
use crate::harness::{Ended, Folder, LIMIT, checkpoint, hip_program, restore, strobe, verify};

/// Of what never changes.
const MEGABYTES: &str = "48";

/// A program that writes little of what it holds, and compares every word of it.
fn serve(folder: &Folder) -> Session {
    let program = hip_program("serves.cpp");
    let command = [program.as_str(), MEGABYTES, "1000000", "log"];
    let session = Session::start(&strobe(), &Rates::MODEL.options(), &command, folder.path());
    let mut session = session.expect("the program starts");
    session
        .wait_for("log", "round 3 ", LIMIT)
        .expect("it works");
    session
}

fn recopy(session: &Session, folder: &Folder, name: &str, options: &[&str]) -> Value {
    let options = [&["--mode", "recopy", "--json"], options].concat();
    let taken = checkpoint(session, &folder.join(name), &options).well();
    let report: Value = serde_json::from_str(&taken.stdout).expect("a report");
    assert_eq!(report["mode"], "recopy");
    report
}

/// What was copied when nothing ran is what is written all the time.
fn little_is_left(report: &Value) {
    let bytes = |value: &Value| value.as_u64().expect("bytes");
    let rounds = &report["rounds"];
    assert!(rounds["count"].as_u64() >= Some(2), "{report}");
    let state = bytes(&report["state_bytes"]);
    assert!(bytes(&rounds["copied_bytes"]) >= 48 << 20, "{report}");
    assert!(bytes(&report["unchanged_bytes"]) >= 47 << 20, "{report}");
    let left = bytes(&report["copied_out_bytes"]) + bytes(&report["residual_bytes"]);
    assert!(left * 4 < state, "{report}");
    assert!(
        report["missed_writes"]
            .as_array()
            .is_some_and(Vec::is_empty),
        "{report}"
    );
}

#[test]
fn what_is_not_written_again_is_copied_before_the_cut() {
    let folder = Folder::new("recopy");
    let session = serve(&folder);
    little_is_left(&recopy(&session, &folder, "first", &[]));
    // Of another it takes over what has not changed.
    let base = folder.join("first");
    let base = base.to_str().expect("UTF-8");
    let second = recopy(&session, &folder, "second", &["--base", base]);
    let copied = second["rounds"]["copied_bytes"].as_u64();
    assert!(copied < Some(24 << 20), "{second}");
    folder.rounds_enough_of(&["log"], 3);
    let ended = session.wait(LIMIT).expect("it ends");
    assert!(ended.success(), "{ended}");
    for images in ["first", "second"].map(|name| folder.join(name)) {
        verify(&images).well();
        restore(&images).well();
    }
}

#[test]
fn a_program_that_is_moved_stands_still_for_the_rest_alone() {
    let folder = Folder::new("recopy-kill");
    let session = serve(&folder);
    little_is_left(&recopy(&session, &folder, "images", &["--kill"]));
    session.wait(LIMIT).expect("it ended");
    let images = folder.join("images");
    verify(&images).well();
    folder.rounds_enough_of(&["log"], 3);
    restore(&images).well();
}

#[test]
fn a_command_that_is_killed_while_it_copies_leaves_the_program_as_it_was() {
    let folder = Folder::new("recopy-killed");
    let session = serve(&folder);
    for signal in ["KILL", "INT"] {
        let mut command = strobe().command();
        command.args([
            "checkpoint",
            &session.pid().to_string(),
            "--mode",
            "recopy",
            "-o",
        ]);
        let command = command.arg(folder.join("none")).spawn().expect("it starts");
        let chunks = || {
            let staged = std::fs::read_dir(folder.path()).ok()?.flatten();
            let mut chunks = staged.map(|entry| entry.path().join("chunks"));
            chunks.find(|chunks| std::fs::read_dir(chunks).is_ok_and(|all| all.count() > 4))
        };
        wait_until("the first chunks", chunks);
        strobe_evaluation::session::signal(command.id(), signal).expect("it runs");
        let ended = Ended::new(&command.wait_with_output().expect("it ends"));
        assert_ne!(ended.code, Some(0));
        assert!(!folder.join("none").exists());
        std::thread::sleep(Duration::from_millis(50));
    }
    little_is_left(&recopy(&session, &folder, "images", &[]));
    folder.rounds_enough_of(&["log"], 3);
    let ended = session.wait(LIMIT).expect("it ends");
    assert!(ended.success(), "{ended}");
    restore(&folder.join("images")).well();
}
