//! `strobe restore --instance`: many programs of one checkpoint at once, each with what it writes for itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use strobe_program::process;

use crate::harness::environment::{Environment, Program, wait_until};
use crate::harness::{Folder, checkpoint_of, hip_program, run, strobe, uninterrupted};

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
    let command = device.start(&name.replace('/', "-"), &words);
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
    file_of(folder, name, "log")
}

/// What an instance has of a file in the folder.
fn file_of(folder: &Folder, name: &str, file: &str) -> PathBuf {
    let log = folder.join(file);
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

/// A checkpoint of `layers.py` with these paths, which goes on.
fn saved_layers(folder: &Folder, device: &mut Environment, paths: &[&str]) -> (Program, PathBuf) {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/layers.py");
    let program = device.start_traced("first", &[&["python3", program], paths].concat());
    program.says("begun");
    let images = folder.join("images");
    checkpoint_of(program.pid(), &images, &[]).well();
    (program, images)
}

/// What it finds of its files where nobody else has them.
const OF_LAYERS: &str = "\
    counter ['0']\n\
    names ['one', 'two'] True 2\n\
    mapped b'10'\n\
    read ['before', 'after']\n";

#[test]
fn what_an_instance_has_is_its_own_before_it_writes_it_whoever_writes_it_outside() {
    let folder = Folder::new("instance-own");
    let mut device = Environment::new(&folder, &[]);
    let (original, images) = saved_layers(&folder, &mut device, &["third"]);
    // Another name, which the program knows and no journal.
    fs::hard_link(folder.join("first"), folder.join("third")).expect("our folder");
    let (before, pid) = instance(&mut device, &images, "before");
    original.signal("USR1");
    assert_eq!(original.code(), 0, "{}", original.output());
    strobe_evaluation::session::signal(pid, "USR1").expect("it runs");
    assert_eq!(before.code(), 0);
    let (behind, pid) = instance(&mut device, &images, "behind");
    strobe_evaluation::session::signal(pid, "USR1").expect("it runs");
    assert_eq!(behind.code(), 0);
    let expected = OF_LAYERS.replace("True 2", "True 3");
    let expected = format!("{expected}third ['one', 'two', 'its'] 0o40755 0\nnumber True\n");
    let logs = ["before", "behind"].map(|name| log_of(&folder, name));
    for log in [&[folder.join("log")], &logs[..]].concat() {
        let text = fs::read_to_string(&log).expect("a log");
        assert_eq!(text, expected, "{}", log.display());
    }
    assert_eq!(
        fs::read_to_string(folder.join("counter")).expect("it"),
        "0 1 "
    );
}

#[test]
fn a_folder_that_was_renamed_since_has_its_name_again_wherever_the_instance_lies() {
    let folder = Folder::new("instance-renamed");
    let mut device = Environment::new(&folder, &[]);
    let (original, images) = saved_layers(&folder, &mut device, &["renamed/x"]);
    original.signal("USR1");
    assert_eq!(original.code(), 0, "{}", original.output());
    let expected = format!("{OF_LAYERS}renamed/x ['in', 'it', 'its'] 0o40755 0\nnumber True\n");
    let log = fs::read_to_string(folder.join("log")).expect("its log");
    assert_eq!(log, expected);
    // An overlay of two file systems has other numbers for folders.
    let mount = "'mkdir other && mount -t tmpfs none other'";
    let mount = device.start("mount", &["sh", "-c", mount]);
    assert_eq!(mount.code(), 0, "{}", mount.output());
    for name in ["one", "other/one"] {
        let (command, pid) = instance(&mut device, &images, name);
        strobe_evaluation::session::signal(pid, "USR1").expect("it runs");
        assert_eq!(command.code(), 0, "{name}");
        // It may be mounted there only.
        let log = log_of(&folder, name);
        let log = ["cat", log.to_str().expect("UTF-8")];
        let log = device.start(&format!("look-{}", name.replace('/', "-")), &log);
        assert_eq!(log.code(), 0, "{}", log.output());
        assert_eq!(log.output(), expected, "{name}");
    }
}

/// Mounts of a kind each, and files in them; `log` is one of a name that leads nowhere else.
const MOUNTS: &str = "mkdir -m 1777 public && mount -t tmpfs -o mode=1777 none public && mkdir -m 750 public/in && \
     mkdir hidden under && mount -t tmpfs none hidden && echo outside > hidden/conf && touch conf && \
     mount --bind hidden/conf conf && mount -t tmpfs none hidden && \
     mkdir -p one two && mount --bind one two && \
     mkdir \"a,b:c\" && mount -t tmpfs none \"a,b:c\" && \
     mkdir fixed later && mount -t tmpfs -o ro none fixed && mount -t tmpfs none later && \
     mkfifo pipe through && mount --bind pipe through && echo mounted";

#[test]
fn what_is_mounted_is_an_instances_own_too_whatever_it_is() {
    let folder = Folder::new("instance-mounts");
    let mut device = Environment::new(&folder, &[]);
    let mounts = device.start("mounts", &["sh", "-c", &format!("'{MOUNTS}'")]);
    assert_eq!(mounts.code(), 0, "{}", mounts.output());
    let paths = [
        "public/in/x",
        "public/y",
        "conf",
        "one/x",
        "two/x",
        "a,b:c/x",
        "later/x",
    ];
    let (original, _) = saved_layers(&folder, &mut device, &paths);
    original.signal("KILL");
    original.code();
    let looks = |device: &mut Environment, name: &str| {
        let look = "'cat conf; ls -A public public/in one two a,b:c later'";
        let look = device.start(name, &["sh", "-c", look]);
        assert_eq!(look.code(), 0, "{}", look.output());
        look.output()
    };
    let outside = looks(&mut device, "look-before");
    let strobe = strobe();
    for (name, umask) in [("plain-umask", "022"), ("one,two:three", "077")] {
        let restore = format!(
            "'umask {umask}; exec {} restore --wait --json --instance {name} images'",
            strobe.path().display()
        );
        let command = device.start(name, &["sh", "-c", &restore]);
        let report = wait_until("report", || {
            let text = command.output();
            text.contains("\n}").then_some(text)
        });
        let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
        let pid = report["pid"].as_u64().expect("a number");
        let pid = u32::try_from(pid).expect("a number of a process");
        strobe_evaluation::session::signal(pid, "USR1").expect("it runs");
        assert_eq!(command.code(), 0, "{}", command.output());
        let expected = "\
            public/in/x ['its'] 0o40750 0\n\
            public/y ['its'] 0o41777 0\n\
            conf ['outside', 'its'] 0o40755 0\n\
            one/x ['its'] 0o40755 0\n\
            two/x ['its', 'its'] 0o40755 0\n\
            a,b:c/x ['its'] 0o41777 0\n\
            later/x ['its'] 0o41777 0\n\
            number True\n";
        let log = fs::read_to_string(log_of(&folder, name)).expect("a log");
        assert_eq!(log, format!("{OF_LAYERS}{expected}"), "{name}");
        let behind = looks(&mut device, &format!("look-behind-{umask}"));
        assert_eq!(behind, outside, "{name}");
        let conf = fs::read_to_string(file_of(&folder, name, "conf")).expect("its copy");
        assert_eq!(conf, "outside\nits ");
    }
}

#[test]
fn a_checkpoint_that_an_instance_has_open_is_not_removed_and_a_dry_run_says_so() {
    let folder = Folder::new("instance-held");
    let mut device = Environment::new(&folder, &[]);
    let program = hip_program("mixed.cpp");
    let original = device.start_traced("first", &[&program, "100000", "log", REST_MS]);
    wait_until("round", || (rounds(&folder.join("log")) > 2).then_some(()));
    let series = folder.join("images");
    fs::create_dir(&series).expect("our folder");
    for name in ["000001", "000002"] {
        checkpoint_of(original.pid(), &series.join(name), &[]).well();
    }
    original.signal("KILL");
    original.code();
    let (command, pid) = instance(&mut device, &series.join("000001"), "one");
    let gc = |options: &[&str]| {
        let path = series.to_str().expect("UTF-8");
        let words = [&["gc", path, "--keep", "1"], options].concat();
        run(words).well().stdout
    };
    assert!(gc(&["--dry-run"]).contains("nothing would be removed"));
    assert!(gc(&[]).contains("nothing removed"));
    assert!(process::exists(pid));
    strobe_evaluation::session::signal(pid, "KILL").expect("it runs");
    command.code();
    assert!(gc(&["--dry-run"]).contains("000001"));
    assert!(gc(&[]).contains("000001"));
    assert!(!series.join("000001").exists());
}

#[test]
fn an_instance_that_is_interrupted_before_it_is_back_leaves_no_folder() {
    let folder = Folder::new("instance-interrupted");
    let mut device = Environment::new(&folder, &[]);
    let (original, images) = saved(&folder, &mut device);
    original.signal("KILL");
    original.code();
    let strobe = strobe();
    let words = [strobe.path(), Path::new("restore"), &images];
    let words = words.map(|word| word.to_str().expect("UTF-8"));
    let mut earlier = 0;
    for point in [0, 5, 15, 30, 60, 100, 150, 200, 250] {
        let name = format!("at-{point}");
        let words = [&words[..], &["--wait", "--instance", &name]].concat();
        let command = device.start(&name, &words);
        sleep(Duration::from_millis(point));
        command.signal("TERM");
        assert_eq!(command.code(), 143, "{}", command.output());
        let is_back = command.output().contains("restored ");
        earlier += usize::from(!is_back);
        assert_eq!(
            folder.join(&name).exists(),
            is_back,
            "{name}: {}",
            command.output()
        );
    }
    assert!(earlier > 2, "{earlier} were interrupted before");
}

/// A checkpoint of `named_sockets.py`, which has ended.
fn saved_sockets(folder: &Folder, device: &mut Environment, words: &[&str]) -> PathBuf {
    let program = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/programs/named_sockets.py"
    );
    let program = device.start_traced("first", &[&["python3", program], words].concat());
    program.says("begun");
    let images = folder.join("images");
    checkpoint_of(program.pid(), &images, &[]).well();
    program.signal("KILL");
    program.code();
    images
}

#[test]
fn of_instances_that_are_started_at_once_one_has_the_ports_and_others_are_refused() {
    let folder = Folder::new("instance-ports");
    let mut device = Environment::new(&folder, &[]);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port().to_string();
    drop(listener);
    let name = format!("@strobe-test-{port}");
    let images = saved_sockets(&folder, &mut device, &[&port, &name]);
    let strobe = strobe();
    let commands = ["one", "two", "three"].map(|name| {
        let words = [strobe.path(), Path::new("restore"), &images];
        let words = words.map(|word| word.to_str().expect("UTF-8"));
        let words = [&words[..], &["--wait", "--json", "--instance", name]].concat();
        (name, device.start(name, &words))
    });
    let is_refused = |command: &Program| command.output().contains(" is in use");
    let refused = || commands.iter().filter(|one| is_refused(&one.1)).count();
    wait_until("refusals", || (refused() == 2).then_some(()));
    for (name, command) in &commands {
        if is_refused(command) {
            assert_eq!(command.code(), 3, "{}", command.output());
            assert!(!folder.join(name).exists());
        } else {
            let pid = wait_until("report", || {
                let text = command.output();
                let end = text.find("\n}")? + 2;
                let report = serde_json::from_str::<serde_json::Value>(&text[..end]);
                report.expect("JSON")["pid"].as_u64()
            });
            let pid = u32::try_from(pid).expect("a number of a process");
            strobe_evaluation::session::signal(pid, "USR1").expect("it runs");
            assert_eq!(command.code(), 0, "{}", command.output());
        }
    }
}

#[test]
fn threads_that_an_instance_has_made_have_numbers_that_are_free_elsewhere() {
    let folder = Folder::new("instance-numbers");
    let mut device = Environment::new(&folder, &[]);
    let (original, images) = saved(&folder, &mut device);
    original.signal("KILL");
    original.code();
    let (command, pid) = instance(&mut device, &images, "one");
    let inside = process::number_inside(pid).expect("it runs").1;
    let again = folder.join("one/checkpoints/again");
    checkpoint_of(pid, &again, &["--kill"]).well();
    command.code();
    let names = fs::read_dir(again.join("criu")).expect("images");
    let names = names.map(|entry| entry.expect("images").file_name());
    let numbers = names.filter_map(|name| {
        let number = name.to_str()?.strip_prefix("core-")?.strip_suffix(".img")?;
        number.parse::<u32>().ok()
    });
    let numbers: Vec<u32> = numbers.collect();
    assert!(numbers.len() > 1, "{numbers:?}");
    let lowest = numbers.iter().min().copied();
    assert_eq!(lowest, Some(inside), "{numbers:?}");
}
