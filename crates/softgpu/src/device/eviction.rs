//! Whose waves have to let go, and why.
//!
//! Each queue has a word, found by its doorbell, that its waves look at between basic blocks: while it is not 0 they
//! let go, and what they had reached is saved. Its bits are reasons, each of which somebody else sets and clears.
//! That a whole process is paused stands in every word of it, those of no queue included, so that neither needs the
//! tables, which a thread may have locked that is frozen.

use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU32, Ordering};

use super::condition::{Condition, Owner};
use super::open::Device;
use super::tables::{DOORBELLS, GPUS, Live, State};

/// The process is paused: [`Live::pause`] is not 0.
const PAUSED: u32 = 1;
/// The queue's percentage is 0.
pub(crate) const NO_SHARE: u32 = 2;
/// The device's fault plan wants it.
pub(crate) const DRILLED: u32 = 4;
/// The queue is being destroyed: what its waves had reached is nobody's.
pub(crate) const GONE: u32 = 8;

/// A reason for [`Live::pause`]: from PROCESS_INFO to UNPAUSE.
pub(crate) const BY_REQUEST: u32 = 1;
/// The same: CRIU is about to freeze it, or has, by which the waves' threads stand still wherever they are.
const BY_FREEZE: u32 = 2;

impl Live {
    /// The word of the queue with this doorbell.
    pub(crate) fn evict(&self, gpu: usize, doorbell: u32) -> &AtomicU32 {
        &self.evict[gpu % GPUS][doorbell as usize % DOORBELLS]
    }

    /// A process gets the slot.
    pub(crate) fn begin(&self) {
        self.freezer.store(0, Ordering::SeqCst);
        self.go_on(!0);
    }

    /// Has its queues take no more packets, and their waves let go.
    pub(crate) fn pause(&self, reason: u32) {
        self.pause.fetch_or(reason, Ordering::SeqCst);
        for word in self.evict.iter().flatten() {
            word.fetch_or(PAUSED, Ordering::SeqCst);
        }
    }

    /// Lets them go on, as far as this reason is concerned.
    pub(crate) fn go_on(&self, reason: u32) {
        if self.pause.fetch_and(!reason, Ordering::SeqCst) & !reason == 0 {
            for word in self.evict.iter().flatten() {
                word.fetch_and(!PAUSED, Ordering::SeqCst);
            }
        }
    }

    /// The queue with this doorbell is a new one.
    pub(crate) fn forget_reasons(&self, gpu: usize, doorbell: u32, reasons: u32) {
        let word = self.evict(gpu, doorbell);
        word.fetch_and(PAUSED, Ordering::AcqRel);
        word.fetch_or(reasons, Ordering::AcqRel);
    }

    /// Pauses until the calling thread ends it, or has ended.
    pub(crate) fn freeze(&self) {
        self.freezer.store(Owner::own().word(), Ordering::SeqCst);
        self.pause(BY_FREEZE);
    }

    /// Ends what the calling thread has begun.
    pub(crate) fn thaw(&self) {
        self.thaw_of(Owner::own().word());
    }

    /// Ends what a thread has begun that is gone. Not for threads of the process itself: they may be frozen while they
    /// look, with a file of the kernel open that is not there any more when it is restored. `sees_all`: as for
    /// [`Owner::condition`].
    pub(crate) fn thaw_if_forgotten(&self, sees_all: bool) {
        let freezer = self.freezer.load(Ordering::SeqCst);
        if freezer != 0 && Owner::of_word(freezer).condition(sees_all) == Condition::Gone {
            self.thaw_of(freezer);
        }
    }

    fn thaw_of(&self, freezer: u64) {
        let is_its = self
            .freezer
            .compare_exchange(freezer, 0, Ordering::SeqCst, Ordering::SeqCst);
        if is_its.is_ok() {
            self.go_on(BY_FREEZE);
        }
    }
}

impl Device {
    /// Notes an eviction that its fault plan has brought about; how many there were before.
    pub(crate) fn note_drill(&self) -> u64 {
        self.state().drills.fetch_add(1, Ordering::Relaxed)
    }

    /// How many there were.
    pub(crate) fn drills(&self) -> u64 {
        self.state().drills.load(Ordering::Relaxed)
    }
}

/// How many evictions the fault plan of the device has brought about, whose state is in a file.
pub(crate) fn evictions(state: &File) -> io::Result<u64> {
    let mut bytes = [0; 8];
    state.read_exact_at(&mut bytes, offset_of!(State, drills) as u64)?;
    Ok(u64::from_le_bytes(bytes))
}
