//! Why the agent cannot use a GPU.

use crate::device::hsa::HsaError;
use std::ffi::{CStr, c_int};
use std::io;
use strobe_hip::{Status, next};

/// See the module's documentation.
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
    #[error("the device does not read tables of pointers in time")]
    LateTables,
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
    unsafe { CStr::from_ptr(name) }
        .to_string_lossy()
        .into_owned()
}

/// Why a kernel was not dispatched, or has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum QueueError {
    /// All packets are on their way.
    #[error("the agent's queue on the device is full")]
    Full,
    /// The device has given the queue up.
    #[error("the agent's queue on the device has failed: HSA status {0:#x}")]
    Failed(c_int),
}

/// Why there is no queue, or no room in it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CopyQueueError {
    #[error(transparent)]
    Memory(#[from] HsaError),
    #[error("the driver makes no queue for copies: {0}")]
    Driver(#[from] io::Error),
    #[error("the queue for copies is full")]
    Full,
}
