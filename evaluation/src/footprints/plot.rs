//! Shares of kernels as bars, in SVG.

use std::fmt::Write;

use super::comparison::Findings;
use super::page::escape;
use super::tally::{LibraryTally, SideTally};

const LABEL: f64 = 200.0;
const BARS: f64 = 640.0;
const WAY: f64 = 84.0;
const BAR: f64 = 12.0;
const GAP: f64 = 12.0;

/// What a part of a bar means, by the class that colours it.
pub(super) const PARTS: [(&str, &str); 9] = [
    (
        "worded",
        "machine code: exact, and each place said in words",
    ),
    (
        "exact",
        "machine code: exact, some places known at a launch only",
    ),
    ("memory", "machine code: through pointers in memory"),
    (
        "same",
        "signature, metadata: the same arguments as the machine code",
    ),
    ("wide", "too many arguments"),
    ("missed", "an argument that is written is left out"),
    (
        "beyond",
        "arguments only, where the code writes through pointers in memory",
    ),
    (
        "unchecked",
        "arguments, where the machine code is not known",
    ),
    ("inexact", "not known"),
];

/// Three bars for each library: what is known of its writes.
pub(super) fn plot(libraries: &[&LibraryTally]) -> String {
    let group = 3.0 * BAR + GAP;
    let (width, height) = (LABEL + WAY + BARS, group * libraries.len() as f64);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"Shares of kernels by what is known of their writes\">\n"
    );
    for (index, library) in libraries.iter().enumerate() {
        let top = index as f64 * group;
        let name = escape(&library.library);
        let middle = top + 1.5 * BAR + 4.0;
        let _ = writeln!(svg, "<text x=\"0\" y=\"{middle}\">{name}</text>");
        let bars = [
            ("signature", findings(&library.signature.writes.findings)),
            ("metadata", findings(&library.metadata.writes.findings)),
            (
                "machine code",
                machine(&library.machine.writes, library.writes_worded),
            ),
        ];
        for (row, (way, parts)) in bars.into_iter().enumerate() {
            let y = top + row as f64 * BAR;
            let text = y + BAR - 3.0;
            let _ = writeln!(
                svg,
                "<text class=\"way\" x=\"{LABEL}\" y=\"{text}\">{way}</text>"
            );
            let mut x = LABEL + WAY;
            for (class, kernels) in parts {
                let share = library.share(kernels);
                let wide = BARS * share / 100.0;
                if kernels > 0 {
                    let high = BAR - 1.0;
                    let _ = writeln!(
                        svg,
                        "<rect class=\"{class}\" x=\"{x:.2}\" y=\"{y}\" width=\"{wide:.2}\" height=\"{high}\"><title>{name}, {way}: {} ({kernels} kernels, {share:.1} %)</title></rect>",
                        meaning(class),
                    );
                }
                x += wide;
            }
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn meaning(class: &str) -> &'static str {
    PARTS
        .iter()
        .find(|(known, _)| *known == class)
        .map_or("", |(_, meaning)| meaning)
}

fn findings(findings: &Findings) -> Vec<(&'static str, u64)> {
    vec![
        ("same", findings.same),
        ("wide", findings.wide),
        ("missed", findings.missed),
        ("beyond", findings.beyond),
        ("unchecked", findings.unchecked),
        ("inexact", findings.inexact),
    ]
}

fn machine(side: &SideTally, worded: u64) -> Vec<(&'static str, u64)> {
    let memory = side
        .reasons
        .iter()
        .filter(|(reason, _)| reason.starts_with(super::claims::THROUGH_MEMORY));
    let memory: u64 = memory.map(|(_, count)| count.kernels).sum();
    let inexact: u64 = side.reasons.values().map(|count| count.kernels).sum();
    vec![
        ("worded", worded),
        ("exact", side.exact.saturating_sub(worded)),
        ("memory", memory),
        ("inexact", inexact - memory),
    ]
}
