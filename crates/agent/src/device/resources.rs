//! What a checkpoint needs on the device before the cut: a queue for copying aside, what the link to
//! the host is waited for by, and the copy-aside pool.
//!
//! The queue stays for the next checkpoint; the pool never does. At the cut all this is part of the
//! program, and of a restored one.

use crate::checkpoint::refusal::Refusal;
use crate::device::fingerprints::Fingerprints;
use crate::device::gpu::Gpu;
use crate::device::lane::Lane;
use crate::device::link::Link;
use crate::device::memory::Memory;
use crate::device::{DeviceError, DeviceState};
use std::time::{Duration, Instant};
use strobe_extent::Extent;
use strobe_hip::next;

/// What the runtime allocates device memory in multiples of.
const GRANULE: u64 = 2 << 20;
/// How long the program waits for it.
const GIVE_WAY_PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Resources {
    device: &'static DeviceState,
    /// The copy-aside pool; none when copying aside is not wanted or there is no memory for it.
    pool: Option<Memory>,
    pub(crate) aside: Lane,
    pub(crate) out: Link,
    pub(crate) fingerprints: Fingerprints,
}

impl Resources {
    /// Makes them, or takes `spare`, of which nothing is under way. The pool is smaller than
    /// `pool_bytes` when that is more than half of what is free (the program may want to allocate
    /// meanwhile), but holds a chunk at least.
    pub(crate) fn make(
        device: &'static DeviceState,
        spare: Option<Resources>,
        pool_bytes: u64,
        chunk_bytes: u64,
    ) -> Result<Resources, DeviceError> {
        let mut made = match spare {
            Some(mut spare) => {
                spare.free_pool();
                spare.aside.start_over()?;
                spare.out.start_over()?;
                spare.fingerprints.start_over(spare.aside.queue())?;
                spare
            }
            None => Resources {
                device,
                pool: None,
                aside: Lane::create(device)?,
                out: Link::create()?,
                fingerprints: Fingerprints::create(device)?,
            },
        };
        let gpu = device.gpu()?;
        let mut bytes = pool_bytes.min(free_bytes(gpu) / 2);
        while made.pool.is_none() && bytes >= chunk_bytes {
            made.pool = usize::try_from(bytes)
                .ok()
                .and_then(|bytes| Memory::on_device(gpu, bytes).ok());
            bytes /= 2;
        }
        let pool = made.pool.as_ref().map_or(0, |pool| pool.bytes() as u64);
        device.set_borrowed(pool);
        Ok(made)
    }

    /// Where the pool is.
    pub(crate) fn pool(&self) -> Option<Extent> {
        let pool = self.pool.as_ref()?;
        Extent::with_len(pool.address(), pool.bytes() as u64).ok()
    }

    /// The pool's first byte.
    pub(crate) fn pool_start(&self) -> u64 {
        self.pool.as_ref().map_or(0, Memory::address)
    }

    /// Waits until no copy of ours is under way; whether that came before the deadline.
    pub(crate) fn wait_until_idle(&self, deadline: Instant) -> bool {
        self.aside.wait_until_idle(deadline) && self.out.wait_until_idle(deadline)
    }

    /// Gives back what only a checkpoint needs. Nothing is under way.
    pub(crate) fn let_go(&mut self) {
        self.out.close();
        self.free_pool();
    }

    fn free_pool(&mut self) {
        if let Some(pool) = self.pool.take()
            && let Ok(gpu) = self.device.gpu()
        {
            // SAFETY: only copies of ours use it, and none is under way.
            unsafe { pool.free(gpu) };
            self.device.set_borrowed(0);
        }
    }

    /// HIP has given up everything it had on the device.
    pub(crate) fn device_was_reset(&mut self) {
        self.aside.device_was_reset();
        self.out.device_was_reset();
    }
}

/// The program has found no memory for `bytes` at least: what a checkpoint has borrowed is given back,
/// whatever becomes of the checkpoint, unless that is too little all the same. Whether there was any.
/// The calling thread has passed the gate.
pub(crate) fn give_way(device: &DeviceState, bytes: u64) -> bool {
    let pool = device.borrowed();
    if pool == 0 {
        return false;
    }
    if device
        .available()
        .is_some_and(|available| available.saturating_add(pool) < bytes)
    {
        return false;
    }
    let deadline = Instant::now() + GIVE_WAY_PATIENCE;
    while device.borrowed() != 0 {
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
    if device.borrowed() != 0 {
        make_room_now(device, bytes);
    }
}

#[cold]
fn make_room_now(device: &DeviceState, bytes: u64) {
    let need = bytes.checked_next_multiple_of(GRANULE).unwrap_or(u64::MAX);
    if device.available().is_some_and(|available| available < need) {
        give_way(device, need);
    }
}

/// Device memory that is free, to HIP and to the driver.
fn free_bytes(gpu: &Gpu) -> u64 {
    let (mut free, mut total) = (0, 0);
    // SAFETY: writes to locals.
    let status = unsafe { next::hipMemGetInfo(&mut free, &mut total) };
    let in_hip = status.ok().map_or(0, |()| free as u64);
    gpu.available().map_or(in_hip, |bytes| in_hip.min(bytes))
}
