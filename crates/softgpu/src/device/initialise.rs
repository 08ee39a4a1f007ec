//! A new device.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use zerocopy::IntoBytes;

use super::layout::{memory_bytes, vram_bytes};
use super::tables::{ACCESS_LOG_PATH, GPUS, GpuHeader, Header, MAGIC, VERSION};
use crate::options::Options;

/// Writes the header of a new state device, where each GPU has one of the memory devices; the rest is
/// zero, which is the empty state.
pub(crate) fn initialise(
    state: &File,
    generation: u64,
    options: &Options,
    state_rdev: u64,
    memory_rdevs: &[u64],
) -> io::Result<()> {
    let time = options.time.as_ref();
    let ids = options.gpu_ids.iter();
    let described = ids.zip(memory_rdevs).map(|(id, rdev)| GpuHeader {
        id: *id,
        padding: 0,
        memory_rdev: *rdev,
    });
    let mut gpus = [GpuHeader::default(); GPUS];
    for (place, gpu) in gpus.iter_mut().zip(described) {
        *place = gpu;
    }
    let mut header = Header {
        magic: MAGIC,
        version: VERSION,
        gpu_count: memory_rdevs.len() as u32,
        generation,
        state_rdev,
        gpus,
        vram_bytes: vram_bytes(options),
        memory_bytes: memory_bytes(options),
        large_bar: u32::from(options.large_bar),
        access_log_len: 0,
        links: options.links as u32,
        ipc: u32::from(options.ipc),
        link_bytes_per_s: time.map_or(0, |t| t.link_bytes_per_s),
        peer_bytes_per_s: time.map_or(0, |t| t.peer_bytes_per_s),
        device_bytes_per_s: time.map_or(0, |t| t.device_bytes_per_s),
        kernel_floor_ns: time.map_or(0, |t| t.kernel_floor_ns),
        access_log: [0; ACCESS_LOG_PATH],
        log_launches: u32::from(options.log_launches),
        target: options.model.target.version.kfd(),
        faults: options.faults,
    };
    if let Some(path) = &options.access_log {
        let path = std::path::absolute(path)?;
        let bytes = path.as_os_str().as_encoded_bytes();
        let Some(room) = header.access_log.get_mut(..bytes.len()) else {
            return Err(io::Error::other("the access log's path is too long"));
        };
        room.copy_from_slice(bytes);
        header.access_log_len = bytes.len() as u32;
    }
    state.write_all_at(header.as_bytes(), 0)
}
