//! Code objects as they were loaded, and the kernels in them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;

use strobe_code_object::{CodeObject, Kernel, ObjectLimits, file_of_image};
use strobe_footprint::{AnalysisLimits, KernelFootprint, SideSummary, analyse};

use crate::footprints::claims::{self, Claims};
use crate::footprints::demangle::demangle;
use crate::footprints::signature;

/// A kernel that was launched, and what is said of it before any launch.
#[derive(Debug)]
pub(super) struct Launched {
    pub(super) kernel: Kernel,
    pub(super) footprint: KernelFootprint,
    pub(super) signature: Claims,
    pub(super) metadata: Claims,
    /// By machine code.
    pub(super) reads: SideSummary,
    pub(super) writes: SideSummary,
}

impl Launched {
    fn new(object: &CodeObject, kernel: &Kernel) -> anyhow::Result<Self> {
        let footprint = analyse(object, kernel, &AnalysisLimits::default());
        let summary = footprint.summary();
        let name = kernel.name.as_str();
        let demangled = demangle(&[name])?.pop().flatten();
        let parameters = demangled.as_deref().and_then(signature::parameters);
        Ok(Self {
            signature: claims::of_signature(name, parameters.as_deref(), &kernel.args),
            metadata: claims::of_metadata(&kernel.args),
            kernel: kernel.clone(),
            footprint,
            reads: summary.reads,
            writes: summary.writes,
        })
    }
}

/// What one mapping holds.
#[derive(Debug)]
pub(super) struct Image {
    object: CodeObject,
    launched: HashMap<u64, Rc<Launched>>,
}

impl Image {
    /// None if it is no code object.
    pub(super) fn new(image: &[u8]) -> Option<Self> {
        let file = file_of_image(image)?;
        Some(Self {
            object: CodeObject::parse(&file, &ObjectLimits::default()).ok()?,
            launched: HashMap::new(),
        })
    }

    /// The kernel whose descriptor stands there, and is this one.
    pub(super) fn kernel(
        &mut self,
        address: u64,
        descriptor: &[u8],
    ) -> anyhow::Result<Option<Rc<Launched>>> {
        let content = self.object.content_from(address);
        if !content.is_some_and(|content| content.starts_with(descriptor)) {
            return Ok(None);
        }
        Ok(match self.launched.entry(address) {
            Entry::Occupied(known) => Some(Rc::clone(known.get())),
            Entry::Vacant(place) => {
                let mut kernels = self.object.kernels.iter();
                match kernels.find(|kernel| kernel.descriptor_address == address) {
                    Some(kernel) => {
                        let launched = Rc::new(Launched::new(&self.object, kernel)?);
                        Some(Rc::clone(place.insert(launched)))
                    }
                    None => None,
                }
            }
        })
    }
}
