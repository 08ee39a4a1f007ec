//! Several processes that `strobe run` has started are one: saved at one cut, whichever of them is named,
//! and brought back together.

use std::fs;

use strobe_evaluation::Session;
use strobe_program::process;

use crate::harness::{Folder, LIMIT, checkpoint_of, hip_program, restore, run, start, verify};

/// Until they are told otherwise.
const FOR_EVER: &str = "1000000";

/// The processes below a program's first, in the order in which they were made.
fn below(session: &Session) -> Vec<u32> {
    let mut below = process::tree(session.pid()).expect("it runs");
    below.remove(0);
    below.sort_unstable();
    below
}

/// Brings `workers` back, which is dead, has it end, and compares what it has said with what it says when nobody
/// interrupts it.
fn workers_end_as_they_would_have(program: &str, folder: &Folder) {
    let rounds = folder.rounds_enough_of(&["stdout"], 30);
    restore(&folder.join("images")).well();
    let said = fs::read_to_string(folder.join("stdout")).expect("its output");
    let whole = Folder::new("workers-whole");
    let session = start(&whole, &[program, &rounds.to_string()]);
    assert!(session.wait(LIMIT).expect("it ends").success());
    let whole = fs::read_to_string(whole.join("stdout")).expect("its output");
    assert!(whole.ends_with("end\n"), "{whole}");
    assert_eq!(said, whole);
}

/// Each of its workers uses the GPU, and none of what one sends another is lost or comes twice.
#[test]
fn processes_that_all_use_the_gpu_come_back_from_one_cut() {
    let program = hip_program("soak/workers.cpp");
    // The first has no agent, the others have one each.
    for (named, options) in [(0, ["--mode", "cow"]), (2, ["--mode", "stop"])] {
        let folder = Folder::new(&format!("workers-{named}"));
        let mut session = start(&folder, &[&program, FOR_EVER, "stdout"]);
        session
            .wait_for("stdout", "round 7 ", LIMIT)
            .expect("it works");
        let all = [vec![session.pid()], below(&session)].concat();
        assert_eq!(all.len(), 4, "{all:?}");
        let images = folder.join("images");
        let taken = checkpoint_of(all[named], &images, &options).well();
        assert!(taken.stdout.contains("3 GPU processes"), "{}", taken.stdout);
        verify(&images).well();
        assert!(all.iter().all(|pid| process::exists(*pid)), "one has ended");
        session.kill().expect("it dies");
        workers_end_as_they_would_have(&program, &folder);
    }
}

/// With `--kill` all of them end with the checkpoint.
#[test]
fn all_processes_end_with_a_checkpoint_that_kills() {
    let program = hip_program("soak/workers.cpp");
    let folder = Folder::new("workers-killed");
    let mut session = start(&folder, &[&program, FOR_EVER, "stdout"]);
    session
        .wait_for("stdout", "round 5 ", LIMIT)
        .expect("it works");
    let all = [vec![session.pid()], below(&session)].concat();
    let images = folder.join("images");
    checkpoint_of(all[1], &images, &["--kill"]).well();
    let left = all
        .iter()
        .filter(|pid| process::stat(**pid).is_ok_and(|stat| !stat.is_dead()));
    assert_eq!(left.count(), 0);
    session.wait(LIMIT).expect("it was killed");
    workers_end_as_they_would_have(&program, &folder);
}

/// What the shell does after its program is done comes back with it.
#[test]
fn a_script_is_saved_with_the_program_that_it_waits_for() {
    let program = hip_program("mixed.cpp");
    let folder = Folder::new("script");
    let script = format!("{program} 150 log; echo ended with $? > report; exit 7");
    let mut session = start(&folder, &["bash", "-c", &script]);
    session
        .wait_for("log", "round 4 ", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    let [program] = below(&session)[..] else {
        panic!("not one program: {:?}", below(&session));
    };
    let options = ["--json"];
    let taken = checkpoint_of(program, &images, &options).well();
    let report: serde_json::Value = serde_json::from_str(&taken.stdout).expect("JSON");
    assert_eq!(report["pid"], session.pid(), "the shell is the root");
    assert_eq!(report["gpu_processes"], 1);
    session.signal("KILL").expect("it runs");
    strobe_evaluation::session::signal(program, "KILL").expect("it runs");
    session.gone().expect("they are gone");
    assert!(!folder.join("report").exists());
    let ended = restore(&images);
    assert_eq!(ended.code, Some(7), "{}", ended.stderr);
    let report = fs::read_to_string(folder.join("report")).expect("the shell has written it");
    assert_eq!(report, "ended with 0\n");
    let log = fs::read_to_string(folder.join("log")).expect("its log");
    assert!(log.ends_with("end rounds 150\n"), "{log}");
}

/// Semaphores with a name, shared memory with a name, queues and pipes between processes: each time as they were.
#[test]
fn data_loaders_come_back_with_their_trainer_as_often_as_wanted() {
    let loader = strobe_evaluation::compile::sources().join("soak/loader.py");
    let loader = loader.to_str().expect("a path in UTF-8");
    for method in ["fork", "spawn"] {
        let whole = Folder::new("loaders-whole");
        let session = start(&whole, &["python3", loader, method, "250"]);
        assert!(session.wait(LIMIT).expect("it ends").success());
        let whole = fs::read_to_string(whole.join("stdout")).expect("its output");
        let folder = Folder::new(&format!("loaders-{method}"));
        let mut session = start(&folder, &["python3", loader, method, "250"]);
        session
            .wait_for("stdout", "round 9 ", LIMIT)
            .expect("it works");
        let images = folder.join("images");
        checkpoint_of(session.pid(), &images, &[]).well();
        session.kill().expect("it dies");
        for time in 1..=3 {
            restore(&images).well();
            let said = fs::read_to_string(folder.join("stdout")).expect("its output");
            assert_eq!(said, whole, "{method}, time {time}");
        }
    }
}

/// A shell that has one GPU program after the other, and none for a while.
#[test]
fn between_two_programs_of_a_script_a_checkpoint_waits_for_the_next() {
    let program = hip_program("mixed.cpp");
    let folder = Folder::new("script-between");
    let script = format!("{program} 3 first; echo over > between; : <gate; {program} 150 log");
    let gate = folder.join("gate");
    nix::unistd::mkfifo(&gate, nix::sys::stat::Mode::S_IRWXU).expect("a FIFO");
    let mut session = start(&folder, &["bash", "-c", &script]);
    session
        .wait_for("between", "", LIMIT)
        .expect("the first program ends");
    let pid = session.pid();
    // Nobody opens the gate: the next one does not come.
    let refused = run(["checkpoint", &pid.to_string(), "--check"]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    let sentence = "and one has: try again when one does";
    for said in ["(tried for 5 s)", sentence] {
        assert!(refused.stdout.contains(said), "{}", refused.stdout);
    }
    let opens = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(1_500));
        fs::write(gate, "").expect("the shell opens it, too");
    });
    let images = folder.join("images");
    checkpoint_of(pid, &images, &[]).well();
    opens.join().expect("it is open");
    verify(&images).well();
    run(["checkpoint", &pid.to_string(), "--check"]).well();
    session.kill().expect("it dies");
}

/// Whichever of them runs when it is asked for, and wherever that one is in its life.
#[test]
fn a_script_of_short_programs_is_saved_at_any_moment() {
    let program = hip_program("mixed.cpp");
    let folder = Folder::new("script-short");
    let script = format!("while :; do {program} 4 log; echo over >> ended; done");
    let mut session = start(&folder, &["bash", "-c", &script]);
    session
        .wait_for("ended", "", LIMIT)
        .expect("the first program ends");
    let pid = session.pid().to_string();
    for _ in 0..6 {
        run(["checkpoint", &pid, "--check"]).well();
        let images = folder.join("images");
        checkpoint_of(session.pid(), &images, &[]).well();
        fs::remove_dir_all(images).expect("it is there");
    }
    session.kill().expect("it dies");
}

#[test]
fn a_script_that_has_never_used_the_gpu_is_refused_at_once() {
    let folder = Folder::new("script-idle");
    let script = "while :; do sleep 0.05; echo over >> ended; done";
    let mut session = start(&folder, &["bash", "-c", script]);
    session.wait_for("ended", "", LIMIT).expect("it works");
    let pid = session.pid();
    let taken = checkpoint_of(pid, &folder.join("images"), &[]).badly(&["try again when"]);
    let checked = run(["checkpoint", &pid.to_string(), "--check"]);
    for refused in [taken, checked] {
        assert_eq!(refused.code, Some(3), "{}", refused.stderr);
        assert!(!refused.stderr.contains("tried"), "{}", refused.stderr);
    }
    session.kill().expect("it dies");
}
