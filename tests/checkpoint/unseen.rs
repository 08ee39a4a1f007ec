//! What no wrapper sees for what it is: the HSA runtime used beside HIP, functions of a newer HIP,
//! launches of which the call does not say what runs or where.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use strobe_evaluation::{Session, compile};

use crate::harness::{Folder, LIMIT, checkpoint, hip_program, restore, start, strobe, verify};

#[test]
fn the_runtime_below_hip_used_beside_it_is_refused_by_name() {
    let program = hip_program("beside.cpp");
    for (what, named) in [
        ("queue", "hsa_queue_create"),
        ("copy", "hsa_memory_copy"),
        ("fill", "hsa_amd_memory_fill"),
        ("table", "hsa_system_get_major_extension_table"),
    ] {
        let folder = Folder::new(&format!("beside-{what}"));
        let mut session = start(&folder, &[&program, what]);
        session
            .wait_for("stdout", "ready", LIMIT)
            .expect("it works");
        checkpoint(&session, &folder.join("images"), &[]).badly(&[named, "not supported"]);
        assert!(session.is_alive());
    }
}

#[test]
fn what_hip_and_the_agent_do_with_the_runtime_is_not_the_programs_doing() {
    let folder = Folder::new("beside-quiet");
    let program = hip_program("beside.cpp");
    let mut session = start(&folder, &[&program, "quiet"]);
    session
        .wait_for("stdout", "ready", LIMIT)
        .expect("it works");
    // The second sees what the first has left.
    for images in ["first", "second"].map(|name| folder.join(name)) {
        checkpoint(&session, &images, &[]).well();
        verify(&images).well();
    }
}

/// Compiles a C source of tests/programs.
fn cc(source: &str, to: &Path, arguments: &[&str]) {
    let status = Command::new("cc")
        .arg(compile::sources().join(source))
        .arg("-o")
        .arg(to)
        .args(arguments)
        .status()
        .expect("a C compiler");
    assert!(status.success(), "{source} does not compile");
}

/// The program for a newer HIP, and a folder that holds such a HIP.
fn newer(folder: &Folder, linked: bool) -> PathBuf {
    let library = folder.join("libamdhip64.so.6");
    cc(
        "newer_hip.c",
        &library,
        &["-shared", "-fPIC", "-Wl,-soname,libamdhip64.so.6"],
    );
    let program = folder.join("newer");
    let path = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    if linked {
        cc("newer.c", &program, &["-DLINKED", &path(&library)]);
    } else {
        cc("newer.c", &program, &["-ldl"]);
    }
    program
}

fn run_newer(folder: &Folder, program: &Path, what: &str) -> Session {
    let libraries = format!("LD_LIBRARY_PATH={}", folder.path().display());
    let program = program.to_str().expect("UTF-8");
    let command = ["env", &libraries, program, what];
    let mut session =
        Session::start(&strobe(), &[], &command, folder.path()).expect("the program starts");
    session
        .wait_for("stdout", "ready", LIMIT)
        .expect("it works");
    session
}

#[test]
fn a_function_of_a_newer_hip_is_refused_by_name_when_it_is_called_or_linked_to() {
    let folder = Folder::new("newer-called");
    let program = newer(&folder, false);
    let session = run_newer(&folder, &program, "called");
    let images = folder.join("images");
    checkpoint(&session, &images, &[]).badly(&["hipTomorrow", "not supported"]);
    drop(session);

    let folder = Folder::new("newer-linked");
    let program = newer(&folder, true);
    let session = run_newer(&folder, &program, "linked");
    let images = folder.join("images");
    checkpoint(&session, &images, &[]).badly(&["hipTomorrow", "not supported"]);
    assert!(session.is_alive());
}

#[test]
fn a_function_of_a_newer_hip_that_is_only_looked_up_harms_nobody() {
    let folder = Folder::new("newer-looked-up");
    let program = newer(&folder, false);
    let session = run_newer(&folder, &program, "looked-up");
    let images = folder.join("images");
    checkpoint(&session, &images, &["--kill"]).well();
    verify(&images).well();
}

/// A checkpoint while rounds go on whose writes are hard to tell. Copies inside the device take their
/// time, so that a launch that does not wait for them overtakes them. Nothing is validated: a launch
/// that did not wait would be found out, and the checkpoint taken again.
fn comes_back(source: &str, arguments: &[&str]) {
    let folder = Folder::new("hard-to-tell");
    let program = hip_program(source);
    let device = ["--device-rate", "8M", "--link-rate", "24M"].map(str::to_owned);
    let mut command = vec![program.as_str()];
    command.extend(arguments);
    command.extend(["24", "log"]);
    let mut session =
        Session::start(&strobe(), &device, &command, folder.path()).expect("the program starts");
    session.wait_for("log", "round 3", LIMIT).expect("it works");
    let images = folder.join("images");
    checkpoint(&session, &images, &["--mode", "cow", "--validate", "off"]).well();
    session.kill().expect("it dies");
    // The program itself compares every word with what it must be.
    restore(&images).well();
    let log = fs::read_to_string(folder.join("log")).expect("its log");
    assert!(log.lines().count() >= 24, "{log}");
}

#[test]
fn launches_whose_stream_no_call_names_wait_all_the_same() {
    for way in ["by-pointer", "multi"] {
        comes_back("unknown_launches.cpp", &[way]);
    }
}

#[test]
fn launches_that_name_a_stream_wait_in_it_or_before_it() {
    for way in ["impl", "graph"] {
        comes_back("unknown_launches.cpp", &[way]);
    }
}

#[test]
fn a_table_that_the_cpu_writes_is_not_taken_for_what_it_was() {
    comes_back("rewritten.cpp", &[]);
}
