//! `strobe inspect`: what the kernels of a file read and write.

mod elements;
mod launch;
mod listing;
mod page;

use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use strobe_footprint::inspect::inspect;

use crate::arguments::InspectArguments;
use crate::demangle::demangled;
use crate::inspect::listing::Listing;
use crate::outcome::Outcome;

pub(crate) use launch::AskedLaunch;

pub(crate) fn run(arguments: &InspectArguments) -> Outcome {
    match list(arguments) {
        // The reader has seen enough.
        Err(error) if is_broken_pipe(&error) => Ok(ExitCode::SUCCESS),
        other => other.map(|()| ExitCode::SUCCESS),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let cause = error.root_cause().downcast_ref::<io::Error>();
    cause.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn list(arguments: &InspectArguments) -> anyhow::Result<()> {
    let name = arguments.file.display();
    let bytes = fs::read(&arguments.file).with_context(|| format!("cannot read {name}"))?;
    let (target, part) = (arguments.target.as_deref(), arguments.kernel.as_deref());
    let wanted =
        |name: &str| part.is_none_or(|part| name.contains(part) || demangled(name).contains(part));
    let mut listing = Listing::begin(arguments)?;
    let mut written = Ok(());
    let report = inspect(&bytes, target, wanted, |kernel| {
        written = listing.kernel(kernel);
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    });
    let report = report.with_context(|| name.to_string())?;
    written?;
    for refused in &report.refused {
        tracing::warn!(at = refused.at, triple = %refused.triple, "not read: {}", refused.error);
    }
    listing.end(&report)?;
    if let Some(target) = target {
        let targets = report.targets.join(", ");
        ensure!(
            report.objects > 0,
            "{name} has no code for {target}, but for {targets}"
        );
    }
    if let Some(part) = part {
        ensure!(
            report.kernels > 0,
            "{name} has no kernel with {part} in its name"
        );
    }
    Ok(())
}
