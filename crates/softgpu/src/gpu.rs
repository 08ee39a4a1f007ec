//! The software GPU in a process: the device, and the threads that are its engines.

use crate::device::Device;
use crate::worker::Engines;

/// One of them. Nothing else in this crate is about a device and is not in its value.
#[derive(Debug)]
pub(crate) struct Gpu {
    pub(crate) device: Device,
    pub(crate) engines: Engines,
}

impl Gpu {
    /// The one of this process's namespace, if there is one.
    pub(crate) fn open() -> Option<Gpu> {
        Some(Gpu {
            device: Device::open()?,
            engines: Engines::default(),
        })
    }
}
