//! Cuts in the middle of kernels: the queues are stopped there, and what the kernels write afterwards is in no image.
//!
//! The programs check every word of what they compute themselves, and end with an error where one is wrong.

use serde_json::Value;
use strobe_evaluation::Session;

use crate::harness::{Folder, LIMIT, checkpoint, hip_program, restore, strobe};

fn start(folder: &Folder, how: &str, device: &[&str]) -> Session {
    let program = hip_program("inflight.cpp");
    let program = [program.as_str(), how, "1000000", "log"];
    let device: Vec<String> = device.iter().map(|&option| option.to_owned()).collect();
    let session = Session::start(&strobe(), &device, &program, folder.path());
    let mut session = session.expect("the program starts");
    session
        .wait_for("log", "round 1 ", LIMIT)
        .expect("it works");
    session
}

/// Takes a checkpoint; how many operations were stopped in the middle or before, where the GPU's work was not waited for.
fn take(session: &Session, folder: &Folder, name: &str, options: &[&str]) -> Option<u64> {
    let options = [&["--json"], options].concat();
    let taken = checkpoint(session, &folder.join(name), &options).well();
    let report: Value = serde_json::from_str(&taken.stdout).expect("a report");
    report["under_way"].as_u64()
}

/// Lets the program end, and each of the checkpoints of it; all have to be right.
fn end_well(session: Session, folder: &Folder, names: &[&str]) {
    folder.rounds_enough_of(&["log"], 2);
    let ended = session.wait(LIMIT).expect("it ends");
    assert!(ended.success(), "after the cut: {ended}");
    for name in names {
        restore(&folder.join(name)).well();
    }
}

/// Checkpoints at moments that nobody chooses.
fn goes_on(how: &str, options: &[&str]) {
    let folder = Folder::new(&format!("eviction-{how}"));
    let session = start(&folder, how, &[]);
    let names = ["first", "second", "third"];
    let stopped = names.map(|name| take(&session, &folder, name, options));
    assert!(
        stopped.iter().any(|stopped| *stopped > Some(0)),
        "nothing was under way: {stopped:?}"
    );
    end_well(session, &folder, &names);
}

#[test]
fn kernels_that_change_memory_all_the_time_go_on_from_the_cut() {
    goes_on("long", &["--cut", "evict"]);
}

#[test]
fn kernels_that_may_write_anything_go_on_from_the_cut() {
    goes_on("anywhere", &["--cut", "evict"]);
}

#[test]
fn kernels_go_on_when_all_is_copied_where_the_program_stops_for_that() {
    goes_on("anywhere", &["--cut", "evict", "--mode", "stop"]);
}

#[test]
fn kernels_on_the_own_streams_of_threads_go_on_from_the_cut() {
    goes_on("apart", &["--cut", "evict"]);
}

#[test]
fn calls_that_wait_for_kernels_before_they_write_are_in_the_checkpoint() {
    goes_on("feeds", &["--cut", "evict"]);
}

#[test]
fn a_kernel_that_polls_what_a_later_call_brings_is_not_waited_for() {
    goes_on("polls", &[]);
}

/// HIP answers nobody who asks it for a stream then.
#[test]
fn a_thread_that_waits_in_hip_for_another_threads_calls_is_not_waited_for() {
    goes_on("waits", &[]);
}

#[test]
fn a_callback_that_waits_for_calls_is_not_waited_for() {
    goes_on("calls", &[]);
}

/// More of them than threads, at barriers of atomics and at that of a cooperative launch.
#[test]
fn work_groups_that_wait_for_one_another_go_on_from_the_cut() {
    let folder = Folder::new("eviction-together");
    let program = hip_program("together.cpp");
    let program = [program.as_str(), "120", "120"];
    let session = Session::start(&strobe(), &[], &program, folder.path());
    let mut session = session.expect("the program starts");
    // That one is over, and the next one goes on.
    let ways = ["sleep", "spin"];
    let stopped = ways.map(|way| {
        let line = format!("groups 120 {way} ");
        session.wait_for("stdout", &line, LIMIT).expect("it works");
        take(&session, &folder, way, &["--cut", "evict"])
    });
    assert!(
        stopped.iter().any(|stopped| *stopped > Some(0)),
        "nothing was under way: {stopped:?}"
    );
    let ended = session.wait(LIMIT).expect("it ends");
    assert!(ended.success(), "after the cut: {ended}");
    for way in ways {
        restore(&folder.join(way)).well();
    }
}

/// Neither we nor the kernel ask the program for anything: it polls host memory until a signal comes.
#[test]
fn a_kernel_that_never_ends_is_in_the_checkpoint_and_goes_on() {
    let folder = Folder::new("eviction-endless");
    let program = hip_program("endless.cpp");
    let session = Session::start(&strobe(), &[], &[&program], folder.path());
    let mut session = session.expect("the program starts");
    session
        .wait_for("stdout", "spinning", LIMIT)
        .expect("it works");
    let stopped = take(&session, &folder, "images", &[]);
    assert_eq!(stopped, Some(1));
    session.signal("TERM").expect("it runs on");
    assert!(session.wait(LIMIT).expect("it ends").success());
    // The command says elsewhere what it does.
    let said = Folder::new("eviction-endless-back");
    let images = folder.join("images");
    let restored = Session::restore(&strobe(), &[], &images, said.path(), LIMIT);
    let restored = restored.expect("it comes back");
    restored.signal("TERM").expect("it runs on");
    assert!(restored.wait(LIMIT).expect("it ends").success());
}

#[test]
fn a_driver_that_stops_no_queue_is_named_or_its_work_waited_for() {
    let folder = Folder::new("eviction-refused");
    let refuses = ["--faults", "update-queue@every=EIO"];
    let session = start(&folder, "long", &refuses);
    let options = ["--cut", "evict"];
    checkpoint(&session, &folder.join("named"), &options).badly(&["queues cannot be stopped"]);
    take(&session, &folder, "waited", &[]);
    end_well(session, &folder, &["waited"]);
}
