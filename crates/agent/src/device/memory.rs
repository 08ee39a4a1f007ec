//! Memory that both the GPU and the agent use, and HIP does not know of.
//!
//! Allocating and freeing waits for nothing that runs on the device, unlike HIP's own.

use crate::device::gpu::Gpu;
use crate::device::hsa::{HsaError, Pool, check};
use std::ffi::c_void;

/// Memory of one allocation; freed only when its owner says so, because only the owner knows that
/// the device is done with it.
#[derive(Debug)]
pub(crate) struct Memory {
    address: u64,
    bytes: usize,
}

impl Memory {
    /// Memory of the device.
    pub(crate) fn on_device(gpu: &Gpu, bytes: usize) -> Result<Memory, HsaError> {
        Memory::allocate(gpu, gpu.device_pool, bytes)
    }

    /// Pinned memory of the host, which the device sees at the same addresses. It is zero.
    pub(crate) fn on_host(gpu: &Gpu, bytes: usize) -> Result<Memory, HsaError> {
        let memory = Memory::allocate(gpu, gpu.host_pool, bytes)?;
        // SAFETY: ours, of this size, host memory.
        unsafe { std::ptr::write_bytes(memory.address as *mut u8, 0, bytes) };
        Ok(memory)
    }

    fn allocate(gpu: &Gpu, pool: Pool, bytes: usize) -> Result<Memory, HsaError> {
        let mut address: *mut c_void = std::ptr::null_mut();
        // SAFETY: writes to a local.
        let status = unsafe { (gpu.hsa.allocate)(pool, bytes, 0, &mut address) };
        check("allocating memory", status)?;
        let memory = Memory {
            address: address as u64,
            bytes,
        };
        // SAFETY: a processor and an allocation.
        let status =
            unsafe { (gpu.hsa.allow_access)(1, &gpu.processor, std::ptr::null(), address) };
        match check("mapping memory", status) {
            Ok(()) => Ok(memory),
            Err(error) => {
                // SAFETY: nobody has used it.
                unsafe { memory.free(gpu) };
                Err(error)
            }
        }
    }

    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Gives it back.
    ///
    /// # Safety
    /// Neither the host nor work of the device touches it any more.
    pub(crate) unsafe fn free(self, gpu: &Gpu) {
        // SAFETY: an allocation of the runtime's, given back once.
        let _ = unsafe { (gpu.hsa.free)(self.address as *mut c_void) };
    }
}
