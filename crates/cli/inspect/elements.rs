//! What is found, as JSON.

use serde_json::{Value, json};
use strobe_footprint::inspect::{InspectedKernel, Report};

use crate::demangle::demangled;

pub(super) fn kernel(kernel: &InspectedKernel<'_>) -> Value {
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

/// Its instructions, each with what it touches.
pub(super) fn code(kernel: &InspectedKernel<'_>) -> Value {
    let code = kernel.code().into_iter().map(|(instruction, touches)| {
        let touches = touches.iter().map(|touch| {
            json!({
                "reads": touch.reads,
                "writes": touch.writes,
                "what": touch.what,
            })
        });
        json!({
            "address": instruction.address,
            "text": instruction.text,
            "touches": touches.collect::<Vec<_>>(),
        })
    });
    Value::Array(code.collect())
}

pub(super) fn summary(report: &Report) -> Value {
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
