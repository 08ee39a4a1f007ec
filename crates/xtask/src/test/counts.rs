//! What `cargo test` says, added up.

/// Why a test is ignored that another test runs in a process of its own.
const RUN_BY_ANOTHER: &str = "runs inside an environment";

/// Tests that passed and failed so far.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    /// Names of failed tests, and of what could not be tested.
    pub(crate) failures: Vec<String>,
}

impl Counts {
    pub(crate) fn failed(&self) -> usize {
        self.failures.len()
    }

    pub(crate) fn fail(&mut self, what: String) {
        self.failures.push(what);
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

    /// Takes one line of libtest's output into account.
    pub(crate) fn line(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("test result: ") {
            self.passed += number_before(rest, " passed").unwrap_or(0);
            return;
        }
        let Some(rest) = line.strip_prefix("test ") else {
            return;
        };
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
            "test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out",
            "test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
        ] {
            counts.line(line);
        }
        assert_eq!(counts.passed, 13);
        assert_eq!(counts.failures, ["a::c", "a::d (ignored: it did not run)"]);
    }
}
