//! The access log: what each dispatch really read and wrote.
//!
//! One JSON object a line, appended to the file named in the device header, all numbers decimal:
//! `{"pid":1,"queue":2,"packet":3,"kernel_object":4,"descriptor":"hex bytes",
//! "kernarg_address":5,"kernarg":"hex bytes","workgroup":[x,y,z],"grid":[x,y,z],"private_segment_size":6,"group_segment_size":7,
//! "reads":[[start,end],...],"writes":[[start,end],...]}`
//! `queue` is the address of the queue's `amd_queue_t`; extents are half-open ranges of GPU virtual
//! addresses. `descriptor` is what `kernel_object` points to; `kernarg` is as long as the kernel descriptor says, read when the dispatch has ended.
//! Where it is wanted, there is also what the dispatch was given: [`super::given`].

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use strobe_code_object::DESCRIPTOR_SIZE;

use super::given::{self, Logged, bytes, hex};
use crate::device::Device;
use crate::report::report;
use crate::space::Snapshot;
use crate::wave::{AccessLog, AccessedRange, Dispatch};

/// Where to log, if anywhere.
pub(super) fn path(device: &Device) -> Option<&Path> {
    let header = device.header();
    let bytes = header.access_log.get(..header.access_log_len as usize)?;
    (!bytes.is_empty()).then(|| Path::new(OsStr::from_bytes(bytes)))
}

/// What the log will have of dispatches that were evicted. It is no part of the device, which has no log on hardware:
/// where a program is restored, its memory has it.
#[derive(Debug, Default)]
pub(super) struct Unlogged(Mutex<Vec<(Entry, AccessLog)>>);

impl Unlogged {
    fn lock(&self) -> MutexGuard<'_, Vec<(Entry, AccessLog)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn keep(&self, entry: Entry, accesses: AccessLog) {
        self.lock().push((entry, accesses));
    }

    /// What is known of packet `index` of a queue.
    pub(super) fn take(&self, queue: u64, index: u64) -> Option<(Entry, AccessLog)> {
        let mut all = self.lock();
        let is_it =
            |(entry, _): &(Entry, _)| (entry.queue, entry.dispatch.dispatch_id) == (queue, index);
        let place = all.iter().position(is_it)?;
        Some(all.swap_remove(place))
    }
}

/// A dispatch that is to be logged, as it was before it ran.
#[derive(Debug)]
pub(super) struct Entry {
    queue: u64,
    gpu: usize,
    dispatch: Dispatch,
    /// What stood behind its pointers, if that is wanted.
    behind: Option<String>,
}

impl Entry {
    /// None if there is no log.
    pub(super) fn of(
        device: &Device,
        space: &Snapshot,
        gpu: usize,
        queue: u64,
        dispatch: &Dispatch,
    ) -> Option<Self> {
        path(device)?;
        let wanted = device.header().log_launches != 0;
        Some(Self {
            queue,
            gpu,
            dispatch: *dispatch,
            behind: wanted.then(|| given::behind(space, dispatch)),
        })
    }

    /// Appends its line; several processes may append to one file.
    pub(super) fn record(
        self,
        device: &Device,
        logged: &Mutex<Logged>,
        space: &Snapshot,
        mut accesses: AccessLog,
    ) {
        let Some(path) = path(device) else { return };
        let line = self.line(space, &mut accesses);
        // Held while it is written: lines of other queues stand before what they need, or behind it.
        let mut logged = logged.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match self.behind {
            Some(_) => logged.lines(self.gpu, space, &self.dispatch),
            None => String::new(),
        };
        let written = OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .and_then(|mut file| file.write_all((before + &line).as_bytes()));
        if let Err(error) = written {
            report(&format!(
                "cannot write the access log {}: {error}",
                path.display()
            ));
        }
    }

    fn line(&self, space: &Snapshot, accesses: &mut AccessLog) -> String {
        let packet = &self.dispatch.packet;
        let pid = std::process::id();
        let text = |va, len| hex(bytes(space, va, len).unwrap_or_default());
        let descriptor = text(packet.kernel_object, DESCRIPTOR_SIZE as u64);
        let kernarg = given::kernarg_len(space, &self.dispatch, self.behind.is_some());
        let kernarg = text(packet.kernarg_address, kernarg);
        let behind = match &self.behind {
            Some(behind) => format!("\"behind\":[{behind}],"),
            None => String::new(),
        };
        let reads = extents(accesses.reads());
        let writes = extents(accesses.writes());
        let ([wx, wy, wz], [gx, gy, gz]) = (packet.workgroup_size, packet.grid_size);
        format!(
            "{{\"pid\":{pid},\"queue\":{},\"packet\":{},\"kernel_object\":{},\
             \"descriptor\":\"{descriptor}\",\"kernarg_address\":{},\"kernarg\":\"{kernarg}\",\
             \"workgroup\":[{wx},{wy},{wz}],\"grid\":[{gx},{gy},{gz}],\"private_segment_size\":{},\"group_segment_size\":{},\
             {behind}\"reads\":[{reads}],\"writes\":[{writes}]}}\n",
            self.queue,
            self.dispatch.dispatch_id,
            packet.kernel_object,
            packet.kernarg_address,
            packet.private_segment_size,
            packet.group_segment_size,
        )
    }
}

fn extents(extents: &[AccessedRange]) -> String {
    let texts: Vec<_> = extents
        .iter()
        .map(|extent| format!("[{},{}]", extent.start, extent.end))
        .collect();
    texts.join(",")
}
