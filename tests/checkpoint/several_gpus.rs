//! Programs that see more than one GPU.

use std::fs;
use std::path::Path;

use strobe_evaluation::Session;

use crate::harness::{Folder, LIMIT, checkpoint, hip_program, restore_on, strobe, verify};

fn start_on(gpus: &[&str], folder: &Path, program: &[&str]) -> Session {
    let gpus: Vec<String> = gpus.iter().map(|&option| option.to_owned()).collect();
    Session::start(&strobe(), &gpus, program, folder).expect("the program starts")
}

/// Its GPUs read each other's memory, and it checks every round against the host's own model.
#[test]
fn a_program_on_two_gpus_comes_back_also_on_others() {
    let program = hip_program("several.cpp");
    let uninterrupted = |rounds: usize| {
        let folder = Folder::new("two-gpus-whole");
        let words = [program.as_str(), &rounds.to_string(), "log"];
        let session = start_on(&["--gpus", "2"], folder.path(), &words);
        assert!(session.wait(LIMIT).expect("it ends").success());
        fs::read_to_string(folder.join("log")).expect("its log")
    };
    for (mode, gpus) in [
        ("cow", ["--gpus", "2"]),
        ("stop", ["--gpu-ids", "0x7777,0x5555"]),
    ] {
        let folder = Folder::new(&format!("two-gpus-{mode}"));
        // Until it is told otherwise.
        let words = [program.as_str(), "1000000", "log", "20"];
        let mut session = start_on(&["--gpus", "2"], folder.path(), &words);
        session
            .wait_for("log", "round 7 ", LIMIT)
            .expect("it works");
        let images = folder.join("images");
        let taken = checkpoint(&session, &images, &["--mode", mode]).well();
        assert!(taken.stdout.contains("sees 2 GPUs"), "{}", taken.stdout);
        verify(&images).well();
        session.kill().expect("it dies");
        let rounds = folder.rounds_enough();
        restore_on(&images, &gpus).well();
        let log = fs::read_to_string(folder.join("log")).expect("its log");
        assert_eq!(log, uninterrupted(rounds), "{gpus:?}");
    }
}

/// Each has one for itself, and sees the others' too.
#[test]
fn workers_on_a_gpu_each_come_back_from_one_cut() {
    let program = hip_program("soak/workers.cpp");
    let run = |folder: &Folder, rounds: &str| {
        let words = [program.as_str(), rounds, "stdout"];
        start_on(&["--gpus", "3"], folder.path(), &words)
    };
    let folder = Folder::new("gpu-each");
    // Until they are told otherwise.
    let mut session = run(&folder, "1000000");
    session
        .wait_for("stdout", "round 6 ", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    checkpoint(&session, &images, &[]).well();
    session.kill().expect("it dies");
    let rounds = folder.rounds_enough_of(&["stdout"], 30);
    restore_on(&images, &["--gpus", "3"]).well();
    let said = fs::read_to_string(folder.join("stdout")).expect("its output");
    let whole = Folder::new("gpu-each-whole");
    let uninterrupted = run(&whole, &rounds.to_string());
    assert!(uninterrupted.wait(LIMIT).expect("it ends").success());
    let whole = fs::read_to_string(whole.join("stdout")).expect("its output");
    assert_eq!(said, whole);
}
