//! The process that the threads serve.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::access::Unlogged;
use super::given::Logged;
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
    /// What the access log has of it.
    pub logged: Mutex<Logged>,
    /// The log of dispatches that were evicted so far.
    pub begun: Unlogged,
    /// The slot that it had last, and its tenancy there (0: none).
    slot: AtomicU32,
    tenancy: AtomicU64,
}

impl Process {
    pub(super) fn new(device: &'static Device, pid: u32) -> Self {
        Self {
            pid,
            device,
            sides: std::array::from_fn(|gpu| Side {
                space: Space::new(device, gpu),
                program: WaveProgram::new(device.model.target),
            }),
            logged: Mutex::default(),
            begun: Unlogged::default(),
            slot: AtomicU32::new(0),
            tenancy: AtomicU64::new(0),
        }
    }

    pub(super) fn on(&self, gpu: usize) -> &Side {
        &self.sides[gpu]
    }

    /// Its slot, and its tenancy there. None right after a checkpoint or a restore, on this device or another, until the
    /// poller has found it.
    pub(super) fn slot(&self) -> Option<(usize, u64)> {
        let tenancy = self.tenancy.load(Ordering::Acquire);
        let slot = self.slot.load(Ordering::Acquire) as usize;
        self.is_tenant(slot, tenancy).then_some((slot, tenancy))
    }

    /// Whether the slot is still given to that tenant.
    pub(super) fn is_tenant(&self, slot: usize, tenancy: u64) -> bool {
        let current = self.device.state().live[slot]
            .tenancy
            .load(Ordering::Acquire);
        tenancy != 0 && current == tenancy
    }

    /// Finds the slot it has now; false when the device does not know it.
    pub(super) fn find_slot(&self) -> bool {
        let Ok(tables) = self.device.lock() else {
            return false;
        };
        let Ok(Some(slot)) = tables.slot_of(self.pid) else {
            return false;
        };
        let tenancy = &self.device.state().live[slot].tenancy;
        // Whoever reads the two at once sees the old tenancy, which is nowhere, or both of the new one.
        self.tenancy.store(0, Ordering::Release);
        self.slot.store(slot as u32, Ordering::Release);
        let tenancy = tenancy.load(Ordering::Acquire);
        self.tenancy.store(tenancy, Ordering::Release);
        for side in &self.sides {
            side.program.invalidate();
        }
        true
    }
}
