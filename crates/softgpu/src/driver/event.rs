//! Events as threads make them, set them and wait for them.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use strobe_kfd::event::{
    CreateEvent, DestroyEvent, EventData, MEMORY, MemoryException, ResetEvent, SIGNAL, SetEvent,
    WAIT_COMPLETE, WAIT_FAIL, WAIT_TIMEOUT, WaitEvents,
};
use strobe_kfd::memory::{MMAP_TYPE_EVENTS, MMAP_TYPE_SHIFT};

use super::caller::Caller;
use crate::device::event::{NOT_PRESENT, READ_ONLY, announce, lookup, make, mark, wake};
use crate::device::{EVENTS, Event, GPUS, Live, SIGNAL_EVENTS};
use crate::futex;

/// Upper bound of one sleep: a waiter looks again at least this often, whatever it missed.
const SLICE: Duration = Duration::from_millis(50);

pub(super) fn create(caller: &Caller, args: &mut CreateEvent) -> Result<(), Errno> {
    let slot = caller.own_slot()?;
    let _tables = caller.lock()?;
    let live = &caller.device.state().live[slot];
    let ids = if args.event_type == SIGNAL {
        1..SIGNAL_EVENTS
    } else {
        SIGNAL_EVENTS..EVENTS
    };
    let id = ids
        .into_iter()
        .find(|id| live.events[*id].kind.load(Ordering::Relaxed) == 0)
        .ok_or(Errno::ENOSPC)?;
    make(&live.events[id], args.event_type, args.auto_reset, false);
    args.event_id = id as u32;
    args.event_trigger_data = id as u32;
    if args.event_type == SIGNAL {
        args.event_slot_index = id as u32;
        // Not zero: runtimes take it as "events have slots in the page", to which the GPU writes.
        args.event_page_offset = MMAP_TYPE_EVENTS << MMAP_TYPE_SHIFT;
    }
    Ok(())
}

pub(super) fn destroy(caller: &Caller, args: &mut DestroyEvent) -> Result<(), Errno> {
    let slot = caller.own_slot()?;
    let _tables = caller.lock()?;
    let live = &caller.device.state().live[slot];
    lookup(live, args.event_id)
        .ok_or(Errno::EINVAL)?
        .kind
        .store(0, Ordering::Release);
    announce(live);
    Ok(())
}

pub(super) fn set(caller: &Caller, args: &mut SetEvent) -> Result<(), Errno> {
    let slot = caller.own_slot()?;
    if !mark(caller.device, slot, args.event_id) {
        return Err(Errno::EINVAL);
    }
    wake(caller.device, slot);
    Ok(())
}

pub(super) fn reset(caller: &Caller, args: &mut ResetEvent) -> Result<(), Errno> {
    let slot = caller.own_slot()?;
    let live = &caller.device.state().live[slot];
    let event = lookup(live, args.event_id).ok_or(Errno::EINVAL)?;
    event.signaled.store(0, Ordering::Release);
    Ok(())
}

/// # Safety
/// The array pointer must be valid for the number of elements beside it.
pub(super) unsafe fn wait(caller: &Caller, args: &mut WaitEvents) -> Result<(), Errno> {
    let deadline = match args.timeout {
        u32::MAX => None,
        timeout => Some(Instant::now() + Duration::from_millis(u64::from(timeout))),
    };
    let count = args.num_events as usize;
    let data = args.events_ptr as *mut EventData;
    if count > 0 && (data.is_null() || count > EVENTS) {
        return Err(Errno::EINVAL);
    }
    let mut waiters = vec![Waiter::default(); count];
    loop {
        // Again in each round: the process may have been restored onto another device.
        let slot = caller.own_slot()?;
        let live = &caller.device.state().live[slot];
        let seen = live.event_sequence.load(Ordering::Acquire);
        // SAFETY: the caller's promise.
        let outcome = unsafe {
            poll(
                caller,
                live,
                slot,
                data,
                &mut waiters,
                args.wait_for_all != 0,
            )?
        };
        if let Some(result) = outcome {
            args.wait_result = result;
            return Ok(());
        }
        let left = match deadline {
            None => SLICE,
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    args.wait_result = WAIT_TIMEOUT;
                    return Ok(());
                }
                left.min(SLICE)
            }
        };
        futex::wait(&live.event_sequence, seen, left);
    }
}

/// What one call knows of one of its events. As in the kernel (kfd_events.c), setting an event
/// activates everybody who waits for it at that moment: HSA's runtime sets events that two of its
/// threads wait for, and the first to look must not take it from the other.
#[derive(Clone, Copy, Debug, Default)]
struct Waiter {
    /// How often the event had been set when the wait began.
    sets: Option<u32>,
    activated: bool,
}

/// How old an event is, as its waiters are told: another number whenever it is set, and never 0.
fn age(event: &Event) -> u64 {
    u64::from(event.sets.load(Ordering::Acquire)) + 1
}

impl Waiter {
    /// `known`: the event's age when its waiter looked last, 0 from one that does not know. What was set since then it
    /// has not seen, also where another has taken the signal.
    fn look(&mut self, event: &Event, known: u64) {
        self.activated |= known != 0 && known != age(event);
        let sets = event.sets.load(Ordering::Acquire);
        let woken = sets != *self.sets.get_or_insert(sets);
        let signaled = if event.auto_reset.load(Ordering::Relaxed) != 0 {
            event.signaled.swap(0, Ordering::AcqRel)
        } else {
            event.signaled.load(Ordering::Acquire)
        };
        self.activated |= woken || signaled != 0;
    }
}

/// Looks whether the wait is over.
///
/// # Safety
/// `data` must be valid for as many elements as there are waiters.
unsafe fn poll(
    caller: &Caller,
    live: &Live,
    slot: usize,
    data: *mut EventData,
    waiters: &mut [Waiter],
    all: bool,
) -> Result<Option<u32>, Errno> {
    let id_at = |index: usize| {
        // SAFETY: inside the array.
        unsafe { (&raw const (*data.add(index)).event_id).read_unaligned() }
    };
    let age_at = |index: usize| {
        // SAFETY: inside the array; it begins with this, of signal events.
        unsafe { &raw mut (*data.add(index)).memory }.cast::<u64>()
    };
    for (index, waiter) in waiters.iter_mut().enumerate() {
        let Some(event) = lookup(live, id_at(index)) else {
            return Ok(Some(WAIT_FAIL));
        };
        if !waiter.activated {
            let is_signal = event.kind.load(Ordering::Relaxed) == SIGNAL + 1;
            let known = match is_signal {
                // SAFETY: as above.
                true => unsafe { age_at(index).read_unaligned() },
                false => 0,
            };
            waiter.look(event, known);
        }
    }
    let ready = waiters.iter().filter(|waiter| waiter.activated).count();
    if (all && ready < waiters.len()) || (!all && ready == 0 && !waiters.is_empty()) {
        return Ok(None);
    }
    let devices = caller.lock()?.process(slot).ok_or(Errno::ESRCH)?.devices;
    for (index, waiter) in waiters.iter().enumerate() {
        let Some(event) = lookup(live, id_at(index)).filter(|_| waiter.activated) else {
            continue;
        };
        if event.kind.load(Ordering::Relaxed) == SIGNAL + 1 {
            // SAFETY: inside the array.
            unsafe {
                if age_at(index).read_unaligned() != 0 {
                    age_at(index).write_unaligned(age(event));
                }
            }
        }
        if event.kind.load(Ordering::Relaxed) == MEMORY + 1 {
            let flags = event.fault_flags.load(Ordering::Relaxed);
            let gpu = event.fault_gpu.load(Ordering::Relaxed) as usize % GPUS;
            let exception = MemoryException {
                not_present: u32::from(flags & NOT_PRESENT != 0),
                read_only: u32::from(flags & READ_ONLY != 0),
                no_execute: 0,
                imprecise: 0,
                va: event.fault_va.load(Ordering::Relaxed),
                gpu_id: devices[gpu].user_id,
                error_type: 0,
            };
            // SAFETY: inside the array.
            unsafe { (&raw mut (*data.add(index)).memory).write_unaligned(exception) };
        }
    }
    Ok(Some(WAIT_COMPLETE))
}
