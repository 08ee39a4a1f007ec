//! A dump: the gate, the driver's state, contents, and letting everything run again.

use std::collections::BTreeMap;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::thread::{self, JoinHandle};

use strobe_kfd::client::compute::{self, ProcessState};
use strobe_kfd::client::gem as handles;
use strobe_kfd::criu::{BoBucket, DeviceBucket, MINIMUM_MINOR};
use strobe_program::agent::RemoteAgent;
use strobe_program::attributes::{self, Found};
use strobe_program::clock::now_ns;
use strobe_program::maps;
use strobe_program::namespaces;
use strobe_program::pipes::Pipes;
use strobe_program::program_files::{ProgramFileError, Recorder, Saved};
use strobe_program::terminals::Terminals;
use strobe_program::unwatched::Watch;
use strobe_program::{apart, events, nameless, sockets, system_v, unsaved, zombies};
use strobe_proto::amdgpu::{CriuRenderNode, DrmBoEntry, KfdDeviceEntry};
use strobe_proto::page::Verdict;
use strobe_proto::{
    Attributes, DeviceHandOver, PluginStatistics, ProgramFiles, Promise, Residual, TcpConnections,
    files,
};
use strobe_store::contents;

use crate::devices::{self, Device, Devices};
use crate::dump_error::DumpError;
use crate::gem::{self, Held, HeldError};
use crate::hand_over::{self, AtCut, GateError};
use crate::host::{self, Level};
use crate::images::Images;
use crate::kfd_image::kfd_image;
use crate::open_files;
use crate::options::Options;
use crate::promise;
use crate::save::{self, Job};
use crate::sharing::{Sharing, SharingError};
use crate::spans::DumpSpans;
use crate::topology;
use strobe_program::signals::without_signals;

/// A process that has one of the driver's files open, if one is found, and the id of a GPU here.
type GpuOf = (Option<u32>, u32);

/// An open file of a render node.
#[derive(Debug)]
struct OpenNode {
    file: OwnedFd,
    minor: u32,
    id: i32,
    gpu: GpuOf,
}

/// A dump in progress.
#[derive(Debug)]
pub(crate) struct Dump {
    devices: Devices,
    images: Option<Images>,
    noted: bool,
    /// Taken when the first process is about to be frozen.
    has_cut: bool,
    agents: Vec<AtCut>,
    /// Each stands for one stop of a process's queues.
    stopped: Vec<OwnedFd>,
    dumped: Vec<u32>,
    /// The processes of the tree.
    tree: Vec<u32>,
    /// Render node images written so far.
    render_nodes: Vec<(GpuOf, CriuRenderNode)>,
    /// Render nodes with buffer objects of the program's own, of processes whose file of the compute driver is still
    /// to come: their queues run, and nobody knows what they share with it.
    postponed: Vec<OpenNode>,
    /// All files of the driver and of render nodes that came so far.
    seen: Vec<OwnedFd>,
    /// The mmap offsets of what the compute driver has made, to tell the render node that it was made through.
    offsets: BTreeMap<GpuOf, Vec<u64>>,
    sharing: Sharing,
    /// The id that a process knows a GPU by: which may be another in each.
    known_as: BTreeMap<GpuOf, u32>,
    program_files: Recorder,
    /// Saves their contents.
    saving: Option<JoinHandle<Result<Saved, ProgramFileError>>>,
    pipes: Pipes,
    terminals: Terminals,
    attributes: Attributes,
    /// What a restored program will find otherwise.
    warnings: Vec<String>,
    watch: Watch,
    spans: DumpSpans,
    statistics: PluginStatistics,
    options: Options,
}

impl Dump {
    pub(crate) fn new(options: Options) -> Self {
        Self {
            devices: Devices::read(),
            options,
            images: None,
            noted: false,
            has_cut: false,
            agents: Vec::new(),
            stopped: Vec::new(),
            dumped: Vec::new(),
            render_nodes: Vec::new(),
            postponed: Vec::new(),
            seen: Vec::new(),
            offsets: BTreeMap::new(),
            sharing: Sharing::default(),
            tree: Vec::new(),
            known_as: BTreeMap::new(),
            program_files: Recorder::default(),
            saving: None,
            pipes: Pipes::default(),
            terminals: Terminals::default(),
            attributes: Attributes::default(),
            warnings: Vec::new(),
            watch: Watch::default(),
            spans: DumpSpans::default(),
            statistics: PluginStatistics::default(),
        }
    }

    fn images(&mut self) -> Result<&Images, DumpError> {
        if self.images.is_none() {
            self.images = Some(Images::of_criu().map_err(DumpError::Folder)?);
        }
        Ok(self.images.as_ref().expect("just set"))
    }

    fn note_plugin(&mut self) -> Result<(), DumpError> {
        if !self.noted {
            host::require_plugin().map_err(DumpError::Inventory)?;
            self.noted = true;
        }
        Ok(())
    }

    /// Whether a mapping of this device is ours to bring back.
    pub(crate) fn accepts_mapping(&mut self, rdev: u64) -> Result<bool, DumpError> {
        let ours = self.devices.find(rdev).is_some();
        if ours {
            self.note_plugin()?;
        }
        Ok(ours)
    }

    /// The process still runs, and so do all below it: CRIU begins at the root. This is where gates close.
    pub(crate) fn pause(&mut self, pid: u32) -> Result<(), DumpError> {
        if mem::replace(&mut self.has_cut, true) {
            return Ok(());
        }
        // Chunks and residual are read in any order, by the command too.
        if self.images()?.is_stream() && hand_over::is_awaited(pid)? {
            return Err(DumpError::Streamed);
        }
        let began = now_ns();
        let cut = hand_over::take_cut(pid)?;
        self.spans.cut_seen(began, cut.seen_ns);
        let Some(first) = cut.agents.first() else {
            return Ok(());
        };
        let (agents, waited) = (cut.agents.len(), cut.waited.as_millis());
        host::log(
            Level::Info,
            &format!("{agents} agents are at the cut after {waited} ms"),
        );
        self.statistics.gate_wait_ns = cut.waited.as_nanos() as u64;
        self.statistics.cut_seen_ns = cut.seen_ns;
        let target = first.promise.devices.first();
        self.statistics.target = target
            .map(|device| device.target.clone())
            .unwrap_or_default();
        let promise = |at_cut: &AtCut| Promise {
            pid: at_cut.agent.identity().pid,
            fingerprints_ns: at_cut.promise.fingerprints_ns,
            fingerprinted_bytes: at_cut.promise.fingerprinted_bytes,
            ..Promise::default()
        };
        self.statistics.promises = cut.agents.iter().map(promise).collect();
        self.agents = cut.agents;
        Ok(())
    }

    /// All processes are frozen.
    pub(crate) fn frozen(&mut self, pid: u32) -> Result<(), DumpError> {
        self.tree.push(pid);
        let Found { kept, lost } = attributes::read(pid);
        self.attributes.processes.push(kept);
        if self.agents.is_empty() {
            return Ok(());
        }
        self.spans.frozen(self.statistics.cut_seen_ns);
        if !self.agents.iter().any(|a| a.agent.identity().pid == pid) {
            if RemoteAgent::find(pid).is_ok() {
                return Err(DumpError::NewAgent(pid));
            }
            has_no_device_memory(pid)?;
        }
        // The first is the root.
        apart::check(self.tree[0], pid)?;
        // Before files are read. What becomes of connections is not known here.
        let unsaved = unsaved::of(pid, TcpConnections::Closed);
        let unsaved = unsaved.map_err(|error| DumpError::Descriptors { pid, error })?;
        if let Some(first) = unsaved.into_iter().next() {
            return Err(first.into());
        }
        zombies::check(pid)?;
        self.warnings.extend(lost.iter().map(ToString::to_string));
        let unread = events::check(pid)?;
        self.warnings.extend(unread.iter().map(ToString::to_string));
        let lost = sockets::check(pid)?;
        self.warnings.extend(lost.iter().map(ToString::to_string));
        let nameless = nameless::of(pid).map_err(|error| DumpError::Descriptors { pid, error })?;
        self.warnings
            .extend(nameless.iter().map(ToString::to_string));
        let used = system_v::of(pid).map_err(|error| DumpError::Descriptors { pid, error })?;
        self.warnings.extend(used.iter().map(ToString::to_string));
        let unwatched = self.watch.add(pid);
        self.warnings
            .extend(unwatched.iter().map(ToString::to_string));
        self.pipes.add(pid)?;
        self.terminals.add(pid).map_err(DumpError::Terminals)?;
        Ok(self.program_files.add(pid)?)
    }

    /// Saves the contents of files while CRIU saves the host's memory. All processes have been looked at.
    fn save_files(&mut self) -> Result<(), DumpError> {
        if self.agents.is_empty() || self.saving.is_some() {
            return Ok(());
        }
        let files = mem::take(&mut self.program_files);
        let images = self.images()?.try_clone().map_err(DumpError::Folder)?;
        let limit = host::files_limit();
        let save = move || {
            files.save(limit, |number| {
                let name = files::contents(number);
                let image = images.create(&name).map_err(|error| error.error)?;
                Ok((name, image.into_file()))
            })
        };
        let started = without_signals(|| thread::Builder::new().spawn(save));
        self.saving = Some(started.map_err(|_| DumpError::Thread)?);
        Ok(())
    }

    /// What that came to.
    fn saved_files(&mut self) -> ProgramFiles {
        let saved = match self.saving.take().map(JoinHandle::join) {
            Some(Ok(saved)) => saved.map_err(DumpError::from),
            Some(Err(_)) => Err(DumpError::Thread),
            None => Ok(Saved::default()),
        };
        match saved {
            Ok(Saved {
                files,
                left_out,
                journals,
                unknown,
                sealed,
            }) => {
                let warnings = left_out.iter().map(ToString::to_string);
                let warnings = warnings.chain(unknown.iter().map(ToString::to_string));
                let warnings = warnings.chain(sealed.iter().map(ToString::to_string));
                self.warnings.extend(warnings);
                ProgramFiles {
                    files,
                    journals,
                    failure: String::new(),
                }
            }
            Err(error) => ProgramFiles {
                failure: error.to_string(),
                ..ProgramFiles::default()
            },
        }
    }

    /// Saves what is behind a descriptor; `false` if it is none of ours. `link` is its name.
    pub(crate) fn file(
        &mut self,
        fd: BorrowedFd<'_>,
        rdev: u64,
        link: &Path,
        id: i32,
    ) -> Result<bool, DumpError> {
        let device = match self.devices.find(rdev) {
            Some(device) => device,
            None if link.to_string_lossy().starts_with("/dmabuf") => return Err(DumpError::DmaBuf),
            None => return Ok(false),
        };
        self.seen
            .push(fd.try_clone_to_owned().map_err(DumpError::Descriptor)?);
        match device {
            Device::Kfd => self.kfd(fd, id)?,
            Device::Render { minor } => self.render_node(fd, minor, id)?,
        }
        self.postponed()?;
        self.check_imports()?;
        Ok(true)
    }

    /// Whether a process has a file of the compute driver that is still to come.
    fn is_expected(&self, pid: Option<u32>) -> bool {
        let (Some(pid), Some(kfd)) = (pid, self.devices.kfd()) else {
            return false;
        };
        open_files::has_another(pid, |rdev| rdev == kfd, &self.seen)
    }

    /// Saves what had to wait for the compute driver.
    fn postponed(&mut self) -> Result<(), DumpError> {
        for node in mem::take(&mut self.postponed) {
            match self.is_expected(node.gpu.0) {
                true => self.postponed.push(node),
                false => self.held(&node)?,
            }
        }
        Ok(())
    }

    /// When all files have come, all memory that was imported is some process's of the program.
    fn check_imports(&self) -> Result<(), DumpError> {
        let Some((minor, handle)) = self.sharing.unknown() else {
            return Ok(());
        };
        let mut tree = self.tree.iter();
        let is_ours = |rdev| self.devices.has(rdev);
        match tree.any(|pid| open_files::has_another(*pid, is_ours, &self.seen)) {
            true => Ok(()),
            false => Err(HeldError::Foreign { handle, minor }.into()),
        }
    }

    fn render_node(&mut self, fd: BorrowedFd<'_>, minor: u32, id: i32) -> Result<(), DumpError> {
        let present = topology::read()?;
        let gpu_id = present
            .iter()
            .find(|node| node.gpu_id != 0 && node.drm_render_minor == minor)
            .map_or(0, |node| node.gpu_id);
        self.note_plugin()?;
        let gpu = (open_files::owner(&self.tree, fd.as_raw_fd()), gpu_id);
        let node = OpenNode {
            file: fd.try_clone_to_owned().map_err(DumpError::Descriptor)?,
            minor,
            id,
            gpu,
        };
        let count = handles::handles(fd).map_err(DumpError::Handles)?;
        if count.is_none_or(|handles| handles.is_empty()) {
            return self.write_node(&node, Vec::new(), None);
        }
        if self.images()?.is_stream() {
            return Err(HeldError::Streamed(minor).into());
        }
        self.postponed.push(node);
        Ok(())
    }

    /// Saves a render node with buffer objects of the program's own.
    fn held(&mut self, node: &OpenNode) -> Result<(), DumpError> {
        let started = now_ns();
        let OpenNode {
            ref file,
            minor,
            id,
            gpu,
        } = *node;
        let list = handles::handles(file.as_fd()).map_err(DumpError::Handles)?;
        let mut held = gem::look(file.as_fd(), minor, list.unwrap_or_default())?;
        let own: Vec<u64> = held.iter().map(|held| held.entry.offset).collect();
        let mut others = self.offsets.get(&gpu).into_iter().flatten();
        let is_apart = match others.find(|offset| !own.contains(offset)) {
            Some(offset) => {
                !handles::is_of_the_driver(file.as_fd(), *offset).map_err(DumpError::Handles)?
            }
            None => true,
        };
        let pid = gpu.0.unwrap_or_default();
        let mut agents = self.agents.iter();
        let saves_all = !agents.any(|at_cut| at_cut.agent.identity().pid == pid);
        let known = self
            .sharing
            .add_held((pid, id, minor), &held, is_apart, saves_all)?;
        self.note_sharing()?;
        let wanted: Vec<bool> = known.iter().map(|known| saves_all || !known).collect();
        let staging = self.options.staging;
        let saved = gem::save(self.images()?, (id, minor), &held, &wanted, staging)?;
        self.statistics.buffer_objects += held.len() as u64;
        self.statistics.residual_bytes += saved;
        for (Held { entry, content }, known) in held.iter_mut().zip(known) {
            entry.is_import |= u32::from(known);
            if !is_apart {
                // What the driver has mapped there itself it will map again.
                let drivers = self.sharing.of_the_driver(pid, content)?;
                entry
                    .vm_entries
                    .retain(|place| !drivers.contains(&place.addr));
                entry.num_of_vms = entry.vm_entries.len() as u32;
            }
        }
        let entries = held.into_iter().map(|held| held.entry).collect();
        self.write_node(node, entries, Some(is_apart))?;
        self.statistics.residual_ns += now_ns() - started;
        Ok(())
    }

    fn write_node(
        &mut self,
        node: &OpenNode,
        bo_entries: Vec<DrmBoEntry>,
        is_apart: Option<bool>,
    ) -> Result<(), DumpError> {
        let OpenNode { minor, id, gpu, .. } = *node;
        let image = CriuRenderNode {
            gpu_id: self.known_as.get(&gpu).copied().unwrap_or(gpu.1),
            id: Some(id as u32),
            drm_render_minor: Some(minor),
            num_of_bos: Some(bo_entries.len() as u64),
            bo_entries,
            is_apart,
        };
        self.images()?.write(&files::render_node(id), &image)?;
        self.render_nodes.push((gpu, image));
        Ok(())
    }

    /// The driver tells the ids the program knows only with the process. Images of render nodes that came
    /// before get theirs now.
    fn correct_render_nodes(&mut self) -> Result<(), DumpError> {
        let mut nodes = mem::take(&mut self.render_nodes);
        for (gpu, image) in &mut nodes {
            let known = self.known_as.get(gpu).copied();
            let Some(user) = known.filter(|user| *user != image.gpu_id) else {
                continue;
            };
            let images = self.images()?;
            if images.is_stream() {
                return Err(DumpError::NodeBeforeDriver(gpu.1));
            }
            image.gpu_id = user;
            images.write(&files::render_node(image.id() as i32), image)?;
        }
        self.render_nodes = nodes;
        Ok(())
    }

    fn kfd(&mut self, fd: BorrowedFd<'_>, id: i32) -> Result<(), DumpError> {
        let _phase = tracing::debug_span!("dump").entered();
        let own = devices::open_kfd().map_err(DumpError::OpenDriver)?;
        let (major, minor) = compute::version(own.as_fd()).map_err(DumpError::Version)?;
        if major != 1 || minor < MINIMUM_MINOR {
            return Err(DumpError::OldDriver(major, minor));
        }
        // It could be saved, and would not come back.
        open_files::owner(&self.tree, fd.as_raw_fd()).map_or(Ok(()), namespaces::check_user)?;
        // All processes have been looked at: files come after that.
        let out = self.pipes.that_lead_out()?;
        self.warnings.extend(out.iter().map(ToString::to_string));
        let foreign = mem::take(&mut self.terminals).that_are_foreign();
        self.warnings
            .extend(foreign.iter().map(ToString::to_string));
        self.save_files()?;
        self.note_plugin()?;
        let copy = fd.try_clone_to_owned().map_err(DumpError::Stop)?;
        // A dump that died left the queues stopped. Stops are counted, and only one is ever undone:
        // after a second one they would stand still for good. Most often there is nothing to undo.
        if compute::unpause(fd).is_ok() {
            host::log(
                Level::Warning,
                "an earlier dump had left the program's queues stopped",
            );
        }
        let info = compute::process_info(fd).map_err(DumpError::Stop)?;
        // From here on `finish` lets the queues run again, whatever happens.
        self.stopped.push(copy);
        self.spans.stopped();
        let owner = open_files::owner(&self.tree, fd.as_raw_fd());
        // The driver's number is the process's own, which in another PID namespace is somebody else's.
        let pid = owner.unwrap_or(info.pid);
        if self.dumped.contains(&pid) {
            return Err(DumpError::Twice(pid));
        }
        self.dumped.push(pid);
        let state = compute::checkpoint(fd, &info).map_err(DumpError::State)?;
        let ids = state.devices.iter();
        self.known_as
            .extend(ids.map(|d| ((owner, d.actual_gpu_id), d.user_gpu_id)));
        self.correct_render_nodes()?;
        let present = topology::read()?;
        let buckets = gem::found(pid, &self.devices, &state, &present)?;
        self.statistics.buffer_objects += buckets.len() as u64;
        for bucket in buckets.iter().filter(|bo| contents::has_content(bo)) {
            let device = state
                .devices
                .iter()
                .find(|d| d.user_gpu_id == bucket.gpu_id);
            if let Some(device) = device {
                let gpu = (owner, device.actual_gpu_id);
                self.offsets.entry(gpu).or_default().push(bucket.offset);
            }
        }

        let image = kfd_image(&info, &state, &present, &buckets)?;
        self.images()?.write(&files::kfd(id), &image)?;
        let started = now_ns();
        let promise = self
            .agents
            .iter()
            .position(|a| a.agent.identity().pid == pid);
        let tracked = promise
            .map(|number| promise::tracked(&self.agents[number].promise))
            .transpose()?;
        let known = self
            .sharing
            .add((pid, id), &state.bos, &buckets, tracked.as_ref())?;
        self.note_sharing()?;
        let copied = match promise {
            Some(agent) => self.residual(id, &state, &buckets, &present, (agent, &known))?,
            None => self.pages(id, &state, &buckets, &present)?,
        };
        self.statistics.residual_bytes += copied;
        self.statistics.residual_ns += now_ns() - started;
        self.spans.ended("residual", started);
        Ok(())
    }

    /// What is shared by the processes that were dumped so far, and whether all of a handle's processes are here.
    fn note_sharing(&mut self) -> Result<(), DumpError> {
        let shared = self.sharing.image();
        let images = self.images()?;
        match shared {
            Some(_) if images.is_stream() => return Err(SharingError::Streamed.into()),
            Some(shared) => images.write(files::SHARED_BUFFERS, &shared)?,
            // One of an earlier dump into this folder would be taken for ours.
            None => images.remove(files::SHARED_BUFFERS)?,
        }
        let agents = self.agents.iter();
        let agents = agents.map(|a| (a.agent.identity().pid, &a.promise));
        let with_handles =
            agents.filter(|(_, said)| !(said.exported.is_empty() && said.opened.is_empty()));
        if with_handles
            .clone()
            .all(|(pid, _)| self.dumped.contains(&pid))
        {
            self.sharing.check(with_handles)?;
        }
        Ok(())
    }

    /// Everything, in the files and form of CRIU's own plugin.
    fn pages(
        &mut self,
        id: i32,
        state: &ProcessState,
        buckets: &[BoBucket],
        present: &[KfdDeviceEntry],
    ) -> Result<u64, DumpError> {
        let _phase = tracing::debug_span!("content").entered();
        let mut jobs = Vec::new();
        let mut total = 0;
        for device in &state.devices {
            let pieces = contents::whole(buckets, device.user_gpu_id)?;
            let bytes: u64 = pieces.iter().map(|piece| piece.len).sum();
            // Also one of nothing: CRIU's own plugin wants an image of each GPU.
            let name = files::pages(id, device.user_gpu_id);
            let mut image = self.images()?.create(&name)?;
            let head = bytes.to_le_bytes();
            image.write_at(&head, 0)?;
            if pieces.is_empty() {
                continue;
            }
            jobs.push(Job {
                device: *device,
                pieces,
                image,
                start: head.len() as u64,
            });
            total += bytes;
        }
        save::save(jobs, &state.bos, present, self.options.staging)?;
        Ok(total)
    }

    /// What the agent does not deliver.
    fn residual(
        &mut self,
        id: i32,
        state: &ProcessState,
        buckets: &[BoBucket],
        present: &[KfdDeviceEntry],
        (agent, known): (usize, &[bool]),
    ) -> Result<u64, DumpError> {
        let _phase = tracing::debug_span!("residual").entered();
        let is_known = |gpu: u32| state.devices.iter().any(|device| device.user_gpu_id == gpu);
        let promised = &self.agents[agent].promise.devices;
        if let Some(unknown) = promised.iter().find(|device| !is_known(device.gpu_id)) {
            return Err(DumpError::PromisedGpu(unknown.gpu_id));
        }
        let gpus = state.devices.len();
        if gpus > 1 && promised.iter().all(|device| device.tracked.is_empty()) {
            let pid = self.agents[agent].agent.identity().pid;
            self.warnings.push(format!(
                "process {pid} sees {gpus} GPUs: all their memory was saved while it was frozen"
            ));
        }
        let mut jobs = Vec::new();
        for device in &state.devices {
            jobs.push(self.residual_of(id, device, state, buckets, present, (agent, known))?);
        }
        jobs.retain(|job| !job.pieces.is_empty());
        let total = jobs
            .iter()
            .flat_map(|job| &job.pieces)
            .map(|piece| piece.len)
            .sum();
        save::save(jobs, &state.bos, present, self.options.staging)?;
        Ok(total)
    }

    /// The same of one GPU: its image, and what is to be written into that. `known` buffer objects are memory
    /// that is saved already.
    fn residual_of(
        &mut self,
        id: i32,
        device: &DeviceBucket,
        state: &ProcessState,
        buckets: &[BoBucket],
        present: &[KfdDeviceEntry],
        (number, known): (usize, &[bool]),
    ) -> Result<Job, DumpError> {
        let AtCut { agent, promise } = &self.agents[number];
        let gpu_id = device.user_gpu_id;
        let mut devices = promise.devices.iter();
        let nothing = DeviceHandOver {
            gpu_id,
            ..DeviceHandOver::default()
        };
        let promise = devices
            .find(|device| device.gpu_id == gpu_id)
            .unwrap_or(&nothing);
        let mut residual = promise::residual(buckets, promise)?;
        residual.retain(|piece| !known[piece.bo]);
        let (aside, rest) = promise::set_aside(buckets, promise, residual)?;
        let touched =
            promise::touched(agent.identity().pid, promise).map_err(DumpError::PageMap)?;
        let mut tracked = promise.tracked.clone();
        let mut set_aside = Vec::new();
        if let Some((aside, answer)) = aside.zip(promise.answer) {
            save::copy_aside(&aside, state, present)?;
            agent
                .answer(answer, &aside.answer)
                .map_err(GateError::Agent)?;
            let ranges = aside.answer.ranges.iter();
            set_aside.extend(ranges.filter_map(|range| range.extent));
            tracked.extend(&set_aside);
            self.statistics.set_aside_bytes += aside.pieces.iter().map(|p| p.len).sum::<u64>();
        }
        let ranges = promise::ranges(&rest);
        let pieces = contents::residual_pieces(buckets, &ranges)?;
        let image = Residual {
            ranges,
            tracked,
            dead: promise.dead.clone(),
        };
        let promised = &mut self.statistics.promises[number];
        promised.touched.extend(touched);
        promised.tracked.extend(&image.tracked);
        promised.set_aside.extend(set_aside);
        let name = files::residual(id, gpu_id);
        let (image, start) = self.images()?.begin(&name, &image)?;
        Ok(Job {
            device: *device,
            pieces,
            image,
            start,
        })
    }

    /// For the plugin of a restore, which there is only where this one has had a part.
    fn write_attributes(&mut self) -> Result<(), DumpError> {
        let attributes = mem::take(&mut self.attributes);
        let is_needed = self.noted;
        let images = self.images()?;
        // The streamer's restore knows what it is asked for, and in which order.
        if is_needed && !images.is_stream() {
            images.write(files::ATTRIBUTES, &attributes)?;
        }
        Ok(())
    }

    /// The last word, with the processes still frozen: queues run again, agents learn the verdict.
    pub(crate) fn finish(mut self, succeeded: bool) {
        let complain = |what: &str, error: &dyn std::fmt::Display| {
            host::log(Level::Warning, &format!("{what}: {error}"));
        };
        for kfd in self.stopped.drain(..) {
            if let Err(error) = compute::unpause(kfd.as_fd()) {
                complain("the program's queues cannot be started again", &error);
            }
        }
        self.spans.resumed();
        let files = self.saved_files();
        let kept = match succeeded {
            true => self.write_attributes(),
            false => Ok(()),
        };
        if self.agents.is_empty() {
            if let Err(error) = kept {
                complain("attributes of threads will not be put back", &error);
            }
            return;
        }
        self.statistics.spans = self.spans.take();
        self.statistics.finished_ns = now_ns();
        if succeeded {
            let mut statistics = mem::take(&mut self.statistics);
            statistics.warnings = mem::take(&mut self.warnings);
            let written = kept.and_then(|()| self.images()).and_then(|images| {
                images.write(files::STATISTICS, &statistics)?;
                let whole = images.write(files::PROGRAM_FILES, &files);
                Ok(whole.or_else(|error| {
                    // For the command to say why there is no checkpoint.
                    let failure = error.to_string();
                    images.write(
                        files::PROGRAM_FILES,
                        &ProgramFiles {
                            failure,
                            ..ProgramFiles::default()
                        },
                    )
                })?)
            });
            // The command that started CRIU misses the files and abandons the checkpoint.
            if let Err(error) = written {
                complain("facts of the checkpoint are lost", &error);
            }
        }
        let verdict = if succeeded {
            Verdict::Dumped
        } else {
            Verdict::Aborted
        };
        for at_cut in &self.agents {
            if let Err(error) = at_cut.agent.set_verdict(verdict) {
                complain("the agent cannot be told the verdict", &error);
            }
        }
        if succeeded {
            self.agents.iter().for_each(hand_over::hold);
        }
    }
}

/// Only the process that opened the driver gets its memory mapped again. The driver's own mappings
/// and the thunk's stay behind at a fork; a program can ask otherwise.
fn has_no_device_memory(pid: u32) -> Result<(), DumpError> {
    let maps = maps::read(pid).map_err(|error| DumpError::Maps { pid, error })?;
    match maps
        .into_iter()
        .find(|m| devices::of_path(&m.path).is_some())
    {
        Some(map) => Err(DumpError::Inherited {
            pid,
            path: map.path,
            address: map.range.start,
        }),
        None => Ok(()),
    }
}
