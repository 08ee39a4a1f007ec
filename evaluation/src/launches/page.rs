//! Launches in the page of HTML: a plot, a table, and what kernels' needless bytes are part of.

use std::fmt::Write;

use super::report::{LaunchReport, RunReport, WayReport};
use crate::footprints::page::escape;

const LABEL: f64 = 150.0;
const WAY: f64 = 84.0;
const SHARE: f64 = 300.0;
const GAP: f64 = 24.0;
const WIDTH: f64 = 330.0;
const BAR: f64 = 12.0;
/// What is drawn at the right edge of widths is this, or more.
const WIDEST: f64 = 1e6;

/// The part of the page about launches.
pub(crate) fn section(report: &LaunchReport) -> String {
    let mut html = String::from(
        "<h2>What launches have touched</h2>\n\
         <p>Programs of others on the software GPU, which logs every byte that a launch touches. A launch by the \
         signature, the metadata, or the machine code once for all launches may touch the whole allocations that its \
         arguments point into. \"At launch\" is the machine code with the launch's arguments, nothing being known of what \
         stands in memory; \"tables known\" with what stood behind its pointers when it began. Missed is what was touched \
         and not said. Width: bytes that a launch is said to write over bytes that it has written, of launches whose \
         writes are exact. Allocations are the driver's, in pages of 4 KiB.</p>\n\
         <p class=\"legend\"><span><i class=\"exact\"></i>writes exact, of the launches</span> \
         <span><i class=\"missed\"></i>has missed bytes that were written</span> \
         <span><i class=\"memory\"></i>width, together (from 1 to a million, logarithmic)</span> \
         <span><i class=\"wide\"></i>width of nine in ten launches</span></p>\n",
    );
    let all: Vec<&RunReport> = report.runs.iter().chain([&report.total]).collect();
    plot(&all, &mut html);
    table(&all, &mut html);
    html.push_str("<h3>Kernels that write least of what they are said to, tables known</h3>\n");
    widest(&report.total, &mut html);
    for run in &all {
        failures(run, &mut html);
    }
    html
}

fn plot(runs: &[&RunReport], html: &mut String) {
    let group = |run: &RunReport| run.ways.len() as f64 * BAR + BAR;
    let high: f64 = runs.iter().map(|run| group(run)).sum();
    let wide = LABEL + WAY + SHARE + GAP + WIDTH;
    let _ = writeln!(
        html,
        "<svg viewBox=\"0 0 {wide} {high}\" role=\"img\" aria-label=\"Launches with exact writes, and how wide they are\">"
    );
    let mut top = 0.0;
    for run in runs {
        let name = escape(&run.name);
        let middle = top + group(run) / 2.0;
        let _ = writeln!(html, "<text x=\"0\" y=\"{middle}\">{name}</text>");
        for (row, way) in run.ways.iter().enumerate() {
            let y = top + row as f64 * BAR;
            let text = y + BAR - 3.0;
            let word = escape(&way.way);
            let _ = writeln!(
                html,
                "<text class=\"way\" x=\"{LABEL}\" y=\"{text}\">{word}</text>"
            );
            let share = way.share(way.writes_exact);
            let class = if way.missed_writes > 0 {
                "missed"
            } else {
                "exact"
            };
            let mut bar = |class: &str, x: f64, y: f64, wide: f64, high: f64, what: String| {
                let _ = writeln!(
                    html,
                    "<rect class=\"{class}\" x=\"{x}\" y=\"{y:.1}\" width=\"{wide:.2}\" height=\"{high}\"><title>{name}, {word}: {what}</title></rect>"
                );
            };
            let x = LABEL + WAY;
            let what = format!(
                "writes exact {share:.1} % of {} launches, {} bytes missed",
                way.launches, way.missed_writes
            );
            bar(class, x, y, SHARE * share / 100.0, BAR - 1.0, what);
            let widths = [
                ("memory", way.width(), "together"),
                ("wide", way.p90, "nine in ten"),
            ];
            for (place, (class, width, of)) in widths.into_iter().enumerate() {
                if let Some(width) = width {
                    let part = width.clamp(1.0, WIDEST).log10() / WIDEST.log10();
                    let y = y + place as f64 * (BAR - 1.0) / 2.0;
                    let x = LABEL + WAY + SHARE + GAP;
                    let what = format!("width {width:.2}, {of}");
                    bar(
                        class,
                        x,
                        y,
                        (WIDTH * part).max(1.0),
                        (BAR - 1.0) / 2.0,
                        what,
                    );
                }
            }
        }
        top += group(run);
    }
    html.push_str("</svg>\n");
}

fn table(runs: &[&RunReport], html: &mut String) {
    let heads = [
        "launches of",
        "by",
        "kernels",
        "launches",
        "writes exact %",
        "reads exact %",
        "missed bytes, written",
        "missed bytes, read",
        "to the byte %",
        "width, median",
        "width, 90 %",
        "width, together",
        "needless MB",
    ];
    html.push_str("<div class=\"wide-table\"><table class=\"sortable\"><thead><tr>");
    for head in heads {
        let _ = write!(html, "<th><button>{head}</button></th>");
    }
    html.push_str("</tr></thead><tbody>\n");
    for run in runs {
        for way in &run.ways {
            let (name, word) = (escape(&run.name), escape(&way.way));
            let _ = write!(html, "<tr><td>{name}</td><td>{word}</td>");
            let unknown = f64::INFINITY;
            let cells = [
                (run.kernels as f64, 0),
                (way.launches as f64, 0),
                (way.share(way.writes_exact), 1),
                (way.share(way.reads_exact), 1),
                (way.missed_writes as f64, 0),
                (way.missed_reads as f64, 0),
                (way.share(way.to_the_byte), 1),
                (way.median.unwrap_or(unknown), 2),
                (way.p90.unwrap_or(unknown), 2),
                (way.width().unwrap_or(unknown), 2),
                (way.needless as f64 / 1e6, 2),
            ];
            for (value, digits) in cells {
                let text = match value.is_finite() {
                    true => format!("{value:.digits$}"),
                    false => "-".to_owned(),
                };
                let _ = write!(html, "<td data-value=\"{value}\">{text}</td>");
            }
            html.push_str("</tr>\n");
        }
    }
    html.push_str("</tbody></table></div>\n");
}

fn widest(total: &RunReport, html: &mut String) {
    html.push_str(
        "<table><thead><tr><th>function</th><th>launches</th><th>width, median</th><th>together</th>\
         <th>needless MB</th><th>most of it</th></tr></thead><tbody>\n",
    );
    let width = |width: Option<f64>| width.map_or("-".to_owned(), |width| format!("{width:.2}"));
    for family in &total.widest {
        let way: &WayReport = &family.known;
        let _ = writeln!(
            html,
            "<tr><td>{}<br><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td><td>{:.2}</td><td>{}</td></tr>",
            escape(&family.family),
            escape(&family.example),
            way.launches,
            width(way.median),
            width(way.width()),
            way.needless as f64 / 1e6,
            escape(family.most()),
        );
    }
    html.push_str("</tbody></table>\n");
    for (what, counts) in [
        ("Needless bytes", &total.needless),
        (
            "Launches whose writes are not exact though tables are known",
            &total.reasons,
        ),
    ] {
        let counts = counts.iter();
        let counts: Vec<String> = counts
            .map(|(reason, count)| format!("{reason}: {count}"))
            .collect();
        let counts = escape(&counts.join("; "));
        let _ = writeln!(
            html,
            "<p>{what}: {}.</p>",
            if counts.is_empty() { "none" } else { &counts }
        );
    }
    let inexact = total.inexact.iter().map(|family| {
        let launches: u64 = family.reasons.values().sum();
        format!("{} ({launches})", family.family)
    });
    let inexact = escape(&inexact.collect::<Vec<_>>().join(", "));
    if !inexact.is_empty() {
        let _ = writeln!(html, "<p>Kernels made of these functions: {inexact}.</p>");
    }
}

fn failures(run: &RunReport, html: &mut String) {
    if run.failed.is_empty() && run.missed.is_empty() {
        return;
    }
    let _ = writeln!(
        html,
        "<details><summary>{}: {} of {} processes did not end well, {} kernels with missed bytes</summary><ul>",
        escape(&run.name),
        run.failed.len(),
        run.processes,
        run.missed.len(),
    );
    for sentence in run.failed.iter().chain(&run.missed) {
        let _ = writeln!(html, "<li><code>{}</code></li>", escape(sentence));
    }
    html.push_str("</ul></details>\n");
}

#[cfg(test)]
mod tests {
    use super::super::judge::Judged;
    use super::*;

    #[test]
    fn what_did_not_end_well_is_named_and_is_no_markup() {
        let failed = vec!["<b>: stopped after 9 s".to_owned()];
        let run = RunReport::new("a & b", 2, &Judged::default(), failed);
        let html = section(&LaunchReport::new(vec![run], &Judged::default()));
        assert!(html.contains("a &amp; b: 1 of 2 processes did not end well"));
        assert!(html.contains("&lt;b&gt;: stopped after 9 s") && !html.contains("<b>:"));
        assert_eq!(html.matches("<svg").count(), 1);
    }
}
