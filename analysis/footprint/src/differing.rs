//! Which registers are not the same in several states.

use crate::expr::Id;
use crate::registers::VECTORS;

/// Registers that are compared at once.
const AT_ONCE: usize = 16;

/// Registers of one file, a bit for each.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Differing([u64; VECTORS / 64]);

impl Differing {
    /// Those in which one of the others is not like the first.
    pub(crate) fn between<'a>(first: &[Id], others: impl IntoIterator<Item = &'a [Id]>) -> Self {
        let mut found = Self::default();
        for other in others {
            let parts = first.chunks(AT_ONCE).zip(other.chunks(AT_ONCE));
            for (part, (a, b)) in parts.enumerate() {
                let pairs = || a.iter().zip(b);
                if pairs().fold(0, |all, (a, b)| all | (a.0 ^ b.0)) == 0 {
                    continue;
                }
                for (register, (a, b)) in (AT_ONCE * part..).zip(pairs()) {
                    if a != b {
                        found.add(register);
                    }
                }
            }
        }
        found
    }

    pub(crate) fn add(&mut self, register: usize) {
        self.0[register / 64] |= 1 << (register % 64);
    }

    pub(crate) fn add_all(&mut self, words: &[u64; VECTORS / 64]) {
        for (word, more) in self.0.iter_mut().zip(words) {
            *word |= more;
        }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == [0; VECTORS / 64]
    }

    /// By ascending number.
    pub(crate) fn iter(self) -> impl Iterator<Item = usize> {
        let words = self.0.into_iter().enumerate();
        words.flat_map(|(word, mut left)| {
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros() as usize;
                left &= left.checked_sub(1)?;
                Some(64 * word + bit)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_found_wherever_they_differ() {
        let first: Vec<Id> = (0..200).map(Id).collect();
        let changed = |registers: &[usize]| {
            let mut other = first.clone();
            registers
                .iter()
                .for_each(|register| other[*register] = Id(0));
            other
        };
        let others = [changed(&[3, 199]), changed(&[]), changed(&[64, 3])];
        let mut found = Differing::between(&first, others.iter().map(Vec::as_slice));
        assert!(found.iter().eq([3, 64, 199]));
        found.add_all(&[1 << 5, 0, 0, 0, 0, 0, 0, 0]);
        assert!(found.iter().eq([3, 5, 64, 199]));
    }
}
