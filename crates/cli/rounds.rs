//! Rounds of copying before the cut (`--mode recopy`, and a short one to find out how fast that is): the programs run, and what
//! is copied counts where it is still that at the cut.

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use anyhow::{anyhow, bail};
use strobe_engine::{Round, Rounds};
use strobe_fingerprint::Fingerprint;
use strobe_program::agent::RemoteAgent;
use strobe_program::clock::now_ns;
use strobe_proto::{
    BeginRound, CheckpointMode, Chosen, EndRounds, KnownChunk, KnownChunks, Ring, RoundEnded,
    RoundTaken, SlotFree, from_agent, to_agent,
};
use strobe_store::CheckpointWriter;

use crate::delivery::{Known, put, read_slot};
use crate::link::Link;
use crate::progress;

/// One process that copies.
struct Copying<'a> {
    pid: u32,
    link: &'a mut Link,
    known: &'a mut Known,
    /// Once it has copied anything.
    ring: Option<Ring>,
    bytes: Vec<u8>,
}

/// The processes that are about to be saved. What they are known to hold is in `known`, and stored.
pub(crate) struct Copies<'a> {
    processes: Vec<Copying<'a>>,
    chunk_bytes: u64,
    writer: Mutex<&'a mut CheckpointWriter>,
    count: u32,
}

impl<'a> Copies<'a> {
    pub(crate) fn new(
        agents: &[RemoteAgent],
        links: &'a mut [Link],
        known: &'a mut [Known],
        chunk_bytes: u64,
        writer: &'a mut CheckpointWriter,
    ) -> Self {
        let processes = agents.iter().zip(links).zip(known);
        let processes = processes.map(|((agent, link), known)| Copying {
            pid: agent.identity().pid,
            link,
            known,
            ring: None,
            bytes: Vec::new(),
        });
        Self {
            processes: processes.collect(),
            chunk_bytes,
            writer: Mutex::new(writer),
            count: 0,
        }
    }

    /// Has the agents copy until another round is not worth it.
    pub(crate) fn copy(&mut self) -> anyhow::Result<(Rounds, Vec<RoundTaken>)> {
        let _phase = tracing::debug_span!("rounds").entered();
        let mut rounds = Rounds::default();
        let mut all = Vec::new();
        loop {
            let bar = progress::spinner("copying while the program runs");
            let start_ns = now_ns();
            let copied = self.round(0);
            bar.finish_and_clear();
            let (copied, end_ns) = (copied?, now_ns());
            let copied = copied.iter().map(|round| round.copied).sum();
            all.push(RoundTaken {
                copied,
                start_ns,
                end_ns,
            });
            let round = Round {
                copied,
                took: Duration::from_nanos(end_ns - start_ns),
            };
            tracing::debug!(copied = round.copied, took = ?round.took, "a round");
            if !rounds.ended(round) {
                return Ok((rounds, all));
            }
        }
    }

    /// One round of all, side by side: what each has copied, which is about so many bytes, or all where that is 0.
    pub(crate) fn round(&mut self, most_bytes: u64) -> anyhow::Result<Vec<RoundEnded>> {
        self.count += 1;
        let (number, chunk_bytes, writer) = (self.count, self.chunk_bytes, &self.writer);
        thread::scope(|scope| {
            let copying = self.processes.iter_mut().map(|process| {
                scope.spawn(move || process.round(number, most_bytes, chunk_bytes, writer))
            });
            let copying: Vec<_> = copying.collect();
            let failed = |_| Err(anyhow!("a thread that takes contents in has failed"));
            // All have ended before one that has failed is spoken of.
            let copied: Vec<_> = copying
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(failed))
                .collect();
            copied.into_iter().collect()
        })
    }

    /// This is the mode.
    pub(crate) fn choose(&mut self, mode: CheckpointMode) -> anyhow::Result<()> {
        self.tell(|| to_agent::Body::Chosen(Chosen { mode: mode.into() }))
    }

    /// The cut may come.
    pub(crate) fn end(mut self) -> anyhow::Result<()> {
        self.tell(|| to_agent::Body::EndRounds(EndRounds {}))
    }

    fn tell(&mut self, what: impl Fn() -> to_agent::Body) -> anyhow::Result<()> {
        let mut processes = self.processes.iter_mut();
        processes.try_for_each(|process| process.link.send(what()))
    }
}

impl Copying<'_> {
    fn round(
        &mut self,
        number: u32,
        most_bytes: u64,
        chunk_bytes: u64,
        writer: &Mutex<&mut CheckpointWriter>,
    ) -> anyhow::Result<RoundEnded> {
        let begin = BeginRound { most_bytes };
        self.link.send(to_agent::Body::BeginRound(begin))?;
        loop {
            match self.link.receive()? {
                from_agent::Body::Ring(ring) if self.ring.is_none() => self.ring = Some(ring),
                from_agent::Body::Chunk(chunk) => {
                    let ring = self.ring.as_ref();
                    let ring = ring.ok_or_else(|| anyhow!("the agent has no ring"))?;
                    let extent = read_slot(self.pid, ring, &chunk, chunk_bytes, &mut self.bytes)?;
                    let free = SlotFree { slot: chunk.slot };
                    self.link.send(to_agent::Body::SlotFree(free))?;
                    let fingerprint = Fingerprint::of(&self.bytes);
                    let stored = put(&self.bytes, fingerprint, writer)?;
                    let known = KnownChunk {
                        extent: Some(extent.into()),
                        fingerprint: stored.fingerprint.clone(),
                    };
                    self.known.learn(extent, stored, number);
                    self.link.send(to_agent::Body::Known(KnownChunks {
                        chunks: vec![known],
                    }))?;
                }
                from_agent::Body::RoundEnded(ended) => return Ok(ended),
                from_agent::Body::Aborted(aborted) => bail!("{}", aborted.reason),
                _ => bail!("the agent says something unexpected"),
            }
        }
    }
}
