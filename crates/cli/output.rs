//! What a command says.
//!
//! No deed hangs on it: a checkpoint is taken and a program comes back whether or not anybody can read
//! of it. So a text that was all that was asked for can fail the command, what is told of a deed
//! cannot, and a line on stderr waits for no reader.

use std::fmt::Display;
use std::io::{self, Write as _};
use std::process::ExitCode;

use anyhow::Context;
use serde::Serialize;
use strobe_log::Stderr;

use crate::outcome::{self, Outcome};

/// The text that was asked for, on stdout, and then `code`. A reader that goes away has seen enough.
pub(crate) fn answer(text: impl Display, code: ExitCode) -> Outcome {
    match write(text) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(code),
        written => written.map(|()| code).context("cannot write to stdout"),
    }
}

/// The answer to whether something could be done: its code says so, too.
pub(crate) fn answer_whether(
    report: &impl Serialize,
    text: String,
    ready: bool,
    json: bool,
) -> Outcome {
    let text = match json {
        true => serde_json::to_string_pretty(report)?,
        false => text,
    };
    let code = match ready {
        true => ExitCode::SUCCESS,
        false => outcome::refused(),
    };
    answer(text, code)
}

/// Tells of what has been done, on stdout.
pub(crate) fn tell(text: impl Display) {
    if let Err(error) = write(text) {
        notice(format_args!(
            "it is done, but stdout cannot be written: {error}"
        ));
    }
}

/// A line on stderr, or none.
pub(crate) fn notice(sentence: impl Display) {
    // Names of files may have anything in them.
    pass_on(one_line(format_args!("strobe: {sentence}")));
}

/// An error with its causes, but those that the one before tells in its own words.
pub(crate) fn sentence(error: &anyhow::Error) -> String {
    let mut said = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if said.is_empty() {
            said = cause;
        } else if !said.ends_with(&cause) {
            said = format!("{said}: {cause}");
        }
    }
    said
}

/// What is to be one line, and to say nothing to a terminal but what is to be read.
pub(crate) fn one_line(sentence: impl Display) -> String {
    let mut line = String::new();
    for letter in sentence.to_string().chars() {
        match letter.is_control() {
            true => line.extend(letter.escape_default()),
            false => line.push(letter),
        }
    }
    line
}

/// The same of a line that others have made.
pub(crate) fn pass_on(line: impl Display) {
    let _ = Stderr.write(format!("{line}\n").as_bytes());
}

fn write(text: impl Display) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{text}")?;
    stdout.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot sweep: {source}")]
    struct Cannot {
        source: io::Error,
    }

    #[test]
    fn names_do_not_command_the_terminal() {
        assert_eq!(
            one_line("a\n\x1b]0;b\x07 \u{e4}"),
            "a\\n\\u{1b}]0;b\\u{7} \u{e4}"
        );
    }

    #[test]
    fn each_cause_is_told_once() {
        let source = io::Error::other("no broom");
        let error = anyhow::Error::from(Cannot { source }).context("the floor");
        assert_eq!(sentence(&error), "the floor: cannot sweep: no broom");
    }
}
