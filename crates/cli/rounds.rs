//! Rounds of copying before the cut (`--mode recopy`): the programs run, and what is copied counts where it is still that
//! at the cut.

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use anyhow::{anyhow, bail};
use strobe_engine::{Round, Rounds};
use strobe_fingerprint::Fingerprint;
use strobe_program::agent::RemoteAgent;
use strobe_program::clock::now_ns;
use strobe_proto::{
    BeginRound, EndRounds, KnownChunk, KnownChunks, Ring, RoundTaken, SlotFree, from_agent,
    to_agent,
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

/// Has the agents of all processes copy until another round is not worth it. What they are known to hold is in `known`,
/// and stored.
pub(crate) fn copy(
    agents: &[RemoteAgent],
    links: &mut [Link],
    known: &mut [Known],
    chunk_bytes: u64,
    writer: &mut CheckpointWriter,
) -> anyhow::Result<(Rounds, Vec<RoundTaken>)> {
    let _phase = tracing::debug_span!("rounds").entered();
    let processes = agents.iter().zip(links).zip(known);
    let mut processes: Vec<Copying<'_>> = processes
        .map(|((agent, link), known)| Copying {
            pid: agent.identity().pid,
            link,
            known,
            ring: None,
            bytes: Vec::new(),
        })
        .collect();
    let writer = Mutex::new(writer);
    let mut rounds = Rounds::default();
    let mut all = Vec::new();
    loop {
        let bar = progress::spinner("copying while the program runs");
        let start_ns = now_ns();
        let number = rounds.count() + 1;
        let copied = round(&mut processes, number, chunk_bytes, &writer);
        bar.finish_and_clear();
        let (copied, end_ns) = (copied?, now_ns());
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
            break;
        }
    }
    for process in processes {
        process.link.send(to_agent::Body::EndRounds(EndRounds {}))?;
    }
    Ok((rounds, all))
}

/// One round of all, side by side; how many bytes they have copied.
fn round(
    processes: &mut [Copying<'_>],
    number: u32,
    chunk_bytes: u64,
    writer: &Mutex<&mut CheckpointWriter>,
) -> anyhow::Result<u64> {
    let copied = thread::scope(|scope| {
        let copying = processes
            .iter_mut()
            .map(|process| scope.spawn(move || process.round(number, chunk_bytes, writer)));
        let copying: Vec<_> = copying.collect();
        let failed = |_| Err(anyhow!("a thread that takes contents in has failed"));
        let copied = copying.into_iter().map(|thread| thread.join());
        copied
            .map(|copied| copied.unwrap_or_else(failed))
            .collect::<Vec<_>>()
    });
    copied.into_iter().sum()
}

impl Copying<'_> {
    fn round(
        &mut self,
        number: u32,
        chunk_bytes: u64,
        writer: &Mutex<&mut CheckpointWriter>,
    ) -> anyhow::Result<u64> {
        self.link.send(to_agent::Body::BeginRound(BeginRound {}))?;
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
                from_agent::Body::RoundEnded(ended) => return Ok(ended.copied),
                from_agent::Body::Aborted(aborted) => bail!("{}", aborted.reason),
                _ => bail!("the agent says something unexpected"),
            }
        }
    }
}
