//! A word of memory that streams of the program wait for on the device, and that the host can set.
//!
//! An event can be completed by the device only: a stream that waits for one waits for good when the
//! work before it does not end. Here the device stores tickets into the low half of the word, in
//! rising order, and giving up sets the high half from the host: then every wait for any ticket is
//! over, those that are still to be enqueued included, and no store of the device takes that back.
//!
//! Values rise as long as the word is used, over all checkpoints: a wait of an earlier checkpoint may
//! still be in a stream, behind a kernel that takes long. A word that was released is never used
//! again.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use strobe_hip::{MALLOC_SIGNAL_MEMORY, Ptr, STREAM_WAIT_VALUE_GTE, Status, Stream, next};

/// See the module's documentation. HIP's memory for it is given back with the process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word {
    address: u64,
}

/// The high half of a word that was released: as a signed number the largest there is.
const RELEASED: u32 = 0x7fff_ffff;
/// Above this a new word is made for the next checkpoint.
const WORN: u32 = 1 << 31;

impl Word {
    /// A word that stands at 0.
    pub(crate) fn create() -> Result<Word, Status> {
        let mut address: Ptr = std::ptr::null_mut();
        // SAFETY: writes to a local.
        unsafe { next::hipExtMallocWithFlags(&mut address, 8, MALLOC_SIGNAL_MEMORY) }.ok()?;
        let word = Word {
            address: address as u64,
        };
        word.whole().store(0, Ordering::Release);
        Ok(word)
    }

    /// In place of one that HIP has taken back: holds nobody back, and is not usable.
    pub(crate) fn lost() -> Word {
        static LOST: AtomicU64 = AtomicU64::new((RELEASED as u64) << 32);
        Word {
            address: LOST.as_ptr() as u64,
        }
    }

    /// Where the device stores values: 32 bits.
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// The value that the device stored last.
    pub(crate) fn value(&self) -> u32 {
        self.whole().load(Ordering::Acquire) as u32
    }

    /// Lets everybody go on who waits for it, or will.
    pub(crate) fn release(&self) {
        // SAFETY: the upper half of eight bytes that live as long as HIP does, little-endian; both
        // halves are only ever touched atomically.
        let high = unsafe { AtomicU32::from_ptr((self.address + 4) as *mut u32) };
        high.store(RELEASED, Ordering::Release);
    }

    /// Whether the next checkpoint can use it.
    pub(crate) fn is_usable(&self) -> bool {
        self.whole().load(Ordering::Acquire) < u64::from(WORN)
    }

    /// Whether `stream` can wait for a word: HIP 5.2 crashes on a thread's own default stream.
    pub(crate) fn can_hold(stream: Stream) -> bool {
        stream != Stream::PER_THREAD
    }

    /// Makes `stream`, which can wait for a word, wait until `value` or a later one was stored, or the word is released.
    pub(crate) fn make_wait(&self, stream: Stream, value: u32) -> Result<(), Status> {
        let address = self.address as Ptr;
        let everything = u64::MAX;
        // SAFETY: signal memory of HIP's; the stream is in use by the calling thread.
        unsafe {
            next::hipStreamWaitValue64(
                stream,
                address,
                value.into(),
                STREAM_WAIT_VALUE_GTE,
                everything,
            )
        }
        .ok()
    }

    fn whole(&self) -> &AtomicU64 {
        // SAFETY: eight aligned bytes that live as long as HIP does, touched atomically only.
        unsafe { AtomicU64::from_ptr(self.address as *mut u64) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_released_word_is_past_every_ticket_whatever_the_device_stores() {
        let memory = AtomicU64::new(7);
        let word = Word {
            address: memory.as_ptr() as u64,
        };
        assert!(word.is_usable());
        assert_eq!(word.value(), 7);
        word.release();
        for stored in [0, 8, u32::MAX] {
            // SAFETY: the low half of the local.
            unsafe { AtomicU32::from_ptr(memory.as_ptr().cast()) }.store(stored, Ordering::Relaxed);
            let seen = memory.load(Ordering::Relaxed).cast_signed();
            assert!(seen >= i64::from(u32::MAX), "{seen} holds somebody back");
            assert!(!word.is_usable());
        }
        memory.store(u64::from(WORN), Ordering::Relaxed);
        assert!(!word.is_usable(), "values would run out");
    }
}
