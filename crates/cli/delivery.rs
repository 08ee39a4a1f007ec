//! Chunks on their way from the program's memory into the store.
//!
//! The agent copies GPU memory into a ring in the program's memory and tells us which slot holds
//! what. One thread empties slots, so that the agent never waits for the disk as long as there is
//! room; the other stores. What has to arrive is known before: every chunk of every extent the
//! agent promised, once.
//!
//! A chunk of which the agent says that it is what it was at an earlier checkpoint comes from there.
//!
//! Where the agent says what a chunk's fingerprint was at the cut, it is compared with that of the
//! bytes that are stored: what differs was overwritten before it was copied.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, anyhow, bail, ensure};
use indicatif::ProgressBar;
use strobe_extent::{ChunkMap, Extent};
use strobe_fingerprint::Fingerprint;
use strobe_program::agent::{self, RemoteAgent};
use strobe_proto::{
    ByteRange, ChunkOrigin, ChunkReady, ChunkRef, Done, GpuProcess, KnownChunk, KnownChunks, Ring,
    SlotFree, Statistics, TrackedExtent, Unchanged, from_agent, to_agent,
};
use strobe_store::{Checkpoint, CheckpointWriter};

use crate::course::OfProcess;
use crate::link::Link;
use crate::progress;
use crate::tree::gone;

const NONSENSE: &str = "the agent promises or delivers what makes no sense";
/// Chunks that wait to be stored.
const BACKLOG: usize = 32;
/// Chunks that are named in one message.
const PIECE: usize = 8192;

/// The chunks that have to arrive.
#[derive(Debug)]
pub(crate) struct Expected {
    map: ChunkMap,
    /// Of the regions that the program has not allocated, where they begin.
    set_aside: HashSet<u64>,
    /// By number; what has been stored.
    stored: Vec<Option<Stored>>,
    missed: Vec<Extent>,
    known: Known,
    /// What the program used first after the cut, in this order.
    first_use: Vec<ByteRange>,
    course: OfProcess,
}

/// A chunk of the image.
#[derive(Clone, Debug)]
struct Stored {
    chunk: ChunkRef,
    origin: ChunkOrigin,
    /// In which it was copied, from 1; 0 where that was in none.
    round: u32,
}

/// Chunks of a process at an earlier checkpoint, or as a round before the cut has copied them (the last from 1 on; 0
/// where it was none), with their fingerprints.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known(HashMap<Extent, (ChunkRef, u32)>);

/// A chunk that did not change cannot be taken over.
#[derive(Debug, thiserror::Error)]
#[error("{0} is damaged: nothing can be taken over from it")]
pub(crate) struct DamagedBase(String);

impl Known {
    /// Those of a process in a checkpoint of chunks of this size; of one that is none of them, none.
    pub(crate) fn of(base: Option<&Checkpoint>, pid: u32, chunk_bytes: u64) -> Self {
        let manifest = base.map(Checkpoint::manifest);
        let manifest = manifest.filter(|manifest| manifest.chunk_bytes == chunk_bytes);
        let processes = manifest.into_iter().flat_map(|base| &base.processes);
        let regions = processes
            .filter(|process| process.pid == pid)
            .flat_map(|process| &process.tracked);
        let chunks = regions.filter_map(|region| {
            let extent = Extent::try_from(region.extent?).ok()?;
            Some(extent.chunks(chunk_bytes).zip(&region.chunks))
        });
        let known = chunks.flatten().filter(|(extent, chunk)| {
            extent.len() == chunk.len && Fingerprint::from_bytes(&chunk.fingerprint).is_some()
        });
        Self(
            known
                .map(|(extent, chunk)| (extent, (chunk.clone(), 0)))
                .collect(),
        )
    }

    /// This was stored of a chunk in a round, and nothing else counts.
    pub(crate) fn learn(&mut self, extent: Extent, chunk: ChunkRef, round: u32) {
        self.0.insert(extent, (chunk, round));
    }

    /// For the agent, in pieces.
    pub(crate) fn pieces(&self) -> Vec<KnownChunks> {
        let chunks = self.0.iter().map(|(extent, (chunk, _))| KnownChunk {
            extent: Some((*extent).into()),
            fingerprint: chunk.fingerprint.clone(),
        });
        let chunks: Vec<KnownChunk> = chunks.collect();
        let pieces = chunks.chunks(PIECE).map(|piece| KnownChunks {
            chunks: piece.to_vec(),
        });
        pieces.collect()
    }
}

/// A chunk out of the ring.
#[derive(Debug)]
struct Arrived {
    extent: Extent,
    bytes: Vec<u8>,
    fingerprint: Fingerprint,
    /// It is what it was at the cut, as far as anybody knows.
    as_at_cut: bool,
    origin: ChunkOrigin,
}

impl Expected {
    /// Of `promised`, the agent does not know what was `set_aside`.
    ///
    /// # Errors
    /// What was promised makes no chunks.
    pub(crate) fn new(
        promised: Vec<ByteRange>,
        set_aside: Vec<ByteRange>,
        chunk_bytes: u64,
        known: Known,
    ) -> anyhow::Result<Self> {
        let promised = promised.into_iter().filter(|range| range.len != 0);
        let extents = promised
            .map(Extent::try_from)
            .collect::<Result<Vec<_>, _>>();
        let map = ChunkMap::new(extents.context(NONSENSE)?, chunk_bytes).context(NONSENSE)?;
        Ok(Self {
            stored: vec![None; map.len()],
            course: OfProcess::default(),
            map,
            set_aside: set_aside.into_iter().map(|range| range.start).collect(),
            missed: Vec::new(),
            known,
            first_use: Vec::new(),
        })
    }

    /// Takes over what did not change.
    fn take_over(
        &mut self,
        unchanged: &Unchanged,
        writer: &Mutex<&mut CheckpointWriter>,
        mut progress: impl FnMut(u64),
    ) -> anyhow::Result<()> {
        for chunk in &unchanged.chunks {
            let extent = Extent::try_from(chunk.extent.unwrap_or_default()).context(NONSENSE)?;
            let known = self.known.0.get(&extent).context(NONSENSE)?.clone();
            ensure!(known.0.fingerprint == chunk.fingerprint, NONSENSE);
            let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
            self.put_again(extent, known, &mut writer)?;
            drop(writer);
            progress(extent.len());
        }
        Ok(())
    }

    fn put_again(
        &mut self,
        extent: Extent,
        (known, round): (ChunkRef, u32),
        writer: &mut CheckpointWriter,
    ) -> anyhow::Result<()> {
        if !writer.put_again(&known).context("cannot store a chunk")? {
            let base = writer.base().map(|base| base.path().display().to_string());
            return Err(DamagedBase(base.unwrap_or_default()).into());
        }
        *self.place(extent)? = Some(Stored {
            chunk: known,
            origin: match round {
                0 => ChunkOrigin::Base,
                _ => ChunkOrigin::Round,
            },
            round,
        });
        Ok(())
    }

    /// Takes over all of it: what is not known was not promised. Of a program that does not deliver any more.
    pub(crate) fn take_all_over(&mut self, writer: &mut CheckpointWriter) -> anyhow::Result<()> {
        let chunks: Vec<Extent> = self.map.iter().map(|n| self.map.extent(n)).collect();
        for extent in chunks {
            let known = self.known.0.get(&extent).context(NONSENSE)?.clone();
            self.put_again(extent, known, writer)?;
        }
        Ok(())
    }

    /// The chunks that arrived otherwise than they were at the cut, in address order.
    pub(crate) fn missed(&mut self) -> Vec<Extent> {
        self.missed.sort_unstable();
        std::mem::take(&mut self.missed)
    }

    /// All was delivered; what the agent has counted.
    fn done(&mut self, done: Done) -> Statistics {
        self.first_use = done.first_use;
        self.course.course = done.course.unwrap_or_default();
        done.statistics.unwrap_or_default()
    }

    /// What the agent has said of the checkpoint's course.
    pub(crate) fn take_course(&mut self) -> OfProcess {
        std::mem::take(&mut self.course)
    }

    /// Bytes of a chunk, but for the last of an allocation.
    fn chunk_bytes(&self) -> u64 {
        self.map.chunk_bytes()
    }

    /// All bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.map.bytes()
    }

    /// Where a chunk belongs that has arrived.
    fn place(&mut self, chunk: Extent) -> anyhow::Result<&mut Option<Stored>> {
        let number = self.map.touching(chunk).next();
        match number.filter(|number| self.map.extent(*number) == chunk) {
            Some(number) if self.stored[number.0 as usize].is_some() => {
                bail!("the agent delivers the chunk {chunk} twice")
            }
            Some(number) => Ok(&mut self.stored[number.0 as usize]),
            None => bail!("the agent delivers {chunk}, which it did not promise"),
        }
    }

    /// What of it goes into the manifest.
    ///
    /// # Errors
    /// When a chunk has not arrived.
    pub(crate) fn into_manifest(self) -> anyhow::Result<GpuProcess> {
        let Self {
            map,
            set_aside,
            stored,
            first_use,
            ..
        } = self;
        let mut stored = map.iter().zip(stored);
        let chunks_of = |region: Extent| {
            let mut tracked = TrackedExtent {
                extent: Some(region.into()),
                is_allocated: !set_aside.contains(&region.start()),
                ..TrackedExtent::default()
            };
            for (number, stored) in stored.by_ref().take(map.touching(region).count()) {
                let Some(Stored {
                    chunk,
                    origin,
                    round,
                }) = stored
                else {
                    bail!("the chunk {} was not delivered", map.extent(number));
                };
                tracked.chunks.push(chunk);
                tracked.origins.push(origin.into());
                tracked.rounds.extend((round > 0).then_some(round));
            }
            Ok(tracked)
        };
        Ok(GpuProcess {
            tracked: map
                .regions()
                .map(chunks_of)
                .collect::<anyhow::Result<_>>()?,
            first_use,
            ..GpuProcess::default()
        })
    }
}

/// Stores a chunk: where it lies, and what it is.
pub(crate) fn put(
    bytes: &[u8],
    fingerprint: Fingerprint,
    writer: &Mutex<&mut CheckpointWriter>,
) -> anyhow::Result<ChunkRef> {
    let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
    let stored = writer.put(bytes).context("cannot store a chunk")?;
    Ok(ChunkRef {
        fingerprint: fingerprint.to_bytes().to_vec(),
        ..stored
    })
}

/// Takes in what the agents of all processes promised; what each has counted. One whose process has ended has
/// no link.
pub(crate) fn take_all(
    agents: &[RemoteAgent],
    links: &mut [Option<Link>],
    expected: &mut [Expected],
    writer: &mut CheckpointWriter,
) -> anyhow::Result<Vec<Statistics>> {
    let bar = progress::bytes("copying", expected.iter().map(Expected::bytes).sum());
    let writer = Mutex::new(writer);
    let taken = thread::scope(|scope| {
        let mut threads = Vec::new();
        for ((agent, link), expected) in agents.iter().zip(links).zip(expected) {
            let (writer, bar) = (&writer, &bar);
            threads.push(scope.spawn(move || take_of(agent, link.as_mut(), expected, writer, bar)));
        }
        let taken = threads.into_iter().map(|thread| thread.join());
        let failed = |_| Err(anyhow!("a thread that takes contents in has failed"));
        taken
            .map(|taken| taken.unwrap_or_else(failed))
            .collect::<Vec<_>>()
    });
    bar.finish_and_clear();
    taken.into_iter().collect()
}

/// One that has ended has delivered all of nothing.
fn take_of(
    agent: &RemoteAgent,
    link: Option<&mut Link>,
    expected: &mut Expected,
    writer: &Mutex<&mut CheckpointWriter>,
    bar: &ProgressBar,
) -> anyhow::Result<Statistics> {
    let Some(link) = link else {
        return Ok(Statistics::default());
    };
    let pid = agent.identity().pid;
    match take(link, pid, expected, writer, |bytes| bar.inc(bytes)) {
        Err(_) if expected.bytes() == 0 && gone(agent).is_some() => Ok(Statistics::default()),
        taken => taken,
    }
}

/// Takes everything in until the agent is done. `progress` is told of bytes as they are stored.
fn take(
    link: &mut Link,
    pid: u32,
    expected: &mut Expected,
    writer: &Mutex<&mut CheckpointWriter>,
    mut progress: impl FnMut(u64),
) -> anyhow::Result<Statistics> {
    let mut first = link.receive()?;
    while let from_agent::Body::Unchanged(unchanged) = &first {
        expected.take_over(unchanged, writer, &mut progress)?;
        first = link.receive()?;
    }
    let ring = match first {
        from_agent::Body::Ring(ring) => ring,
        from_agent::Body::Aborted(aborted) => bail!("{}", aborted.reason),
        // Nothing was promised.
        from_agent::Body::Done(done) => return Ok(expected.done(*done)),
        _ => bail!("the agent did not say where its chunks are"),
    };
    let (full, arriving) = sync_channel::<Arrived>(BACKLOG);
    let (empty, used) = channel();
    let mut traced = OfProcess::default();
    let done = thread::scope(|scope| {
        let chunk_bytes = expected.chunk_bytes();
        let traced = &mut traced;
        let reader = scope.spawn(move || read(link, pid, &ring, chunk_bytes, &full, &used, traced));
        let stored = store(arriving, &empty, expected, writer, &mut progress);
        let read = reader
            .join()
            .map_err(|_| anyhow!("the thread that reads chunks has failed"))?;
        // A failure to store makes the reader stop too; the cause is the former.
        stored.and(read)
    })?;
    expected.course = traced;
    Ok(expected.done(done))
}

fn store(
    arriving: Receiver<Arrived>,
    empty: &Sender<Vec<u8>>,
    expected: &mut Expected,
    writer: &Mutex<&mut CheckpointWriter>,
    progress: &mut impl FnMut(u64),
) -> anyhow::Result<()> {
    for arrived in arriving {
        let Arrived {
            extent,
            bytes,
            fingerprint,
            as_at_cut,
            origin,
        } = arrived;
        if !as_at_cut {
            expected.missed.push(extent);
        }
        // Once nothing will be committed, what else was missed is still worth knowing.
        let is_stored = expected.missed.is_empty();
        let place = expected.place(extent)?;
        *place = Some(Stored {
            chunk: match is_stored {
                true => put(&bytes, fingerprint, writer)?,
                false => ChunkRef::default(),
            },
            origin,
            round: 0,
        });
        progress(extent.len());
        // Fresh memory is slow: buffers go round.
        let _ = empty.send(bytes);
    }
    Ok(())
}

fn read(
    link: &mut Link,
    pid: u32,
    ring: &Ring,
    chunk_bytes: u64,
    full: &SyncSender<Arrived>,
    used: &Receiver<Vec<u8>>,
    traced: &mut OfProcess,
) -> anyhow::Result<Done> {
    loop {
        match link.receive()? {
            from_agent::Body::Chunk(chunk) => {
                let mut bytes = used.try_recv().unwrap_or_default();
                let extent = read_slot(pid, ring, &chunk, chunk_bytes, &mut bytes)
                    .and_then(|extent| {
                        let free = SlotFree { slot: chunk.slot };
                        link.send(to_agent::Body::SlotFree(free))?;
                        Ok(extent)
                    })
                    .map_err(|error| why_aborted(link).unwrap_or(error))?;
                let fingerprint = Fingerprint::of(&bytes);
                let as_at_cut = is_as_at_cut(&chunk.fingerprint, fingerprint)?;
                let arrived = Arrived {
                    extent,
                    bytes,
                    fingerprint,
                    as_at_cut,
                    origin: chunk.origin(),
                };
                if full.send(arrived).is_err() {
                    bail!("nobody stores chunks any more");
                }
            }
            from_agent::Body::Traced(more) => ensure!(traced.add(more), NONSENSE),
            from_agent::Body::Done(done) => return Ok(*done),
            from_agent::Body::Aborted(aborted) => bail!("{}", aborted.reason),
            _ => bail!("the agent says something unexpected"),
        }
    }
}

/// After a failure: an agent that gives up takes its ring away, and its reason stands behind what it
/// had announced before. It says no more than a ring of chunks until it hangs up.
fn why_aborted(link: &mut Link) -> Option<anyhow::Error> {
    loop {
        match link.receive().ok()? {
            from_agent::Body::Chunk(_) => {}
            from_agent::Body::Aborted(aborted) => return Some(anyhow!("{}", aborted.reason)),
            _ => return None,
        }
    }
}

/// Compares with the fingerprint at the cut, where one was taken.
fn is_as_at_cut(at_cut: &[u8], stored: Fingerprint) -> anyhow::Result<bool> {
    if at_cut.is_empty() {
        return Ok(true);
    }
    let at_cut = Fingerprint::from_bytes(at_cut)
        .ok_or_else(|| anyhow!("the agent sends a fingerprint that is none"))?;
    Ok(stored == at_cut)
}

pub(crate) fn read_slot(
    pid: u32,
    ring: &Ring,
    chunk: &ChunkReady,
    chunk_bytes: u64,
    bytes: &mut Vec<u8>,
) -> anyhow::Result<Extent> {
    let extent = Extent::try_from(chunk.extent.unwrap_or_default()).context(NONSENSE)?;
    ensure!(
        extent.len() <= chunk_bytes.min(ring.slot_bytes) && chunk.slot < ring.slots,
        "the agent names a slot of its ring that does not exist"
    );
    let address = ring
        .address
        .wrapping_add(u64::from(chunk.slot).wrapping_mul(ring.slot_bytes));
    bytes.resize(extent.len() as usize, 0);
    agent::read(pid, address, bytes)?;
    Ok(extent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(len: u64) -> ChunkRef {
        ChunkRef {
            len,
            ..ChunkRef::default()
        }
    }

    fn stored(len: u64, origin: ChunkOrigin, round: u32) -> Stored {
        let chunk = chunk(len);
        Stored {
            chunk,
            origin,
            round,
        }
    }

    fn expected() -> Expected {
        let promised = [(0x9000, 0x100), (0x1000, 0x2800), (0x8000, 0)];
        let range = |(start, len)| ByteRange { start, len };
        Expected::new(
            promised.map(range).to_vec(),
            vec![range((0x9000, 0x100))],
            0x1000,
            Known::default(),
        )
        .unwrap()
    }

    fn extent(start: u64, len: u64) -> Extent {
        Extent::with_len(start, len).unwrap()
    }

    #[test]
    fn the_manifest_lists_chunks_in_address_order() {
        let mut expected = expected();
        assert_eq!(expected.bytes(), 0x2900);
        for (start, len, origin, round) in [
            (0x3000, 0x800, ChunkOrigin::Round, 2),
            (0x9000, 0x100, ChunkOrigin::Frozen, 0),
            (0x1000, 0x1000, ChunkOrigin::Round, 1),
            (0x2000, 0x1000, ChunkOrigin::Written, 0),
        ] {
            *expected.place(extent(start, len)).unwrap() = Some(stored(len, origin, round));
        }
        let tracked = expected.into_manifest().unwrap().tracked;
        assert_eq!(tracked.len(), 2);
        assert_eq!(tracked[0].extent.unwrap().start, 0x1000);
        let lens: Vec<u64> = tracked[0].chunks.iter().map(|c| c.len).collect();
        assert_eq!(lens, [0x1000, 0x1000, 0x800]);
        assert_eq!(tracked[1].chunks, [chunk(0x100)]);
        assert!(tracked[0].is_allocated && !tracked[1].is_allocated);
        let origins: Vec<_> = tracked.iter().flat_map(TrackedExtent::origins).collect();
        let [round, written] = [ChunkOrigin::Round, ChunkOrigin::Written];
        assert_eq!(origins, [round, written, round, ChunkOrigin::Frozen]);
        assert_eq!(
            (&tracked[0].rounds[..], &tracked[1].rounds[..]),
            (&[1, 2][..], &[][..])
        );
    }

    #[test]
    fn what_was_not_promised_or_comes_twice_is_refused() {
        let mut expected = expected();
        assert!(expected.place(extent(0x1000, 0xfff)).is_err(), "too short");
        assert!(
            expected.place(extent(0x1800, 0x1000)).is_err(),
            "in between"
        );
        assert!(expected.place(extent(0x8000, 0x100)).is_err(), "nowhere");
        let first = Some(stored(0x1000, ChunkOrigin::Turn, 0));
        *expected.place(extent(0x1000, 0x1000)).unwrap() = first;
        assert!(expected.place(extent(0x1000, 0x1000)).is_err(), "twice");
    }

    #[test]
    fn what_is_called_unchanged_must_be_what_is_stored_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = CheckpointWriter::create(&folder.path().join("a"), None).unwrap();
        let writer = Mutex::new(&mut writer);
        let bytes = [vec![1; 0x1000], vec![2; 0x1000]];
        let fingerprint = |bytes: &[u8]| Fingerprint::of(bytes);
        let stored = bytes
            .each_ref()
            .map(|bytes| put(bytes, fingerprint(bytes), &writer).unwrap());
        let mut known = Known::default();
        let chunk = extent(0x1000, 0x1000);
        stored
            .iter()
            .zip(1..)
            .for_each(|(stored, round)| known.learn(chunk, stored.clone(), round));
        let promised = || vec![ByteRange::from(chunk)];
        let unchanged = |extent: Extent, bytes: &[u8]| Unchanged {
            chunks: vec![KnownChunk {
                extent: Some(extent.into()),
                fingerprint: fingerprint(bytes).to_bytes().to_vec(),
            }],
        };
        let take_over = |unchanged: &Unchanged| {
            let mut expected =
                Expected::new(promised(), Vec::new(), 0x1000, Known(known.0.clone())).unwrap();
            expected.take_over(unchanged, &writer, |_| ())?;
            expected.into_manifest()
        };
        let taken = take_over(&unchanged(chunk, &bytes[1])).unwrap();
        assert_eq!(taken.tracked[0].chunks, [stored[1].clone()]);
        assert_eq!(taken.tracked[0].rounds, [2]);
        assert!(
            take_over(&unchanged(chunk, &bytes[0])).is_err(),
            "it was that"
        );
        assert!(take_over(&unchanged(extent(0x3000, 0x1000), &bytes[1])).is_err());
    }

    #[test]
    fn a_promise_that_makes_no_chunks_is_refused() {
        let range = |start, len| ByteRange { start, len };
        let refused = |promised: &[ByteRange], chunk_bytes| {
            Expected::new(promised.to_vec(), Vec::new(), chunk_bytes, Known::default()).is_err()
        };
        assert!(refused(&[range(u64::MAX, 2)], 0x1000), "wraps");
        assert!(refused(&[range(0, 2), range(1, 2)], 0x1000), "overlap");
        assert!(refused(&[range(0, 2)], 0x1001), "no power of two");
    }

    #[test]
    fn what_was_overwritten_is_found_out() {
        let bytes = vec![7; 5000];
        let at_cut = Fingerprint::of(&bytes).to_bytes();
        let is = |at_cut: &[u8], bytes: &[u8]| is_as_at_cut(at_cut, Fingerprint::of(bytes)).ok();
        assert_eq!(is(&at_cut, &bytes), Some(true));
        assert_eq!(is(&[], &bytes[1..]), Some(true), "none was taken");
        let mut other = bytes.clone();
        other[4999] ^= 1;
        assert_eq!(is(&at_cut, &other), Some(false));
        assert_eq!(is(&at_cut, &bytes[1..]), Some(false));
        assert_eq!(is(&at_cut[1..], &bytes), None, "no fingerprint");
    }

    #[test]
    fn a_missing_chunk_is_named() {
        let error = expected().into_manifest().unwrap_err().to_string();
        assert!(error.contains("0x1000"), "{error}");
    }
}
