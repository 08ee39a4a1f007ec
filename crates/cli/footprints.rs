//! `strobe footprints`: what was predicted of launches, against what they did.

mod join;
mod record;

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::ensure;
use serde_json::{Value, json};

use crate::arguments::{CompareArguments, FootprintsAction, FootprintsArguments};
use crate::demangle::demangled;
use crate::outcome::Outcome;
use crate::output::answer;
use join::{Comparison, compare};
use strobe_footprint::LaunchTally;

/// Sentences of what stands in one log only that are shown.
const SHOWN: usize = 10;

pub(crate) fn run(arguments: &FootprintsArguments) -> Outcome {
    let FootprintsAction::Compare(CompareArguments {
        launches,
        accesses,
        json,
    }) = &arguments.action;
    let comparison = compare(launches, accesses)?;
    let seen = comparison.total.launches > 0 || !comparison.holds();
    ensure!(seen, "there is no launch in {}", launches.display());
    let code = match comparison.holds() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    };
    match json {
        true => answer(serde_json::to_string_pretty(&element(&comparison))?, code),
        false => answer(text(&comparison).trim_end(), code),
    }
}

fn text(comparison: &Comparison) -> String {
    let mut text = String::from(
        "launches  writes exact  reads exact  missed bytes  width: median     p90  needless bytes  kernel\n",
    );
    let rows = comparison.kernels.iter();
    let rows = rows.map(|(name, tally)| (tally, demangled(name)));
    let total = (&comparison.total, "all".to_owned());
    for (tally, name) in rows.chain([total]) {
        let width = |part| match tally.width(part) {
            Some(width) => format!("{width:.2}"),
            None => "-".to_owned(),
        };
        let _ = writeln!(
            text,
            "{:>8} {:>13} {:>12} {:>13} {:>14} {:>7} {:>15}  {name}",
            tally.launches,
            tally.writes_exact,
            tally.reads_exact,
            tally.missed(),
            width(0.5),
            width(0.9),
            tally.needless(),
        );
    }
    let _ = writeln!(
        text,
        "{} launches wrote all that was predicted, to the byte; {} dispatches of the runtime itself",
        comparison.total.to_the_byte(),
        comparison.runtime,
    );
    let unexplained = &comparison.unexplained;
    for sentence in unexplained.iter().take(SHOWN) {
        let _ = writeln!(text, "in one log only: {sentence}");
    }
    if unexplained.len() > SHOWN {
        let _ = writeln!(text, "and {} more", unexplained.len() - SHOWN);
    }
    text + match comparison.holds() {
        true => "every byte that was touched had been predicted\n",
        false => "not every byte that was touched had been predicted\n",
    }
}

fn element(comparison: &Comparison) -> Value {
    let kernels = comparison.kernels.iter().map(|(name, tally)| {
        let mut element = of_tally(tally);
        element["name"] = json!(demangled(name));
        element["mangled"] = json!(name);
        element
    });
    json!({
        "holds": comparison.holds(),
        "total": of_tally(&comparison.total),
        "kernels": kernels.collect::<Vec<_>>(),
        "runtime": comparison.runtime,
        "unexplained": comparison.unexplained,
    })
}

/// An infinite width is null, as one of no launch is.
fn of_tally(tally: &LaunchTally) -> Value {
    json!({
        "launches": tally.launches,
        "writes_exact": tally.writes_exact,
        "reads_exact": tally.reads_exact,
        "missed_reads": tally.missed_reads,
        "missed_writes": tally.missed_writes,
        "to_the_byte": tally.to_the_byte(),
        "width_median": tally.width(0.5),
        "width_p90": tally.width(0.9),
        "needless_bytes": tally.needless(),
    })
}
