//! Counts over the kernels of a library.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::claims::Claim;
use super::comparison::{Findings, compare};
use super::family::family;
use super::timing::EvaluationTimes;

/// Kernels for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReasonCount {
    pub kernels: u64,
    /// One of them, as in the file.
    pub example: String,
    /// The file it is in.
    pub file: String,
    /// How many were made of which function.
    pub families: BTreeMap<String, u64>,
}

/// One side (reads or writes) by one way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SideTally {
    /// Resolved to arguments.
    pub exact: u64,
    /// Why others are not.
    pub reasons: BTreeMap<String, ReasonCount>,
    /// Held against the machine code; of that itself nothing is said.
    pub findings: Findings,
    /// A kernel of which it leaves out an argument.
    pub missed_example: Option<String>,
}

/// Both sides by one way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WayTally {
    pub reads: SideTally,
    pub writes: SideTally,
}

/// The kernel that took longest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Slowest {
    pub name: String,
    pub file: String,
    pub seconds: f64,
}

/// All that is known of a library.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LibraryTally {
    pub library: String,
    pub kernels: u64,
    /// Names that differ: programs of a test suite have many kernels in common.
    pub names: u64,
    /// Without a body: the compiler took it for unreachable, as variants for other processors are. Nothing is said
    /// of them: they are no part of what follows.
    pub empty: u64,
    /// The limit was reached: there are more.
    pub cut: bool,
    /// Code objects and files that could not be read, and why.
    pub refused: Vec<String>,
    pub signature: WayTally,
    pub metadata: WayTally,
    pub machine: WayTally,
    /// Not exact by machine code, but once the content of tables is known that are reached from arguments: all else
    /// is.
    pub writes_by_tables: u64,
    /// Of the exact ones by machine code: the place of each write is said in terms of arguments and ids. That of
    /// others is known at a launch at the earliest.
    pub writes_worded: u64,
    /// Of processor time, for analyses alone.
    pub seconds: f64,
    pub slowest: Slowest,
    /// Of one launch of each kernel.
    pub evaluation: EvaluationTimes,
    /// Of the process that has evaluated it, bytes at the most.
    pub peak_memory: u64,
}

impl SideTally {
    pub(super) fn add(&mut self, claim: &Claim, machine: Option<&Claim>, name: &str, file: &str) {
        match claim {
            Claim::Arguments(_) => self.exact += 1,
            Claim::Inexact(reason) => {
                let count = self.reasons.entry(reason.clone()).or_default();
                if count.kernels == 0 {
                    (count.example, count.file) = (name.to_owned(), file.to_owned());
                }
                count.kernels += 1;
                *count.families.entry(family(name)).or_default() += 1;
            }
        }
        if let Some(machine) = machine {
            let missed = self.findings.missed;
            self.findings.add(compare(claim, machine));
            if self.findings.missed > missed && self.missed_example.is_none() {
                self.missed_example = Some(name.to_owned());
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        self.exact += other.exact;
        for (reason, count) in &other.reasons {
            let known = self.reasons.entry(reason.clone()).or_default();
            if known.kernels == 0 {
                (known.example, known.file) = (count.example.clone(), count.file.clone());
            }
            known.kernels += count.kernels;
            for (family, kernels) in &count.families {
                *known.families.entry(family.clone()).or_default() += kernels;
            }
        }
        self.findings.merge(&other.findings);
        if self.missed_example.is_none() {
            self.missed_example.clone_from(&other.missed_example);
        }
    }

    /// Reasons, the most frequent first.
    pub fn ranked(&self) -> Vec<(&str, &ReasonCount)> {
        let mut ranked: Vec<_> = self
            .reasons
            .iter()
            .map(|(reason, count)| (reason.as_str(), count))
            .collect();
        ranked.sort_by_key(|(_, count)| std::cmp::Reverse(count.kernels));
        ranked
    }
}

impl ReasonCount {
    /// The functions of which most were made, and how many.
    pub fn most(&self, functions: usize) -> Vec<(&str, u64)> {
        let families = self.families.iter();
        let mut ranked: Vec<_> = families
            .map(|(name, count)| (name.as_str(), *count))
            .collect();
        ranked.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        ranked.truncate(functions);
        ranked
    }
}

impl WayTally {
    fn merge(&mut self, other: &Self) {
        self.reads.merge(&other.reads);
        self.writes.merge(&other.writes);
    }
}

impl LibraryTally {
    /// All of them as one, by that name.
    pub fn sum(name: &str, libraries: &[Self]) -> Self {
        let mut sum = Self {
            library: name.to_owned(),
            ..Self::default()
        };
        for library in libraries {
            sum.kernels += library.kernels;
            sum.names += library.names;
            sum.empty += library.empty;
            sum.cut |= library.cut;
            sum.refused.extend_from_slice(&library.refused);
            sum.signature.merge(&library.signature);
            sum.metadata.merge(&library.metadata);
            sum.machine.merge(&library.machine);
            sum.writes_by_tables += library.writes_by_tables;
            sum.writes_worded += library.writes_worded;
            sum.seconds += library.seconds;
            sum.evaluation.merge(&library.evaluation);
            if library.slowest.seconds > sum.slowest.seconds {
                sum.slowest = library.slowest.clone();
            }
            sum.peak_memory = sum.peak_memory.max(library.peak_memory);
        }
        sum
    }

    /// Kernels that have a body, a second.
    pub fn rate(&self) -> f64 {
        if self.seconds > 0.0 {
            self.kernels.saturating_sub(self.empty) as f64 / self.seconds
        } else {
            0.0
        }
    }

    /// In percent of the kernels that have a body.
    pub fn share(&self, part: u64) -> f64 {
        100.0 * part as f64 / self.kernels.saturating_sub(self.empty).max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_counted_with_the_first_kernel_of_each() {
        let mut side = SideTally::default();
        let budget = Claim::Inexact("budget".into());
        let call = Claim::Inexact("call".into());
        let exact = Claim::Arguments([0].into());
        for (claim, name) in [(&call, "a"), (&budget, "b"), (&budget, "c"), (&exact, "d")] {
            side.add(claim, Some(&exact), name, "file");
        }
        assert_eq!(side.exact, 1);
        let ranked: Vec<_> = side
            .ranked()
            .into_iter()
            .map(|(reason, count)| (reason, count.kernels, count.example.as_str()))
            .collect();
        assert_eq!(ranked, [("budget", 2, "b"), ("call", 1, "a")]);
        assert_eq!((side.findings.inexact, side.findings.same), (3, 1));
        assert_eq!(side.reasons["budget"].most(1), [("b", 1)]);
    }

    #[test]
    fn a_sum_keeps_what_was_most() {
        let library = |kernels, seconds, peak_memory| LibraryTally {
            kernels,
            seconds,
            peak_memory,
            slowest: Slowest {
                seconds,
                ..Slowest::default()
            },
            ..LibraryTally::default()
        };
        let sum = LibraryTally::sum("all", &[library(3, 2.0, 10), library(1, 0.5, 20)]);
        assert_eq!((sum.kernels, sum.peak_memory), (4, 20));
        assert_eq!(sum.slowest.seconds, 2.0);
        assert_eq!(sum.rate(), 1.6);
    }
}
