//! Parts of the suite side by side. Most of them wait for most of their time: for CRIU, for a
//! kernel, for a program that is to come to a certain point.

use std::io::{BufRead, BufReader};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

use super::counts::Counts;
use super::parts::Part;

/// How many parts run at once.
const LANES: usize = 2;

/// How long something took, by its name.
pub(super) type Took = (String, Duration);

/// Runs all, in order, as lanes are free; each line of output has the name of its part before it.
/// Answers how long each took, and how long each test of those that run their tests one by one.
pub(super) fn run(parts: Vec<Part>, counts: &mut Counts) -> (Vec<Took>, Vec<Took>) {
    let width = parts.iter().map(|part| part.name.len()).max().unwrap_or(0);
    let waiting = Mutex::new(parts.into_iter());
    let done = Mutex::new((counts, Vec::new(), Vec::new()));
    let lane = || {
        while let Some(part) = next(&waiting) {
            let start = Instant::now();
            let mut own = Counts::default();
            let mut tests = Vec::new();
            let name = format!("{:width$}", part.name);
            let outcome = shown(part.command, &name, &mut own, &mut tests);
            match outcome {
                Err(error) => own.fail_as_a_whole(format!("{}: {error}", part.name)),
                // It did not build, or a test took the process with it.
                Ok(status) if !status.success() && own.failed() == 0 => {
                    own.fail_as_a_whole(format!("{}: ended with {status}", part.name));
                }
                Ok(_) if part.is_one_check => own.passed += 1,
                Ok(_) if own.passed == 0 && own.failed() == 0 => {
                    own.fail_as_a_whole(format!("{}: no test ran", part.name));
                }
                Ok(_) => {}
            }
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.0.add(own);
            done.1.push((part.name, start.elapsed()));
            if part.is_one_by_one {
                done.2.extend(tests);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(lane);
        }
    });
    let (_, parts, tests) = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    (parts, tests)
}

fn next(waiting: &Mutex<impl Iterator<Item = Part>>) -> Option<Part> {
    let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
    waiting.next()
}

/// Runs one command, shows what it says, and counts. A test of its took the time since the one before it.
fn shown(
    mut command: Command,
    name: &str,
    counts: &mut Counts,
    tests: &mut Vec<Took>,
) -> io::Result<ExitStatus> {
    let (reader, writer) = io::pipe()?;
    command.stdout(writer.try_clone()?).stderr(writer);
    command
        .stdin(Stdio::null())
        .env("CARGO_TERM_COLOR", "never");
    let mut child = command.spawn()?;
    // It holds the pipe's other end.
    drop(command);
    let mut last = Instant::now();
    for line in BufReader::new(reader).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        println!("{name} | {line}");
        counts.line(&line);
        if line.starts_with("running ") {
            last = Instant::now();
        } else if let Some((test, _)) = line
            .strip_prefix("test ")
            .and_then(|l| l.split_once(" ... "))
        {
            tests.push((test.to_owned(), last.elapsed()));
            last = Instant::now();
        }
    }
    child.wait()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, script: &str) -> Part {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Part {
            name: name.to_owned(),
            command,
            is_one_check: name == "check",
            is_one_by_one: name == "slow",
        }
    }

    #[test]
    fn all_parts_run_and_their_results_are_added_up() {
        let parts = vec![
            part(
                "a",
                "echo 'test x ... ok'; echo 'test result: ok. 1 passed; 0 failed'",
            ),
            part("b", "echo 'test y ... FAILED' >&2; exit 101"),
            part("c", "echo; kill -9 $$"),
            part("d", "echo 'test result: ok. 2 passed; 0 failed'"),
            part("empty", "echo 'test result: ok. 0 passed; 0 failed'"),
            part("check", "true"),
            part(
                "slow",
                "echo 'running 2 tests'; echo 'test u::v ... ok'; sleep 0.2; echo 'test w ... ok'
                echo 'test result: ok. 2 passed; 0 failed'",
            ),
        ];
        let mut counts = Counts::default();
        let (parts, tests) = run(parts, &mut counts);
        let mut names: Vec<_> = parts.into_iter().map(|took| took.0).collect();
        names.sort();
        assert_eq!(names, ["a", "b", "c", "check", "d", "empty", "slow"]);
        assert_eq!(counts.passed, 6);
        let names: Vec<_> = tests.iter().map(|took| took.0.as_str()).collect();
        assert_eq!(names, ["u::v", "w"]);
        assert!(tests[1].1 >= Duration::from_millis(150), "{tests:?}");
        let mut failures: Vec<_> = counts
            .failures
            .iter()
            .map(|failure| &failure.what)
            .collect();
        failures.sort();
        assert!(failures[0].starts_with("c: ended with signal: 9"));
        assert_eq!(failures[1..], ["empty: no test ran", "y"]);
    }
}
