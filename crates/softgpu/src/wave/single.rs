//! Accesses of host memory that others use at the same time.
//!
//! What must hold: a naturally aligned access of 1, 2, 4 or 8 bytes happens at once, and a store
//! happens once. So there is no `memcpy` here: it may divide a word, and store a byte twice, the
//! second time over what another thread has made of it meanwhile. Longer accesses, and those that
//! are aligned to words only, are done in the largest such parts.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// An integer that is accessed at once where it is naturally aligned.
pub(super) trait Single: Copy {
    const BYTES: u64;

    /// # Safety
    /// `at` must be valid for reads of [`Self::BYTES`] bytes.
    unsafe fn load(at: *const u8) -> Self;

    /// # Safety
    /// `at` must be valid for writes of [`Self::BYTES`] bytes.
    unsafe fn store(self, at: *mut u8);

    fn to_bytes(self) -> [u8; 8];
    fn from_bytes(bytes: [u8; 8]) -> Self;
}

macro_rules! single {
    ($($ty:ty, $atomic:ty;)*) => { $(
        impl Single for $ty {
            const BYTES: u64 = size_of::<Self>() as u64;

            #[inline(always)]
            unsafe fn load(at: *const u8) -> Self {
                if at.addr() % size_of::<Self>() == 0 {
                    // SAFETY: valid for reads by the caller's promise, and aligned.
                    unsafe { <$atomic>::from_ptr(at.cast_mut().cast()) }.load(Ordering::Relaxed)
                } else {
                    // SAFETY: valid for reads by the caller's promise.
                    unsafe { at.cast::<Self>().read_unaligned() }
                }
            }

            #[inline(always)]
            unsafe fn store(self, at: *mut u8) {
                if at.addr() % size_of::<Self>() == 0 {
                    // SAFETY: valid for writes by the caller's promise, and aligned.
                    unsafe { <$atomic>::from_ptr(at.cast()) }.store(self, Ordering::Relaxed);
                } else {
                    // SAFETY: valid for writes by the caller's promise.
                    unsafe { at.cast::<Self>().write_unaligned(self) };
                }
            }

            #[inline(always)]
            fn to_bytes(self) -> [u8; 8] {
                let mut bytes = [0; 8];
                bytes[..size_of::<Self>()].copy_from_slice(&self.to_le_bytes());
                bytes
            }

            #[inline(always)]
            fn from_bytes(bytes: [u8; 8]) -> Self {
                u64::from_le_bytes(bytes) as Self
            }
        }
    )* };
}

single! {
    u8, AtomicU8;
    u16, AtomicU16;
    u32, AtomicU32;
    u64, AtomicU64;
}

/// # Safety
/// `at` must be valid for reads of as many bytes as `words` has.
#[inline(always)]
pub(super) unsafe fn load_words(at: *const u8, words: &mut [u32]) {
    let (whole, rest) = if at.addr().is_multiple_of(8) {
        words.split_at_mut(words.len() & !1)
    } else {
        words.split_at_mut(0)
    };
    for (k, pair) in whole.chunks_exact_mut(2).enumerate() {
        // SAFETY: inside what the caller promises.
        let value = unsafe { u64::load(at.wrapping_add(8 * k)) };
        (pair[0], pair[1]) = (value as u32, (value >> 32) as u32);
    }
    let at = at.wrapping_add(4 * whole.len());
    for (k, word) in rest.iter_mut().enumerate() {
        // SAFETY: as above.
        *word = unsafe { u32::load(at.wrapping_add(4 * k)) };
    }
}

/// # Safety
/// `at` must be valid for writes of as many bytes as `words` has.
#[inline(always)]
pub(super) unsafe fn store_words(at: *mut u8, words: &[u32]) {
    let (whole, rest) = if at.addr().is_multiple_of(8) {
        words.split_at(words.len() & !1)
    } else {
        words.split_at(0)
    };
    for (k, pair) in whole.chunks_exact(2).enumerate() {
        // SAFETY: inside what the caller promises.
        unsafe { (u64::from(pair[0]) | u64::from(pair[1]) << 32).store(at.wrapping_add(8 * k)) };
    }
    let at = at.wrapping_add(4 * whole.len());
    for (k, word) in rest.iter().enumerate() {
        // SAFETY: as above.
        unsafe { word.store(at.wrapping_add(4 * k)) };
    }
}

/// Copies bytes, ascending: stores each once, in words as long as the alignment of the target allows.
///
/// # Safety
/// `from` must be valid for reads and `to` for writes of `len` bytes.
pub(super) unsafe fn copy_bytes(to: *mut u8, from: *const u8, len: usize) {
    let mut done = 0;
    /// The next integers, as long as there are whole ones and `more` of them are wanted.
    macro_rules! integers {
        ($ty:ty, $more:expr) => {
            while len - done >= size_of::<$ty>() && $more(to.addr() + done) {
                // SAFETY: there are as many bytes left of both.
                unsafe { <$ty>::load(from.wrapping_add(done)).store(to.wrapping_add(done)) };
                done += size_of::<$ty>();
            }
        };
    }
    integers!(u8, |at: usize| !at.is_multiple_of(2));
    integers!(u16, |at: usize| !at.is_multiple_of(4));
    integers!(u32, |at: usize| !at.is_multiple_of(8));
    integers!(u64, |_| true);
    integers!(u32, |_| true);
    integers!(u16, |_| true);
    integers!(u8, |_| true);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every alignment and length: the bytes, and nothing beside them.
    #[test]
    fn words_go_where_they_belong() {
        for shift in 0..12 {
            for count in 0..9 {
                let words: Vec<u32> = (1..=count).map(|k| k * 0x0101_0203).collect();
                let mut memory = [0_u64; 8];
                let at = memory.as_mut_ptr().cast::<u8>().wrapping_add(shift);
                // SAFETY: at most 12 + 32 bytes of 64.
                unsafe { store_words(at, &words) };
                let mut back = vec![0; words.len()];
                // SAFETY: as above.
                unsafe { load_words(at, &mut back) };
                assert_eq!(back, words);
                let bytes: Vec<u8> = memory.iter().flat_map(|word| word.to_le_bytes()).collect();
                let mut want = vec![0; shift];
                want.extend(words.iter().flat_map(|word| word.to_le_bytes()));
                want.resize(64, 0);
                assert_eq!(bytes, want, "{count} words at {shift}");
            }
        }
    }

    /// Every alignment of both sides and length: the bytes, and nothing beside them.
    #[test]
    fn bytes_go_where_they_belong() {
        for (from, to, len) in (0..9)
            .flat_map(|from| (0..9).flat_map(move |to| (0..25).map(move |len| (from, to, len))))
        {
            let source: Vec<u8> = (1..=40).collect();
            let mut target = [0_u64; 5];
            let at = target.as_mut_ptr().cast::<u8>().wrapping_add(to);
            // SAFETY: at most 8 + 24 bytes of 40.
            unsafe { copy_bytes(at, source[from..].as_ptr(), len) };
            let bytes: Vec<u8> = target.iter().flat_map(|word| word.to_le_bytes()).collect();
            let mut want = vec![0; to];
            want.extend(&source[from..from + len]);
            want.resize(40, 0);
            assert_eq!(bytes, want, "{len} bytes from {from} to {to}");
        }
    }
}
