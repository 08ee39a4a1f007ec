//! `strobe restore --demand`: a program runs before all its memory is back, and never sees that.
//!
//! The link is slowed, so that what a step waits for can be told from what it does not wait for.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use strobe_program::agent::RemoteAgent;
use strobe_program::process;
use strobe_proto::page::Phase;
use strobe_store::Checkpoint;

use crate::harness::environment::wait_until;
use crate::harness::{
    Folder, LIMIT, checkpoint, checkpoint_of, hip_program, strobe, uninterrupted,
};

/// Bytes a second: what all buffers have takes some seconds.
const SLOW: [&str; 4] = ["--link-rate", "3000000", "--device-rate", "6400000000"];
const KILOBYTES: &str = "4096";

/// A checkpoint of `arrives`, which has ended; it does these steps when it comes back.
fn saved(
    folder: &Folder,
    device: &[&str],
    buffers: &str,
    kilobytes: &str,
    steps: &[&str],
) -> PathBuf {
    let program = hip_program("arrives.cpp");
    let mut words = vec![program.as_str(), buffers, kilobytes];
    words.extend(steps);
    let device: Vec<String> = device.iter().copied().map(str::to_owned).collect();
    let session = strobe_evaluation::Session::start(&strobe(), &device, &words, folder.path());
    let mut session = session.expect("the program starts");
    session.wait_for("log", "holding", LIMIT).expect("it works");
    let images = folder.join("images");
    checkpoint_of(session.pid(), &images, &[]).well();
    fs::write(folder.join("pid"), session.pid().to_string()).expect("our folder");
    session.kill().expect("it dies");
    fs::write(folder.join("go"), "").expect("our folder");
    images
}

/// A restore under way, and what it brings back.
struct Restoring<'f> {
    command: Child,
    folder: &'f Folder,
    pid: u32,
}

impl<'f> Restoring<'f> {
    /// `strobe restore --demand` on a new device.
    fn start(folder: &'f Folder, device: &[&str], options: &[&str]) -> Self {
        let strobe = strobe();
        let mut command = strobe.command();
        command.arg("softgpu").args(device).arg("--");
        command.arg(strobe.path()).args(["restore", "--demand"]);
        command.args(options).arg(folder.join("images"));
        let file = |name: &str| File::create(folder.join(name)).expect("our folder");
        command.stdout(file("said")).stderr(file("noticed"));
        command.stdin(Stdio::null());
        let pid = fs::read_to_string(folder.join("pid")).expect("it was saved");
        Self {
            command: command.spawn().expect("strobe starts"),
            folder,
            pid: pid.parse().expect("a number"),
        }
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap_or_default()
    }

    /// Bytes that are away, by the agent's word; `None` where there is no agent yet, or any more.
    fn away(&self) -> Option<u64> {
        let page = RemoteAgent::find(self.pid).ok()?.snapshot().ok()?;
        match page.phase {
            Some(Phase::Loading) => Some(page.unloaded_bytes),
            Some(Phase::Idle) => Some(0),
            _ => None,
        }
    }

    /// Waits until it runs; bytes that were away then.
    fn runs(&mut self) -> u64 {
        wait_until("memory that is away", || {
            assert!(
                self.command.try_wait().expect("ours").is_none(),
                "{}",
                self.text("noticed")
            );
            let page = RemoteAgent::find(self.pid).ok()?.snapshot().ok()?;
            (page.phase == Some(Phase::Loading)).then_some(page.unloaded_bytes)
        })
    }

    /// Waits for a line of the program's; bytes that were away by then.
    fn away_when(&mut self, line: &str) -> u64 {
        wait_until(line, || {
            let away = self.away();
            let ended = self.command.try_wait().expect("ours").is_some();
            let log = self.text("log");
            let is_there = log.lines().any(|found| found.starts_with(line));
            assert!(is_there || !ended, "{log}{}", self.text("noticed"));
            is_there.then(|| away.unwrap_or(0))
        })
    }

    /// Waits for the end of command, program and device.
    fn end(mut self) -> (Option<i32>, String) {
        let deadline = Instant::now() + LIMIT;
        while Instant::now() < deadline {
            if let Some(status) = self.command.try_wait().expect("ours") {
                return (status.code(), self.text("noticed"));
            }
            thread::sleep(Duration::from_millis(5));
        }
        panic!(
            "it does not end: {}{}",
            self.text("log"),
            self.text("noticed")
        );
    }

    /// The process that fills its memory.
    fn filler(&self) -> u32 {
        let environment = |pid: u32| fs::read_link(format!("/proc/{pid}/ns/mnt")).ok();
        let own = environment(self.pid);
        let is_ours = |pid: &u32| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            name == "strobe-fill\n" && environment(*pid) == own
        };
        wait_until("a filler", || {
            process::all().expect("processes").into_iter().find(is_ours)
        })
    }

    /// All steps went well, and it was let run before all was there.
    fn well(self) {
        let log_path = self.folder.join("log");
        let (code, noticed) = self.end();
        let log = fs::read_to_string(log_path).expect("its log");
        assert_eq!(code, Some(0), "{log}{noticed}");
        assert!(log.ends_with("end\n") && !log.contains("wrong"), "{log}");
        assert!(
            noticed.contains("its memory is loaded while it runs"),
            "{noticed}"
        );
    }
}

impl Drop for Restoring<'_> {
    fn drop(&mut self) {
        // Both fail when it has ended. The device ends with it, and all that runs on that.
        let _ = self.command.kill();
        let _ = self.command.wait();
    }
}

const TOUCHES: [&str; 15] = [
    "write:14",
    "read:14",
    "up:13",
    "read:13",
    "set:12",
    "down:12",
    "across:10",
    "read:11",
    "free:9",
    "read:9",
    "store:8",
    "load:8",
    "graph:7",
    "again:0",
    "all:0",
];

/// What is written to memory that is away stays, what is read is right, and what is freed is not filled.
fn whatever_touches_memory_that_is_away(device: &[&str], touches: &[&str]) {
    let folder = Folder::new("touches");
    saved(&folder, device, "15", "512", touches);
    let device = [device, &SLOW].concat();
    let mut restoring = Restoring::start(&folder, &device, &["--wait"]);
    restoring.runs();
    // The last step but one waits until all is there, which would overwrite what was written.
    restoring.away_when("waiting");
    wait_until("all memory", || (restoring.away() == Some(0)).then_some(()));
    fs::write(folder.join("again"), "").expect("our folder");
    restoring.well();
}

#[test]
fn memory_that_is_away_is_touched_by_all_means_as_if_it_were_there() {
    whatever_touches_memory_that_is_away(&[], &TOUCHES);
}

#[test]
fn memory_that_is_away_is_touched_where_the_cpu_cannot_reach_it() {
    let by_the_cpu = |step: &&str| step.starts_with("store") || step.starts_with("load");
    let touches: Vec<&str> = TOUCHES
        .into_iter()
        .filter(|step| !by_the_cpu(step))
        .collect();
    whatever_touches_memory_that_is_away(&["--private-vram"], &touches);
}

/// The agent knows of no footprint in them.
#[test]
fn globals_and_code_of_any_size_are_there_before_anything_runs() {
    let folder = Folder::new("demand-globals");
    let steps = ["global:0", "end:0", "again:0", "all:0"];
    saved(&folder, &[], "4", KILOBYTES, &steps);
    let mut restoring = Restoring::start(&folder, &SLOW, &["--wait"]);
    restoring.runs();
    let away = restoring.away_when("global:0 right");
    assert!(
        away >= 8 << 20,
        "all the rest was there, too: {away} is away"
    );
    fs::write(folder.join("again"), "").expect("our folder");
    restoring.well();
}

/// The first thing that it does, before anybody had time to protect anything.
#[test]
fn the_cpu_touches_no_memory_that_is_away_from_the_first_moment_on() {
    // As HIP's compiler does when it is done, for one.
    for first in ["store:8", "load:8", "gives:8"] {
        let folder = Folder::new("demand-cpu");
        let steps = [first, "read:8", "again:0", "all:0"];
        saved(&folder, &[], "15", "512", &steps);
        let restoring = Restoring::start(&folder, &SLOW, &["--wait"]);
        fs::write(folder.join("again"), "").expect("our folder");
        restoring.well();
    }
}

#[test]
fn a_kernel_waits_for_the_chunks_that_it_touches_and_for_no_others() {
    let folder = Folder::new("few-chunks");
    let steps = ["end:0", "end:5", "again:0", "all:0"];
    saved(&folder, &[], "6", KILOBYTES, &steps);
    let mut restoring = Restoring::start(&folder, &SLOW, &["--wait"]);
    let all = restoring.runs();
    // In the order of addresses one of these would be among the last.
    for step in ["end:0 right", "end:5 right"] {
        let away = restoring.away_when(step);
        assert!(away >= 8 << 20, "{step}: {away} of {all}");
    }
    fs::write(folder.join("again"), "").expect("our folder");
    restoring.well();
}

#[test]
fn what_nobody_can_foresee_waits_for_everything() {
    let folder = Folder::new("unforeseen");
    saved(&folder, &[], "4", KILOBYTES, &["any:0", "again:0"]);
    let mut restoring = Restoring::start(&folder, &SLOW, &["--wait"]);
    let all = restoring.runs();
    assert!(all >= 4 << 20, "{all}");
    assert_eq!(restoring.away_when("any:0 right"), 0);
    fs::write(folder.join("again"), "").expect("our folder");
    restoring.well();
}

/// Streams, events, tables of pointers, globals; and what it used while it was copied is what it wants first.
#[test]
fn a_program_at_work_comes_back_on_demand_bit_for_bit() {
    let folder = Folder::new("demand-at-work");
    let device: Vec<String> = SLOW.into_iter().map(str::to_owned).collect();
    let program = hip_program("mixed.cpp");
    let words = [program.as_str(), "1000000", "log"];
    let session = strobe_evaluation::Session::start(&strobe(), &device, &words, folder.path());
    let mut session = session.expect("the program starts");
    session
        .wait_for("log", "round 5 ", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    checkpoint(&session, &images, &["--mode", "cow"]).well();
    fs::write(folder.join("pid"), session.pid().to_string()).expect("our folder");
    session.kill().expect("it dies");
    let manifest = Checkpoint::open(&images).expect("a checkpoint");
    let processes = &manifest.manifest().processes;
    assert!(
        !processes[0].first_use.is_empty(),
        "nothing was seen of its launches"
    );
    let rounds = folder.rounds_enough();
    let (code, noticed) = Restoring::start(&folder, &SLOW, &["--wait"]).end();
    assert_eq!(code, Some(0), "{noticed}");
    assert!(
        noticed.contains("its memory is loaded while it runs"),
        "{noticed}"
    );
    let log = fs::read_to_string(folder.join("log")).expect("its log");
    assert_eq!(log, uninterrupted(rounds));
}

/// Its queue was stopped in the middle at the cut, and runs when what it may touch is there.
#[test]
fn a_kernel_that_was_under_way_at_the_cut_goes_on_when_its_memory_is_there() {
    let folder = Folder::new("demand-late");
    saved(
        &folder,
        &[],
        "4",
        KILOBYTES,
        &["late:3", "again:0", "all:0"],
    );
    let checkpoint = Checkpoint::open(&folder.join("images")).expect("a checkpoint");
    let statistics = checkpoint.manifest().statistics.as_ref();
    assert!(
        statistics.expect("some").under_way >= Some(1),
        "it was not under way"
    );
    let mut restoring = Restoring::start(&folder, &SLOW, &["--wait"]);
    assert!(restoring.runs() > 8 << 20);
    // That may go on from the first moment, as far as the host is concerned.
    restoring.away_when("late:3 right");
    fs::write(folder.join("again"), "").expect("our folder");
    restoring.well();
}

/// Of a buffer whose last chunk `end:0` looks at (HIP's addresses descend), the first chunk: it comes late, and by itself.
fn chunk_of_first_buffer(images: &Path) -> PathBuf {
    let checkpoint = Checkpoint::open(images).expect("a checkpoint");
    let extents = &checkpoint.manifest().processes[0].tracked;
    let last = extents
        .iter()
        .filter(|extent| extent.extent.expect("one").len > 1 << 20)
        .max_by_key(|extent| extent.extent.expect("one").start);
    let chunk = last.expect("an extent").chunks.first().expect("a chunk");
    let name: String = chunk
        .blake3
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let mut folders = vec![images.join("chunks")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.to_string_lossy().replace('/', "").contains(&name) => return path,
                false => {}
            }
        }
    }
    panic!("no chunk {name}");
}

#[test]
fn a_damaged_chunk_ends_the_program_by_name_before_it_is_used() {
    let folder = Folder::new("damaged-chunk");
    // So many that the last one is not read before the program runs: the restore would be refused.
    let images = saved(&folder, &[], "10", KILOBYTES, &["end:0", "all:0"]);
    let chunk = chunk_of_first_buffer(&images);
    let mut bytes = fs::read(&chunk).expect("a chunk");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::write(&chunk, bytes).expect("our folder");
    let mut restoring = Restoring::start(&folder, &SLOW, &[]);
    restoring.away_when("end:0 right");
    let (code, noticed) = restoring.end();
    assert_eq!(code, Some(1), "{noticed}");
    let name = chunk.file_name().expect("a name").to_str().expect("UTF-8");
    assert!(
        noticed.contains("cannot all be loaded") && noticed.contains(name),
        "{noticed}"
    );
    let log = fs::read_to_string(folder.join("log")).expect("its log");
    assert!(!log.contains("all:0"), "it went on: {log}");
}

#[test]
fn a_program_whose_filler_is_killed_ends_by_name() {
    let folder = Folder::new("filler-killed");
    saved(&folder, &[], "4", KILOBYTES, &["end:0", "all:0"]);
    let mut restoring = Restoring::start(&folder, &SLOW, &[]);
    assert!(restoring.away_when("end:0 right") > 0);
    let filler = restoring.filler();
    strobe_evaluation::session::signal(filler, "KILL").expect("it is there");
    let (code, noticed) = restoring.end();
    assert_eq!(code, Some(1), "{noticed}");
    assert!(noticed.contains("cannot all be loaded"), "{noticed}");
    let log = fs::read_to_string(folder.join("log")).expect("its log");
    assert!(!log.contains("all:0"), "it went on: {log}");
}

#[test]
fn a_checkpoint_of_a_program_that_is_being_loaded_waits_and_has_everything() {
    let folder = Folder::new("while-loading");
    saved(
        &folder,
        &[],
        "4",
        KILOBYTES,
        &["write:3", "again:0", "all:0"],
    );
    let mut restoring = Restoring::start(&folder, &SLOW, &["--wait"]);
    assert!(restoring.away_when("write:3 right") > 0);
    let second = folder.join("second");
    let ended = checkpoint_of(restoring.pid, &second, &[]).well();
    assert!(
        ended.stderr.contains("waiting until all memory"),
        "{}",
        ended.stderr
    );
    assert_eq!(restoring.away(), Some(0));
    drop(restoring);
    wait_until("a free number", || {
        let pid = fs::read_to_string(folder.join("pid")).expect("our folder");
        (!Path::new(&format!("/proc/{pid}")).exists()).then_some(())
    });
    fs::remove_dir_all(folder.join("images")).expect("our folder");
    fs::rename(&second, folder.join("images")).expect("our folder");
    fs::write(folder.join("again"), "").expect("our folder");
    Restoring::start(&folder, &SLOW, &["--wait"]).well();
}

/// The filler is nobody's but the program's: it goes on, and the checkpoint stays where it is.
#[test]
fn a_command_that_is_killed_harms_neither_the_program_nor_the_checkpoint() {
    let folder = Folder::new("demand-killed");
    let images = saved(&folder, &[], "4", KILOBYTES, &["end:0", "all:0", "again:0"]);
    let strobe = strobe();
    let script = format!(
        "{strobe} restore --demand {images} & echo $! > command; wait; while kill -0 $(cat pid); do sleep 0.1; done",
        strobe = strobe.path().display(),
        images = images.display(),
    );
    let mut command = strobe.command();
    command
        .arg("softgpu")
        .args(SLOW)
        .args(["--", "/bin/sh", "-c", &script]);
    command.current_dir(folder.path()).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let pid = fs::read_to_string(folder.join("pid")).expect("it was saved");
    let mut restoring = Restoring {
        command: command.spawn().expect("strobe starts"),
        folder: &folder,
        pid: pid.parse().expect("a number"),
    };
    assert!(restoring.away_when("end:0 right") > 0);
    let number = fs::read_to_string(folder.join("command")).expect("it has started");
    let number = number.trim().parse().expect("a number");
    strobe_evaluation::session::signal(number, "KILL").expect("it is there");
    let owner = File::open(images.join("owner")).expect("a mark");
    assert!(restoring.away().is_some_and(|away| away > 0));
    assert!(owner.try_lock().is_err(), "it may be removed");
    restoring.away_when("all:0 right");
    wait_until("a checkpoint that nobody holds", || owner.try_lock().ok());
    fs::write(folder.join("again"), "").expect("our folder");
    restoring.away_when("end");
}
