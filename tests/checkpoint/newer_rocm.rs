//! Programs of ROCm 7.2: compiled by its clang, on its HIP, its HSA runtime and its C library.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use strobe_criu::locate;
use strobe_evaluation::{Session, compile};

use crate::harness::rocm::{ROCM_72, Rocm};
use crate::harness::{
    Ended, Folder, LIMIT, hip_program, programs, start, strobe, uninterrupted, verify,
};

/// A command of strobe with a CRIU that knows how newer C libraries guard stacks.
fn with_newer_criu() -> Command {
    let criu = locate::private_prefix().expect("a home");
    let mut command = strobe().command();
    command.env(
        locate::CRIU_VARIABLE,
        criu.with_file_name("criu-4.3").join("criu"),
    );
    command
}

pub(crate) fn checkpoint(session: &Session, images: &Path, options: &[&str]) -> Ended {
    let mut command = with_newer_criu();
    command.arg("checkpoint").arg(session.pid().to_string());
    command.arg("-o").arg(images).args(options);
    let ended = Ended::new(&command.output().expect("strobe starts"));
    assert!(!ended.stderr.contains("unannounced"), "{}", ended.stderr);
    ended
}

fn restore(images: &Path) -> Ended {
    restore_on(images, &[])
}

/// With options of `strobe softgpu`.
pub(crate) fn restore_on(images: &Path, device: &[&str]) -> Ended {
    let mut command = with_newer_criu();
    command.arg("softgpu").args(device);
    command.arg("--").arg(strobe().path());
    command.args(["restore", "--wait"]).arg(images);
    Ended::new(&command.output().expect("strobe starts"))
}

fn started(rocm: &Rocm, folder: &Folder, program: &str, arguments: &[&str]) -> Session {
    let program = rocm.program(program);
    let environment = rocm.environment();
    let words = environment
        .iter()
        .map(String::as_str)
        .chain([program.as_str()]);
    let words: Vec<&str> = words.chain(arguments.iter().copied()).collect();
    start(folder, &words)
}

/// Brought back after a checkpoint in this mode. What the command said, how many rounds were made in all, and their log.
fn brought_back(program: &str, mode: &str) -> (Value, usize, String) {
    let folder = Folder::new(&format!("rocm-7.2-{mode}"));
    let mut session = started(&ROCM_72, &folder, program, &["1000000", "log"]);
    session
        .wait_for("log", "round 5 ", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    let taken = checkpoint(&session, &images, &["--mode", mode, "--json"]).well();
    verify(&images).well();
    session
        .wait_for("log", "round 20 ", LIMIT)
        .expect("it runs on");
    session.kill().expect("it dies");
    let rounds = folder.rounds_enough();
    restore(&images).well();
    let log = fs::read_to_string(folder.join("log")).expect("its log");
    let taken = serde_json::from_str(&taken.stdout).expect("JSON");
    (taken, rounds, log)
}

fn comes_back(mode: &str) {
    let (_, rounds, log) = brought_back("mixed.cpp", mode);
    // What ROCm 5.2 computes.
    assert_eq!(log, uninterrupted(rounds));
}

#[test]
fn a_program_of_rocm_7_comes_back_from_a_copy_on_write_checkpoint() {
    comes_back("cow");
}

#[test]
fn a_program_of_rocm_7_comes_back_from_a_stop_the_world_checkpoint() {
    comes_back("stop");
}

#[test]
fn a_program_of_rocm_7_comes_back_from_a_checkpoint_in_rounds() {
    comes_back("recopy");
}

/// Matrix products, an optimiser and rocRAND: of the newer release what the machine's own one computes, weights and losses bit
/// for bit.
fn training_comes_back(mode: &str) {
    const ARGUMENTS: [&str; 8] = [
        "--state-mb",
        "8",
        "--steps",
        "60",
        "--out",
        "weights",
        "--log",
        "log",
    ];
    const LAST: &str = "step 59 ";
    let folder = Folder::new(&format!("rocm-7.2-train-{mode}"));
    let mut session = started(&ROCM_72, &folder, "train/train.cpp", &ARGUMENTS);
    session
        .wait_for("log", "step 5 ", LIMIT)
        .expect("it trains");
    let images = folder.join("images");
    checkpoint(&session, &images, &["--mode", mode]).well();
    verify(&images).well();
    let log = fs::read_to_string(folder.join("log")).expect("its log");
    assert!(!log.contains(LAST), "the checkpoint came too late");
    session.kill().expect("it dies");
    restore(&images).well();

    let alone = Folder::new(&format!("rocm-5.2-train-{mode}"));
    let program = hip_program("train/train.cpp");
    let words: Vec<&str> = [&program[..]].into_iter().chain(ARGUMENTS).collect();
    let status = start(&alone, &words).wait(LIMIT).expect("it ends");
    assert!(status.success(), "{status}");
    for name in ["weights", "log"] {
        let of = |folder: &Folder| fs::read(folder.join(name)).expect("it is written");
        assert!(of(&folder) == of(&alone), "other {name}");
    }
}

#[test]
fn training_on_rocm_7_comes_back_from_a_copy_on_write_checkpoint() {
    training_comes_back("cow");
}

#[test]
fn training_on_rocm_7_comes_back_from_a_checkpoint_in_rounds() {
    training_comes_back("recopy");
}

/// What it has is mapped by handles, and in pools that the runtime has mapped so: none of it has an address that the
/// compute driver knows.
fn mapped_memory_comes_back(mode: &str) {
    let (taken, rounds, log) = brought_back("grows.cpp", mode);
    let folder = Folder::new(&format!("grows-{mode}"));
    let words = [ROCM_72.program("grows.cpp"), rounds.to_string()];
    let mut command = strobe().command();
    command.args(["softgpu", "--"]).args(ROCM_72.environment());
    let alone = command.args(words).current_dir(folder.path()).output();
    let alone = Ended::new(&alone.expect("strobe starts"));
    assert_eq!((alone.code, alone.stdout), (Some(0), log));
    // One of its pieces at the least, and what is in the pool: these are copied while it runs.
    let fingerprinted = taken["fingerprinted_bytes"].as_u64().expect("a number");
    assert!(fingerprinted > 4 << 20, "{taken}");
}

#[test]
fn memory_that_is_mapped_by_handles_comes_back_from_a_copy_on_write_checkpoint() {
    mapped_memory_comes_back("cow");
}

#[test]
fn memory_that_is_mapped_by_handles_comes_back_from_a_stop_the_world_checkpoint() {
    mapped_memory_comes_back("stop");
}

#[test]
fn memory_that_is_mapped_by_handles_comes_back_from_a_checkpoint_in_rounds() {
    mapped_memory_comes_back("recopy");
}

/// As before Linux 6.18. The program goes on, and ends well.
#[test]
fn memory_that_is_mapped_by_handles_is_refused_where_the_driver_does_not_tell_of_them() {
    let folder = Folder::new("grows-untold");
    let program = ROCM_72.program("grows.cpp");
    let environment = ROCM_72.environment();
    let words = [&environment[0], &environment[1], &program, "1000000", "log"];
    let options = ["--faults".to_owned(), "list@every=EINVAL".to_owned()];
    let session = Session::start(&strobe(), &options, &words, folder.path());
    let mut session = session.expect("the program starts");
    session
        .wait_for("log", "round 2 ", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    let refused = checkpoint(&session, &images, &[]);
    let words = ["virtual memory management", "Linux 6.18"];
    assert_eq!(refused.badly(&words).code, Some(3));
    assert!(!images.exists());
    folder.rounds_enough();
    assert!(session.wait(LIMIT).expect("it ends").success());
}

/// We export what any release has; a program finds what its own has.
#[test]
fn a_program_that_looks_for_functions_finds_those_of_its_hip() {
    const NAMES: [&str; 7] = [
        "hipMalloc",
        "hipInit",
        "hipLaunchKernelExC",
        "hipGetProcAddress",
        "hipLibraryLoadData",
        "hiprtcCompileProgram",
        "hipTomorrow",
    ];
    let probes = compile::host("probes.c", &programs()).expect("it compiles");
    let probes = probes.to_str().expect("UTF-8");
    let newer = ROCM_72.libraries();
    let loader = newer.join("ld-linux-x86-64.so.2");
    let library = ROCM_72.library();
    let paths = [&loader, &newer, &library].map(|path| path.to_str().expect("UTF-8"));
    let by_newer = [paths[0], "--library-path", paths[1], probes, paths[2]];
    for (words, is_new) in [
        (&[probes, "libamdhip64.so.5"][..], false),
        (&by_newer, true),
    ] {
        let words: Vec<&str> = words
            .iter()
            .copied()
            .chain(["hip_4.2"])
            .chain(NAMES)
            .collect();
        let plain = Command::new(words[0])
            .args(&words[1..])
            .output()
            .expect("it starts");
        let plain = String::from_utf8(plain.stdout).expect("UTF-8");
        let is_there = plain.contains("hipLaunchKernelExC there");
        assert_eq!(
            (is_there, plain.lines().count()),
            (is_new, NAMES.len()),
            "{plain}"
        );
        let folder = Folder::new("probes");
        let session = start(&folder, &words);
        let status = session.wait(LIMIT).expect("it ends");
        assert!(status.success(), "{status}");
        let watched = fs::read_to_string(folder.join("stdout")).expect("its output");
        assert_eq!(watched, plain);
    }
}
