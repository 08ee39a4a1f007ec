//! Fingerprints of device memory, computed on the device.
//!
//! A table of blocks in host memory, a work-group of the device for each, and a sum back for each;
//! what is asked for goes through that table in turns. The kernel only reads the program's memory:
//! who asks for it sees to it that the memory stays until the answer is there.

use crate::device::code::{Code, Kernel};
use crate::device::gpu::Gpu;
use crate::device::memory::Memory;
use crate::device::queue::DeviceQueue;
use std::time::{Duration, Instant};
use strobe_extent::Extent;
use strobe_fingerprint::{
    BLOCK_BYTES, BlockEntry, BlockSum, Fingerprint, KERNEL, KernelArguments, LANES, SUM_BYTES,
};

/// Blocks in a turn: half a gigabyte. Where a chunk of the largest size still fits.
const BLOCKS: usize = 8192;
const LOOK_AGAIN: Duration = Duration::from_micros(20);

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Fingerprints {
    kernel: Kernel,
    /// The table, then the sums.
    memory: Memory,
}

impl Fingerprints {
    pub(crate) fn create() -> Result<Fingerprints, String> {
        const { assert!(BlockEntry::BYTES == SUM_BYTES) };
        let gpu = Gpu::get().map_err(|error| error.to_string())?;
        let kernel = Code::get()?.kernel(KERNEL);
        let memory = Memory::on_host(gpu, 2 * BLOCKS * SUM_BYTES);
        Ok(Fingerprints {
            kernel: kernel.map_err(|error| error.to_string())?,
            memory: memory.map_err(|error| error.to_string())?,
        })
    }

    /// Where table and sums are: nobody needs their content in an image.
    pub(crate) fn memory(&self) -> Option<Extent> {
        Extent::with_len(self.memory.address(), self.memory.bytes() as u64).ok()
    }

    /// The fingerprints of these chunks, none of which has more than [`BLOCKS`] blocks. An error when the device does not answer before the deadline.
    ///
    /// # Safety
    /// The chunks are device memory that stays allocated until this returns, and where it returns an
    /// error, until `queue` is idle.
    pub(crate) unsafe fn of(
        &mut self,
        queue: &mut DeviceQueue,
        chunks: &[Extent],
        deadline: Instant,
    ) -> Result<Vec<Fingerprint>, String> {
        let mut fingerprints = Vec::with_capacity(chunks.len());
        let mut rest = chunks;
        while !rest.is_empty() {
            let mut blocks = 0;
            let fits = |chunk: &&Extent| {
                blocks += blocks_of(**chunk);
                blocks <= BLOCKS
            };
            let count = rest.iter().take_while(fits).count();
            let (turn, later) = rest.split_at(count);
            if turn.is_empty() {
                return Err("a chunk is too large for a fingerprint".into());
            }
            // SAFETY: the caller's promise.
            unsafe { self.turn(queue, turn, deadline)? };
            let mut sums = self.sums();
            for chunk in turn {
                let sums = sums.by_ref().take(blocks_of(*chunk));
                fingerprints.push(Fingerprint::of_blocks(sums, chunk.len()));
            }
            rest = later;
        }
        Ok(fingerprints)
    }

    /// Lets the device compute the sums of these chunks' blocks.
    ///
    /// # Safety
    /// As for [`Fingerprints::of`]; they have no more than [`BLOCKS`] blocks.
    unsafe fn turn(
        &mut self,
        queue: &mut DeviceQueue,
        chunks: &[Extent],
        deadline: Instant,
    ) -> Result<(), String> {
        let entries = chunks
            .iter()
            .flat_map(|chunk| BlockEntry::of(chunk.start(), chunk.len()));
        let mut count = 0;
        for (entry, at) in entries.zip((0..BLOCKS).map(|n| n * BlockEntry::BYTES)) {
            let place = (self.memory.address() as *mut u8).wrapping_add(at);
            // SAFETY: inside the table, which is host memory of ours and which no kernel reads:
            // each turn waits for its own.
            unsafe {
                let bytes = entry.to_bytes();
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len());
            }
            count += 1;
        }
        let arguments = KernelArguments {
            blocks: self.memory.address(),
            sums: self.sums_address(),
        };
        let items = LANES as u16;
        // SAFETY: the kernel reads the table and the blocks in it, which stay until it has ended,
        // and writes a sum for each.
        let number = unsafe { queue.dispatch(&self.kernel, &arguments.to_bytes(), count, items) }
            .map_err(|error| error.to_string())?;
        while queue.completed().map_err(|error| error.to_string())? < number {
            if Instant::now() >= deadline {
                return Err("the device does not compute fingerprints in time".into());
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        Ok(())
    }

    fn sums_address(&self) -> u64 {
        self.memory.address() + (BLOCKS * BlockEntry::BYTES) as u64
    }

    /// What the last turn has left.
    fn sums(&self) -> impl Iterator<Item = BlockSum> + '_ {
        (0..BLOCKS).map(|n| {
            let mut bytes = [0; SUM_BYTES];
            let place = self.sums_address() as *const u8;
            // SAFETY: inside the sums, host memory of ours, which no kernel writes: the turn is over.
            unsafe {
                let place = place.add(n * SUM_BYTES);
                std::ptr::copy_nonoverlapping(place, bytes.as_mut_ptr(), SUM_BYTES);
            }
            BlockSum::from_bytes(&bytes)
        })
    }
}

fn blocks_of(chunk: Extent) -> usize {
    usize::try_from(chunk.len().div_ceil(BLOCK_BYTES as u64)).unwrap_or(usize::MAX)
}
