//! A process is about to be frozen by CRIU.
//!
//! Hardware evicts the queues of a frozen process: PROCESS_INFO comes when it is. These GPUs' waves run in threads of the
//! process, which have to be told before. Nothing of this needs the tables: a thread that is frozen may have them locked.

use std::time::{Duration, Instant};

use crate::device::{Device, is_stopped};

/// How long waves are waited for. Those that take longer are refused by PROCESS_INFO.
const LIMIT: Duration = Duration::from_secs(5);

/// Returns when nothing of the process is being executed, or cannot be stopped.
pub(crate) fn freeze(device: &Device, pid: u32) {
    let slot = device
        .lock()
        .ok()
        .and_then(|tables| tables.slot_of(pid).ok().flatten());
    let Some(live) = slot.map(|slot| &device.state().live[slot]) else {
        return;
    };
    live.freeze();
    let start = Instant::now();
    while live.is_busy() && start.elapsed() < LIMIT && !is_stopped(pid) {
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Lets all go on that this thread has frozen.
pub(crate) fn thaw(device: &Device) {
    for live in &device.state().live {
        live.thaw();
    }
}
