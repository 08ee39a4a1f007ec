//! Fills restored buffer objects: from CRIU's own pages files, or from the residual and the chunk
//! store of the checkpoint directory.
//!
//! This runs in the process being restored, whose memory is replaced soon: all threads end here.

use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use strobe_kfd::client::compute::Bo;
use strobe_kfd::client::copier::{Content, Copier, Piece};
use strobe_kfd::client::render::RenderNode;
use strobe_kfd::criu::{BoBucket, DeviceBucket};
use strobe_proto::amdgpu::KfdDeviceEntry;
use strobe_proto::{ByteRange, ChunkRef, Residual, files, frame};
use strobe_store::{Checkpoint, Damage};

use crate::contents::{self, ChunkNumber, FileOffset, has_content};
use crate::devices;
use crate::images::{Images, Input};
use crate::restore::{RestoreError, open_checkpoint};
use crate::signals::without_signals;

/// Threads that read chunks for one GPU, and how many each is ahead.
const READERS: usize = 4;
const READ_AHEAD: usize = 4;

/// Fills the buffer objects of a process, if possible all GPUs at the same time, each through `staging` bytes
/// of memory.
pub(crate) fn fill(
    images: &Images,
    id: i32,
    pid: u32,
    bos: &[Bo],
    devices: &[DeviceBucket],
    present: &[KfdDeviceEntry],
    staging: u64,
) -> Result<(), RestoreError> {
    let _phase = tracing::debug_span!("fill").entered();
    let buckets: Vec<BoBucket> = bos.iter().map(|bo| bo.bucket).collect();
    if images.is_stream() {
        // The streamer waits until an image is read before it answers for the next one.
        return devices.iter().try_for_each(|device| {
            let plan = Plan::read(images, id, pid, &buckets, std::slice::from_ref(device))?;
            fill_gpu(&plan, device, bos, present, staging)
        });
    }
    let plan = Plan::read(images, id, pid, &buckets, devices)?;
    thread::scope(|scope| {
        let started = devices
            .iter()
            .map(|device| scope.spawn(|| fill_gpu(&plan, device, bos, present, staging)));
        let threads: Vec<_> = without_signals(|| started.collect());
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or(Err(RestoreError::Thread)))
            .fold(Ok(()), Result::and)
    })
}

/// Where the contents come from.
struct Plan {
    files: Vec<Stored>,
    chunks: Option<Chunks>,
}

/// Contents of one image.
struct Stored {
    image: Input,
    start: u64,
    /// In the order of their places.
    pieces: Vec<Piece<FileOffset>>,
}

/// Contents of the checkpoint's chunk store.
struct Chunks {
    checkpoint: Checkpoint,
    chunks: Vec<ChunkRef>,
    pieces: Vec<Piece<ChunkNumber>>,
}

impl Plan {
    fn read(
        images: &Images,
        id: i32,
        pid: u32,
        buckets: &[BoBucket],
        devices: &[DeviceBucket],
    ) -> Result<Self, RestoreError> {
        let mut files = Vec::new();
        let mut left_out = Vec::new();
        for device in devices {
            let name = files::residual(id, device.user_gpu_id);
            // None was ever streamed.
            if !images.is_stream()
                && let Some(image) = images.open(&name)?
            {
                let (stored, delivered) = residual(image, buckets)?;
                files.push(stored);
                left_out.extend(delivered);
                continue;
            }
            let pieces = contents::whole(buckets, device.user_gpu_id);
            let bytes: u64 = pieces.iter().map(|piece| piece.len).sum();
            if bytes == 0 {
                continue;
            }
            let name = files::pages(id, device.user_gpu_id);
            let image = images
                .open(&name)?
                .ok_or_else(|| RestoreError::MissingImage(name.clone()))?;
            let found = frame::read_image_len(&mut image.next()).map_err(|e| image.error(e))?;
            if found != bytes {
                return Err(RestoreError::PagesLength(name, found, bytes));
            }
            files.push(Stored {
                image,
                start: size_of_val(&found) as u64,
                pieces,
            });
        }
        let chunks = match left_out.as_slice() {
            [] => None,
            left_out => Some(Chunks::find(images, pid, left_out, buckets)?),
        };
        Ok(Self { files, chunks })
    }
}

/// A residual image, and what it leaves to the chunks.
fn residual(image: Input, buckets: &[BoBucket]) -> Result<(Stored, Vec<ByteRange>), RestoreError> {
    let residual: Residual = frame::read_image(&mut image.next()).map_err(|e| image.error(e))?;
    let start = image.position()?;
    let stored = Stored {
        image,
        start,
        pieces: contents::residual_pieces(buckets, &residual.ranges)?,
    };
    Ok((stored, residual.tracked))
}

impl Chunks {
    fn find(
        images: &Images,
        pid: u32,
        left_out: &[ByteRange],
        buckets: &[BoBucket],
    ) -> Result<Self, RestoreError> {
        let checkpoint = open_checkpoint(images)?.ok_or(RestoreError::NoCheckpoint)?;
        let mut processes = checkpoint.manifest().processes.iter();
        let process = processes.find(|process| process.pid == pid);
        let tracked = &process.ok_or(RestoreError::UnknownProcess(pid))?.tracked;
        let delivered: Vec<_> = tracked.iter().filter_map(|t| t.extent).collect();
        contents::check_delivered(left_out, &delivered)?;
        let mut chunks = Vec::new();
        let mut places = Vec::new();
        for extent in tracked {
            let mut at = extent.extent.unwrap_or_default().start;
            for chunk in &extent.chunks {
                places.push((at, chunk.len));
                at = at.saturating_add(chunk.len);
                chunks.push(chunk.clone());
            }
        }
        let pieces = contents::chunk_pieces(buckets, places.into_iter())?;
        Ok(Self {
            checkpoint,
            chunks,
            pieces,
        })
    }
}

fn fill_gpu(
    plan: &Plan,
    device: &DeviceBucket,
    bos: &[Bo],
    present: &[KfdDeviceEntry],
    staging: u64,
) -> Result<(), RestoreError> {
    let is_ours = |bo: usize| bos[bo].bucket.gpu_id == device.user_gpu_id;
    let entry = present
        .iter()
        .find(|node| node.gpu_id == device.actual_gpu_id)
        .ok_or(RestoreError::UnknownGpu(device.actual_gpu_id))?;
    let path = devices::render_path(entry.drm_render_minor);
    let node = RenderNode::open(&path).map_err(|error| RestoreError::RenderNode { path, error })?;
    let contents: Vec<Option<Content<'_>>> = bos
        .iter()
        .map(|bo| {
            let dmabuf = bo.content.as_ref()?.as_fd();
            has_content(&bo.bucket).then_some(Content {
                dmabuf,
                size: bo.bucket.size,
            })
        })
        .collect();
    let mut copier = Copier::new(&node, staging)?;
    for stored in &plan.files {
        let ours = stored.pieces.iter().filter(|piece| is_ours(piece.bo));
        let pieces: Vec<_> = ours.copied().collect();
        copier.copy_in(&contents, &pieces, |piece, offset, bytes| {
            let place = stored.start + pieces[piece].place.0 + offset;
            stored
                .image
                .read_at(bytes, place)
                .map_err(RestoreError::from)
        })?;
    }
    if let Some(chunks) = &plan.chunks {
        let ours = chunks.pieces.iter().filter(|piece| is_ours(piece.bo));
        let pieces: Vec<_> = ours.copied().collect();
        fill_from_chunks(&mut copier, &contents, &pieces, chunks)?;
    }
    Ok(())
}

/// Some threads read ahead, each every so manyth chunk; this one hands them to the engine in order.
fn fill_from_chunks(
    copier: &mut Copier<'_>,
    contents: &[Option<Content<'_>>],
    pieces: &[Piece<ChunkNumber>],
    chunks: &Chunks,
) -> Result<(), RestoreError> {
    thread::scope(|scope| {
        let readers: Vec<Receiver<Result<Vec<u8>, Damage>>> = (0..READERS)
            .map(|reader| {
                let (sender, receiver) = sync_channel(READ_AHEAD);
                scope.spawn(move || {
                    for piece in pieces.iter().skip(reader).step_by(READERS) {
                        let chunk = &chunks.chunks[piece.place.0];
                        // The other end is gone when the copy has failed.
                        if sender.send(chunks.checkpoint.read_chunk(chunk)).is_err() {
                            break;
                        }
                    }
                });
                receiver
            })
            .collect();
        let mut current = (usize::MAX, Vec::new());
        copier.copy_in(contents, pieces, |piece, offset, bytes| {
            if current.0 != piece {
                let chunk = readers[piece % READERS]
                    .recv()
                    .map_err(|_| RestoreError::Thread)?;
                current = (piece, chunk?);
            }
            let part = current
                .1
                .get(offset as usize..)
                .and_then(|rest| rest.get(..bytes.len()));
            let short = || RestoreError::ShortChunk(current.1.len());
            bytes.copy_from_slice(part.ok_or_else(short)?);
            Ok::<(), RestoreError>(())
        })
    })
}
