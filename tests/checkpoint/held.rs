//! What a checkpoint may hold back, and for how long: the program always comes through.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};

use strobe_evaluation::{Session, session};
use strobe_program::agent::RemoteAgent;
use strobe_program::process;
use strobe_proto::page::Phase;

use crate::harness::environment::{Environment, wait_until};
use crate::harness::{
    Ended, Folder, LIMIT, checkpoint_of, hip_program, restore, run, start, strobe, verify,
};

/// `strobe checkpoint` that has reached the copying of contents.
fn copying(session: &Session, images: &Path, options: &[&str]) -> Child {
    reached(Phase::Copying, session, images, options)
}

/// `strobe checkpoint` that has reached a step, or one behind it that stands still longer.
fn reached(step: Phase, session: &Session, images: &Path, options: &[&str]) -> Child {
    let mut command = strobe().command();
    command
        .arg("checkpoint")
        .arg(session.pid().to_string())
        .arg("-o")
        .arg(images)
        .args(options);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("strobe starts");
    let agent = RemoteAgent::find(session.pid()).expect("an agent");
    let steps = step as u32..=Phase::Copying as u32;
    wait_until("its step", || {
        assert!(child.try_wait().expect("it is ours").is_none(), "too early");
        steps.contains(&(agent.phase().ok()?? as u32)).then_some(())
    });
    child
}

fn ended(child: Child) -> Ended {
    Ended::new(&child.wait_with_output().expect("it ends"))
}

fn started(folder: &Folder, device: &[&str], program: &[&str]) -> Session {
    let device: Vec<String> = device.iter().map(|word| (*word).to_owned()).collect();
    Session::start(&strobe(), &device, program, folder.path()).expect("the program starts")
}

const MEGABYTES: &str = "8";
/// Of device memory, where the pool then has room for few copies.
const SCARCE: &str = "16M";
const ROUNDS: &str = "60";

/// Streams, events, callbacks and queues stand still until writes of the state have come through,
/// while that state is copied.
fn comes_through(vram: &str) {
    let program = hip_program("blocks.cpp");
    let alone = Folder::new("blocks-alone");
    let session = start(&alone, &[&program, MEGABYTES, ROUNDS, "log"]);
    assert!(session.wait(LIMIT).expect("it ends").success());
    let log = fs::read_to_string(alone.join("log")).expect("its log");

    let folder = Folder::new(&format!("blocks-{vram}"));
    let device = ["--vram", vram, "--link-rate", "1500K"];
    let mut session = started(&folder, &device, &[&program, MEGABYTES, ROUNDS, "log"]);
    session
        .wait_for("log", "round 2 ", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    let command = copying(&session, &images, &["--max-hold", "60"]);
    session.signal("USR1").expect("it runs");
    session
        .wait_for("stdout", "through", LIMIT)
        .expect("nothing of the checkpoint stands in its way");
    ended(command).well();
    verify(&images).well();
    session
        .wait_for("log", "round 30 ", LIMIT)
        .expect("it runs on");
    session.kill().expect("it dies");
    restore(&images).well();
    assert_eq!(
        fs::read_to_string(folder.join("log")).expect("its log"),
        log
    );
}

#[test]
fn a_program_that_blocks_its_own_streams_comes_through_with_room_for_all_copies() {
    comes_through("512M");
}

#[test]
fn a_program_that_blocks_its_own_streams_comes_through_with_room_for_few_copies() {
    comes_through(SCARCE);
}

#[test]
fn a_checkpoint_that_holds_the_program_back_gives_up_in_time() {
    let folder = Folder::new("max-hold");
    let program = hip_program("blocks.cpp");
    let device = ["--vram", SCARCE, "--link-rate", "1500K"];
    let mut session = started(&folder, &device, &[&program, MEGABYTES, "100000", "log"]);
    session
        .wait_for("log", "round 2 ", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    let command = copying(&session, &images, &["--max-hold", "2"]);
    // Nobody takes away what arrives: the command stands still, and is not gone.
    let pid = command.id();
    session::signal(pid, "STOP").expect("it runs");
    session.signal("USR1").expect("it runs");
    session
        .wait_for("stdout", "through", LIMIT)
        .expect("what was enqueued runs to its end");
    session::signal(pid, "CONT").expect("it stands still");
    ended(command).badly(&["held back", "--max-hold"]);
    assert!(!images.exists());
    // And nothing of it is left.
    let next = folder.join("next");
    checkpoint_of(session.pid(), &next, &[]).well();
    verify(&next).well();
}

/// The program asks for memory by a function of HIP's while a checkpoint has borrowed it.
fn given_back(how: &str, device: &[&str]) -> Session {
    let folder = Folder::new(&format!("takes-{how}"));
    let program = hip_program("takes.cpp");
    let device = [&["--vram", "64M", "--link-rate", "16M"], device].concat();
    let mut session = started(&folder, &device, &[&program, "8", "44", how]);
    session
        .wait_for("stdout", "ready", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    let command = copying(&session, &images, &[]);
    // Nobody takes away what arrives, so that it is under way for as long as it takes.
    let pid = command.id();
    session::signal(pid, "STOP").expect("it runs");
    session.signal("USR1").expect("it runs");
    session
        .wait_for("stdout", "got", LIMIT)
        .unwrap_or_else(|error| panic!("{how}: there is memory for it: {error}"));
    session::signal(pid, "CONT").expect("it stands still");
    assert!(
        !session.output().contains("changed"),
        "{how}: the program saw that memory was borrowed"
    );
    ended(command).badly(&["needs the device memory"]);
    session
}

#[test]
fn memory_that_the_program_needs_is_given_back_before_it_asks() {
    let session = given_back("malloc", &[]);
    let folder = Folder::new("taken");
    checkpoint_of(session.pid(), &folder.join("images"), &[]).well();
}

#[test]
fn memory_that_the_program_needs_is_given_back_where_the_driver_cannot_say_what_is_left() {
    for how in ["malloc", "pitch", "3d", "async", "pool", "flags", "fine"] {
        given_back(how, &["--faults", "available@every=EINVAL"]);
    }
}

#[test]
fn an_allocation_that_no_memory_of_ours_could_help_costs_no_checkpoint() {
    for how in ["malloc", "async"] {
        let folder = Folder::new(&format!("takes-too-much-{how}"));
        let program = hip_program("takes.cpp");
        let device = ["--vram", "64M", "--link-rate", "16M"];
        let mut session = started(&folder, &device, &[&program, "16", "4096", how]);
        session
            .wait_for("stdout", "ready", LIMIT)
            .expect("it works");
        let images = folder.join("images");
        let command = copying(&session, &images, &[]);
        let pid = command.id();
        session::signal(pid, "STOP").expect("it runs");
        session.signal("USR1").expect("it runs");
        session
            .wait_for("stdout", "none", LIMIT)
            .expect("no device has so much");
        session::signal(pid, "CONT").expect("it stands still");
        ended(command).well();
        verify(&images).well();
        // Nor is what it did not get taken for memory.
        checkpoint_of(session.pid(), &folder.join("next"), &[]).well();
    }
}

#[test]
fn a_program_that_is_stopped_costs_its_checkpoint_and_nobody_waits_for_it() {
    let folder = Folder::new("stopped");
    let program = hip_program("mixed.cpp");
    let device = ["--link-rate", "1M"];
    let mut session = started(&folder, &device, &[&program, "100000", "log"]);
    session
        .wait_for("log", "round 1 ", LIMIT)
        .expect("it works");
    let refused = ["is stopped", "kill -CONT"];
    // At every step in which the command waits for the agent, or CRIU does; and where it stood before.
    let images = folder.join("images");
    let steps = [
        ("cow", Phase::Preparing),
        ("cow", Phase::Closing),
        ("cow", Phase::Copying),
        ("stop", Phase::Copying),
    ];
    for (mode, step) in steps {
        let command = reached(step, &session, &images, &["--mode", mode]);
        session.signal("STOP").expect("it runs");
        ended(command).badly(&refused);
        checkpoint_of(session.pid(), &images, &[]).badly(&refused);
        session.signal("CONT").expect("it stands still");
        let log = fs::read_to_string(folder.join("log")).expect("its log");
        let next = format!("round {} ", log.lines().count() + 2);
        session
            .wait_for("log", &next, LIMIT)
            .unwrap_or_else(|error| panic!("{mode} {step:?}: the program stands still: {error}"));
    }
    checkpoint_of(session.pid(), &images, &["--mode", "stop"]).well();
    verify(&images).well();
}

/// CRIU would say that it cannot move it, and not which one that is.
#[test]
fn a_child_that_is_stopped_and_uses_no_gpu_is_refused_by_name() {
    let folder = Folder::new("stopped-child");
    let script = "sleep 1000 & echo $! > child.part; mv child.part child; exec \"$0\" 1000000 log";
    let mut session = start(&folder, &["sh", "-c", script, &hip_program("mixed.cpp")]);
    session
        .wait_for("log", "round 1 ", LIMIT)
        .expect("it works");
    let child = fs::read_to_string(folder.join("child")).expect("its number");
    let child: u32 = child.trim().parse().expect("a number");
    let images = folder.join("images");
    session::signal(child, "STOP").expect("it sleeps");
    wait_until("stop", || {
        let stat = process::stat(child).ok()?;
        stat.is_stopped().then_some(())
    });
    let words = [
        &*format!("process {child} is stopped"),
        &format!("kill -CONT {child}"),
    ];
    let prospects = run(["checkpoint", "--check", &session.pid().to_string()]);
    assert_eq!(prospects.code, Some(3), "{}", prospects.stdout);
    for word in words {
        assert!(prospects.stdout.contains(word), "{}", prospects.stdout);
    }
    let refused = checkpoint_of(session.pid(), &images, &[]).badly(&words);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    session::signal(child, "CONT").expect("it is stopped");
    checkpoint_of(session.pid(), &images, &[]).well();
    session.kill().expect("it runs");
    session::signal(child, "KILL").expect("it sleeps");
}

#[test]
fn nothing_is_borrowed_any_more_after_a_refusal() {
    let folder = Folder::new("gone-after-refusal");
    let mut environment = Environment::new(&folder, &["--vram", "128M"]);
    let endless = environment.start_traced("endless", &[&hip_program("endless.cpp")]);
    endless.says("spinning");
    let images = folder.join("images");
    let options = ["--cut", "drain", "--drain-timeout", "1"];
    checkpoint_of(endless.pid(), &images, &options).badly(&["spin_forever"]);
    // Another program finds all the room there is.
    let holds = environment.start("holds", &[&hip_program("holds.cpp"), "96", "7"]);
    holds.says("holding");
    holds.signal("TERM");
    assert_eq!(holds.code(), 0);
    endless.signal("TERM");
    assert_eq!(endless.code(), 0, "{}", endless.output());
}
