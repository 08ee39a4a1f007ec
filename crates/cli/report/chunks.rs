//! How each chunk of tracked memory got into the image.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use strobe_proto::{ChunkOrigin, ChunkRef, Manifest, TrackedExtent};

use crate::size::show_size;

/// Cells of the map, at the most; then each stands for several chunks.
const CELLS: usize = 6000;
/// Rounds that have a line; no checkpoint has more.
const ROUNDS: usize = 32;
const COLUMNS: usize = 96;
const CELL: f64 = 11.0;

/// What is said of a chunk, in the order of the legend; `None` where it is not recorded.
const ORIGINS: [(Option<ChunkOrigin>, &str, &str); 6] = [
    (
        Some(ChunkOrigin::Turn),
        "turn",
        "copied in its turn, while the program ran or stood still",
    ),
    (
        Some(ChunkOrigin::Written),
        "written",
        "put aside inside the device first, because something was about to write it",
    ),
    (
        Some(ChunkOrigin::Frozen),
        "frozen",
        "put aside inside the device while the program was frozen",
    ),
    (
        Some(ChunkOrigin::Base),
        "base",
        "unchanged: it came from the base",
    ),
    (
        Some(ChunkOrigin::Round),
        "round",
        "copied in a round before the cut, and not written since",
    ),
    (None, "unknown", "not recorded"),
];

/// A chunk, where it is, and how it came.
struct Chunk<'a> {
    address: u64,
    chunk: &'a ChunkRef,
    origin: usize,
    round: u32,
}

pub(super) fn section(manifest: &Manifest) -> String {
    let mut chunks = Vec::new();
    for tracked in manifest
        .processes
        .iter()
        .flat_map(|process| &process.tracked)
    {
        add(tracked, &mut chunks);
    }
    let mut html = legend(manifest, &chunks);
    if !chunks.is_empty() {
        html += &map(&chunks);
    }
    html
}

fn add<'a>(tracked: &'a TrackedExtent, chunks: &mut Vec<Chunk<'a>>) {
    let mut address = tracked.extent.map_or(0, |extent| extent.start);
    let mut origins = tracked.origins();
    let mut rounds = tracked.rounds.iter();
    for chunk in &tracked.chunks {
        let origin = origins
            .next()
            .filter(|origin| *origin != ChunkOrigin::Unspecified);
        let at = ORIGINS.iter().position(|(known, ..)| *known == origin);
        let round = match origin {
            Some(ChunkOrigin::Round) => rounds.next().copied().unwrap_or(0),
            _ => 0,
        };
        chunks.push(Chunk {
            address,
            chunk,
            origin: at.unwrap_or(ORIGINS.len() - 1),
            round,
        });
        address = address.saturating_add(chunk.len);
    }
}

fn legend(manifest: &Manifest, chunks: &[Chunk<'_>]) -> String {
    let mut html = String::from(
        "<table><tr><th>how it got into the image<th class=\"number\">chunks<th class=\"number\">bytes</tr>\n",
    );
    for (number, (_, class, meaning)) in ORIGINS.iter().enumerate() {
        let those = || chunks.iter().filter(|chunk| chunk.origin == number);
        let (count, bytes) = (those().count(), sum(those()));
        if count > 0 {
            let _ = writeln!(
                html,
                "<tr data-origin=\"{class}\" data-chunks=\"{count}\"><td><span class=\"key {class}\"></span>{meaning}\
                 <td class=\"number\">{count}<td class=\"number\">{}</tr>",
                show_size(bytes)
            );
        }
    }
    html += &by_round(chunks);
    let residual = manifest
        .plugin
        .as_ref()
        .map_or(0, |plugin| plugin.residual_bytes);
    let _ = writeln!(
        html,
        "<tr><td>through CRIU's plugin while the program was frozen (no chunks)<td><td class=\"number\">{}</tr></table>",
        show_size(residual)
    );
    let zeros = || chunks.iter().filter(|chunk| chunk.chunk.blake3.is_empty());
    let (count, bytes) = (zeros().count(), show_size(sum(zeros())));
    let _ = writeln!(
        html,
        "<p class=\"quiet\">{} chunks of up to {} in all; {count} of them ({bytes}) are zeros, which take no room.</p>",
        chunks.len(),
        show_size(manifest.chunk_bytes)
    );
    html
}

/// How many came by which round.
fn by_round(chunks: &[Chunk<'_>]) -> String {
    let mut rounds: BTreeMap<u32, (usize, u64)> = BTreeMap::new();
    for chunk in chunks.iter().filter(|chunk| chunk.round > 0) {
        let (count, bytes) = rounds.entry(chunk.round).or_default();
        *count += 1;
        *bytes = bytes.saturating_add(chunk.chunk.len);
    }
    let mut html = String::new();
    for (round, (count, bytes)) in rounds.iter().take(ROUNDS) {
        let _ = writeln!(
            html,
            "<tr class=\"quiet\"><td>&emsp;&emsp;by round {round}<td class=\"number\">{count}<td class=\"number\">{}</tr>",
            show_size(*bytes)
        );
    }
    html
}

fn sum<'a>(chunks: impl Iterator<Item = &'a Chunk<'a>>) -> u64 {
    chunks.fold(0, |sum, chunk| sum.saturating_add(chunk.chunk.len))
}

fn map(chunks: &[Chunk<'_>]) -> String {
    let each = chunks.len().div_ceil(CELLS);
    let cells: Vec<&[Chunk<'_>]> = chunks.chunks(each).collect();
    let columns = COLUMNS.min(cells.len());
    let rows = cells.len().div_ceil(COLUMNS);
    let (wide, high) = (COLUMNS as f64 * CELL + 2.0, rows as f64 * CELL + 2.0);
    let mut html = match each {
        1 => String::from(
            "<p>A cell is a chunk, in the order of addresses; pale ones are zeros.</p>\n",
        ),
        _ => format!(
            "<p>A cell is {each} chunks, in the order of addresses; its colour is that of most of them.</p>\n"
        ),
    };
    let _ = writeln!(
        html,
        "<div class=\"wide\"><svg viewBox=\"0 0 {wide} {high}\" role=\"img\" aria-label=\"Chunks by how they got into the image, \
         {columns} in a row\">"
    );
    for (number, cell) in cells.iter().enumerate() {
        let (x, y) = (
            (number % COLUMNS) as f64 * CELL,
            (number / COLUMNS) as f64 * CELL,
        );
        let count = |origin: usize| cell.iter().filter(|chunk| chunk.origin == origin).count();
        let most = (0..ORIGINS.len())
            .max_by_key(|origin| count(*origin))
            .unwrap_or(0);
        let (_, class, meaning) = ORIGINS[most];
        let first = &cell[0];
        let zeros = cell.iter().all(|chunk| chunk.chunk.blake3.is_empty());
        let _ = write!(
            html,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{size}\" height=\"{size}\"{faint}><title>{:#x}, {}: {meaning}",
            first.address,
            show_size(sum(cell.iter())),
            size = CELL - 1.5,
            faint = if zeros { " opacity=\".45\"" } else { "" },
        );
        if first.round > 0 {
            let _ = write!(html, " (round {})", first.round);
        }
        html += if zeros {
            "; zeros</title></rect>\n"
        } else {
            "</title></rect>\n"
        };
    }
    html + "</svg></div>\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_proto::{ByteRange, GpuProcess};

    #[test]
    fn chunks_are_counted_as_they_came_and_those_of_old_checkpoints_as_not_recorded() {
        let chunk = |len| ChunkRef {
            len,
            blake3: vec![1; 32],
            ..ChunkRef::default()
        };
        let mut tracked = TrackedExtent {
            extent: Some(ByteRange {
                start: u64::MAX - 4,
                len: 8,
            }),
            chunks: vec![chunk(8), chunk(u64::MAX), ChunkRef::default()],
            ..TrackedExtent::default()
        };
        let shown = |tracked: &TrackedExtent| {
            section(&Manifest {
                processes: vec![GpuProcess {
                    tracked: vec![tracked.clone()],
                    ..GpuProcess::default()
                }],
                ..Manifest::default()
            })
        };
        assert!(shown(&tracked).contains("data-origin=\"unknown\" data-chunks=\"3\""));
        // One too few, one that nobody knows, and a round that is not there.
        tracked.origins = vec![ChunkOrigin::Written.into(), 77];
        let html = shown(&tracked);
        assert!(
            html.contains("data-origin=\"written\" data-chunks=\"1\""),
            "{html}"
        );
        assert!(
            html.contains("data-origin=\"unknown\" data-chunks=\"2\""),
            "{html}"
        );
        tracked.origins = vec![ChunkOrigin::Round.into(); 3];
        tracked.rounds = vec![2];
        let html = shown(&tracked);
        assert!(
            html.contains("data-origin=\"round\" data-chunks=\"3\""),
            "{html}"
        );
        assert!(
            html.contains("(round 2)") && html.contains("1 of them"),
            "{html}"
        );
        tracked.chunks = vec![chunk(1); 3 * CELLS];
        assert!(shown(&tracked).matches("<rect").count() <= CELLS);
    }
}
