//! Events as the GPU's engines set them.
//!
//! An event is a place in the process's row of the state device, so it survives no device but its
//! id does: after a restore the row is made again with the same ids, and a thread that was waiting
//! finds its events there.

use std::sync::atomic::Ordering;

use strobe_kfd::event::MEMORY;

use super::open::Device;
use super::tables::{Event, Live, SIGNAL_EVENTS};
use crate::futex;

/// Bits of an event's fault flags.
pub(crate) const NOT_PRESENT: u32 = 1;
pub(crate) const READ_ONLY: u32 = 2;

/// Fills a free place.
pub(crate) fn make(event: &Event, kind: u32, auto_reset: u32, signaled: bool) {
    event.auto_reset.store(auto_reset, Ordering::Relaxed);
    event.signaled.store(u32::from(signaled), Ordering::Relaxed);
    event.fault_flags.store(0, Ordering::Relaxed);
    event.fault_va.store(0, Ordering::Relaxed);
    event.fault_gpu.store(0, Ordering::Relaxed);
    event.kind.store(kind + 1, Ordering::Release);
}

/// The event of this id, if there is one.
pub(crate) fn lookup(live: &Live, id: u32) -> Option<&Event> {
    live.events
        .get(id as usize)
        .filter(|event| event.kind.load(Ordering::Acquire) != 0)
}

/// Sets an event, as an interrupt does; [`wake`] follows. False when there is no such event.
pub(crate) fn mark(device: &Device, slot: usize, id: u32) -> bool {
    let live = &device.state().live[slot];
    let Some(event) = lookup(live, id) else {
        return false;
    };
    set_one(event);
    live.event_sequence.fetch_add(1, Ordering::Release);
    true
}

/// Changes with every event that is set.
pub(crate) fn sequence(device: &Device, slot: usize) -> u32 {
    device.state().live[slot]
        .event_sequence
        .load(Ordering::Acquire)
}

/// Wakes who waits for events.
pub(crate) fn wake(device: &Device, slot: usize) {
    futex::wake_all(&device.state().live[slot].event_sequence);
}

/// Sets every signal event, for an interrupt that does not say which one it means; [`wake`] follows.
pub(crate) fn mark_all(device: &Device, slot: usize) {
    let live = &device.state().live[slot];
    for event in &live.events[1..SIGNAL_EVENTS] {
        if event.kind.load(Ordering::Acquire) != 0 {
            set_one(event);
        }
    }
    live.event_sequence.fetch_add(1, Ordering::Release);
}

/// Reports a memory fault on a GPU to the process.
pub(crate) fn memory_fault(
    device: &Device,
    (slot, gpu): (usize, usize),
    va: u64,
    write: bool,
    mapped: bool,
) {
    let live = &device.state().live[slot];
    for event in &live.events[SIGNAL_EVENTS..] {
        if event.kind.load(Ordering::Acquire) == MEMORY + 1 {
            let flags = if write && mapped {
                READ_ONLY
            } else {
                NOT_PRESENT
            };
            event.fault_flags.store(flags, Ordering::Relaxed);
            event.fault_va.store(va & !4095, Ordering::Relaxed);
            event.fault_gpu.store(gpu as u32, Ordering::Relaxed);
            set_one(event);
        }
    }
    announce(live);
}

fn set_one(event: &Event) {
    event.signaled.store(1, Ordering::Release);
    event.sets.fetch_add(1, Ordering::Release);
}

/// Tells that something of the events has changed, and wakes who waits for them.
pub(crate) fn announce(live: &Live) {
    live.event_sequence.fetch_add(1, Ordering::Release);
    futex::wake_all(&live.event_sequence);
}
