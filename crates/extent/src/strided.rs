//! Blocks of bytes at equal distances: a column of a matrix, a part of one.

use crate::extent::Extent;
use std::fmt;

/// Rows that are looked at to tell whether two patterns of unlike strides meet.
const ROWS: u32 = 4096;

/// Blocks of the same length at `start + i * inner + j * outer`, for all `i` and `j` below two counts.
///
/// Blocks do not touch each other, and the blocks of one `j` all lie before those of the next. With one
/// stride, the outer count is 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Strided {
    start: u64,
    block: u64,
    inner: Level,
    outer: Level,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Level {
    stride: u64,
    /// At least 1.
    count: u64,
}

const ONCE: Level = Level {
    stride: 0,
    count: 1,
};

impl Level {
    /// From the first byte to behind the last one of so many pieces.
    fn span(self, piece: u64) -> u64 {
        self.stride * (self.count - 1) + piece
    }
}

/// What covers blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cover {
    /// All bytes of an extent.
    Extent(Extent),
    /// Blocks with room between them.
    Strided(Strided),
}

impl Cover {
    /// What holds blocks of `block` bytes from `start` on, repeated `count` times every `stride` bytes for each of
    /// `levels`, pairs of a stride and a count. No byte more, unless there are more than two strides or blocks of
    /// different rows mix: then what lies between blocks of the inner stride counts as well. `None` if there is no
    /// byte, or one beyond the address space.
    pub fn new(
        start: u64,
        block: u64,
        levels: impl IntoIterator<Item = (u64, u64)>,
    ) -> Option<Cover> {
        let mut sorted: Vec<Level> = Vec::new();
        let mut end = start.checked_add(block)?;
        for (stride, count) in levels {
            let way = stride.checked_mul(count.checked_sub(1)?)?;
            end = end.checked_add(way)?;
            if way > 0 {
                sorted.push(Level { stride, count });
            }
        }
        sorted.sort_unstable();
        let mut found = Strided {
            start,
            block,
            inner: ONCE,
            outer: ONCE,
        };
        sorted.into_iter().for_each(|level| found.repeat(level));
        Some(if found.inner.count == 1 {
            Cover::Extent(Extent::new(start, start + found.block).ok()?)
        } else {
            Cover::Strided(found)
        })
    }
}

impl Strided {
    /// The pattern, as often as a level says, whose stride is not below those that it has.
    fn repeat(&mut self, level: Level) {
        if self.inner.count == 1 {
            if level.stride <= self.block {
                self.block = level.span(self.block);
            } else {
                self.inner = level;
            }
            return;
        }
        let last = match self.outer.count {
            1 => &mut self.inner,
            _ => &mut self.outer,
        };
        if level.stride.is_multiple_of(last.stride) && level.stride / last.stride <= last.count {
            last.count += level.stride / last.stride * (level.count - 1);
        } else if self.outer.count == 1 && level.stride > self.inner.span(self.block) {
            self.outer = level;
        } else {
            self.block = self.inner.span(self.block);
            self.inner = std::mem::replace(&mut self.outer, ONCE);
            self.repeat(level);
        }
    }

    /// Bytes of one block.
    pub fn block(&self) -> u64 {
        self.block
    }

    /// The first byte.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Strides and counts, the inner ones first. A count may be 1.
    pub fn levels(&self) -> [(u64, u64); 2] {
        [self.inner, self.outer].map(|level| (level.stride, level.count))
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> u64 {
        self.inner.count * self.outer.count
    }

    /// How many bytes.
    pub fn bytes(&self) -> u64 {
        self.blocks() * self.block
    }

    fn len(&self) -> u64 {
        self.outer.span(self.inner.span(self.block))
    }

    /// The smallest extent that holds all blocks.
    pub fn hull(&self) -> Extent {
        Extent::with_len(self.start, self.len()).expect("the last block ends in the address space")
    }

    /// The blocks, in address order.
    pub fn iter(&self) -> impl Iterator<Item = Extent> + use<> {
        let Strided {
            start,
            block,
            inner,
            outer,
        } = *self;
        (0..outer.count).flat_map(move |row| {
            let row = start + row * outer.stride;
            (0..inner.count).map(move |at| {
                Extent::with_len(row + at * inner.stride, block).expect("a block in the hull")
            })
        })
    }

    /// Whether a block shares a byte with `extent`.
    pub fn overlaps(&self, extent: Extent) -> bool {
        let Some(part) = self.hull().intersect(extent) else {
            return false;
        };
        let (from, to) = (part.start() - self.start, part.end() - self.start);
        self.outer
            .has(self.inner.span(self.block), from, to, |from, to| {
                self.inner.has(self.block, from, to, |_, _| true)
            })
    }

    /// Whether every byte of `extent` is in one block.
    pub fn contains(&self, extent: Extent) -> bool {
        if !self.hull().contains(extent) {
            return false;
        }
        let place = |level: Level, at: u64| match level.count {
            1 => Some(at),
            count => (at / level.stride < count).then_some(at % level.stride),
        };
        let at = place(self.outer, extent.start() - self.start);
        let at = at.and_then(|at| place(self.inner, at));
        at.is_some_and(|at| at + extent.len() <= self.block)
    }

    /// Whether every block of `other` is in one of its own; `false` if that is not seen.
    pub fn contains_blocks(&self, other: &Strided) -> bool {
        let same = |a: Level, b: Level| b.count == 1 || a.stride == b.stride;
        let is_like = same(self.inner, other.inner) && same(self.outer, other.outer);
        // Where the first and the last block of each row are in its own, at the same strides, so are the others.
        let Strided {
            start,
            block,
            inner,
            ..
        } = *other;
        is_like
            && [0, other.outer.stride * (other.outer.count - 1)]
                .into_iter()
                .all(|row| {
                    let ends = [0, inner.stride * (inner.count - 1)].map(|at| {
                        Extent::with_len(start + row + at, block).expect("a block in the hull")
                    });
                    self.row_of(ends[0]) == self.row_of(ends[1])
                        && ends.into_iter().all(|end| self.contains(end))
                })
    }

    fn row_of(&self, extent: Extent) -> u64 {
        let way = extent.start().wrapping_sub(self.start);
        way.checked_div(self.outer.stride).unwrap_or(0)
    }

    /// Whether a block shares a byte with a block of `other`. Where strides differ and there are thousands of rows, it
    /// may say so wrongly.
    pub fn meets(&self, other: &Strided) -> bool {
        let mut left = ROWS;
        let of = |pattern: &Strided| Rows {
            block: pattern.block.into(),
            levels: [pattern.inner, pattern.outer],
            depth: 2,
        };
        let way = i128::from(other.start) - i128::from(self.start);
        of(self).meets(of(other), way, &mut left)
    }

    /// Both as one, if that is one pattern without a byte more.
    pub(crate) fn joined(&self, other: &Strided) -> Option<Cover> {
        if self.contains_blocks(other) {
            return Some(Cover::Strided(*self));
        }
        if other.contains_blocks(self) {
            return Some(Cover::Strided(*other));
        }
        let (first, second) = if self.start <= other.start {
            (self, other)
        } else {
            (other, self)
        };
        let way = second.start - first.start;
        if (first.inner, first.outer) == (second.inner, second.outer) && way <= first.block {
            // Longer blocks.
            let block = first.block.max(way + second.block);
            return Cover::new(first.start, block, first.levels());
        }
        let is_row = first.outer.count == 1 && second.outer.count == 1;
        let stride = first.inner.stride;
        let is_like = first.block == second.block && second.inner.stride == stride;
        if is_row && is_like && way % stride == 0 && way / stride <= first.inner.count {
            // More blocks.
            let count = first.inner.count.max(way / stride + second.inner.count);
            return Cover::new(first.start, first.block, [(stride, count)]);
        }
        None
    }
}

impl Level {
    /// Whether one of its pieces of so many bytes has something in `[from, to)`, which begins in its span; `piece`
    /// says that of a part of a piece.
    fn has(self, bytes: u64, from: u64, to: u64, piece: impl Fn(u64, u64) -> bool) -> bool {
        if self.count == 1 {
            return piece(from, to);
        }
        let first = from / self.stride;
        let last = (to - 1) / self.stride;
        if last > first + 1 {
            // A whole piece.
            return true;
        }
        (first..=last.min(self.count - 1)).any(|at| {
            let start = at * self.stride;
            let (from, to) = (from.max(start) - start, (to - start).min(bytes));
            from < to && piece(from, to)
        })
    }
}

/// A pattern without its start, as deep as its levels say.
#[derive(Clone, Copy)]
struct Rows {
    block: i128,
    levels: [Level; 2],
    depth: usize,
}

impl Rows {
    fn row(self) -> Rows {
        Rows {
            depth: self.depth - 1,
            ..self
        }
    }

    fn span(self) -> i128 {
        let levels = self.levels[..self.depth].iter();
        levels.fold(self.block, |piece, level| {
            i128::from(level.stride) * i128::from(level.count - 1) + piece
        })
    }

    /// Whether it has a byte in common with `other`, which begins so far behind it.
    fn meets(self, other: Rows, way: i128, left: &mut u32) -> bool {
        if way >= self.span() || -way >= other.span() {
            return false;
        }
        let of = |rows: Rows| match rows.depth {
            0 => ONCE,
            depth => rows.levels[depth - 1],
        };
        let (own, its) = (of(self), of(other));
        match (own.count, its.count) {
            (1, _) if self.depth > 0 => return self.row().meets(other, way, left),
            (_, 1) if other.depth > 0 => return self.meets(other.row(), way, left),
            (1, 1) => return true,
            _ => {}
        }
        if own.count > 1 && own.stride == its.stride {
            // Their rows are shifted by so many rows and less than one.
            let stride = i128::from(own.stride);
            let (rows, rest) = (way.div_euclid(stride), way.rem_euclid(stride));
            let reach = -i128::from(its.count - 1)..i128::from(own.count);
            return [(rows, rest), (rows + 1, rest - stride)]
                .into_iter()
                .any(|(rows, way)| {
                    reach.contains(&rows) && self.row().meets(other.row(), way, left)
                });
        }
        // Row by row of the one that has fewer.
        let is_own = its.count == 1 || (own.count > 1 && own.count <= its.count);
        let (level, sign) = if is_own { (own, -1) } else { (its, 1) };
        for row in 0..level.count {
            if *left == 0 {
                return true;
            }
            *left -= 1;
            let way = way + sign * i128::from(level.stride) * i128::from(row);
            let meets = match is_own {
                true => self.row().meets(other, way, left),
                false => self.meets(other.row(), way, left),
            };
            if meets {
                return true;
            }
        }
        false
    }
}

impl fmt::Display for Strided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let block = Extent::with_len(self.start, self.block).map_err(|_| fmt::Error)?;
        fmt::Display::fmt(&block, f)?;
        for level in [self.inner, self.outer] {
            if level.count > 1 {
                write!(f, " * {} every {:#x}", level.count, level.stride)?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Strided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that are the same each time.
    struct Draw(u64);

    impl Draw {
        fn below(&mut self, most: u64) -> u64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (self.0 >> 33) % most
        }
    }

    type Bytes = [u64; 8];

    fn mark(bytes: &mut Bytes, extent: Extent) {
        for at in extent.start()..extent.end() {
            bytes[at as usize / 64] |= 1 << (at % 64);
        }
    }

    fn levels(draw: &mut Draw, most: u64) -> Vec<(u64, u64)> {
        let level = |draw: &mut Draw| (draw.below(40), 1 + draw.below(5));
        (0..draw.below(most + 1)).map(|_| level(draw)).collect()
    }

    /// What a pattern should hold at least, and what it holds.
    fn drawn(draw: &mut Draw, most: u64) -> (Bytes, Bytes, Cover) {
        let (start, block) = (draw.below(60), 1 + draw.below(9));
        let levels = levels(draw, most);
        let mut at = vec![start];
        for (stride, count) in &levels {
            at = at
                .iter()
                .flat_map(|at| (0..*count).map(move |i| at + i * stride))
                .collect();
        }
        let mut wanted = [0; 8];
        at.iter()
            .for_each(|at| mark(&mut wanted, Extent::with_len(*at, block).unwrap()));
        let cover = Cover::new(start, block, levels).expect("it is in the address space");
        (wanted, of(cover), cover)
    }

    fn of(cover: Cover) -> Bytes {
        let mut bytes = [0; 8];
        match cover {
            Cover::Extent(extent) => mark(&mut bytes, extent),
            Cover::Strided(strided) => {
                let mut last = None;
                for block in strided.iter() {
                    assert!(last < Some(block.start()), "{strided} is not in order");
                    last = Some(block.end());
                    mark(&mut bytes, block);
                }
                let count: u32 = bytes.iter().map(|word| word.count_ones()).sum();
                assert_eq!(u64::from(count), strided.bytes(), "{strided}");
            }
        }
        bytes
    }

    fn is_within(inside: &Bytes, all: &Bytes) -> bool {
        inside
            .iter()
            .zip(all)
            .all(|(inside, all)| inside & !all == 0)
    }

    fn share(a: &Bytes, b: &Bytes) -> bool {
        a.iter().zip(b).any(|(a, b)| a & b != 0)
    }

    #[test]
    fn a_cover_holds_all_blocks_and_one_stride_is_exact() {
        let mut draw = Draw(1);
        for _ in 0..20_000 {
            let (wanted, held, cover) = drawn(&mut draw, 3);
            assert!(is_within(&wanted, &held), "{cover:?}");
            let (wanted, held, cover) = drawn(&mut draw, 1);
            assert_eq!(wanted, held, "{cover:?}");
        }
        let part_of_a_matrix = Cover::new(0, 4, [(100, 3), (4, 10)]).unwrap();
        let Cover::Strided(strided) = part_of_a_matrix else {
            panic!("{part_of_a_matrix:?}");
        };
        assert_eq!((strided.block(), strided.blocks()), (40, 3));
        assert_eq!(Cover::new(8, 4, [(4, 0)]), None);
        assert_eq!(Cover::new(8, 4, [(u64::MAX / 2, 4)]), None);
        assert_eq!(Cover::new(u64::MAX - 8, 4, [(4, 3)]), None);
    }

    #[test]
    fn extents_are_met_and_held_as_bytes_are() {
        let mut draw = Draw(2);
        for _ in 0..20_000 {
            let (_, held, cover) = drawn(&mut draw, 2);
            let Cover::Strided(strided) = cover else {
                continue;
            };
            let extent = Extent::with_len(draw.below(300), 1 + draw.below(30)).unwrap();
            let mut bytes = [0; 8];
            mark(&mut bytes, extent);
            assert_eq!(
                strided.overlaps(extent),
                share(&bytes, &held),
                "{strided} {extent}"
            );
            assert_eq!(
                strided.contains(extent),
                is_within(&bytes, &held),
                "{strided} {extent}"
            );
        }
    }

    #[test]
    fn patterns_meet_and_hold_each_other_as_bytes_do() {
        let mut draw = Draw(3);
        let (mut met, mut apart, mut joined) = (0, 0, 0);
        for _ in 0..100_000 {
            let (_, a, one) = drawn(&mut draw, 2);
            let (_, b, other) = drawn(&mut draw, 2);
            let (Cover::Strided(one), Cover::Strided(mut other)) = (one, other) else {
                continue;
            };
            let mut b = b;
            if draw.below(2) == 0 {
                // The same strides.
                let levels = one.levels().map(|(stride, _)| (stride, 1 + draw.below(5)));
                let cover = Cover::new(other.start, 1 + draw.below(9), levels).unwrap();
                let Cover::Strided(like) = cover else {
                    continue;
                };
                (other, b) = (like, of(cover));
            }
            assert_eq!(one.meets(&other), share(&a, &b), "{one} {other}");
            assert_eq!(other.meets(&one), share(&a, &b), "{one} {other}");
            met += u32::from(share(&a, &b));
            apart += u32::from(!share(&a, &b));
            if one.contains_blocks(&other) {
                assert!(is_within(&b, &a), "{other} in {one}");
            }
            if let Some(both) = one.joined(&other) {
                joined += 1;
                let all: Vec<u64> = a.iter().zip(&b).map(|(a, b)| a | b).collect();
                assert_eq!(of(both)[..], all, "{one} {other}");
            }
        }
        assert!(
            met > 1000 && apart > 1000 && joined > 300,
            "{met} {apart} {joined}"
        );
    }

    #[test]
    fn what_has_too_many_rows_may_meet() {
        let pattern = |start, stride| match Cover::new(start, 1, [(stride, 100_000)]) {
            Some(Cover::Strided(strided)) => strided,
            other => panic!("{other:?}"),
        };
        assert!(pattern(0, 6).meets(&pattern(1, 10)), "even and odd");
        assert!(!pattern(0, 6).meets(&pattern(3, 6)));
    }
}
