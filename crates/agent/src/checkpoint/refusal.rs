//! Why a checkpoint is refused or given up. Its words reach the user as they are.

use crate::checkpoint::progress::Stuck;
use crate::device::error::DeviceError;
use crate::device::error::QueueError;
use std::io;
use std::sync::Arc;
use strobe_engine::{BeginError, SlotError};
use strobe_extent::ChunkMapError;
use strobe_hip::Status;

/// See the module's documentation. Cheap to clone: it goes to whoever is held back, too.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Refusal {
    // What the program does.
    #[error("the program has used {0}, which is not supported")]
    Used(String),
    #[error("the program sees {0} GPUs; only one is supported (HIP_VISIBLE_DEVICES chooses)")]
    SeveralGpus(i32),
    #[error("the program is exiting")]
    Exiting,
    #[error("the program resets the device")]
    Resets,
    #[error("the program needs the device memory that was borrowed for the copies")]
    NeedsMemory,
    #[error("a stream capture does not end")]
    CaptureDoesNotEnd,
    #[error("a stream capture has begun")]
    CaptureHasBegun,
    #[error(
        "thread {thread} is inside a call of HIP that does not return; the kernel launched last is \
         {}", .kernel.unwrap_or("none")
    )]
    CallDoesNotReturn {
        thread: u32,
        kernel: Option<&'static str>,
    },
    #[error("kernel {0} does not end")]
    KernelDoesNotEnd(&'static str),
    #[error("a stream stays busy")]
    StreamStaysBusy,
    #[error("GPU work does not end; the kernel launched last is {0}")]
    WorkDoesNotEnd(&'static str),

    // What the agent runs on.
    #[error("HIP does not answer")]
    HipDoesNotAnswer,
    #[error("the dynamic linker does not answer")]
    LinkerDoesNotAnswer,
    #[error("{what} failed: {}", crate::device::error::name_of(*.status))]
    Hip { what: &'static str, status: Status },
    #[error(transparent)]
    Device(#[from] Arc<DeviceError>),
    #[error("the copy queues are gone: the device was reset")]
    QueuesAreGone,
    #[error("{stuck}; of the copies have arrived: {arrived}")]
    Stuck { stuck: Stuck, arrived: String },
    #[error("the agent has failed")]
    Failed,

    // What the command and the plugin do.
    #[error("the controller cannot be reached: {0}")]
    ControllerUnreachable(Arc<io::Error>),
    #[error("the controller is gone: {0}")]
    ControllerLost(Arc<io::Error>),
    #[error("the controller is gone")]
    ControllerGone,
    #[error("the controller asks for what cannot be: {0}")]
    Nonsense(String),
    #[error("the controller's messages come in the wrong order")]
    WrongOrder,
    #[error("the controller's answer is wrong: {0}")]
    WrongSlot(#[from] SlotError),
    #[error("abandoned by the controller: {0}")]
    Abandoned(String),
    #[error("the controller does not commit")]
    NoCommit,
    #[error("the plugin's answer makes no sense")]
    WrongAnswer,
    #[error("the dump did not begin")]
    NoDump,
    #[error("the dump did not begin in time")]
    LateDump,
    #[error("the dump does not end")]
    DumpDoesNotEnd,

    // What became of the content.
    #[error(transparent)]
    Chunks(#[from] ChunkMapError),
    #[error(transparent)]
    Begin(#[from] BeginError),
    #[error("device memory was written unannounced")]
    MissedWrite,
    #[error("the checkpoint is over")]
    Over,
}

impl From<DeviceError> for Refusal {
    fn from(error: DeviceError) -> Refusal {
        Refusal::Device(Arc::new(error))
    }
}

impl From<QueueError> for Refusal {
    fn from(error: QueueError) -> Refusal {
        DeviceError::from(error).into()
    }
}

/// For a connection that cannot be made.
pub(crate) fn unreachable(error: io::Error) -> Refusal {
    Refusal::ControllerUnreachable(Arc::new(error))
}

/// For what became of a connection that was there.
pub(crate) fn lost(error: io::Error) -> Refusal {
    Refusal::ControllerLost(Arc::new(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn each_says_what_stands_in_the_way() {
        let io = || Arc::new(io::Error::from_raw_os_error(libc::ECONNREFUSED));
        let call = |kernel| Refusal::CallDoesNotReturn { thread: 7, kernel };
        let said = [
            (
                Refusal::Used("hipIpcGetMemHandle".into()),
                "the program has used hipIpcGetMemHandle, which is not supported",
            ),
            (
                Refusal::SeveralGpus(2),
                "the program sees 2 GPUs; only one is supported (HIP_VISIBLE_DEVICES chooses)",
            ),
            (
                call(Some("vadd")),
                "thread 7 is inside a call of HIP that does not return; the kernel launched last is \
                 vadd",
            ),
            (
                call(None),
                "thread 7 is inside a call of HIP that does not return; the kernel launched last is \
                 none",
            ),
            (
                Refusal::KernelDoesNotEnd("spin"),
                "kernel spin does not end",
            ),
            (
                Refusal::WorkDoesNotEnd("spin"),
                "GPU work does not end; the kernel launched last is spin",
            ),
            (
                Refusal::ControllerUnreachable(io()),
                "the controller cannot be reached: Connection refused (os error 111)",
            ),
            (
                DeviceError::NoKernels("gfx1030".into()).into(),
                "no kernels for the target gfx1030",
            ),
            (
                QueueError::Full.into(),
                "the agent's queue on the device is full",
            ),
            (
                Refusal::Stuck {
                    stuck: Stuck::Link(Duration::from_secs(5)),
                    arrived: "aside 2 of 2, link 3 of 4".into(),
                },
                "the program is held back: copies over the link make no progress for 5 s (--max-hold); \
                 of the copies have arrived: aside 2 of 2, link 3 of 4",
            ),
            (
                SlotError::NoSuchSlot(9).into(),
                "the controller's answer is wrong: there is no ring slot 9",
            ),
        ];
        for (refusal, words) in said {
            assert_eq!(refusal.to_string(), words);
        }
    }
}
