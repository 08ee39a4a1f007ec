//! `strobe inspect`: what the kernels of a file read and write.

use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Context;
use serde_json::json;
use strobe_footprint::inspect::{InspectedKernel, Report, report};

use crate::arguments::InspectArguments;
use crate::outcome::Outcome;

pub(crate) fn run(arguments: &InspectArguments) -> Outcome {
    let name = arguments.file.display();
    let bytes = fs::read(&arguments.file).with_context(|| format!("cannot read {name}"))?;
    let report = report(&bytes, arguments.target.as_deref()).with_context(|| name.to_string())?;
    for refused in &report.refused {
        tracing::warn!(at = refused.at, triple = %refused.triple, "not read: {}", refused.error);
    }
    let written = match arguments.json {
        true => print_json(&report),
        false => print(&report),
    };
    match written {
        // The reader has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        other => Ok(other.map(|()| ExitCode::SUCCESS)?),
    }
}

fn print(report: &Report) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for row in &report.rows {
        writeln!(out, "{row}")?;
    }
    writeln!(
        out,
        "{} kernels in {:.2} s: writes exact {}, reads exact {}, conservative {}",
        report.kernels,
        report.seconds,
        report.writes_exact,
        report.reads_exact,
        report.conservative
    )
}

/// A JSON array, one element a line: the kernels, and the summary last.
fn print_json(report: &Report) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "[")?;
    for row in &report.rows {
        writeln!(out, "{},", kernel(row))?;
    }
    let summary = json!({
        "kernels": report.kernels,
        "writes_exact": report.writes_exact,
        "reads_exact": report.reads_exact,
        "conservative": report.conservative,
        "seconds": report.seconds,
    });
    writeln!(out, "{summary}\n]")
}

fn kernel(row: &InspectedKernel) -> serde_json::Value {
    json!({
        "name": row.name,
        "target": row.target,
        "arguments": row.arguments,
        "reads": row.summary.reads.to_string(),
        "writes": row.summary.writes.to_string(),
        "reads_exact": row.summary.reads.is_exact(),
        "writes_exact": row.summary.writes.is_exact(),
        "module_reads": row.summary.module_reads,
        "module_writes": row.summary.module_writes,
    })
}
