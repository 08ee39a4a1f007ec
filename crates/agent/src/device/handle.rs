//! How the agent gets at a GPU: what HIP, the HSA runtime and the driver call it, and the agent's
//! kernels on it. All found once; a restored program keeps the answers, as the runtime does.

use crate::device::code::Code;
use crate::device::error::DeviceError;
use crate::device::gpu::Gpu;
use crate::device::hsa::HsaError;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use strobe_hip::next;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct DeviceHandle {
    target: OnceLock<String>,
    gpu: OnceLock<Gpu>,
    code: OnceLock<Code>,
    /// Bytes of the copy-aside pool, wherever it is at the moment; 0 without one.
    borrowed: AtomicU64,
}

impl DeviceHandle {
    /// Its target id as HIP says it, for example "gfx906:sramecc+:xnack-"; none until
    /// [`Self::find_target`] has asked.
    pub(crate) fn target(&self) -> Option<&str> {
        self.target.get().map(String::as_str)
    }

    /// Asks HIP what it is, once.
    pub(crate) fn find_target(&self) {
        /// `hipDeviceProp_t` of ROCm 5.2.3: its size, and where `gcnArchName` lies in it.
        const BYTES: usize = 792;
        const NAME: std::ops::Range<usize> = 396..652;
        if self.target.get().is_some() {
            return;
        }
        // Room for what newer versions add.
        let mut properties = [0u64; BYTES.div_ceil(8) * 4];
        // SAFETY: room for more than HIP writes.
        let status = unsafe { next::hipGetDeviceProperties(properties.as_mut_ptr().cast(), 0) };
        if status.ok().is_err() {
            return;
        }
        let bytes: Vec<u8> = properties
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        let name = &bytes[NAME];
        let len = name.iter().position(|byte| *byte == 0).unwrap_or(0);
        if let Ok(name) = std::str::from_utf8(&name[..len]) {
            self.target.get_or_init(|| name.to_owned());
        }
    }

    /// It as the HSA runtime has it.
    pub(crate) fn gpu(&self) -> Result<&Gpu, HsaError> {
        if let Some(gpu) = self.gpu.get() {
            return Ok(gpu);
        }
        let gpu = Gpu::find()?;
        Ok(self.gpu.get_or_init(|| gpu))
    }

    /// The agent's kernels, loaded at the first call.
    pub(crate) fn code(&self) -> Result<&Code, DeviceError> {
        if let Some(code) = self.code.get() {
            return Ok(code);
        }
        let code = Code::load(self.gpu()?)?;
        Ok(self.code.get_or_init(|| code))
    }

    /// Bytes of its memory that nobody has, as the driver counts them; none where it does not tell.
    pub(crate) fn available(&self) -> Option<u64> {
        self.gpu().ok()?.available()
    }

    /// Bytes of it that a checkpoint has borrowed.
    pub(crate) fn borrowed(&self) -> u64 {
        self.borrowed.load(Ordering::Acquire)
    }

    pub(crate) fn set_borrowed(&self, bytes: u64) {
        self.borrowed.store(bytes, Ordering::Release);
    }
}
