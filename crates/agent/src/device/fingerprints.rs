//! Fingerprints of device memory, computed on the device.
//!
//! A table of blocks in host memory, a work-group of the device for each, and a sum back for each;
//! what is asked for goes through that table in turns. The kernel only reads the program's memory, while
//! everything stands still: nobody frees it.

use crate::device::code::Kernel;
use crate::device::error::DeviceError;
use crate::device::handle::DeviceHandle;
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
    /// The number in the queue of the last kernel that uses the memory.
    latest: u64,
}

impl Fingerprints {
    pub(crate) fn create(device: &DeviceHandle) -> Result<Fingerprints, DeviceError> {
        const { assert!(BlockEntry::BYTES == SUM_BYTES) };
        Ok(Fingerprints {
            kernel: device.code()?.kernel(KERNEL)?,
            memory: Memory::on_host(device.gpu()?, 2 * BLOCKS * SUM_BYTES)?,
            latest: 0,
        })
    }

    /// Where table and sums are: nobody needs their content in an image.
    pub(crate) fn memory(&self) -> Option<Extent> {
        Extent::with_len(self.memory.address(), self.memory.bytes() as u64).ok()
    }

    /// Somebody else uses the memory, until the queue has executed its kernel of this number.
    pub(crate) fn lend(&mut self, until: u64) {
        self.latest = until;
    }

    /// The next checkpoint begins: nothing may be left of an earlier one. (A queue that has failed
    /// reads nothing.)
    pub(crate) fn start_over(&self, queue: &DeviceQueue) -> Result<(), DeviceError> {
        if queue.completed().is_ok_and(|done| done < self.latest) {
            return Err(DeviceError::OldFingerprints);
        }
        Ok(())
    }

    /// The fingerprints of these chunks, none of which has more than [`BLOCKS`] blocks. An error when
    /// the device does not answer before the deadline: what it has not begun by then it does not read
    /// any more, and what it has begun takes the blink of an eye.
    ///
    /// # Safety
    /// The chunks are device memory that stays allocated until this returns.
    pub(crate) unsafe fn of(
        &mut self,
        queue: &mut DeviceQueue,
        chunks: &[Extent],
        deadline: Instant,
    ) -> Result<Vec<Fingerprint>, DeviceError> {
        self.start_over(queue)?;
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
            // SAFETY: the caller's promise.
            unsafe { self.start(queue, turn)? };
            if let Err(error) = self.wait(queue, deadline) {
                self.leave_out(turn);
                return Err(error);
            }
            let mut sums = self.sums();
            fingerprints.extend(turn.iter().map(|chunk| {
                let sums = sums.by_ref().take(blocks_of(*chunk));
                Fingerprint::of_blocks(sums, chunk.len())
            }));
            rest = later;
        }
        Ok(fingerprints)
    }

    /// Lets the device compute the fingerprints of these chunks, which together have no more than
    /// [`BLOCKS`] blocks. Nothing else is under way.
    ///
    /// # Safety
    /// The chunks are device memory that stays allocated until the dispatch has ended, or they have been
    /// left out.
    unsafe fn start(
        &mut self,
        queue: &mut DeviceQueue,
        chunks: &[Extent],
    ) -> Result<(), DeviceError> {
        let blocks: usize = chunks.iter().map(|chunk| blocks_of(*chunk)).sum();
        if chunks.is_empty() || blocks > BLOCKS {
            return Err(DeviceError::LongTable);
        }
        for (at, entry) in entries(chunks).enumerate() {
            // SAFETY: inside the table, which is host memory of ours and which no kernel reads: each
            // turn waits for its own.
            unsafe { std::ptr::copy_nonoverlapping(entry.to_bytes().as_ptr(), self.entry(at), 16) };
        }
        let arguments = KernelArguments {
            blocks: self.memory.address(),
            sums: self.sums_address(),
        };
        let (arguments, items) = (arguments.to_bytes(), LANES as u16);
        // SAFETY: the kernel reads the table and the blocks in it, which stay until it has ended,
        // and writes a sum for each.
        self.latest = unsafe { queue.dispatch(&self.kernel, &arguments, blocks as u32, items)? };
        Ok(())
    }

    fn wait(&self, queue: &DeviceQueue, deadline: Instant) -> Result<(), DeviceError> {
        while queue.completed()? < self.latest {
            if Instant::now() >= deadline {
                return Err(DeviceError::LateFingerprints);
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        Ok(())
    }

    /// Work-groups of this turn that have not begun read nothing: a work-group reads its entry once,
    /// and nothing of a block without bytes.
    fn leave_out(&self, chunks: &[Extent]) {
        for (at, entry) in entries(chunks).enumerate() {
            let none = BlockEntry { bytes: 0, ..entry }.to_bytes();
            let (_, bytes) = none.split_at(8);
            let bytes = u64::from_ne_bytes(bytes.try_into().expect("half of 16"));
            // SAFETY: the second half of an entry of the table, 8-byte aligned host memory of ours.
            unsafe { self.entry(at).add(8).cast::<u64>().write_volatile(bytes) };
        }
    }

    /// Where an entry of the table is.
    fn entry(&self, at: usize) -> *mut u8 {
        (self.memory.address() as *mut u8).wrapping_add(at * BlockEntry::BYTES)
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

fn entries(chunks: &[Extent]) -> impl Iterator<Item = BlockEntry> + '_ {
    chunks
        .iter()
        .flat_map(|chunk| BlockEntry::of(chunk.start(), chunk.len()))
}

/// Rows of the table that a chunk takes.
fn blocks_of(chunk: Extent) -> usize {
    usize::try_from(chunk.len().div_ceil(BLOCK_BYTES as u64)).unwrap_or(usize::MAX)
}
