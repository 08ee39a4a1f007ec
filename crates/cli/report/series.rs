//! The page of a series.

use std::fmt::Write as _;
use std::path::Path;

use strobe_proto::Manifest;
use strobe_store::Checkpoint;

use crate::html::Escaped;
use crate::report::page::{facts, page};
use crate::size::show_size;
use crate::summary::Summary;

const WIDE: f64 = 1100.0;
const HIGH: f64 = 130.0;
const LEFT: f64 = 90.0;
/// The newest are drawn.
const MOST: usize = 500;

struct Row {
    summary: Summary,
    /// Over the link, in rounds and after the cut, and through the plugin.
    moved: u64,
    unchanged: u64,
}

pub(super) fn of(folder: &Path, checkpoints: &[Checkpoint]) -> String {
    let all = checkpoints.len();
    let shown = &checkpoints[all.saturating_sub(MOST)..];
    let rows: Vec<Row> = shown.iter().map(row).collect();
    let sum = |of: fn(&Row) -> u64| rows.iter().map(of).fold(0, u64::saturating_add);
    let newest = &rows[rows.len() - 1].summary;
    let mut body = format!(
        "<h1>Checkpoints in {}</h1>\n<p class=\"quiet\">of <code>{}</code>, process {}</p>\n",
        Escaped(&folder.display().to_string()),
        Escaped(&newest.command),
        newest.pid
    );
    let worst = rows
        .iter()
        .filter_map(|row| row.summary.stall_ms)
        .fold(0.0, f64::max);
    body += &facts([
        ("checkpoints", all.to_string()),
        ("newest", newest.taken.clone()),
        ("GPU memory of the newest", show_size(newest.device_bytes)),
        (
            "moved by all that are shown",
            show_size(sum(|row| row.moved)),
        ),
        (
            "shared with none",
            show_size(sum(|row| row.summary.own_bytes)),
        ),
        ("longest stall", format!("{worst:.1} ms")),
    ]);
    let bytes = |value: f64| show_size(value as u64);
    let ms = |value: f64| format!("{value:.0} ms");
    body += &bars(
        "stall",
        "gate",
        &rows,
        |row| row.summary.stall_ms.unwrap_or(0.0),
        ms,
    );
    body += &bars(
        "moved: over the link, and through the plugin",
        "copy",
        &rows,
        |row| row.moved as f64,
        bytes,
    );
    body += &bars(
        "GPU memory",
        "turn",
        &rows,
        |row| row.summary.device_bytes as f64,
        bytes,
    );
    body += &bars(
        "on disk, shared with no other",
        "base",
        &rows,
        |row| row.summary.own_bytes as f64,
        bytes,
    );
    body += &table(&rows);
    page(&format!("Checkpoints in {}", folder.display()), &body)
}

fn row(checkpoint: &Checkpoint) -> Row {
    let manifest: &Manifest = checkpoint.manifest();
    let agent = manifest.statistics.unwrap_or_default();
    let residual = manifest
        .plugin
        .as_ref()
        .map_or(0, |plugin| plugin.residual_bytes);
    let rounds = manifest.course.iter().flat_map(|course| &course.rounds);
    let moved = [agent.copied_out_bytes, residual].into_iter();
    let moved = moved.chain(rounds.map(|round| round.copied));
    Row {
        summary: Summary::of(checkpoint),
        moved: moved.fold(0, u64::saturating_add),
        unchanged: agent.unchanged_bytes,
    }
}

/// A bar for each, as high as its value.
fn bars(
    title: &str,
    class: &str,
    rows: &[Row],
    value: impl Fn(&Row) -> f64,
    show: impl Fn(f64) -> String,
) -> String {
    let most = rows.iter().map(&value).fold(0.0, f64::max).max(1e-9);
    let pitch = (WIDE - LEFT) / rows.len().max(1) as f64;
    let wide = (pitch * 0.8).min(48.0);
    let high = HIGH - 26.0;
    let mut svg = format!(
        "<h2>{title}</h2>\n<div class=\"wide\"><svg viewBox=\"0 0 {WIDE} {HIGH}\" role=\"img\" aria-label=\"{title}\">\n\
         <line class=\"axis\" x1=\"{LEFT}\" x2=\"{WIDE}\" y1=\"14\" y2=\"14\"/><text class=\"quiet\" text-anchor=\"end\" x=\"{}\" y=\"18\">{}</text>\n\
         <line class=\"axis\" x1=\"{LEFT}\" x2=\"{WIDE}\" y1=\"{base}\" y2=\"{base}\"/><text class=\"quiet\" text-anchor=\"end\" x=\"{}\" y=\"{base}\">0</text>\n",
        LEFT - 8.0,
        show(most),
        LEFT - 8.0,
        base = high + 14.0,
    );
    // About twelve of them have a name.
    let named = rows.len().div_ceil(12).max(1);
    for (number, row) in rows.iter().enumerate() {
        let value = value(row);
        let tall = value / most * high;
        let x = LEFT + number as f64 * pitch + (pitch.min(60.0) - wide) / 2.0;
        let name = Path::new(&row.summary.directory).file_name();
        let name = name.unwrap_or_default().to_string_lossy();
        let _ = writeln!(
            svg,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{wide:.1}\" height=\"{tall:.1}\"><title>{}: {}</title></rect>",
            14.0 + high - tall,
            Escaped(&name),
            show(value)
        );
        if number % named == 0 {
            let _ = writeln!(
                svg,
                "<text class=\"quiet small\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{HIGH}\">{}</text>",
                x + wide / 2.0,
                Escaped(&name)
            );
        }
    }
    svg + "</svg></div>\n"
}

fn table(rows: &[Row]) -> String {
    let mut html = String::from(
        "<h2>All of them</h2>\n<div class=\"wide\"><table><tr><th>checkpoint<th>taken<th>mode<th class=\"number\">GPU<th class=\"number\">moved\
         <th class=\"number\">unchanged<th class=\"number\">on disk<th class=\"number\">shared with none<th class=\"number\">stall</tr>\n",
    );
    for Row {
        summary,
        moved,
        unchanged,
    } in rows
    {
        let _ = write!(
            html,
            "<tr><td>{}<td>{}<td>{}",
            Escaped(&summary.directory),
            Escaped(&summary.taken),
            summary.mode
        );
        let sizes = [
            summary.device_bytes,
            *moved,
            *unchanged,
            summary.disk_bytes,
            summary.own_bytes,
        ];
        for bytes in sizes {
            let _ = write!(html, "<td class=\"number\">{}", show_size(bytes));
        }
        let stall = summary
            .stall_ms
            .map_or("-".into(), |ms| format!("{ms:.1} ms"));
        let _ = writeln!(html, "<td class=\"number\">{stall}</tr>");
    }
    html + "</table></div>\n"
}
