//! `strobe restore --instance`: many programs of one checkpoint at once, each with what it writes for itself.

use std::fs;
use std::path::{Path, PathBuf};

use strobe_program::process;

use crate::harness::environment::{Environment, Program, wait_until};
use crate::harness::{Folder, checkpoint_of, hip_program, strobe, uninterrupted};

const ROUNDS: &str = "80";
/// After each round, so that instances overlap.
const REST_MS: &str = "50";

/// A checkpoint of `mixed`, which goes on.
fn saved(folder: &Folder, device: &mut Environment) -> (Program, PathBuf) {
    let program = hip_program("mixed.cpp");
    let program = device.start_traced("first", &[&program, ROUNDS, "log", REST_MS]);
    wait_until("round", || (rounds(&folder.join("log")) > 5).then_some(()));
    let images = folder.join("images");
    checkpoint_of(program.pid(), &images, &[]).well();
    (program, images)
}

fn rounds(log: &Path) -> usize {
    fs::read_to_string(log).unwrap_or_default().lines().count()
}

/// Starts an instance in a folder of that name, and waits until it runs; its number outside.
fn instance(device: &mut Environment, images: &Path, name: &str) -> (Program, u32) {
    let strobe = strobe();
    let path = |path: &Path| path.to_str().expect("a path in UTF-8").to_owned();
    let words = ["restore", "--wait", "--json", "--instance", name];
    let (strobe, images) = (path(strobe.path()), path(images));
    let words = [&[strobe.as_str()], &words[..], &[&images]].concat();
    let command = device.start(name, &words);
    let text = wait_until("report", || {
        let text = command.output();
        text.contains("\n}").then_some(text)
    });
    let end = text.find("\n}").expect("it is there") + 2;
    let report: serde_json::Value = serde_json::from_str(&text[..end]).expect("JSON");
    let pid = report["pid"].as_u64().expect("a number");
    let pid = u32::try_from(pid).expect("a number of a process");
    let inside = process::number_inside(pid).expect("it runs").1;
    assert_eq!(report["instance"]["pid"], inside);
    (command, pid)
}

/// The log that an instance has written.
fn log_of(folder: &Folder, name: &str) -> PathBuf {
    let log = folder.join("log");
    let below = log.strip_prefix("/").expect("an absolute path");
    folder.join(name).join("files").join(below)
}

/// What lies in a folder, but for what the commands of the test say.
fn names(folder: &Folder) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).expect("our folder");
    let names = entries.map(|entry| entry.expect("our folder").file_name());
    let mut names: Vec<String> = names
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| Path::new(name).extension().is_none())
        .collect();
    names.sort();
    names
}

#[test]
fn instances_run_at_once_beside_the_program_that_they_are_of_and_nothing_changes_outside() {
    let folder = Folder::new("instances");
    let mut device = Environment::new(&folder, &[]);
    let (original, images) = saved(&folder, &mut device);
    let all = ["one", "two", "three"];
    let running = all.map(|name| instance(&mut device, &images, name));
    let numbers = running.each_ref().map(|(_, pid)| *pid);
    for pid in numbers {
        assert!(
            process::exists(pid),
            "{pid} of {numbers:?} waited for no other"
        );
    }
    // One that is ended is no other's loss.
    strobe_evaluation::session::signal(numbers[1], "TERM").expect("it runs");
    let codes = running.map(|(command, _)| command.code());
    assert_eq!(codes, [0, 143, 0]);
    assert_eq!(original.code(), 0);
    let expected = uninterrupted(ROUNDS.parse().expect("a number"));
    let logs = [
        folder.join("log"),
        log_of(&folder, "one"),
        log_of(&folder, "three"),
    ];
    for log in logs {
        let text = fs::read_to_string(&log).expect("a log");
        assert_eq!(text, expected, "{}", log.display());
    }
    assert_eq!(names(&folder), ["images", "log", "one", "three", "two"]);
}

#[test]
fn an_instance_is_saved_from_outside_and_comes_back_as_others() {
    let folder = Folder::new("instance-saved");
    let mut device = Environment::new(&folder, &[]);
    let (original, images) = saved(&folder, &mut device);
    original.signal("KILL");
    let (command, pid) = instance(&mut device, &images, "one");
    // Where nobody outside would find it.
    let ended = checkpoint_of(pid, &folder.join("lost"), &[]).badly(&["does not see"]);
    assert_eq!(ended.code, Some(3));
    let again = folder.join("one/checkpoints/again");
    checkpoint_of(pid, &again, &[]).well();
    strobe_evaluation::session::signal(pid, "KILL").expect("it runs");
    assert_eq!(command.code(), 137);
    fs::remove_dir_all(&images).expect("our folder");
    let (command, _) = instance(&mut device, &again, "two");
    assert_eq!(command.code(), 0);
    let log = fs::read_to_string(log_of(&folder, "two")).expect("its log");
    assert_eq!(log, uninterrupted(ROUNDS.parse().expect("a number")));
}

#[test]
fn an_instance_that_does_not_come_back_leaves_no_folder() {
    let folder = Folder::new("no-instance");
    let mut device = Environment::new(&folder, &[]);
    let (original, images) = saved(&folder, &mut device);
    original.signal("KILL");
    original.code();
    let taken = folder.join("taken");
    fs::create_dir(&taken).expect("our folder");
    fs::write(taken.join("mine"), "").expect("our folder");
    let try_in = |device: &mut Environment, name: &str, word: &str| {
        let strobe = strobe();
        let words = ["restore", "--wait", "--instance", name, "images"];
        let words = [&[strobe.path().to_str().expect("UTF-8")], &words[..]].concat();
        let command = device.start(&format!("said-{}", name.replace('/', "-")), &words);
        assert_eq!(command.code(), 3, "{}", command.output());
        let said = command.output();
        assert!(said.contains(word) && said.lines().count() == 1, "{said}");
    };
    try_in(&mut device, "taken", "is not empty");
    try_in(&mut device, "a,b", "comma");
    try_in(&mut device, "there/is/none", "No such file");
    fs::remove_dir_all(images.join("criu")).expect("it is there");
    fs::create_dir(folder.join("empty")).expect("our folder");
    try_in(&mut device, "broken", "missing");
    try_in(&mut device, "empty", "missing");
    assert_eq!(names(&folder), ["empty", "images", "log", "taken"]);
    assert!(taken.join("mine").exists());
    let left = fs::read_dir(folder.join("empty")).expect("it was there");
    assert_eq!(left.count(), 0);
}
