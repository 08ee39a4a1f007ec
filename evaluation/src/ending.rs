//! How a program of the evaluation ends: 0 done, 1 failed, 2 wrong usage.

use std::fmt::Display;
use std::process::ExitCode;

/// After its work.
pub fn end(program: &str, result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{program}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Of what it was asked for nothing could be made out.
pub fn wrong_usage(program: &str, error: impl Display, usage: &str) -> ExitCode {
    eprintln!("{program}: {error:#}\n{usage}");
    ExitCode::from(2)
}
