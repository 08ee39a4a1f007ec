//! How long an evaluation may take: one or two milliseconds.
//!
//! It is counted and not timed, so that a launch always has the same footprint. A unit is about ten nanoseconds, and
//! up to seventeen where a kernel is so large that no cache holds it; what each part costs was measured, on the kernels of
//! whole libraries.

/// Of one launch. What is not known by then is anything.
const MOST: u32 = 150_000;
/// When so much is done, what would only make sets smaller is left out.
const ENOUGH: u32 = MOST / 4;

/// Something is looked up.
pub(crate) const LOOK_UP: usize = 3;
/// A value that is not known yet.
pub(crate) const VALUE: usize = 5;
/// Two alternatives become one.
pub(crate) const ALTERNATIVE: usize = 1;
/// A condition is gone by.
pub(crate) const CONDITION: usize = 1;
/// It is compared with.
pub(crate) const COMPARISON: usize = 3;
/// A way into a phi.
pub(crate) const WAY: usize = 5;
/// A phi is looked for.
pub(crate) const PHI: usize = 9;
/// A word that may be a pointer.
pub(crate) const POINTER: usize = 10;
/// An alternative of an address.
pub(crate) const ADDRESS: usize = 10;

/// Units so far.
#[derive(Debug, Default)]
pub(crate) struct Work(u32);

impl Work {
    pub(crate) fn charge(&mut self, units: usize) {
        self.0 = self
            .0
            .saturating_add(u32::try_from(units).unwrap_or(u32::MAX));
    }

    pub(crate) fn is_enough(&self) -> bool {
        self.0 > ENOUGH
    }

    pub(crate) fn is_too_much(&self) -> bool {
        self.0 > MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_counted_up_to_any_number() {
        let mut work = Work::default();
        work.charge(ENOUGH as usize);
        assert!(!work.is_enough());
        work.charge(1);
        assert!(work.is_enough() && !work.is_too_much());
        work.charge(usize::MAX);
        assert!(work.is_too_much());
        work.charge(1);
        assert!(work.is_too_much());
    }
}
