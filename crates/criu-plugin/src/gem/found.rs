//! Where memory of the compute driver is found that this has mapped nowhere itself: HIP's virtual memory management has it
//! allocated without an address, imports it at the render node by which the driver has the process's address space, and
//! maps it there by its handle.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

use nix::sys::stat::fstat;
use strobe_kfd::client::compute::ProcessState;
use strobe_kfd::client::gem;
use strobe_kfd::criu::BoBucket;
use strobe_kfd::render::gem::VmEntry;
use strobe_program::descriptor;
use strobe_proto::amdgpu::KfdDeviceEntry;
use strobe_store::contents::has_content;

use crate::devices::{Device, Devices};
use crate::open_files::is_copy;
use crate::topology;

#[derive(Debug, thiserror::Error)]
pub(crate) enum FoundError {
    #[error("the descriptors of process {pid} cannot be looked at: {error}")]
    Descriptors { pid: u32, error: io::Error },
    #[error("the GPU driver cannot be asked for the buffer objects of process {pid}: {error}")]
    Ask { pid: u32, error: io::Error },
    #[error(
        "the program has {size} bytes of device memory that the compute driver has no address of (HIP's virtual \
         memory management, and hipMallocAsync since ROCm 7; hipMalloc does not), and this kernel does not tell where \
         they are: Linux 6.18 and newer do"
    )]
    NotTold { size: u64 },
}

/// The buffer objects of the process `pid`, as the driver tells them, but those without an address at the one that all of
/// their memory has by a handle. Where that is mapped in parts, more than once or nowhere, they have none.
pub(crate) fn found(
    pid: u32,
    devices: &Devices,
    state: &ProcessState,
    present: &[KfdDeviceEntry],
) -> Result<Vec<BoBucket>, FoundError> {
    let ask = |error| FoundError::Ask { pid, error };
    let mut buckets: Vec<BoBucket> = state.bos.iter().map(|bo| bo.bucket).collect();
    let mut wanted = BTreeMap::new();
    for (index, bo) in state.bos.iter().enumerate() {
        if let Some(content) = &bo.content
            && bo.bucket.addr == 0
            && has_content(&bo.bucket)
        {
            let stat = fstat(content).map_err(|error| ask(error.into()))?;
            wanted.insert((stat.st_dev, stat.st_ino), index);
        }
    }
    let Some(first) = wanted.values().next() else {
        return Ok(buckets);
    };
    let size = buckets[*first].size;
    let mut places: BTreeMap<usize, BTreeSet<(u64, u64, u64)>> = BTreeMap::new();
    let files = files(pid, devices);
    for (file, minor) in files.map_err(|error| FoundError::Descriptors { pid, error })? {
        let file = file.as_fd();
        let handles = gem::handles(file).map_err(ask)?;
        let handles = handles.ok_or(FoundError::NotTold { size })?;
        let mut here = Vec::new();
        for listed in handles {
            // Of the program's own memory there is none.
            let Some(content) = gem::export(file, listed.handle).map_err(ask)? else {
                continue;
            };
            let stat = fstat(&content).map_err(|error| ask(error.into()))?;
            if let Some(bo) = wanted.get(&(stat.st_dev, stat.st_ino)) {
                here.push((*bo, gem::mappings(file, listed.handle).map_err(ask)?));
            }
        }
        let own: BTreeSet<usize> = here.iter().map(|(bo, _)| *bo).collect();
        let gpu = gpu_of(minor, state, present);
        let mut others = buckets.iter().enumerate();
        let others = others
            .find(|(index, bo)| has_content(bo) && Some(bo.gpu_id) == gpu && !own.contains(index));
        // Else it has an address space of its own.
        let is_drivers = match others {
            Some((_, bo)) if !here.is_empty() => {
                gem::is_of_the_driver(file, bo.offset).map_err(ask)?
            }
            _ => false,
        };
        for (bo, mappings) in here.into_iter().filter(|_| is_drivers) {
            let place = |at: VmEntry| (at.addr, at.size, at.offset);
            places
                .entry(bo)
                .or_default()
                .extend(mappings.into_iter().map(place));
        }
    }
    for (bo, places) in places {
        if let Some(&(addr, size, 0)) = places.first()
            && places.len() == 1
            && size == buckets[bo].size
        {
            buckets[bo].addr = addr;
        }
    }
    Ok(buckets)
}

/// The id by which a process knows the GPU of a render node, which has mmap offsets of its own.
fn gpu_of(minor: u32, state: &ProcessState, present: &[KfdDeviceEntry]) -> Option<u32> {
    let mut devices = state.devices.iter();
    let device = devices.find(|device| {
        let here = topology::render_minor(present, device.actual_gpu_id);
        here == Some(minor)
    });
    device.map(|device| device.user_gpu_id)
}

/// The files of render nodes that a process has open, each once, with the numbers of the nodes.
fn files(pid: u32, devices: &Devices) -> io::Result<Vec<(OwnedFd, u32)>> {
    let process = descriptor::open_process(pid)?;
    let own = std::process::id();
    let mut files: Vec<(OwnedFd, u32)> = Vec::new();
    for (number, _) in descriptor::links(pid)? {
        let Ok(meta) = fs::metadata(format!("/proc/{pid}/fd/{number}")) else {
            continue;
        };
        let Some(Device::Render { minor }) = devices.find(meta.rdev()) else {
            continue;
        };
        let file = descriptor::copy_descriptor(&process, number)?;
        let mut known = files.iter();
        if !known.any(|(known, _)| is_copy(own, known.as_raw_fd(), file.as_raw_fd())) {
            files.push((file, minor));
        }
    }
    Ok(files)
}
