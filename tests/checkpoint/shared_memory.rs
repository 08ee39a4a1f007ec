//! Device memory that processes of a program share by HIP's handles.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use strobe_evaluation::Session;

use crate::harness::environment::{Environment, wait_until};
use crate::harness::{
    Folder, LIMIT, checkpoint, checkpoint_of, hip_program, restore_on, strobe, verify,
};

fn options(device: &[&str]) -> Vec<String> {
    device.iter().map(|&option| option.to_owned()).collect()
}

fn start_on(device: &[&str], folder: &Path, program: &[&str]) -> Session {
    Session::start(&strobe(), &options(device), program, folder).expect("the program starts")
}

/// A ring of processes that add up what all have, each by what it reads of its neighbour's memory; each compares
/// every round with the host's own model. Saved, brought back, saved once more and brought back on the last of
/// these devices.
fn ring_comes_back(name: &str, ranks: usize, devices: [&[&str]; 3]) {
    let program = hip_program("ring.cpp");
    let ranks_word = ranks.to_string();
    let folder = Folder::new(name);
    let log = folder.join("log");
    // Until they are told otherwise.
    let resting = [program.as_str(), &ranks_word, "1000000", "log", "60"];
    let mut session = start_on(devices[0], folder.path(), &resting);
    let mut rounds = 0;
    for (time, lines) in [(1, 4), (2, 9)] {
        let works = session.wait_for_lines(&log, lines, LIMIT);
        assert!(works.expect("it works"), "it has ended");
        // Anywhere in a round.
        let delay = u64::from(session.pid()) * 7919 % 90_000;
        thread::sleep(Duration::from_micros(delay));
        let images = folder.join(&format!("images-{time}"));
        // All wait for one another, and on a busy machine for the processor too.
        let mut asked = vec!["--drain-timeout", "60"];
        if time == 2 {
            asked.push("--kill");
        }
        let taken = checkpoint(&session, &images, &asked).well();
        let processes = format!("{ranks} GPU processes");
        assert!(taken.stdout.contains(&processes), "{}", taken.stdout);
        verify(&images).well();
        if time == 2 {
            session.gone().expect("it was killed");
            rounds = folder.rounds_enough();
            restore_on(&images, devices[2]).well();
            break;
        }
        session.kill().expect("it dies");
        let said = folder.join("said");
        fs::create_dir(&said).expect("a folder");
        let restored = Session::restore(&strobe(), &options(devices[1]), &images, &said, LIMIT);
        session = restored.expect("it comes back");
    }
    let log = fs::read_to_string(log).expect("its log");
    let whole = Folder::new(&format!("{name}-whole"));
    let words = [program.as_str(), &ranks_word, &rounds.to_string(), "log"];
    let session = start_on(devices[0], whole.path(), &words);
    assert!(session.wait(LIMIT).expect("it ends").success());
    let whole = fs::read_to_string(whole.join("log")).expect("its log");
    assert_eq!(log, whole);
}

#[test]
fn two_processes_on_one_gpu_share_their_memory_again_and_again() {
    ring_comes_back("ring-one", 2, [&["--ipc"]; 3]);
}

#[test]
fn a_ring_of_four_on_four_gpus_comes_back_also_on_others() {
    let four: &[&str] = &["--ipc", "--gpus", "4"];
    let others: &[&str] = &["--ipc", "--gpu-ids", "0x8888,0x6666,0x7777,0x5555"];
    let last: &[&str] = &["--ipc", "--gpu-ids", "0x1,0x6666,0x2,0x8888"];
    ring_comes_back("ring-four", 4, [four, others, last]);
}

/// Each is a program of its own, and neither comes back without the other.
#[test]
fn who_shares_memory_with_a_process_outside_of_the_program_is_refused() {
    let program = hip_program("lends.cpp");
    let folder = Folder::new("lends");
    let mut place = Environment::new(&folder, &["--ipc"]);
    let mut start = |what: &str, says: &str| {
        let process = place.start_traced(what, &[&program, what, "handle"]);
        wait_until("handle", || process.output().contains(says).then_some(()));
        process
    };
    let lender = start("lend", "lent");
    let borrower = start("borrow", "borrowed");
    let images = folder.join("images");
    for (process, function) in [
        (&lender, "hipIpcGetMemHandle"),
        (&borrower, "hipIpcOpenMemHandle"),
    ] {
        checkpoint_of(process.pid(), &images, &[]).badly(&[function, "the program"]);
        assert!(!images.exists());
        assert!(process.is_alive(), "{}", process.output());
    }
}
