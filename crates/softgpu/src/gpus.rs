//! The software GPUs in a process: their device files, and the threads that are their engines.

use crate::device::Device;
use crate::worker::Engines;

/// Those of one namespace. Nothing else in this crate is about a device and is not in its value.
#[derive(Debug)]
pub(crate) struct Gpus {
    pub(crate) device: Device,
    pub(crate) engines: Engines,
}

impl Gpus {
    /// Those of this process's namespace, if there are any.
    pub(crate) fn open() -> Option<Gpus> {
        Some(Gpus {
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
    fn two_environments_have_nothing_in_common() {
        let [one, other] = [(), ()].map(|()| Gpus {
            device: Device::anonymous(),
            engines: Engines::default(),
        });
        // SAFETY: the memory of an anonymous device is a mapping of its own.
        let byte = |gpus: &Gpus| unsafe { gpus.device.memory(0).read_volatile() };
        // SAFETY: as above.
        unsafe { one.device.memory(0).write_volatile(1) };
        one.device.doorbell(2, 0, 7).store(9, Ordering::Relaxed);
        let mut tables = one.device.lock().expect("the lock");
        // The other's lock is free meanwhile.
        assert_eq!(other.device.lock().expect("the lock").next_fence, 0);
        tables.next_fence += 1;
        tables.processes[2].id.pid = 7;
        drop(tables);
        let end = one.device.state().links.to_host[0].reserve(1000, 500);
        let tables = other.device.lock().expect("the lock");
        assert_eq!([byte(&one), byte(&other)], [1, 0]);
        assert_eq!(other.device.doorbell(2, 0, 7).load(Ordering::Relaxed), 0);
        assert_eq!((tables.next_fence, tables.processes[2].id.pid), (0, 0));
        assert_eq!(
            other.device.state().links.to_host[0].reserve(1000, 500),
            end
        );
    }

    #[test]
    fn two_gpus_have_memory_doorbells_and_links_of_their_own() {
        let device = Device::anonymous();
        for gpu in [0, 1] {
            let byte = gpu as u8 + 1;
            // SAFETY: the memory of an anonymous device is a mapping of its own.
            unsafe { device.memory(gpu).write_volatile(byte) };
            device
                .doorbell(2, gpu, 7)
                .store(9 + u64::from(byte), Ordering::Relaxed);
        }
        for gpu in [0, 1] {
            let byte = gpu as u8 + 1;
            // SAFETY: as above.
            assert_eq!(unsafe { device.memory(gpu).read_volatile() }, byte);
            let rung = device.doorbell(2, gpu, 7).load(Ordering::Relaxed);
            assert_eq!(rung, 9 + u64::from(byte));
        }
        let links = &device.state().links;
        assert_eq!(links.to_host[0].reserve(1000, 500), 1500);
        assert_eq!(links.to_host[1].reserve(1000, 500), 1500);
        assert_eq!(links.peers[0][1].reserve(1000, 500), 1500);
        assert_eq!(links.peers[1][0].reserve(1000, 500), 1500);
        assert_eq!(links.peers[0][1].reserve(1000, 500), 2000);
    }
}
