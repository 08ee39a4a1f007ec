//! Contents that are filled while the program runs.
//!
//! Of the chunks that the agent has delivered, those of large allocations wait: the agent knows them by their addresses, and
//! keeps every call from them until it hears that they are there. All else, code and `__device__` globals among it, has
//! nobody who would wait for it.

use std::mem;
use std::sync::{Mutex, PoisonError};

use strobe_engine::FillOrder;
use strobe_extent::{ChunkIndex, ChunkMap, Extent};
use strobe_kfd::client::copier::Piece;
use strobe_kfd::criu::BoBucket;
use strobe_store::contents::ChunkNumber;

use super::plan::Chunks;

/// Extents below this are filled before the program runs: they cost less than a wait.
const LEAST_BYTES: u64 = 64 << 10;
/// Extents that wait, at the most: the agent is told of all in one message.
const MOST_EXTENTS: usize = 16 << 10;

/// See the module's documentation.
pub(crate) struct Deferred {
    map: ChunkMap,
    /// By the numbers of the map.
    pieces: Vec<Piece<ChunkNumber>>,
    state: Mutex<State>,
}

struct State {
    /// For each GPU that the program knows.
    orders: Vec<(u32, FillOrder)>,
    /// Filled, and nobody was told.
    arrived: Vec<ChunkIndex>,
    error: Option<String>,
}

impl Deferred {
    /// Takes out of the plan what can wait; `None` where nothing can.
    pub(super) fn take_from(chunks: &mut Chunks, buckets: &[BoBucket]) -> Option<Self> {
        let start = |piece: &Piece<ChunkNumber>| buckets[piece.bo].addr.checked_add(piece.offset);
        let place = |piece: &Piece<ChunkNumber>| Extent::with_len(start(piece)?, piece.len).ok();
        let mut extents: Vec<Extent> = chunks.allocated.clone();
        extents.retain(|extent| extent.len() >= LEAST_BYTES);
        extents.sort_unstable_by_key(|extent| std::cmp::Reverse(extent.len()));
        extents.truncate(MOST_EXTENTS);
        let mut map = ChunkMap::new(extents.iter().copied(), chunks.chunk_bytes).ok()?;
        // A chunk that another process fills, or one of another size, is none that a program could wait for here.
        let mut filled_here = vec![None; map.len()];
        for piece in &chunks.pieces {
            if let Some((chunk, extent)) = place(piece).and_then(|e| Some((find(&map, e)?, e)))
                && map.extent(chunk) == extent
            {
                filled_here[chunk.0 as usize] = Some(*piece);
            }
        }
        let foreign: Vec<Extent> = map
            .iter()
            .filter(|chunk| filled_here[chunk.0 as usize].is_none())
            .map(|chunk| map.region(chunk))
            .collect();
        if !foreign.is_empty() {
            extents.retain(|extent| !foreign.contains(extent));
            map = ChunkMap::new(extents, chunks.chunk_bytes).ok()?;
        }
        if map.is_empty() {
            return None;
        }
        let (waiting, rest): (Vec<_>, Vec<_>) = mem::take(&mut chunks.pieces)
            .into_iter()
            .partition(|piece| place(piece).is_some_and(|extent| find(&map, extent).is_some()));
        chunks.pieces = rest;
        let mut pieces = waiting;
        if pieces.len() != map.len() {
            chunks.pieces.extend(pieces);
            return None;
        }
        pieces.sort_unstable_by_key(&start);
        let mut gpus: Vec<u32> = pieces.iter().map(|p| buckets[p.bo].gpu_id).collect();
        let of_gpus = gpus.clone();
        gpus.sort_unstable();
        gpus.dedup();
        let first = chunks.first_use.iter().flat_map(|used| map.touching(*used));
        let predicted: Vec<ChunkIndex> = first.chain(map.iter()).collect();
        let order = |gpu: u32| {
            let ours = predicted.iter().filter(|c| of_gpus[c.0 as usize] == gpu);
            FillOrder::new(map.len(), ours.copied())
        };
        let state = State {
            orders: gpus.into_iter().map(|gpu| (gpu, order(gpu))).collect(),
            arrived: Vec::new(),
            error: None,
        };
        Some(Self {
            map,
            pieces,
            state: Mutex::new(state),
        })
    }

    /// The chunk of a GPU that is to be filled now.
    pub(super) fn next(&self, gpu: u32) -> Option<ChunkIndex> {
        self.with(|state| state.order(gpu)?.take())
    }

    /// Where it belongs and what it is.
    pub(super) fn piece(&self, chunk: ChunkIndex) -> Piece<ChunkNumber> {
        self.pieces[chunk.0 as usize]
    }

    /// A chunk that was to be filled is, or will never be.
    pub(super) fn ended(&self, gpu: u32, chunk: ChunkIndex, result: Result<(), String>) {
        self.with(|state| match result {
            Ok(()) => {
                if let Some(order) = state.order(gpu) {
                    order.filled(chunk);
                }
                state.arrived.push(chunk);
            }
            Err(error) => {
                state.error.get_or_insert(error);
                state.abandon();
            }
        });
    }

    /// The program waits for this chunk.
    pub(crate) fn ask(&self, chunk: ChunkIndex) {
        self.with(|state| {
            state
                .orders
                .iter_mut()
                .for_each(|(_, order)| order.ask(chunk))
        });
    }

    /// Nobody wants the rest.
    pub(crate) fn abandon(&self) {
        self.with(State::abandon);
    }

    /// The chunks that have been filled since the last call.
    pub(crate) fn take_arrived(&self) -> Vec<ChunkIndex> {
        self.with(|state| mem::take(&mut state.arrived))
    }

    /// Why not all will be filled.
    pub(crate) fn error(&self) -> Option<String> {
        self.with(|state| state.error.clone())
    }

    /// Whether all is filled.
    pub(crate) fn is_complete(&self) -> bool {
        self.with(|state| state.orders.iter().all(|(_, order)| order.is_complete()))
    }

    /// All chunks that wait.
    pub(crate) fn map(&self) -> &ChunkMap {
        &self.map
    }

    fn with<R>(&self, body: impl FnOnce(&mut State) -> R) -> R {
        body(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    fn order(&mut self, gpu: u32) -> Option<&mut FillOrder> {
        let mut orders = self.orders.iter_mut();
        orders.find(|(of, _)| *of == gpu).map(|(_, order)| order)
    }

    fn abandon(&mut self) {
        self.orders
            .iter_mut()
            .for_each(|(_, order)| order.abandon());
    }
}

/// The chunk that begins where `extent` does, if there is one.
fn find(map: &ChunkMap, extent: Extent) -> Option<ChunkIndex> {
    let first = Extent::with_len(extent.start(), 1).ok()?;
    map.touching(first).next()
}
