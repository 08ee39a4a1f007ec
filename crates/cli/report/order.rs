//! What was expected to be written next, beside what was written first.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use strobe_extent::{ChunkMap, Extent};
use strobe_proto::{ByteRange, ChunkOrigin, GpuProcess, Manifest, ProcessCourse, TrackedExtent};

const WIDE: f64 = 420.0;
const HIGH: f64 = 300.0;
const LEFT: f64 = 40.0;

pub(super) fn section(manifest: &Manifest) -> String {
    let Some(course) = &manifest.course else {
        return "<p class=\"quiet\">What was expected at the cut is not recorded.</p>\n".into();
    };
    let mut html = String::new();
    let courses = course.processes.iter().map(|of| (of.pid, of));
    let courses: BTreeMap<u32, &ProcessCourse> = courses.collect();
    for process in &manifest.processes {
        html += &of_process(manifest, courses.get(&process.pid).copied(), process);
    }
    match html.is_empty() {
        true => "<p class=\"quiet\">Nothing was expected at the cut, or nothing was copied while the program ran.</p>\n".into(),
        false => html,
    }
}

fn of_process(manifest: &Manifest, of: Option<&ProcessCourse>, process: &GpuProcess) -> String {
    let (expected, written) = of.map_or((&[][..], &[][..]), |of| (&of.expected, &of.written));
    let (extents, origins) = tracked(process);
    let Ok(map) = ChunkMap::new(extents, manifest.chunk_bytes) else {
        return String::new();
    };
    let expected = places(&map, expected);
    let written = places(&map, written);
    if expected.iter().chain(&written).all(Option::is_none) {
        return String::new();
    }
    let both: Vec<(usize, usize, bool)> = expected
        .iter()
        .zip(&written)
        .zip(&origins)
        .filter_map(|((expected, written), origin)| {
            Some(((*expected)?, (*written)?, *origin == ChunkOrigin::Written))
        })
        .collect();
    let count = |places: &[Option<usize>]| places.iter().flatten().count();
    let came = |by: ChunkOrigin| origins.iter().filter(|origin| **origin == by).count();
    let mut html = format!(
        "<p>Process {}: of {} chunks, {} were expected to be written next, and {} were written while the rest was copied; {} were both. \
         {} chunks left in their turn, and for {} a write came first and they were put aside. The nearer the points are to the \
         diagonal, the better the order was known.</p>\n",
        process.pid,
        map.len(),
        count(&expected),
        count(&written),
        both.len(),
        came(ChunkOrigin::Turn),
        came(ChunkOrigin::Written)
    );
    if both.is_empty() {
        return html;
    }
    let most = |of: fn(&(usize, usize, bool)) -> usize| {
        both.iter().map(of).max().unwrap_or(0).max(1) as f64
    };
    let (across, down) = (most(|point| point.0), most(|point| point.1));
    let _ = writeln!(
        html,
        "<svg viewBox=\"0 0 {} {}\" style=\"max-width: 34rem\" role=\"img\" aria-label=\"Expected order and order of writes\">\
         <rect class=\"frame\" x=\"{LEFT}\" y=\"4\" width=\"{WIDE}\" height=\"{HIGH}\"/>\
         <line class=\"axis\" x1=\"{LEFT}\" y1=\"4\" x2=\"{}\" y2=\"{}\"/>",
        WIDE + LEFT + 8.0,
        HIGH + 30.0,
        LEFT + WIDE,
        HIGH + 4.0
    );
    for (expected, written, is_aside) in &both {
        let x = LEFT + *expected as f64 / across * WIDE;
        let y = 4.0 + *written as f64 / down * HIGH;
        let class = if *is_aside { "point written" } else { "point" };
        let _ = writeln!(
            html,
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\"><title>expected as number {}, written as number {}</title></circle>",
            expected + 1,
            written + 1
        );
    }
    let _ = writeln!(
        html,
        "<text class=\"quiet\" x=\"{LEFT}\" y=\"{}\">expected order (first at the left) \u{2192}</text>\
         <text class=\"quiet\" transform=\"translate(14 {}) rotate(-90)\">\u{2190} order of first writes (first at the top)</text></svg>\n\
         <p class=\"quiet\"><span class=\"key turn\"></span>copied in its turn <span class=\"key written\"></span>put aside for a write</p>",
        HIGH + 22.0,
        HIGH
    );
    html
}

/// The regions, and of each chunk how it came.
fn tracked(process: &GpuProcess) -> (Vec<Extent>, Vec<ChunkOrigin>) {
    let (mut extents, mut origins) = (Vec::new(), Vec::new());
    let mut all: Vec<&TrackedExtent> = process.tracked.iter().collect();
    // As the map of them has it.
    all.sort_by_key(|tracked| tracked.extent.map_or(0, |extent| extent.start));
    for tracked in all {
        let extent = tracked
            .extent
            .and_then(|extent| Extent::try_from(extent).ok());
        extents.extend(extent);
        let known = tracked
            .origins()
            .chain(std::iter::repeat(ChunkOrigin::Unspecified));
        origins.extend(known.take(tracked.chunks.len()));
    }
    (extents, origins)
}

/// By chunk, its place in an order of extents.
fn places(map: &ChunkMap, order: &[ByteRange]) -> Vec<Option<usize>> {
    let mut places = vec![None; map.len()];
    let mut next = 0;
    // Of each chunk, one from which on there may be one without a place: an order may name all of them again and again.
    let mut free: Vec<usize> = (0..=map.len()).collect();
    for extent in order
        .iter()
        .filter_map(|range| Extent::try_from(*range).ok())
    {
        let touched = map.touched(extent);
        let end = touched.end as usize;
        let mut chunk = first_free(&mut free, touched.start as usize);
        while chunk < end {
            places[chunk] = Some(next);
            next += 1;
            free[chunk] = chunk + 1;
            chunk = first_free(&mut free, chunk + 1);
        }
    }
    places
}

/// Makes the way that it has gone shorter for the next.
fn first_free(free: &mut [usize], mut at: usize) -> usize {
    while free[at] != at {
        free[at] = free[free[at]];
        at = free[at];
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_has_the_place_at_which_it_is_named_first() {
        let extent = |start, len| Extent::with_len(start, len).unwrap();
        let map = ChunkMap::new([extent(0, 0x4000)], 0x1000).unwrap();
        let range = |start, len| ByteRange { start, len };
        let order = [
            range(0x2000, 8),
            range(0, 0x3000),
            range(u64::MAX, 7),
            range(0x9000, 1),
        ];
        assert_eq!(places(&map, &order), [Some(1), Some(2), Some(0), None]);
    }

    #[test]
    fn an_order_that_names_everything_again_and_again_costs_no_more_than_its_length() {
        // One by one these would be a million million steps, which do not end.
        const CHUNKS: usize = 1 << 20;
        let all = Extent::with_len(0, (CHUNKS as u64) << 12).unwrap();
        let map = ChunkMap::new([all], 0x1000).unwrap();
        let order = vec![ByteRange::from(all); CHUNKS];
        assert_eq!(places(&map, &order).last(), Some(&Some(CHUNKS - 1)));
    }
}
