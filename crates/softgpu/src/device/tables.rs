//! What stands in the state device. Zero is the empty state of every table.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use nix::errno::Errno;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::link::Links;
use super::pace;
use super::process_id::{self, ProcessId};
use crate::faults::{CallCounts, FaultPlan};

pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"softgpu1");
pub(crate) const VERSION: u32 = 9;

/// As many as the compute driver of an ordinary machine has; [`Header::gpu_count`] of them exist.
pub(crate) const GPUS: usize = 8;
pub(crate) const PROCESSES: usize = 16;
pub(crate) const RENDER_FILES: usize = 64;
pub(crate) const OBJECTS: usize = 1 << 14;
pub(crate) const BUFFERS: usize = 1 << 14;
pub(crate) const GEM_HANDLES: usize = 1 << 12;
pub(crate) const MAPPINGS: usize = 1 << 15;
pub(crate) const QUEUES: usize = 256;
/// Signal events have ids 1..SIGNAL_EVENTS, the others from there.
pub(crate) const SIGNAL_EVENTS: usize = 4096;
pub(crate) const EVENTS: usize = SIGNAL_EVENTS + 64;
/// 64-bit doorbells of a process.
pub(crate) const DOORBELLS: usize = 1024;
/// Of a queue's control stack. Runtimes ask for as much as all waves of the GPU need that hardware saves: with these
/// GPUs it is this.
pub(crate) const CONTROL_STACK_BYTES: usize = 8192;
pub(crate) const ACCESS_LOG_PATH: usize = 1024;

/// Never changes after the device was made.
#[derive(Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Header {
    pub(crate) magic: u64,
    pub(crate) version: u32,
    pub(crate) gpu_count: u32,
    pub(crate) generation: u64,
    /// Device number of the state device.
    pub(crate) state_rdev: u64,
    pub(crate) gpus: [GpuHeader; GPUS],
    /// Of each GPU.
    pub(crate) vram_bytes: u64,
    pub(crate) memory_bytes: u64,
    pub(crate) large_bar: u32,
    pub(crate) access_log_len: u32,
    /// How GPUs reach each other: [`crate::options::Interconnect`] as a number.
    pub(crate) links: u32,
    /// Whether buffers may be shared by a number, as AMD's out-of-tree driver lets them.
    pub(crate) ipc: u32,
    /// Rates of the time model; 0 is as fast as it goes.
    pub(crate) link_bytes_per_s: u64,
    pub(crate) peer_bytes_per_s: u64,
    pub(crate) device_bytes_per_s: u64,
    pub(crate) kernel_floor_ns: u64,
    pub(crate) access_log: [u8; ACCESS_LOG_PATH],
    /// Whether it has what dispatches were given, too.
    pub(crate) log_launches: u32,
    /// What processors the GPUs are, as `gfx_target_version` of the driver.
    pub(crate) target: u32,
    pub(crate) faults: FaultPlan,
}

/// What is known of one GPU.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct GpuHeader {
    /// Its id in sysfs.
    pub(crate) id: u32,
    pub(crate) padding: u32,
    /// Device number of its memory device.
    pub(crate) memory_rdev: u64,
}

/// The head of the state device.
#[repr(C)]
pub(crate) struct State {
    pub(crate) header: Header,
    /// Owner of the tables, or 0.
    pub(crate) lock: AtomicU64,
    pub(crate) lock_wake: AtomicU32,
    pub(crate) padding: u32,
    pub(crate) links: Links,
    /// Of the time model.
    pub(crate) pace: pace::Counts,
    pub(crate) calls: CallCounts,
    /// Evictions that the fault plan has brought about.
    pub(crate) drills: AtomicU64,
    pub(crate) live: [Live; PROCESSES],
    pub(crate) tables: UnsafeCell<Tables>,
}

/// What the workers and waiters of a process use without the lock.
#[repr(C)]
pub(crate) struct Live {
    /// Why workers take no packet: bits of [`super::eviction`].
    pub(super) pause: AtomicU32,
    /// Packets being executed. While it is not 0 the process cannot be checkpointed.
    pub(crate) resident: AtomicU32,
    /// Changes with every change of the process's queues.
    pub(crate) queue_epoch: AtomicU32,
    /// Changes with every change of the process's address space on a GPU.
    pub(crate) mapping_epoch: [AtomicU32; GPUS],
    /// Futex: changes with every event that is set.
    pub(crate) event_sequence: AtomicU32,
    pub(crate) padding: u32,
    /// Whose slot it is: another number each time that it is given to a process, after each checkpoint of that, and on
    /// every device; 0: nobody's.
    pub(crate) tenancy: AtomicU64,
    /// Whose thread it is that freezes the process, as in [`State::lock`]; 0: nobody's.
    pub(super) freezer: AtomicU64,
    /// One for each doorbell of each GPU: see [`super::eviction`].
    pub(super) evict: [[AtomicU32; DOORBELLS]; GPUS],
    pub(crate) events: [Event; EVENTS],
}

/// One event. `kind` is set last when it is made and cleared first when it goes.
#[repr(C)]
pub(crate) struct Event {
    /// Type plus 1; 0 is free.
    pub(crate) kind: AtomicU32,
    pub(crate) auto_reset: AtomicU32,
    pub(crate) signaled: AtomicU32,
    /// How often it was set: tells those who wait, even if another consumes it first.
    pub(crate) sets: AtomicU32,
    /// Memory faults: bit 0 not present, bit 1 read-only.
    pub(crate) fault_flags: AtomicU32,
    /// The GPU that met the fault.
    pub(crate) fault_gpu: AtomicU32,
    pub(crate) fault_va: AtomicU64,
}

/// Touched only under the lock.
#[repr(C)]
pub(crate) struct Tables {
    pub(crate) vram_used: [u64; GPUS],
    pub(crate) next_fence: u64,
    /// How often a slot was given to a process.
    pub(crate) tenancies: u64,
    pub(crate) next_serial: u32,
    pub(crate) padding: u32,
    pub(crate) processes: [Process; PROCESSES],
    pub(crate) render_files: [RenderFile; RENDER_FILES],
    pub(crate) queues: [Queue; QUEUES],
    /// Of each of them.
    pub(crate) control_stacks: [ControlStack; QUEUES],
    pub(crate) objects: Table<Object, OBJECTS>,
    pub(crate) buffers: Table<Buffer, BUFFERS>,
    pub(crate) handles: Table<GemHandle, GEM_HANDLES>,
    pub(crate) mappings: Table<Mapping, MAPPINGS>,
}

/// An entry that knows whether it is free.
pub(crate) trait Entry: Copy {
    fn is_free(&self) -> bool;
    fn clear(&mut self);
}

/// Entries with a bound on the used ones, so that a search looks only at those.
#[repr(C)]
pub(crate) struct Table<T, const N: usize> {
    /// All entries from here on are free.
    bound: u64,
    entries: [T; N],
}

impl<T: Entry, const N: usize> Table<T, N> {
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (usize, &T)> {
        let bound = (self.bound as usize).min(N);
        self.entries[..bound]
            .iter()
            .enumerate()
            .filter(|(_, entry)| !entry.is_free())
    }

    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        self.entries.get(index).filter(|entry| !entry.is_free())
    }

    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        self.entries.get_mut(index).filter(|entry| !entry.is_free())
    }

    /// Puts `entry` into the first free place.
    pub(crate) fn insert(&mut self, entry: T) -> Option<usize> {
        let bound = (self.bound as usize).min(N);
        let index = self.entries[..bound]
            .iter()
            .position(Entry::is_free)
            .or((bound < N).then_some(bound))?;
        self.entries[index] = entry;
        self.bound = self.bound.max(index as u64 + 1);
        Some(index)
    }

    /// Removes the first entry that `wanted` accepts.
    pub(crate) fn take(&mut self, wanted: impl Fn(&T) -> bool) -> Option<T> {
        let (index, entry) = self.iter().find(|(_, entry)| wanted(entry))?;
        let entry = *entry;
        self.remove(index);
        Some(entry)
    }

    pub(crate) fn remove(&mut self, index: usize) {
        if let Some(entry) = self.entries.get_mut(index) {
            entry.clear();
        }
        while self.bound > 0 && self.entries[self.bound as usize - 1].is_free() {
            self.bound -= 1;
        }
    }
}

macro_rules! entry {
    ($ty:ty, $used:ident) => {
        impl Entry for $ty {
            fn is_free(&self) -> bool {
                self.$used == 0
            }
            fn clear(&mut self) {
                self.$used = 0;
            }
        }
    };
}

/// A process that opened /dev/kfd.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Process {
    /// Nobody: free.
    pub(crate) id: ProcessId,
    pub(crate) devices: [ProcessDevice; GPUS],
    /// Tells program images of one process apart.
    pub(crate) image: u32,
    pub(crate) next_queue: u32,
    /// How often its queues were evicted; they run when it is 0.
    pub(crate) evictions: u32,
    /// 1 from PROCESS_INFO to UNPAUSE.
    pub(crate) queues_paused: u32,
}

/// What a process has of one GPU.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct ProcessDevice {
    /// The id by which the program knows the GPU: that of the machine on which it began. 0: there
    /// is no such GPU.
    pub(crate) user_id: u32,
    /// The render file whose address space is the process's, plus 1.
    pub(crate) vm: u32,
    pub(crate) scratch_va: u64,
}

/// An open render node that holds objects or mappings.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct RenderFile {
    /// Its opener; nobody: free.
    pub(crate) id: ProcessId,
    pub(crate) next_context: u32,
    pub(crate) gpu: u32,
}

/// Where an object's bytes are.
pub(crate) mod place {
    pub(crate) const VRAM: u32 = 1;
    pub(crate) const GTT: u32 = 2;
    /// `offset` is a host address of the owner.
    pub(crate) const USER: u32 = 3;
    /// Doorbells and registers: `offset` is one of the state device.
    pub(crate) const STATE: u32 = 4;
}

/// A run of memory, shared by buffers, handles and mappings.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Object {
    /// One of [`place`]; 0 is free.
    pub(crate) place: u32,
    /// Buffers, handles and mappings that use it.
    pub(crate) references: u32,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    /// KFD's allocation flags.
    pub(crate) flags: u32,
    /// Counts the uses of this place in the table, so that an old dma-buf is known as such.
    pub(crate) serial: u32,
    /// Whose memory, doorbells or registers it is.
    pub(crate) gpu: u32,
    pub(crate) padding: u32,
    /// The number by which other processes may have it; 0: none was asked for.
    pub(crate) share_handle: [u32; 4],
}

/// A buffer object of the compute driver.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Buffer {
    /// Process slot plus 1; 0 is free.
    pub(crate) owner: u32,
    /// The low half of its handle.
    pub(crate) index: u32,
    pub(crate) object: u32,
    pub(crate) flags: u32,
    pub(crate) va: u64,
    pub(crate) size: u64,
    /// mmap offset as told to the program; of user memory the host address.
    pub(crate) offset: u64,
    /// The GPUs that have it in their page table, one bit each.
    pub(crate) mapped: u32,
    /// The GPU by whose id its handle begins.
    pub(crate) gpu: u32,
}

/// A graphics handle.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct GemHandle {
    /// Render file plus 1; 0 is free.
    pub(crate) file: u32,
    pub(crate) handle: u32,
    pub(crate) object: u32,
    pub(crate) padding: u32,
    pub(crate) domains: u64,
    pub(crate) alloc_flags: u64,
    pub(crate) alignment: u64,
}

/// A range of an address space.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Mapping {
    /// Render file plus 1; 0 is free.
    pub(crate) file: u32,
    pub(crate) object: u32,
    pub(crate) va: u64,
    pub(crate) size: u64,
    pub(crate) object_offset: u64,
    /// `AMDGPU_VM_PAGE_*`.
    pub(crate) flags: u32,
    /// The graphics handle it was made by; 0: a buffer of the compute driver.
    pub(crate) handle: u32,
}

/// A user-mode queue.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Queue {
    /// Process slot plus 1; 0 is free.
    pub(crate) owner: u32,
    pub(crate) id: u32,
    pub(crate) kind: u32,
    pub(crate) ring_size: u32,
    pub(crate) ring: u64,
    pub(crate) write_pointer: u64,
    pub(crate) read_pointer: u64,
    /// Index of its 64-bit doorbell.
    pub(crate) doorbell: u32,
    pub(crate) percentage: u32,
    pub(crate) priority: u32,
    /// Set when it met what it cannot execute; it does not go on.
    pub(crate) failed: u32,
    pub(crate) eop_address: u64,
    pub(crate) eop_size: u64,
    pub(crate) save_address: u64,
    pub(crate) save_size: u32,
    pub(crate) stack_size: u32,
    /// Restored, and not yet resumed.
    pub(crate) evicted: u32,
    pub(crate) gpu: u32,
}

/// What a queue's dispatch had reached when it was evicted; what is in it only the workers know.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct ControlStack {
    /// Bytes of it that are used; 0: the queue is between two packets.
    pub(crate) used: u32,
    pub(crate) padding: u32,
    pub(crate) bytes: [u8; CONTROL_STACK_BYTES],
}

entry!(Object, place);
entry!(Buffer, owner);
entry!(GemHandle, file);
entry!(Mapping, file);

impl Header {
    /// The index of every GPU that exists.
    pub(crate) fn gpus(&self) -> std::ops::Range<usize> {
        0..(self.gpu_count as usize).min(GPUS)
    }
}

impl Process {
    /// The GPU that the program knows by this id.
    pub(crate) fn gpu(&self, user_id: u32) -> Option<usize> {
        let known = |device: &ProcessDevice| user_id != 0 && device.user_id == user_id;
        self.devices.iter().position(known)
    }

    /// The same, where its address space was acquired.
    pub(crate) fn acquired(&self, user_id: u32) -> Option<usize> {
        self.gpu(user_id).filter(|gpu| self.devices[*gpu].vm != 0)
    }
}

impl Live {
    pub(crate) fn is_paused(&self) -> bool {
        self.pause.load(Ordering::SeqCst) != 0
    }

    /// Whether packets are being executed.
    pub(crate) fn is_busy(&self) -> bool {
        self.resident.load(Ordering::SeqCst) != 0
    }
}

impl Queue {
    /// How long its control stack is.
    pub(crate) fn control_stack_bytes(&self) -> usize {
        (self.stack_size as usize).min(CONTROL_STACK_BYTES)
    }
}

impl ControlStack {
    /// What is in it; nothing, of a queue between two packets.
    pub(crate) fn content(&self) -> &[u8] {
        &self.bytes[..(self.used as usize).min(CONTROL_STACK_BYTES)]
    }

    /// Replaces its content; false if that is too long.
    pub(crate) fn fill(&mut self, content: &[u8]) -> bool {
        let Some(place) = self.bytes.get_mut(..content.len()) else {
            return false;
        };
        place.copy_from_slice(content);
        self.used = content.len() as u32;
        true
    }
}

impl Tables {
    fn place_of_queue(&self, slot: usize, id: u32) -> Option<usize> {
        let owner = slot as u32 + 1;
        let mut queues = self.queues.iter();
        queues.position(|queue| queue.owner == owner && queue.id == id)
    }

    /// The control stack of a queue of the table.
    pub(crate) fn control_stack(&self, queue: &Queue) -> Option<&ControlStack> {
        let place = self.place_of_queue(queue.owner.checked_sub(1)? as usize, queue.id)?;
        Some(&self.control_stacks[place])
    }

    pub(crate) fn control_stack_mut(&mut self, slot: usize, id: u32) -> Option<&mut ControlStack> {
        let place = self.place_of_queue(slot, id)?;
        Some(&mut self.control_stacks[place])
    }

    /// The slot of a live process.
    pub(crate) fn process(&self, slot: usize) -> Option<&Process> {
        let process = self.processes.get(slot);
        process.filter(|process| !process.id.is_nobody())
    }

    /// The slot of the process that the calling process sees as `pid`.
    pub(crate) fn slot_of(&self, pid: u32) -> Result<Option<usize>, Errno> {
        let are_it = process_id::are(pid)?;
        let mut processes = self.processes.iter();
        Ok(processes.position(|process| are_it(&process.id)))
    }

    pub(crate) fn queue_mut(&mut self, slot: usize, id: u32) -> Option<&mut Queue> {
        let place = self.place_of_queue(slot, id)?;
        Some(&mut self.queues[place])
    }

    pub(crate) fn queues_of(&self, slot: usize) -> impl Iterator<Item = &Queue> {
        let owner = slot as u32 + 1;
        self.queues.iter().filter(move |queue| queue.owner == owner)
    }

    /// The buffer with this index on a GPU, and its place in the table.
    pub(crate) fn buffer(&self, slot: usize, gpu: usize, index: u32) -> Option<(usize, Buffer)> {
        let (owner, gpu) = (slot as u32 + 1, gpu as u32);
        self.buffers
            .iter()
            .find(|(_, b)| b.owner == owner && b.gpu == gpu && b.index == index)
            .map(|(place, buffer)| (place, *buffer))
    }

    pub(crate) fn handle(&self, file: usize, handle: u32) -> Option<(usize, GemHandle)> {
        let file = file as u32 + 1;
        self.handles
            .iter()
            .find(|(_, entry)| entry.file == file && entry.handle == handle)
            .map(|(place, entry)| (place, *entry))
    }
}
