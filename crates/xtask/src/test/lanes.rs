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

/// Runs all, in order, as lanes are free; each line of output has the name of its part before it.
/// Answers how long each took.
pub(super) fn run(parts: Vec<Part>, counts: &mut Counts) -> Vec<(String, Duration)> {
    let width = parts.iter().map(|part| part.name.len()).max().unwrap_or(0);
    let waiting = Mutex::new(parts.into_iter());
    let done = Mutex::new((counts, Vec::new()));
    let lane = || {
        while let Some(part) = next(&waiting) {
            let start = Instant::now();
            let mut own = Counts::default();
            let outcome = shown(part.command, &format!("{:width$}", part.name), &mut own);
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
        }
    };
    thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(lane);
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner).1
}

fn next(waiting: &Mutex<impl Iterator<Item = Part>>) -> Option<Part> {
    let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
    waiting.next()
}

/// Runs one command, shows what it says, and counts.
fn shown(mut command: Command, name: &str, counts: &mut Counts) -> io::Result<ExitStatus> {
    let (reader, writer) = io::pipe()?;
    command.stdout(writer.try_clone()?).stderr(writer);
    command
        .stdin(Stdio::null())
        .env("CARGO_TERM_COLOR", "never");
    let mut child = command.spawn()?;
    // It holds the pipe's other end.
    drop(command);
    for line in BufReader::new(reader).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        println!("{name} | {line}");
        counts.line(&line);
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
        ];
        let mut counts = Counts::default();
        let mut names: Vec<_> = run(parts, &mut counts)
            .into_iter()
            .map(|took| took.0)
            .collect();
        names.sort();
        assert_eq!(names, ["a", "b", "c", "check", "d", "empty"]);
        assert_eq!(counts.passed, 4);
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
