//! Why a dump fails.

use std::io;
use std::path::PathBuf;

use strobe_criu::failure::{PASSING, REFUSAL};
use strobe_kfd::client::copier::SdmaError;
use strobe_program::apart::Apart;
use strobe_program::events::EventError;
use strobe_program::namespaces::NamespaceError;
use strobe_program::pipes::PipeError;
use strobe_program::program_files::ProgramFileError;
use strobe_program::sockets::SocketError;
use strobe_program::unsaved::Unsaved;
use strobe_program::zombies::ZombieError;

use crate::gem::{FoundError, HeldError};
use crate::hand_over::GateError;
use crate::images::ImageError;
use crate::promise::PromiseError;
use crate::sharing::SharingError;
use crate::topology::TopologyError;
use strobe_store::contents::ContentsError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum DumpError {
    #[error(transparent)]
    Gate(#[from] GateError),
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    Topology(#[from] TopologyError),
    #[error(transparent)]
    Contents(#[from] ContentsError),
    #[error(transparent)]
    Promise(#[from] PromiseError),
    #[error(transparent)]
    Sdma(#[from] SdmaError),
    #[error(transparent)]
    Sharing(#[from] SharingError),
    #[error(transparent)]
    Held(#[from] HeldError),
    #[error(transparent)]
    Found(#[from] FoundError),
    #[error(transparent)]
    ProgramFile(#[from] ProgramFileError),
    #[error(transparent)]
    Event(#[from] EventError),
    #[error(transparent)]
    Socket(#[from] SocketError),
    #[error(transparent)]
    Pipe(#[from] PipeError),
    #[error(transparent)]
    Unsaved(#[from] Unsaved),
    #[error(transparent)]
    Zombie(#[from] ZombieError),
    #[error(transparent)]
    Apart(#[from] Apart),
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    #[error("CRIU's image folder cannot be used: {0}")]
    Folder(io::Error),
    #[error("the program's terminals cannot be listed: {0}")]
    Terminals(io::Error),
    #[error("CRIU does not take note of the plugin: {0}")]
    Inventory(io::Error),
    #[error(
        "the agent promises content of GPU {0:#x}, which the driver does not know in the program"
    )]
    PromisedGpu(u32),
    #[error("the GPU driver (/dev/kfd) cannot be opened: {0}")]
    OpenDriver(io::Error),
    #[error("the GPU driver cannot be asked for buffer objects of a render node: {0}")]
    Handles(io::Error),
    #[error("the GPU driver cannot be asked for its version: {0}")]
    Version(io::Error),
    #[error("the GPU driver's interface {0}.{1} is older than 1.8 and cannot save a process")]
    OldDriver(u32, u32),
    #[error("the program's page tables cannot be looked at: {0}")]
    PageMap(io::Error),
    #[error("the GPU driver does not stop the program's queues: {0}")]
    Stop(io::Error),
    #[error("the GPU driver does not save the program's state: {0}")]
    State(io::Error),
    #[error("process {0} has opened the GPU driver twice, which cannot be saved")]
    Twice(u32),
    #[error("GPU {0:#x} of the program is not in the driver's topology")]
    UnknownGpu(u32),
    #[error(
        "process {pid} maps {path} at {address:#x}: memory of a GPU that the process it was forked \
         from allocated, which cannot be restored"
    )]
    Inherited {
        pid: u32,
        path: PathBuf,
        address: u64,
    },
    #[error("process {0} has begun to use a GPU just now")]
    NewAgent(u32),
    #[error("the mappings of process {pid} cannot be read: {error}")]
    Maps { pid: u32, error: io::Error },
    #[error("the program holds a dma-buf descriptor, which cannot be saved")]
    DmaBuf,
    #[error("render node {path} cannot be opened: {error}")]
    RenderNode { path: PathBuf, error: io::Error },
    #[error(
        "CRIU was told to stream its images, and this checkpoint is not read in one order; take `stream` out \
         of CRIU's options and its configuration files, or use plain `criu dump --stream` for the program"
    )]
    Streamed,
    #[error(
        "the program opened a render node of GPU {0:#x} before /dev/kfd and came from another machine, which \
         cannot be streamed; dump it without --stream"
    )]
    NodeBeforeDriver(u32),
    #[error("the descriptors of process {pid} cannot be looked at: {error}")]
    Descriptors { pid: u32, error: io::Error },
    #[error("a descriptor of the program cannot be kept open: {0}")]
    Descriptor(io::Error),
    #[error("a thread that copies contents has failed")]
    Thread,
}

impl DumpError {
    /// What the command reads in CRIU's log.
    pub(crate) fn sentence(&self) -> String {
        match self {
            Self::Inherited { .. }
            | Self::Zombie(ZombieError::OtherStatus { .. })
            | Self::Event(EventError::Semaphore { .. } | EventError::Clock { .. })
            | Self::Found(FoundError::NotTold { .. })
            | Self::Sharing(
                SharingError::Streamed
                | SharingError::NotOpened { .. }
                | SharingError::Foreign { .. }
                | SharingError::Handle { .. },
            )
            | Self::Held(
                HeldError::NotExported { .. }
                | HeldError::Domains { .. }
                | HeldError::Busy { .. }
                | HeldError::Foreign { .. }
                | HeldError::Streamed(_),
            )
            | Self::OldDriver(..)
            | Self::Apart(_)
            | Self::Unsaved(_)
            | Self::Namespace(NamespaceError::OtherUser { .. })
            | Self::Twice(_)
            | Self::Streamed
            | Self::NodeBeforeDriver(_)
            | Self::DmaBuf => format!("{REFUSAL}{self}"),
            Self::NewAgent(_) => format!("{PASSING}{self}"),
            _ => self.to_string(),
        }
    }
}
