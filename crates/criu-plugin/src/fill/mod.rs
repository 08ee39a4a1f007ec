//! Fills restored buffer objects.
//!
//! A [`Fill`] is what one process gets. It is cut into units, which the rings of each GPU take one after the
//! other ([`rings`]): several processes that are filled at a time share a GPU's rings, and their memory.

pub(crate) mod deferred;
mod plan;
pub(crate) mod rings;

pub(crate) use self::rings::open;

use std::mem;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use strobe_extent::ChunkIndex;
use strobe_kfd::client::compute::Bo;
use strobe_kfd::client::copier::{Content, Copier, Piece};
use strobe_kfd::criu::BoBucket;
use strobe_proto::amdgpu::KfdDeviceEntry;

use self::deferred::Deferred;
use self::plan::{Chunks, Plan};
use self::rings::Engine;
use crate::images::Images;
use crate::restore_error::RestoreError;
use crate::threads;
use strobe_store::contents::{ChunkNumber, FileOffset, has_content};

/// Bytes of a unit, as a rule: little enough for all rings to have work to the end, and enough to keep one busy.
const UNIT_BYTES: u64 = 16 << 20;

/// What is to be filled in one process.
pub(crate) struct Request {
    /// The number by which CRIU knows its file of `/dev/kfd`.
    pub(crate) id: i32,
    /// Its own.
    pub(crate) pid: u32,
    pub(crate) bos: Vec<Bo>,
    /// GPUs: the id that the program knows, and that of the one here.
    pub(crate) gpus: Vec<(u32, u32)>,
}

/// Fills the buffer objects of this process here and now, all GPUs at the same time, each through `staging` bytes
/// of memory. Its memory is replaced soon: all threads end here.
pub(crate) fn fill(
    images: &Images,
    request: Request,
    present: &[KfdDeviceEntry],
    staging: u64,
) -> Result<(), RestoreError> {
    let _phase = tracing::debug_span!("fill").entered();
    if images.is_stream() {
        return fill_in_order(images, request, present, staging);
    }
    let engines = request
        .gpus
        .iter()
        .map(|(_, gpu)| Engine::new(*gpu, present, staging));
    let engines: Vec<Engine> = engines.collect::<Result<_, _>>()?;
    let fill = Fill::begin(images, request, false, |gpu, units, _| {
        let engine = engines.iter().find(|engine| engine.gpu() == gpu);
        engine.ok_or(RestoreError::UnknownGpu(gpu))?.add(units);
        Ok(())
    })?;
    engines.iter().for_each(Engine::close);
    let rings = engines
        .iter()
        .flat_map(|engine| (0..engine.rings()).map(move |_| || engine.serve(|| ())));
    let ended: thread::Result<()> = threads::run(rings).into_iter().collect();
    ended.map_err(|_| RestoreError::Thread)?;
    fill.outcome().unwrap_or(Err(RestoreError::Thread))
}

/// The streamer waits until an image is read before it answers for the next one.
fn fill_in_order(
    images: &Images,
    request: Request,
    present: &[KfdDeviceEntry],
    staging: u64,
) -> Result<(), RestoreError> {
    let Request {
        id,
        pid,
        mut bos,
        gpus,
    } = request;
    for (known, here) in gpus {
        let buckets: Vec<BoBucket> = bos.iter().map(|bo| bo.bucket).collect();
        let plan = Plan::read(images, id, pid, &buckets, &[known])?;
        let fill = Arc::new(Fill::new(pid, plan, bos, None));
        let node = open(here, present)?;
        let mut copier = Copier::new(&node, staging)?;
        for unit in fill.units(known) {
            unit.copy(&mut copier)?;
        }
        bos = Arc::into_inner(fill).ok_or(RestoreError::Thread)?.bos;
    }
    Ok(())
}

/// The filling of one process.
pub(crate) struct Fill {
    pid: u32,
    plan: Plan,
    bos: Vec<Bo>,
    /// What is filled while the program runs.
    deferred: Option<Deferred>,
    state: Mutex<State>,
}

struct State {
    /// Units that have not ended.
    left: usize,
    error: Option<RestoreError>,
}

impl Fill {
    fn new(pid: u32, plan: Plan, bos: Vec<Bo>, deferred: Option<Deferred>) -> Self {
        let state = State {
            left: 0,
            error: None,
        };
        Self {
            pid,
            plan,
            bos,
            deferred,
            state: Mutex::new(state),
        }
    }

    /// Finds out where the contents are, and gives `each` GPU here its units. What can wait is in none, if it
    /// may: the rings take it when there is nothing else to do.
    pub(crate) fn begin(
        images: &Images,
        request: Request,
        may_wait: bool,
        mut each: impl FnMut(u32, Vec<Unit>, Option<Waiting>) -> Result<(), RestoreError>,
    ) -> Result<Arc<Self>, RestoreError> {
        let Request { id, pid, bos, gpus } = request;
        let buckets: Vec<BoBucket> = bos.iter().map(|bo| bo.bucket).collect();
        let known: Vec<u32> = gpus.iter().map(|(known, _)| *known).collect();
        let mut plan = Plan::read(images, id, pid, &buckets, &known)?;
        let chunks = plan.chunks.as_mut().filter(|_| may_wait);
        let deferred = chunks.and_then(|chunks| Deferred::take_from(chunks, &buckets));
        let fill = Arc::new(Self::new(pid, plan, bos, deferred));
        let all: Vec<_> = gpus
            .iter()
            .map(|(known, here)| (*known, *here, fill.units(*known)))
            .collect();
        fill.with(|state| state.left = all.iter().map(|(.., units)| units.len()).sum());
        for (known, gpu, units) in all {
            let waiting = fill.deferred.is_some().then(|| Waiting {
                fill: Arc::clone(&fill),
                gpu: known,
            });
            each(gpu, units, waiting)?;
        }
        Ok(fill)
    }

    /// The process's own number.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// What is filled while the program runs.
    pub(crate) fn deferred(&self) -> Option<&Deferred> {
        self.deferred.as_ref()
    }

    /// How all else has ended; `None` while it has not. An error is told once.
    pub(crate) fn outcome(&self) -> Option<Result<(), RestoreError>> {
        self.with(|state| (state.left == 0).then(|| state.error.take().map_or(Ok(()), Err)))
    }

    fn with<R>(&self, body: impl FnOnce(&mut State) -> R) -> R {
        body(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// All contents of the GPU that the program knows by this id.
    fn units(self: &Arc<Self>, gpu: u32) -> Vec<Unit> {
        let is_ours = |bo: usize| self.bos[bo].bucket.gpu_id == gpu;
        let mut units = Vec::new();
        let mut add = |part| {
            let fill = Arc::clone(self);
            units.push(Unit { fill, part });
        };
        for (file, stored) in self.plan.files.iter().enumerate() {
            let ours = stored.pieces.iter().filter(|piece| is_ours(piece.bo));
            for pieces in cut(ours.flat_map(parts)) {
                add(Part::Stored { file, pieces });
            }
        }
        if let Some(chunks) = &self.plan.chunks {
            let ours = chunks.pieces.iter().filter(|piece| is_ours(piece.bo));
            cut(ours.copied())
                .into_iter()
                .for_each(|pieces| add(Part::Chunks(pieces)));
        }
        units
    }

    fn contents(&self) -> Vec<Option<Content<'_>>> {
        self.bos.iter().map(content).collect()
    }
}

fn content(bo: &Bo) -> Option<Content<'_>> {
    let with_content = |bo: &&Bo| has_content(&bo.bucket);
    let dmabuf = Some(bo).filter(with_content)?.content.as_ref()?.as_fd();
    let size = bo.bucket.size;
    Some(Content { dmabuf, size })
}

/// A piece of an image, in parts of no more than a unit has.
fn parts(piece: &Piece<FileOffset>) -> impl Iterator<Item = Piece<FileOffset>> + use<> {
    let piece = *piece;
    (0..piece.len.div_ceil(UNIT_BYTES)).map(move |number| {
        let start = number * UNIT_BYTES;
        Piece {
            offset: piece.offset + start,
            len: (piece.len - start).min(UNIT_BYTES),
            place: FileOffset(piece.place.0.saturating_add(start)),
            ..piece
        }
    })
}

/// Pieces by units, in their order.
fn cut<P>(pieces: impl Iterator<Item = Piece<P>>) -> Vec<Vec<Piece<P>>> {
    let mut units = Vec::new();
    let (mut unit, mut bytes) = (Vec::new(), 0);
    for piece in pieces {
        if bytes + piece.len > UNIT_BYTES && !unit.is_empty() {
            units.push(mem::take(&mut unit));
            bytes = 0;
        }
        bytes += piece.len;
        unit.push(piece);
    }
    if !unit.is_empty() {
        units.push(unit);
    }
    units
}

/// A part of a fill that one ring does.
pub(crate) struct Unit {
    fill: Arc<Fill>,
    part: Part,
}

enum Part {
    /// Of the image of this index.
    Stored {
        file: usize,
        pieces: Vec<Piece<FileOffset>>,
    },
    Chunks(Vec<Piece<ChunkNumber>>),
    /// Of a GPU that the program knows by this id.
    Deferred {
        gpu: u32,
        chunk: ChunkIndex,
    },
}

/// What of a fill waits on one GPU.
pub(crate) struct Waiting {
    fill: Arc<Fill>,
    /// By the id that the program knows.
    gpu: u32,
}

impl Waiting {
    /// The chunk that comes next, if any is left.
    fn next(&self) -> Option<Unit> {
        let gpu = self.gpu;
        let chunk = self.fill.deferred.as_ref()?.next(gpu)?;
        Some(Unit {
            fill: Arc::clone(&self.fill),
            part: Part::Deferred { gpu, chunk },
        })
    }
}

impl Unit {
    /// The program runs before it is done.
    fn can_wait(&self) -> bool {
        matches!(self.part, Part::Deferred { .. })
    }

    /// Does it, unless its fill has failed already.
    fn run(self, copier: &mut Copier<'_>) {
        let failed = self.fill.with(|state| state.error.is_some());
        let copied = || self.copy(copier);
        let result = match failed {
            true => Ok(()),
            false => catch_unwind(AssertUnwindSafe(copied)).unwrap_or(Err(RestoreError::Thread)),
        };
        self.end(result);
    }

    fn end(self, result: Result<(), RestoreError>) {
        if let (Part::Deferred { gpu, chunk }, Some(deferred)) = (&self.part, &self.fill.deferred) {
            deferred.ended(*gpu, *chunk, result.map_err(|error| error.to_string()));
            return;
        }
        self.fill.with(|state| {
            state.left -= 1;
            if let Err(error) = result {
                state.error.get_or_insert(error);
            }
        });
    }

    fn copy(&self, copier: &mut Copier<'_>) -> Result<(), RestoreError> {
        let plan = &self.fill.plan;
        match (&self.part, &plan.chunks) {
            (Part::Stored { file, pieces }, _) => {
                let contents = self.fill.contents();
                let stored = &plan.files[*file];
                copier.copy_in(&contents, pieces, |piece, offset, bytes| {
                    let place = pieces[piece].place.0.saturating_add(offset);
                    let place = stored.start.saturating_add(place);
                    stored
                        .image
                        .read_at(bytes, place)
                        .map_err(RestoreError::from)
                })
            }
            (Part::Chunks(pieces), Some(chunks)) => {
                copy_chunks(copier, &self.fill.contents(), chunks, pieces)
            }
            (Part::Deferred { chunk, .. }, Some(chunks)) => {
                let deferred = self.fill.deferred.as_ref();
                let piece = deferred.ok_or(RestoreError::Thread)?.piece(*chunk);
                // Of many buffer objects only one is of interest.
                let content = content(&self.fill.bos[piece.bo]);
                copy_chunks(copier, &[content], chunks, &[Piece { bo: 0, ..piece }])
            }
            (Part::Chunks(_) | Part::Deferred { .. }, None) => Err(RestoreError::NoCheckpoint),
        }
    }
}

fn copy_chunks(
    copier: &mut Copier<'_>,
    contents: &[Option<Content<'_>>],
    chunks: &Chunks,
    pieces: &[Piece<ChunkNumber>],
) -> Result<(), RestoreError> {
    let mut current = (usize::MAX, Vec::new());
    copier.copy_in(contents, pieces, |piece, offset, bytes| {
        if current.0 != piece {
            let chunk = &chunks.chunks[pieces[piece].place.0];
            current = (piece, chunks.checkpoint.read_chunk(chunk)?);
        }
        let rest = current.1.get(offset as usize..);
        let part = rest.and_then(|rest| rest.get(..bytes.len()));
        let short = || RestoreError::ShortChunk(current.1.len());
        bytes.copy_from_slice(part.ok_or_else(short)?);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_have_every_byte_once_and_are_no_larger_than_they_may_be() {
        let lens = [7, 3 * UNIT_BYTES + 5, UNIT_BYTES, 0, 1, UNIT_BYTES - 1, 9];
        let mut end = 0;
        let pieces: Vec<_> = lens
            .iter()
            .enumerate()
            .map(|(bo, &len)| {
                let place = FileOffset(end);
                end += len;
                Piece {
                    bo,
                    offset: 4096,
                    len,
                    place,
                }
            })
            .collect();
        let units = cut(pieces.iter().flat_map(parts));
        let mut at = 0;
        for unit in &units {
            assert!(!unit.is_empty());
            assert!(unit.iter().map(|piece| piece.len).sum::<u64>() <= UNIT_BYTES);
            for piece in unit {
                assert_eq!(piece.place.0, at, "a gap");
                assert_eq!(piece.offset - 4096, at - pieces[piece.bo].place.0);
                at += piece.len;
            }
        }
        assert_eq!(at, end);
    }
}
