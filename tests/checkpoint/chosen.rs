//! `--mode auto`: the mode that costs least is taken, and said beside what it has cost.

use std::fs;

use serde_json::Value;
use strobe_evaluation::Session;

use crate::harness::{
    Folder, LIMIT, checkpoint, hip_program, restore, run, strobe, uninterrupted, verify,
};

/// What is copied inside the device in a thousandth of the time that the link takes, and the other way round.
const FAST_DEVICE: [&str; 4] = ["--link-rate", "4M", "--device-rate", "4G"];
const SLOW_DEVICE: [&str; 4] = ["--link-rate", "4G", "--device-rate", "4M"];

/// It writes all it has, round by round.
fn is_chosen(mode: &str, rates: [&str; 4], other: &str) {
    let folder = Folder::new(&format!("chosen-{mode}"));
    let program = hip_program("mixed.cpp");
    let command = [program.as_str(), "1000000", "log"];
    let session = Session::start(
        &strobe(),
        &rates.map(str::to_owned),
        &command,
        folder.path(),
    );
    let mut session = session.expect("the program starts");
    session
        .wait_for("log", "round 5 ", LIMIT)
        .expect("it works");
    // By what is tried out, and by what the first has shown.
    for name in ["first", "second"] {
        let images = folder.join(name);
        let taken = checkpoint(&session, &images, &["--mode", "auto", "--json"]).well();
        let report: Value = serde_json::from_str(&taken.stdout).expect("a report");
        let choice = &report["choice"];
        assert_eq!(
            (&report["mode"], &choice["mode"]),
            (&mode.into(), &mode.into()),
            "{report}"
        );
        assert!(
            choice["why"].as_str().is_some_and(|why| why.contains("/s")),
            "{report}"
        );
        let predicted = choice["predicted"].as_array().expect("predictions");
        let stall = |mode: &str| {
            let of_mode = predicted.iter().find(|one| one["mode"] == mode);
            let stall = of_mode.and_then(|one| one["stall_ms"].as_f64());
            stall.unwrap_or_else(|| panic!("no {mode} in {report}"))
        };
        assert!(stall(mode) < stall(other), "{report}");
        let aside = report["copied_aside_bytes"].as_u64().expect("bytes");
        assert!(mode == "cow" || aside == 0, "{report}");
        verify(&images).well();
        let info = run(["info", "--json", images.to_str().expect("UTF-8")]).well();
        let info: Value = serde_json::from_str(&info.stdout).expect("JSON");
        assert_eq!(info["mode"], mode, "the manifest has what was done");
    }
    session.kill().expect("it dies");
    let rounds = folder.rounds_enough();
    restore(&folder.join("second")).well();
    let log = fs::read_to_string(folder.join("log")).expect("its log");
    assert_eq!(log, uninterrupted(rounds));
}

#[test]
fn a_program_goes_on_where_copies_inside_the_device_are_fast() {
    is_chosen("cow", FAST_DEVICE, "stop");
}

#[test]
fn a_program_is_stopped_where_it_would_wait_longer_for_copies_inside_the_device() {
    is_chosen("stop", SLOW_DEVICE, "cow");
}
