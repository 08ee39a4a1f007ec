//! Several programs on a device, and restores of several at once.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::thread;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use strobe_program::process;

use crate::harness::environment::{Environment, Program, wait_until};
use crate::harness::{Ended, Folder, checkpoint_of, hip_program, restore, strobe, verify};

const ROUNDS: &str = "150";
/// Until it is told otherwise: the one goes on for as long as the other is being saved.
const FOR_EVER: &str = "1000000";

/// Programs that do the same; all have begun.
fn start<const N: usize>(folder: &Folder, names: [&str; N]) -> (Environment, [Program; N]) {
    let program = hip_program("mixed.cpp");
    let mut place = Environment::new(folder, &[]);
    let programs =
        names.map(|name| place.start_traced(name, &[&program, FOR_EVER, &format!("{name}.log")]));
    for name in names {
        has_done(folder, name, 3);
    }
    (place, programs)
}

fn log(folder: &Folder, name: &str) -> String {
    fs::read_to_string(folder.join(&format!("{name}.log"))).unwrap_or_default()
}

/// Waits until a program has done so many rounds.
fn has_done(folder: &Folder, name: &str, rounds: usize) {
    wait_until("round", || {
        (log(folder, name).lines().count() > rounds).then_some(())
    });
}

/// Saves and kills `a`, to which `b` must be blind; the images, and how many rounds both make in all: `b` does not end
/// before `a` has come back.
fn save(folder: &Folder, a: &Program, b: &Program) -> (std::path::PathBuf, usize) {
    let images = folder.join("images");
    checkpoint_of(a.pid(), &images, &["--kill"]).well();
    verify(&images).well();
    assert_eq!(a.code(), 137, "{}", a.output());
    let rounds = log(folder, "b").lines().count();
    assert!(b.is_alive(), "{}", b.output());
    has_done(folder, "b", rounds + 2);
    let rounds = folder.rounds_enough_of(&["a.log", "b.log"], 60);
    (images, rounds)
}

#[test]
fn one_is_saved_and_comes_back_on_another_device_while_the_other_goes_on() {
    let folder = Folder::new("one-of-two");
    let (_place, [a, b]) = start(&folder, ["a", "b"]);
    let (images, rounds) = save(&folder, &a, &b);
    restore(&images).well();
    assert_eq!(b.code(), 0, "{}", b.output());
    assert_eq!(log(&folder, "a"), log(&folder, "b"));
    assert!(log(&folder, "a").ends_with(&format!("end rounds {rounds}\n")));
}

#[test]
fn one_is_saved_and_comes_back_on_the_same_device_beside_the_other() {
    let folder = Folder::new("beside-the-other");
    let (mut place, [first, a, b]) = start(&folder, ["first", "a", "b"]);
    let (images, rounds) = save(&folder, &a, &b);
    // Its place on the device is free, and that before it too.
    first.signal("KILL");
    assert_eq!(first.code(), 137, "{}", first.output());
    let strobe = strobe();
    let words = [
        strobe.path().to_str().expect("a path in UTF-8"),
        "restore",
        "--wait",
        images.to_str().expect("a path in UTF-8"),
    ];
    let back = place.start("back", &words);
    assert_eq!(back.code(), 0, "{}", back.output());
    assert_eq!(b.code(), 0, "{}", b.output());
    assert_eq!(log(&folder, "a"), log(&folder, "b"));
    assert!(log(&folder, "a").ends_with(&format!("end rounds {rounds}\n")));
}

/// What is started for the restore gets numbers behind the limit, where those of the program's last threads are.
#[test]
fn a_program_with_numbers_on_both_sides_of_the_kernels_limit_comes_back() {
    const LAST: &str = "/proc/sys/kernel/ns_last_pid";
    let limit = fs::read_to_string("/proc/sys/kernel/pid_max").expect("we are root");
    let limit: usize = limit.trim().parse().expect("a number");
    let folder = Folder::new("both-sides");
    let program = hip_program("mixed.cpp");
    let mut place = Environment::new(&folder, &[]);
    // Others start processes too, and the program's are not all threads.
    let both_sides = (0..20).find_map(|attempt| {
        let name = format!("at-{attempt}");
        let log = format!("{name}.log");
        fs::write(LAST, (limit - 10 + attempt % 5).to_string()).expect("we are root");
        let running = place.start_traced(&name, &[&program, ROUNDS, &log]);
        has_done(&folder, &name, 3);
        let tasks = fs::read_dir(format!("/proc/{}/task", running.pid())).expect("it runs");
        let threads: Vec<usize> = tasks
            .map(|task| task.expect("a thread").file_name())
            .map(|name| {
                name.to_str()
                    .and_then(|name| name.parse().ok())
                    .expect("a number")
            })
            .collect();
        let above = threads.iter().filter(|thread| **thread > limit / 2).count();
        let both = (1..threads.len()).contains(&above);
        if !both {
            running.signal("KILL");
            running.code();
        }
        both.then_some((name, running))
    });
    let (name, running) = both_sides.expect("a program with such numbers");
    let images = folder.join("images");
    checkpoint_of(running.pid(), &images, &["--kill"]).well();
    restore(&images).well();
    assert!(log(&folder, &name).ends_with(&format!("end rounds {ROUNDS}\n")));
}

/// All of them have the same temporary files of ROCm's compiler, which they have deleted.
#[test]
fn restores_of_several_programs_wait_for_none_of_them() {
    let folder = Folder::new("restored-at-once");
    let program = hip_program("mixed.cpp");
    let mut place = Environment::new(&folder, &[]);
    let names = ["slow", "a", "b", "c"];
    for name in names {
        let log = format!("{name}.log");
        let running = place.start_traced(name, &[&program, ROUNDS, &log]);
        has_done(&folder, name, 3);
        checkpoint_of(running.pid(), &folder.join(name), &["--kill"]).well();
    }
    let strobe = strobe();
    // Its contents come back at a rate that takes minutes.
    let mut slow = strobe.command();
    slow.args(["softgpu", "--link-rate", "50K", "--"]);
    slow.arg(strobe.path()).args(["restore", "--wait"]);
    slow.arg(folder.join("slow")).process_group(0);
    let mut slow = slow.stderr(Stdio::piped()).spawn().expect("strobe starts");
    wait_until("CRIU of the slow one", || {
        let below = process::tree(slow.id()).ok()?;
        let is_criu = |pid: &u32| {
            let line = process::command_line(*pid).unwrap_or_default();
            line.iter().any(|word| word == "--restore-sibling")
        };
        below.iter().any(is_criu).then_some(())
    });
    let others = &names[1..];
    thread::scope(|scope| {
        let restored = others
            .iter()
            .map(|name| (name, scope.spawn(|| restore(&folder.join(name)))));
        for (name, thread) in restored.collect::<Vec<_>>() {
            let ended = thread.join().expect("no panic").well();
            assert!(
                !ended.stderr.contains("waiting"),
                "{name}: {}",
                ended.stderr
            );
        }
    });
    for name in others {
        let log = log(&folder, name);
        assert!(
            log.ends_with(&format!("end rounds {ROUNDS}\n")),
            "{name}: {log}"
        );
    }
    let ended_first = slow.try_wait().expect("our child").is_some();
    if !ended_first {
        kill(Pid::from_raw(-slow.id().cast_signed()), Signal::SIGINT).expect("it is there");
    }
    let ended = Ended::new(&slow.wait_with_output().expect("it ends"));
    assert!(!ended_first, "the slow one was not the last: {ended:?}");
    assert!(
        ended.stderr.contains("does not come back"),
        "it was not slow: {ended:?}"
    );
    restore(&folder.join("slow")).well();
    assert_eq!(log(&folder, "slow"), log(&folder, "a"));
}
