//! The hardware's state, all of it in block devices: one for the driver, and one for each GPU.
//!
//! | device | node | content |
//! |---|---|---|
//! | state | /dev/kfd, /dev/softgpu/state | [`State`] at 0; behind it 4 GiB for the doorbells of each process slot on each GPU |
//! | memory of GPU i | /dev/dri/renderD(128 + i), /dev/softgpu/memory(i) | its VRAM and GTT; an object's mmap offset is its place here |
//!
//! The compute driver is one for all GPUs, as amdkfd is: processes, events, queue ids and the tables
//! with their one lock stand in the state device, and what is a GPU's own (address space, buffer
//! handles, doorbells, memory in use, links) stands there by the GPU's index, its place in the topology.
//! Memory is a device for each, because a render node is a device of its own: mappings and descriptors
//! tell by its number which GPU they are of.
//!
//! The emulator maps them through its own nodes, so that its mappings are told apart from the
//! program's by path. What must hold: nothing about the hardware is kept in a process but pointers
//! into these mappings and the generation they were read under. Plain fields of [`Tables`] are
//! touched only under the state lock; everything else shared is atomic.

mod condition;
pub(crate) mod event;
pub(crate) mod eviction;
mod extents;
pub(crate) mod fd;
pub(crate) mod geometry;
mod initialise;
mod layout;
mod link;
mod lock;
mod open;
mod pace;
mod process_id;
mod tables;

pub(crate) use condition::is_stopped;
pub(crate) use eviction::evictions;
pub(crate) use extents::{allocate, allocate_elsewhere, release};
pub(crate) use initialise::initialise;
pub(crate) use layout::*;
pub(crate) use lock::Locked;
pub(crate) use open::Device;
pub use pace::Pace;
pub(crate) use process_id::{ProcessId, own_pid};
pub(crate) use tables::*;
