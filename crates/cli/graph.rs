//! `strobe graph`: what a program has launched, and what happens before what.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};
use strobe_graph::{Race, Window};
use strobe_proto::{LaunchedOperation, OperationKind, OrderedBy, Touched};

use crate::arguments::GraphArguments;
use crate::launches;
use crate::outcome::{Outcome, Refused};
use crate::output::answer;
use crate::size::show_size;

/// What is shown of a program that is in no loop.
const LATEST: usize = 64;
const RACES: usize = 20;

pub(crate) fn run(arguments: &GraphArguments) -> Outcome {
    let target = &arguments.target;
    let window = match (Path::new(target).is_dir(), launches::is_program(target)) {
        (true, _) => launches::of_checkpoint(Path::new(target), arguments.process)?,
        (false, Some(pid)) => launches::of_program(pid)?,
        (false, None) => {
            let sentence = format!("{target} is no process, and no directory");
            return Err(Refused(sentence).into());
        }
    };
    let races = window.races(RACES);
    let shown = match arguments.last {
        Some(last) => window.latest(last),
        None if arguments.json => window.clone(),
        // Two rounds, less the host's waits among them.
        None => window.latest(window.period().map_or(LATEST, |period| period * 2)),
    };
    let text = if arguments.json {
        format!("{:#}\n", as_json(&shown, &races))
    } else if arguments.dot {
        as_dot(&shown, &races)
    } else {
        as_table(&window, &shown, &races)
    };
    answer(text.trim_end(), ExitCode::SUCCESS)
}

pub(crate) fn kind(operation: &LaunchedOperation) -> &'static str {
    match operation.kind() {
        OperationKind::Unspecified => "",
        OperationKind::Kernel => "kernel",
        OperationKind::Copy => "copy",
        OperationKind::Memset => "memset",
        OperationKind::Host => "host",
        OperationKind::Graph => "graph",
        OperationKind::Synchronisation => "wait",
    }
}

pub(crate) fn by(order: OrderedBy) -> &'static str {
    match order {
        OrderedBy::Unspecified => "",
        OrderedBy::Stream => "stream",
        OrderedBy::Event => "event",
        OrderedBy::Legacy => "default stream",
        OrderedBy::Host => "host",
    }
}

pub(crate) fn bytes(side: &Option<Touched>) -> String {
    let Some(side) = side else {
        return String::new();
    };
    if !side.unknown.is_empty() {
        return "anything".into();
    }
    match side.extents.iter().map(|extent| extent.len).sum() {
        0 => "-".into(),
        sum if side.is_hull => format!("in {}", show_size(sum)),
        sum => show_size(sum),
    }
}

pub(crate) fn stream(operation: &LaunchedOperation) -> String {
    operation
        .stream
        .map_or("host".into(), |stream| stream.to_string())
}

fn as_table(window: &Window, shown: &Window, races: &[Race]) -> String {
    let mut text = String::new();
    let (all, rows) = (window.operations(), shown.operations());
    let period = window.period().map_or("no loop was found".into(), |n| {
        format!("a loop of {n} operations")
    });
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "{} of {} operations, {} live buffers, {period}\n",
        rows.len(),
        all.len(),
        window.message().buffers.len()
    );
    let _ = writeln!(
        text,
        "{:>8}  {:>6}  {:<6}  {:>10}  {:>10}  {:<24}  NAME",
        "NUMBER", "STREAM", "KIND", "READS", "WRITES", "AFTER"
    );
    for row in rows {
        let after: Vec<String> = row
            .after
            .iter()
            .map(|earlier| match earlier.by() {
                OrderedBy::Stream => earlier.sequence.to_string(),
                order => format!("{} ({})", earlier.sequence, by(order)),
            })
            .collect();
        let _ = writeln!(
            text,
            "{:>8}  {:>6}  {:<6}  {:>10}  {:>10}  {:<24}  {}",
            row.sequence,
            stream(row),
            kind(row),
            bytes(&row.reads),
            bytes(&row.writes),
            after.join(", "),
            row.name
        );
    }
    for race in races {
        let name = |sequence| name_of(all, sequence);
        let _ = writeln!(
            text,
            "\nnothing orders {} {} and {} {}, and both touch {}, which one of them writes",
            race.first,
            name(race.first),
            race.second,
            name(race.second),
            race.extent
        );
    }
    text
}

fn name_of(operations: &[LaunchedOperation], sequence: u64) -> &str {
    let found = operations
        .iter()
        .find(|operation| operation.sequence == sequence);
    found.map_or("", |operation| &operation.name)
}

fn as_json(shown: &Window, races: &[Race]) -> Value {
    let side = |side: &Option<Touched>| {
        let side = side.clone().unwrap_or_default();
        if !side.unknown.is_empty() {
            return json!({ "anything": side.unknown });
        }
        let extents: Vec<Value> = side
            .extents
            .iter()
            .map(|extent| json!({ "start": extent.start, "bytes": extent.len }))
            .collect();
        json!({ "extents": extents, "hull": side.is_hull })
    };
    let operations: Vec<Value> = shown
        .operations()
        .iter()
        .map(|operation| {
            let after: Vec<Value> = operation
                .after
                .iter()
                .map(|earlier| json!({ "number": earlier.sequence, "by": by(earlier.by()) }))
                .collect();
            json!({
                "number": operation.sequence,
                "kind": kind(operation),
                "name": operation.name,
                "stream": operation.stream,
                "reads": side(&operation.reads),
                "writes": side(&operation.writes),
                "after": after,
            })
        })
        .collect();
    let buffers: Vec<Value> = shown
        .message()
        .buffers
        .iter()
        .map(|buffer| json!({ "start": buffer.start, "bytes": buffer.len }))
        .collect();
    let races: Vec<Value> = races
        .iter()
        .map(|race| {
            let (start, bytes) = (race.extent.start(), race.extent.len());
            json!({ "first": race.first, "second": race.second, "start": start, "bytes": bytes })
        })
        .collect();
    json!({
        "operations": operations,
        "buffers": buffers,
        "period": shown.period(),
        "races": races,
    })
}

/// A graph for graphviz: a column for each stream, downwards in the order in which operations were
/// enqueued, and the buffers beside it.
fn as_dot(shown: &Window, races: &[Race]) -> String {
    let mut text = String::from(
        "digraph launches {\n  newrank=true; ranksep=0.3;\n  \
         node [shape=box, fontname=\"sans-serif\", fontsize=10];\n  \
         edge [fontname=\"sans-serif\", fontsize=8];\n",
    );
    let operations = shown.operations();
    let is_shown = |sequence| {
        let first = operations.first();
        first.is_some_and(|first| sequence >= first.sequence)
    };
    let mut streams: Vec<Option<u64>> = operations.iter().map(|o| o.stream).collect();
    streams.sort_unstable();
    streams.dedup();
    for column in streams {
        let (name, title) = match column {
            Some(0) => ("stream0".into(), "default stream".into()),
            Some(number) => (format!("stream{number}"), format!("stream {number}")),
            None => ("host".into(), "host".into()),
        };
        let _ = writeln!(
            text,
            "  subgraph cluster_{name} {{ label=\"{title}\"; color=gray;"
        );
        for operation in operations.iter().filter(|o| o.stream == column) {
            let _ = writeln!(
                text,
                "    o{} [label=\"{}\"];",
                operation.sequence,
                label(shown, operation)
            );
        }
        text.push_str("  }\n");
    }
    for pair in operations.windows(2) {
        let _ = writeln!(
            text,
            "  o{} -> o{} [style=invis, weight=0];",
            pair[0].sequence, pair[1].sequence
        );
    }
    for operation in operations {
        for earlier in operation.after.iter().filter(|e| is_shown(e.sequence)) {
            let style = match earlier.by() {
                OrderedBy::Stream | OrderedBy::Unspecified => "weight=10",
                OrderedBy::Event => "style=dashed, label=event, constraint=false",
                OrderedBy::Legacy => "style=dotted, constraint=false",
                OrderedBy::Host => "color=gray, constraint=false",
            };
            let _ = writeln!(
                text,
                "  o{} -> o{} [{style}];",
                earlier.sequence, operation.sequence
            );
        }
    }
    for race in races.iter().filter(|race| is_shown(race.first)) {
        let _ = writeln!(
            text,
            "  o{} -> o{} [dir=both, color=red, label=\"unordered\", constraint=false];",
            race.first, race.second
        );
    }
    let buffers = &shown.message().buffers;
    let rows: Vec<String> = buffers
        .iter()
        .enumerate()
        .map(|(number, buffer)| {
            let (start, size) = (buffer.start, show_size(buffer.len));
            format!("b{number}  {start:#x}  {size}\\l")
        })
        .collect();
    let _ = writeln!(
        text,
        "  buffers [shape=note, label=\"{}\"];\n}}",
        rows.concat()
    );
    text
}

/// An operation's number and name, and the buffers that it touches.
fn label(shown: &Window, operation: &LaunchedOperation) -> String {
    let mut text = format!("{} {}", operation.sequence, quoted(&operation.name));
    for (verb, side) in [("reads", &operation.reads), ("writes", &operation.writes)] {
        let touched = touched_buffers(shown, side);
        if !touched.is_empty() {
            let _ = write!(text, "\\n{verb} {touched}");
        }
    }
    text
}

/// How many buffers a label names.
const NAMED: usize = 6;

fn touched_buffers(shown: &Window, side: &Option<Touched>) -> String {
    let Some(side) = side else {
        return String::new();
    };
    if !side.unknown.is_empty() {
        return "anything".into();
    }
    let buffers = shown.message().buffers.iter().enumerate();
    let mut names: Vec<String> = buffers
        .filter(|(_, buffer)| {
            let end = buffer.start.saturating_add(buffer.len);
            let mut extents = side.extents.iter();
            extents.any(|e| e.start < end && buffer.start < e.start.saturating_add(e.len))
        })
        .map(|(number, _)| format!("b{number}"))
        .collect();
    let others = names.len().saturating_sub(NAMED);
    if others > 0 {
        names.truncate(NAMED);
        names.push(format!("and {others} more"));
    }
    names.join(" ")
}

/// A name inside of a quoted string of graphviz.
fn quoted(name: &str) -> String {
    name.replace('\\', "\\\\").replace('"', "\\\"")
}
