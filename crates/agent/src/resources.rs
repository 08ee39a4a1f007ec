//! What a checkpoint needs on the device before the cut: a stream for copying aside, the link to the
//! host, and the copy-aside pool.
//!
//! The stream stays for the next checkpoint: HIP 5.2 never returns from `hipStreamDestroy` when the
//! program has freed stream-ordered memory (it walks the pool's free list without moving on). So
//! does the pool after a refusal, because freeing device memory waits for the whole device. At the
//! cut all this is part of the program, and of a restored one.

use crate::lane::Lane;
use crate::link::Link;
use crate::saving::name_of;
use strobe_extent::Extent;
use strobe_hip::{Ptr, next};

#[derive(Debug)]
pub(crate) struct Resources {
    /// The copy-aside pool; none when copying aside is not wanted or there is no memory for it.
    pub(crate) pool: Option<Extent>,
    pub(crate) aside: Lane,
    pub(crate) out: Link,
}

impl Resources {
    /// Makes them, or takes `spare` where it fits. The pool is smaller than `pool_bytes` when that
    /// is more than half of what is free (the program may want to allocate meanwhile), but holds a
    /// chunk at least.
    pub(crate) fn make(
        spare: Option<Resources>,
        pool_bytes: u64,
        chunk_bytes: u64,
    ) -> Result<Resources, String> {
        let mut made = match spare {
            Some(mut spare) => {
                spare.aside.start_over();
                spare.out.start_over();
                spare
            }
            None => {
                let failed = |status| format!("no stream for copying: {}", name_of(status));
                Resources {
                    pool: None,
                    aside: Lane::create_with_own_queue().map_err(failed)?,
                    out: Link::create()?,
                }
            }
        };
        // A smaller one was what there was memory for.
        if made.pool.is_some_and(|pool| pool.len() > pool_bytes) {
            made.free_pool();
        }
        let mut bytes = pool_bytes.min(free_bytes() / 2);
        while made.pool.is_none() && bytes >= chunk_bytes {
            made.pool = allocate(bytes);
            bytes /= 2;
        }
        Ok(made)
    }

    /// Waits until lane and link are: their copies use the pool and the ring.
    pub(crate) fn wait_until_idle(&self) {
        // SAFETY: our stream.
        let _ = unsafe { next::hipStreamSynchronize(self.aside.stream()) };
        self.out.wait_until_idle();
    }

    /// Gives the pool back to HIP; waits for the device.
    pub(crate) fn free_pool(&mut self) {
        if let Some(pool) = self.pool.take() {
            // SAFETY: our allocation; lane and link are idle.
            let _ = unsafe { next::hipFree(pool.start() as Ptr) };
        }
    }
}

/// Device memory that nobody has.
fn free_bytes() -> u64 {
    let (mut free, mut total) = (0, 0);
    // SAFETY: writes to locals.
    let status = unsafe { next::hipMemGetInfo(&mut free, &mut total) };
    status.ok().map_or(0, |()| free as u64)
}

fn allocate(bytes: u64) -> Option<Extent> {
    let mut address: Ptr = std::ptr::null_mut();
    // SAFETY: writes to a local.
    unsafe { next::hipMalloc(&mut address, usize::try_from(bytes).ok()?) }
        .ok()
        .ok()?;
    Extent::with_len(address as u64, bytes).ok()
}
