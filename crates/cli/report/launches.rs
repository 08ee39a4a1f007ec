//! What was launched before the cut, and what orders it.

use std::collections::HashMap;
use std::fmt::Write as _;

use strobe_graph::Window;
use strobe_proto::{LaunchedOperation, OrderedBy};

use crate::demangle::demangled;
use crate::graph::{by, bytes, kind, stream};
use crate::html::Escaped;

/// Operations that are drawn.
const LATEST: usize = 40;
const RACES: usize = 20;
/// Columns of streams; others share the last.
const COLUMNS: usize = 5;
const NODE: (f64, f64) = (210.0, 32.0);
const ROW: f64 = 44.0;
const MARGIN: f64 = 8.0;
/// Letters of a name that have room.
const LETTERS: usize = 30;

pub(super) fn drawing(window: &Window) -> String {
    let shown = window.latest(LATEST);
    let operations = shown.operations();
    if operations.is_empty() {
        return "<p>Nothing was launched before it.</p>\n".into();
    }
    let mut streams: Vec<Option<u64>> = operations
        .iter()
        .map(|operation| operation.stream)
        .collect();
    streams.sort_unstable();
    streams.dedup();
    let columns = streams.len().min(COLUMNS);
    let column = |operation: &LaunchedOperation| {
        let at = streams
            .iter()
            .position(|stream| *stream == operation.stream);
        at.unwrap_or(0).min(COLUMNS - 1)
    };
    let pitch = NODE.0 + 70.0;
    let (wide, high) = (
        (columns as f64 * pitch).max(600.0) + MARGIN,
        (operations.len() + 2) as f64 * ROW,
    );
    let place = |row: usize, operation: &LaunchedOperation| {
        (
            MARGIN + column(operation) as f64 * pitch,
            (row + 1) as f64 * ROW,
        )
    };
    let rows: HashMap<u64, usize> = operations.iter().map(|o| o.sequence).zip(0..).collect();
    let period = window
        .period()
        .map_or("no loop was found".into(), |period| {
            format!("the program seems to be in a loop of {period} operations")
        });
    let mut html = format!(
        "<p>The last {} of {} operations that are remembered; {period}. Downwards in the order in which they were enqueued, a \
         column for each stream. Lines: by the stream; dashed by an event, dotted by the default stream, pale by the host; red: \
         nothing orders these two, and both touch the same bytes.</p>\n\
         <div class=\"wide\"><svg viewBox=\"0 0 {wide} {high}\" style=\"max-width: {wide}px\" role=\"img\" \
         aria-label=\"Launches before the cut\">\n",
        operations.len(),
        window.operations().len()
    );
    for (number, name) in streams.iter().take(COLUMNS).enumerate() {
        let name = match name {
            _ if number == COLUMNS - 1 && streams.len() > COLUMNS => "other streams".into(),
            Some(0) => "default stream".into(),
            Some(stream) => format!("stream {stream}"),
            None => "host".into(),
        };
        let x = MARGIN + number as f64 * pitch;
        let _ = writeln!(
            html,
            "<text class=\"quiet\" x=\"{x}\" y=\"18\">{name}</text>"
        );
    }
    for (row, operation) in operations.iter().enumerate() {
        let (x, y) = place(row, operation);
        for earlier in &operation.after {
            if let Some(before) = rows.get(&earlier.sequence) {
                let (from_x, from_y) = place(*before, &operations[*before]);
                html += &edge(
                    (from_x, from_y),
                    (x, y),
                    class(earlier.by()),
                    row - before.min(&row),
                );
            }
        }
    }
    for race in window.races(RACES) {
        if let (Some(first), Some(second)) = (rows.get(&race.first), rows.get(&race.second)) {
            let ends = (
                place(*first, &operations[*first]),
                place(*second, &operations[*second]),
            );
            html += &edge(ends.0, ends.1, "race", second.abs_diff(*first));
        }
    }
    for (row, operation) in operations.iter().enumerate() {
        html += &node(place(row, operation), operation);
    }
    let y = high - ROW / 2.0;
    let _ = writeln!(
        html,
        "<line class=\"now\" x1=\"0\" x2=\"{wide}\" y1=\"{y}\" y2=\"{y}\"/>\
         <text class=\"quiet small\" x=\"{MARGIN}\" y=\"{}\">here the checkpoint was asked for</text>\n</svg></div>",
        y - 5.0
    );
    html
}

fn node((x, y): (f64, f64), operation: &LaunchedOperation) -> String {
    let name = match operation.name.as_str() {
        "" => kind(operation).to_owned(),
        name => demangled(name),
    };
    let (reads, writes) = (bytes(&operation.reads), bytes(&operation.writes));
    let after: Vec<String> = operation
        .after
        .iter()
        .map(|earlier| format!("{} by {}", earlier.sequence, by(earlier.by())))
        .collect();
    format!(
        "<g><rect class=\"node\" rx=\"4\" x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\"/><text x=\"{:.1}\" y=\"{:.1}\">{}</text>\
         <text class=\"quiet small\" x=\"{:.1}\" y=\"{:.1}\">r {reads}, w {writes}</text><title>{} {}, {} on {}: reads {reads}, writes {writes}; \
         after {}</title></g>\n",
        NODE.0,
        NODE.1,
        x + 6.0,
        y + 13.0,
        Escaped(short(&name)),
        x + 6.0,
        y + 26.0,
        operation.sequence,
        Escaped(&name),
        kind(operation),
        stream(operation),
        match after.is_empty() {
            true => "nothing".into(),
            false => after.join(", "),
        }
    )
}

/// A name without its arguments, as far as there is room.
fn short(name: &str) -> String {
    let bare = name.split('(').next().unwrap_or(name);
    match bare.chars().count() > LETTERS {
        true => bare.chars().take(LETTERS - 1).chain(['\u{2026}']).collect(),
        false => bare.into(),
    }
}

fn class(order: OrderedBy) -> &'static str {
    match order {
        OrderedBy::Unspecified | OrderedBy::Stream => "edge",
        OrderedBy::Event => "edge event",
        OrderedBy::Legacy => "edge legacy",
        OrderedBy::Host => "edge host",
    }
}

/// From the foot of one to the head of the other; around what lies between, in one column.
fn edge((from_x, from_y): (f64, f64), (x, y): (f64, f64), class: &str, rows: usize) -> String {
    let (foot, head) = (from_y + NODE.1, y);
    let path = if from_x == x && rows > 1 {
        let side = NODE.0 + 6.0 + (rows as f64 * 3.0).min(40.0);
        let (a, b) = (from_y + NODE.1 / 2.0, y + NODE.1 / 2.0);
        let (right, bow) = (x + NODE.0, x + side);
        format!("M{right} {a} C{bow} {a} {bow} {b} {right} {b}")
    } else if from_x == x {
        let middle = x + NODE.0 / 2.0;
        format!("M{middle} {foot} L{middle} {head}")
    } else {
        let (from, to) = match from_x < x {
            true => (from_x + NODE.0, x),
            false => (from_x, x + NODE.0),
        };
        let (a, b, bow) = (from_y + NODE.1 / 2.0, y + NODE.1 / 2.0, (from + to) / 2.0);
        format!("M{from} {a} C{bow} {a} {bow} {b} {to} {b}")
    };
    format!("<path class=\"{class}\" d=\"{path}\"/>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_of_letters() {
        assert_eq!(short("step<float>(float*, int)"), "step<float>");
        let long = "\u{e9}".repeat(50);
        assert_eq!(short(&long).chars().count(), LETTERS);
    }
}
