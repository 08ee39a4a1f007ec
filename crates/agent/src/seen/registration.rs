//! What `__hipRegister*` said, before anybody looks at it.
//!
//! hipcc calls these from ELF constructors, when little of the process is up and most of what is
//! registered will never run. So only pointers are kept, in a list that exists without being made;
//! kernels are looked for at their first launch.
//!
//! Libraries register one stub several times, with code of their own each (inline templates). HIP
//! keeps the first and ignores the others, also when the first is gone: until somebody registers the
//! stub anew, it launches nothing.

use std::ffi::c_char;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Registrations kept. A process that has more launches the rest as unknown kernels.
const ENTRIES: usize = 1 << 18;

/// In place of the moment at which an entry was unregistered.
const LIVE: usize = usize::MAX;

#[derive(Debug)]
struct Entry {
    /// The handle that HIP gave for the fat binary; 0 until the entry is complete.
    module: AtomicUsize,
    /// How many entries there were when it was unregistered; [`LIVE`] until then.
    gone: AtomicUsize,
    /// The host stub; 0 for the fat binary itself.
    stub: AtomicUsize,
    /// The kernel's name, or the bundle of the fat binary.
    data: AtomicPtr<c_char>,
}

/// All registrations of the process, in order.
#[derive(Debug)]
pub(crate) struct Registrations {
    used: AtomicUsize,
    entries: [Entry; ENTRIES],
}

/// Those of this process.
pub(crate) static REGISTRATIONS: Registrations = Registrations::new();

impl Registrations {
    #[allow(clippy::new_without_default, reason = "const, for statics")]
    pub(crate) const fn new() -> Registrations {
        Registrations {
            used: AtomicUsize::new(0),
            entries: [const {
                Entry {
                    module: AtomicUsize::new(0),
                    gone: AtomicUsize::new(0),
                    stub: AtomicUsize::new(0),
                    data: AtomicPtr::new(std::ptr::null_mut()),
                }
            }; ENTRIES],
        }
    }

    /// The bundle at `image` was registered as `module`.
    pub(crate) fn fat_binary(&self, module: usize, image: *const u8) {
        self.push(module, 0, image.cast());
    }

    /// `stub` launches the kernel `name` of `module`.
    pub(crate) fn function(&self, module: usize, stub: usize, name: *const c_char) {
        if stub != 0 {
            self.push(module, stub, name);
        }
    }

    /// The fat binary is about to be unmapped; calls `gone` for each of its stubs.
    pub(crate) fn unregister(&self, module: usize, mut gone: impl FnMut(usize)) {
        let now = self.used.load(Ordering::Acquire);
        for entry in self.entries().filter(|entry| entry.is_live(module)) {
            entry.gone.store(now, Ordering::Release);
            gone(entry.stub.load(Ordering::Relaxed));
        }
    }

    /// Module and name of the kernel that `stub` launches.
    pub(crate) fn find(&self, stub: usize) -> Option<(usize, *const c_char)> {
        let mut holder: Option<&Entry> = None;
        for (at, entry) in self.entries().enumerate() {
            let complete = entry.module.load(Ordering::Acquire) != 0;
            if complete && entry.stub.load(Ordering::Relaxed) == stub {
                // Only where the one before was gone by then.
                holder = match holder {
                    Some(before) if before.gone.load(Ordering::Acquire) > at => Some(before),
                    _ => Some(entry),
                };
            }
        }
        let holder = holder?;
        let module = holder.module.load(Ordering::Acquire);
        let name = holder.data.load(Ordering::Relaxed);
        holder
            .is_live(module)
            .then_some((module, name.cast_const()))
    }

    /// The bundle of `module`.
    pub(crate) fn image(&self, module: usize) -> Option<*const u8> {
        let entry = self
            .entries()
            .rev()
            .find(|e| e.stub.load(Ordering::Relaxed) == 0 && e.is_live(module))?;
        Some(entry.data.load(Ordering::Relaxed).cast_const().cast())
    }

    fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        let used = self.used.load(Ordering::Acquire).min(ENTRIES);
        self.entries[..used].iter()
    }

    fn push(&self, module: usize, stub: usize, data: *const c_char) {
        let at = self.used.fetch_add(1, Ordering::AcqRel);
        let Some(entry) = self.entries.get(at) else {
            self.used.fetch_sub(1, Ordering::AcqRel);
            return;
        };
        entry.stub.store(stub, Ordering::Relaxed);
        entry.data.store(data.cast_mut(), Ordering::Relaxed);
        entry.gone.store(LIVE, Ordering::Relaxed);
        entry.module.store(module, Ordering::Release);
    }
}

impl Entry {
    fn is_live(&self, module: usize) -> bool {
        self.module.load(Ordering::Acquire) == module && self.gone.load(Ordering::Acquire) == LIVE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_registration_of_a_stub_counts_and_no_other_takes_its_place() {
        static LIST: Registrations = Registrations::new();
        let image = [0u8; 4];
        LIST.fat_binary(1, image.as_ptr());
        LIST.function(1, 100, c"a".as_ptr());
        LIST.fat_binary(2, image[1..].as_ptr());
        LIST.function(2, 100, c"b".as_ptr());
        LIST.function(2, 200, c"c".as_ptr());
        let (a, b, c) = (c"a".as_ptr(), c"b".as_ptr(), c"c".as_ptr());
        assert_eq!(LIST.find(100), Some((1, a)));
        assert_eq!(LIST.find(200), Some((2, c)));
        assert_eq!(LIST.image(1), Some(image.as_ptr()));
        let mut gone = Vec::new();
        LIST.unregister(1, |stub| gone.push(stub));
        assert_eq!(gone, [0, 100]);
        assert_eq!(LIST.find(100), None, "the second was ignored for good");
        assert_eq!(LIST.image(1), None);
        // The same library again, at the same place.
        LIST.fat_binary(1, image.as_ptr());
        LIST.function(1, 100, b);
        assert_eq!(LIST.find(100), Some((1, b)));
        LIST.unregister(2, |_| ());
        assert_eq!(LIST.find(100), Some((1, b)), "another's end");
        assert_eq!(LIST.find(200), None);
        assert_eq!(LIST.find(300), None);
    }
}
