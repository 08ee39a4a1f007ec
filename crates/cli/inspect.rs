//! `strobe inspect`: what the kernels of a file read and write.

mod demangle;

use std::fs;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::process::ExitCode;

use anyhow::{Context, bail};
use serde_json::json;
use strobe_footprint::inspect::{InspectedKernel, Report, inspect};

use crate::arguments::InspectArguments;
use crate::inspect::demangle::demangled;
use crate::outcome::Outcome;

pub(crate) fn run(arguments: &InspectArguments) -> Outcome {
    let name = arguments.file.display();
    let bytes = fs::read(&arguments.file).with_context(|| format!("cannot read {name}"))?;
    let target = arguments.target.as_deref();
    let mut listing = Listing {
        out: io::stdout().lock(),
        json: arguments.json,
    };
    let mut written = listing.begin();
    let report = inspect(
        &bytes,
        target,
        |_| true,
        |kernel| {
            if written.is_ok() {
                written = listing.kernel(kernel);
            }
            match written {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        },
    );
    let report = report.with_context(|| name.to_string())?;
    for refused in &report.refused {
        tracing::warn!(at = refused.at, triple = %refused.triple, "not read: {}", refused.error);
    }
    match written.and_then(|()| listing.end(&report)) {
        // The reader has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(ExitCode::SUCCESS),
        other => other.context("cannot write to stdout")?,
    }
    if let Some(target) = target.filter(|_| report.objects == 0) {
        bail!(
            "{name} has no code for {target}, but for {}",
            report.targets.join(", ")
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// What is printed as it is found; a JSON array has one element a line, and the summary last.
struct Listing<W> {
    out: W,
    json: bool,
}

impl<W: Write> Listing<W> {
    fn begin(&mut self) -> io::Result<()> {
        match self.json {
            true => writeln!(self.out, "["),
            false => Ok(()),
        }
    }

    fn kernel(&mut self, kernel: &InspectedKernel<'_>) -> io::Result<()> {
        match self.json {
            true => writeln!(self.out, "{},", object(kernel)),
            false => {
                let name = demangled(&kernel.kernel.name);
                writeln!(self.out, "{name} {kernel}")
            }
        }
    }

    fn end(&mut self, report: &Report) -> io::Result<()> {
        if self.json {
            writeln!(self.out, "{}\n]", summary(report))
        } else {
            self.out.write_all(totals(report).as_bytes())
        }
    }
}

fn totals(report: &Report) -> String {
    let mut text = format!(
        "{} kernels in {:.2} s: writes exact {}, reads exact {}, conservative {}\n",
        report.kernels,
        report.time.as_secs_f64(),
        report.writes_exact,
        report.reads_exact,
        report.conservative,
    );
    for (obstacle, [reads, writes]) in &report.reasons {
        text += &format!("  because of {obstacle}: reads of {reads}, writes of {writes}\n");
    }
    if report.contradicted > 0 {
        text += &format!(
            "  contradicted by their metadata: {}\n",
            report.contradicted
        );
    }
    text + &format!("the file has code for {}\n", report.targets.join(", "))
}

fn summary(report: &Report) -> serde_json::Value {
    let reasons = report.reasons.iter().map(|(obstacle, [reads, writes])| {
        let counts = json!({ "reads": reads, "writes": writes });
        (obstacle.to_string(), counts)
    });
    json!({
        "targets": report.targets,
        "kernels": report.kernels,
        "writes_exact": report.writes_exact,
        "reads_exact": report.reads_exact,
        "conservative": report.conservative,
        "contradicted": report.contradicted,
        "reasons": reasons.collect::<serde_json::Map<_, _>>(),
        "seconds": report.time.as_secs_f64(),
    })
}

fn object(kernel: &InspectedKernel<'_>) -> serde_json::Value {
    let summary = &kernel.summary;
    let contradictions = kernel.contradictions();
    let contradictions = contradictions.iter().map(ToString::to_string);
    let why = summary.why.iter().map(|why| {
        json!({
            "reason": why.obstacle.to_string(),
            "instruction": kernel.instruction(why),
            "reads": why.reads,
            "writes": why.writes,
        })
    });
    json!({
        "name": demangled(&kernel.kernel.name),
        "mangled": kernel.kernel.name,
        "target": kernel.object.target.to_string(),
        "arguments": kernel.arguments(),
        "reads": summary.reads.to_string(),
        "writes": summary.writes.to_string(),
        "reads_exact": summary.reads.is_exact(),
        "writes_exact": summary.writes.is_exact(),
        "module_reads": summary.module_reads,
        "module_writes": summary.module_writes,
        "contradictions": contradictions.collect::<Vec<_>>(),
        "why": why.collect::<Vec<_>>(),
    })
}
