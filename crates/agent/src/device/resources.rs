//! What a checkpoint needs on the device before the cut: a queue for copying aside, what the link to
//! the host is waited for by, and the copy-aside pool.
//!
//! The queue stays for the next checkpoint; the pool never does. At the cut all this is part of the
//! program, and of a restored one.

use crate::checkpoint::copy_log::CopyLog;
use crate::device::error::DeviceError;
use crate::device::fingerprints::Fingerprints;
use crate::device::gpu::Gpu;
use crate::device::handle::DeviceHandle;
use crate::device::lane::Lane;
use crate::device::link::Link;
use crate::device::memory::Memory;
use std::time::Instant;
use strobe_extent::Extent;
use strobe_hip::next;

#[derive(Debug)]
pub(crate) struct Resources {
    device: &'static DeviceHandle,
    /// The copy-aside pool; none when copying aside is not wanted or there is no memory for it.
    pool: Option<Memory>,
    pub(crate) aside: Lane,
    pub(crate) out: Link,
    pub(crate) fingerprints: Fingerprints,
    /// What the lanes do, where that is kept.
    pub(crate) log: Option<CopyLog>,
}

impl Resources {
    /// Makes them, or takes `spare`, of which nothing is under way. The pool is smaller than
    /// `pool_bytes` when that is more than half of what is free (the program may want to allocate
    /// meanwhile), but holds a chunk at least.
    pub(crate) fn make(
        device: &'static DeviceHandle,
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
                log: None,
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
        self.log = None;
        self.out.close();
        self.free_pool();
    }

    pub(crate) fn free_pool(&mut self) {
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

/// Device memory that is free, to HIP and to the driver.
fn free_bytes(gpu: &Gpu) -> u64 {
    let (mut free, mut total) = (0, 0);
    // SAFETY: writes to locals.
    let status = unsafe { next::hipMemGetInfo(&mut free, &mut total) };
    let in_hip = status.ok().map_or(0, |()| free as u64);
    gpu.available().map_or(in_hip, |bytes| in_hip.min(bytes))
}
