//! What is found, as one page: a table that sorts itself, with nothing beside it.

use std::fmt::Write as _;

use strobe_footprint::inspect::InspectedKernel;

use crate::demangle::demangled;
use crate::html::Escaped;

/// Up to the rows.
pub(super) const HEAD: &str = r##"<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>What kernels read and write</title>
<style>
body { font: 14px sans-serif; margin: 1em; }
table { border-collapse: collapse; }
th, td { border: 1px solid #ccc; padding: 2px 6px; text-align: left; vertical-align: top; }
th { cursor: pointer; background: #eee; position: sticky; top: 0; }
td { font-family: monospace; overflow-wrap: anywhere; }
.no { background: #fdd; }
</style>
<p>A click on the head of a column sorts by it, another one the other way round.
<table id="kernels">
<thead><tr><th>kernel<th>target<th>arguments<th>reads exact<th>writes exact<th>reads<th>writes<th>why not exact</tr></thead>
<tbody>
"##;

/// After the rows and the totals.
const SCRIPT: &str = r##"<script>
const body = document.querySelector("#kernels tbody");
let sorted = [-1, 1];
document.querySelectorAll("#kernels th").forEach((head, column) => {
  head.onclick = () => {
    sorted = [column, sorted[0] === column ? -sorted[1] : 1];
    const key = row => row.cells[column].textContent;
    const order = (a, b) => key(a).localeCompare(key(b), "en", { numeric: true }) * sorted[1];
    body.append(...[...body.rows].sort(order));
  };
});
</script>
</html>
"##;

pub(super) fn row(kernel: &InspectedKernel<'_>) -> String {
    let summary = &kernel.summary;
    let mut why: Vec<String> = summary
        .why
        .iter()
        .map(|why| why.obstacle.to_string())
        .collect();
    why.sort();
    why.dedup();
    why.extend(kernel.contradictions().iter().map(ToString::to_string));
    let (reads, writes) = kernel.lines();
    let mut row = format!(
        "<tr><td>{}<td>{}<td>{}",
        Escaped(&demangled(&kernel.kernel.name)),
        Escaped(&kernel.object.target.to_string()),
        kernel.arguments()
    );
    for side in [&summary.reads, &summary.writes] {
        row += match side.is_exact() {
            true => "<td>yes",
            false => "<td class=no>no",
        };
    }
    for cell in [reads, writes, why.join("; ")] {
        let _ = write!(row, "<td>{}", Escaped(&cell));
    }
    row + "</tr>\n"
}

pub(super) fn end(totals: &str) -> String {
    format!(
        "</tbody>\n</table>\n<pre>\n{}</pre>\n{SCRIPT}",
        Escaped(totals)
    )
}
