//! Programs on a GPU of another target than the default: gfx90a, and, of ROCm 7.2, gfx942.

use std::fs;
use std::path::Path;

use serde_json::Value;
use strobe_evaluation::Session;
use strobe_isa::Target;

use super::newer_rocm;
use crate::harness::rocm::ROCM_72;
use crate::harness::{self, Ended, Folder, LIMIT, hip_program_for, restore, strobe, uninterrupted};

/// A GPU, and the ROCm that knows it.
struct Machine {
    target: &'static Target,
    /// The words before the arguments of a program of tests/programs.
    program: fn(&'static Target, &str) -> Vec<String>,
    checkpoint: fn(&Session, &Path, &[&str]) -> Ended,
    restore_on: fn(&Path, &[&str]) -> Ended,
}

const MI200: Machine = Machine {
    target: &Target::GFX90A,
    program: |target, source| vec![hip_program_for(target, source)],
    checkpoint: harness::checkpoint,
    restore_on: harness::restore_on,
};

const MI300: Machine = Machine {
    target: &Target::GFX942,
    program: |target, source| {
        let program = ROCM_72.program_for(target, source);
        ROCM_72.environment().into_iter().chain([program]).collect()
    },
    checkpoint: newer_rocm::checkpoint,
    restore_on: newer_rocm::restore_on,
};

impl Machine {
    fn folder(&self, name: &str) -> Folder {
        Folder::new(&format!("{}-{name}", self.target.name))
    }

    fn device(&self) -> [&str; 2] {
        ["--target", self.target.name]
    }

    fn start(&self, folder: &Folder, source: &str, arguments: &[&str]) -> Session {
        let program = (self.program)(self.target, source);
        let words: Vec<&str> = program.iter().map(String::as_str).collect();
        let words = [&words, arguments].concat();
        let device = self.device().map(str::to_owned);
        Session::start(&strobe(), &device, &words, folder.path()).expect("the program starts")
    }

    fn restore(&self, images: &Path) {
        (self.restore_on)(images, &self.device()).well();
    }
}

fn comes_back_on_its_target_alone(machine: &Machine, refused: impl Fn(&Path) -> Ended, has: &str) {
    let folder = machine.folder("mixed");
    let mut session = machine.start(&folder, "mixed.cpp", &["1000000", "log"]);
    session
        .wait_for("log", "round 5 ", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    (machine.checkpoint)(&session, &images, &[]).well();
    session.kill().expect("it dies");
    let rounds = folder.rounds_enough();
    refused(&images).badly(&[machine.target.name, has]);
    machine.restore(&images);
    let log = fs::read_to_string(folder.join("log")).expect("its log");
    assert_eq!(log, uninterrupted(rounds));
}

#[test]
fn a_program_comes_back_on_its_target_and_on_no_other() {
    comes_back_on_its_target_alone(&MI200, restore, "gfx906");
}

#[test]
fn a_program_comes_back_on_an_mi300_and_on_no_other() {
    let refused = |images: &Path| (MI300.restore_on)(images, &MI200.device());
    comes_back_on_its_target_alone(&MI300, refused, "gfx90a");
}

fn training_ends_with_the_same_weights(machine: &Machine) {
    let arguments = "--state-mb 1 --steps 12 --out weights --log log";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let [folder, whole] = ["train", "trained"].map(|name| machine.folder(name));
    let session = machine.start(&whole, "train/train.cpp", &arguments);
    assert!(session.wait(LIMIT).expect("it ends").success());
    let mut session = machine.start(&folder, "train/train.cpp", &arguments);
    session.wait_for("log", "step 3 ", LIMIT).expect("it works");
    let images = folder.join("images");
    (machine.checkpoint)(&session, &images, &["--mode", "stop", "--kill"]).well();
    session.wait(LIMIT).expect("it was killed");
    assert!(!folder.join("weights").exists(), "it had ended before");
    machine.restore(&images);
    for name in ["weights", "log"] {
        let [one, other] = [&folder, &whole].map(|folder| fs::read(folder.join(name)));
        assert!(one.expect("a file") == other.expect("a file"), "{name}");
    }
}

#[test]
fn a_training_ends_with_the_same_weights() {
    training_ends_with_the_same_weights(&MI200);
}

#[test]
fn a_training_on_an_mi300_ends_with_the_same_weights() {
    training_ends_with_the_same_weights(&MI300);
}

fn a_kernel_under_way_goes_on(machine: &Machine) {
    let folder = machine.folder("under-way");
    let mut session = machine.start(&folder, "matrix.cpp", &["3", "log"]);
    session.wait_for("log", "begun", LIMIT).expect("it works");
    let images = folder.join("images");
    let options = ["--cut", "evict", "--json"];
    let taken = (machine.checkpoint)(&session, &images, &options).well();
    let report: Value = serde_json::from_str(&taken.stdout).expect("a report");
    assert!(report["under_way"].as_u64() > Some(0), "{report}");
    session.kill().expect("it dies");
    folder.rounds_enough();
    machine.restore(&images);
    let log = fs::read_to_string(folder.join("log")).expect("its log");
    assert_eq!(log, "begun\nchain wrong 0\n");
}

/// The sums are in accumulation registers at the cut, and nowhere else.
#[test]
fn accumulation_registers_of_a_kernel_under_way_come_back() {
    a_kernel_under_way_goes_on(&MI200);
}

/// What the kernel was called with was in registers from its first instruction on.
#[test]
fn a_kernel_under_way_on_an_mi300_goes_on() {
    a_kernel_under_way_goes_on(&MI300);
}
