//! Checkpoints that are taken one after the other.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::harness::environment::wait_until;
use crate::harness::{
    Ended, Folder, LIMIT, checkpoint, hip_program, restore, run, start, strobe, uninterrupted,
    verify,
};

fn take_one_after_the_other(pid: u32, folder: &Folder, every: &str) -> Child {
    let mut command = strobe().command();
    command.args([
        "checkpoint",
        &pid.to_string(),
        "--keep",
        "2",
        "--every",
        every,
    ]);
    command.arg("-o").arg(folder.join("series"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("strobe starts")
}

/// What is complete by now.
fn taken(folder: &Folder) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join("series")).into_iter().flatten();
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let complete = |path: &PathBuf| path.join("manifest.pb").exists() && !path.is_symlink();
    let mut taken: Vec<_> = paths.filter(complete).collect();
    taken.sort();
    taken
}

#[test]
fn the_newest_of_a_series_comes_back_and_the_oldest_are_gone() {
    let folder = Folder::new("series");
    let program = hip_program("mixed.cpp");
    let mut session = start(&folder, &[&program, "1000000", "log"]);
    session
        .wait_for("log", "round 5 ", LIMIT)
        .expect("it works");
    let series = take_one_after_the_other(session.pid(), &folder, "300ms");
    let fourth = folder.join("series/000004");
    wait_until("the fourth", || {
        taken(&folder).contains(&fourth).then_some(())
    });
    let second = take_one_after_the_other(session.pid(), &folder, "300ms");
    Ended::new(&second.wait_with_output().expect("it ends")).badly(&["another command"]);
    strobe_evaluation::session::signal(series.id(), "INT").expect("it runs");
    let ended = Ended::new(&series.wait_with_output().expect("it ends"));
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    session.kill().expect("it dies");
    let kept = taken(&folder);
    assert!((2..=3).contains(&kept.len()), "{kept:?}");
    kept.iter().for_each(|one| drop(verify(one).well()));
    let listed = run([
        "list".into(),
        folder.join("series").into_os_string(),
        "--json".into(),
    ]);
    let listed: Value = serde_json::from_str(&listed.well().stdout).expect("JSON");
    let names = listed.as_array().expect("a list").iter();
    let names: Vec<_> = names
        .map(|row| row["directory"].as_str().expect("a name"))
        .collect();
    let paths: Vec<_> = kept
        .iter()
        .map(|path| path.to_str().expect("UTF-8"))
        .collect();
    assert_eq!(names, paths);
    let rounds = folder.rounds_enough();
    restore(&folder.join("series/latest")).well();
    let log = fs::read_to_string(folder.join("log")).expect("its log");
    assert_eq!(log, uninterrupted(rounds));
}

#[test]
fn what_is_refused_is_said_and_taken_in_the_next_turn() {
    let folder = Folder::new("series-refused");
    let program = hip_program("mixed.cpp");
    let mut session = start(&folder, &[&program, "1000000", "log"]);
    session
        .wait_for("log", "round 5 ", LIMIT)
        .expect("it works");
    // A process that is stopped is refused.
    session.signal("STOP").expect("it runs");
    let series = take_one_after_the_other(session.pid(), &folder, "2s");
    std::thread::sleep(std::time::Duration::from_secs(3));
    session.signal("CONT").expect("it is there");
    wait_until("one", || taken(&folder).pop());
    folder.rounds_enough();
    assert!(session.wait(LIMIT).expect("it ends").success());
    let ended = Ended::new(&series.wait_with_output().expect("it ends")).well();
    let said: Vec<&str> = ended.stderr.lines().collect();
    let [first, .., last] = said[..] else {
        panic!("{said:?}");
    };
    assert!(first.ends_with("; the next one in 2s"), "{first}");
    assert!(last.contains("the program has ended"), "{last}");
}

/// One buffer of the program is never written. Its chunk is found unchanged on the device.
#[test]
fn what_is_as_it_was_at_the_base_is_not_copied_again_unless_the_base_is_damaged() {
    const QUIET: u64 = 128 << 10;
    let folder = Folder::new("unchanged");
    let program = hip_program("inflight.cpp");
    let mut session = start(&folder, &[&program, "long", "1000000", "log"]);
    session
        .wait_for("log", "round 1 ", LIMIT)
        .expect("it works");
    let take = |name: &str, options: &[&str]| {
        let options = [&["--json"], options].concat();
        let ended = checkpoint(&session, &folder.join(name), &options).well();
        let report: Value = serde_json::from_str(&ended.stdout).expect("a report");
        let bytes = |name: &str| report[name].as_u64().expect("a number");
        let (unchanged, copied) = (bytes("unchanged_bytes"), bytes("copied_out_bytes"));
        (unchanged, copied, bytes("state_bytes"), ended.stderr)
    };
    let base = folder.join("first");
    let base = ["--base", base.to_str().expect("UTF-8")];
    let (none, all, state, _) = take("first", &[]);
    assert_eq!(none, 0);
    let (unchanged, copied, same_state, _) = take("second", &base);
    assert!(
        unchanged >= QUIET && copied + unchanged == all,
        "{unchanged} and {copied} of {all}"
    );
    assert_eq!(state, same_state);
    for folder in fs::read_dir(folder.join("first/chunks")).expect("its chunks") {
        for chunk in fs::read_dir(folder.expect("an entry").path()).expect("a folder") {
            let path = chunk.expect("an entry").path();
            let mut bytes = fs::read(&path).expect("a chunk");
            *bytes.last_mut().expect("a byte") ^= 1;
            // A file of its own: the second checkpoint shares the other.
            fs::remove_file(&path).expect("it is ours");
            fs::write(&path, bytes).expect("it is ours");
        }
    }
    let (none, copied, _, said) = take("third", &base);
    assert_eq!((none, copied), (0, all));
    assert!(said.contains("first is damaged"), "{said}");
    folder.rounds_enough_of(&["log"], 2);
    assert!(session.wait(LIMIT).expect("it ends").success());
    for name in ["second", "third"] {
        restore(&folder.join(name)).well();
    }
}
