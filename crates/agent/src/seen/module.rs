//! Modules: images that HIP has loaded, and the kernels in them.

use crate::seen::image;
use crate::seen::kernel::Kernel;
use crate::seen::user_cache::UserCache;
use parking_lot::Mutex;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::ffi::CStr;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use strobe_code_object::{CodeObject, Extracted, ObjectLimits, TargetName, visit};
use strobe_fingerprint::Fingerprint;

/// The kernels of one code object, made as they are asked for. Never freed: records point to them.
#[derive(Debug)]
pub(crate) struct Object {
    code: Arc<CodeObject>,
    fingerprint: [u8; 16],
    /// Kernels whose footprints are not believed since an earlier run.
    distrusted: HashSet<String>,
    kernels: Mutex<HashMap<String, &'static Kernel>>,
}

impl Object {
    /// The kernel `name`, mangled.
    pub(crate) fn kernel(&self, name: &str) -> Option<&'static Kernel> {
        let mut kernels = self.kernels.lock();
        if let Some(kernel) = kernels.get(name) {
            return Some(kernel);
        }
        let index = self.code.kernels.iter().position(|k| k.name == name)?;
        let kernel: &'static Kernel = {
            let kernel = Kernel::of(&self.code, index, self.fingerprint);
            if self.distrusted.contains(name) {
                kernel.distrust();
            }
            Box::leak(Box::new(kernel))
        };
        kernels.insert(name.to_owned(), kernel);
        Some(kernel)
    }
}

/// What is loaded, by HIP's handle. A fat binary and a module share no handle: both are addresses.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    loaded: Mutex<HashMap<usize, Loaded>>,
    /// Code objects by the fingerprint of their bytes: the same image is often loaded again.
    objects: Mutex<HashMap<[u8; 16], Arc<Object>>>,
    cache: Arc<Mutex<UserCache>>,
}

#[derive(Debug)]
struct Loaded {
    object: Option<Arc<Object>>,
    /// `hipFunction_t` handles that came from it.
    handles: Vec<usize>,
}

impl Modules {
    pub(crate) fn new(cache: Arc<Mutex<UserCache>>) -> Self {
        Self {
            cache,
            ..Self::default()
        }
    }

    /// `module` was loaded from `bytes`, onto a device of target id `target`. Where that is not known,
    /// and where there is no object for it, an image that holds several objects is unknown.
    pub(crate) fn load(&self, module: usize, bytes: Option<&[u8]>, target: Option<&str>) {
        let object = bytes.and_then(|bytes| self.object(bytes, target));
        let loaded = Loaded {
            object,
            handles: Vec::new(),
        };
        self.loaded.lock().insert(module, loaded);
    }

    /// The same from the file at `path`.
    pub(crate) fn load_file(&self, module: usize, path: &Path, target: Option<&str>) {
        self.load(module, std::fs::read(path).ok().as_deref(), target);
    }

    /// Whether `module` is loaded.
    pub(crate) fn contains(&self, module: usize) -> bool {
        self.loaded.lock().contains_key(&module)
    }

    /// The same from the image at `address`.
    ///
    /// # Safety
    /// Nobody unmaps or writes the image meanwhile.
    pub(crate) unsafe fn load_image(
        &self,
        module: usize,
        address: *const u8,
        target: Option<&str>,
    ) {
        // SAFETY: the caller's promise.
        self.load(module, unsafe { image::at(address) }, target);
    }

    /// The kernel `name` of `module`, unknown if it cannot be found.
    pub(crate) fn kernel(&self, module: usize, name: &CStr) -> &'static Kernel {
        let name = name.to_string_lossy();
        let loaded = self.loaded.lock();
        let object = loaded.get(&module).and_then(|m| m.object.as_ref());
        let kernel = object.and_then(|object| object.kernel(&name));
        kernel.unwrap_or_else(|| Box::leak(Box::new(Kernel::unknown(&name))))
    }

    /// `handle` came from `module`.
    pub(crate) fn add_handle(&self, module: usize, handle: usize) {
        if let Some(loaded) = self.loaded.lock().get_mut(&module) {
            loaded.handles.push(handle);
        }
    }

    /// `module` is unloaded; the handles that came from it.
    pub(crate) fn unload(&self, module: usize) -> Vec<usize> {
        let loaded = self.loaded.lock().remove(&module);
        loaded.map(|loaded| loaded.handles).unwrap_or_default()
    }

    /// The object for this target in an image.
    fn object(&self, bytes: &[u8], target: Option<&str>) -> Option<Arc<Object>> {
        let chosen = choose(bytes, target)?;
        let fingerprint = Fingerprint::of(&chosen.bytes).to_bytes();
        if let Some(object) = self.objects.lock().get(&fingerprint)
            && object.code.bytes() == &*chosen.bytes
        {
            return Some(Arc::clone(object));
        }
        let code = CodeObject::parse(&chosen.bytes, &ObjectLimits::default()).ok()?;
        let object = Arc::new(Object {
            code: Arc::new(code),
            fingerprint,
            distrusted: self.cache.lock().distrusted(fingerprint),
            kernels: Mutex::default(),
        });
        self.objects.lock().insert(fingerprint, Arc::clone(&object));
        Some(object)
    }
}

/// The only object in an image, or the one that HIP takes for `device`: same processor, no feature that
/// differs, and of those the one that says most; one of a generic target is the last choice. No other is unpacked into
/// the program's memory, but the first.
fn choose<'a>(bytes: &'a [u8], device: Option<&str>) -> Option<Extracted<'a>> {
    let fits = |triple: &str| {
        device.is_some_and(|device| TargetName::of_triple(triple).runs_on(TargetName::new(device)))
    };
    let rank = |triple: &str| {
        let of = TargetName::of_triple(triple).processor();
        let is_own = device.is_some_and(|device| of == TargetName::new(device).processor());
        (is_own, triple.len())
    };
    let (objects, chosen) = (Cell::new(0), RefCell::new(None::<Extracted<'a>>));
    let is_better = |triple: &str| {
        let chosen = chosen.borrow();
        let known = chosen.iter().map(|known| &known.triple);
        let mut known = known.filter(|known| fits(known));
        fits(triple) && known.all(|known| rank(known) <= rank(triple))
    };
    let wanted = |triple: &str| {
        objects.set(objects.get() + 1);
        objects.get() == 1 || is_better(triple)
    };
    visit(bytes, &ObjectLimits::default(), wanted, |object| {
        chosen.replace(Some(object));
        ControlFlow::Continue(())
    })
    .ok()?;
    let chosen = chosen.into_inner();
    chosen.filter(|chosen| objects.get() == 1 || fits(&chosen.triple))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An offload bundle of small AMDGPU files, each with its number behind its header.
    fn bundle(targets: &[&str]) -> Vec<u8> {
        const FILE: usize = 64;
        let triples: Vec<String> = targets
            .iter()
            .map(|target| format!("hipv4-amdgcn-amd-amdhsa--{target}"))
            .collect();
        let header = 32 + triples.iter().map(|t| 24 + t.len()).sum::<usize>();
        let mut bytes = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
        bytes.extend((triples.len() as u64).to_le_bytes());
        for (number, triple) in triples.iter().enumerate() {
            for word in [header + number * FILE, FILE, triple.len()] {
                bytes.extend((word as u64).to_le_bytes());
            }
            bytes.extend(triple.as_bytes());
        }
        for number in 0..triples.len() {
            let mut file = [0; FILE];
            file[..4].copy_from_slice(b"\x7fELF");
            file[18] = 224;
            file[63] = number as u8;
            bytes.extend(file);
        }
        bytes
    }

    #[test]
    fn the_most_specific_object_that_fits_is_chosen() {
        let targets = [
            "gfx90a",
            "gfx90a:xnack+",
            "gfx90a:xnack-",
            "gfx906",
            "gfx9-generic",
        ];
        let mut reversed = targets;
        reversed.reverse();
        for targets in [targets, reversed] {
            let image = bundle(&targets);
            let chosen = |device| {
                let object = choose(&image, Some(device))?;
                let named = object.triple.rsplit("--").next()?.to_owned();
                assert_eq!(targets[usize::from(object.bytes[63])], named);
                Some(named)
            };
            assert_eq!(
                chosen("gfx90a:sramecc+:xnack-").as_deref(),
                Some("gfx90a:xnack-")
            );
            assert_eq!(chosen("gfx90a").as_deref(), Some("gfx90a"));
            assert_eq!(chosen("gfx906:sramecc+:xnack-").as_deref(), Some("gfx906"));
            assert_eq!(chosen("gfx900:xnack-").as_deref(), Some("gfx9-generic"));
            assert_eq!(chosen("gfx1030"), None);
            assert!(choose(&image, None).is_none(), "which one, nobody knows");
        }
    }

    #[test]
    fn the_only_object_is_taken_whatever_it_is_for() {
        let image = bundle(&["gfx906"]);
        for device in [None, Some("gfx906"), Some("gfx1030")] {
            assert!(choose(&image, device).is_some());
        }
    }
}
