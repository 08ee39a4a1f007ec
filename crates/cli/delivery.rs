//! Chunks on their way from the program's memory into the store.
//!
//! The agent copies GPU memory into a ring in the program's memory and tells us which slot holds
//! what. One thread empties slots, so that the agent never waits for the disk as long as there is
//! room; the other stores. What has to arrive is known before: every chunk of every extent the
//! agent promised, once.
//!
//! Where the agent says what a chunk's fingerprint was at the cut, it is compared with that of the
//! bytes that are stored: what differs was overwritten before it was copied.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use anyhow::{Context, anyhow, bail, ensure};
use strobe_criu::agent;
use strobe_fingerprint::Fingerprint;
use strobe_proto::{
    ChunkReady, ChunkRef, Extent, Ring, SlotFree, Statistics, TrackedExtent, from_agent, to_agent,
};
use strobe_store::Writer;

use crate::link::Link;

/// Chunks that wait to be stored.
const BACKLOG: usize = 32;

/// The chunks that have to arrive, by address.
#[derive(Debug)]
pub(crate) struct Expected {
    extents: Vec<Extent>,
    chunk_bytes: u64,
    /// Bytes, and the stored chunk once it is there.
    chunks: BTreeMap<u64, (u64, Option<ChunkRef>)>,
    missed: Vec<Extent>,
}

/// A chunk out of the ring.
#[derive(Debug)]
struct Arrived {
    extent: Extent,
    bytes: Vec<u8>,
    /// It is what it was at the cut, as far as anybody knows.
    as_at_cut: bool,
}

impl Expected {
    /// Each extent is cut from its start on, its last chunk may be short.
    pub(crate) fn new(mut extents: Vec<Extent>, chunk_bytes: u64) -> Self {
        extents.retain(|extent| extent.len != 0);
        extents.sort_unstable_by_key(|extent| extent.start);
        let mut chunks = BTreeMap::new();
        for extent in &extents {
            let mut at = 0;
            while at < extent.len {
                let len = chunk_bytes.min(extent.len - at);
                chunks.insert(extent.start.wrapping_add(at), (len, None));
                at += len;
            }
        }
        Self {
            extents,
            chunk_bytes,
            chunks,
            missed: Vec::new(),
        }
    }

    /// The chunks that arrived otherwise than they were at the cut, in address order.
    pub(crate) fn missed(&mut self) -> Vec<Extent> {
        self.missed.sort_unstable_by_key(|extent| extent.start);
        std::mem::take(&mut self.missed)
    }

    /// Bytes of a chunk, but for the last of an allocation.
    pub(crate) fn chunk_bytes(&self) -> u64 {
        self.chunk_bytes
    }

    /// All bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.extents.iter().map(|extent| extent.len).sum()
    }

    fn check(&self, extent: Extent) -> anyhow::Result<()> {
        let Extent { start, len } = extent;
        match self.chunks.get(&start) {
            Some((expected, None)) if *expected == len => Ok(()),
            Some((_, Some(_))) => bail!("the agent delivers the chunk at {start:#x} twice"),
            _ => bail!("the agent delivers {len} bytes at {start:#x}, which it did not promise"),
        }
    }

    fn arrived(&mut self, start: u64, chunk: ChunkRef) {
        if let Some((_, stored)) = self.chunks.get_mut(&start) {
            *stored = Some(chunk);
        }
    }

    /// What goes into the manifest.
    ///
    /// # Errors
    /// When a chunk has not arrived.
    pub(crate) fn into_manifest(self) -> anyhow::Result<Vec<TrackedExtent>> {
        let mut chunks = self.chunks.into_iter();
        self.extents
            .into_iter()
            .map(|extent| {
                let count = extent.len.div_ceil(self.chunk_bytes) as usize;
                let chunks = chunks
                    .by_ref()
                    .take(count)
                    .map(|(start, (_, chunk))| {
                        chunk.ok_or_else(|| anyhow!("the chunk at {start:#x} was not delivered"))
                    })
                    .collect::<anyhow::Result<_>>()?;
                Ok(TrackedExtent {
                    extent: Some(extent),
                    chunks,
                })
            })
            .collect()
    }
}

/// Takes everything in until the agent is done. `progress` is told of bytes as they are stored.
pub(crate) fn take(
    link: &mut Link,
    pid: u32,
    expected: &mut Expected,
    writer: &mut Writer,
    mut progress: impl FnMut(u64),
) -> anyhow::Result<Statistics> {
    let ring = match link.receive()? {
        from_agent::Body::Ring(ring) => ring,
        from_agent::Body::Aborted(aborted) => bail!("{}", aborted.reason),
        // Nothing was promised.
        from_agent::Body::Done(done) => return Ok(done.statistics.unwrap_or_default()),
        _ => bail!("the agent did not say where its chunks are"),
    };
    let (full, arriving) = sync_channel::<Arrived>(BACKLOG);
    let (empty, used) = channel();
    thread::scope(|scope| {
        let chunk_bytes = expected.chunk_bytes;
        let reader = scope.spawn(move || read(link, pid, &ring, chunk_bytes, &full, &used));
        let stored = store(arriving, &empty, expected, writer, &mut progress);
        let read = reader
            .join()
            .map_err(|_| anyhow!("the thread that reads chunks has failed"))?;
        // A failure to store makes the reader stop too; the cause is the former.
        stored.and(read)
    })
}

fn store(
    arriving: Receiver<Arrived>,
    empty: &Sender<Vec<u8>>,
    expected: &mut Expected,
    writer: &mut Writer,
    progress: &mut impl FnMut(u64),
) -> anyhow::Result<()> {
    for arrived in arriving {
        let Arrived {
            extent,
            bytes,
            as_at_cut,
        } = arrived;
        expected.check(extent)?;
        if !as_at_cut {
            expected.missed.push(extent);
        }
        if expected.missed.is_empty() {
            let chunk = writer.put(&bytes).context("cannot store a chunk")?;
            expected.arrived(extent.start, chunk);
        } else {
            // Nothing will be committed; what else was missed is still worth knowing.
            expected.arrived(extent.start, ChunkRef::default());
        }
        progress(extent.len);
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
) -> anyhow::Result<Statistics> {
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
                let as_at_cut = is_as_at_cut(&chunk.fingerprint, &bytes)?;
                let arrived = Arrived {
                    extent,
                    bytes,
                    as_at_cut,
                };
                if full.send(arrived).is_err() {
                    bail!("nobody stores chunks any more");
                }
            }
            from_agent::Body::Done(done) => return Ok(done.statistics.unwrap_or_default()),
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
fn is_as_at_cut(fingerprint: &[u8], bytes: &[u8]) -> anyhow::Result<bool> {
    if fingerprint.is_empty() {
        return Ok(true);
    }
    let at_cut = Fingerprint::from_bytes(fingerprint)
        .ok_or_else(|| anyhow!("the agent sends a fingerprint that is none"))?;
    Ok(Fingerprint::of(bytes) == at_cut)
}

fn read_slot(
    pid: u32,
    ring: &Ring,
    chunk: &ChunkReady,
    chunk_bytes: u64,
    bytes: &mut Vec<u8>,
) -> anyhow::Result<Extent> {
    let extent = chunk.extent.unwrap_or_default();
    let fits = (1..=chunk_bytes.min(ring.slot_bytes)).contains(&extent.len);
    ensure!(
        fits && chunk.slot < ring.slots,
        "the agent names a slot of its ring that does not exist"
    );
    let address = ring
        .address
        .wrapping_add(u64::from(chunk.slot).wrapping_mul(ring.slot_bytes));
    bytes.resize(extent.len as usize, 0);
    agent::read(pid, address, bytes)?;
    Ok(extent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(len: u64) -> ChunkRef {
        ChunkRef {
            blake3: Vec::new(),
            len,
        }
    }

    fn expected() -> Expected {
        let extents = [(0x9000, 0x100), (0x1000, 0x2800), (0x8000, 0)];
        let extent = |(start, len)| Extent { start, len };
        Expected::new(extents.map(extent).to_vec(), 0x1000)
    }

    #[test]
    fn the_manifest_lists_chunks_in_address_order() {
        let mut expected = expected();
        assert_eq!(expected.bytes(), 0x2900);
        for (start, len) in [
            (0x3000, 0x800),
            (0x9000, 0x100),
            (0x1000, 0x1000),
            (0x2000, 0x1000),
        ] {
            expected.check(Extent { start, len }).unwrap();
            expected.arrived(start, chunk(len));
        }
        let tracked = expected.into_manifest().unwrap();
        assert_eq!(tracked.len(), 2);
        assert_eq!(tracked[0].extent.unwrap().start, 0x1000);
        let lens: Vec<u64> = tracked[0].chunks.iter().map(|c| c.len).collect();
        assert_eq!(lens, [0x1000, 0x1000, 0x800]);
        assert_eq!(tracked[1].chunks, [chunk(0x100)]);
    }

    #[test]
    fn what_was_not_promised_or_comes_twice_is_refused() {
        let mut expected = expected();
        let extent = |start, len| Extent { start, len };
        assert!(expected.check(extent(0x1000, 0xfff)).is_err(), "too short");
        assert!(
            expected.check(extent(0x1800, 0x1000)).is_err(),
            "in between"
        );
        expected.arrived(0x1000, chunk(0x1000));
        assert!(expected.check(extent(0x1000, 0x1000)).is_err(), "twice");
    }

    #[test]
    fn what_was_overwritten_is_found_out() {
        let bytes = vec![7; 5000];
        let at_cut = Fingerprint::of(&bytes).to_bytes();
        let is = |fingerprint: &[u8], bytes: &[u8]| is_as_at_cut(fingerprint, bytes).ok();
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
