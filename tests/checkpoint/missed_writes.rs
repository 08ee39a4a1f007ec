//! Writes that nobody announced: kernels whose footprints are wrong, and the CPU. An image that is
//! committed is exact all the same; without validation it is not, or these tests were none.

use std::fs;
use std::path::Path;

use serde_json::Value;
use strobe_evaluation::Session;

use crate::harness::{Folder, LIMIT, checkpoint_of, hip_program, restore, run, strobe};

/// Until it is told that they are enough.
const ROUNDS: &str = "1000000";
/// Slow enough for many rounds while memory is copied.
const DEVICE: [&str; 4] = ["--link-rate", "200M", "--device-rate", "64G"];

/// A test that needs a stray of a certain moment tries so many times.
const SEEDS: u32 = 40;

/// A run of `strays`, whose cache folder is its own.
fn start_strays(folder: &Folder, kind: &str, seed: &str, cache: &Path) -> Session {
    let program = hip_program("strays.cpp");
    let cache = format!("XDG_CACHE_HOME={}", cache.display());
    let command = ["env", &cache, &program, kind, seed, ROUNDS, "log"];
    let device = DEVICE.map(str::to_owned);
    let session = Session::start(&strobe(), &device, &command, folder.path());
    session.expect("the program starts")
}

/// Its log of so many rounds when nothing interrupts it.
fn uninterrupted(kind: &str, seed: &str, rounds: usize) -> String {
    let folder = Folder::new(&format!("strays-alone-{kind}-{seed}"));
    let program = hip_program("strays.cpp");
    let log = folder.join("log");
    let rounds = rounds.to_string();
    let head = ["softgpu", "--", &program, kind, seed, &rounds];
    run(head.map(AsRef::as_ref).into_iter().chain([log.as_os_str()])).well();
    fs::read_to_string(log).expect("its log")
}

/// What became of a checkpoint in the middle of a run.
struct Trial {
    report: Value,
    exact: bool,
}

impl Trial {
    /// Checkpoint, kill, restore, and run to the end.
    fn run(kind: &str, seed: u32, options: &[&str], cache: &Path) -> Self {
        let seed = seed.to_string();
        let folder = Folder::new(&format!("strays-{kind}-{seed}"));
        let mut session = start_strays(&folder, kind, &seed, cache);
        session
            .wait_for("log", "round 8 ", LIMIT)
            .expect("it works");
        let images = folder.join("images");
        let options = [options, &["--json"]].concat();
        let ended = checkpoint_of(session.pid(), &images, &options).well();
        let report = serde_json::from_str(&ended.stdout).expect("a report");
        session.kill().expect("it dies");
        let rounds = folder.rounds_enough();
        restore(&images).well();
        let log = fs::read_to_string(folder.join("log")).expect("its log");
        Self {
            report,
            exact: log == uninterrupted(kind, &seed, rounds),
        }
    }

    /// The kernels suspected in each attempt that was given up.
    fn suspects(&self) -> Vec<Vec<String>> {
        let missed = self.report["missed_writes"].as_array().expect("a list");
        let names = |write: &Value| {
            let names = write["suspects"].as_array().expect("a list");
            let name = |name: &Value| name.as_str().expect("a name").to_owned();
            names.iter().map(name).collect()
        };
        missed.iter().map(names).collect()
    }
}

/// Takes checkpoints of `kind` with several seeds; how many attempts had to be given up.
fn all_are_exact(
    kind: &str,
    culprit: Option<&str>,
    mode: &str,
    seeds: std::ops::Range<u32>,
) -> usize {
    let mut given_up = 0;
    for seed in seeds {
        let cache = Folder::new(&format!("cache-{kind}-{seed}"));
        let trial = Trial::run(kind, seed, &["--mode", mode], cache.path());
        assert!(trial.exact, "{kind} {seed}: {}", trial.report);
        for suspects in trial.suspects() {
            given_up += 1;
            match culprit {
                Some(culprit) => assert!(
                    suspects.iter().any(|name| name.contains(culprit)),
                    "{kind} {seed}: {suspects:?}"
                ),
                None => assert!(mode == "cow" || suspects.is_empty(), "{suspects:?}"),
            }
        }
    }
    given_up
}

#[test]
fn a_kernel_that_writes_another_buffer_makes_no_wrong_image() {
    let given_up = all_are_exact("buffer", Some("stray_buffer"), "cow", 0..6);
    assert!(given_up >= 3, "the strays were hardly noticed: {given_up}");
}

#[test]
fn a_kernel_that_writes_one_byte_elsewhere_makes_no_wrong_image() {
    let given_up = all_are_exact("byte", Some("stray_byte"), "cow", 0..6);
    assert!(given_up >= 3, "the strays were hardly noticed: {given_up}");
}

#[test]
fn a_kernel_that_is_said_to_write_nothing_makes_no_wrong_image() {
    all_are_exact("nothing", Some("stray_buffer"), "cow", 0..3);
}

#[test]
fn stores_of_the_cpu_make_no_wrong_image() {
    all_are_exact("cpu", None, "cow", 0..4);
    all_are_exact("cpu", None, "stop", 0..2);
}

/// A fingerprint of any other moment than the cut could be right again when the copy is made.
#[test]
fn a_word_that_goes_back_and_forth_is_as_it_was_at_the_cut() {
    let all = |seeds| all_are_exact("flag", Some("stray_flag"), "cow", seeds);
    // That it was away at the cut, and is back when the copy is made, is luck.
    let given_up = all(0..8) > 0 || (8..SEEDS).any(|seed| all(seed..seed + 1) > 0);
    assert!(given_up, "the flag was never noticed");
    all_are_exact("cpu_flag", None, "cow", 0..8);
}

#[test]
fn nobody_is_accused_where_nobody_strays() {
    for seed in 0..3 {
        let cache = Folder::new(&format!("cache-honest-{seed}"));
        for mode in ["cow", "stop"] {
            let trial = Trial::run("honest", seed, &["--mode", mode], cache.path());
            assert!(trial.exact, "{}", trial.report);
            assert!(trial.suspects().is_empty(), "{}", trial.report);
            assert_eq!(trial.report["validate"], "full");
            let bytes = |name: &str| trial.report[name].as_u64().expect("a number");
            let fingerprinted = bytes("fingerprinted_bytes");
            assert!(fingerprinted >= 24 << 16, "{}", trial.report);
        }
        let noted = cache.join("strobe/distrusted");
        assert!(!noted.exists(), "nobody is noted");
    }
}

/// The comparison is what makes the others right.
#[test]
fn without_validation_strays_make_wrong_images() {
    let mut wrong = 0;
    for (kind, seed) in [("buffer", 0), ("byte", 1), ("buffer", 2), ("buffer", 3)] {
        let cache = Folder::new(&format!("cache-off-{seed}"));
        let trial = Trial::run(kind, seed, &["--validate", "off"], cache.path());
        assert!(trial.suspects().is_empty(), "{}", trial.report);
        wrong += u32::from(!trial.exact);
    }
    assert!(wrong >= 2, "only {wrong} of 4 images are wrong");
}

/// A run in which the kernel is named.
fn find_out(cache: &Path) {
    for seed in 0..SEEDS {
        let trial = Trial::run("buffer", seed, &[], cache);
        assert!(trial.exact, "{}", trial.report);
        let attempts = trial.suspects();
        assert!(attempts.iter().all(|named| !named.is_empty()));
        if !attempts.is_empty() {
            return;
        }
    }
    panic!("nobody was named in {SEEDS} checkpoints");
}

#[test]
fn a_kernel_that_was_found_out_is_distrusted_in_later_runs() {
    let cache = Folder::new("cache-later");
    find_out(cache.path());
    let second = Trial::run("buffer", 0, &[], cache.path());
    assert!(
        second.exact && second.suspects().is_empty(),
        "{}",
        second.report
    );

    // What is not the command's is nothing, and goes when there is something to note.
    let folder = cache.join("strobe/distrusted");
    let noted = fs::read_dir(&folder).expect("the folder").next();
    let file = noted.expect("a file").expect("an entry").path();
    fs::write(&file, [0xff; 1000]).expect("it is writable");
    find_out(cache.path());
    let text = fs::read_to_string(&file).expect("text again");
    assert!(text.contains("stray_buffer"), "{text}");
}

#[test]
fn what_was_missed_is_said_in_a_sentence() {
    for seed in 0..SEEDS {
        let folder = Folder::new(&format!("strays-said-{seed}"));
        let cache = Folder::new(&format!("cache-said-{seed}"));
        let mut session = start_strays(&folder, "buffer", &seed.to_string(), cache.path());
        session
            .wait_for("log", "round 8 ", LIMIT)
            .expect("it works");
        let images = folder.join("images");
        let said = checkpoint_of(session.pid(), &images, &[]).well().stderr;
        if said.contains("written unannounced") {
            for words in ["taken again", "stray_buffer"] {
                assert!(said.contains(words), "{said}");
            }
            return;
        }
    }
    panic!("nothing was missed in {SEEDS} checkpoints");
}
