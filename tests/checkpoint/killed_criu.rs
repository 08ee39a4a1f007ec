//! CRIU killed, crashed or stuck at any point of a dump: its end costs that checkpoint only.
//!
//! The driver remembers that a dump has stopped the program's queues, and each of those who are left
//! lets them run: the command; if it is dead too the agent, where the program may ask the driver; and
//! where it may not, the next checkpoint or `strobe release`.

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use strobe_evaluation::{Session, session};
use strobe_program::process::{self, Identity};

use crate::harness::environment::{Environment, wait_until};
use crate::harness::lethal::Lethal;
use crate::harness::{
    Ended, Folder, LIMIT, checkpoint, guard_of, hip_program, restore, run, start, strobe, verify,
};

/// Wherever our plugin is asked, and what it asks the driver.
const POINTS: [&str; 20] = [
    "init,before,1",
    "init,after,1",
    "pause_devices,before,1",
    "pause_devices,after,1",
    "checkpoint_devices,before,1",
    "checkpoint_devices,after,1",
    "handle_device_vma,before,1",
    "handle_device_vma,after,1",
    // A kfd and a render node, in whatever order.
    "dump_file,before,1",
    "dump_file,after,1",
    "dump_file,before,2",
    "dump_file,after,2",
    "process_info,before,1",
    "process_info,after,1",
    "checkpoint,before,1",
    "checkpoint,after,1",
    // The first looks whether an earlier dump has left them stopped.
    "unpause,before,2",
    "unpause,after,2",
    "exit,before,1",
    "exit,after,1",
];
/// Where it is asked in a restore, here or in the process that comes back. At its end the program runs
/// already.
const RESTORE_POINTS: [&str; 7] = [
    "init,after,1",
    "restore_file,before,1",
    "restore_file,after,1",
    "restore,after,1",
    "update_vma_map,after,1",
    "resume_devices_late,before,1",
    "resume,after,1",
];
/// Until it is told that they are enough.
const ROUNDS: &str = "1000000";
/// Without the capabilities that the driver asks for.
const UNPRIVILEGED: [&str; 3] = [
    "setpriv",
    "--bounding-set=-sys_admin,-checkpoint_restore",
    "--inh-caps=-sys_admin,-checkpoint_restore",
];

fn rounds(folder: &Folder) -> usize {
    let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
    log.lines().count()
}

/// The program computes further; it ends at a wrong result. Its log is in this folder, wherever a
/// restore has its output.
#[track_caller]
fn goes_on(session: &mut Session, folder: &Folder, what: &str) {
    let next = format!("round {} ", rounds(folder) + 2);
    let log = folder.join("log");
    session
        .wait_for(log.to_str().expect("UTF-8"), &next, LIMIT)
        .unwrap_or_else(|error| panic!("{what}: the program stands still: {error}"));
}

fn ends_right(folder: &Folder, rounds: usize) {
    let log = fs::read_to_string(folder.join("log")).expect("its log");
    assert!(log.ends_with(&format!("end rounds {rounds}\n")), "{log}");
}

/// `strobe checkpoint` with a CRIU that does as `plan` says.
fn begin(session: &Session, images: &Path, lethal: &Lethal, options: &[&str]) -> Child {
    let mut command = strobe().command();
    lethal.is_used_by(&mut command);
    command
        .arg("checkpoint")
        .arg(session.pid().to_string())
        .arg("-o")
        .arg(images)
        .args(options)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("strobe starts")
}

fn works(folder: &Folder, program: &[&str]) -> Session {
    let mut session = start(folder, program);
    session
        .wait_for("log", "round 1 ", LIMIT)
        .expect("it works");
    session
}

#[test]
fn a_killed_criu_costs_that_checkpoint_and_nothing_else() {
    let program = hip_program("mixed.cpp");
    let folder = Folder::new("killed-criu");
    let mut session = works(&folder, &[&program, ROUNDS, "log"]);
    let mut last = folder.join("none");
    for point in POINTS {
        let lethal = Lethal::new(&folder, &format!("{point},KILL"));
        let images = folder.join("killed");
        let output = begin(&session, &images, &lethal, &[]).wait_with_output();
        let ended = Ended::new(&output.expect("it ends"));
        assert!(
            ended.stderr.contains("ended by signal 9"),
            "{point}: {ended:?}"
        );
        ended.badly(&[]);
        assert!(!images.exists(), "{point}: a checkpoint of a dead CRIU");
        goes_on(&mut session, &folder, point);
        last = folder.join(&format!("after-{point}"));
        checkpoint(&session, &last, &[]).well();
        goes_on(&mut session, &folder, point);
    }
    let rounds = folder.rounds_enough();
    let status = session.wait(LIMIT).expect("it ends");
    assert!(status.success(), "{status}");
    ends_right(&folder, rounds);
    // One that was taken when CRIU had died in the program many times.
    restore(&last).well();
    ends_right(&folder, rounds);
}

#[test]
fn a_criu_that_is_stuck_is_killed_and_the_program_goes_on() {
    let folder = Folder::new("stuck-criu");
    let program = hip_program("mixed.cpp");
    let mut session = works(&folder, &[&program, ROUNDS, "log"]);
    for point in [
        "pause_devices,after,1",
        "dump_file,after,1",
        "exit,before,1",
    ] {
        let lethal = Lethal::new(&folder, &format!("{point},STOP"));
        let images = folder.join("images");
        let options = ["--criu-timeout", "3", "--drain-timeout", "1"];
        let output = begin(&session, &images, &lethal, &options).wait_with_output();
        Ended::new(&output.expect("it ends")).badly(&["CRIU did not finish within 6 s"]);
        assert!(!images.exists(), "{point}: a checkpoint of a dead CRIU");
        goes_on(&mut session, &folder, point);
    }
    checkpoint(&session, &folder.join("last"), &[]).well();
    goes_on(&mut session, &folder, "the next checkpoint");
}

/// CRIU sees no end of a program whose threads it has; so it holds up whoever waits for the program, too.
#[test]
fn a_program_that_is_killed_in_criu_s_hands_holds_nobody_up() {
    let folder = Folder::new("killed-in-hands");
    let program = hip_program("mixed.cpp");
    let session = works(&folder, &[&program, ROUNDS, "log"]);
    let images = folder.join("images");
    let lethal = Lethal::new(&folder, "dump_file,after,2,STOP");
    let forever = ["--criu-timeout", "3600"];
    let command = begin(&session, &images, &lethal, &forever);
    wait_until("CRIU that stops", || {
        let criu = process::tracer(session.pid())?;
        (process::stat(criu).ok()?.state == 'T').then_some(())
    });
    session.kill().expect("its parent hears of its end");
    let output = command.wait_with_output().expect("it ends");
    Ended::new(&output).badly(&["has ended during the checkpoint"]);
    assert!(!images.exists(), "a checkpoint of a dead program");
}

/// Kills the command, its guard and CRIU where the queues are stopped.
fn kill_both(session: &Session, folder: &Folder) {
    let lethal = Lethal::new(folder, "dump_file,after,2,STOP");
    let mut command = begin(session, &folder.join("killed"), &lethal, &[]);
    let criu = wait_until("CRIU that stops", || {
        if let Some(status) = command.try_wait().expect("it is ours") {
            let mut said = String::new();
            let mut stderr = command.stderr.take().expect("it is piped");
            stderr.read_to_string(&mut said).expect("it can be read");
            panic!("{status}: {said}");
        }
        let criu = Identity::of(process::tracer(session.pid())?).ok()?;
        let stat = process::stat(criu.pid).ok()?;
        (stat.state == 'T').then_some(criu)
    });
    // CRIU first, while the command cannot see it: a stopped process whose parent dies is let go on by the
    // kernel, and where hang-ups are ignored it would run to another moment.
    session::signal(command.id(), "STOP").expect("it runs");
    session::signal(guard_of(command.id()), "KILL").expect("it is there");
    session::signal(criu.pid, "KILL").expect("it is there");
    wait_until("end of CRIU", || (!criu.is_alive()).then_some(()));
    command.kill().expect("it is there");
    command.wait().expect("it ends");
}

#[test]
fn when_command_and_criu_are_killed_the_agent_lets_the_queues_run() {
    let folder = Folder::new("both-killed");
    let program = hip_program("mixed.cpp");
    let mut session = works(&folder, &[&program, ROUNDS, "log"]);
    kill_both(&session, &folder);
    goes_on(&mut session, &folder, "both killed");
    let images = folder.join("next");
    checkpoint(&session, &images, &[]).well();
    goes_on(&mut session, &folder, "the next checkpoint");
    session.kill().expect("it dies");

    // What came back is whole since its restore has ended: the end of a dump is not taken for that of
    // its restore.
    let output = Folder::new("both-killed-output");
    let mut session =
        Session::restore(&strobe(), &[], &images, output.path(), LIMIT).expect("it comes back");
    goes_on(&mut session, &folder, "restored");
    kill_both(&session, &folder);
    goes_on(&mut session, &folder, "both killed after a restore");
}

#[test]
fn a_program_without_privileges_goes_on_by_release_or_by_the_next_checkpoint() {
    let folder = Folder::new("both-killed-unprivileged");
    let program = hip_program("mixed.cpp");
    let mut session = works(
        &folder,
        &[&UNPRIVILEGED[..], &[&program, ROUNDS, "log"]].concat(),
    );
    let pid = session.pid().to_string();
    let idle = run(["release", &pid]).well();
    assert_eq!(
        idle.stdout,
        format!("the queues of {pid} were not stopped\n")
    );
    goes_on(&mut session, &folder, "released for nothing");

    let stands = || {
        sleep(Duration::from_millis(200));
        let before = rounds(&folder);
        sleep(Duration::from_secs(1));
        assert_eq!(rounds(&folder), before, "its queues were not stopped");
    };
    kill_both(&session, &folder);
    stands();
    let freed = run(["release", &pid]).well();
    assert!(freed.stderr.contains("run again"), "{freed:?}");
    goes_on(&mut session, &folder, "released");

    kill_both(&session, &folder);
    stands();
    let images = folder.join("next");
    checkpoint(&session, &images, &[]).well();
    goes_on(&mut session, &folder, "the next checkpoint");
}

#[test]
fn a_killed_restore_leaves_no_program_and_another_succeeds() {
    let folder = Folder::new("killed-restore");
    let program = hip_program("mixed.cpp");
    let mut session = works(&folder, &[&program, ROUNDS, "log"]);
    let images = folder.join("images");
    checkpoint(&session, &images, &[]).well();
    goes_on(&mut session, &folder, "the checkpoint");
    let pid = session.pid();
    session.kill().expect("it dies");
    let rounds = folder.rounds_enough();
    let before = fs::read(folder.join("log")).expect("the log");
    for point in RESTORE_POINTS {
        let lethal = Lethal::new(&folder, &format!("{point},KILL"));
        let strobe = strobe();
        let mut command = strobe.command();
        lethal.is_used_by(&mut command);
        command.args(["softgpu", "--"]).arg(strobe.path());
        command.args(["restore", "--wait"]).arg(&images);
        let ended = Ended::new(&command.output().expect("strobe starts"));
        assert!(
            !session::is_alive(pid),
            "{point}: a program that came back in part runs"
        );
        if point.starts_with("resume") && ended.stderr.contains("its tail is in") {
            // It ran for a moment before it was ended, and wrote: nothing of either is thrown away.
            assert!(matches!(ended.code, Some(1 | 3)), "{point}: {ended:?}");
            let grown = fs::read(folder.join("log")).expect("the log");
            let kept_aside = fs::read(tail(&folder)).expect("the tail of the log");
            assert!(before.ends_with(&kept_aside), "{point}: another tail");
            let kept = &before[..before.len() - kept_aside.len()];
            assert!(grown.starts_with(kept), "{point}: another log");
            fs::write(folder.join("log"), &before).expect("the log put back");
            fs::remove_file(tail(&folder)).expect("the tail is there");
        } else {
            ended.badly(&[]);
        }
        let log = fs::read(folder.join("log")).expect("the log");
        assert_eq!(log, before, "{point}: the log was not put forward again");
        verify(&images).well();
    }
    restore(&images).well();
    ends_right(&folder, rounds);
}

#[test]
fn an_interrupted_restore_leaves_no_program_and_another_succeeds() {
    let folder = Folder::new("interrupted-restore");
    let program = hip_program("mixed.cpp");
    let mut session = works(&folder, &[&program, ROUNDS, "log"]);
    let images = folder.join("images");
    checkpoint(&session, &images, &[]).well();
    goes_on(&mut session, &folder, "the checkpoint");
    let pid = session.pid();
    session.kill().expect("it dies");
    let rounds = folder.rounds_enough();
    let before = fs::read(folder.join("log")).expect("the log");
    let mut interrupted = 0;
    // From the first moment of CRIU to the last, wherever those are on this machine.
    for wait in (0..400).step_by(40) {
        let strobe = strobe();
        let mut command = strobe.command();
        command.args(["softgpu", "--"]).arg(strobe.path());
        command.args(["restore", "--wait"]).arg(&images);
        command.process_group(0).stderr(Stdio::piped());
        let command = command.spawn().expect("strobe starts");
        sleep(Duration::from_millis(wait));
        let group = Pid::from_raw(-command.id().cast_signed());
        kill(group, Signal::SIGINT).expect("it is there");
        let ended = command.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(!ended.status.success(), "{wait} ms: {said}");
        assert!(!session::is_alive(pid), "{wait} ms: a program runs: {said}");
        if said.contains("the program does not come back") {
            interrupted += 1;
        }
        // It ran: told to end once it was back, or for a moment before CRIU was ended; what it had
        // written before lies beside what it wrote then.
        let ran = said.contains("restored") || said.contains("its tail is in");
        if ran {
            let kept = fs::read(tail(&folder)).expect("the tail of the log");
            assert!(before.ends_with(&kept), "{wait} ms: another tail");
            fs::remove_file(tail(&folder)).expect("the tail is there");
            fs::write(folder.join("log"), &before).expect("the log put back");
        } else {
            let log = fs::read(folder.join("log")).expect("the log");
            assert_eq!(log, before, "{wait} ms: the log has changed: {said}");
        }
    }
    assert!(interrupted > 0, "none was interrupted");
    verify(&images).well();
    restore(&images).well();
    ends_right(&folder, rounds);
}

#[test]
fn nothing_runs_that_came_back_in_part_when_everybody_else_is_dead() {
    let folder = Folder::new("restore-both-killed");
    let program = hip_program("mixed.cpp");
    let session = works(&folder, &[&program, ROUNDS, "log"]);
    let images = folder.join("images");
    checkpoint(&session, &images, &[]).well();
    let pid = session.pid();
    session.kill().expect("it dies");
    let before = rounds(&folder);
    // The program is all there but for its queues, which the hook would start.
    let lethal = Lethal::new(&folder, "resume_devices_late,before,1,STOP");
    // The device stays: without one nothing would run, whoever lets it.
    let mut environment = Environment::new(&folder, &[]);
    let (strobe, images) = (strobe(), images.display().to_string());
    let strobe = strobe.path().display().to_string();
    let command = [
        "env",
        &lethal.variable(),
        &strobe,
        "restore",
        "--wait",
        &images,
    ];
    let command = environment.start("restore", &command);
    let criu = wait_until("CRIU that stops", || {
        let criu = Identity::of(process::tracer(pid)?).ok()?;
        let stat = process::stat(criu.pid).ok()?;
        (stat.state == 'T').then_some(criu)
    });
    let tree = process::tree(command.pid()).expect("its processes");
    let others = || tree.iter().filter(|id| ![pid, criu.pid].contains(id));
    // Nobody has the time to do anything about it. (Were the others to die first, the kernel would let
    // CRIU go on, as one of a group that nobody is there to continue.)
    for &id in others() {
        session::signal(id, "STOP").expect("it is there");
    }
    session::signal(criu.pid, "KILL").expect("it is there");
    for &id in others() {
        // Some end with those before them.
        let _ = session::signal(id, "KILL");
    }
    wait_until("end of what came back", || {
        (!session::is_alive(pid)).then_some(())
    });
    // It may have come to its next call of HIP, not beyond it.
    let after = rounds(&folder);
    assert!(after <= before + 1, "{} rounds in part", after - before);
}

/// The tail that a restore keeps of the log.
fn tail(folder: &Folder) -> PathBuf {
    let mut paths = fs::read_dir(folder.path())
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path());
    let is_tail = |path: &PathBuf| path.to_string_lossy().contains("log.strobe-tail-");
    paths.find(is_tail).expect("a tail")
}

/// Staging directories in a folder.
fn staged(folder: &Folder) -> Vec<String> {
    let names = fs::read_dir(folder.path()).expect("the folder");
    names
        .map(|entry| entry.expect("an entry").file_name())
        .filter_map(|name| name.into_string().ok())
        .filter(|name| name.contains("staging"))
        .collect()
}

/// The CRIU of a command, which was told to stop somewhere.
fn stopped_criu(command: &Child) -> u32 {
    wait_until("CRIU that stops", || {
        let stopped = |pid: &u32| process::stat(*pid).is_ok_and(|stat| stat.state == 'T');
        let is_child =
            |pid: &u32| process::stat(*pid).is_ok_and(|stat| stat.parent == command.id());
        let mut pids = process::all().ok()?.into_iter();
        pids.find(|pid| is_child(pid) && stopped(pid))
    })
}

#[test]
fn an_interrupted_command_leaves_nothing_and_a_program_that_runs() {
    let folder = Folder::new("interrupted");
    let program = hip_program("mixed.cpp");
    let mut session = works(&folder, &[&program, ROUNDS, "log"]);
    let images = folder.join("images");
    for (turn, point) in ["pause_devices,after,1", "dump_file,after,2", "exit,after,1"]
        .into_iter()
        .cycle()
        .take(6)
        .enumerate()
    {
        // CRIU stops there until the command has been interrupted.
        let lethal = Lethal::new(&folder, &format!("{point},STOP"));
        let command = begin(&session, &images, &lethal, &[]);
        let criu = stopped_criu(&command);
        let signal = ["INT", "TERM", "HUP"][turn % 3];
        session::signal(command.id(), signal).expect("it runs");
        let output = command.wait_with_output().expect("it ends");
        let ended = Ended::new(&output);
        assert_eq!(ended.stderr, "strobe: interrupted; the program goes on\n");
        assert!(matches!(ended.code, Some(129 | 130 | 143)), "{ended:?}");
        assert_eq!(staged(&folder), [""; 0], "{point}: left behind");
        assert!(!images.exists(), "{point}: a checkpoint nobody finished");
        session::signal(criu, "CONT").expect("it is stopped");
        wait_until("end of CRIU", || (!session::is_alive(criu)).then_some(()));
        goes_on(&mut session, &folder, point);
    }
    checkpoint(&session, &images, &[]).well();
    goes_on(&mut session, &folder, "the next checkpoint");
}

/// With --kill the program is held at its cut until the command has committed. The command may never
/// come to that.
#[test]
fn a_program_that_is_held_for_a_command_that_dies_goes_on() {
    let folder = Folder::new("held-for-nobody");
    let mut session = works(&folder, &[&hip_program("mixed.cpp"), ROUNDS, "log"]);
    let images = folder.join("images");
    let lethal = Lethal::new(&folder, "checkpoint,after,1,STOP");
    let mut command = begin(&session, &images, &lethal, &["--kill"]);
    let criu = stopped_criu(&command);
    session::signal(command.id(), "STOP").expect("it runs");
    session::signal(criu, "CONT").expect("it is stopped");
    // Longer than any dump of it takes.
    let held_at = wait_until("program that is held", || {
        let before = rounds(&folder);
        sleep(Duration::from_secs(3));
        (rounds(&folder) == before).then_some(before)
    });
    session::signal(command.id(), "KILL").expect("it is stopped");
    command.wait().expect("it ends");
    goes_on(&mut session, &folder, "held");
    assert!(rounds(&folder) > held_at);
    assert!(!images.exists(), "a checkpoint nobody finished");
    checkpoint(&session, &images, &["--kill"]).well();
    session.wait(LIMIT).expect("it was killed");
    let rounds = folder.rounds_enough();
    restore(&images).well();
    ends_right(&folder, rounds);
}

/// Somebody makes the directory meanwhile: nothing can be renamed to it.
#[test]
fn a_program_that_is_held_for_a_commit_that_fails_goes_on() {
    let folder = Folder::new("held-in-vain");
    let mut session = works(&folder, &[&hip_program("mixed.cpp"), ROUNDS, "log"]);
    let images = folder.join("images");
    let lethal = Lethal::new(&folder, "checkpoint,after,1,STOP");
    let command = begin(&session, &images, &lethal, &["--kill"]);
    let criu = stopped_criu(&command);
    fs::create_dir(&images).expect("it is not there yet");
    fs::write(images.join("theirs"), "theirs").expect("our folder");
    session::signal(criu, "CONT").expect("it is stopped");
    let output = command.wait_with_output().expect("it ends");
    Ended::new(&output).badly(&["images"]);
    assert_eq!(staged(&folder), [""; 0], "left behind");
    assert!(images.join("theirs").exists(), "somebody else's");
    goes_on(&mut session, &folder, "held in vain");
    let images = folder.join("again");
    checkpoint(&session, &images, &["--kill"]).well();
    session.wait(LIMIT).expect("it was killed");
    let rounds = folder.rounds_enough();
    restore(&images).well();
    ends_right(&folder, rounds);
}
