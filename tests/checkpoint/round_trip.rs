//! Checkpoint, kill, new device, restore.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use strobe_criu::locate;
use strobe_evaluation::Session;
use strobe_evaluation::strobe::ModeOption;

use crate::harness::{
    Ended, Folder, LIMIT, checkpoint, hip_program, restore, start, strobe, uninterrupted, verify,
};

/// Until it is told that they are enough.
const ROUNDS: &str = "1000000";

fn comes_back(mode: &str) {
    let folder = Folder::new(&format!("comes-back-{mode}"));
    let program = hip_program("mixed.cpp");
    let mut session = start(&folder, &[&program, ROUNDS, "log"]);
    session
        .wait_for("log", "round 5 ", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    checkpoint(&session, &images, &["--mode", mode]).well();
    verify(&images).well();
    // The log grows after the cut; restore has to cut it back.
    session
        .wait_for("log", "round 20 ", LIMIT)
        .expect("it runs on");
    session.kill().expect("it dies");
    let rounds = folder.rounds_enough();
    restore(&images).well();
    let log = fs::read_to_string(folder.join("log")).expect("its log");
    assert_eq!(log, uninterrupted(rounds));
}

#[test]
fn a_program_comes_back_from_a_copy_on_write_checkpoint() {
    comes_back("cow");
}

#[test]
fn a_program_comes_back_from_a_stop_the_world_checkpoint() {
    comes_back("stop");
}

/// The driver drops what the first image had, also where that was restored.
#[test]
fn a_restored_program_that_becomes_another_by_exec_finds_its_gpu() {
    let folder = Folder::new("replaced");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/replaced.py");
    let mut session = start(&folder, &["python3", script, "0"]);
    session.wait_for("log", "image 0", LIMIT).expect("it works");
    let images = folder.join("images");
    checkpoint(&session, &images, &[]).well();
    session.kill().expect("it dies");
    fs::write(folder.join("go"), "").expect("our folder");
    let image = |number: &u32| format!("image {number}: 1 GPU, errors [0, 0, 0, 0]\n");
    let expected: String = [0, 3, 1, 3, 2, 3].iter().map(image).collect();
    for _ in 0..2 {
        restore(&images).well();
        let log = fs::read_to_string(folder.join("log")).expect("its log");
        assert_eq!(log, expected);
    }
}

/// Which each version of CRIU reads through links.
#[test]
fn no_restore_writes_anything_into_the_checkpoint() {
    let folder = Folder::new("untouched");
    let mut session = start(&folder, &[&hip_program("mixed.cpp"), ROUNDS, "log"]);
    session
        .wait_for("log", "round 5 ", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    checkpoint(&session, &images, &[]).well();
    session.kill().expect("it dies");
    folder.rounds_enough();
    let before = contents(&images);
    for version in ["criu", "criu-4.2.1", "criu-4.3"] {
        let prefix = locate::private_prefix().expect("a home");
        let criu = prefix.with_file_name(version).join("criu");
        let strobe = strobe();
        let mut command = strobe.command();
        command.args(["softgpu", "--"]).arg(strobe.path());
        command.args(["restore", "--wait"]).arg(&images);
        command.env(locate::CRIU_VARIABLE, criu);
        Ended::new(&command.output().expect("strobe starts")).well();
        assert_eq!(contents(&images), before, "{version}");
    }
}

/// All names below a folder, with lengths and times of change.
fn contents(folder: &Path) -> BTreeMap<PathBuf, (u64, SystemTime)> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let meta = fs::symlink_metadata(&path).expect("it is there");
        if meta.is_dir() {
            all.extend(contents(&path));
        }
        all.insert(path, (meta.len(), meta.modified().expect("a time")));
    }
    all
}

#[test]
fn a_program_that_was_restored_can_be_checkpointed_again() {
    let folder = Folder::new("again");
    let program = hip_program("mixed.cpp");
    let mut session = start(&folder, &[&program, ROUNDS, "log"]);
    session
        .wait_for("log", "round 3 ", LIMIT)
        .expect("it works");
    let (first, second) = (folder.join("first"), folder.join("second"));
    checkpoint(&session, &first, &[]).well();
    session.kill().expect("it dies");
    let output = Folder::new("again-output");
    let mut session =
        Session::restore(&strobe(), &[], &first, output.path(), LIMIT).expect("it comes back");
    let log_path = folder.join("log");
    let log = fs::read_to_string(&log_path).expect("its log");
    let beyond = format!("round {} ", log.lines().count() + 3);
    session
        .wait_for(log_path.to_str().expect("UTF-8"), &beyond, LIMIT)
        .expect("it runs on");
    checkpoint(&session, &second, &["--kill"]).well();
    session.wait(LIMIT).expect("it was killed");
    let rounds = folder.rounds_enough();
    restore(&second).well();
    let log = fs::read_to_string(folder.join("log")).expect("its log");
    assert_eq!(log, uninterrupted(rounds));
}

#[test]
fn while_it_is_frozen_its_device_memory_stays_on_the_device() {
    let folder = Folder::new("set-aside");
    let program = hip_program("mixed.cpp");
    let mut session = start(&folder, &[&program, ROUNDS, "log"]);
    session
        .wait_for("log", "round 5 ", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    let report = strobe()
        .checkpoint(session.pid(), &images, ModeOption::Cow)
        .expect("a checkpoint");
    // Its code alone is more than this; the runtime's event page is less.
    assert!(report.residual_bytes <= 32 << 10, "{report:?}");
    assert!(report.set_aside_bytes > 32 << 10, "{report:?}");
    session.kill().expect("it dies");
    let rounds = folder.rounds_enough();
    restore(&images).well();
    let log = fs::read_to_string(folder.join("log")).expect("its log");
    assert_eq!(log, uninterrupted(rounds));
}

/// It has the program's descriptors of the GPU and none of its mappings.
#[test]
fn a_child_forked_while_the_device_works_comes_back_with_its_parent() {
    for mode in ["cow", "stop"] {
        let folder = Folder::new(&format!("family-{mode}"));
        let mut session = start(&folder, &[&hip_program("family.cpp"), ROUNDS, "log"]);
        session
            .wait_for("log", "round 5 ", LIMIT)
            .expect("it works");
        let images = folder.join("images");
        checkpoint(&session, &images, &["--mode", mode, "--kill"]).well();
        session.wait(LIMIT).expect("it was killed");
        let rounds = folder.rounds_enough() as u32;
        // The program looks at what its child has kept.
        restore(&images).well();
        let mut word = 1_u32;
        let mut expected = String::new();
        for round in 0..rounds {
            word = word.wrapping_mul(3).wrapping_add(round);
            expected += &format!("round {round} {word}\n");
        }
        let log = fs::read_to_string(folder.join("log")).expect("its log");
        assert_eq!(log, expected + "end\n", "{mode}");
    }
}

/// Faster than CRIU and the command can look at it.
#[test]
fn the_exit_code_of_a_program_that_ends_at_once_is_passed_on() {
    let folder = Folder::new("ends-at-once");
    let mut session = start(&folder, &[&hip_program("leaves.cpp"), "back"]);
    session
        .wait_for("stdout", "ready", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    checkpoint(&session, &images, &["--kill"]).well();
    session.wait(LIMIT).expect("it was killed");
    std::thread::sleep(std::time::Duration::from_secs(6));
    for turn in 0..6 {
        let ended = restore(&images);
        assert_eq!(ended.code, Some(7), "restore {turn}: {}", ended.stderr);
    }
}

#[test]
fn the_exit_code_of_a_restored_program_is_passed_on() {
    let folder = Folder::new("exit-code");
    let program = hip_program("leaves.cpp");
    let mut session = start(&folder, &[&program, "exit"]);
    session
        .wait_for("stdout", "ready", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    checkpoint(&session, &images, &[]).well();
    let pid = session.pid();
    session.kill().expect("it dies");
    // Once it is back, it is told to leave with 7.
    let telling = std::thread::spawn(move || {
        while !strobe_evaluation::session::is_alive(pid) {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        std::thread::sleep(std::time::Duration::from_secs(1));
        strobe_evaluation::session::signal(pid, "USR1").expect("it is back");
    });
    let ended = restore(&images);
    telling.join().expect("the signal was sent");
    assert_eq!(ended.code, Some(7), "{}", ended.stderr);
}
