//! Contents of buffer objects on their way out: into files, or aside inside the device.
//!
//! The program is frozen meanwhile. What lies in system memory is read by the CPU; only what the CPU
//! cannot see goes over the link.

use std::os::fd::AsFd;

use strobe_kfd::client::compute::{Bo, ProcessState};
use strobe_kfd::client::copier::{self, Content, Copier, Piece};
use strobe_kfd::client::render::{RenderNode, SystemMemory};
use strobe_kfd::criu::DeviceBucket;
use strobe_kfd::memory::GTT;
use strobe_proto::amdgpu::KfdDeviceEntry;

use crate::devices;
use crate::dump_error::DumpError;
use crate::images::Output;
use crate::promise::Aside;
use crate::threads;
use crate::topology;
use strobe_store::contents::{FileOffset, has_content};

/// Bytes read from system memory at a time, at most.
const READ_BYTES: u64 = 1 << 20;

/// What one GPU's buffer objects add to an image.
pub(crate) struct Job {
    pub(crate) device: DeviceBucket,
    /// In the order of their places.
    pub(crate) pieces: Vec<Piece<FileOffset>>,
    pub(crate) image: Output,
    /// Where the pieces' places count from.
    pub(crate) start: u64,
}

/// Does the jobs of all GPUs at the same time, each with `staging` bytes of memory.
pub(crate) fn save(
    jobs: Vec<Job>,
    bos: &[Bo],
    present: &[KfdDeviceEntry],
    staging: u64,
) -> Result<(), DumpError> {
    let bodies = jobs
        .into_iter()
        .map(|job| || save_gpu(job, bos, present, staging));
    threads::run(bodies)
        .into_iter()
        .map(|saved| saved.unwrap_or(Err(DumpError::Thread)))
        .fold(Ok(()), Result::and)
}

fn save_gpu(
    job: Job,
    bos: &[Bo],
    present: &[KfdDeviceEntry],
    staging: u64,
) -> Result<(), DumpError> {
    let Job {
        device,
        pieces,
        mut image,
        start,
    } = job;
    let mut seen: Vec<_> = pieces
        .into_iter()
        .map(|piece| (system_memory(&bos[piece.bo]), piece))
        .collect();
    if !image.is_streamed() {
        // So that the device is not waited for between what the CPU reads.
        seen.sort_by_key(|(memory, _)| memory.is_none());
    }
    let mut write = |piece: &Piece<FileOffset>, offset: u64, bytes: &[u8]| {
        let place = start + piece.place.0 + offset;
        image.write_at(bytes, place).map_err(DumpError::from)
    };
    let node = open(&device, present)?;
    let mut copier = None;
    for run in seen.chunk_by(|one, next| one.0.is_none() && next.0.is_none()) {
        if let (Some(memory), piece) = &run[0] {
            let most = staging.min(READ_BYTES);
            read(memory, piece, most, |offset, bytes| {
                write(piece, offset, bytes)
            })?;
            continue;
        }
        let copier = match &mut copier {
            Some(copier) => copier,
            none => none.insert(Copier::new(&node, staging)?),
        };
        let pieces: Vec<_> = run.iter().map(|(_, piece)| *piece).collect();
        copier.copy_out(&contents(bos), &pieces, &mut write)?;
    }
    Ok(())
}

/// Copies content into the agent's room, inside the device.
pub(crate) fn copy_aside(
    aside: &Aside,
    state: &ProcessState,
    present: &[KfdDeviceEntry],
) -> Result<(), DumpError> {
    if aside.pieces.is_empty() {
        return Ok(());
    }
    let gpu = state.bos[aside.room_bo].bucket.gpu_id;
    let device = state.devices.iter().find(|d| d.user_gpu_id == gpu);
    let node = open(device.ok_or(DumpError::UnknownGpu(gpu))?, present)?;
    copier::copy_inside(&node, &contents(&state.bos), &aside.pieces, aside.room_bo)?;
    Ok(())
}

fn open(device: &DeviceBucket, present: &[KfdDeviceEntry]) -> Result<RenderNode, DumpError> {
    let gpu = device.actual_gpu_id;
    let minor = topology::render_minor(present, gpu).ok_or(DumpError::UnknownGpu(gpu))?;
    let path = devices::render_path(minor);
    RenderNode::open(&path).map_err(|error| DumpError::RenderNode { path, error })
}

fn contents(bos: &[Bo]) -> Vec<Option<Content<'_>>> {
    bos.iter()
        .map(|bo| {
            let dmabuf = bo.content.as_ref()?.as_fd();
            has_content(&bo.bucket).then_some(Content {
                dmabuf,
                size: bo.bucket.size,
            })
        })
        .collect()
}

/// The content of a buffer object in system memory; `None` where the CPU may not see it.
fn system_memory(bo: &Bo) -> Option<SystemMemory> {
    let dmabuf = bo
        .content
        .as_ref()
        .filter(|_| bo.bucket.alloc_flags & GTT != 0)?;
    SystemMemory::map(dmabuf.as_fd(), usize::try_from(bo.bucket.size).ok()?).ok()
}

fn read(
    memory: &SystemMemory,
    piece: &Piece<FileOffset>,
    most: u64,
    mut sink: impl FnMut(u64, &[u8]) -> Result<(), DumpError>,
) -> Result<(), DumpError> {
    let mut bytes = vec![0; piece.len.min(most) as usize];
    let mut done = 0;
    while done < piece.len {
        let part = &mut bytes[..(piece.len - done).min(most) as usize];
        memory.read((piece.offset + done) as usize, part);
        sink(done, part)?;
        done += part.len() as u64;
    }
    Ok(())
}
