//! Rows of bytes that are copied, or filled with a pattern.

use super::traffic::Traffic;
use crate::wave::memory::{Fault, Memory};

/// Bytes of a piece, about: a moment's work, so that whoever evicts the queue need not wait.
const PIECE_BYTES: u64 = 256 << 10;
/// A pattern is repeated to so many bytes, about, before it is stored.
const PATTERN_BYTES: usize = 4096;

/// Rows of equal length, apart by a pitch, in layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rows {
    pub to: Place,
    pub source: Source,
    /// Bytes of a row.
    pub bytes: u64,
    /// Rows of a layer, and layers.
    pub count: [u64; 2],
}

/// Where the first row begins, and how far it is to the next one of a layer, and to the next layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub start: u64,
    pub pitch: [u64; 2],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Memory(Place),
    /// Bytes that each row begins with, and that repeat.
    Pattern(Vec<u8>),
}

impl Place {
    fn row(self, index: u64, rows_of_layer: u64) -> u64 {
        let [row, layer] = [index % rows_of_layer, index / rows_of_layer];
        let along = row.wrapping_mul(self.pitch[0]);
        let across = layer.wrapping_mul(self.pitch[1]);
        self.start.wrapping_add(along).wrapping_add(across)
    }
}

impl Source {
    /// As many whole patterns as there is room for.
    pub(super) fn pattern(bytes: &[u8]) -> Self {
        Self::Pattern(bytes.repeat((PATTERN_BYTES / bytes.len().max(1)).max(1)))
    }
}

impl Rows {
    /// Rows of one piece, or pieces of one row: one of both is 1.
    fn cut(&self) -> (u64, u64) {
        let rows = (PIECE_BYTES / self.bytes.max(1)).max(1);
        (rows, self.bytes.div_ceil(PIECE_BYTES).max(1))
    }

    fn rows(&self) -> u64 {
        if self.bytes == 0 {
            return 0;
        }
        self.count[0].saturating_mul(self.count[1])
    }

    pub(super) fn pieces(&self) -> u64 {
        let (rows, parts) = self.cut();
        self.rows().div_ceil(rows).saturating_mul(parts)
    }

    pub(super) fn run(&self, piece: u64, memory: &mut Memory<'_>) -> Result<(), Fault> {
        let (rows, parts) = self.cut();
        let first = piece / parts * rows;
        let begin = piece % parts * PIECE_BYTES;
        let end = self.bytes.min(begin.saturating_add(PIECE_BYTES));
        for row in first..self.rows().min(first.saturating_add(rows)) {
            let to = self.to.row(row, self.count[0]);
            match &self.source {
                Source::Memory(place) => {
                    let from = place.row(row, self.count[0]);
                    let (to, from) = (to.wrapping_add(begin), from.wrapping_add(begin));
                    memory.copy(to, from, end - begin)?;
                }
                Source::Pattern(pattern) => fill(memory, to, begin..end, pattern)?,
            }
        }
        Ok(())
    }

    pub(super) fn traffic(&self) -> Option<Traffic> {
        let bytes = self.rows().saturating_mul(self.bytes);
        let from = match &self.source {
            Source::Memory(place) => Some(place.start),
            Source::Pattern(_) => None,
        };
        (bytes > 0).then_some(Traffic {
            bytes,
            from,
            to: self.to.start,
        })
    }
}

/// Stores a part of a row that begins at `row`.
fn fill(
    memory: &mut Memory<'_>,
    row: u64,
    part: std::ops::Range<u64>,
    pattern: &[u8],
) -> Result<(), Fault> {
    let period = pattern.len() as u64;
    let mut at = part.start;
    while at < part.end {
        let phase = at % period;
        let bytes = (period - phase).min(part.end - at);
        let chosen = &pattern[phase as usize..(phase + bytes) as usize];
        memory.put(row.wrapping_add(at), chosen)?;
        at += bytes;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wave::Vram;

    const BASE: u64 = 1 << 32;

    #[test]
    fn pieces_together_are_all_rows_and_nothing_else() {
        let long = 2 * PIECE_BYTES + 5;
        for (bytes, count, pitch) in [
            (long, [1, 1], [0, 0]),
            (3, [7, 2], [5, 40]),
            (100_000, [5, 2], [100_003, 600_000]),
            (0, [3, 3], [1, 1]),
        ] {
            let size = 2 << 20;
            let content: Vec<u8> = (0..size).map(|at| (at % 251) as u8 + 1).collect();
            let mut expected = vec![0; size];
            let rows = (0..count[1]).flat_map(|z| (0..count[0]).map(move |y| (y, z)));
            for start in rows.map(|(y, z)| (3 + y * pitch[0] + z * pitch[1]) as usize) {
                let end = start + bytes as usize;
                expected[start..end].copy_from_slice(&content[start - 2..end - 2]);
            }
            let mut space = Vram::new(BASE, 2 * size, 0);
            space.write(BASE + size as u64, &content);
            let place = |start| Place { start, pitch };
            let rows = Rows {
                to: place(BASE + 3),
                source: Source::Memory(place(BASE + size as u64 + 1)),
                bytes,
                count,
            };
            let mut memory = Memory::new(&space, None);
            for piece in (0..rows.pieces()).rev() {
                rows.run(piece, &mut memory).unwrap();
            }
            assert!(space.read(BASE, size) == expected, "{bytes} {count:?}");
        }
    }

    #[test]
    fn a_pattern_begins_anew_in_each_row() {
        let mut space = Vram::new(BASE, 1 << 20, 0);
        let rows = Rows {
            to: Place {
                start: BASE + 1,
                pitch: [300_002, 0],
            },
            source: Source::pattern(&[1, 2, 3]),
            bytes: 300_000,
            count: [2, 1],
        };
        let mut memory = Memory::new(&space, None);
        for piece in 0..rows.pieces() {
            rows.run(piece, &mut memory).unwrap();
        }
        let mut expected = vec![0];
        for _ in 0..2 {
            expected.extend([1, 2, 3].repeat(100_000));
            expected.extend([0, 0]);
        }
        assert!(space.read(BASE, expected.len()) == expected);
    }
}
