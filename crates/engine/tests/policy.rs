//! What is chosen, and what must hold of it whatever is measured.

use std::time::Duration;
use strobe_engine::{Choice, ChosenFor, CopyRates, CopyWay, Facts, Predicted};

const MB: u64 = 1_000_000;
const MS: Duration = Duration::from_millis(1);

/// A training step writes nearly all, on a machine whose memory is 32 times as fast as the link.
fn training() -> Facts {
    Facts {
        tracked: 256 * MB,
        room: 384 * MB,
        half: Some(100 * MS),
        written: Some(250 * MB),
        rates: CopyRates {
            link: Some(200 * MB),
            aside: Some(6400 * MB),
            fingerprints: Some(6400 * MB),
        },
        rest: Some(80 * MS),
        ..Facts::default()
    }
}

/// A server writes little.
fn serving() -> Facts {
    Facts {
        half: Some(10 * MS),
        written: Some(MB),
        ..training()
    }
}

fn of(choice: &Choice, way: CopyWay) -> Predicted {
    let mut all = choice.predicted.iter();
    *all.find(|one| one.way == way).expect("it was possible")
}

#[test]
fn a_program_goes_on_where_copies_inside_the_device_are_fast() {
    let choice = training().choose();
    assert_eq!(
        (choice.way, choice.why),
        (CopyWay::Cow, ChosenFor::LosesLeast)
    );
    let (cow, stop) = (of(&choice, CopyWay::Cow), of(&choice, CopyWay::Stop));
    // 80 ms of the rest, 40 ms of fingerprints, and 250 MB inside, or 256 MB over the link.
    assert_eq!(cow.stall.as_micros(), 80_000 + 40_000 + 39_062);
    assert_eq!(stop.stall.as_micros(), 80_000 + 40_000 + 1_280_000);
    assert_eq!((cow.memory, stop.memory), (384 * MB, 0));
    assert_eq!(choice.expected(), Some(cow));
    assert_eq!(serving().choose().way, CopyWay::Cow);
}

#[test]
fn it_is_stopped_where_copies_gain_nothing() {
    let slow = |facts: Facts| Facts {
        rates: CopyRates {
            aside: Some(100 * MB),
            ..facts.rates
        },
        ..facts
    };
    let choice = slow(training()).choose();
    assert_eq!(
        (choice.way, choice.why),
        (CopyWay::Stop, ChosenFor::NothingGains)
    );
    // Who writes little does not wait for what it does not write.
    assert_eq!(slow(serving()).choose().way, CopyWay::Cow);
    let very_slow = CopyRates {
        aside: Some(MB),
        ..serving().rates
    };
    let facts = Facts {
        rates: very_slow,
        ..serving()
    };
    assert_eq!(facts.choose().way, CopyWay::Recopy);
}

#[test]
fn of_a_loop_that_nobody_knows_all_may_be_written() {
    let unknown = Facts {
        half: None,
        written: None,
        ..serving()
    };
    let all = Facts {
        written: Some(u64::MAX),
        ..unknown
    };
    assert_eq!(unknown.choose(), all.choose());
}

#[test]
fn what_finds_no_room_waits_for_the_link() {
    let tight = Facts {
        room: 8 * MB,
        ..training()
    };
    assert_eq!(tight.choose().way, CopyWay::Stop);
    let none = Facts {
        room: 0,
        ..serving()
    };
    assert_eq!(none.choose().way, CopyWay::Recopy);
}

#[test]
fn a_program_that_is_moved_is_copied_before_where_it_writes_little() {
    let moved = |facts| Facts {
        killed: true,
        ..facts
    };
    let choice = moved(serving()).choose();
    assert_eq!(choice.way, CopyWay::Recopy);
    assert_eq!(
        choice.predicted.len(),
        2,
        "copy-on-write is for who goes on"
    );
    assert_eq!(moved(training()).choose().way, CopyWay::Stop);
}

#[test]
fn what_is_not_known_is_not_relied_on() {
    let no_link = Facts {
        rates: CopyRates::default(),
        ..training()
    };
    let choice = no_link.choose();
    assert_eq!(
        (choice.way, choice.why),
        (CopyWay::Stop, ChosenFor::NotMeasured)
    );
    assert_eq!(choice.expected(), None);
    let no_aside = Facts {
        rates: CopyRates {
            aside: None,
            ..training().rates
        },
        ..training()
    };
    assert_eq!(no_aside.choose().way, CopyWay::Stop);
    for nothing in [
        Facts::default(),
        Facts {
            tracked: 0,
            ..training()
        },
    ] {
        assert_eq!(nothing.choose().why, ChosenFor::OnlyFrozen);
    }
    let several_gpus = Facts {
        only_frozen: true,
        ..training()
    };
    assert_eq!(several_gpus.choose().way, CopyWay::Stop);
}

#[test]
fn what_an_earlier_checkpoint_has_is_not_copied() {
    let unchanged = Facts {
        unchanged: 255 * MB,
        ..serving()
    };
    let (before, after) = (serving().choose(), unchanged.choose());
    assert_eq!(of(&after, CopyWay::Stop).copying, 5 * MS);
    assert!(of(&after, CopyWay::Stop).stall < of(&before, CopyWay::Stop).stall);
}

#[test]
fn processes_count_together_and_who_has_nothing_does_not() {
    let nothing = Facts {
        rates: CopyRates::default(),
        ..Facts::default()
    };
    assert_eq!(Facts::join([nothing, training()]), training());
    assert_eq!(Facts::join([training(), nothing, nothing]), training());
    let both = Facts::join([training(), serving()]);
    assert_eq!((both.tracked, both.written), (512 * MB, Some(251 * MB)));
    assert_eq!(both.rates, training().rates);
    let of_one_nothing_is_known = Facts {
        rates: CopyRates::default(),
        ..serving()
    };
    let choice = Facts::join([training(), of_one_nothing_is_known]).choose();
    assert_eq!(choice.why, ChosenFor::NotMeasured);
}

/// Numbers that are not random, of all sizes.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 11) >> ((self.0 >> 5) % 53)
    }

    fn maybe(&mut self) -> Option<u64> {
        self.next()
            .is_multiple_of(5)
            .then_some(0)
            .or_else(|| Some(self.next()))
            .filter(|_| !self.0.is_multiple_of(7))
    }

    fn facts(&mut self) -> Facts {
        Facts {
            tracked: self.next(),
            unchanged: self.next() / 4,
            residual: self.next() / 4,
            room: self.next(),
            half: self.maybe().map(Duration::from_nanos),
            written: self.maybe(),
            rates: CopyRates {
                link: self.maybe(),
                aside: self.maybe(),
                fingerprints: self.maybe(),
            },
            rest: self.maybe().map(Duration::from_nanos),
            only_frozen: self.next().is_multiple_of(16),
            killed: self.next().is_multiple_of(4),
        }
    }
}

const CASES: usize = 20_000;

#[test]
fn nothing_is_chosen_that_costs_more_than_stopping() {
    let mut numbers = Numbers(1);
    let mut chosen = [0; 3];
    for _ in 0..CASES {
        let facts = numbers.facts();
        let choice = facts.choose();
        chosen[choice.way as usize] += 1;
        let Some(expected) = choice.expected() else {
            assert_eq!(choice.way, CopyWay::Stop, "{facts:?}");
            continue;
        };
        let stop = of(&choice, CopyWay::Stop);
        assert!(expected.stall <= stop.stall, "{facts:?} {choice:?}");
        assert!(expected.lost <= stop.lost, "{facts:?} {choice:?}");
        // Rounds have to gain a fifth on copy-on-write.
        let is_no_better = |one: &Predicted| {
            let may_be = u32::from(one.way == CopyWay::Recopy) + 4;
            one.copying * 5 > stop.copying * 4 || expected.lost * 4 <= one.lost * may_be
        };
        let is_best = choice.predicted.iter().all(is_no_better);
        assert!(
            choice.way == CopyWay::Stop || is_best,
            "{facts:?} {choice:?}"
        );
        assert!(!facts.killed || choice.way != CopyWay::Cow, "{facts:?}");
        assert!(
            !facts.only_frozen || choice.way == CopyWay::Stop,
            "{facts:?}"
        );
    }
    assert!(
        chosen.iter().all(|count| *count > CASES / 100),
        "{chosen:?}"
    );
}

#[test]
fn whatever_makes_copies_cheaper_never_makes_copy_on_write_dearer() {
    let mut numbers = Numbers(2);
    let cow = |facts: &Facts| {
        let choice = facts.choose();
        choice
            .predicted
            .into_iter()
            .find(|one| one.way == CopyWay::Cow)
    };
    for _ in 0..CASES {
        let facts = numbers.facts();
        let Some(before) = cow(&facts) else { continue };
        let less = |value: u64| value - value / 3;
        let more = |value: u64| value.saturating_add(value / 3);
        let better = [
            Facts {
                written: facts.written.map(less),
                ..facts
            },
            Facts {
                unchanged: more(facts.unchanged),
                ..facts
            },
            Facts {
                residual: less(facts.residual),
                ..facts
            },
            Facts {
                rates: CopyRates {
                    aside: facts.rates.aside.map(more),
                    ..facts.rates
                },
                ..facts
            },
            Facts {
                rates: CopyRates {
                    link: facts.rates.link.map(more),
                    ..facts.rates
                },
                ..facts
            },
        ];
        for better in better {
            if let Some(after) = cow(&better) {
                assert!(
                    after.stall <= before.stall && after.lost <= before.lost,
                    "{facts:?} {better:?}"
                );
            }
        }
        // A link that is slower never takes what copy-on-write had won.
        if facts.choose().way == CopyWay::Cow
            && facts.room >= facts.tracked.saturating_add(facts.residual)
        {
            let slower = CopyRates {
                link: facts.rates.link.map(less),
                ..facts.rates
            };
            let choice = Facts {
                rates: slower,
                ..facts
            }
            .choose();
            assert_ne!(choice.way, CopyWay::Stop, "{facts:?}");
        }
    }
}
