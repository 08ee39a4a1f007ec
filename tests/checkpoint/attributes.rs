//! What threads and processes have besides their memory and files: on which CPUs and with which priorities they run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use strobe_evaluation::Session;

use crate::harness::{Ended, Folder, LIMIT, checkpoint, hip_program, run, start, strobe};

/// Rounds that no program makes; `Folder::rounds_enough` ends it.
const MANY: &str = "1000000";

/// What each thread of a process has, in the words of the kernel and of ionice(1).
fn of_threads(pid: u32) -> BTreeMap<u32, [String; 3]> {
    let mut all = BTreeMap::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task")).expect("it runs") {
        let name = thread.expect("an entry").file_name();
        let thread = name.to_str().expect("a number").to_owned();
        let read = |name: &str| fs::read_to_string(format!("/proc/{thread}/{name}"));
        let status = read("status").expect("its status");
        let mut lines = status.lines();
        let cpus = lines.find(|line| line.starts_with("Cpus_allowed_list:"));
        let slack = read("timerslack_ns").expect("its timer slack");
        let priority = ended("ionice", &["-p", &thread]);
        let facts = [cpus.expect("its CPUs").to_owned(), slack, priority];
        all.insert(thread.parse().expect("a number"), facts);
    }
    all
}

fn ended(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    Ended::new(&output.expect("it starts")).well().stdout
}

fn coredump_filter(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/coredump_filter")).expect("it runs")
}

/// A program that is bound to the first CPU, with a thread that is bound to the second, and one to none.
fn bound(folder: &Folder) -> Session {
    let front = ["taskset", "-c", "0", "ionice", "-c", "2", "-n", "3"];
    let program = hip_program("mixed.cpp");
    let whole = ["setarch", "-R", "--whole-seconds"];
    let program = [&whole[..], &front, &[&program, MANY, "log"]].concat();
    let mut session = start(folder, &program);
    session
        .wait_for("log", "round 5 ", LIMIT)
        .expect("it works");
    let threads: Vec<_> = of_threads(session.pid()).into_keys().collect();
    let [_, one, other, ..] = threads[..] else {
        panic!("too few threads: {threads:?}");
    };
    let (one, other) = (one.to_string(), other.to_string());
    ended("taskset", &["-cp", "1", &one]);
    ended("taskset", &["-cp", "0,1", &other]);
    ended("ionice", &["-c", "3", "-p", &one]);
    fs::write(format!("/proc/{one}/timerslack_ns"), "123456").expect("it is root's");
    fs::write(format!("/proc/{}/coredump_filter", session.pid()), "0x7f").expect("it is root's");
    session
}

fn restored(folder: &Folder) -> Session {
    let images = folder.join("images");
    let again = Session::restore(&strobe(), &[], &images, folder.path(), LIMIT);
    again.expect("it comes back")
}

fn ends(folder: &Folder, session: Session) {
    let rounds = folder.rounds_enough();
    assert!(session.wait(LIMIT).expect("it ends").success());
    let log = fs::read_to_string(folder.join("log")).expect("its log");
    assert!(log.ends_with(&format!("end rounds {rounds}\n")), "{log}");
}

/// A cpuset with the second CPU alone, of this thread or process and of what it starts.
struct SecondCpu {
    root: &'static Path,
    group: PathBuf,
    members: &'static str,
}

impl SecondCpu {
    fn enter() -> Self {
        let first = Path::new("/sys/fs/cgroup/cpuset");
        let (root, members) = match first.exists() {
            true => (first, "tasks"),
            false => (Path::new("/sys/fs/cgroup"), "cgroup.procs"),
        };
        if root != first {
            fs::write(root.join("cgroup.subtree_control"), "+cpuset").expect("it is root's");
        }
        let group = root.join(format!("strobe-attributes-{}", std::process::id()));
        fs::create_dir(&group).expect("it is root's");
        fs::write(group.join("cpuset.cpus"), "1").expect("a second CPU");
        fs::write(group.join("cpuset.mems"), "0").expect("memory");
        fs::write(group.join(members), "0").expect("it can be moved");
        Self {
            root,
            group,
            members,
        }
    }

    fn leave(&self) {
        fs::write(self.root.join(self.members), "0").expect("it can be moved");
    }
}

impl Drop for SecondCpu {
    fn drop(&mut self) {
        self.leave();
        // Whoever is in there after a failure keeps it.
        let _ = fs::remove_dir(&self.group);
    }
}

#[test]
fn what_threads_and_processes_have_chosen_comes_back_and_what_cannot_is_named() {
    let folder = Folder::new("attributes");
    let session = bound(&folder);
    let pid = session.pid();
    let (threads, filter) = (of_threads(pid), coredump_filter(pid));
    assert_eq!(filter, "0000007f\n");
    let personality = "has a personality of its own (0x2040000, setarch)";
    let prospects = run(["checkpoint", &pid.to_string(), "--check"]).well();
    let said = prospects.stdout.matches(personality).count();
    assert_eq!(said, 1, "{}", prospects.stdout);
    let taken = checkpoint(&session, &folder.join("images"), &["--json"]).well();
    assert_eq!(
        taken.stdout.matches(personality).count(),
        1,
        "{}",
        taken.stdout
    );
    session.kill().expect("it dies");
    let again = restored(&folder);
    assert_eq!(coredump_filter(again.pid()), filter);
    let mut now = of_threads(again.pid());
    now.retain(|thread, _| threads.contains_key(thread));
    assert_eq!(now, threads);
    let said = fs::read_to_string(folder.join("stdout")).expect("its report");
    assert!(!said.contains("not put back"), "{said}");
    ends(&folder, again);
}

/// The thread of the second CPU has it there, the first thread nothing of what it was bound to.
#[test]
fn cpus_that_are_not_there_are_named_and_the_program_comes_back_on_others() {
    let folder = Folder::new("attributes-elsewhere");
    let session = bound(&folder);
    let pid = session.pid();
    checkpoint(&session, &folder.join("images"), &[]).well();
    session.kill().expect("it dies");
    let second = SecondCpu::enter();
    let again = restored(&folder);
    second.leave();
    let said = fs::read_to_string(folder.join("stdout")).expect("its report");
    let named = format!(
        "not put back: the CPUs of thread {pid} of process {pid} (0: none of them is here)"
    );
    assert_eq!(said.matches(&named).count(), 1, "{said}");
    let of_first = &of_threads(again.pid())[&pid];
    assert_eq!(of_first[0], "Cpus_allowed_list:\t1");
    ends(&folder, again);
}
