//! What `cargo test` says, added up.

use std::collections::VecDeque;

/// Why a test is ignored that another test runs in a process of its own.
const RUN_BY_ANOTHER: &str = "runs inside an environment";
/// How many lines are kept of what a failure said.
const WORDS: usize = 12;

/// Tests that passed and failed so far.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failures: Vec<Failure>,
    /// Of everything that was read.
    latest: VecDeque<String>,
    /// The failure whose output is being read.
    speaks: Option<usize>,
}

/// A test that failed, or something that could not be tested.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) what: String,
    /// What it said first, if it is a test; of anything else, what it said last.
    pub(crate) said: VecDeque<String>,
}

impl Counts {
    pub(crate) fn failed(&self) -> usize {
        self.failures.len()
    }

    pub(crate) fn fail(&mut self, what: String) {
        self.failures.push(Failure {
            what,
            said: VecDeque::new(),
        });
    }

    /// What failed is no single test: what was read last belongs to it.
    pub(crate) fn fail_as_a_whole(&mut self, what: String) {
        let said = std::mem::take(&mut self.latest);
        self.failures.push(Failure { what, said });
    }

    /// Takes over what another has counted.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failures.extend(other.failures);
    }

    /// Counts a check that is no test of libtest's.
    pub(crate) fn check(&mut self, outcome: anyhow::Result<()>) {
        match outcome {
            Ok(()) => self.passed += 1,
            Err(error) => self.fail(format!("{error:#}")),
        }
    }

    /// Takes one line of libtest's output into account, or of cargo's.
    pub(crate) fn line(&mut self, line: &str) {
        keep(&mut self.latest, line);
        if let Some(name) = line.trim_start().strip_prefix("Compiling ") {
            // Libraries that other tests use at the moment would be replaced.
            self.fail(format!("{name} is built again, while tests run"));
        }
        if let Some(rest) = line.strip_prefix("test result: ") {
            self.passed += number_before(rest, " passed").unwrap_or(0);
        } else if let Some(rest) = line.strip_prefix("test ") {
            self.outcome(rest);
        } else if let Some(rest) = line.strip_prefix("---- ") {
            let name = rest.strip_suffix(" stdout ----");
            self.speaks = name.and_then(|name| {
                let failures = &self.failures;
                failures.iter().rposition(|failure| failure.what == name)
            });
        } else if line == "failures:" {
            self.speaks = None;
        } else if let Some(at) = self.speaks {
            // Its message stands before the backtrace.
            let said = &mut self.failures[at].said;
            if said.len() < WORDS {
                keep(said, line);
            }
        }
    }

    fn outcome(&mut self, rest: &str) {
        let Some((name, outcome)) = rest.rsplit_once(" ... ") else {
            return;
        };
        if outcome.starts_with("FAILED") {
            self.fail(name.to_owned());
        } else if outcome.starts_with("ignored") && !outcome.ends_with(RUN_BY_ANOTHER) {
            self.fail(format!("{name} (ignored: it did not run)"));
        }
    }
}

fn keep(lines: &mut VecDeque<String>, line: &str) {
    if line.is_empty() {
        return;
    }
    if lines.len() == WORDS {
        lines.pop_front();
    }
    lines.push_back(line.to_owned());
}

fn number_before(text: &str, word: &str) -> Option<u64> {
    let before = &text[..text.find(word)?];
    before.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn results_are_added_up_and_ignored_tests_are_failures() {
        let mut counts = Counts::default();
        for line in [
            "running 3 tests",
            "test a::b ... ok",
            "test a::c ... FAILED",
            "test a::d ... ignored, no GPU",
            "test a::e ... ignored, runs inside an environment",
            "failures:",
            "",
            "---- a::c stdout ----",
            "thread 'a::c' panicked at x.rs:1:1:",
            "no luck",
            "",
            "failures:",
            "    a::c",
            "test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out",
            "test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
        ] {
            counts.line(line);
        }
        assert_eq!(counts.passed, 13);
        let what: Vec<_> = counts
            .failures
            .iter()
            .map(|failure| &failure.what)
            .collect();
        assert_eq!(what, ["a::c", "a::d (ignored: it did not run)"]);
        assert_eq!(
            counts.failures[0].said,
            ["thread 'a::c' panicked at x.rs:1:1:", "no luck"]
        );
        assert!(counts.failures[1].said.is_empty());
    }

    #[test]
    fn nothing_is_built_while_tests_run() {
        let mut counts = Counts::default();
        counts.line("   Compiling strobe-agent v0.1.0 (/here)");
        assert_eq!(counts.failed(), 1);
    }

    #[test]
    fn what_fails_as_a_whole_has_its_last_lines() {
        let mut counts = Counts::default();
        for number in 0..20 {
            counts.line(&format!("cycle {number}"));
        }
        counts.fail_as_a_whole("soak: ended with exit status: 1".to_owned());
        let said = &counts.failures[0].said;
        assert_eq!(said.len(), 12);
        assert_eq!(said[11], "cycle 19");
    }
}
