//! Why a restore fails.

use std::io;
use std::path::PathBuf;

use strobe_kfd::client::copier::SdmaError;
use strobe_program::agent::AgentError;
use strobe_program::shared_memory::SharedMemoryError;
use strobe_store::Damage;

use crate::exchange::ExchangeError;
use crate::gem::MadeError;
use crate::images::ImageError;
use crate::mapping::MappingError;
use crate::topology::TopologyError;
use strobe_store::contents::ContentsError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum RestoreError {
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    Topology(#[from] TopologyError),
    #[error(transparent)]
    Mapping(#[from] MappingError),
    #[error(transparent)]
    Contents(#[from] ContentsError),
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    #[error(transparent)]
    Made(#[from] MadeError),
    #[error(transparent)]
    Sdma(#[from] SdmaError),
    #[error(transparent)]
    Damage(#[from] Damage),
    #[error(transparent)]
    Agent(#[from] AgentError),
    #[error(transparent)]
    SharedMemory(#[from] SharedMemoryError),
    #[error("CRIU's image folder cannot be used: {0}")]
    Folder(io::Error),
    #[error("the checkpoint needs a GPU, and this machine has no GPU driver (/dev/kfd): {0}")]
    NoDriver(io::Error),
    #[error("{path} cannot be opened: {error}")]
    RenderNode { path: PathBuf, error: io::Error },
    #[error("image {0} has {1} bytes of content, the buffer objects {2}")]
    PagesLength(String, u64, u64),
    #[error("image {0} is missing")]
    MissingImage(String),
    #[error("the images leave contents to a checkpoint directory: use `strobe restore`")]
    NoCheckpoint,
    #[error("the checkpoint has no contents of process {0}")]
    UnknownProcess(u32),
    #[error("the image names GPU {0:#x}, which it does not describe")]
    UnknownGpu(u32),
    #[error(
        "the program opened a render node of GPU {0:#x} before /dev/kfd, and another GPU stands in for it \
         here, which cannot be known in time from streamed images"
    )]
    NodeBeforeDriver(u32),
    #[error("a mapping of {path} at {address:#x} belongs to no buffer object")]
    Mapped { path: String, address: u64 },
    #[error("/dev/zero cannot be opened: {0}")]
    StandIn(io::Error),
    #[error("descriptors cannot be moved out of the program's way: {0}")]
    Descriptor(io::Error),
    #[error("the GPU driver does not start the program's queues: {0}")]
    Resume(io::Error),
    #[error(transparent)]
    Filler(#[from] FillerError),
    /// As the filler says it.
    #[error("{0}")]
    Fill(String),
    #[error("a thread that copies contents has failed")]
    Thread,
    #[error("a chunk of the checkpoint has {0} bytes, and the buffer object wants more")]
    ShortChunk(usize),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum FillerError {
    #[error("a process that fills buffer objects cannot be started: {0}")]
    Start(io::Error),
    #[error("the process that fills buffer objects has ended")]
    Ended,
    #[error("buffer objects cannot be handed to the process that fills them: {0}")]
    HandOver(io::Error),
    #[error("the agents of the program cannot be listened for: {0}")]
    Listen(io::Error),
    #[error("a process has not handed over its buffer objects")]
    Cut,
    #[error("a process hands over its buffer objects with {0}")]
    Request(&'static str),
}
