//! How well the time model was kept: the host may be slower than what it imitates.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::tables::State;

/// Counts of all copies so far.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Counts {
    modelled_ns: AtomicU64,
    /// Wraps: an engine may have caught up before what it was late by is counted.
    late_ns: AtomicU64,
}

impl Counts {
    /// A copy has begun that takes so long, so much earlier than it was noticed: the engine was late by that before.
    pub(crate) fn began(&self, modelled_ns: u64, caught_up_ns: u64) {
        self.modelled_ns.fetch_add(modelled_ns, Ordering::Relaxed);
        self.late_ns.fetch_sub(caught_up_ns, Ordering::Relaxed);
    }

    /// It has ended so much later than it should have.
    pub(crate) fn ended(&self, late_ns: u64) {
        self.late_ns.fetch_add(late_ns, Ordering::Relaxed);
    }
}

/// How long copies should have taken, and how much longer they took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// By the model, all copies together, side by side or not.
    pub modelled: Duration,
    /// Beyond that, but for what engines have caught up.
    pub late: Duration,
}

impl Pace {
    /// Of the device whose state is in a file.
    pub(crate) fn read(state: &File) -> io::Result<Self> {
        let word = |within: usize| {
            let mut bytes = [0; 8];
            let at = std::mem::offset_of!(State, pace) + within;
            state.read_exact_at(&mut bytes, at as u64)?;
            let ns = i64::from_le_bytes(bytes).max(0);
            io::Result::Ok(Duration::from_nanos(ns.unsigned_abs()))
        };
        Ok(Self {
            modelled: word(std::mem::offset_of!(Counts, modelled_ns))?,
            late: word(std::mem::offset_of!(Counts, late_ns))?,
        })
    }

    /// Whether what was measured meanwhile is what the model says: copies were late by a twentieth at the most.
    pub fn is_kept(&self) -> bool {
        self.late * 20 <= self.modelled
    }
}
