//! Lane masks.

use super::register::Lanes;
use crate::target::{LANES, LaneMask};

/// The bit of lane `i` (32-bit arithmetic vectorises better).
#[inline(always)]
pub(super) fn bit(mask: LaneMask, i: usize) -> bool {
    let half = if i < 32 {
        mask as u32
    } else {
        (mask >> 32) as u32
    };
    half >> (i & 31) & 1 != 0
}

/// A mask of lanes that hold 0 or 1.
#[inline(always)]
pub(super) fn pack(lanes: &Lanes) -> u64 {
    let mut mask = 0;
    for quarter in 0..4 {
        let mut bits = 0;
        for i in 0..16 {
            bits |= lanes[16 * quarter + i] << i;
        }
        mask |= u64::from(bits) << (16 * quarter);
    }
    mask
}

/// The lanes of a mask, ascending.
#[inline(always)]
pub(super) fn active(mut mask: LaneMask) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros() as usize;
        (mask != 0).then(|| {
            mask &= mask - 1;
            lane & (LANES - 1)
        })
    })
}
