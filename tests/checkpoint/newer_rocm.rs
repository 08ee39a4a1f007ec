//! Programs of ROCm 7.2: compiled by its clang, on its HIP, its HSA runtime and its C library.

use std::fs;
use std::path::Path;
use std::process::Command;

use strobe_criu::locate;
use strobe_evaluation::{Session, compile};

use crate::harness::rocm::{ROCM_72, Rocm};
use crate::harness::{Ended, Folder, LIMIT, programs, start, strobe, uninterrupted, verify};

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

fn checkpoint(session: &Session, images: &Path, options: &[&str]) -> Ended {
    let mut command = with_newer_criu();
    command.arg("checkpoint").arg(session.pid().to_string());
    command.arg("-o").arg(images).args(options);
    let ended = Ended::new(&command.output().expect("strobe starts"));
    assert!(!ended.stderr.contains("unannounced"), "{}", ended.stderr);
    ended
}

fn restore(images: &Path) -> Ended {
    let mut command = with_newer_criu();
    command.args(["softgpu", "--"]).arg(strobe().path());
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

fn comes_back(mode: &str) {
    let folder = Folder::new(&format!("rocm-7.2-{mode}"));
    let mut session = started(&ROCM_72, &folder, "mixed.cpp", &["1000000", "log"]);
    session
        .wait_for("log", "round 5 ", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    checkpoint(&session, &images, &["--mode", mode]).well();
    verify(&images).well();
    session
        .wait_for("log", "round 20 ", LIMIT)
        .expect("it runs on");
    session.kill().expect("it dies");
    let rounds = folder.rounds_enough();
    restore(&images).well();
    let log = fs::read_to_string(folder.join("log")).expect("its log");
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
