//! How a command ends: exit codes and the one sentence on an error.

use std::fmt;
use std::process::{ExitCode, ExitStatus};

use crate::output::{notice, sentence};

/// What each command answers.
pub(crate) type Outcome = anyhow::Result<ExitCode>;

const FAILED: u8 = 1;
const REFUSED: u8 = 3;

/// An error that left everything as it was: Strobe will not do what was asked.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// The exit code of the process; prints the error if there is one.
pub(crate) fn exit(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(code) => code,
        Err(error) => {
            // One line, whatever the causes say.
            let said = sentence(&error).replace('\n', " ");
            notice(said);
            let refused = error.chain().any(|cause| cause.is::<Refused>());
            ExitCode::from(if refused { REFUSED } else { FAILED })
        }
    }
}

/// The code of what is refused, where that is an answer and no error.
pub(crate) fn refused() -> ExitCode {
    ExitCode::from(REFUSED)
}

/// The code a shell would give for a program that ended so.
pub(crate) fn of_program(status: ExitStatus) -> ExitCode {
    use std::os::unix::process::ExitStatusExt;
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    ExitCode::from(
        code.and_then(|code| u8::try_from(code).ok())
            .unwrap_or(FAILED),
    )
}
