//! GPU memory of a checkpoint by its addresses, whichever way it came: delivered by an agent in chunks, saved by the
//! plugin in an image of the residual, or all of it in an image of CRIU's own form.

use crate::checkpoint::Checkpoint;
use crate::contents::{self, ContentsError, FileOffset};
use crate::damage::Damage;
use crate::image::StoredImage;
use crate::pages::PagesError;
use std::collections::BTreeMap;
use strobe_extent::Extent;
use strobe_kfd::client::copier::Piece;
use strobe_kfd::criu::BoBucket;
use strobe_proto::amdgpu::CriuKfd;
use strobe_proto::{ChunkRef, Residual, files};

/// What an image has in one piece is read in such.
const PIECE_BYTES: u64 = 1 << 20;
/// Before the contents in an image of CRIU's own form: how many follow.
const LENGTH_BYTES: u64 = 8;

/// Memory by its first address.
pub type PlacedMemory<'a> = BTreeMap<u64, Stored<'a>>;

/// Some memory, and where its bytes are.
#[derive(Clone, Copy, Debug)]
pub struct Stored<'a> {
    /// How many.
    pub len: u64,
    /// The chunk that they are, if they are one.
    pub chunk: Option<&'a ChunkRef>,
    /// Else the image, and the place in it.
    image: (usize, u64),
}

/// That of all processes.
#[derive(Debug)]
pub struct GpuMemory<'a> {
    checkpoint: &'a Checkpoint,
    images: Vec<StoredImage>,
    processes: BTreeMap<u32, PlacedMemory<'a>>,
}

impl<'a> GpuMemory<'a> {
    /// Finds it; images are checked.
    pub fn of(checkpoint: &'a Checkpoint) -> Result<Self, PagesError> {
        let mut memory = Self {
            checkpoint,
            images: Vec::new(),
            processes: BTreeMap::new(),
        };
        for process in &checkpoint.manifest().processes {
            let placed = memory.processes.entry(process.pid).or_default();
            for tracked in &process.tracked {
                let mut start = tracked.extent.unwrap_or_default().start;
                for chunk in &tracked.chunks {
                    let stored = Stored {
                        len: chunk.len,
                        chunk: Some(chunk),
                        image: (0, 0),
                    };
                    placed.insert(start, stored);
                    start = start.saturating_add(chunk.len);
                }
            }
        }
        for (name, _) in checkpoint.images() {
            if let Some(id) = files::kfd_id(name)
                && let Some(image) = checkpoint.open_image(name)?
            {
                let (kfd, _) = image.message::<CriuKfd>()?;
                for device in kfd.device_entries.iter().filter(|node| node.gpu_id != 0) {
                    memory.add_images(id, device.gpu_id, &kfd)?;
                }
            }
        }
        Ok(memory)
    }

    /// Of each process, by its number.
    pub fn processes(&self) -> &BTreeMap<u32, PlacedMemory<'a>> {
        &self.processes
    }

    /// The bytes; of a chunk, checked.
    pub fn read(&self, stored: &Stored<'_>) -> Result<Vec<u8>, Damage> {
        if let Some(chunk) = stored.chunk {
            return self.checkpoint.read_chunk(chunk);
        }
        let (image, at) = stored.image;
        let mut bytes = vec![0; stored.len as usize];
        self.images[image].read_at(&mut bytes, at)?;
        Ok(bytes)
    }

    /// What the plugin has saved of a GPU.
    fn add_images(&mut self, id: i32, gpu: u32, kfd: &CriuKfd) -> Result<(), PagesError> {
        let buckets = contents::all_found(kfd);
        let [residual, pages] = [files::residual(id, gpu), files::pages(id, gpu)];
        let (name, image, data, pieces) =
            if let Some(image) = self.checkpoint.open_image(&residual)? {
                let (message, data) = image.message::<Residual>()?;
                let pieces = contents::residual_pieces(&buckets, &message.ranges);
                (residual, image, data, pieces)
            } else if let Some(image) = self.checkpoint.open_image(&pages)? {
                let pieces = contents::whole(&buckets, gpu);
                (pages, image, LENGTH_BYTES, pieces)
            } else {
                return Ok(());
            };
        let named = |error| PagesError::Contents {
            image: name.clone(),
            error,
        };
        let pieces = pieces.map_err(named)?;
        if let Some(record) = self.checkpoint.image(&name) {
            self.checkpoint.pass_on(record, |_| Ok::<(), Damage>(()))?;
        }
        let number = self.images.len();
        let placed = self.processes.entry(kfd.pid).or_default();
        // What has no address has none to be compared by.
        let pieces = pieces
            .into_iter()
            .filter(|piece| buckets[piece.bo].addr != 0);
        for piece in pieces {
            let (start, at) = place(&buckets, &piece, data, image.len()).map_err(named)?;
            let mut done = 0;
            while done < piece.len {
                let len = (piece.len - done).min(PIECE_BYTES);
                let stored = Stored {
                    len,
                    chunk: None,
                    image: (number, at + done),
                };
                placed.insert(start + done, stored);
                done += len;
            }
        }
        self.images.push(image);
        Ok(())
    }
}

/// The address of a piece, and its place in the image, of which the contents begin at `data`.
fn place(
    buckets: &[BoBucket],
    piece: &Piece<FileOffset>,
    data: u64,
    image_len: u64,
) -> Result<(u64, u64), ContentsError> {
    let BoBucket { addr, size, .. } = buckets[piece.bo];
    let start = addr.checked_add(piece.offset);
    let bytes = start.and_then(|start| Extent::with_len(start, piece.len).ok());
    let at = data.checked_add(piece.place.0);
    let end = at.and_then(|at| at.checked_add(piece.len));
    match bytes.zip(at) {
        Some((bytes, at)) if end.is_some_and(|end| end <= image_len) => Ok((bytes.start(), at)),
        _ => Err(ContentsError::BufferObject { addr, size }),
    }
}
