//! The image of a process's file of the compute driver, as CRIU's own plugin writes it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use strobe_kfd::client::compute::{ProcessInfo, ProcessState};
use strobe_kfd::criu::BoBucket;
use strobe_proto::amdgpu::{CriuKfd, KfdBoEntry, KfdDeviceEntry};

use crate::dump_error::DumpError;
use crate::{links, topology};

/// The thunk's file whose size and first word upstream's image records.
const SHARED_MEMORY: &str = "/dev/shm/hsakmt_shared_mem";
/// A GEM handle that names nothing.
const NO_HANDLE: u32 = u32::MAX;

/// Of a process whose state the driver has told; `present` are the machine's GPUs, and `found_at` has the buffer objects
/// with the addresses that they are found at.
pub(crate) fn kfd_image(
    info: &ProcessInfo,
    state: &ProcessState,
    present: &[KfdDeviceEntry],
    found_at: &[BoBucket],
) -> Result<CriuKfd, DumpError> {
    let mut entries = Vec::new();
    for node in present {
        let mut entry = node.clone();
        if node.gpu_id != 0 {
            // A program may see only some of the machine's GPUs.
            let Some(device) = state
                .devices
                .iter()
                .find(|d| d.actual_gpu_id == node.gpu_id)
            else {
                continue;
            };
            entry.gpu_id = device.user_gpu_id;
        }
        entries.push(entry);
    }
    let there = entries.clone();
    for entry in &mut entries {
        entry.iolinks.retain(|link| links::counts(link, &there));
    }
    for device in &state.devices {
        if topology::render_minor(present, device.actual_gpu_id).is_none() {
            return Err(DumpError::UnknownGpu(device.actual_gpu_id));
        }
    }
    let bo_entries = state
        .bos
        .iter()
        .zip(found_at)
        .map(|(bo, found)| bo_entry(&bo.bucket, found.addr))
        .collect::<Vec<_>>();
    let (shared_mem_size, shared_mem_magic) = shared_memory();
    let gpus = state.devices.len();
    Ok(CriuKfd {
        pid: info.pid,
        num_of_gpus: gpus as u32,
        num_of_cpus: (entries.len() - gpus) as u32,
        device_entries: entries,
        num_of_bos: bo_entries.len() as u64,
        bo_entries,
        num_of_objects: info.objects,
        shared_mem_size,
        shared_mem_magic,
        priv_data: state.private.clone(),
    })
}

fn bo_entry(bo: &BoBucket, found_at: u64) -> KfdBoEntry {
    KfdBoEntry {
        addr: bo.addr,
        size: bo.size,
        offset: bo.offset,
        alloc_flags: bo.alloc_flags,
        gpu_id: bo.gpu_id,
        handle: Some(NO_HANDLE),
        mapped_at: (found_at != bo.addr).then_some(found_at),
    }
}

/// Size and first word of the thunk's file; zeros where there is none.
fn shared_memory() -> (u64, u32) {
    let read = || {
        let file = File::open(SHARED_MEMORY)?;
        let mut magic = [0; 4];
        file.read_exact_at(&mut magic, 0)?;
        Ok::<_, io::Error>((file.metadata()?.len(), u32::from_le_bytes(magic)))
    };
    read().unwrap_or((0, 0))
}
