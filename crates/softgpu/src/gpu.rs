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

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn two_gpus_have_nothing_in_common() {
        let [one, other] = [(), ()].map(|()| Gpu {
            device: Device::anonymous(),
            engines: Engines::default(),
        });
        // SAFETY: the memory of an anonymous device is a mapping of its own.
        let byte = |gpu: &Gpu| unsafe { gpu.device.memory().read_volatile() };
        // SAFETY: as above.
        unsafe { one.device.memory().write_volatile(1) };
        one.device.doorbell(2, 7).store(9, Ordering::Relaxed);
        let mut tables = one.device.lock().expect("the lock");
        // The other's lock is free meanwhile.
        assert_eq!(other.device.lock().expect("the lock").next_fence, 0);
        tables.next_fence += 1;
        tables.processes[2].pid = 7;
        drop(tables);
        let end = one.device.state().link.reserve(0, 1000, 500);
        let tables = other.device.lock().expect("the lock");
        assert_eq!([byte(&one), byte(&other)], [1, 0]);
        assert_eq!(other.device.doorbell(2, 7).load(Ordering::Relaxed), 0);
        assert_eq!((tables.next_fence, tables.processes[2].pid), (0, 0));
        assert_eq!(other.device.state().link.reserve(0, 1000, 500), end);
    }
}
