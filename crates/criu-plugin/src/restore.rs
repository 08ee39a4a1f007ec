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
use strobe_program::attributes;
use strobe_program::process::Identity;
use strobe_program::shared_memory::{self, SharedMemoryError};
use strobe_proto::amdgpu::{CriuKfd, CriuRenderNode, KfdDeviceEntry};
use strobe_proto::page::Verdict;
use strobe_proto::{Attributes, DeferredFill, files};

use crate::agent_first;
use crate::checkpoint::open_checkpoint;
use crate::devices::{self, Device};
use crate::exchange::{Exchange, filled_elsewhere};
use crate::fill::{self, Request};
use crate::filler::{self, Filler};
use crate::gem::{self, MadeError};
use crate::host::{self, Level};
use crate::images::Images;
use crate::left_behind;
use crate::mapping;
use crate::open_files;
use crate::options::Options;
use crate::restore_error::RestoreError;
use crate::topology;
use crate::vma::{self, Moved, Source};
use strobe_store::contents::{buckets, found, has_content};

/// Where the program waits for all of its memory although it need not.
const NOT_ON_DEMAND: &str = "all memory was loaded before the program ran: nothing can fill it afterwards, because images \
     are streamed, CRIU hands no files down, or STROBE_PARALLEL_RESTORE is off";

/// State of the process being restored.
#[derive(Debug, Default)]
pub(crate) struct Restore {
    /// Render nodes opened. The program's own descriptors are copies: the driver lets only the opener of a render
    /// node map what was restored into it.
    nodes: Vec<(Opened, Node)>,
    /// The file of the compute driver, where it was needed before CRIU asks for it; its number.
    early: Option<(i32, OwnedFd)>,
    is_driver_back: bool,
    moved: Vec<Moved>,
    /// The GPU here of each that the program knows.
    gpus: Option<BTreeMap<u32, u32>>,
    exchange: Exchange,
    options: Options,
    /// Where there is none, each process fills its buffer objects itself.
    filler: Option<Filler>,
    attributes: Attributes,
}

/// What a render node was opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opened {
    /// The compute driver, on the GPU of this id here.
    Driver(u32),
    /// A file of the program's own, by CRIU's number of it.
    File(i32),
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
        if let Some((_, image)) = kfd_image(&images, |_| true)? {
            make_shared_memory(&image)?;
            // What is wrong with GPUs is said when they are needed.
            let present = topology::read().unwrap_or_default();
            if options.parallel && !present.is_empty() {
                filler = Filler::start(&images, &present, &options)?;
            }
            if options.on_demand && filler.is_none() {
                host::remark(NOT_ON_DEMAND);
            }
        }
        let attributes = match images.is_stream() {
            true => None,
            false => images.read(files::ATTRIBUTES)?,
        };
        Ok(Self {
            options,
            filler,
            attributes: attributes.unwrap_or_default(),
            exchange: Exchange::prepare(&images)?,
            ..Self::default()
        })
    }

    /// Makes the descriptor that the image of this number describes; `None` if it is none of ours.
    pub(crate) fn file(&mut self, id: i32) -> Result<Option<OwnedFd>, RestoreError> {
        let images = Images::of_criu().map_err(RestoreError::Folder)?;
        if let Some((_, kfd)) = self.early.take_if(|(early, _)| *early == id) {
            return Ok(Some(kfd));
        }
        if let Some(image) = images.read::<CriuKfd>(&files::kfd(id))? {
            return self.kfd(&images, id, image).map(Some);
        }
        if let Some(image) = images.read::<CriuRenderNode>(&files::render_node(id))? {
            return self.render_node(&images, id, &image).map(Some);
        }
        Ok(None)
    }

    fn render_node(
        &mut self,
        images: &Images,
        id: i32,
        image: &CriuRenderNode,
    ) -> Result<OwnedFd, RestoreError> {
        let present = topology::read()?;
        let holds = !image.bo_entries.is_empty();
        if holds {
            self.driver_first(images)?;
        }
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
        let opened = match image.is_apart() {
            true => Opened::File(id),
            false => Opened::Driver(gpu),
        };
        let file = self.node(opened, gpu, &present)?.try_clone();
        let file = file.map_err(RestoreError::Descriptor)?;
        if holds {
            self.held(images, (id, image), &file, (opened, gpu), &present)?;
        }
        Ok(file)
    }

    /// What a process holds by handles may be memory of the compute driver, which has to be there then.
    fn driver_first(&mut self, images: &Images) -> Result<(), RestoreError> {
        if images.is_stream() {
            return Err(MadeError::Streamed.into());
        }
        if self.is_driver_back {
            return Ok(());
        }
        let own = kfd_image(images, |image| image.pid == std::process::id())?;
        if let Some((id, image)) = own {
            let kfd = self.kfd(images, id, image)?;
            let kfd = host::out_of_the_way(kfd).map_err(RestoreError::Descriptor)?;
            self.early = Some((id, kfd));
        }
        Ok(())
    }

    /// Makes and fills buffer objects of the program's own, in their file.
    fn held(
        &mut self,
        images: &Images,
        (id, image): (i32, &CriuRenderNode),
        file: &OwnedFd,
        (opened, gpu): (Opened, u32),
        present: &[KfdDeviceEntry],
    ) -> Result<(), RestoreError> {
        let _phase = tracing::debug_span!("handles").entered();
        let origins = self.exchange.origins(id, image.bo_entries.len())?;
        let made = gem::make(file.as_fd(), image, &origins, (image.gpu_id, gpu))?;
        let elsewhere = filled_elsewhere(images, id)?;
        let node = fill::open(gpu, present)?;
        let staging = self.options.staging;
        gem::fill(images, (id, image), &made, &elsewhere, &node, staging)?;
        let minor = image.drm_render_minor();
        for (entry, new) in image.bo_entries.iter().zip(made.offsets) {
            let Some(new) = new else {
                continue;
            };
            self.moved.push(Moved {
                device: Device::Render { minor },
                address: entry.addr,
                len: entry.size,
                old: entry.offset,
                new,
                source: match opened {
                    Opened::Driver(gpu) => Source::Render { gpu },
                    Opened::File(file) => Source::File { file },
                },
            });
        }
        Ok(())
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
            let mut opened = self.nodes.iter().filter_map(|(opened, _)| match opened {
                Opened::Driver(gpu) => Some(*gpu),
                Opened::File(_) => None,
            });
            if let Some(gpu) = opened.find(|node| gpus.get(node).is_some_and(|gpu| gpu != node)) {
                return Err(RestoreError::NodeBeforeDriver(gpu));
            }
        }
        Ok(self.gpus.insert(gpus))
    }

    /// The render node of a GPU here, opened once for each purpose.
    fn node(
        &mut self,
        opened: Opened,
        gpu: u32,
        present: &[KfdDeviceEntry],
    ) -> Result<&OwnedFd, RestoreError> {
        let known = self.nodes.iter().position(|(known, _)| *known == opened);
        let at = match known {
            Some(at) => at,
            None => {
                let node = Node::Ours(open_node(gpu, present)?);
                self.nodes.push((opened, node));
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
        self.is_driver_back = true;
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
                drm_fd: self
                    .node(Opened::Driver(actual_gpu_id), actual_gpu_id, &present)?
                    .as_raw_fd() as u32,
                pad: 0,
            });
        }
        let buckets = buckets(&image);
        let exchange = &self.exchange;
        let mut bos = exchange.restore(kfd.as_fd(), id, &image, &mut devices, buckets)?;
        // What the driver has no address of, their handles map there again.
        for (bo, entry) in bos.iter_mut().zip(&image.bo_entries) {
            bo.bucket.addr = found(entry).addr;
        }
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
        let Some((new, source)) = vma::find(&self.moved, device, address, old) else {
            let images = Images::of_criu().map_err(RestoreError::Folder)?;
            if !left_behind::is_unreachable(&images, address)? {
                return Err(unknown());
            }
            let stand_in = left_behind::stand_in().map_err(RestoreError::StandIn)?;
            return Ok(Some((0, Some(stand_in))));
        };
        let opened = match source {
            Source::Kfd => return Ok(Some((new, None))),
            Source::Render { gpu } => Opened::Driver(gpu),
            Source::File { file } => Opened::File(file),
        };
        self.hand_over_nodes();
        let fd = self.node_to_map(opened).ok_or_else(unknown)?;
        Ok(Some((new, Some(fd.map_err(RestoreError::Descriptor)?))))
    }

    /// Mappings come when the program's own descriptors are in place: where one of them is a copy of ours, ours is
    /// closed, else it would stay open in the program.
    fn hand_over_nodes(&mut self) {
        for (_, node) in &mut self.nodes {
            if let Node::Ours(ours) = node
                && let Some(program) = open_files::copy_in(std::process::id(), ours.as_raw_fd())
            {
                *node = Node::Programs(program);
            }
        }
    }

    /// A copy of a render node that we have opened.
    fn node_to_map(&mut self, opened: Opened) -> Option<io::Result<OwnedFd>> {
        let (_, node) = self.nodes.iter().find(|(known, _)| *known == opened)?;
        Some(match node {
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
    let any = own.map_or_else(|| kfd_image(images, |_| true), |own| Ok(Some(own)))?;
    Ok(any.map(|(_, image)| image))
}

/// The first kfd image in the folder that is `wanted`, with its number; what is streamed cannot be listed.
fn kfd_image(
    images: &Images,
    wanted: impl Fn(&CriuKfd) -> bool,
) -> Result<Option<(i32, CriuKfd)>, RestoreError> {
    for name in images.names().map_err(RestoreError::Folder)? {
        if let Some(id) = files::kfd_id(&name)
            && let Some(image) = images.read::<CriuKfd>(&name)?.filter(&wanted)
        {
            return Ok(Some((id, image)));
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
    /// Gives a restored process the attributes that it had, lets its queues run, and tells its agent where it is, once all buffer objects are filled of
    /// all processes. The process has not run yet. Runs in CRIU's main process.
    ///
    /// A process that cannot go on as it was does not go on at all: whatever this answers, CRIU may let
    /// it run, and it would write to its files.
    pub(crate) fn resume(&mut self, pid: u32) -> Result<(), RestoreError> {
        for lost in attributes::put_back(pid, &self.attributes.processes) {
            host::remark(&lost.to_string());
        }
        let filled = self.filler.as_mut().map_or(Ok(&[][..]), Filler::wait);
        let result = filled.and_then(|deferred| let_go(pid, deferred));
        host::log(Level::Info, &left_over::whole(pid));
        if result.is_err() {
            // SAFETY: no pointers; CRIU holds the process, so that the number is its own.
            unsafe { libc::kill(pid.cast_signed(), libc::SIGKILL) };
        }
        result
    }
}

fn let_go(pid: u32, deferred: &[DeferredFill]) -> Result<(), RestoreError> {
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
        match deferred.iter().find(|deferred| deferred.pid == pid) {
            None => agent.set_verdict(Verdict::Restored)?,
            Some(deferred) => {
                agent.name_socket(deferred.socket.as_bytes())?;
                agent_first::hold(agent)?;
                agent.set_verdict(Verdict::RestoredOnDemand)?;
            }
        }
    }
    Ok(())
}
