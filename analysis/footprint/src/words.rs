//! What operations make of words: where constants are folded, and of the work-items of a launch.

use crate::node::{Binary, Compare};

impl Binary {
    /// Whether it makes something known of any word and this one.
    pub(crate) fn is_of(self, y: u32) -> bool {
        y != 0 || !matches!(self, Self::DivU | Self::RemU)
    }

    /// Of two 32-bit words; the second is one that it [is of](Self::is_of).
    pub(crate) fn of(self, x: u32, y: u32) -> u32 {
        let shift = y & 31;
        match self {
            Self::Add => x.wrapping_add(y),
            Self::Sub => x.wrapping_sub(y),
            Self::Mul => x.wrapping_mul(y),
            Self::MulHighU => ((u64::from(x) * u64::from(y)) >> 32) as u32,
            Self::MulHighS => ((i64::from(x as i32) * i64::from(y as i32)) >> 32) as u32,
            Self::Shl => x << shift,
            Self::Shr => x >> shift,
            Self::Sar => ((x as i32) >> shift) as u32,
            Self::And => x & y,
            Self::Or => x | y,
            Self::Xor => x ^ y,
            Self::MinU => x.min(y),
            Self::MaxU => x.max(y),
            Self::MinS => (x as i32).min(y as i32) as u32,
            Self::MaxS => (x as i32).max(y as i32) as u32,
            Self::DivU => x / y,
            Self::RemU => x % y,
        }
    }
}

impl Compare {
    /// Of two 32-bit words.
    pub(crate) fn of(self, x: u32, y: u32) -> bool {
        self.of64(i64::from(x as i32) as u64, i64::from(y as i32) as u64)
    }

    /// Of two 64-bit words.
    pub(crate) fn of64(self, x: u64, y: u64) -> bool {
        match self {
            Self::Eq => x == y,
            Self::Ne => x != y,
            Self::LtU => x < y,
            Self::LeU => x <= y,
            Self::LtS => (x as i64) < y as i64,
            Self::LeS => x as i64 <= y as i64,
        }
    }
}

/// The sign extension of a word's lowest bits.
pub(crate) fn sign(x: u32, bits: u8) -> u32 {
    let shift = 32 - u32::from(bits);
    (((x << shift) as i32) >> shift) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_compare_as_they_do_when_they_are_longer() {
        let words = [0, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX];
        for (x, y) in words.into_iter().flat_map(|x| words.map(|y| (x, y))) {
            assert_eq!(Compare::LtU.of(x, y), x < y, "{x} {y}");
            assert_eq!(Compare::LeU.of(x, y), x <= y, "{x} {y}");
            assert_eq!(Compare::LtS.of(x, y), (x as i32) < y as i32, "{x} {y}");
            assert_eq!(Compare::Ne.of(x, y), x != y, "{x} {y}");
        }
    }
}
