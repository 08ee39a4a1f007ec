//! Drivers that refuse: checkpoint and restore on a device with a plan of faults.

use std::fs;
use std::path::Path;

use strobe_evaluation::Session;

use crate::harness::{
    Ended, Folder, LIMIT, checkpoint, hip_program, restore, restore_on, strobe, verify,
};

const ROUNDS: &str = "2000";

/// Starts `mixed` on a device that fails as planned.
fn start(folder: &Folder, rounds: &str, plan: &str) -> Session {
    let program = hip_program("mixed.cpp");
    let options = ["--faults".to_owned(), plan.to_owned()];
    let mut session = Session::start(
        &strobe(),
        &options,
        &[&program, rounds, "log"],
        folder.path(),
    )
    .expect("the program starts");
    session
        .wait_for("log", "round 1 ", LIMIT)
        .expect("it works");
    session
}

fn rounds(folder: &Folder) -> usize {
    let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
    log.lines().count()
}

/// The program computes further, and what it computes is right: it ends at a wrong round.
fn goes_on(session: &mut Session, folder: &Folder) {
    let next = format!("round {} ", rounds(folder) + 2);
    session.wait_for("log", &next, LIMIT).expect("it goes on");
}

/// A checkpoint is complete, or there is one sentence and nothing else.
fn judge(ended: Ended, images: &Path) -> bool {
    if images.exists() {
        ended.well();
        verify(images).well();
        return true;
    }
    ended.badly(&[]);
    assert_ne!(verify(images).code, Some(0), "verified what is not there");
    false
}

#[test]
fn a_checkpoint_under_a_failing_driver_says_what_failed_and_the_next_one_succeeds() {
    // Each fails in the first checkpoint that gets so far.
    let plan = [
        ("criu-process-info@1=EBUSY", "stop the program's queues"),
        ("criu-checkpoint@1=EIO", "save the program's state"),
        ("context@1=ENOMEM", "set up"),
        ("create@3=ENOMEM", "set up"),
        ("import@1=ENOMEM", "opened for copying"),
        ("submit@1=ENODEV", "refuses a copy"),
        ("wait@1=EIO", "finish a copy"),
    ];
    let folder = Folder::new("faults-checkpoint");
    let rules = plan.map(|(rule, _)| rule).join(",");
    let mut session = start(&folder, ROUNDS, &rules);
    let images = folder.join("images");
    let mut sentences = Vec::new();
    loop {
        let ended = checkpoint(&session, &images, &[]);
        let sentence = ended.stderr.clone();
        let complete = judge(ended, &images);
        goes_on(&mut session, &folder);
        if complete {
            break;
        }
        sentences.push(sentence);
        assert!(sentences.len() <= plan.len(), "{sentences:?}");
    }
    for (rule, words) in plan {
        assert!(
            sentences.iter().any(|sentence| sentence.contains(words)),
            "{rule} was kept quiet: {sentences:?}"
        );
    }
    session.kill().expect("it dies");
}

#[test]
fn a_restore_under_a_failing_driver_says_what_failed_and_leaves_no_program() {
    let folder = Folder::new("faults-restore");
    let mut session = start(&folder, "400", "random@0=0");
    let images = folder.join("images");
    checkpoint(&session, &images, &[]).well();
    goes_on(&mut session, &folder);
    let pid = session.pid();
    session.kill().expect("it dies");
    let before = fs::read(folder.join("log")).expect("the log");
    for (rule, words) in [
        ("criu-restore@1=ENOMEM", "restore the program's state"),
        ("criu-resume@1=EIO", "start the program's queues"),
        ("context@1=ENOMEM", "set up"),
        ("import@2=EIO", "opened for copying"),
        ("submit@1=ENODEV", "refuses a copy"),
        ("wait@1=EIO", "finish a copy"),
    ] {
        restore_on(&images, &["--faults", rule]).badly(&[words]);
        assert!(
            !strobe_evaluation::session::is_alive(pid),
            "{rule}: a program without its memory runs"
        );
        assert_eq!(
            fs::read(folder.join("log")).expect("the log"),
            before,
            "{rule}: the log was not put forward again"
        );
        verify(&images).well();
    }
    restore(&images).well();
    let log = fs::read_to_string(folder.join("log")).expect("the log");
    assert!(log.ends_with("end rounds 400\n"), "{log}");
}

#[test]
fn random_faults_leave_complete_checkpoints_or_none() {
    let (mut complete, mut failed) = (0, 0);
    for seed in 1..=4 {
        let folder = Folder::new(&format!("faults-random-{seed}"));
        let plan = format!("random@{seed}=4");
        let mut session = start(&folder, ROUNDS, &plan);
        for turn in 0..6 {
            let images = folder.join(&format!("images-{turn}"));
            let ended = checkpoint(&session, &images, &[]);
            if judge(ended, &images) {
                complete += 1;
            } else {
                failed += 1;
            }
            goes_on(&mut session, &folder);
        }
        session.kill().expect("it dies");
    }
    assert!(
        complete > 0 && failed > 0,
        "{complete} complete, {failed} failed"
    );
}
