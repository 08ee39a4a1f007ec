//! The process that the threads serve.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::device::{Device, GPUS};
use crate::space::Space;
use crate::wave::WaveProgram;

/// What a process has on one GPU: its address space there, and its code.
#[derive(Debug)]
pub(super) struct Side {
    pub space: Space,
    pub program: WaveProgram,
}

/// A process on all GPUs.
#[derive(Debug)]
pub(super) struct Process {
    pub pid: u32,
    pub device: &'static Device,
    sides: [Side; GPUS],
    /// Its slot, and the generation of the device on which it is that (0: on none).
    slot: AtomicU32,
    generation: AtomicU64,
}

impl Process {
    pub(super) fn new(device: &'static Device, pid: u32) -> Self {
        Self {
            pid,
            device,
            sides: std::array::from_fn(|gpu| Side {
                space: Space::new(device, gpu),
                program: WaveProgram::new(),
            }),
            slot: AtomicU32::new(0),
            generation: AtomicU64::new(0),
        }
    }

    pub(super) fn on(&self, gpu: usize) -> &Side {
        &self.sides[gpu]
    }

    /// Its slot. None right after a restore, until the poller has seen the new device.
    pub(super) fn slot(&self) -> Option<usize> {
        let current = self.device.header().generation;
        let known = self.generation.load(Ordering::Acquire) == current;
        known.then(|| self.slot.load(Ordering::Acquire) as usize)
    }

    /// Finds its slot on the device of another generation; false when that does not know it.
    pub(super) fn move_to(&self, generation: u64) -> bool {
        let Ok(tables) = self.device.lock() else {
            return false;
        };
        let Some(slot) = tables.slot_of(self.pid) else {
            return false;
        };
        self.slot.store(slot as u32, Ordering::Release);
        self.generation.store(generation, Ordering::Release);
        for side in &self.sides {
            side.program.invalidate();
        }
        true
    }
}
