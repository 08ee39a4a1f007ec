//! An address space of the GPU, read out of the tables.

use std::sync::atomic::Ordering;
use std::sync::{Arc, RwLock};

use nix::errno::Errno;
use strobe_kfd::render::gem::PAGE_WRITEABLE;

use crate::device::{Device, Object, Tables, place};
use crate::wave;

/// A mapping and where its memory is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    pub(crate) mapping: wave::HostMapping,
    /// The GPU in whose VRAM it is; none: in the host's memory, or registers.
    pub(crate) vram_of: Option<usize>,
    /// Of the object, unlike any before it.
    pub(crate) serial: u32,
}

/// All mappings of one address space at one time, by address.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    epoch: u64,
    regions: Vec<Region>,
}

// SAFETY: the host pointers are addresses of shared memory of this process, not owned by a thread.
unsafe impl Send for Snapshot {}
// SAFETY: as above.
unsafe impl Sync for Snapshot {}

impl Snapshot {
    /// Reads the mappings of address space `vm` (a render file plus 1).
    pub(crate) fn read(device: &Device, tables: &Tables, vm: u32, epoch: u64) -> Self {
        let mut regions: Vec<Region> = tables
            .mappings
            .iter()
            .filter(|(_, mapping)| mapping.file == vm)
            .filter_map(|(_, mapping)| {
                let object = tables.objects.get(mapping.object as usize)?;
                let start = host_address(device, object)?;
                let mapping = wave::HostMapping {
                    start: mapping.va,
                    end: mapping.va.checked_add(mapping.size)?,
                    host: start.wrapping_add(mapping.object_offset as usize),
                    writable: mapping.flags & PAGE_WRITEABLE != 0,
                };
                Some(Region {
                    mapping,
                    vram_of: (object.place == place::VRAM).then_some(object.gpu as usize),
                    serial: object.serial,
                })
            })
            .collect();
        regions.sort_unstable_by_key(|region| region.mapping.start);
        Self { epoch, regions }
    }

    #[cfg(test)]
    pub(crate) fn of(mut regions: Vec<Region>) -> Self {
        regions.sort_unstable_by_key(|region| region.mapping.start);
        Self { epoch: 0, regions }
    }

    /// Which state of the address space this is.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// All that is mapped, by address.
    pub(crate) fn regions(&self) -> &[Region] {
        &self.regions
    }

    pub(crate) fn find(&self, va: u64) -> Option<&Region> {
        let after = self
            .regions
            .partition_point(|region| region.mapping.start <= va);
        self.regions[..after]
            .last()
            .filter(|region| va < region.mapping.end)
    }
}

fn host_address(device: &Device, object: &Object) -> Option<*mut u8> {
    match object.place {
        place::VRAM | place::GTT => {
            let memory = device.memory(object.gpu as usize);
            Some(memory.wrapping_add(object.offset as usize))
        }
        place::USER => Some(object.offset as *mut u8),
        place::STATE => Some(device.state_byte(object.offset)),
        _ => None,
    }
}

/// The current address space of a process on a GPU, read again whenever it changes.
#[derive(Debug)]
pub(crate) struct Space {
    device: &'static Device,
    gpu: usize,
    current: RwLock<Arc<Snapshot>>,
}

impl Space {
    pub(crate) fn new(device: &'static Device, gpu: usize) -> Self {
        Self {
            device,
            gpu,
            current: RwLock::default(),
        }
    }

    /// Identifies a state of the address space across devices.
    pub(crate) fn epoch(&self, slot: usize) -> u64 {
        let live = &self.device.state().live[slot];
        let mapping = live.mapping_epoch[self.gpu].load(Ordering::Acquire);
        live.tenancy.load(Ordering::Acquire) << 32 | u64::from(mapping)
    }

    pub(crate) fn snapshot(&self, slot: usize) -> Result<Arc<Snapshot>, Errno> {
        let epoch = self.epoch(slot);
        let current = Arc::clone(&*self.current.read().map_err(|_| Errno::EIO)?);
        if current.epoch == epoch {
            return Ok(current);
        }
        let tables = self.device.lock()?;
        // Again under the lock: this is the state that is read.
        let epoch = self.epoch(slot);
        let vm = tables.process(slot).ok_or(Errno::ESRCH)?.devices[self.gpu].vm;
        let fresh = Arc::new(Snapshot::read(self.device, &tables, vm, epoch));
        drop(tables);
        *self.current.write().map_err(|_| Errno::EIO)? = Arc::clone(&fresh);
        Ok(fresh)
    }
}

/// The address space seen by a dispatch: always that of the moment.
pub(crate) struct View<'a> {
    pub(crate) space: &'a Space,
    pub(crate) slot: usize,
}

// SAFETY: a mapping of a memory or state device is never unmapped; user memory stays until the
// program frees it, which a program may do only when no kernel uses it any more. The epoch changes
// with every change of the tables.
unsafe impl wave::AddressSpace for View<'_> {
    fn find(&self, va: u64) -> Option<wave::HostMapping> {
        Some(self.space.snapshot(self.slot).ok()?.find(va)?.mapping)
    }

    fn epoch(&self) -> u64 {
        self.space.epoch(self.slot)
    }
}
