//! Kernels of the agent's own, in machine code, one code object for each target.
//!
//! `kernels/` has their source, and the code objects that a test rebuilds from it byte for byte.
//! Nothing is compiled in the program's process.

use crate::device::error::DeviceError;
use crate::device::gpu::Gpu;
use crate::device::hsa::{Hsa, HsaError, Processor, check};
use crate::device::objects::OBJECTS;
use std::ffi::CStr;

/// `hsa_executable_symbol_info_t`.
const SYMBOL_KERNEL: u32 = 22;
const SYMBOL_ARGUMENT_BYTES: u32 = 11;
const SYMBOL_GROUP_BYTES: u32 = 13;
const SYMBOL_PRIVATE_BYTES: u32 = 14;
/// `HSA_PROFILE_FULL`: every floating-point mode, as HIP asks for.
const PROFILE_FULL: u32 = 1;

/// The code object of a GPU, loaded. It stays until the process ends.
#[derive(Debug)]
pub(crate) struct Code {
    hsa: &'static Hsa,
    processor: Processor,
    executable: u64,
}

/// A kernel that can be dispatched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernel {
    /// Address of its descriptor on the device.
    pub(crate) object: u64,
    /// Bytes of its arguments.
    pub(crate) argument_bytes: u32,
    /// Bytes of LDS that a group needs.
    pub(crate) group_bytes: u32,
}

impl Code {
    /// Loads the code for this GPU. The runtime copies it to the device on a queue that it uses for
    /// nothing else.
    pub(crate) fn load(gpu: &Gpu) -> Result<Code, DeviceError> {
        let (_, object) = OBJECTS
            .iter()
            .find(|(target, _)| *target == gpu.target)
            .ok_or_else(|| DeviceError::NoKernels(gpu.target.clone()))?;
        Ok(Code {
            hsa: gpu.hsa,
            processor: gpu.processor,
            executable: load(gpu, object)?,
        })
    }

    /// The kernel of this name; the symbol is the name with `.kd`.
    pub(crate) fn kernel(&self, symbol: &CStr) -> Result<Kernel, HsaError> {
        let hsa = self.hsa;
        let mut handle = 0;
        // SAFETY: a frozen executable, a string, a processor, a place for the answer.
        let status = unsafe {
            let agent = &self.processor;
            (hsa.executable_symbol)(self.executable, symbol.as_ptr(), agent, &mut handle)
        };
        check("finding a kernel", status)?;
        let mut object = 0u64;
        // SAFETY: this attribute is a 64-bit number.
        let status = unsafe { (hsa.symbol_info)(handle, SYMBOL_KERNEL, (&raw mut object).cast()) };
        check("asking for a kernel", status)?;
        let number = |attribute: u32| {
            let mut value = 0u32;
            // SAFETY: the attributes asked for below are 32-bit numbers.
            let status = unsafe { (hsa.symbol_info)(handle, attribute, (&raw mut value).cast()) };
            check("asking for a kernel's needs", status).map(|()| value)
        };
        if number(SYMBOL_PRIVATE_BYTES)? != 0 {
            // Our queues have no scratch memory.
            return Err(HsaError::none("finding a kernel without scratch memory"));
        }
        Ok(Kernel {
            object,
            argument_bytes: number(SYMBOL_ARGUMENT_BYTES)?,
            group_bytes: number(SYMBOL_GROUP_BYTES)?,
        })
    }
}

fn load(gpu: &Gpu, object: &'static [u8]) -> Result<u64, HsaError> {
    let (hsa, none) = (gpu.hsa, std::ptr::null());
    let (mut reader, mut executable) = (0, 0);
    // SAFETY: the object lives as long as the process; all else are places for answers and the
    // handles that were written there.
    unsafe {
        let status = (hsa.reader_create)(object.as_ptr().cast(), object.len(), &mut reader);
        check("reading the kernels", status)?;
        let status = (hsa.executable_create)(PROFILE_FULL, 0, none, &mut executable);
        check("making an executable", status)?;
        let no_place = std::ptr::null_mut();
        let status = (hsa.executable_load)(executable, gpu.processor, reader, none, no_place);
        check("loading the kernels", status)?;
        let status = (hsa.executable_freeze)(executable, none);
        check("loading the kernels", status)?;
    }
    Ok(executable)
}
