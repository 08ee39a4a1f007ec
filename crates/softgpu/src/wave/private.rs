//! Private (scratch) memory of a wave.
//!
//! Swizzled as the hardware lays it out: word `k` of lane `l` is word `64 * k + l`, so that equal
//! offsets in all lanes are contiguous. Three ways lead here: buffer instructions with the
//! descriptor that the kernel's prologue makes of the private segment buffer registers (whose base
//! we set to [`WINDOW`]), flat addresses in the private aperture, and scratch instructions.

use super::memory::Fault;
use super::register::Lanes;
use crate::target::LANES;

/// Base address of private memory in buffer descriptors: a bit that no user address has.
pub(super) const WINDOW: u64 = 1 << 47;

#[derive(Debug, Default)]
pub(super) struct Private {
    words: Vec<u32>,
    /// Words from here on are zero: what a new wave need not clear.
    dirty: usize,
}

impl Private {
    /// All zero, `bytes` a lane.
    pub(super) fn reset(&mut self, bytes: u32) {
        let size = LANES * bytes.div_ceil(4) as usize;
        let dirty = self.dirty.min(self.words.len());
        self.words[..dirty].fill(0);
        self.dirty = 0;
        if self.words.len() != size {
            self.words.clear();
            self.words.resize(size, 0);
        }
    }

    /// Words of all lanes.
    pub(super) fn words(&self) -> usize {
        self.words.len()
    }

    /// All from the beginning on that may not be zero.
    pub(super) fn content(&self) -> &[u32] {
        &self.words[..self.dirty.min(self.words.len())]
    }

    /// As many words from the beginning on, to be filled.
    pub(super) fn beginning_mut(&mut self, words: usize) -> Option<&mut [u32]> {
        let beginning = self.words.get_mut(..words)?;
        self.dirty = self.dirty.max(words);
        Some(beginning)
    }

    /// Word number of the word that holds byte `offset` of `lane`.
    fn index(lane: usize, offset: u64) -> usize {
        (offset / 4) as usize * LANES + lane
    }

    /// Loads one lane's `bytes` (1, 2, or a multiple of 4 up to 16) from byte `offset`.
    pub(super) fn load_lane(&self, lane: usize, offset: u64, bytes: u64) -> Option<[u32; 4]> {
        let mut out = [0; 4];
        if offset.is_multiple_of(4) && bytes.is_multiple_of(4) {
            for k in 0..bytes / 4 {
                out[k as usize] = *self.words.get(Self::index(lane, offset + 4 * k))?;
            }
        } else {
            for k in 0..bytes {
                let word = *self.words.get(Self::index(lane, offset + k))?;
                let byte = word >> (8 * ((offset + k) & 3)) & 0xff;
                out[k as usize / 4] |= byte << (8 * (k & 3));
            }
        }
        Some(out)
    }

    pub(super) fn store_lane(
        &mut self,
        lane: usize,
        offset: u64,
        bytes: u64,
        words: [u32; 4],
    ) -> Option<()> {
        for k in 0..bytes {
            let at = Self::index(lane, offset + k);
            let shift = 8 * ((offset + k) & 3);
            let byte = words[k as usize / 4] >> (8 * (k & 3)) & 0xff;
            let word = self.words.get_mut(at)?;
            *word = *word & !(0xff << shift) | byte << shift;
            self.dirty = self.dirty.max(at + 1);
        }
        Some(())
    }

    /// The words of all lanes at byte address `linear` of the swizzled layout.
    #[inline(always)]
    pub(super) fn row(&self, linear: u64) -> Option<&Lanes> {
        let at = usize::try_from(linear / 4).ok()?;
        self.words.get(at..)?.first_chunk()
    }

    #[inline(always)]
    pub(super) fn row_mut(&mut self, linear: u64) -> Option<&mut Lanes> {
        let at = usize::try_from(linear / 4).ok()?;
        self.dirty = self.dirty.max(at.saturating_add(LANES));
        self.words.get_mut(at..)?.first_chunk_mut()
    }

    /// One word at a byte address of the swizzled layout.
    pub(super) fn load_linear(&self, linear: u64, bytes: u64) -> Option<u32> {
        let word = *self.words.get(usize::try_from(linear / 4).ok()?)?;
        let part = word >> (8 * (linear & 3));
        Some(if bytes < 4 {
            part & ((1 << (8 * bytes)) - 1)
        } else {
            part
        })
    }

    pub(super) fn store_linear(&mut self, linear: u64, bytes: u64, value: u32) -> Option<()> {
        let at = usize::try_from(linear / 4).ok()?;
        let word = self.words.get_mut(at)?;
        let shift = 8 * (linear & 3);
        let mask = if bytes < 4 {
            ((1 << (8 * bytes)) - 1) << shift
        } else {
            !0
        };
        *word = *word & !mask | value << shift & mask;
        self.dirty = self.dirty.max(at + 1);
        Some(())
    }

    /// The fault of an access beyond the end.
    pub(super) fn fault(addr: u64, write: bool) -> Fault {
        Fault { addr, write }
    }
}
