//! Device memory that the processes of a program share, without an agent: it is one memory again.

use std::fs::File;

use strobe_criu::run::softgpu_library;
use strobe_program::process;
use strobe_proto::{SharedBuffers, files, frame};

use super::harness::{self, restore_on};
use super::{Folder, Run, hip_program, start_bare_on, strobe, text, wait_until};

const ONE: &[&str] = &["--ipc"];
const FOUR: &[&str] = &["--ipc", "--gpu-ids", "0x1111,0x2222,0x3333,0x4444"];

/// By CRIU, with our plugin.
fn by_criu(run: &Run, device: &[&str]) {
    let status = run.restore_on_new_device(&run.images, device);
    assert!(status.success(), "{}", run.log("restore.log"));
}

/// As a checkpoint that the images are imported into.
fn by_import(run: &Run, device: &[&str]) {
    let checkpoint = run.work.join("imported");
    harness::run([
        "import".as_ref(),
        run.images.as_os_str(),
        checkpoint.as_os_str(),
    ])
    .well();
    restore_on(&checkpoint, device).well();
}

/// Processes that add up what all of them have, each by what it reads of its neighbour's memory.
fn ring_comes_back(
    name: &str,
    ranks: usize,
    (before, after): (&[&str], &[&str]),
    restore: fn(&Run, &[&str]),
) {
    const ROUNDS: &str = "40";
    let folder = Folder::new(name);
    let program = hip_program("ring.cpp");
    let ranks_word = ranks.to_string();
    let output = strobe()
        .command()
        .arg("softgpu")
        .args(before)
        .args(["--", &program, &ranks_word, ROUNDS])
        .output()
        .expect("strobe starts");
    let expected = String::from_utf8(output.stdout).expect("text");
    let end = format!("end ranks {ranks} rounds {ROUNDS}\n");
    assert!(expected.ends_with(&end), "{expected}");

    let words = [ranks_word.as_str(), ROUNDS, "log", "400"];
    let (_device, pid) = start_bare_on(before, &folder, &program, &words);
    let log = folder.join("log");
    wait_until("round", || text(&log).contains("round 3 "));
    let library = softgpu_library(pid)
        .expect("its maps")
        .expect("it is on the software GPU");
    let all = process::tree(pid).expect("it runs");
    assert_eq!(all.len(), ranks);
    let run = Run::new(&folder, "images", Some(library));
    run.dump(pid, false).expect("CRIU dumps it");
    assert!(!text(&log).contains("end"), "it was too fast for the test");
    let mut image = File::open(run.images.join(files::SHARED_BUFFERS)).expect("an image");
    let shared: SharedBuffers = frame::read_image(&mut image).expect("what is shared");
    let ends: Vec<usize> = shared.buffers.iter().map(|b| b.names.len()).collect();
    assert_eq!(ends, vec![2; ranks], "{shared:?}");
    wait_until("free process numbers", || {
        !all.iter().any(|pid| process::exists(*pid))
    });
    restore(&run, after);
    let output = text(&folder.join("output"));
    assert_eq!(
        text(&log),
        expected,
        "it came back other than it was: {output}"
    );
}

#[test]
fn two_processes_on_one_gpu_share_their_memory_again() {
    ring_comes_back("criu-ring-one", 2, (ONE, ONE), by_criu);
}

#[test]
fn images_of_processes_that_share_memory_are_imported() {
    ring_comes_back("criu-ring-import", 2, (ONE, ONE), by_import);
}

#[test]
fn a_ring_of_four_on_four_gpus_comes_back() {
    ring_comes_back("criu-ring", 4, (FOUR, FOUR), by_criu);
}

#[test]
fn a_ring_of_four_comes_back_on_gpus_of_other_numbers_and_in_another_order() {
    let others = &["--ipc", "--gpu-ids", "0x8888,0x6666,0x7777,0x5555"];
    ring_comes_back("criu-ring-others", 4, (FOUR, others), by_criu);
    let order = &["--ipc", "--gpu-ids", "0x3333,0x1111,0x4444,0x2222"];
    ring_comes_back("criu-ring-order", 4, (FOUR, order), by_criu);
}

#[test]
fn a_ring_without_large_bar_comes_back() {
    let hidden = &["--ipc", "--gpus", "3", "--private-vram"];
    ring_comes_back("criu-ring-private", 3, (hidden, hidden), by_criu);
}
