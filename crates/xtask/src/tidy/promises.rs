//! `tests/PROMISES.md` and `tests/SURROUNDINGS.md`: every promise and every surrounding has a test, and every test
//! named there exists.
//!
//! A row is `| promise | test | what breaks it |`, or `| surrounding | test | outcome |`. A test is `FILE::NAME`, a function under `#[test]`
//! in that file, or `soak NAME`, a program of the soak. Promises without a test stand under the last
//! heading, as a list; there they name none. What breaks a test may be another test, named likewise.

use std::fs;
use std::path::Path;

use anyhow::Context;

const FILES: [&str; 2] = ["tests/PROMISES.md", "tests/SURROUNDINGS.md"];
const SOAK: &str = "evaluation/src/soak/programs.rs";
const SOAK_PROGRAM: &str = "soak ";
const OPEN: &str = "## Not proven yet";
/// Fewer rows than this mean that the table was not understood.
const FEWEST_ROWS: usize = 10;
/// Lines between `#[test]` and the function: other attributes.
const ATTRIBUTES: usize = 4;

/// Sentences about broken rules.
pub(super) fn check(root: &Path) -> anyhow::Result<Vec<String>> {
    let read = |name: &str| fs::read_to_string(root.join(name)).ok();
    let mut broken = Vec::new();
    for file in FILES {
        let text = fs::read_to_string(root.join(file)).context(file)?;
        broken.extend(check_text(file, &text, &read));
    }
    Ok(broken)
}

/// `read` gives the text of a file of the repository.
fn check_text(file: &str, text: &str, read: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let mut broken = Vec::new();
    let mut rows = 0;
    let mut open = false;
    for (number, line) in text.lines().enumerate() {
        let mut say = |what: String| broken.push(format!("{file}:{}: {what}", number + 1));
        open |= line == OPEN;
        if open && (line.starts_with('|') || line.contains("::")) {
            say("what has a test is proven: it belongs into the table".into());
        }
        if open
            || !line.starts_with('|')
            || line.starts_with("|---")
            || line.starts_with("| promise")
            || line.starts_with("| surrounding")
        {
            continue;
        }
        rows += 1;
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [promise, tests, breaks] = cells[..] else {
            say(format!("{} cells, not 3", cells.len()));
            continue;
        };
        if promise.is_empty() || breaks.is_empty() {
            say("an empty cell".into());
        }
        let names: Vec<&str> = marked(tests).collect();
        if names.is_empty() {
            say("no test is named".into());
        }
        // Options and rules stand between marks there, too.
        let breaking = marked(breaks).filter(|name| is_test(name));
        for name in names.into_iter().chain(breaking) {
            if !exists(name, read) {
                say(format!("there is no test `{name}`"));
            }
        }
    }
    if rows < FEWEST_ROWS {
        broken.push(format!("{file}: only {rows} rows"));
    }
    broken
}

/// What stands between marks: every other piece.
fn marked(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// Whether a name is meant to be that of a test.
fn is_test(name: &str) -> bool {
    name.starts_with(SOAK_PROGRAM) || name.contains(".rs::")
}

fn exists(name: &str, read: &dyn Fn(&str) -> Option<String>) -> bool {
    if let Some(program) = name.strip_prefix(SOAK_PROGRAM) {
        let named = format!("(\"{program}\",");
        return read(SOAK)
            .is_some_and(|text| text.split_whitespace().collect::<String>().contains(&named));
    }
    let Some((file, function)) = name.split_once("::") else {
        return false;
    };
    let Some(text) = read(file) else {
        return false;
    };
    let lines: Vec<&str> = text.lines().collect();
    let head = format!("fn {function}(");
    lines.iter().enumerate().any(|(number, line)| {
        let before = &lines[number.saturating_sub(ATTRIBUTES)..number];
        line.trim_start().starts_with(&head)
            && before.iter().any(|line| line.trim_start() == "#[test]")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str) -> Option<String> {
        match name {
            "tests/a.rs" => Some("#[test]\nfn holds() {}\n\n\n\n\nfn helps() {}\n".into()),
            SOAK => Some("    own(\n        \"mixed\",\n        \"mixed.cpp\"),".into()),
            _ => None,
        }
    }

    fn broken(row: &str) -> usize {
        let good = "| p | `tests/a.rs::holds` | b |\n".repeat(FEWEST_ROWS);
        check_text(FILES[0], &format!("{good}{row}\n"), &read).len()
    }

    #[test]
    fn a_row_names_tests_that_exist() {
        assert_eq!(broken(""), 0);
        assert_eq!(broken("| p | `tests/a.rs::holds`, `soak mixed` | b |"), 0);
        assert_eq!(broken("| p | `tests/a.rs::gone` | b |"), 1);
        assert_eq!(broken("| p | `tests/b.rs::holds` | b |"), 1);
        // A function that is no test.
        assert_eq!(broken("| p | `tests/a.rs::helps` | b |"), 1);
        assert_eq!(broken("| p | `soak other` | b |"), 1);
        assert_eq!(broken("| p | by hand | b |"), 1);
        assert_eq!(broken("| p | `tests/a.rs::holds` | |"), 1);
        assert_eq!(broken("| p | b |"), 1);
    }

    #[test]
    fn what_breaks_a_test_and_is_named_exists() {
        assert_eq!(broken("| p | `soak mixed` | `tests/a.rs::holds` |"), 0);
        assert_eq!(broken("| p | `soak mixed` | `--validate off`, `Rule` |"), 0);
        assert_eq!(broken("| p | `soak mixed` | a: `tests/a.rs::gone` |"), 1);
        assert_eq!(broken("| p | `soak mixed` | `soak other` |"), 1);
    }

    #[test]
    fn what_is_open_is_no_row() {
        assert_eq!(broken("## Not proven yet\n\n- a promise"), 0);
        assert_eq!(
            broken("## Not proven yet\n\n| p | `tests/a.rs::holds` | b |"),
            1
        );
    }

    #[test]
    fn an_empty_table_is_no_table() {
        assert_eq!(check_text(FILES[0], "# Promises\n", &read).len(), 1);
    }
}
