//! Why a checkpoint is refused or given up. Its words reach the user as they are.

use crate::checkpoint::progress::Stuck;
use crate::device::error::DeviceError;
use crate::device::error::QueueError;
use std::io;
use std::sync::Arc;
use strobe_engine::{BeginError, SlotError};
use strobe_extent::ChunkMapError;
use strobe_hip::Status;
use strobe_proto::page::{EXITING, NO_DUMP};

/// See the module's documentation. Cheap to clone: it goes to whoever is held back, too.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Refusal {
    // What the program does.
    #[error("the program has used {0}, which is not supported")]
    Used(String),
    #[error("{EXITING}")]
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

    #[error("its queues cannot be stopped: {0} (--cut drain does without)")]
    NotStopped(Arc<io::Error>),

    // What the agent runs on.
    #[error("HIP does not answer")]
    HipDoesNotAnswer,
    #[error("the dynamic linker does not answer")]
    LinkerDoesNotAnswer,
    #[error(
        "the disk with the cache of footprints does not answer (XDG_CACHE_HOME chooses another)"
    )]
    CacheDoesNotAnswer,
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
    #[error("{NO_DUMP}")]
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

impl Refusal {
    /// Whether it was waited for the GPU, and that takes longer.
    pub(crate) fn is_of_patience(&self) -> bool {
        matches!(
            self,
            Refusal::CallDoesNotReturn { .. }
                | Refusal::KernelDoesNotEnd(_)
                | Refusal::StreamStaysBusy
                | Refusal::WorkDoesNotEnd(_)
                | Refusal::HipDoesNotAnswer
        )
    }
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

    /// A row for each variant: an example, and what it says. A variant that has none does not compile.
    macro_rules! sentences {
        ($($variant:pat => $example:expr, $words:expr;)*) => {{
            let has_row = |refusal: &Refusal| match refusal {
                $($variant => {})*
            };
            $({
                let example: Refusal = $example;
                has_row(&example);
                assert!(matches!(example, $variant), "{example:?}");
                assert_eq!(example.to_string(), $words);
            })*
        }};
    }

    #[test]
    fn each_says_what_stands_in_the_way() {
        let io = |code| Arc::new(io::Error::from_raw_os_error(code));
        sentences! {
            Refusal::Used(_) => Refusal::Used("hipIpcGetEventHandle".into()),
                "the program has used hipIpcGetEventHandle, which is not supported";
            Refusal::Exiting => Refusal::Exiting, "the program is exiting";
            Refusal::Resets => Refusal::Resets, "the program resets the device";
            Refusal::NeedsMemory => Refusal::NeedsMemory,
                "the program needs the device memory that was borrowed for the copies";
            Refusal::CaptureDoesNotEnd => Refusal::CaptureDoesNotEnd, "a stream capture does not end";
            Refusal::CaptureHasBegun => Refusal::CaptureHasBegun, "a stream capture has begun";
            Refusal::CallDoesNotReturn { .. } => Refusal::CallDoesNotReturn {
                    thread: 7,
                    kernel: Some("vadd"),
                },
                "thread 7 is inside a call of HIP that does not return; the kernel launched last is \
                 vadd";
            Refusal::KernelDoesNotEnd(_) => Refusal::KernelDoesNotEnd("spin"),
                "kernel spin does not end";
            Refusal::StreamStaysBusy => Refusal::StreamStaysBusy, "a stream stays busy";
            Refusal::WorkDoesNotEnd(_) => Refusal::WorkDoesNotEnd("spin"),
                "GPU work does not end; the kernel launched last is spin";
            Refusal::NotStopped(_) => Refusal::NotStopped(io(libc::EIO)),
                "its queues cannot be stopped: Input/output error (os error 5) (--cut drain does \
                 without)";
            Refusal::HipDoesNotAnswer => Refusal::HipDoesNotAnswer, "HIP does not answer";
            Refusal::LinkerDoesNotAnswer => Refusal::LinkerDoesNotAnswer,
                "the dynamic linker does not answer";
            Refusal::CacheDoesNotAnswer => Refusal::CacheDoesNotAnswer,
                "the disk with the cache of footprints does not answer (XDG_CACHE_HOME chooses another)";
            Refusal::Hip { .. } => Refusal::Hip {
                    what: "hipDeviceSynchronize",
                    status: Status(719),
                },
                "hipDeviceSynchronize failed: error 719";
            Refusal::Device(_) => DeviceError::NoKernels("gfx1030".into()).into(),
                "no kernels for the target gfx1030";
            Refusal::QueuesAreGone => Refusal::QueuesAreGone,
                "the copy queues are gone: the device was reset";
            Refusal::Stuck { .. } => Refusal::Stuck {
                    stuck: Stuck::Link(Duration::from_secs(5)),
                    arrived: "aside 2 of 2, link 3 of 4".into(),
                },
                "the program is held back: copies over the link make no progress for 5 s (--max-hold); \
                 of the copies have arrived: aside 2 of 2, link 3 of 4";
            Refusal::Failed => Refusal::Failed, "the agent has failed";
            Refusal::ControllerUnreachable(_) => Refusal::ControllerUnreachable(io(libc::ECONNREFUSED)),
                "the controller cannot be reached: Connection refused (os error 111)";
            Refusal::ControllerLost(_) => Refusal::ControllerLost(io(libc::ECONNRESET)),
                "the controller is gone: Connection reset by peer (os error 104)";
            Refusal::ControllerGone => Refusal::ControllerGone, "the controller is gone";
            Refusal::Nonsense(_) => Refusal::Nonsense("a chunk of 3 bytes".into()),
                "the controller asks for what cannot be: a chunk of 3 bytes";
            Refusal::WrongOrder => Refusal::WrongOrder,
                "the controller's messages come in the wrong order";
            Refusal::WrongSlot(_) => SlotError::NoSuchSlot(9).into(),
                "the controller's answer is wrong: there is no ring slot 9";
            Refusal::Abandoned(_) => Refusal::Abandoned("the disk is full".into()),
                "abandoned by the controller: the disk is full";
            Refusal::NoCommit => Refusal::NoCommit, "the controller does not commit";
            Refusal::WrongAnswer => Refusal::WrongAnswer, "the plugin's answer makes no sense";
            Refusal::NoDump => Refusal::NoDump, "the dump did not begin";
            Refusal::LateDump => Refusal::LateDump, "the dump did not begin in time";
            Refusal::DumpDoesNotEnd => Refusal::DumpDoesNotEnd, "the dump does not end";
            Refusal::Chunks(_) => ChunkMapError::ChunkSize(3).into(),
                "a chunk size of 3 bytes is no power of two";
            Refusal::Begin(_) => BeginError::NoRingSlot.into(), "the ring has no slot";
            Refusal::MissedWrite => Refusal::MissedWrite, "device memory was written unannounced";
            Refusal::Over => Refusal::Over, "the checkpoint is over";
        }
    }

    #[test]
    fn a_kernel_may_be_unknown_and_a_queue_is_the_devices() {
        let nameless = Refusal::CallDoesNotReturn {
            thread: 7,
            kernel: None,
        };
        assert_eq!(
            nameless.to_string(),
            "thread 7 is inside a call of HIP that does not return; the kernel launched last is none"
        );
        assert_eq!(
            Refusal::from(QueueError::Full).to_string(),
            "the agent's queue on the device is full"
        );
    }
}
