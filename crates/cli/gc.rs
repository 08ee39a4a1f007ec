//! `strobe gc`: old checkpoints of a series go.

use std::process::ExitCode;

use serde_json::json;
use strobe_store::Series;

use crate::arguments::GcArguments;
use crate::directory;
use crate::outcome::Outcome;
use crate::output::{answer, tell};

pub(crate) fn run(arguments: &GcArguments) -> Outcome {
    let series = Series::of(&arguments.folder);
    let keep = arguments.keep as usize;
    let gone = match arguments.dry_run {
        true => series.removable_but(keep)?,
        false => {
            directory::clear(&arguments.folder);
            series.remove_but(keep)?
        }
    };
    let names: Vec<_> = gone.iter().map(|path| path.display().to_string()).collect();
    if arguments.json {
        let report = json!({ "removed": names, "dry_run": arguments.dry_run });
        return answer(format!("{report:#}"), ExitCode::SUCCESS);
    }
    match arguments.dry_run {
        true => answer(text("would be removed", &names), ExitCode::SUCCESS),
        false => {
            tell(text("removed", &names));
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn text(what: &str, names: &[String]) -> String {
    match names {
        [] => format!("nothing {what}"),
        names => format!("{what}: {}", names.join(", ")),
    }
}
