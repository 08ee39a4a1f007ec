//! The page of one checkpoint.

use std::fmt::Write as _;

use strobe_proto::{Cut, Manifest};
use strobe_store::Checkpoint;

use crate::html::Escaped;
use crate::launches::of_process;
use crate::report::{chunks, launches, order, stall, timeline};
use crate::size::show_size;
use crate::summary::Summary;

/// Processes whose launches are drawn.
const MOST_DRAWN: usize = 4;

/// Around what a page says.
pub(super) fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>\n{}</style></head><body>\n\
         {body}</body></html>\n",
        include_str!("style.css"),
        title = Escaped(title),
    )
}

/// A card of a name and a value for each.
pub(super) fn facts<'a>(facts: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let mut html = String::from("<dl class=\"facts\">\n");
    for (name, value) in facts {
        let _ = writeln!(
            html,
            "<div><dt>{name}</dt><dd>{}</dd></div>",
            Escaped(&value)
        );
    }
    html + "</dl>\n"
}

pub(super) fn of(checkpoint: &Checkpoint) -> String {
    let manifest = checkpoint.manifest();
    let summary = Summary::of(checkpoint);
    let mut body = format!(
        "<h1>Checkpoint {}</h1>\n<p class=\"quiet\">of <code>{}</code>, process {}, taken {}</p>\n",
        Escaped(&summary.directory),
        Escaped(&summary.command),
        summary.pid,
        Escaped(&summary.taken)
    );
    body += &facts(header(manifest, &summary));
    body += "<h2>How long the program was held back, and for what</h2>\n";
    body += &stall::section(manifest);
    body += "<h2>What was done when</h2>\n";
    body += &timeline::section(manifest);
    body += &rounds(manifest);
    body += "<h2>How each chunk of device memory got into the image</h2>\n";
    body += &chunks::section(manifest);
    body += "<h2>What was expected, and what came</h2>\n";
    body += &order::section(manifest);
    body += "<h2>What was launched before it</h2>\n";
    body += &drawn(checkpoint);
    body += &warnings(manifest);
    page(&format!("Checkpoint {}", summary.directory), &body)
}

fn header(manifest: &Manifest, summary: &Summary) -> Vec<(&'static str, String)> {
    let agent = manifest.statistics.unwrap_or_default();
    let stall = summary.stall_ms.map(|ms| format!("{ms:.1} ms"));
    let asked = manifest.course.as_ref().map(|course| match course.cut() {
        Cut::Drain => "drain",
        Cut::Evict => "evict",
        Cut::Auto => "auto",
        Cut::Unspecified => "not recorded",
    });
    let came = match agent.under_way {
        None => "the GPU was waited for".into(),
        Some(operations) => format!("{operations} operations stopped in the middle"),
    };
    let mode = match (summary.mode, summary.killed) {
        (mode, true) => format!("{mode}, the program was ended"),
        (mode, false) => mode.to_owned(),
    };
    let or_unknown = |text: &str| match text {
        "" => "not recorded".to_owned(),
        text => text.to_owned(),
    };
    vec![
        ("stall", stall.unwrap_or_else(|| "it did not go on".into())),
        ("mode", mode),
        (
            "cut",
            format!("{}: {came}", asked.unwrap_or("not recorded")),
        ),
        ("GPU memory", show_size(summary.device_bytes)),
        ("host memory", show_size(summary.host_bytes)),
        ("other images, files", show_size(summary.file_bytes)),
        ("on disk", show_size(summary.disk_bytes)),
        ("of it shared with none", show_size(summary.own_bytes)),
        (
            "over the link after the cut",
            show_size(agent.copied_out_bytes),
        ),
        ("put aside for writes", show_size(agent.copied_aside_bytes)),
        ("taken over unchanged", show_size(agent.unchanged_bytes)),
        (
            "GPU",
            format!(
                "{}, {}",
                or_unknown(&summary.target),
                or_unknown(&manifest.gpu_environment)
            ),
        ),
        ("processes with a GPU", summary.gpu_processes.to_string()),
        ("CRIU", or_unknown(&summary.criu_version)),
    ]
}

fn rounds(manifest: &Manifest) -> String {
    let rounds = manifest
        .course
        .as_ref()
        .map_or(&[][..], |course| &course.rounds);
    if rounds.is_empty() {
        return String::new();
    }
    let mut html = String::from(
        "<h2>Rounds of copying before the cut</h2>\n<table><tr><th>round<th class=\"number\">copied<th class=\"number\">took\
         <th class=\"number\">a second</tr>\n",
    );
    for (number, round) in (1..).zip(rounds) {
        let took = round.end_ns.saturating_sub(round.start_ns) as f64;
        let rate = (round.copied as f64 / took.max(1.0) * 1e9) as u64;
        let _ = writeln!(
            html,
            "<tr><td>{number}<td class=\"number\">{}<td class=\"number\">{}<td class=\"number\">{}</tr>",
            show_size(round.copied),
            timeline::time(took),
            show_size(rate)
        );
    }
    html + "</table>\n"
}

fn drawn(checkpoint: &Checkpoint) -> String {
    let processes = &checkpoint.manifest().processes;
    let mut html = String::new();
    for process in processes.iter().take(MOST_DRAWN) {
        if processes.len() > 1 {
            let _ = writeln!(html, "<h3>Process {}</h3>", process.pid);
        }
        match of_process(checkpoint, process.pid) {
            Ok(window) => html += &launches::drawing(&window),
            Err(error) => {
                let _ = writeln!(
                    html,
                    "<p class=\"quiet\">Not there: {}.</p>",
                    Escaped(&format!("{error:#}"))
                );
            }
        }
    }
    match (processes.len(), processes.len().saturating_sub(MOST_DRAWN)) {
        (0, _) => html += "<p class=\"quiet\">Not recorded: it was imported.</p>\n",
        (_, 0) => {}
        (_, more) => {
            let _ = writeln!(
                html,
                "<p class=\"quiet\">And those of {more} others: strobe graph --process.</p>"
            );
        }
    }
    html
}

fn warnings(manifest: &Manifest) -> String {
    let warnings = manifest
        .plugin
        .as_ref()
        .map_or(&[][..], |plugin| &plugin.warnings);
    if warnings.is_empty() {
        return String::new();
    }
    let mut html = String::from("<h2>What a restored program finds otherwise</h2>\n<ul>\n");
    for warning in warnings {
        let _ = writeln!(html, "<li>{}", Escaped(warning));
    }
    html + "</ul>\n"
}
