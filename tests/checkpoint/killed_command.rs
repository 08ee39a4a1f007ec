//! The command killed with SIGKILL, alone or together with CRIU, at any hook and phase: CRIU does not go on for
//! nobody, no program comes to life in part, and what the command has changed is undone.

use std::fs;
use std::path::Path;

use strobe_evaluation::{Session, session};
use strobe_program::process;

use crate::harness::environment::{Environment, wait_until};
use crate::harness::lethal::Lethal;
use crate::harness::{Folder, LIMIT, checkpoint, guard_of, hip_program, restore, start, verify};

const ROUNDS: &str = "1000000";

/// Hooks of our plugin, and what CRIU does before, between and after them: in CRIU itself, or in a process that
/// comes back.
const OF_A_RESTORE: [&str; 20] = [
    "openat,before,1",
    "openat,before,40",
    "init,before,1",
    "init,after,1",
    "clone3,before,1",
    "clone3,after,1",
    // Seizes the first process; the others are not made yet, or wait.
    "ptrace,before,1",
    "ptrace,after,1",
    "restore_file,before,1",
    "restore_file,after,1",
    "restore,after,1",
    "update_vma_map,after,1",
    // All are there, and are seized one after the other.
    "ptrace,before,2",
    "ptrace,before,5",
    "ptrace,before,20",
    "resume_devices_late,before,1",
    "resume,after,1",
    // Threads are let go one after the other.
    "detach,before,1",
    "detach,after,2",
    "exit,after,1",
];

/// A checkpoint of a program that was killed.
struct Saved {
    folder: Folder,
    /// All its processes.
    pids: Vec<u32>,
    log: Vec<u8>,
}

impl Saved {
    fn new(name: &str, source: &str) -> Self {
        let folder = Folder::new(name);
        let program = hip_program(source);
        let mut session = start(&folder, &[&program, ROUNDS, "log"]);
        session
            .wait_for("log", "round 1 ", LIMIT)
            .expect("it works");
        checkpoint(&session, &folder.join("images"), &[]).well();
        // What comes now is cut off by a restore, and has to be there again after one that fails.
        let rounds = fs::read_to_string(folder.join("log"))
            .expect("its log")
            .lines()
            .count();
        let more = format!("round {} ", rounds + 2);
        session.wait_for("log", &more, LIMIT).expect("it goes on");
        let pids = process::tree(session.pid()).expect("it runs");
        session.kill().expect("it dies");
        for pid in &pids {
            wait_until("end of all", || (!process::exists(*pid)).then_some(()));
        }
        let log = fs::read(folder.join("log")).expect("its log");
        Self { folder, pids, log }
    }

    fn images(&self) -> std::path::PathBuf {
        self.folder.join("images")
    }

    /// Runs a restore that is killed as `plan` says, on a device that stays; whether the program runs.
    fn restore_killed(&self, plan: &str) -> bool {
        let lethal = Lethal::new(&self.folder, plan);
        let mut environment = Environment::new(&self.folder, &[]);
        let strobe = crate::harness::strobe();
        let strobe = strobe.path().display().to_string();
        let images = self.images().display().to_string();
        let name = format!("restore-{}", plan.replace(',', "-"));
        let command = [
            "env",
            &lethal.variable(),
            &strobe,
            "restore",
            "--wait",
            &images,
        ];
        let command = environment.start(&name, &command);
        assert_eq!(command.code(), 137, "{plan}: {}", command.output());
        wait_until("end of what puts it in order", || {
            work_folders(command.pid()).is_empty().then_some(())
        });
        let alive = |pid: &&u32| process::stat(**pid).is_ok_and(|stat| !stat.is_dead());
        let runs = self.pids.iter().filter(alive).count();
        assert!(
            runs == 0 || runs == self.pids.len(),
            "{plan}: {runs} of {} processes run",
            self.pids.len()
        );
        if runs > 0 {
            let rounds = || fs::read(self.folder.join("log")).map_or(0, |log| log.len());
            let before = rounds();
            wait_until("next round", || (rounds() > before).then_some(()));
        } else {
            let log = fs::read(self.folder.join("log")).expect("its log");
            assert!(log == self.log, "{plan}: another log");
            assert_eq!(kept(self.folder.path()), [""; 0], "{plan}: left behind");
        }
        runs > 0
    }

    fn ends_right(&self) {
        verify(&self.images()).well();
        let rounds = self.folder.rounds_enough();
        restore(&self.images()).well();
        let log = fs::read_to_string(self.folder.join("log")).expect("its log");
        let said = log
            .lines()
            .filter(|line| line.starts_with("round "))
            .count();
        assert!(
            said >= rounds - 1 && log.lines().last().is_some_and(|l| l.starts_with("end")),
            "{log}"
        );
    }
}

/// The folders in which the CRIU of a command works.
fn work_folders(command: u32) -> Vec<String> {
    names(&std::env::temp_dir(), |name| {
        name.starts_with(&format!("strobe-criu-{command}-"))
    })
}

/// What a restore keeps beside a program's files.
fn kept(folder: &Path) -> Vec<String> {
    names(folder, |name| name.contains(".strobe-"))
}

fn names(folder: &Path, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let names = names.filter_map(|name| name.into_string().ok());
    names.filter(|name| wanted(name)).collect()
}

/// At each point one whose command is killed, and one that is killed with CRIU.
fn a_restore_leaves_nothing(name: &str, source: &str, points: &[&str]) {
    let saved = Saved::new(name, source);
    for point in points {
        for who in ["COMMAND", "BOTH"] {
            // A CRIU that is killed itself between two threads that it lets go takes those with it that have run.
            let has_begun = point.starts_with("detach,after");
            if has_begun && who == "BOTH" {
                continue;
            }
            let runs = saved.restore_killed(&format!("{point},{who}"));
            // CRIU may be faster than the end of the command.
            let may_run = who == "COMMAND" || point.starts_with("exit");
            assert!(!runs || may_run, "{point},{who}: it runs");
            assert!(runs || !has_begun, "{point},{who}: it has run");
            if runs {
                saved.put_back();
            }
        }
    }
    saved.ends_right();
}

impl Saved {
    /// The files as they were before it came back.
    fn put_back(&self) {
        for pid in &self.pids {
            let _ = session::signal(*pid, "KILL");
            wait_until("end of all", || (!process::exists(*pid)).then_some(()));
        }
        for name in kept(self.folder.path()) {
            fs::remove_file(self.folder.join(&name)).expect("it is there");
        }
        fs::write(self.folder.join("log"), &self.log).expect("our folder");
    }
}

#[test]
fn a_restore_whose_command_is_killed_leaves_nothing_and_another_succeeds() {
    a_restore_leaves_nothing("killed-restorer", "mixed.cpp", &OF_A_RESTORE);
}

#[test]
fn a_restore_of_several_processes_leaves_none_of_them() {
    a_restore_leaves_nothing("killed-restorer-tree", "family.cpp", &OF_A_RESTORE);
}

/// Nobody is left that would know of the process which waits for CRIU, but the next restore.
#[test]
fn what_waits_for_a_restore_of_which_all_is_dead_goes_with_the_next() {
    let saved = Saved::new("killed-restorer-guard", "family.cpp");
    // All are made, and the first alone is seized.
    let lethal = Lethal::new(&saved.folder, "ptrace,before,2,STOP");
    let mut environment = Environment::new(&saved.folder, &[]);
    let strobe = crate::harness::strobe();
    let strobe = strobe.path().display().to_string();
    let images = saved.images().display().to_string();
    let command = ["env", &lethal.variable(), &strobe, "restore", &images];
    let command = environment.start("restore", &command);
    let is_below = |pid: &u32| process::stat(*pid).is_ok_and(|stat| stat.parent == command.pid());
    wait_until("CRIU that stops", || {
        let mut below = process::all().ok()?.into_iter().filter(is_below);
        let stopped = |pid: u32| process::stat(pid).is_ok_and(|stat| stat.state == 'T');
        below.any(stopped).then_some(())
    });
    let guard = guard_of(command.pid());
    for pid in [guard, command.pid()] {
        session::signal(pid, "KILL").expect("it is there");
    }
    wait_until("end of the first", || {
        (!session::is_alive(saved.pids[0])).then_some(())
    });
    // The second waits for CRIU still, unless somebody else's command has cleared up.
    saved.ends_right();
    assert_eq!(work_folders(command.pid()), [""; 0], "left behind");
}

/// Hooks of our plugin, and what CRIU does before, between and after them.
const OF_A_DUMP: [&str; 17] = [
    "openat,before,1",
    "init,after,1",
    "pause_devices,before,1",
    "pause_devices,after,1",
    // Threads are seized, and one after the other runs CRIU's code.
    "wait4,before,2",
    "checkpoint_devices,before,1",
    "checkpoint_devices,after,1",
    "handle_device_vma,after,1",
    "dump_file,before,1",
    "dump_file,after,2",
    "process_info,before,1",
    "process_info,after,1",
    "checkpoint,before,1",
    "checkpoint,after,1",
    "unpause,before,2",
    "unpause,after,2",
    "exit,after,1",
];

/// A program that is saved, and whose commands are killed.
struct Working {
    folder: Folder,
    session: Session,
    descriptors: usize,
}

impl Working {
    fn new(name: &str, program: &[&str]) -> Self {
        let folder = Folder::new(name);
        let mut session = start(&folder, program);
        session.wait_for("log", "round 1", LIMIT).expect("it works");
        // What the agent opens at the first stays open.
        let images = folder.join("first");
        checkpoint(&session, &images, OPTIONS).well();
        let descriptors = descriptors(session.pid());
        Self {
            folder,
            session,
            descriptors,
        }
    }

    /// It computes further, with what it had open; nobody has it in hand.
    #[track_caller]
    fn goes_on(&mut self, plan: &str) {
        let log = fs::read_to_string(self.folder.join("log")).expect("its log");
        let next = format!("round {}", log.lines().count() + 2);
        let works = self.session.wait_for("log", &next, LIMIT);
        works.unwrap_or_else(|error| panic!("{plan}: it stands still: {error}"));
        for pid in process::tree(self.session.pid()).expect("it runs") {
            assert_eq!(process::tracer(pid), None, "{plan}: {pid} is traced");
            let stat = process::stat(pid).expect("it runs");
            assert!(!stat.is_stopped(), "{plan}: {pid} is stopped");
        }
        // The agent may have had its own at the first look.
        let now = wait_until("end of descriptors that were left", || {
            let now = descriptors(self.session.pid());
            (now <= self.descriptors).then_some(now)
        });
        self.descriptors = now;
    }

    /// A checkpoint whose command, or CRIU, or both are killed; nothing of either is left, and another succeeds.
    fn killed(&mut self, plan: &str, options: &[&str]) {
        let lethal = Lethal::new(&self.folder, plan);
        let images = self.folder.join("killed");
        let mut command = crate::harness::strobe().command();
        lethal.is_used_by(&mut command);
        let pid = self.session.pid().to_string();
        command
            .args(["checkpoint", &pid, "-o"])
            .arg(&images)
            .args(options);
        let ended = command.output().expect("strobe starts");
        assert!(!ended.status.success(), "{plan}: nobody was killed");
        assert!(!images.exists(), "{plan}: a checkpoint of the dead");
        wait_until("end of what puts it in order", || {
            let staged = names(self.folder.path(), |name| name.contains(".staging-"));
            staged.is_empty().then_some(())
        });
        self.goes_on(plan);
        let links = names(self.folder.path(), |name| name.starts_with("link_remap."));
        assert_eq!(links, [""; 0], "{plan}: left behind");
    }

    fn comes_back(self) {
        let Self {
            folder, session, ..
        } = self;
        let images = folder.join("last");
        checkpoint(&session, &images, OPTIONS).well();
        session.kill().expect("it dies");
        let rounds = folder.rounds_enough();
        restore(&images).well();
        let log = fs::read_to_string(folder.join("log")).expect("its log");
        let said = log
            .lines()
            .filter(|line| line.starts_with("round "))
            .count();
        assert!(
            said == rounds
                && log
                    .lines()
                    .last()
                    .is_some_and(|line| line.starts_with("end")),
            "{log}"
        );
    }
}

const OPTIONS: &[&str] = &["--tcp", "established"];

fn descriptors(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd"))
        .expect("it runs")
        .count()
}

#[test]
fn a_checkpoint_whose_command_is_killed_leaves_a_program_that_goes_on() {
    let program = hip_program("mixed.cpp");
    let mut working = Working::new("killed-command", &[&program, ROUNDS, "log"]);
    let first = working.folder.join("first").display().to_string();
    let modes = [
        &["--mode", "cow"][..],
        &["--mode", "stop"],
        &["--kill"],
        &["--base", &first],
    ];
    for (number, point) in OF_A_DUMP.iter().enumerate() {
        for who in ["COMMAND", "BOTH"] {
            working.killed(&format!("{point},{who}"), modes[number % modes.len()]);
        }
    }
    working.comes_back();
}

/// Whose connections CRIU has locked and taken in repair.
#[test]
fn connections_go_on_whoever_of_their_checkpoint_was_killed() {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/pairs.py");
    let mut working = Working::new(
        "killed-locked",
        &["python3", program, ROUNDS, "connected", "linked"],
    );
    // In CRIU's order: files, memory, and what is left of the processes.
    for point in [
        "checkpoint,after,1",
        "tcp,before,1",
        "tcp,after,1",
        "pages,after,1",
        "pstree,after,1",
    ] {
        for who in ["KILL", "COMMAND", "BOTH"] {
            working.killed(&format!("{point},{who}"), OPTIONS);
        }
    }
    working.comes_back();
}
