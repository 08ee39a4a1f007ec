//! The engine under a seeded simulator: tens of thousands of interleavings of threads, streams, the
//! agent's lanes and the controller, each committed image compared with the state at its cut.
//!
//! `STROBE_SIM_SEED=n` replays one seed, `STROBE_SIM_RUNS=n` runs that many.

#![forbid(unsafe_code)]

mod agent;
mod device;
mod program;
mod random;
mod world;

use agent::Mutation;
use strobe_engine::Validate;
use world::{Report, Trial, run};

/// Seeds of one test run.
const RUNS: u64 = 30_000;

fn setting(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("{name}={value} is no number")),
    )
}

#[test]
fn every_committed_image_is_the_state_at_its_cut() {
    let seeds = match setting("STROBE_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..setting("STROBE_SIM_RUNS").unwrap_or(RUNS),
    };
    let replay = seeds.end - seeds.start == 1;
    let mut sum = Report::default();
    for seed in seeds {
        let outcome = std::panic::catch_unwind(|| run(seed, Trial::GOOD));
        let report = match outcome {
            Ok(Ok(report)) => report,
            Ok(Err(difference)) => panic!("seed={seed}: {difference}"),
            Err(_) => panic!("seed={seed}: the engine or the simulator panicked, see above"),
        };
        sum.committed += report.committed;
        sum.aborted += report.aborted;
        sum.frees += report.frees;
        sum.reuses += report.reuses;
        assert_eq!(report.missed, 0, "seed={seed}: nobody lied");
        sum.statistics.bytes_aside += report.statistics.bytes_aside;
        sum.statistics.bytes_out += report.statistics.bytes_out;
        sum.statistics.writes += report.statistics.writes;
        sum.statistics.conservative_writes += report.statistics.conservative_writes;
        sum.statistics.waits += report.statistics.waits;
        sum.statistics.blocked += report.statistics.blocked;
    }
    println!("{sum:?}");
    // A simulation that never gets into trouble proves nothing.
    let s = sum.statistics;
    let reached = [
        ("committed", sum.committed),
        ("aborted", sum.aborted),
        ("frees", sum.frees),
        ("address reuses", sum.reuses),
        ("bytes aside", s.bytes_aside),
        ("conservative writes", s.conservative_writes),
        ("waits", s.waits),
        ("blocked", s.blocked),
    ];
    for (what, count) in reached {
        assert!(
            replay || count > 1000,
            "the runs hardly reached: {what} ({count})"
        );
    }
}

/// A lane that fails gives the checkpoint up: no image is wrong, and nobody is held back for good.
#[test]
fn lanes_that_fail_make_no_wrong_image_and_hold_nobody_back() {
    let trial = Trial {
        fails: 60,
        ..Trial::GOOD
    };
    let mut sum = Report::default();
    for seed in 0..LYING_RUNS {
        let report = run(seed, trial).unwrap_or_else(|why| panic!("seed={seed}: {why}"));
        sum.committed += report.committed;
        sum.aborted += report.aborted;
    }
    println!("{sum:?}");
    assert!(sum.committed > 500 && sum.aborted > 500, "{sum:?}");
}

/// The comparison can fail: each broken rule of the driver leads to a wrong image in some run.
#[test]
fn every_broken_rule_is_found() {
    let mutations = [
        Mutation::SkipWait,
        Mutation::LieInFootprint,
        Mutation::SilentFree,
        Mutation::HurriedHost,
        Mutation::LateWait,
        Mutation::EarlyAsideDone,
        Mutation::SkipDrain,
        Mutation::EarlySlotFree,
    ];
    for mutation in mutations {
        let trial = Trial {
            mutation: Some(mutation),
            validate: Validate::Off,
            ..Trial::GOOD
        };
        let found = (0..5000).find_map(|seed| Some((seed, run(seed, trial).err()?)));
        let Some((seed, difference)) = found else {
            panic!("{mutation:?} went unnoticed in 5000 runs");
        };
        println!("{mutation:?} is noticed at seed {seed}: {difference}");
        assert!(
            difference.contains("not as it was at the cut"),
            "{mutation:?}: {difference}"
        );
    }
}

/// An engine is a GPU's: what happens on one changes nothing on the other.
#[test]
fn two_devices_at_once_are_as_each_alone() {
    let said = |seed: u64| format!("{:?}", run(seed, lying(Validate::Full)));
    for seed in 0..200 {
        let alone = [said(seed), said(seed + 1)];
        let together = std::thread::scope(|scope| {
            let runs = [seed, seed + 1].map(|seed| scope.spawn(move || said(seed)));
            runs.map(|run| run.join().expect("no panic"))
        });
        assert_eq!(alone, together, "seed {seed}");
    }
}

/// Footprints lie about a byte, a buffer or everything, and the CPU writes unseen.
const LYING_RUNS: u64 = 5000;

fn lying(validate: Validate) -> Trial {
    Trial {
        lies: true,
        validate,
        ..Trial::GOOD
    }
}

#[test]
fn where_footprints_lie_no_image_is_wrong() {
    let mut sum = Report::default();
    for seed in 0..LYING_RUNS {
        let report = match run(seed, lying(Validate::Full)) {
            Ok(report) => report,
            Err(difference) => panic!("seed={seed}: {difference}"),
        };
        sum.committed += report.committed;
        sum.missed += report.missed;
        sum.wronged += report.wronged;
    }
    println!("{sum:?}");
    assert!(sum.missed > 500 && sum.committed > sum.missed, "{sum:?}");
    assert_eq!(sum.wronged, 0, "the liar is always among the suspects");
}

/// The lies matter: without validation, or with samples only, some images are wrong.
#[test]
fn without_validation_lies_make_wrong_images() {
    for validate in [Validate::Off, Validate::Sampled { seed: 1 }] {
        let wrong = (0..LYING_RUNS)
            .filter(|seed| run(*seed, lying(validate)).is_err())
            .count();
        println!("{validate:?}: {wrong} of {LYING_RUNS} runs");
        assert!(wrong > 100, "{validate:?}: {wrong}");
    }
}

/// What was there before the cut, and is put back after it, hides a write that nobody announced.
#[test]
fn fingerprints_of_an_earlier_moment_let_wrong_images_pass() {
    let trial = Trial {
        mutation: Some(Mutation::EarlyFingerprints),
        ..lying(Validate::Full)
    };
    let found = (0..4 * LYING_RUNS).find_map(|seed| Some((seed, run(seed, trial).err()?)));
    let Some((seed, difference)) = found else {
        panic!("fingerprints that were taken too early went unnoticed");
    };
    println!("noticed at seed {seed}: {difference}");
    assert!(difference.contains("not as it was at the cut"));
}
