//! What is left to do when a call has come back, and what is learned from it.

use crate::agent::{Agent, existing};
use crate::call::gate::thread_id;
use crate::call::outcome::CallOutcome;
use crate::device::mapped;
use crate::seen::kernel::{KERNELS, Kernel};
use crate::seen::observed::{Observed, RawStream, Synchronised};
use crate::seen::reach;
use crate::seen::registration::REGISTRATIONS;
use crate::seen::tables::{LONGEST_COPY, SHORT_COPY};
use std::ffi::CStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use strobe_extent::Extent;
use strobe_graph::Moment;
use strobe_hip::{
    ConstPtr, Graph, GraphExec, Kernel as Function, Module, PitchedPtr, Ptr, Status, Stream,
};

/// What is left to do when the call has succeeded.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum After {
    #[default]
    Nothing,
    Allocated {
        place: *const Ptr,
        bytes: usize,
    },
    /// Fine-grained memory and the like: not ours to save, but the device's.
    AllocatedUntracked {
        bytes: usize,
    },
    AllocatedPitch {
        place: *const Ptr,
        pitch: *const usize,
        rows: usize,
    },
    AllocatedPitched {
        place: *const PitchedPtr,
        rows: usize,
    },
    /// Undone when the call fails. Where it waits for the device, it has begun to at `since`.
    Freed {
        start: u64,
        len: u64,
        since: Option<Moment>,
    },
    /// What is mapped at these addresses is the program's to use, by its handle. That a call has made it so does not
    /// matter: it may have done half of it.
    Mapped {
        start: u64,
        len: u64,
    },
    /// A handle was made of memory.
    Exported {
        address: u64,
    },
    /// Another process's memory was opened.
    Opened {
        place: *const Ptr,
    },
    Closed {
        address: u64,
    },
    /// A synchronous copy is over, announced at `since` or later. From the host it is one of `bytes` bytes
    /// that may be a table; else of none.
    Copied {
        stream: RawStream,
        since: Moment,
        to: u64,
        from: ConstPtr,
        bytes: usize,
    },
    LoadedImage {
        place: *const Module,
        image: ConstPtr,
    },
    LoadedFile {
        place: *const Module,
        path: *const std::ffi::c_char,
    },
    FoundFunction {
        place: *const Function,
        module: Module,
        name: *const std::ffi::c_char,
    },
    FatBinary {
        image: *const u8,
    },
    CreatedStream {
        place: *const Stream,
        non_blocking: bool,
    },
    /// Of what was announced before `since` nothing is under way here any more.
    Synchronised {
        what: Synchronised,
        since: Moment,
    },
    BeganCapture {
        stream: RawStream,
    },
    BeganCaptureInto {
        stream: RawStream,
        graph: Graph,
    },
    EndedCapture {
        stream: RawStream,
        graph: *const Graph,
    },
    InstantiatedGraph {
        place: *const GraphExec,
        graph: Graph,
    },
    UpdatedGraph {
        exec: GraphExec,
        graph: Graph,
    },
    Reset,
}

impl After {
    /// Of a call that allocates device memory: the bytes, as far as they are known before.
    pub(crate) fn allocates(&self) -> Option<u64> {
        match self {
            After::Allocated { bytes, .. } | After::AllocatedUntracked { bytes } => {
                Some(*bytes as u64)
            }
            After::AllocatedPitch { .. }
            | After::AllocatedPitched { .. }
            | After::LoadedImage { .. }
            | After::LoadedFile { .. } => Some(0),
            _ => None,
        }
    }

    /// Whether a call that has succeeded, as it says, gave no memory. (HIP 5.2's stream-ordered allocations do
    /// that when there is none.)
    pub(crate) fn gave_nothing(&self) -> bool {
        match *self {
            After::Allocated { place, bytes } if bytes != 0 => {
                // SAFETY: HIP has succeeded, so it has filled in the place.
                unsafe { place.read() }.is_null()
            }
            _ => false,
        }
    }
}

/// Does what [`After`] says. The places in it are the program's, which HIP has just filled in.
pub(crate) fn apply(after: After, result: &impl CallOutcome) {
    let succeeded = result.succeeded();
    if let After::FatBinary { image } = after {
        // From constructors of libraries, before there is an agent.
        if succeeded {
            REGISTRATIONS.fat_binary(result.handle(), image);
        }
        return;
    }
    let Some(agent) = existing() else {
        return;
    };
    match after {
        After::Nothing | After::AllocatedUntracked { .. } | After::FatBinary { .. } => {}
        After::Freed { start, len, since } => {
            if succeeded {
                let what = Synchronised::Device;
                if let Some(since) = since {
                    agent.observe(&Observed::Synchronise { what, since }, None);
                }
            } else if let Ok(extent) = Extent::with_len(start, len) {
                allocated(agent, extent);
            }
        }
        After::Mapped { start, len } => {
            for extent in Extent::with_len(start, len).map_or_else(|_| Vec::new(), mapped::inside) {
                allocated(agent, extent);
            }
        }
        After::EndedCapture { stream, graph } => {
            // SAFETY: HIP has succeeded, so it has filled in the place.
            let graph = succeeded.then(|| unsafe { graph.read() });
            ended_capture(agent, stream, result.status(), graph);
        }
        After::Reset => {
            if succeeded {
                was_reset(agent);
            }
            agent.control.reset_is_over();
        }
        After::BeganCapture { stream } => {
            if succeeded {
                agent.graphs.began(stream);
                agent.captures.began(stream, thread_id());
            }
        }
        After::BeganCaptureInto { stream, graph } => {
            if succeeded {
                agent.graphs.changed(graph);
                agent.captures.began(stream, thread_id());
            }
        }
        After::Copied { .. } if !succeeded => failed(),
        _ if !succeeded => {}
        After::Allocated { place, bytes } => {
            // SAFETY: HIP has succeeded, so it has filled in the place.
            allocated_at(agent, unsafe { place.read() }, bytes);
        }
        After::AllocatedPitch { place, pitch, rows } => {
            // SAFETY: as above, both places.
            let (address, pitch) = unsafe { (place.read(), pitch.read()) };
            allocated_at(agent, address, pitch.saturating_mul(rows));
        }
        After::AllocatedPitched { place, rows } => {
            // SAFETY: as above.
            let pitched = unsafe { place.read() };
            allocated_at(agent, pitched.ptr, pitched.pitch.saturating_mul(rows));
        }
        After::Exported { address } => exported(agent, address),
        // SAFETY: HIP has filled in the place.
        After::Opened { place } => agent.handles.open(unsafe { place.read() } as u64),
        After::Closed { address } => agent.handles.close(address),
        After::Copied {
            stream,
            since,
            to,
            from,
            bytes,
        } => {
            let what = Synchronised::Copy(stream);
            agent.observe(&Observed::Synchronise { what, since }, None);
            if bytes != 0 {
                copied(agent, to, from, bytes);
            }
        }
        // SAFETY: HIP has filled in the place; the program keeps the image until the call of the
        // wrapper returns.
        After::LoadedImage { place, image } => unsafe { loaded_image(agent, place.read(), image) },
        After::LoadedFile { place, path } => {
            // SAFETY: HIP has read the path and filled in the place.
            let (module, path) = unsafe { (place.read(), CStr::from_ptr(path)) };
            loaded_file(agent, module, path);
        }
        After::FoundFunction {
            place,
            module,
            name,
        } => {
            // SAFETY: HIP has read the name and filled in the place.
            let (function, name) = unsafe { (place.read(), CStr::from_ptr(name)) };
            found_function(agent, module, function, name);
        }
        After::Synchronised { what, since } => {
            agent.observe(&Observed::Synchronise { what, since }, None);
        }
        After::CreatedStream {
            place,
            non_blocking,
        } => {
            // SAFETY: HIP has filled in the place.
            created_stream(agent, unsafe { place.read() }, non_blocking);
        }
        After::InstantiatedGraph { place, graph } => {
            // SAFETY: HIP has filled in the place.
            agent.graphs.instantiated(unsafe { place.read() }, graph);
        }
        After::UpdatedGraph { exec, graph } => agent.graphs.instantiated(exec, graph),
    }
}

/// # Safety
/// The image that HIP has just loaded is still there.
unsafe fn loaded_image(agent: &Agent, module: Module, image: ConstPtr) {
    let target = agent.device.handle.target();
    // SAFETY: as above.
    unsafe { agent.modules.load_image(module.0, image.cast(), target) };
}

fn loaded_file(agent: &Agent, module: Module, path: &CStr) {
    let path = Path::new(std::ffi::OsStr::from_bytes(path.to_bytes()));
    let target = agent.device.handle.target();
    agent.modules.load_file(module.0, path, target);
}

fn found_function(agent: &Agent, module: Module, function: Function, name: &CStr) {
    let kernel: &'static Kernel = agent.modules.kernel(module.0, name);
    KERNELS.insert(function.0, kernel);
    agent.modules.add_handle(module.0, function.0);
}

fn created_stream(agent: &Agent, stream: Stream, non_blocking: bool) {
    let stream = RawStream::of_handle(stream);
    agent.streams.write().push(stream);
    let created = Observed::CreateStream {
        stream,
        non_blocking,
    };
    agent.observe(&created, None);
}

/// `graph` is what it has captured, if it has ended well.
fn ended_capture(agent: &Agent, stream: RawStream, status: Status, graph: Option<Graph>) {
    agent.captures.ended(stream, status);
    if let Some(graph) = graph {
        agent.graphs.captured(stream, graph);
    } else if !agent.is_captured(stream) {
        agent.graphs.nothing_captured(stream);
    }
}

fn was_reset(agent: &Agent) {
    agent.device.registry.clear();
    agent.handles.clear();
    agent.streams.write().clear();
    agent.captures.clear();
    agent.graphs.forget_all();
    if let Some(resources) = agent.device.spare.lock().as_mut() {
        resources.device_was_reset();
    }
    agent.observe(&Observed::Reset, None);
}

fn allocated_at(agent: &Agent, address: Ptr, bytes: usize) {
    // No memory, from a function that says it has succeeded ([`After::gave_nothing`]).
    if address.is_null() {
        return;
    }
    if let Ok(extent) = Extent::with_len(address as u64, bytes as u64) {
        allocated(agent, extent);
    }
}

fn allocated(agent: &Agent, extent: Extent) {
    agent.device.registry.insert(extent);
    let observed = Observed::Allocate {
        start: extent.start(),
        len: extent.len(),
    };
    agent.observe(&observed, None);
}

/// Nobody has the handle before this returns. To a checkpoint that is under way it is as if the memory were freed:
/// its content is safe before anybody else can write it.
fn exported(agent: &Agent, address: u64) {
    let registry = &agent.device.registry;
    let buffer = registry.find(address);
    let known = buffer.or_else(|| agent.handles.exported_at(address));
    // Where it never was tracked it begins, as far as is known, where the handle says.
    let Some(allocation) = known.or_else(|| Extent::with_len(address, 1).ok()) else {
        return;
    };
    agent.handles.export(address, allocation);
    let start = allocation.start();
    if registry.remove(start).is_some() {
        agent.observe(&Observed::Free { start }, None);
    }
}

/// A synchronous copy is over: what is in the source is in the destination. The source is read
/// through the kernel, because it may be device memory that the CPU cannot see.
fn copied(agent: &Agent, to: u64, from: ConstPtr, bytes: usize) {
    let from = from.addr() as u64;
    if bytes as u64 > LONGEST_COPY || bytes > SHORT_COPY && !is_of_pointers(agent, from) {
        return;
    }
    // Not on the stack, which may be as small as 16 KiB.
    let mut content = vec![0; bytes];
    if reach::read(from, &mut content) {
        let mapped = reach::is_mapped(to);
        for (address, bytes) in (to..).step_by(SHORT_COPY).zip(content.chunks(SHORT_COPY)) {
            let observed = Observed::Content {
                address,
                mapped,
                bytes,
            };
            agent.observe(&observed, None);
        }
    }
}

/// Whether what is at an address begins with a pointer into device memory.
fn is_of_pointers(agent: &Agent, address: u64) -> bool {
    let mut first = [0; 8];
    let is_read = reach::read(address, &mut first);
    is_read
        && agent
            .device
            .registry
            .find(u64::from_ne_bytes(first))
            .is_some()
}

/// A call has failed that was announced.
pub(crate) fn failed() {
    if let Some(agent) = existing() {
        agent.observe(&Observed::Failed, None);
    }
}
