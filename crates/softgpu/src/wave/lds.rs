//! The local data share of a workgroup.
//!
//! An access beyond the workgroup's allocation reads zero and writes nothing, as on the hardware.
//!
//! Addresses have 32 bits: base and offset are added modulo 2^32 ([`address`]) before anything is
//! compared with the allocation. Compilers rely on it, and fold `a[i - 1]` into a base that may be
//! negative and an offset. So storage takes an address as `u32`: a sum that did not wrap is no
//! address.

use super::atomics::Rmw;
use super::mask::bit;
use super::register::Lanes;
use crate::target::LaneMask;

/// Words of the largest allocation, 64 KiB.
pub(super) const WORDS: usize = 1 << 14;

pub(super) struct Lds {
    pub(super) words: Box<[u32; WORDS]>,
    /// Bytes allocated.
    limit: u32,
}

impl std::fmt::Debug for Lds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lds")
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

impl Lds {
    pub(super) fn new() -> Self {
        let words = vec![0; WORDS].into_boxed_slice();
        Self {
            words: words
                .try_into()
                .expect("the vector has exactly that length"),
            limit: 0,
        }
    }

    /// All zero, `bytes` of it (the hardware allocates 512 at a time).
    pub(super) fn reset(&mut self, bytes: u32) {
        self.limit = bytes.min(1 << 16).next_multiple_of(512);
        self.words[..self.limit as usize / 4].fill(0);
    }

    /// All that is allocated.
    pub(super) fn content(&self) -> &[u32] {
        &self.words[..self.limit as usize / 4]
    }

    pub(super) fn content_mut(&mut self) -> &mut [u32] {
        &mut self.words[..self.limit as usize / 4]
    }

    fn inside(&self, addr: u32, bytes: u64) -> bool {
        u64::from(addr) + bytes <= u64::from(self.limit)
    }

    /// Loads one lane's `bytes` (up to 16) from any byte address.
    pub(super) fn load_lane(&self, addr: u32, bytes: u64) -> [u32; 4] {
        let mut out = [0; 4];
        if self.inside(addr, bytes) {
            for k in 0..bytes {
                let at = u64::from(addr) + k;
                let byte = self.words[at as usize / 4 % WORDS] >> (8 * (at & 3)) & 0xff;
                out[k as usize / 4] |= byte << (8 * (k & 3));
            }
        }
        out
    }

    pub(super) fn store_lane(&mut self, addr: u32, bytes: u64, words: [u32; 4]) {
        if self.inside(addr, bytes) {
            for k in 0..bytes {
                let at = u64::from(addr) + k;
                let shift = 8 * (at & 3);
                let byte = words[k as usize / 4] >> (8 * (k & 3)) & 0xff;
                let word = &mut self.words[at as usize / 4 % WORDS];
                *word = *word & !(0xff << shift) | byte << shift;
            }
        }
    }

    pub(super) fn rmw(&mut self, op: Rmw, addr: u32, bytes: u64, a: u64, b: u64) -> u64 {
        let words = self.load_lane(addr, bytes);
        let old = u64::from(words[0]) | u64::from(words[1]) << 32;
        let new = if bytes == 8 {
            op.apply64(old, a, b)
        } else {
            u64::from(op.apply32(old as u32, a as u32, b as u32))
        };
        self.store_lane(addr, bytes, [new as u32, (new >> 32) as u32, 0, 0]);
        old
    }

    /// Whether all active lanes access whole words inside the allocation.
    #[inline(always)]
    pub(super) fn plain(&self, exec: LaneMask, addrs: &Lanes, offset: u32, bytes: u32) -> bool {
        let last = self.limit.wrapping_sub(bytes);
        let mut bad = 0_u32;
        for (i, addr) in addrs.iter().enumerate() {
            let at = address(*addr, offset);
            let outside = at > last || at & 3 != 0;
            bad |= u32::from(outside & bit(exec, i));
        }
        bad == 0 && self.limit >= bytes
    }
}

/// Where a lane's access begins.
#[inline(always)]
pub(super) fn address(base: u32, offset: u32) -> u32 {
    base.wrapping_add(offset)
}
