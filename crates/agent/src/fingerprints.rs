//! Fingerprints of device memory, computed on the device.
//!
//! A table of blocks in host memory, a work-group of the device for each, and a sum back for each;
//! what is asked for goes through that table in turns. The kernel only reads the program's memory:
//! who asks for it sees to it that the memory stays until the answer is there. Where it cannot wait
//! that long, [`Fingerprints::leave_out`] takes a piece out of the turn that is under way.

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
pub(crate) const BLOCKS: usize = 8192;
const LOOK_AGAIN: Duration = Duration::from_micros(20);

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Fingerprints {
    kernel: Kernel,
    /// The table, then the sums.
    memory: Memory,
    under_way: Option<Turn>,
}

/// What is in the table.
#[derive(Debug)]
struct Turn {
    /// The dispatch's number in the queue.
    number: u64,
    chunks: Vec<Extent>,
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
            under_way: None,
        })
    }

    /// Where table and sums are: nobody needs their content in an image.
    pub(crate) fn memory(&self) -> Option<Extent> {
        Extent::with_len(self.memory.address(), self.memory.bytes() as u64).ok()
    }

    /// The next checkpoint begins: nothing may be left of an earlier one.
    pub(crate) fn start_over(&mut self, queue: &DeviceQueue) -> Result<(), String> {
        if self.is_under_way(queue) {
            return Err("the device still computes fingerprints of an earlier attempt".into());
        }
        self.under_way = None;
        Ok(())
    }

    /// The fingerprints of these chunks, none of which has more than [`BLOCKS`] blocks. An error when
    /// the device does not answer before the deadline. What was under way is given up.
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
        self.wait(queue, deadline)?;
        while !rest.is_empty() {
            let mut blocks = 0;
            let fits = |chunk: &&Extent| {
                blocks += blocks_of(**chunk);
                blocks <= BLOCKS
            };
            let count = rest.iter().take_while(fits).count();
            let (turn, later) = rest.split_at(count);
            // SAFETY: the caller's promise.
            unsafe { self.start(queue, turn.to_vec())? };
            let done = self.wait(queue, deadline)?;
            fingerprints.extend(done.into_iter().map(|(_, fingerprint)| fingerprint));
            rest = later;
        }
        Ok(fingerprints)
    }

    /// Lets the device compute the fingerprints of these chunks, which together have no more than
    /// [`BLOCKS`] blocks; nothing else is under way.
    ///
    /// # Safety
    /// The chunks are device memory that stays allocated until [`Fingerprints::arrived`] has given the
    /// answer, or has been left out.
    pub(crate) unsafe fn start(
        &mut self,
        queue: &mut DeviceQueue,
        chunks: Vec<Extent>,
    ) -> Result<(), String> {
        let blocks: usize = chunks.iter().map(|chunk| blocks_of(*chunk)).sum();
        if chunks.is_empty() || blocks > BLOCKS || self.under_way.is_some() {
            return Err("these chunks do not go into the table of fingerprints".into());
        }
        for (at, entry) in entries(&chunks).enumerate() {
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
        let number = unsafe { queue.dispatch(&self.kernel, &arguments, blocks as u32, items) }
            .map_err(|error| error.to_string())?;
        self.under_way = Some(Turn { number, chunks });
        Ok(())
    }

    /// Whether the device may still read what [`Fingerprints::start`] named. A queue that has failed
    /// reads nothing.
    pub(crate) fn is_under_way(&self, queue: &DeviceQueue) -> bool {
        let number = self.under_way.as_ref().map_or(0, |turn| turn.number);
        queue.completed().is_ok_and(|done| done < number)
    }

    /// What [`Fingerprints::start`] was asked for, once it is there. What was left out has some
    /// fingerprint.
    pub(crate) fn arrived(
        &mut self,
        queue: &DeviceQueue,
    ) -> Result<Option<Vec<(Extent, Fingerprint)>>, String> {
        let done = queue.completed().map_err(|error| error.to_string())?;
        let Some(turn) = self.under_way.take_if(|turn| turn.number <= done) else {
            return Ok(None);
        };
        let mut sums = self.sums();
        let fingerprint = |chunk: Extent| {
            let sums = sums.by_ref().take(blocks_of(chunk));
            (chunk, Fingerprint::of_blocks(sums, chunk.len()))
        };
        Ok(Some(turn.chunks.into_iter().map(fingerprint).collect()))
    }

    /// Work-groups that have not begun do not read this memory any more; those that have are done in
    /// the blink of an eye.
    pub(crate) fn leave_out(&self, memory: Extent) {
        let chunks = self.under_way.as_ref().map(|turn| turn.chunks.as_slice());
        for (at, entry) in entries(chunks.unwrap_or_default()).enumerate() {
            let Ok(block) = Extent::with_len(entry.address, entry.bytes.into()) else {
                continue;
            };
            if block.overlaps(memory) {
                let none = BlockEntry { bytes: 0, ..entry }.to_bytes();
                // SAFETY: the second half of an entry of the table, 8-byte aligned host memory of
                // ours. A work-group reads an entry once, and nothing of a block without bytes.
                unsafe {
                    let half = self.entry(at).add(8).cast::<u64>();
                    let (_, bytes) = none.split_at(8);
                    half.write_volatile(u64::from_ne_bytes(bytes.try_into().expect("half of 16")));
                }
            }
        }
    }

    fn wait(
        &mut self,
        queue: &DeviceQueue,
        deadline: Instant,
    ) -> Result<Vec<(Extent, Fingerprint)>, String> {
        loop {
            if let Some(arrived) = self.arrived(queue)? {
                return Ok(arrived);
            }
            if self.under_way.is_none() {
                return Ok(Vec::new());
            }
            if Instant::now() >= deadline {
                return Err("the device does not compute fingerprints in time".into());
            }
            std::thread::sleep(LOOK_AGAIN);
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
pub(crate) fn blocks_of(chunk: Extent) -> usize {
    usize::try_from(chunk.len().div_ceil(BLOCK_BYTES as u64)).unwrap_or(usize::MAX)
}
