//! One GPU of the program: what it is, what the program has on it, and what the agent has there.
//!
//! The agent's own way to it is below HIP: memory, code and queues that HIP does not know. HIP shares
//! its queues among the program's streams, makes streams wait for one another, waits for the whole
//! device when memory is freed, and holds locks meanwhile. Whatever the agent asked of it during a
//! checkpoint could wait for the program, and the program for the agent. Nothing in here does: the
//! runtime below HIP allocates without waiting, and the queues carry work of ours only.

pub(crate) mod code;
pub(crate) mod fingerprints;
pub(crate) mod gpu;
pub(crate) mod hsa;
pub(crate) mod lane;
pub(crate) mod link;
pub(crate) mod memory;
pub(crate) mod queue;
pub(crate) mod resources;
pub(crate) mod sdma;
pub(crate) mod tickets;
pub(crate) mod word;

use crate::checkpoint::course::Course;
use crate::device::code::Code;
use crate::device::gpu::Gpu;
use crate::device::hsa::HsaError;
use crate::device::queue::QueueError;
use crate::device::resources::Resources;
use crate::device::sdma::CopyQueueError;
use crate::seen::registry::Registry;
use parking_lot::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use strobe_hip::{Status, next};

/// See the module's documentation. Nothing about a GPU is kept anywhere else.
#[derive(Debug, Default)]
pub(crate) struct DeviceState {
    /// Its memory as it is now; the trace has its own, as it was.
    pub(crate) registry: Registry,
    /// What becomes of calls that write it.
    pub(crate) course: Course,
    /// What earlier checkpoints have left for the next.
    pub(crate) spare: Mutex<Option<Resources>>,
    /// Bytes of the copy-aside pool, wherever it is at the moment; 0 without one.
    borrowed: AtomicU64,
    target: OnceLock<String>,
    gpu: OnceLock<Gpu>,
    code: OnceLock<Code>,
}

impl DeviceState {
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

    /// It as the HSA runtime has it. Found once: a restored program keeps the answer, as the runtime
    /// does.
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

    fn set_borrowed(&self, bytes: u64) {
        self.borrowed.store(bytes, Ordering::Release);
    }
}

/// Why the agent cannot use a GPU.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DeviceError {
    #[error(transparent)]
    Runtime(#[from] HsaError),
    #[error(transparent)]
    Queue(#[from] QueueError),
    #[error("copying out failed: {0}")]
    CopyQueue(#[from] CopyQueueError),
    #[error("no kernels for the target {0}")]
    NoKernels(String),
    #[error("no pinned memory for copying: {0}")]
    NoRing(HsaError),
    #[error("no memory to wait on: {}", name_of(*.0))]
    NoWord(Status),
    #[error("waiting for copies failed: {}", name_of(*.0))]
    Wait(Status),
    #[error("the device still computes fingerprints of an earlier attempt")]
    OldFingerprints,
    #[error("the device does not compute fingerprints in time")]
    LateFingerprints,
    #[error("these chunks do not go into the table of fingerprints")]
    LongTable,
}

/// What HIP calls a status.
pub(crate) fn name_of(status: Status) -> String {
    // SAFETY: returns a string constant, or null when HIP is not there.
    let name = unsafe { next::hipGetErrorName(status) };
    if name.is_null() {
        return format!("error {}", status.0);
    }
    // SAFETY: a string constant of HIP's.
    unsafe { std::ffi::CStr::from_ptr(name) }
        .to_string_lossy()
        .into_owned()
}

/// The driver, as this process has it. Not to be kept: an open descriptor would go into a dump.
fn driver() -> std::io::Result<std::fs::File> {
    std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/kfd")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::refusal::Refusal;
    use strobe_extent::Extent;

    #[test]
    fn two_devices_have_nothing_in_common() {
        let (one, other) = (DeviceState::default(), DeviceState::default());
        one.registry
            .insert(Extent::with_len(0x1000, 0x100).expect("an extent"));
        one.set_borrowed(1 << 20);
        one.target.get_or_init(|| "gfx906".to_owned());
        one.course.give_up(&Refusal::Over);
        assert_eq!(one.registry.totals(), (1, 0x100));
        assert_eq!(other.registry.totals(), (0, 0));
        assert_eq!((one.borrowed(), other.borrowed()), (1 << 20, 0));
        assert_eq!((one.target(), other.target()), (Some("gfx906"), None));
    }
}
