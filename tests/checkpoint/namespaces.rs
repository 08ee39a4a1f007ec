//! Programs in namespaces of their own, with commands given from outside.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use strobe_program::process;

use crate::harness::environment::{number_of, wait_until};
use crate::harness::{Ended, Folder, LIMIT, checkpoint, hip_program, run, start, strobe, verify};

const ROUNDS: &str = "200";
/// Processes, mounts, inter-process communication and host name.
const OWN: [&str; 4] = ["unshare", "-pfiu", "--mount-proc", "--kill-child"];

/// `strobe ...` on a software GPU, in namespaces of its own.
fn inside(folder: &Folder) -> Command {
    let strobe = strobe();
    let mut command = strobe.command();
    command.args(["softgpu", "--"]).args(OWN);
    command.arg(strobe.path()).current_dir(folder.path());
    // A file would be of the mount namespace outside.
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn rounds(log: &Path) -> usize {
    fs::read_to_string(log).unwrap_or_default().lines().count()
}

#[test]
fn a_program_that_has_its_own_numbers_is_saved_from_outside_and_comes_back_among_others() {
    let program = hip_program("mixed.cpp");
    let folder = Folder::new("own-numbers");
    let (log, images) = (folder.join("log"), folder.join("images"));
    let mut command = inside(&folder);
    command.args(["run", "--", &program, ROUNDS, "log"]);
    let child = command.spawn().expect("strobe starts");
    let pid = number_of(&child, &program);
    let (_, number) = process::number_inside(pid).expect("it runs");
    assert_ne!(pid, number, "it has a number of its own");
    wait_until("round", || (rounds(&log) > 5).then_some(()));
    // The number is the program's where it is one, and nowhere else.
    let text = pid.to_string();
    let images_name = images.to_str().expect("a path in UTF-8");
    let arguments = [
        "checkpoint",
        "--criu-timeout",
        &text,
        &text,
        "--json",
        "-o",
        images_name,
    ];
    let taken = run(arguments).well();
    let report: serde_json::Value = serde_json::from_str(&taken.stdout).expect("JSON");
    assert_eq!(report["pid"], number);
    verify(&images).well();
    run([
        "graph".as_ref(),
        pid.to_string().as_ref(),
        "--json".as_ref(),
    ] as [&std::ffi::OsStr; 3])
    .well();
    let before = rounds(&log);
    wait_until("round after the checkpoint", || {
        (rounds(&log) > before).then_some(())
    });
    strobe_evaluation::session::signal(pid, "KILL").expect("it runs");
    let killed = child.wait_with_output().expect("it was ours");
    assert_eq!(killed.status.code(), Some(137), "{killed:?}");
    let mut command = inside(&folder);
    command.args(["restore", "--wait"]).arg(&images);
    Ended::new(&command.output().expect("strobe starts")).well();
    let log = fs::read_to_string(&log).expect("its log");
    assert_eq!(log.lines().count(), 201, "{log}");
    assert!(log.ends_with(&format!("end rounds {ROUNDS}\n")), "{log}");
}

/// What CRIU would say of it when it has stopped the program is said before, by both commands, with what to do.
#[test]
fn namespaces_that_criu_does_not_save_are_refused_before_the_program_is_stopped() {
    let strobe = strobe();
    let path = strobe.path().to_str().expect("a path in UTF-8");
    let program = hip_program("mixed.cpp");
    let program = [&program, "1000000", "log"];
    let of = |words: &[&'static str]| words.to_vec();
    let run = [path, "run", "--"];
    let unshare = |options: &'static str| of(&["unshare", options, "--mount-proc", "--kill-child"]);
    let cases = [
        (
            [&run[..], &unshare("-pf")].concat(),
            "begun outside of its PID namespace",
        ),
        (
            [unshare("-pfn"), run.to_vec()].concat(),
            "ip link set lo up",
        ),
    ];
    for (number, (words, reason)) in cases.into_iter().enumerate() {
        let folder = Folder::new(&format!("namespaces-{number}"));
        let mut command = strobe.command();
        command.args(["softgpu", "--"]).args(&words).args(program);
        command.current_dir(folder.path()).stdin(Stdio::null());
        let mut child = command.spawn().expect("strobe starts");
        let log = folder.join("log");
        wait_until("round", || (rounds(&log) > 5).then_some(()));
        let pid = number_of(&child, program[0]);
        refused(pid, &folder, reason);
        if number == 0 {
            // The one that has begun the namespace is not in there.
            let outer = process::stat(pid).expect("it runs").parent;
            refused(outer, &folder, "in a PID namespace of its own, and");
        }
        strobe_evaluation::session::signal(pid, "KILL").expect("it runs");
        child.wait().expect("it was ours");
    }
}

/// CRIU refuses some of these in its words when it has stopped the program, some only in a restore, and of some it
/// brings back another program.
#[test]
fn a_child_in_a_namespace_of_its_own_is_refused_by_name_until_it_has_ended() {
    let program = hip_program("mixed.cpp");
    let folder = Folder::new("child-apart");
    // Runs what it is told to, beside the program. (Who opens it before the last writer has closed it reads nothing.)
    let script = "\"$0\" 1000000 log & while :; do read words < told || continue; $words & done";
    let told = folder.join("told");
    nix::unistd::mkfifo(&told, nix::sys::stat::Mode::S_IRWXU).expect("a folder of ours");
    let mut session = start(&folder, &["sh", "-c", script, &program]);
    session
        .wait_for("log", "round 1 ", LIMIT)
        .expect("it works");
    for (options, reason) in [
        ("-m", "is in a mount namespace of its own"),
        ("-n", "is in a network namespace of its own"),
        ("-i", "is in an IPC namespace of its own"),
        ("-u", "is in a UTS namespace of its own"),
        ("-C", "is in a cgroup namespace of its own"),
        ("-U", "is in a user namespace of its own"),
        ("-p", "puts new children in a PID namespace of its own"),
        // By the kernel's age, it or its children.
        ("-T", "in a time namespace of its own"),
    ] {
        fs::write(&told, format!("unshare {options} sleep 1000\n")).expect("it reads");
        let child = wait_until("child", || {
            let mut below = process::tree(session.pid()).ok()?.into_iter();
            below.find(|pid| {
                let line = process::command_line(*pid).unwrap_or_default();
                line.first().is_some_and(|name| name == "sleep")
            })
        });
        refused(session.pid(), &folder, reason);
        strobe_evaluation::session::signal(child, "KILL").expect("it sleeps");
        // The shell waits for none of them.
        wait_until("end", || process::is_ending(child).then_some(()));
    }
    checkpoint(&session, &folder.join("images"), &[]).well();
    session.kill().expect("it runs");
}

fn refused(pid: u32, folder: &Folder, reason: &str) {
    let (pid, images) = (pid.to_string(), folder.join("images"));
    let images = images.to_str().expect("a path in UTF-8");
    let checked = run(["checkpoint", "--check", &pid]);
    assert_eq!(checked.code, Some(3), "{checked:?}");
    assert!(checked.stdout.contains(reason), "{}", checked.stdout);
    let ended = run(["checkpoint", &pid, "-o", images]).badly(&[reason]);
    assert_eq!(ended.code, Some(3));
}
