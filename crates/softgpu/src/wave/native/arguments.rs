//! From the arguments of a known kernel to what it does.
//!
//! Offsets and arithmetic are those of the instructions. Work-items beyond the grid do not exist, and
//! kernels that are given less than they ask for (a grid that is too small for the size) do a part.

use strobe_fingerprint::{BLOCK_BYTES, BlockEntry};

use super::fingerprint::Fingerprints;
use super::known::Kernel;
use super::rows::{Place, Rows, Source};
use super::work::Work;
use crate::wave::dispatch::Dispatch;
use crate::wave::memory::Memory;

/// HIP's patterns have 16 bytes at the most.
const LONGEST_PATTERN: u64 = 64;
/// More would be a table of 16 MiB for 64 GiB.
const MOST_BLOCKS: usize = 1 << 20;

/// `None` for launches of a kind that nobody makes.
pub(super) fn work(kernel: Kernel, dispatch: &Dispatch, memory: &mut Memory<'_>) -> Option<Work> {
    let mut launch = Launch {
        grid: dispatch.packet.grid_size.map(u64::from),
        kernarg: dispatch.packet.kernarg_address,
        memory,
    };
    match kernel {
        Kernel::FillBufferAligned => launch.fill().map(Work::Move),
        Kernel::FillBufferAligned2D => launch.fill_2d().map(Work::Move),
        Kernel::CopyBuffer => launch.copy().map(Work::Move),
        Kernel::CopyBufferAligned => launch.copy_aligned().map(Work::Move),
        Kernel::CopyBufferRect => launch.copy_rect(1).map(Work::Move),
        Kernel::CopyBufferRectAligned => {
            let element = if launch.argument(0x78)? == 16 { 16 } else { 4 };
            launch.copy_rect(element).map(Work::Move)
        }
        Kernel::Copy => launch.agents_copy().map(Work::Move),
        Kernel::Fingerprint => launch.fingerprints().map(Work::Fingerprint),
    }
}

struct Launch<'a, 'm> {
    /// Work-items.
    grid: [u64; 3],
    kernarg: u64,
    memory: &'a mut Memory<'m>,
}

impl Launch<'_, '_> {
    fn argument(&mut self, offset: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        let at = self.kernarg.checked_add(offset)?;
        self.memory.get(at, &mut bytes).ok()?;
        Some(u64::from_le_bytes(bytes))
    }

    fn word(&mut self, offset: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        let at = self.kernarg.checked_add(offset)?;
        self.memory.get(at, &mut bytes).ok()?;
        Some(u32::from_le_bytes(bytes))
    }

    /// Work-items of a dimension whose id is below a limit. The ids begin at an offset, which HIP does
    /// not use.
    fn below(&mut self, limit: u64, dimension: usize, offset: u64) -> Option<u64> {
        let from = self.argument(offset)?;
        (from == 0).then(|| limit.min(self.grid[dimension]))
    }

    /// The pointer that is given of those to elements of 8, 4, 2 bytes or one, and their bytes.
    fn typed_pointer(&mut self) -> Option<(u64, u64)> {
        for (offset, bytes) in [(0x18, 8), (0x10, 4), (0x08, 2)] {
            let pointer = self.argument(offset)?;
            if pointer != 0 {
                return Some((pointer, bytes));
            }
        }
        Some((self.argument(0)?, 1))
    }

    /// What is stored: some elements at an address.
    fn pattern(&mut self, element: u64) -> Option<Vec<u8>> {
        let bytes = u64::from(self.word(0x28)?) * element;
        if bytes == 0 || bytes > LONGEST_PATTERN {
            return None;
        }
        let mut pattern = vec![0; bytes as usize];
        let at = self.argument(0x20)?;
        self.memory.get(at, &mut pattern).ok()?;
        Some(pattern)
    }

    /// `(pointers, pattern, elements of it, first element, patterns)`
    fn fill(&mut self) -> Option<Rows> {
        let (pointer, element) = self.typed_pointer()?;
        let pattern = self.pattern(element)?;
        let first = self.argument(0x30)?.wrapping_mul(element);
        let size = self.argument(0x38)?;
        let patterns = self.below(size, 0, 0x40)?;
        self.is_line().then(|| Rows {
            to: line(pointer.wrapping_add(first)),
            source: Source::pattern(&pattern),
            bytes: patterns.saturating_mul(pattern.len() as u64),
            count: [1, 1],
        })
    }

    /// `(pointers, pattern, elements of it, first element, width, height, pitch)`, in elements
    fn fill_2d(&mut self) -> Option<Rows> {
        let (pointer, element) = self.typed_pointer()?;
        let pattern = self.pattern(element)?;
        // Several elements at each place would overlap.
        if pattern.len() as u64 != element || pointer == 0 || self.grid[2] != 1 {
            return None;
        }
        let first = self.argument(0x30)?.wrapping_mul(element);
        let [width, height, pitch] = self.three(0x38)?;
        let width = self.below(width, 0, 0x50)?;
        let height = self.below(height, 1, 0x58)?;
        Some(Rows {
            to: Place {
                start: pointer.wrapping_add(first),
                pitch: [pitch.wrapping_mul(element), 0],
            },
            source: Source::pattern(&pattern),
            bytes: width.saturating_mul(element),
            count: [height, 1],
        })
    }

    /// `(from, to, offset there, offset here, size, rest)`: bytes if the rest is 8, else words but for the
    /// last, of which that many bytes are copied
    fn copy(&mut self) -> Option<Rows> {
        let [from, to, out] = self.three(0x00)?;
        let [into, size] = [self.argument(0x18)?, self.argument(0x20)?];
        let rest = u64::from(self.word(0x28)?);
        let items = self.below(size, 0, 0x30)?;
        let bytes = match (rest, items) {
            (8, _) | (_, 0) => items,
            _ if items < size => items.saturating_mul(4),
            _ => (items - 1).saturating_mul(4).saturating_add(rest),
        };
        self.is_line().then(|| Rows {
            to: line(to.wrapping_add(into)),
            source: Source::Memory(line(from.wrapping_add(out))),
            bytes,
            count: [1, 1],
        })
    }

    /// `(from, to, first there, first here, size, alignment)`: vectors of 16 bytes if it is 16, else words
    fn copy_aligned(&mut self) -> Option<Rows> {
        let [from, to, out] = self.three(0x00)?;
        let [into, size] = [self.argument(0x18)?, self.argument(0x20)?];
        let element = if self.word(0x28)? == 16 { 16 } else { 4 };
        let items = self.below(size, 0, 0x30)?;
        self.is_line().then(|| Rows {
            to: line(to.wrapping_add(into.wrapping_mul(element))),
            source: Source::Memory(line(from.wrapping_add(out.wrapping_mul(element)))),
            bytes: items.saturating_mul(element),
            count: [1, 1],
        })
    }

    /// `(from, to, pitches and first there, the same here, size)`, in elements
    fn copy_rect(&mut self, element: u64) -> Option<Rows> {
        let [from, to] = [self.argument(0x00)?, self.argument(0x08)?];
        let mut side = |base: u64, at| {
            let [row, layer, first] = self.three(at)?.map(|number| number.wrapping_mul(element));
            Some(Place {
                start: base.wrapping_add(first),
                pitch: [row, layer],
            })
        };
        let (out, into) = (side(from, 0x20)?, side(to, 0x40)?);
        let [width, height, depth] = self.three(0x60)?;
        let width = self.below(width, 0, 0x80)?;
        let height = self.below(height, 1, 0x88)?;
        let depth = self.below(depth, 2, 0x90)?;
        Some(Rows {
            to: into,
            source: Source::Memory(out),
            bytes: width.saturating_mul(element),
            count: [height, depth],
        })
    }

    /// `(to, from, bytes, groups)`: by all of its groups, everything
    fn agents_copy(&mut self) -> Option<Rows> {
        const GROUP: u64 = 256;
        let [to, from, bytes] = self.three(0x00)?;
        let groups = u64::from(self.word(0x18)?);
        (self.is_line() && self.grid[0] == groups * GROUP).then(|| Rows {
            to: line(to),
            source: Source::Memory(line(from)),
            bytes,
            count: [1, 1],
        })
    }

    /// `(blocks, sums)`: a wave for each block
    fn fingerprints(&mut self) -> Option<Fingerprints> {
        const GROUP: u64 = 64;
        let [blocks, sums] = [self.argument(0x00)?, self.argument(0x08)?];
        let count = usize::try_from(self.grid[0] / GROUP).ok()?;
        if !self.is_line() || !self.grid[0].is_multiple_of(GROUP) || count > MOST_BLOCKS {
            return None;
        }
        let mut table = vec![0; count * BlockEntry::BYTES];
        self.memory.get(blocks, &mut table).ok()?;
        let (entries, _) = table.as_chunks();
        let blocks: Vec<_> = entries.iter().map(BlockEntry::from_bytes).collect();
        let fits = |block: &BlockEntry| block.bytes as usize <= BLOCK_BYTES;
        blocks
            .iter()
            .all(fits)
            .then_some(Fingerprints { blocks, sums })
    }

    fn three(&mut self, offset: u64) -> Option<[u64; 3]> {
        let [a, b, c] = [offset, offset + 8, offset + 16].map(|offset| self.argument(offset));
        Some([a?, b?, c?])
    }

    fn is_line(&self) -> bool {
        self.grid[1..] == [1, 1]
    }
}

fn line(start: u64) -> Place {
    Place {
        start,
        pitch: [0, 0],
    }
}
