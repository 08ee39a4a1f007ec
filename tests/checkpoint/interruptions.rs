//! Deaths at many points of a checkpoint.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use strobe_evaluation::{Session, session};

use crate::harness::environment::Environment;
use crate::harness::{
    Ended, Folder, LIMIT, checkpoint, checkpoint_of, hip_program, restore, start, strobe, verify,
};

/// Milliseconds into a checkpoint. One takes a few hundred.
const POINTS: [u64; 12] = [0, 10, 25, 50, 75, 100, 140, 180, 230, 300, 400, 600];

/// `strobe checkpoint`, not waited for.
fn begin(pid: u32, images: &Path) -> Child {
    let mut command = strobe().command();
    command
        .arg("checkpoint")
        .arg(pid.to_string())
        .arg("-o")
        .arg(images);
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("strobe starts")
}

/// It is complete, or not there at all.
fn complete_or_absent(images: &Path) {
    if images.exists() {
        verify(images).well();
    }
}

#[test]
fn killing_the_command_leaves_the_old_checkpoint_and_a_program_that_runs() {
    let folder = Folder::new("kill-command");
    let program = hip_program("mixed.cpp");
    let mut session = start(&folder, &[&program, "100000", "log"]);
    session
        .wait_for("log", "round 1 ", LIMIT)
        .expect("it works");
    let old = folder.join("old");
    checkpoint(&session, &old, &[]).well();
    for point in POINTS {
        let images = folder.join(&format!("images-{point}"));
        let mut command = begin(session.pid(), &images);
        sleep(Duration::from_millis(point));
        // It may have ended before.
        let _ = command.kill();
        command.wait().expect("it ends");
        complete_or_absent(&images);
        verify(&old).well();
        assert!(
            session.is_alive(),
            "killed after {point} ms, the program died"
        );
        let rounds = fs::read_to_string(folder.join("log"))
            .expect("its log")
            .lines()
            .count();
        session
            .wait_for("log", &format!("round {} ", rounds + 2), LIMIT)
            .unwrap_or_else(|e| panic!("killed after {point} ms, the program stands still: {e}"));
    }
    // Nothing of the dead ones is in the way.
    checkpoint(&session, &folder.join("last"), &[]).well();
}

#[test]
fn killing_the_program_ends_the_command_and_leaves_nothing_half() {
    let folder = Folder::new("kill-program");
    let program = hip_program("mixed.cpp");
    for point in POINTS {
        // The last one's says nothing of this one.
        let log = format!("log-{point}");
        let mut session = start(&folder, &[&program, "100000", &log]);
        session.wait_for(&log, "round 1 ", LIMIT).expect("it works");
        let images = folder.join(&format!("images-{point}"));
        let command = begin(session.pid(), &images);
        sleep(Duration::from_millis(point));
        session.kill().expect("it dies");
        let output = command.wait_with_output().expect("it ends");
        let ended = Ended::new(&output);
        if images.exists() {
            ended.well();
            verify(&images).well();
        } else {
            ended.badly(&[]);
        }
    }
}

/// Tells `leaves` to leave the device at many points of a checkpoint; answers what the commands that failed said.
fn leaving(way: &str, code: i32) -> Vec<String> {
    let mut said = Vec::new();
    let folder = Folder::new(&format!("leaving-{way}"));
    let program = hip_program("leaves.cpp");
    for point in POINTS {
        let mut session = start(&folder, &[&program, way]);
        session
            .wait_for("stdout", "ready", LIMIT)
            .expect("it works");
        let images = folder.join(&format!("images-{point}"));
        let command = begin(session.pid(), &images);
        sleep(Duration::from_millis(point));
        session.signal("USR1").expect("it runs");
        let status = session.wait(LIMIT).expect("it leaves");
        let said_last = fs::read_to_string(folder.join("stderr")).unwrap_or_default();
        assert_eq!(
            status.code(),
            Some(code),
            "told to leave after {point} ms: {said_last}"
        );
        let ended = Ended::new(&command.wait_with_output().expect("it ends"));
        if images.exists() {
            ended.well();
            verify(&images).well();
        } else {
            said.push(ended.badly(&[]).stderr);
        }
        let _ = fs::remove_file(folder.join("stdout"));
    }
    said
}

#[test]
fn a_program_may_exit_during_a_checkpoint() {
    leaving("exit", 7);
}

#[test]
fn a_program_may_reset_its_device_during_a_checkpoint() {
    leaving("reset", 0);
}

#[test]
fn no_checkpoint_begins_while_the_program_resets_its_device() {
    let folder = Folder::new("resets");
    let mut session = start(&folder, &[&hip_program("leaves.cpp"), "resets"]);
    session
        .wait_for("stdout", "ready", LIMIT)
        .expect("it works");
    session.signal("USR1").expect("it runs");
    let mut number = 0;
    while session.is_alive() {
        let images = folder.join(&format!("images-{number}"));
        checkpoint(&session, &images, &[]);
        complete_or_absent(&images);
        number += 1;
    }
    let status = session.wait(LIMIT).expect("it ends");
    let said = fs::read_to_string(folder.join("stderr")).expect("its stderr");
    assert!(
        status.success(),
        "after {number} checkpoints: {status}: {said}"
    );
}

#[test]
fn a_program_may_become_another_during_a_checkpoint() {
    let said = leaving("exec", 0);
    assert!(
        said.iter()
            .any(|said| said.contains("has become another program")),
        "{said:?}"
    );
}

/// SIGCONT has threads of the program stop that run CRIU's code, and CRIU is told of each. It takes them up
/// also while the plugin saves with threads of its own, which a slow link has take seconds.
#[test]
fn a_storm_of_signals_while_memory_is_saved_holds_nothing_up() {
    let folder = Folder::new("storm");
    let program = hip_program("mixed.cpp");
    let slow = ["--link-rate", "1M"].map(str::to_owned);
    let command = [&*program, "100000", "log"];
    let session = Session::start(&strobe(), &slow, &command, folder.path());
    let mut session = session.expect("it starts");
    session
        .wait_for("log", "round 1 ", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    let pid = session.pid().to_string();
    let mut dump = strobe().command();
    let dump = dump.args(["checkpoint", &pid, "--kill", "-o"]).arg(&images);
    let mut dump = dump.spawn().expect("strobe starts");
    let script = "while kill -CONT $0 2>&-; do :; done";
    let storm = Command::new("sh").args(["-c", script, &pid]).spawn();
    let mut storm = storm.expect("sh starts");
    let ended = session::wait(&mut dump, LIMIT).expect("it was ours");
    let _ = storm.kill();
    storm.wait().expect("it was ours");
    if ended.is_none() {
        dump.kill().expect("it was ours");
    }
    assert_eq!(ended.and_then(|status| status.code()), Some(0));
    folder.rounds_enough();
    restore(&images).well();
}

#[test]
fn of_two_commands_at_once_one_takes_its_checkpoint_and_the_other_says_why_not() {
    let folder = Folder::new("two-commands");
    let program = hip_program("mixed.cpp");
    let mut session = start(&folder, &[&program, "100000", "log"]);
    session
        .wait_for("log", "round 1 ", LIMIT)
        .expect("it works");
    for turn in 0..4 {
        let places = ["a", "b"].map(|name| folder.join(&format!("{name}-{turn}")));
        let commands = places.clone().map(|images| begin(session.pid(), &images));
        let ended = commands.map(|command| {
            let output = command.wait_with_output().expect("it ends");
            Ended::new(&output)
        });
        let mut complete = 0;
        for (images, ended) in places.iter().zip(ended) {
            if images.exists() {
                ended.well();
                verify(images).well();
                complete += 1;
            } else {
                assert_eq!(ended.code, Some(3), "{ended:?}");
                ended.badly(&["another checkpoint of process", "is under way"]);
            }
        }
        assert!(complete > 0, "both gave way");
    }
    checkpoint(&session, &folder.join("last"), &[]).well();
}

/// The first checkpoint of a program has HIP compile kernels of its own, and that takes a while.
#[test]
fn a_program_that_ends_during_a_checkpoint_ends_as_it_would_without_one() {
    let folder = Folder::new("ends");
    let program = hip_program("ends.cpp");
    let mut environment = Environment::new(&folder, &[]);
    let ways = ["main", "exit", "thread", "handler", "second", "cancelled"];
    for (number, way) in ways.iter().cycle().take(12).enumerate() {
        let (name, go) = (format!("{way}-{number}"), format!("go-{number}"));
        let session = environment.start_traced(&name, &[&program, way, &go]);
        session.says("ready");
        let images = folder.join(&format!("images-{number}"));
        let mut command = begin(session.pid(), &images);
        sleep(Duration::from_millis(50 * number as u64));
        fs::write(folder.join(&go), "").expect("our folder");
        assert_eq!(session.code(), 7, "{way}, {number}: {}", session.output());
        command.wait().expect("it ends");
    }
}

/// A thread that is held back sleeps, and is cancelled there.
#[test]
fn threads_may_be_cancelled_during_a_checkpoint() {
    let folder = Folder::new("cancelled");
    let program = hip_program("cancelled.cpp");
    let slow = ["--link-rate", "4M", "--device-rate", "100M"];
    let mut environment = Environment::new(&folder, &slow);
    for mode in ["cow", "stop"] {
        let session = environment.start_traced(mode, &[&program, "200"]);
        session.says("ready");
        let images = folder.join(&format!("images-{mode}"));
        checkpoint_of(session.pid(), &images, &["--mode", mode]).well();
        assert_eq!(session.code(), 7, "{mode}: {}", session.output());
    }
}
