//! The amdkfd and amdgpu-drm kernel interfaces: argument structs, request numbers, constants.
//!
//! One file per kernel object, and the packets that its queues hold. Both sides use them: the CRIU
//! plugin as a client of the real driver, the software GPU as a driver of its own. What must hold:
//! sizes, offsets and request numbers are the kernel's (`include/uapi/linux/kfd_ioctl.h`,
//! `include/uapi/drm/amdgpu_drm.h`, `include/uapi/drm/drm.h`), checked at compile time beside each
//! struct.
//!
//! [`client`] has safe calls, and on top of them copies by the DMA engine.

pub mod aql;
pub mod client;
pub mod criu;
pub mod event;
mod ioctl;
pub mod memory;
pub mod process;
pub mod queue;
pub mod render;
pub mod sdma;
pub mod touched;

pub use ioctl::{Request, call, number, number_parts};
