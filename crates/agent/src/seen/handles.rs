//! Device memory that the program shares with other processes, by HIP's handles.
//!
//! Another process writes it and announces nothing here. So it is not tracked from the moment on in which a handle
//! is made of it: it is saved while everything stands still. What was opened never was.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use strobe_extent::Extent;

/// What is shared now.
#[derive(Debug, Default)]
pub(crate) struct Handles {
    /// The allocations that handles were made of, by the addresses that these name.
    exported: Mutex<BTreeMap<u64, Extent>>,
    /// Where memory of others was opened, and how often: HIP gives the same address each time, until it was closed
    /// as often.
    opened: Mutex<BTreeMap<u64, usize>>,
}

impl Handles {
    pub(crate) fn export(&self, address: u64, allocation: Extent) {
        self.exported.lock().insert(address, allocation);
    }

    /// The allocation, of which a handle was made, that holds `address`.
    pub(crate) fn exported_at(&self, address: u64) -> Option<Extent> {
        let exported = self.exported.lock();
        let mut allocations = exported.values();
        allocations.find(|it| it.contains_address(address)).copied()
    }

    /// The allocation that begins at `start` goes.
    pub(crate) fn free(&self, start: u64) {
        self.exported.lock().retain(|_, it| it.start() != start);
    }

    pub(crate) fn open(&self, address: u64) {
        *self.opened.lock().entry(address).or_default() += 1;
    }

    pub(crate) fn close(&self, address: u64) {
        let mut opened = self.opened.lock();
        if let Some(times) = opened.get_mut(&address) {
            *times -= 1;
            if *times == 0 {
                opened.remove(&address);
            }
        }
    }

    /// Forgets everything: the device was reset.
    pub(crate) fn clear(&self) {
        self.exported.lock().clear();
        self.opened.lock().clear();
    }

    /// The addresses that handles name.
    pub(crate) fn exported(&self) -> Vec<u64> {
        self.exported.lock().keys().copied().collect()
    }

    /// The addresses where memory of others is.
    pub(crate) fn opened(&self) -> Vec<u64> {
        self.opened.lock().keys().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_known_until_its_memory_goes() {
        let handles = Handles::default();
        let memory = Extent::with_len(0x1000, 0x1000).unwrap();
        handles.export(0x1000, memory);
        handles.export(0x1800, memory);
        assert_eq!(handles.exported_at(0x1fff), Some(memory));
        assert_eq!(handles.exported_at(0x2000), None);
        assert_eq!(handles.exported(), [0x1000, 0x1800]);
        handles.free(0x1800);
        assert_eq!(handles.exported().len(), 2, "nothing begins there");
        handles.free(0x1000);
        assert!(handles.exported().is_empty());
        handles.open(0x9000);
        handles.open(0x8000);
        handles.open(0x8000);
        handles.close(0x9000);
        handles.close(0x8000);
        assert_eq!(handles.opened(), [0x8000], "opened twice, closed once");
        handles.close(0x8000);
        assert!(handles.opened().is_empty());
        handles.open(0x8000);
        handles.clear();
        assert!(handles.opened().is_empty());
    }
}
