//! Missed writes: what was stored of some chunks is not what they held at the cut, or may not be.
//!
//! Somebody wrote what nobody had announced: a kernel outside of its footprint, the program's CPU
//! through a mapping, another process. Nothing is committed then. The agent names the kernels that
//! can have done it and does not believe them any more; we note them for later runs, and the
//! checkpoint is taken again with the allocations concerned saved while everything stands still.
//!
//! The same is done with memory that the CPU has touched for the first time at the cut: what it may
//! have written there came after the fingerprint, and may be overwritten again before the copy.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use strobe_extent::{Extent, ExtentSet};
use strobe_proto::Suspect;

/// More pieces than this are no list to send: then nothing is promised.
const MOST_PIECES: usize = 4096;
/// Kernels that a sentence names.
const NAMED: usize = 5;

/// Those of one attempt, which was not committed: one of a process, or several.
#[derive(Clone, Debug)]
pub(crate) struct MissedWrites(pub(crate) Vec<MissedWrite>);

impl fmt::Display for MissedWrites {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, missed) in self.0.iter().enumerate() {
            let separator = if number == 0 { "" } else { "; " };
            write!(f, "{separator}{missed}")?;
        }
        Ok(())
    }
}

impl std::error::Error for MissedWrites {}

/// What an attempt has missed of one process.
#[derive(Clone, Debug)]
pub(crate) struct MissedWrite {
    pub(crate) pid: u32,
    /// The chunks, in address order.
    pub(crate) chunks: Vec<Extent>,
    /// Who can have done it; nobody where it was no launch.
    pub(crate) suspects: Vec<Suspect>,
    /// The CPU has touched all of it at the cut.
    pub(crate) by_cpu: bool,
}

impl fmt::Display for MissedWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (chunks, bytes) = (self.chunks.len(), self.bytes());
        if self.by_cpu {
            return write!(
                f,
                "the program's CPU may have written to device memory at the cut ({bytes} bytes)"
            );
        }
        write!(
            f,
            "device memory was written unannounced ({chunks} chunks, {bytes} bytes), "
        )?;
        let names: Vec<&str> = self.suspects.iter().map(|s| s.kernel.as_str()).collect();
        match names.as_slice() {
            [] => f.write_str("it is not known by whom: the program's CPU, or somebody else"),
            [kernel] => write!(f, "by kernel {kernel}, whose footprint is wrong"),
            kernels if kernels.len() <= NAMED => {
                write!(f, "by one of the kernels {}", kernels.join(", "))
            }
            kernels => {
                let more = kernels.len() - NAMED;
                write!(f, "by one of the kernels {}", kernels[..NAMED].join(", "))?;
                write!(f, " and {more} more")
            }
        }
    }
}

impl MissedWrite {
    fn bytes(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.len()).sum()
    }
}

/// The same for programs.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct MissedWriteReport {
    pub(crate) pid: u32,
    pub(crate) chunks: usize,
    pub(crate) bytes: u64,
    /// Mangled names; one of them did it; none if it is not known who did.
    pub(crate) suspects: Vec<String>,
    /// It may have been the program's CPU, at the cut.
    pub(crate) by_cpu: bool,
}

impl From<&MissedWrite> for MissedWriteReport {
    fn from(missed: &MissedWrite) -> Self {
        Self {
            pid: missed.pid,
            chunks: missed.chunks.len(),
            bytes: missed.bytes(),
            suspects: missed.suspects.iter().map(|s| s.kernel.clone()).collect(),
            by_cpu: missed.by_cpu,
        }
    }
}

/// What the next attempt leaves to the plugin, which saves it while everything stands still.
#[derive(Clone, Debug, Default)]
pub(crate) struct Residual {
    /// Of each process.
    extents: BTreeMap<u32, Vec<Extent>>,
    pub(crate) everything: bool,
}

impl Residual {
    /// Adds what an attempt has missed.
    pub(crate) fn add(&mut self, missed: &MissedWrite) {
        let extents = self.extents.entry(missed.pid).or_default();
        extents.extend(&missed.chunks);
        *extents = joined(std::mem::take(extents));
        if extents.len() > MOST_PIECES {
            self.extents.clear();
            self.everything = true;
        }
    }

    /// What was missed of a process.
    pub(crate) fn of(&self, pid: u32) -> &[Extent] {
        self.extents.get(&pid).map_or(&[], Vec::as_slice)
    }
}

/// What the agent is told was missed: chunks that adjoin as one, and no more than fit a message.
pub(crate) fn pieces(chunks: &[Extent]) -> Vec<Extent> {
    let mut pieces = joined(chunks.to_vec());
    pieces.truncate(MOST_PIECES);
    pieces
}

fn joined(extents: Vec<Extent>) -> Vec<Extent> {
    let all: ExtentSet = extents.into_iter().collect();
    all.iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missed(chunks: &[(u64, u64)], kernels: &[&str]) -> MissedWrite {
        let chunk = |&(start, len): &(u64, u64)| Extent::with_len(start, len).unwrap();
        let suspect = |kernel: &&str| Suspect {
            kernel: (*kernel).to_owned(),
            code_object: vec![0; 16],
        };
        MissedWrite {
            pid: 7,
            chunks: chunks.iter().map(chunk).collect(),
            suspects: kernels.iter().map(suspect).collect(),
            by_cpu: false,
        }
    }

    #[test]
    fn the_sentence_names_who_can_have_done_it() {
        let says = |kernels: &[&str]| missed(&[(0, 16)], kernels).to_string();
        assert!(says(&["step"]).ends_with("by kernel step, whose footprint is wrong"));
        assert!(says(&["a", "b"]).ends_with("by one of the kernels a, b"));
        assert!(says(&["a", "b", "c", "d", "e", "f"]).ends_with("d, e and 1 more"));
        assert!(says(&[]).contains("it is not known by whom"));
        let by_cpu = MissedWrite {
            by_cpu: true,
            ..missed(&[(0, 4096)], &[])
        };
        assert!(by_cpu.to_string().contains("CPU may have written"));
    }

    #[test]
    fn what_adjoins_is_one_piece_and_too_many_are_all() {
        let mut residual = Residual::default();
        residual.add(&missed(&[(0x3000, 0x1000), (0x9000, 1)], &[]));
        residual.add(&missed(&[(0x2000, 0x1000), (0x3800, 0x100)], &[]));
        assert!(residual.of(8).is_empty());
        let pieces: Vec<(u64, u64)> = residual
            .of(7)
            .iter()
            .map(|e| (e.start(), e.len()))
            .collect();
        assert_eq!(pieces, [(0x2000, 0x2000), (0x9000, 1)]);
        assert!(!residual.everything);
        let many: Vec<(u64, u64)> = (0..=MOST_PIECES as u64).map(|n| (n * 2, 1)).collect();
        residual.add(&missed(&many, &[]));
        assert!(residual.everything && residual.of(7).is_empty());
    }
}
