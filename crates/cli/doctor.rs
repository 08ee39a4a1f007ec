//! `strobe doctor`: does this machine have what checkpoints need?

mod check;
mod containers;
mod machine;
mod tools;

use std::fmt::Write as _;
use std::process::ExitCode;

use crate::arguments::DoctorArguments;
use crate::outcome::Outcome;
use crate::output::answer;
use check::Check;

pub(crate) fn run(arguments: &DoctorArguments) -> Outcome {
    let mut checks = Vec::new();
    checks.extend(tools::checks());
    checks.extend(machine::checks());
    checks.extend(containers::checks());
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
