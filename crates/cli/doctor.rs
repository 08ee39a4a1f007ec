//! `strobe doctor`: does this machine have what checkpoints need?

mod machine;
mod tools;

use std::fmt::Write as _;
use std::process::ExitCode;

use serde::Serialize;

use crate::arguments::DoctorArguments;
use crate::outcome::Outcome;
use crate::output::answer;

/// One thing that was looked for.
#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    ok: bool,
    /// Without it Strobe still works, in part.
    optional: bool,
    /// What was found, or why it is not good.
    found: String,
    /// What to do about it; empty when all is well.
    remedy: &'static str,
}

impl Check {
    fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self {
            name,
            ok: true,
            optional: false,
            found: found.into(),
            remedy: "",
        }
    }

    fn bad(name: &'static str, found: impl Into<String>, remedy: &'static str) -> Self {
        Self {
            name,
            ok: false,
            optional: false,
            found: found.into(),
            remedy,
        }
    }

    fn optional(self) -> Self {
        Self {
            optional: true,
            ..self
        }
    }
}

pub(crate) fn run(arguments: &DoctorArguments) -> Outcome {
    let mut checks = Vec::new();
    checks.extend(tools::checks());
    checks.extend(machine::checks());
    let text = match arguments.json {
        true => serde_json::to_string_pretty(&checks)?,
        false => checks.iter().map(shown).collect::<Vec<_>>().join("\n"),
    };
    let is_missing = checks.iter().any(|check| !check.ok && !check.optional);
    let code = match is_missing {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    };
    answer(text, code)
}

fn shown(check: &Check) -> String {
    let mark = match (check.ok, check.optional) {
        (true, _) => "ok",
        (false, true) => "-",
        (false, false) => "NO",
    };
    let mut text = format!("{mark:<3} {:<16} {}", check.name, check.found);
    if !check.remedy.is_empty() {
        let _ = write!(text, "\n    {:<16} -> {}", "", check.remedy);
    }
    text
}
