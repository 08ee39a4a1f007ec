//! The hardware's state, all of it in two block devices.
//!
//! | device | node | content |
//! |---|---|---|
//! | state | /dev/kfd, /dev/softgpu/state | [`State`] at 0; the doorbells of process slot i at (i + 1) * 4 GiB |
//! | memory | /dev/dri/renderD128, /dev/softgpu/memory | VRAM and GTT; an object's mmap offset is its place here |
//!
//! The emulator maps both through its own nodes, so that its mappings are told apart from the
//! program's by path. What must hold: nothing about the hardware is kept in a process but pointers
//! into these mappings and the generation they were read under. Plain fields of [`Tables`] are
//! touched only under the state lock; everything else shared is atomic.

mod condition;
pub(crate) mod event;
mod extents;
pub(crate) mod fd;
pub(crate) mod geometry;
mod initialise;
mod layout;
mod link;
mod lock;
mod open;
mod tables;

pub(crate) use condition::is_stopped;
pub(crate) use extents::{allocate, allocate_elsewhere, release};
pub(crate) use initialise::initialise;
pub(crate) use layout::*;
pub(crate) use lock::Locked;
pub(crate) use open::Device;
pub(crate) use tables::*;
