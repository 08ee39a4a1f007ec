//! A restore: the driver's state, contents, mappings, and letting the queues run.
//!
//! [`Restore`] begins in CRIU's main process. Each process being restored has a copy, where descriptors and mappings
//! are made; [`Restore::resume`] runs in CRIU's main process again, which sees nothing of what they have noted.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use strobe_criu::left_over;
use strobe_kfd::client::compute::{self, Bo};
use strobe_kfd::criu::DeviceBucket;
use strobe_kfd::memory::{DOORBELL, GTT, MMIO_REMAP, VRAM};
use strobe_program::agent::{AgentError, RemoteAgent};
use strobe_program::process::Identity;
use strobe_program::shared_memory::{self, SharedMemoryError};
use strobe_proto::amdgpu::{CriuKfd, CriuRenderNode, KfdDeviceEntry};
use strobe_proto::files;
use strobe_proto::page::Verdict;

use crate::checkpoint::open_checkpoint;
use crate::devices::{self, Device};
use crate::exchange::Exchange;
use crate::fill::{self, Request};
use crate::filler::{self, Filler};
use crate::host::{self, Level};
use crate::images::Images;
use crate::mapping;
use crate::open_files;
use crate::options::Options;
use crate::restore_error::RestoreError;
use crate::topology;
use crate::vma::{self, Moved, Source};
use strobe_store::contents::{buckets, has_content};

/// State of the process being restored.
#[derive(Debug, Default)]
pub(crate) struct Restore {
    /// Render nodes opened, by the id of the GPU here. The program's own descriptors are copies:
    /// the driver lets only the opener of a render node map what was restored into it.
    nodes: Vec<(u32, Node)>,
    moved: Vec<Moved>,
    /// The GPU here of each that the program knows.
    gpus: Option<BTreeMap<u32, u32>>,
    exchange: Exchange,
    options: Options,
    /// Where there is none, each process fills its buffer objects itself.
    filler: Option<Filler>,
}

#[derive(Debug)]
enum Node {
    Ours(OwnedFd),
    /// A descriptor of the program.
    Programs(RawFd),
}

impl Restore {
    /// In CRIU's main process, before any other is made: the thunk's shared files must be there
    /// when the program's mappings of them come back.
    pub(crate) fn prepare(options: Options) -> Result<Self, RestoreError> {
        let images = Images::of_criu().map_err(RestoreError::Folder)?;
        let mut filler = None;
        if let Some(image) = kfd_image(&images, |_| true)? {
            make_shared_memory(&image)?;
            // What is wrong with GPUs is said when they are needed.
            let present = topology::read().unwrap_or_default();
            if options.parallel && !present.is_empty() {
                filler = Filler::start(&images, &present, options.staging)?;
            }
        }
        Ok(Self {
            options,
            filler,
            exchange: Exchange::prepare(&images)?,
            ..Self::default()
        })
    }

    /// Makes the descriptor that the image of this number describes; `None` if it is none of ours.
    pub(crate) fn file(&mut self, id: i32) -> Result<Option<OwnedFd>, RestoreError> {
        let images = Images::of_criu().map_err(RestoreError::Folder)?;
        if let Some(image) = images.read::<CriuKfd>(&files::kfd(id))? {
            return self.kfd(&images, id, image).map(Some);
        }
        if let Some(image) = images.read::<CriuRenderNode>(&files::render_node(id))? {
            return self.render_node(&images, &image).map(Some);
        }
        Ok(None)
    }

    fn render_node(
        &mut self,
        images: &Images,
        image: &CriuRenderNode,
    ) -> Result<OwnedFd, RestoreError> {
        let present = topology::read()?;
        if self.gpus.is_none()
            && let Some(kfd) = own_kfd_image(images)?
        {
            self.map_gpus(&kfd.device_entries, &present)?;
        }
        let gpu = match &self.gpus {
            Some(gpus) => *gpus
                .get(&image.gpu_id)
                .ok_or(RestoreError::UnknownGpu(image.gpu_id))?,
            // Without /dev/kfd nothing says which GPU would do as well; `map_gpus` looks at it again.
            None => image.gpu_id,
        };
        self.node(gpu, &present)?
            .try_clone()
            .map_err(RestoreError::Descriptor)
    }

    /// Decides which GPU here stands in for which of the program's.
    fn map_gpus(
        &mut self,
        saved: &[KfdDeviceEntry],
        present: &[KfdDeviceEntry],
    ) -> Result<&BTreeMap<u32, u32>, RestoreError> {
        let gpus = mapping::map(saved, present, self.options.checks)?;
        if self.gpus.is_none() {
            // Opened for the GPU of the same number.
            let wrong = |(node, _): &&(u32, Node)| gpus.get(node).is_some_and(|gpu| gpu != node);
            if let Some((gpu, _)) = self.nodes.iter().find(wrong) {
                return Err(RestoreError::NodeBeforeDriver(*gpu));
            }
        }
        Ok(self.gpus.insert(gpus))
    }

    /// The render node of a GPU here, opened once.
    fn node(&mut self, gpu: u32, present: &[KfdDeviceEntry]) -> Result<&OwnedFd, RestoreError> {
        let known = self.nodes.iter().position(|(known, _)| *known == gpu);
        let at = match known {
            Some(at) => at,
            None => {
                self.nodes.push((gpu, Node::Ours(open_node(gpu, present)?)));
                self.nodes.len() - 1
            }
        };
        match &self.nodes[at].1 {
            Node::Ours(fd) => Ok(fd),
            // Mappings come after all descriptors.
            Node::Programs(_) => Err(RestoreError::UnknownGpu(gpu)),
        }
    }

    fn kfd(&mut self, images: &Images, id: i32, image: CriuKfd) -> Result<OwnedFd, RestoreError> {
        let _phase = tracing::debug_span!("restore").entered();
        let kfd = devices::open_kfd().map_err(RestoreError::NoDriver)?;
        let present = topology::read()?;
        if images.is_stream() {
            make_shared_memory(&image)?;
        }
        let gpus = self.map_gpus(&image.device_entries, &present)?.clone();
        let mut devices = Vec::new();
        for entry in image
            .device_entries
            .iter()
            .filter(|entry| entry.gpu_id != 0)
        {
            let actual_gpu_id = gpus[&entry.gpu_id];
            devices.push(DeviceBucket {
                user_gpu_id: entry.gpu_id,
                actual_gpu_id,
                drm_fd: self.node(actual_gpu_id, &present)?.as_raw_fd() as u32,
                pad: 0,
            });
        }
        let buckets = buckets(&image);
        let exchange = &self.exchange;
        let bos = exchange.restore(kfd.as_fd(), id, &image, &mut devices, buckets)?;
        self.note_moved(&image, &bos, &devices)?;
        let gpus = devices
            .iter()
            .map(|gpu| (gpu.user_gpu_id, gpu.actual_gpu_id));
        let request = Request {
            id,
            pid: image.pid,
            bos,
            gpus: gpus.collect(),
        };
        match self.filler {
            Some(_) => filler::hand_over(&request)?,
            None => fill::fill(images, request, &present, self.options.staging)?,
        }
        Ok(kfd.into())
    }

    fn note_moved(
        &mut self,
        image: &CriuKfd,
        bos: &[Bo],
        devices: &[DeviceBucket],
    ) -> Result<(), RestoreError> {
        let mapped = VRAM | GTT | MMIO_REMAP | DOORBELL;
        for bo in bos
            .iter()
            .map(|bo| &bo.bucket)
            .filter(|bo| bo.alloc_flags & mapped != 0)
        {
            let unknown = RestoreError::UnknownGpu(bo.gpu_id);
            let (device, source) = if has_content(bo) {
                let entry = image.device_entries.iter().find(|e| e.gpu_id == bo.gpu_id);
                let bucket = devices.iter().find(|d| d.user_gpu_id == bo.gpu_id);
                let (entry, bucket) = entry.zip(bucket).ok_or(unknown)?;
                let device = Device::Render {
                    minor: entry.drm_render_minor,
                };
                (
                    device,
                    Source::Render {
                        gpu: bucket.actual_gpu_id,
                    },
                )
            } else {
                (Device::Kfd, Source::Kfd)
            };
            self.moved.push(Moved {
                device,
                address: bo.addr,
                len: bo.size,
                old: bo.offset,
                new: bo.restored_offset,
                source,
            });
        }
        Ok(())
    }

    /// The new offset of a mapping and the descriptor to map (`None`: CRIU opens the path). `None`
    /// if the path is none of our devices: another plugin has accepted it.
    pub(crate) fn mapping(
        &mut self,
        path: &str,
        address: u64,
        old: u64,
    ) -> Result<Option<(u64, Option<OwnedFd>)>, RestoreError> {
        let unknown = || RestoreError::Mapped {
            path: path.to_owned(),
            address,
        };
        let Some(device) = devices::of_path(path.as_ref()) else {
            return Ok(None);
        };
        let (new, source) = vma::find(&self.moved, device, address, old).ok_or_else(unknown)?;
        let Source::Render { gpu } = source else {
            return Ok(Some((new, None)));
        };
        let fd = self.node_to_map(gpu).ok_or_else(unknown)?;
        Ok(Some((new, Some(fd.map_err(RestoreError::Descriptor)?))))
    }

    /// A copy of a GPU's render node. By now the program's own descriptors are in place: where one
    /// of them is a copy of ours, ours is closed, else it would stay open in the program.
    fn node_to_map(&mut self, gpu: u32) -> Option<io::Result<OwnedFd>> {
        let at = self.nodes.iter().position(|(known, _)| *known == gpu)?;
        if let Node::Ours(ours) = &self.nodes[at].1
            && let Some(program) = open_files::copy_in(std::process::id(), ours.as_raw_fd())
        {
            self.nodes[at].1 = Node::Programs(program);
        }
        Some(match &self.nodes[at].1 {
            Node::Ours(fd) => fd.try_clone(),
            // SAFETY: nothing closes the program's descriptors between their restore and its run.
            Node::Programs(fd) => unsafe { BorrowedFd::borrow_raw(*fd) }.try_clone_to_owned(),
        })
    }
}

fn open_node(gpu: u32, present: &[KfdDeviceEntry]) -> Result<OwnedFd, RestoreError> {
    let node = present
        .iter()
        .find(|n| n.gpu_id == gpu)
        .ok_or(RestoreError::UnknownGpu(gpu))?;
    let path = devices::render_path(node.drm_render_minor);
    let file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .map_err(|error| RestoreError::RenderNode { path, error })?;
    host::out_of_the_way(file.into()).map_err(RestoreError::Descriptor)
}

/// The image of this process's /dev/kfd; of any, where it has none of its own: what a process has without
/// one it got from another.
fn own_kfd_image(images: &Images) -> Result<Option<CriuKfd>, RestoreError> {
    let own = kfd_image(images, |image| image.pid == std::process::id())?;
    own.map_or_else(|| kfd_image(images, |_| true), |own| Ok(Some(own)))
}

/// The first kfd image in the folder that is `wanted`; what is streamed cannot be listed.
fn kfd_image(
    images: &Images,
    wanted: impl Fn(&CriuKfd) -> bool,
) -> Result<Option<CriuKfd>, RestoreError> {
    for name in images.names().map_err(RestoreError::Folder)? {
        if files::is_kfd(&name)
            && let Some(image) = images.read::<CriuKfd>(&name)?.filter(&wanted)
        {
            return Ok(Some(image));
        }
    }
    Ok(None)
}

/// The thunk's files, where there are none.
fn make_shared_memory(image: &CriuKfd) -> Result<(), SharedMemoryError> {
    match image.shared_mem_size {
        0 => Ok(()),
        size => shared_memory::make_anew(size, image.shared_mem_magic),
    }
}

impl Restore {
    /// Lets a restored process's queues run, and tells its agent where it is, once all buffer objects are filled of
    /// all processes. The process has not run yet. Runs in CRIU's main process.
    ///
    /// A process that cannot go on as it was does not go on at all: whatever this answers, CRIU may let
    /// it run, and it would write to its files.
    pub(crate) fn resume(&mut self, pid: u32) -> Result<(), RestoreError> {
        let filled = self.filler.as_mut().map_or(Ok(()), Filler::wait);
        let result = filled.and_then(|()| let_go(pid));
        host::log(Level::Info, &left_over::whole(pid));
        if result.is_err() {
            // SAFETY: no pointers; CRIU holds the process, so that the number is its own.
            unsafe { libc::kill(pid.cast_signed(), libc::SIGKILL) };
        }
        result
    }
}

fn let_go(pid: u32) -> Result<(), RestoreError> {
    if let Ok(kfd) = devices::open_kfd() {
        match compute::resume(kfd.as_fd(), pid) {
            // A process of the tree that does not use the GPU.
            Err(e) if e.raw_os_error() == Some(libc::ESRCH) => {
                host::log(Level::Info, &format!("process {pid} has no queues"));
            }
            other => {
                other.map_err(RestoreError::Resume)?;
                host::log(Level::Info, &format!("the queues of process {pid} run"));
            }
        }
    }
    let images = Images::of_criu().map_err(RestoreError::Folder)?;
    let Some(checkpoint) = open_checkpoint(&images)? else {
        return Ok(());
    };
    let mut processes = checkpoint.manifest().processes.iter();
    if let Some(process) = processes.find(|process| process.pid == pid) {
        let identity = Identity::of(pid).map_err(|_| AgentError::Gone(pid))?;
        let agent = RemoteAgent::at(identity, process.agent_page)?;
        agent.set_verdict(Verdict::Restored)?;
    }
    Ok(())
}
