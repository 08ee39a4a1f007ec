//! Single words and small structs in GPU-visible memory.

use std::sync::atomic::{AtomicU16, AtomicU64};

use strobe_kfd::aql::Signal;
use zerocopy::FromBytes;

use crate::space::Snapshot;

/// Host address of `bytes` bytes at `va`, when they lie in one mapping.
pub(super) fn translate(space: &Snapshot, va: u64, bytes: u64) -> Option<*mut u8> {
    let mapping = space.find(va)?.mapping;
    (mapping.end - va >= bytes).then(|| mapping.host.wrapping_add((va - mapping.start) as usize))
}

/// Copies a struct out.
pub(super) fn read<T: FromBytes>(space: &Snapshot, va: u64) -> Option<T> {
    let host = translate(space, va, size_of::<T>() as u64)?;
    // SAFETY: translated for as many bytes; any bytes are valid.
    Some(unsafe { host.cast::<T>().read_unaligned() })
}

macro_rules! atomic {
    ($name:ident, $ty:ty) => {
        /// The aligned word at `va`. The reference must not outlive the packet it is used for.
        pub(super) fn $name(space: &Snapshot, va: u64) -> Option<&$ty> {
            let size = size_of::<$ty>() as u64;
            let host = translate(space, va, size).filter(|_| va.is_multiple_of(size))?;
            // SAFETY: translated, and aligned as mappings are page-aligned on both sides; memory
            // shared with the GPU stays until the program has seen the packet's completion.
            Some(unsafe { <$ty>::from_ptr(host.cast()) })
        }
    };
}

atomic!(word16, AtomicU16);
atomic!(word64, AtomicU64);

/// The signal at `va`. As for words, the reference must not outlive the packet.
pub(super) fn signal(space: &Snapshot, va: u64) -> Option<&Signal> {
    let host = translate(space, va, size_of::<Signal>() as u64)?;
    let signal = host.cast::<Signal>();
    // SAFETY: translated, and aligned as checked; all of it is atomic.
    signal.is_aligned().then(|| unsafe { &*signal })
}
