//! What is drawn of the many things that a program can do: the same for the same seed.

use std::collections::BTreeMap;

use super::suites::FUNCTIONS;
use crate::soak::random::SplitMix64;

/// The tests that `--gtest_list_tests` has printed, of suites with `part` in their names: `tests` in all, one of each
/// suite before a second of any.
pub(super) fn tests(
    listed: &str,
    part: &str,
    tests: usize,
    random: &mut SplitMix64,
) -> Vec<String> {
    let mut suites: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in listed.lines() {
        let name = line.split('#').next().unwrap_or_default().trim_end();
        match name.strip_prefix("  ") {
            Some(test) => {
                if let Some((_, of_suite)) = suites.last_mut() {
                    of_suite.push(test);
                }
            }
            // Programs print more before.
            None if name.ends_with('.') && !name.contains(' ') => suites.push((name, Vec::new())),
            None => {}
        }
    }
    suites.retain(|(name, of_suite)| name.contains(part) && !of_suite.is_empty());
    let mut drawn = Vec::new();
    while drawn.len() < tests && !suites.is_empty() {
        shuffle(&mut suites, random);
        for (suite, of_suite) in &mut suites {
            if drawn.len() < tests {
                let test = of_suite.swap_remove(random.below(of_suite.len() as u64) as usize);
                drawn.push(format!("{suite}{test}"));
            }
        }
        suites.retain(|(_, of_suite)| !of_suite.is_empty());
    }
    drawn
}

/// Of each operation that `test-backend-ops support --output csv` has found to be supported, so many cases.
pub(super) fn operations(listed: &str, of_each: usize, random: &mut SplitMix64) -> Vec<String> {
    let mut operations: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in listed.lines() {
        let cells: Vec<&str> = line.trim_matches('"').split("\",\"").collect();
        if let [_, operation, parameters, "support", "1", ..] = cells[..] {
            operations.entry(operation).or_default().push(parameters);
        }
    }
    let mut drawn = Vec::new();
    for (operation, cases) in &mut operations {
        for _ in 0..of_each.min(cases.len()) {
            let case = cases.swap_remove(random.below(cases.len() as u64) as usize);
            drawn.push(format!("{operation}({case})"));
        }
    }
    drawn
}

/// Of each function of rocBLAS so many calls, with sizes and precisions as they come.
pub(super) fn calls(of_each: usize, random: &mut SplitMix64) -> Vec<Vec<String>> {
    let mut drawn = Vec::new();
    for function in FUNCTIONS {
        for _ in 0..of_each {
            let mut one_of =
                |words: &[&'static str]| words[random.below(words.len() as u64) as usize];
            let (precision, transpose) = (one_of(&["s", "d"]), one_of(&["N", "T"]));
            let (side, uplo) = (one_of(&["L", "R"]), one_of(&["U", "L"]));
            let sizes = ["33", "64", "100", "128", "192"];
            let (m, n, k) = (one_of(&sizes), one_of(&sizes), one_of(&sizes));
            let batches = if function.contains("batched") {
                "3"
            } else {
                "1"
            };
            let words = [
                "-f",
                function,
                "-r",
                precision,
                "-m",
                m,
                "-n",
                n,
                "-k",
                k,
                "--transposeA",
                transpose,
                "--side",
                side,
                "--uplo",
                uplo,
                "--lda",
                "200",
                "--ldb",
                "200",
                "--ldc",
                "200",
                "--ldd",
                "200",
                "--stride_a",
                "40000",
                "--stride_b",
                "40000",
                "--stride_c",
                "40000",
                "--stride_x",
                "400",
                "--stride_y",
                "400",
                "--batch_count",
                batches,
                "-i",
                "1",
                "-j",
                "0",
            ];
            drawn.push(words.map(str::to_owned).into());
        }
    }
    drawn
}

fn shuffle<T>(items: &mut [T], random: &mut SplitMix64) {
    for end in (1..items.len()).rev() {
        items.swap(end, random.below(end as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_drawn_of_all_suites_alike() {
        let listed = "Using device 0.\nquick/a.\n  one # GetParam() = 1\n  two\n  three\nquick/b.\n  four\nslow/c.\n  five\n";
        let draw = |seed| tests(listed, "quick/", 3, &mut SplitMix64::new(seed));
        let drawn = draw(1);
        assert_eq!(drawn, draw(1));
        assert_eq!(drawn.len(), 3);
        assert!(drawn.contains(&"quick/b.four".to_owned()));
        assert!(
            drawn
                .iter()
                .all(|test| !test.contains("five") && !test.contains('#'))
        );
        assert_eq!(tests(listed, "", 99, &mut SplitMix64::new(1)).len(), 5);
    }

    #[test]
    fn cases_are_drawn_of_what_is_supported() {
        let listed = "\"backend_name\",\"op_name\",\"op_params\",\"test_mode\",\"supported\",\"e\"\n\
                      \"ROCm0\",\"ADD\",\"type=f16,ne=[1,2]\",\"support\",\"1\",\"yes\"\n\
                      \"ROCm0\",\"MUL\",\"type=f16\",\"support\",\"0\",\"no\"\n";
        let drawn = operations(listed, 2, &mut SplitMix64::new(1));
        assert_eq!(drawn, ["ADD(type=f16,ne=[1,2])"]);
    }

    #[test]
    fn every_function_is_called() {
        let drawn = calls(2, &mut SplitMix64::new(7));
        assert_eq!(drawn.len(), 2 * FUNCTIONS.len());
        assert!(drawn.iter().all(|words| words[0] == "-f"));
    }
}
