//! Where the contents of a process's buffer objects come from: CRIU's own pages files, or the residual and the
//! chunk store of the checkpoint directory.

use strobe_extent::Extent;
use strobe_kfd::client::copier::Piece;
use strobe_kfd::criu::BoBucket;
use strobe_proto::{ByteRange, ChunkRef, Residual, files, frame};
use strobe_store::Checkpoint;

use crate::checkpoint::open_checkpoint;
use crate::exchange::filled_elsewhere;
use crate::images::{Images, Input};
use crate::restore_error::RestoreError;
use strobe_store::contents::{self, ChunkNumber, FileOffset};

/// Where the contents come from.
pub(super) struct Plan {
    pub(super) files: Vec<Stored>,
    pub(super) chunks: Option<Chunks>,
}

/// Contents of one image.
pub(super) struct Stored {
    pub(super) image: Input,
    /// Where the places are counted from.
    pub(super) start: u64,
    /// In the order of their places.
    pub(super) pieces: Vec<Piece<FileOffset>>,
}

/// Contents of the checkpoint's chunk store.
pub(super) struct Chunks {
    pub(super) checkpoint: Checkpoint,
    pub(super) chunks: Vec<ChunkRef>,
    pub(super) pieces: Vec<Piece<ChunkNumber>>,
    /// Those of the extents they make up that the program has allocated, and bytes of a chunk that is not the last one of
    /// its extent.
    pub(super) allocated: Vec<Extent>,
    pub(super) chunk_bytes: u64,
    /// What the program used first after the cut, in this order.
    pub(super) first_use: Vec<Extent>,
}

impl Plan {
    /// Of these GPUs, by the ids that the program knows.
    pub(super) fn read(
        images: &Images,
        id: i32,
        pid: u32,
        buckets: &[BoBucket],
        gpus: &[u32],
    ) -> Result<Self, RestoreError> {
        let elsewhere = filled_elsewhere(images, id)?;
        let mut files = Vec::new();
        let mut left_out = Vec::new();
        for &gpu in gpus {
            let name = files::residual(id, gpu);
            // None was ever streamed.
            if !images.is_stream()
                && let Some(image) = images.open(&name)?
            {
                let (stored, delivered) = residual(image, buckets)?;
                files.push(stored);
                left_out.extend(delivered);
                continue;
            }
            let pieces = contents::whole(buckets, gpu)?;
            let bytes: u64 = pieces.iter().map(|piece| piece.len).sum();
            if bytes == 0 {
                continue;
            }
            let name = files::pages(id, gpu);
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
        let mut plan = Self { files, chunks };
        for stored in &mut plan.files {
            stored.pieces.retain(|piece| !elsewhere.contains(&piece.bo));
        }
        if let Some(chunks) = &mut plan.chunks {
            chunks.pieces.retain(|piece| !elsewhere.contains(&piece.bo));
        }
        Ok(plan)
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
        let process = process.ok_or(RestoreError::UnknownProcess(pid))?;
        let tracked = &process.tracked;
        let first_use = process.first_use.iter().copied().map(Extent::try_from);
        let first_use = first_use.filter_map(Result::ok).collect();
        let delivered: Vec<_> = tracked.iter().filter_map(|t| t.extent).collect();
        contents::check_delivered(left_out, &delivered)?;
        let allocated = tracked.iter().filter(|tracked| tracked.is_allocated);
        let allocated = allocated
            .filter_map(|tracked| Extent::try_from(tracked.extent?).ok())
            .collect();
        let chunk_bytes = checkpoint.manifest().chunk_bytes;
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
            allocated,
            chunk_bytes,
            first_use,
        })
    }
}
