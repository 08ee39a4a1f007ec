//! The access log: what each dispatch really read and wrote.
//!
//! One JSON object a line, appended to the file named in the device header, all numbers decimal:
//! `{"pid":1,"queue":2,"packet":3,"kernel_object":4,"descriptor":"hex bytes",
//! "kernarg_address":5,"kernarg":"hex bytes","workgroup":[x,y,z],"grid":[x,y,z],"private_segment_size":6,"group_segment_size":7,
//! "reads":[[start,end],...],"writes":[[start,end],...]}`
//! `queue` is the address of the queue's `amd_queue_t`; extents are half-open ranges of GPU virtual
//! addresses. `descriptor` is what `kernel_object` points to; `kernarg` is as long as the kernel descriptor says, read when the dispatch has ended.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use strobe_code_object::DESCRIPTOR_SIZE;

use super::memory::translate;
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

/// Appends one line; several processes may append to one file.
pub(super) fn record(
    device: &Device,
    space: &Snapshot,
    queue: u64,
    dispatch: &Dispatch,
    mut accesses: AccessLog,
) {
    let Some(path) = path(device) else { return };
    let line = line(space, queue, dispatch, &mut accesses);
    let written = OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .and_then(|mut file| file.write_all(line.as_bytes()));
    if let Err(error) = written {
        report(&format!(
            "cannot write the access log {}: {error}",
            path.display()
        ));
    }
}

fn line(space: &Snapshot, queue: u64, dispatch: &Dispatch, accesses: &mut AccessLog) -> String {
    let packet = &dispatch.packet;
    let pid = std::process::id();
    let descriptor = hex(space, packet.kernel_object, DESCRIPTOR_SIZE as u32);
    let kernarg = hex(
        space,
        packet.kernarg_address,
        dispatch.descriptor.kernarg_size.min(1 << 16),
    );
    let reads = extents(accesses.reads());
    let writes = extents(accesses.writes());
    let ([wx, wy, wz], [gx, gy, gz]) = (packet.workgroup_size, packet.grid_size);
    format!(
        "{{\"pid\":{pid},\"queue\":{queue},\"packet\":{},\"kernel_object\":{},\
         \"descriptor\":\"{descriptor}\",\"kernarg_address\":{},\"kernarg\":\"{kernarg}\",\
         \"workgroup\":[{wx},{wy},{wz}],\"grid\":[{gx},{gy},{gz}],\"private_segment_size\":{},\"group_segment_size\":{},\
         \"reads\":[{reads}],\"writes\":[{writes}]}}\n",
        dispatch.dispatch_id,
        packet.kernel_object,
        packet.kernarg_address,
        packet.private_segment_size,
        packet.group_segment_size,
    )
}

/// The bytes at `va`; none if they are not mapped.
fn hex(space: &Snapshot, va: u64, bytes: u32) -> String {
    let mut text = String::new();
    if let Some(host) = translate(space, va, u64::from(bytes)) {
        for index in 0..bytes as usize {
            // SAFETY: translated for `bytes` bytes.
            let byte = unsafe { host.add(index).read() };
            let _ = write!(text, "{byte:02x}");
        }
    }
    text
}

fn extents(extents: &[AccessedRange]) -> String {
    let texts: Vec<_> = extents
        .iter()
        .map(|extent| format!("[{},{}]", extent.start, extent.end))
        .collect();
    texts.join(",")
}
