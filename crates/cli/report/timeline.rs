//! What was done when: a row for each who did something.

use std::fmt::Write as _;

use strobe_proto::{Course, Manifest, Span};

use crate::html::Escaped;
use crate::trace::GATE_CLOSED;

const WIDE: f64 = 1100.0;
const LABEL: f64 = 130.0;
const HIGH: f64 = 22.0;
const GAP: f64 = 4.0;
/// What a letter takes, about.
const LETTER: f64 = 6.6;
/// What is drawn: a program of thousands of processes has more rows than anybody reads.
const MOST_PROCESSES: usize = 16;
const MOST_SPANS: usize = 1024;

/// Steps are an eighth of the whole at least.
const MOST_TICKS: u32 = 8;

/// One row of the chart: spans lie inside of one another or apart.
struct Row<'a> {
    label: String,
    spans: Vec<&'a Span>,
}

pub(super) fn section(manifest: &Manifest) -> String {
    let Some(course) = &manifest.course else {
        return "<p class=\"quiet\">This checkpoint is older than the record of its course: what was done when is not \
                known.</p>\n"
            .into();
    };
    let rows = rows(course);
    let all = || rows.iter().flat_map(|row| &row.spans);
    let moments = |of: &dyn Fn(&Span) -> bool| {
        let spans = all().filter(|span| of(span));
        let (first, last) = spans.fold((u64::MAX, 0), |(first, last), span| {
            (first.min(span.start_ns), last.max(span.end_ns))
        });
        (first < last).then_some((first, last))
    };
    let mut html = String::new();
    let Some((first, last)) = moments(&|_| true) else {
        return "<p class=\"quiet\">Nothing was recorded of its course.</p>\n".into();
    };
    html += &chart(&rows, first, last, first);
    let gate = moments(&|span| span.name == GATE_CLOSED);
    let frozen = || moments(&|span| span.name == "frozen" || span.name == "wait for the cut");
    if let Some((from, to)) = gate.or_else(frozen) {
        let margin = (to - from) / 20;
        html += "<p>The same around the cut: how long calls of the program were kept out by the closed gate, and for what.</p>\n";
        html += &chart(
            &rows,
            from.saturating_sub(margin),
            to.saturating_add(margin),
            first,
        );
    }
    html += &table(&rows, first);
    html
}

fn rows(course: &Course) -> Vec<Row<'_>> {
    let mut rows = vec![
        Row {
            label: "command".into(),
            spans: course.spans.iter().collect(),
        },
        Row {
            label: "CRIU, frozen".into(),
            spans: course.criu.iter().collect(),
        },
    ];
    for process in course.processes.iter().take(MOST_PROCESSES) {
        let (gate, agent): (Vec<&Span>, Vec<&Span>) = process
            .spans
            .iter()
            .partition(|span| span.name == GATE_CLOSED);
        rows.push(Row {
            label: format!("agent of {}", process.pid),
            spans: agent,
        });
        rows.push(Row {
            label: "its gate".into(),
            spans: gate,
        });
    }
    rows.retain(|row| !row.spans.is_empty());
    for row in &mut rows {
        row.spans.truncate(MOST_SPANS);
        // The outer ones first, for the inner ones to be drawn on them.
        row.spans
            .sort_by_key(|span| (span.start_ns, u64::MAX - span.end_ns));
    }
    rows
}

/// How a phase is coloured: by what the program may do meanwhile, about.
fn class(name: &str) -> &'static str {
    match name {
        GATE_CLOSED => "gate",
        "freeze" | "frozen" | "queues stopped" | "dump" => "freeze",
        "lead" | "drain" | "arm" | "armed" | "wait for the cut" => "wait",
        "copy" | "rounds" | "round" | "residual" | "host memory" => "copy",
        "cut" => "print",
        _ => "work",
    }
}

fn chart(rows: &[Row<'_>], from: u64, to: u64, zero: u64) -> String {
    let span = (to - from).max(1) as f64;
    let x = |ns: u64| {
        let within = ns.clamp(from, to) - from;
        LABEL + within as f64 / span * (WIDE - LABEL - 10.0)
    };
    let bottom = rows.len() as f64 * (HIGH + GAP);
    let high = bottom + 22.0;
    let mut svg = format!(
        "<div class=\"wide\"><svg viewBox=\"0 0 {WIDE} {high}\" role=\"img\" aria-label=\"What was done when\">\n"
    );
    let step = step(span / 8.0);
    let relative = |ns: u64| (ns as f64) - (zero as f64);
    let first = (relative(from) / step).ceil();
    // Far from zero steps are smaller than what a number can tell apart.
    for number in 0..=MOST_TICKS {
        let tick = (first + f64::from(number)) * step;
        if tick > relative(to) {
            break;
        }
        let at = LABEL + (tick - relative(from)) / span * (WIDE - LABEL - 10.0);
        let _ = writeln!(
            svg,
            "<line class=\"axis\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"0\" y2=\"{bottom}\"/>\
             <text class=\"quiet small\" text-anchor=\"middle\" x=\"{at:.1}\" y=\"{}\">{}</text>",
            bottom + 14.0,
            time(tick)
        );
    }
    for (number, row) in rows.iter().enumerate() {
        let top = number as f64 * (HIGH + GAP);
        let middle = top + HIGH / 2.0 + 4.0;
        let _ = writeln!(
            svg,
            "<text x=\"0\" y=\"{middle}\">{}</text>",
            Escaped(&row.label)
        );
        let mut open: Vec<&Span> = Vec::new();
        for (at, span) in row.spans.iter().enumerate() {
            open.retain(|outer| outer.end_ns > span.start_ns);
            let depth = open.len().min(2) as f64;
            open.push(span);
            if span.end_ns < from || span.start_ns > to {
                continue;
            }
            let (left, right) = (x(span.start_ns), x(span.end_ns));
            let wide = (right - left).max(1.0);
            let (y, thick) = (top + 5.0 * depth, HIGH - 5.0 * depth);
            let name = Escaped(&span.name);
            let _ = write!(
                svg,
                "<rect class=\"{}\" rx=\"2\" stroke=\"var(--ground)\" stroke-width=\".6\" x=\"{left:.1}\" y=\"{y}\" width=\"{wide:.1}\" \
                 height=\"{thick}\"><title>{name}: {} at {}</title></rect>",
                class(&span.name),
                time((span.end_ns - span.start_ns.min(span.end_ns)) as f64),
                time(relative(span.start_ns)),
            );
            // Up to what lies on it.
            let next = row.spans.get(at + 1);
            let free = next.map_or(right, |next| x(next.start_ns).clamp(left, right)) - left;
            if free > span.name.len() as f64 * LETTER + 6.0 {
                let _ = write!(
                    svg,
                    "<text class=\"in{}\" x=\"{:.1}\" y=\"{:.1}\">{name}</text>",
                    if depth > 1.0 { " small" } else { "" },
                    left + 4.0,
                    y + thick / 2.0 + 4.0
                );
            }
            svg.push('\n');
        }
    }
    svg + "</svg></div>\n"
}

fn table(rows: &[Row<'_>], zero: u64) -> String {
    let mut html = String::from(
        "<details><summary>All of them as a table</summary><table><tr><th>who<th>phase<th class=\"number\">begins\
         <th class=\"number\">takes</tr>\n",
    );
    for row in rows {
        for span in &row.spans {
            let _ = writeln!(
                html,
                "<tr><td>{}<td><span class=\"key {}\"></span>{}<td class=\"number\">{}<td class=\"number\">{}</tr>",
                Escaped(&row.label),
                class(&span.name),
                Escaped(&span.name),
                time(span.start_ns as f64 - zero as f64),
                time(span.end_ns.saturating_sub(span.start_ns) as f64)
            );
        }
    }
    html + "</table></details>\n"
}

/// Nanoseconds as people read them.
pub(super) fn time(ns: f64) -> String {
    match ns.abs() {
        ns_abs if ns_abs >= 1e10 => format!("{:.1} s", ns / 1e9),
        ns_abs if ns_abs >= 1e9 => format!("{:.2} s", ns / 1e9),
        ns_abs if ns_abs >= 1e7 => format!("{:.0} ms", ns / 1e6),
        ns_abs if ns_abs >= 1e5 => format!("{:.1} ms", ns / 1e6),
        0.0 => "0".into(),
        _ => format!("{:.0} \u{b5}s", ns / 1e3),
    }
}

/// The next larger 1, 2 or 5 with zeros.
fn step(about: f64) -> f64 {
    let ten = 10f64.powf(about.max(1.0).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|times| times * ten);
    steps
        .into_iter()
        .find(|step| *step >= about)
        .unwrap_or(ten * 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_times_readable() {
        assert_eq!([1.0, 130.0, 1_999.0].map(step), [1.0, 200.0, 2_000.0]);
        assert_eq!(step(f64::from(7)), 10.0);
        let shown = [0.0, 1.5e3, 2.5e5, 1.5e7, 1.5e9, -2.0e10].map(time);
        assert_eq!(
            shown,
            ["0", "2 \u{b5}s", "0.2 ms", "15 ms", "1.50 s", "-20.0 s"]
        );
    }

    #[test]
    fn whatever_is_recorded_makes_a_chart() {
        let span = |name: &str, start_ns, end_ns| Span {
            name: name.into(),
            start_ns,
            end_ns,
        };
        let mut manifest = Manifest::default();
        assert!(section(&manifest).contains("older"));
        manifest.course = Some(Course::default());
        assert!(section(&manifest).contains("Nothing"));
        manifest.course = Some(Course {
            spans: vec![
                span("<b>", 5, 3),
                span("x", 0, u64::MAX),
                span(GATE_CLOSED, u64::MAX, u64::MAX),
            ],
            ..Course::default()
        });
        let html = section(&manifest);
        let course = manifest.course.as_mut().expect("it is there");
        course.spans = vec![
            span("x", 5, 10),
            span(GATE_CLOSED, u64::MAX - 5000, u64::MAX - 10),
        ];
        assert!(section(&manifest).len() < html.len() * 4, "it ends");
        assert!(
            html.contains("&lt;b&gt;") && !html.contains("<b>"),
            "{html}"
        );
    }
}
