//! Kernels as the launch path knows them: from HIP's pointer to the layout of the arguments.

use crate::seen::footprint_folder::Key;
use crate::seen::kernarg::{LONGEST, Place};
use crate::seen::user_cache::UserCache;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use strobe_code_object::{CodeObject, DESCRIPTOR_SIZE};
use strobe_footprint::{AnalysisLimits, KernelFootprint, analyse};

/// One kernel of a loaded code object.
#[derive(Debug)]
pub(crate) struct Kernel {
    /// As in the source, mangled.
    pub name: String,
    /// Its explicit arguments.
    pub places: Box<[Place]>,
    /// Bytes of the kernarg segment that the program fills.
    pub explicit_bytes: usize,
    code: Option<(Arc<CodeObject>, usize)>,
    /// Fingerprint of the code object that it is in; zeros where nobody has found it.
    pub code_object: [u8; 16],
    footprint: OnceLock<KernelFootprint>,
    /// It was analysed, and is not in the cache yet.
    is_uncached: AtomicBool,
    /// It may have written outside of its footprint.
    distrusted: AtomicBool,
}

impl Kernel {
    /// The kernel at `index` of `object`, whose fingerprint is `code_object`.
    pub(crate) fn of(object: &Arc<CodeObject>, index: usize, code_object: [u8; 16]) -> Kernel {
        let kernel = &object.kernels[index];
        let places: Box<[Place]> = kernel
            .args
            .iter()
            .filter(|arg| !arg.kind.is_hidden())
            .map(|arg| Place {
                offset: arg.offset,
                size: arg.size,
            })
            .collect();
        let end = places
            .iter()
            .map(|p| u64::from(p.offset) + u64::from(p.size))
            .max();
        let explicit_bytes = usize::try_from(end.unwrap_or(0)).unwrap_or(usize::MAX);
        let known = explicit_bytes <= LONGEST;
        Kernel {
            name: kernel.name.clone(),
            places: if known { places } else { Box::default() },
            explicit_bytes: if known { explicit_bytes } else { 0 },
            code: known.then(|| (Arc::clone(object), index)),
            code_object,
            footprint: OnceLock::new(),
            is_uncached: AtomicBool::new(false),
            distrusted: AtomicBool::new(false),
        }
    }

    /// Its descriptor's bytes, which tell it apart from others of the same name.
    pub(crate) fn descriptor(&self) -> Option<&[u8]> {
        let (object, index) = self.code.as_ref()?;
        let address = object.kernels[*index].descriptor_address;
        object.content_from(address)?.get(..DESCRIPTOR_SIZE)
    }

    /// A kernel whose code nobody has found.
    pub(crate) fn unknown(name: &str) -> Kernel {
        Kernel {
            name: name.to_owned(),
            places: Box::default(),
            explicit_bytes: 0,
            code: None,
            code_object: [0; 16],
            footprint: OnceLock::new(),
            is_uncached: AtomicBool::new(false),
            distrusted: AtomicBool::new(false),
        }
    }

    /// Its footprint is not believed any more.
    pub(crate) fn distrust(&self) {
        self.distrusted.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_distrusted(&self) -> bool {
        self.distrusted.load(Ordering::Relaxed)
    }

    /// What it may touch; read or analysed at the first call. `None` if its code is not known.
    pub(crate) fn footprint(&self, cache: &Mutex<UserCache>) -> Option<&KernelFootprint> {
        let (object, index) = self.code.as_ref()?;
        Some(self.footprint.get_or_init(|| {
            let (kernel, limits) = (&object.kernels[*index], AnalysisLimits::default());
            let cached = || {
                let bytes = cache.lock().load(self.key()?)?;
                KernelFootprint::from_bytes(&bytes, object, kernel, &limits)
            };
            cached().unwrap_or_else(|| {
                self.is_uncached.store(true, Ordering::Relaxed);
                analyse(object, kernel, &limits)
            })
        }))
    }

    /// Whether somebody has to put it into the cache: who is told so.
    pub(crate) fn take_uncached(&self) -> bool {
        // Of nearly all launches it is not, and nothing is written.
        self.is_uncached.load(Ordering::Relaxed) && self.is_uncached.swap(false, Ordering::Relaxed)
    }

    fn key(&self) -> Option<Key> {
        let (_, index) = self.code.as_ref()?;
        Some(Key {
            code_object: self.code_object,
            kernel: u32::try_from(*index).ok()?,
        })
    }

    /// What the cache gets.
    pub(crate) fn to_cache(&self) -> Option<(Key, Vec<u8>)> {
        Some((self.key()?, self.footprint.get()?.to_bytes()?))
    }
}

/// Slots of the table; a power of two. The programs with the most kernels launch some thousands.
const SLOTS: usize = 1 << 15;

/// From `hipFunction_t` or the address of a host stub to the kernel, without locks. Keys stay once
/// they are in; a key that was unloaded has no kernel until it is used again.
#[derive(Debug)]
pub(crate) struct Kernels {
    keys: [AtomicUsize; SLOTS],
    kernels: [AtomicPtr<Kernel>; SLOTS],
}

/// Those of this process.
pub(crate) static KERNELS: Kernels = Kernels::new();

impl Kernels {
    #[allow(clippy::new_without_default, reason = "const, for statics")]
    pub(crate) const fn new() -> Kernels {
        Kernels {
            keys: [const { AtomicUsize::new(0) }; SLOTS],
            kernels: [const { AtomicPtr::new(std::ptr::null_mut()) }; SLOTS],
        }
    }

    #[inline]
    pub(crate) fn find(&self, key: usize) -> Option<&'static Kernel> {
        for at in probe(key) {
            match self.keys[at].load(Ordering::Acquire) {
                0 => return None,
                found if found == key => {
                    // SAFETY: only `insert` stores here, and only what it has leaked.
                    return unsafe { self.kernels[at].load(Ordering::Acquire).as_ref() };
                }
                _ => {}
            }
        }
        None
    }

    /// Adds or replaces. A full table forgets: its kernels stay unknown.
    pub(crate) fn insert(&self, key: usize, kernel: &'static Kernel) {
        self.store(key, std::ptr::from_ref(kernel).cast_mut());
    }

    /// The key means nothing any more.
    pub(crate) fn remove(&self, key: usize) {
        self.store(key, std::ptr::null_mut());
    }

    fn store(&self, key: usize, kernel: *mut Kernel) {
        if key == 0 {
            return;
        }
        for at in probe(key) {
            let slot = &self.keys[at];
            let claimed = slot.compare_exchange(0, key, Ordering::AcqRel, Ordering::Acquire);
            if claimed.is_ok() || claimed == Err(key) {
                self.kernels[at].store(kernel, Ordering::Release);
                return;
            }
        }
    }
}

/// Slots in the order in which a key tries them.
fn probe(key: usize) -> impl Iterator<Item = usize> {
    const TRIES: usize = 64;
    let hash = (key as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let first = (hash >> (64 - SLOTS.trailing_zeros())) as usize;
    (0..TRIES).map(move |n| (first + n) % SLOTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_finds_its_kernel_until_it_is_removed() {
        static KERNELS: Kernels = Kernels::new();
        for key in 1..=5000usize {
            let kernel = Box::leak(Box::new(Kernel::unknown(&key.to_string())));
            KERNELS.insert(key * 16, kernel);
        }
        for key in 1..=5000usize {
            assert_eq!(KERNELS.find(key * 16).unwrap().name, key.to_string());
        }
        assert!(KERNELS.find(8).is_none());
        KERNELS.remove(160);
        assert!(KERNELS.find(160).is_none());
        assert_eq!(KERNELS.find(176).unwrap().name, "11", "its neighbour stays");
        KERNELS.insert(160, Box::leak(Box::new(Kernel::unknown("again"))));
        assert_eq!(KERNELS.find(160).unwrap().name, "again");
    }
}
