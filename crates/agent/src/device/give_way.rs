//! The program goes first where there is not memory enough for it and a checkpoint.

use crate::checkpoint::refusal::Refusal;
use crate::device::state::DeviceState;
use std::time::{Duration, Instant};

/// What the runtime allocates device memory in multiples of.
const GRANULE: u64 = 2 << 20;
/// How long the program waits for it.
const GIVE_WAY_PATIENCE: Duration = Duration::from_secs(10);

/// The program has found no memory for `bytes` at least: what a checkpoint has borrowed is given back,
/// whatever becomes of the checkpoint, unless that is too little all the same. Whether there was any.
/// The calling thread has passed the gate.
pub(crate) fn give_way(device: &DeviceState, bytes: u64) -> bool {
    let pool = device.handle.borrowed();
    if pool == 0 {
        return false;
    }
    if device
        .handle
        .available()
        .is_some_and(|available| available.saturating_add(pool) < bytes)
    {
        return false;
    }
    let deadline = Instant::now() + GIVE_WAY_PATIENCE;
    while device.handle.borrowed() != 0 {
        // Before the cut it is not in use: the checkpoint goes on without.
        if let Some(mut spare) = device.spare.try_lock()
            && let Some(resources) = spare.as_mut()
        {
            resources.free_pool();
        }
        // After it the cut's content is in it. Who ends the checkpoint gives it back.
        device.course.give_up(&Refusal::NeedsMemory);
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// The program is about to allocate `bytes` of device memory: where only what a checkpoint has
/// borrowed is left for that, it is given back. Where that cannot be told before, the program's call
/// fails first, and is made once more ([`give_way`]).
#[inline]
pub(crate) fn make_room(device: &DeviceState, bytes: u64) {
    if device.handle.borrowed() != 0 {
        make_room_now(device, bytes);
    }
}

#[cold]
fn make_room_now(device: &DeviceState, bytes: u64) {
    let need = bytes.checked_next_multiple_of(GRANULE).unwrap_or(u64::MAX);
    if device
        .handle
        .available()
        .is_some_and(|available| available < need)
    {
        give_way(device, need);
    }
}
