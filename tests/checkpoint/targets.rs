//! Programs on a GPU of another target than the default: gfx90a, and, of ROCm 7.2, gfx942.

use std::fs;

use serde_json::Value;
use strobe_evaluation::Session;
use strobe_isa::Target;

use super::newer_rocm;
use crate::harness::rocm::ROCM_72;
use crate::harness::{
    Folder, LIMIT, checkpoint, hip_program_for, restore, restore_on, strobe, uninterrupted,
};

const DEVICE: [&str; 2] = ["--target", "gfx90a"];

fn start(folder: &Folder, source: &str, arguments: &[&str]) -> Session {
    let program = hip_program_for(&Target::GFX90A, source);
    let program = [&[program.as_str()], arguments].concat();
    let device = DEVICE.map(str::to_owned);
    Session::start(&strobe(), &device, &program, folder.path()).expect("the program starts")
}

#[test]
fn a_program_comes_back_on_its_target_and_on_no_other() {
    let folder = Folder::new("gfx90a");
    let mut session = start(&folder, "mixed.cpp", &["1000000", "log"]);
    session
        .wait_for("log", "round 5 ", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    checkpoint(&session, &images, &[]).well();
    session.kill().expect("it dies");
    let rounds = folder.rounds_enough();
    restore(&images).badly(&["gfx90a", "gfx906"]);
    restore_on(&images, &DEVICE).well();
    let log = fs::read_to_string(folder.join("log")).expect("its log");
    assert_eq!(log, uninterrupted(rounds));
}

#[test]
fn a_training_ends_with_the_same_weights() {
    const STEPS: &str = "12";
    let arguments = |name: &'static str| {
        [
            "--state-mb",
            "1",
            "--steps",
            STEPS,
            "--out",
            name,
            "--log",
            "log",
        ]
    };
    let folder = Folder::new("gfx90a-train");
    let whole = Folder::new("gfx90a-trained");
    let session = start(&whole, "train/train.cpp", &arguments("weights"));
    assert!(session.wait(LIMIT).expect("it ends").success());
    let mut session = start(&folder, "train/train.cpp", &arguments("weights"));
    session.wait_for("log", "step 3 ", LIMIT).expect("it works");
    let images = folder.join("images");
    checkpoint(&session, &images, &["--mode", "stop", "--kill"]).well();
    session.wait(LIMIT).expect("it was killed");
    let trained = folder.join("weights");
    assert!(!trained.exists(), "it had ended before");
    restore_on(&images, &DEVICE).well();
    for name in ["weights", "log"] {
        let [one, other] = [&folder, &whole].map(|folder| fs::read(folder.join(name)));
        assert!(one.expect("a file") == other.expect("a file"), "{name}");
    }
}

/// The sums are in accumulation registers at the cut, and nowhere else.
#[test]
fn accumulation_registers_of_a_kernel_under_way_come_back() {
    let folder = Folder::new("accumulators");
    let mut session = start(&folder, "matrix.cpp", &["3", "log"]);
    session.wait_for("log", "begun", LIMIT).expect("it works");
    let images = folder.join("images");
    let taken = checkpoint(&session, &images, &["--cut", "evict", "--json"]).well();
    let report: Value = serde_json::from_str(&taken.stdout).expect("a report");
    assert!(report["under_way"].as_u64() > Some(0), "{report}");
    session.kill().expect("it dies");
    folder.rounds_enough();
    restore_on(&images, &DEVICE).well();
    let log = fs::read_to_string(folder.join("log")).expect("its log");
    assert_eq!(log, "begun\nchain wrong 0\n");
}

const MI300: [&str; 2] = ["--target", "gfx942"];

/// A program of ROCm 7.2 on an MI300.
fn start_newer(folder: &Folder, source: &str, arguments: &[&str]) -> Session {
    let program = ROCM_72.program_for(&Target::GFX942, source);
    let environment = ROCM_72.environment();
    let head = environment.iter().chain([&program]).map(String::as_str);
    let words: Vec<&str> = head.chain(arguments.iter().copied()).collect();
    let device = MI300.map(str::to_owned);
    Session::start(&strobe(), &device, &words, folder.path()).expect("the program starts")
}

#[test]
fn a_program_comes_back_on_an_mi300_and_on_no_other() {
    let folder = Folder::new("gfx942");
    let mut session = start_newer(&folder, "mixed.cpp", &["1000000", "log"]);
    session
        .wait_for("log", "round 5 ", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    newer_rocm::checkpoint(&session, &images, &["--mode", "cow"]).well();
    session.kill().expect("it dies");
    let rounds = folder.rounds_enough();
    newer_rocm::restore_on(&images, &DEVICE).badly(&["gfx942", "gfx90a"]);
    newer_rocm::restore_on(&images, &MI300).well();
    let log = fs::read_to_string(folder.join("log")).expect("its log");
    assert_eq!(log, uninterrupted(rounds));
}

#[test]
fn a_training_on_an_mi300_ends_with_the_same_weights() {
    const ARGUMENTS: [&str; 8] = [
        "--state-mb",
        "1",
        "--steps",
        "12",
        "--out",
        "weights",
        "--log",
        "log",
    ];
    let folder = Folder::new("gfx942-train");
    let whole = Folder::new("gfx942-trained");
    let session = start_newer(&whole, "train/train.cpp", &ARGUMENTS);
    assert!(session.wait(LIMIT).expect("it ends").success());
    let mut session = start_newer(&folder, "train/train.cpp", &ARGUMENTS);
    session.wait_for("log", "step 3 ", LIMIT).expect("it works");
    let images = folder.join("images");
    newer_rocm::checkpoint(&session, &images, &["--mode", "stop", "--kill"]).well();
    session.wait(LIMIT).expect("it was killed");
    assert!(!folder.join("weights").exists(), "it had ended before");
    newer_rocm::restore_on(&images, &MI300).well();
    for name in ["weights", "log"] {
        let [one, other] = [&folder, &whole].map(|folder| fs::read(folder.join(name)));
        assert!(one.expect("a file") == other.expect("a file"), "{name}");
    }
}

/// As on gfx90a; what the kernel was called with was in registers from its first instruction on.
#[test]
fn a_kernel_under_way_on_an_mi300_goes_on() {
    let folder = Folder::new("gfx942-accumulators");
    let mut session = start_newer(&folder, "matrix.cpp", &["3", "log"]);
    session.wait_for("log", "begun", LIMIT).expect("it works");
    let images = folder.join("images");
    let taken = newer_rocm::checkpoint(&session, &images, &["--cut", "evict", "--json"]).well();
    let report: Value = serde_json::from_str(&taken.stdout).expect("a report");
    assert!(report["under_way"].as_u64() > Some(0), "{report}");
    session.kill().expect("it dies");
    folder.rounds_enough();
    newer_rocm::restore_on(&images, &MI300).well();
    let log = fs::read_to_string(folder.join("log")).expect("its log");
    assert_eq!(log, "begun\nchain wrong 0\n");
}
