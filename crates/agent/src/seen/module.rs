//! Modules: images that HIP has loaded, and the kernels in them.

use crate::seen::kernel::Kernel;
use crate::seen::{distrusted, image};
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::ffi::CStr;
use std::path::Path;
use std::sync::Arc;
use strobe_code_object::{CodeObject, Extracted, ObjectLimits, TargetName, extract};
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
}

#[derive(Debug)]
struct Loaded {
    object: Option<Arc<Object>>,
    /// `hipFunction_t` handles that came from it.
    handles: Vec<usize>,
}

impl Modules {
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
        let found = extract(bytes, &ObjectLimits::default()).ok()?;
        let chosen = match found.as_slice() {
            [only] => only,
            many => choose(many, target?)?,
        };
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
            distrusted: distrusted::of(&fingerprint),
            kernels: Mutex::default(),
        });
        self.objects.lock().insert(fingerprint, Arc::clone(&object));
        Some(object)
    }
}

/// The object that HIP takes for `device`: same processor, no feature that differs, and of those
/// the one that says most; one of a generic target is the last choice.
fn choose<'a, 'b>(found: &'b [Extracted<'a>], device: &str) -> Option<&'b Extracted<'a>> {
    let device = TargetName::new(device);
    found
        .iter()
        .filter(|object| TargetName::of_triple(&object.triple).runs_on(device))
        .max_by_key(|object| {
            let of = TargetName::of_triple(&object.triple).processor();
            (of == device.processor(), object.triple.len())
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    #[test]
    fn the_most_specific_object_that_fits_is_chosen() {
        let objects: Vec<Extracted<'_>> = [
            "hipv4-amdgcn-amd-amdhsa--gfx90a",
            "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+",
            "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-",
            "hipv4-amdgcn-amd-amdhsa--gfx906",
            "hipv4-amdgcn-amd-amdhsa--gfx9-generic",
        ]
        .iter()
        .map(|triple| Extracted {
            triple: (*triple).to_owned(),
            at: 0,
            bytes: Cow::Borrowed(&[]),
        })
        .collect();
        let chosen =
            |device| choose(&objects, device).map(|o| o.triple.rsplit("--").next().unwrap());
        assert_eq!(chosen("gfx90a:sramecc+:xnack-"), Some("gfx90a:xnack-"));
        assert_eq!(chosen("gfx90a"), Some("gfx90a"));
        assert_eq!(chosen("gfx906:sramecc+:xnack-"), Some("gfx906"));
        assert_eq!(chosen("gfx900:xnack-"), Some("gfx9-generic"));
        assert_eq!(chosen("gfx1030"), None);
    }
}
