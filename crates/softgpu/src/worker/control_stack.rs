//! What a queue's control stack holds while its dispatch is evicted.
//!
//! The packet stays at the head of the queue. How far it was is here, and what its unfinished workgroups had reached
//! ([`crate::wave::ComputeUnit::save`]) is in the queue's save area, in memory of the program. Little-endian:
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 8 | `swgpucs1` |
//! | 8 | 8 | index of the packet |
//! | 16 | 64 | the packet |
//! | 80 | 8 | GPU ticks at its start |
//! | 88 | 8 | nanoseconds that it was executed so far |
//! | 96 | 8 | nanoseconds that its end has to wait for, by the time model, when all work is done |
//! | 104 | 8 | workgroups, or pieces of what the host does in their place |
//! | 112 | 8 | how many of them were begun; those below are done, but for the ones that follow |
//! | 120 | 4 | 1: the host does it in pieces, of which none is ever half done |
//! | 124 | 4 | 1: all work is done |
//! | 128 | 8 | `N`: workgroups that were begun and are not done |
//! | 136 | 40 `N` | each: its number (8), where in the save area it begins (8), bytes (8), their fingerprint (16) |
//!
//! It comes back through an image of CRIU, so nothing in it is believed that was not checked; the fingerprints tell
//! whether the save area holds what was written there.

use strobe_fingerprint::Fingerprint;
use strobe_kfd::aql::KernelDispatch;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

const MAGIC: [u8; 8] = *b"swgpucs1";

#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Head {
    magic: [u8; 8],
    index: u64,
    packet: KernelDispatch,
    start: u64,
    spent_ns: u64,
    left_ns: u64,
    total: u64,
    begun: u64,
    is_native: u32,
    is_done: u32,
    groups: u64,
}

/// Where a workgroup is in the save area.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Place {
    pub(super) group: u64,
    pub(super) offset: u64,
    pub(super) bytes: u64,
    fingerprint: [u32; 4],
}

impl Place {
    pub(super) fn of(group: u64, offset: u64, content: &[u8]) -> Self {
        Self {
            group,
            offset,
            bytes: content.len() as u64,
            fingerprint: Fingerprint::of(content).0,
        }
    }

    /// Whether this is what was written there.
    pub(super) fn holds(&self, content: &[u8]) -> bool {
        Fingerprint::of(content).0 == self.fingerprint
    }
}

/// How many workgroups a control stack of so many bytes can name; none: it cannot even say how far a dispatch was.
pub(super) fn room(bytes: usize) -> Option<usize> {
    Some(bytes.checked_sub(size_of::<Head>())? / size_of::<Place>())
}

/// A dispatch that was evicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Evicted {
    pub(super) index: u64,
    pub(super) packet: KernelDispatch,
    /// In GPU ticks.
    pub(super) start: u64,
    pub(super) spent_ns: u64,
    pub(super) is_native: bool,
    pub(super) total: u64,
    pub(super) reached: Reached,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reached {
    /// So many workgroups or pieces were begun, and of these not finished.
    Work { begun: u64, groups: Vec<Place> },
    /// All work is done; its end has to wait for so many nanoseconds.
    End { left_ns: u64 },
}

impl Evicted {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let (begun, groups, left_ns, is_done) = match &self.reached {
            Reached::Work { begun, groups } => (*begun, groups.as_slice(), 0, 0),
            Reached::End { left_ns } => (self.total, [].as_slice(), *left_ns, 1),
        };
        let head = Head {
            magic: MAGIC,
            index: self.index,
            packet: self.packet,
            start: self.start,
            spent_ns: self.spent_ns,
            left_ns,
            total: self.total,
            begun,
            is_native: u32::from(self.is_native),
            is_done,
            groups: groups.len() as u64,
        };
        let mut bytes = head.as_bytes().to_vec();
        bytes.extend(groups.as_bytes());
        bytes
    }

    /// `None`: these bytes were not written by [`Self::to_bytes`].
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (head, rest) = Head::read_from_prefix(bytes).ok()?;
        let (places, []) = rest.as_chunks::<{ size_of::<Place>() }>() else {
            return None;
        };
        let places = places
            .iter()
            .map(|place| Place::read_from_bytes(place).ok());
        let groups: Vec<Place> = places.collect::<Option<_>>()?;
        let mut numbers: Vec<u64> = groups.iter().map(|place| place.group).collect();
        numbers.sort_unstable();
        let is_ours = head.magic == MAGIC
            && head.groups == groups.len() as u64
            && head.begun <= head.total
            && head.is_native <= 1
            && head.is_done <= 1
            && (head.is_native == 0 && head.is_done == 0 || groups.is_empty())
            && numbers.last().is_none_or(|last| *last < head.begun)
            && numbers.is_sorted_by(|a, b| a < b);
        is_ours.then_some(Self {
            index: head.index,
            packet: head.packet,
            start: head.start,
            spent_ns: head.spent_ns,
            is_native: head.is_native == 1,
            total: head.total,
            reached: if head.is_done == 1 {
                Reached::End {
                    left_ns: head.left_ns,
                }
            } else {
                Reached::Work {
                    begun: head.begun,
                    groups,
                }
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evicted() -> Evicted {
        let place = |group, offset| Place::of(group, offset, &[group as u8; 100]);
        Evicted {
            index: 7,
            packet: KernelDispatch {
                kernel_object: 0x1234_5678,
                ..KernelDispatch::default()
            },
            start: 99,
            spent_ns: 1,
            is_native: false,
            total: 1000,
            reached: Reached::Work {
                begun: 12,
                groups: vec![place(11, 0), place(3, 128)],
            },
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let work = evicted();
        let end = Evicted {
            reached: Reached::End { left_ns: 55 },
            ..evicted()
        };
        for evicted in [work, end] {
            let mut bytes = vec![0];
            bytes.extend(evicted.to_bytes());
            assert_eq!(Evicted::parse(&bytes[1..]), Some(evicted));
        }
        assert_eq!(room(135), None);
        assert_eq!(room(136 + 79), Some(1));
        assert_eq!(evicted().to_bytes().len(), 136 + 80);
    }

    #[test]
    fn what_was_not_written_is_refused() {
        let bytes = evicted().to_bytes();
        for len in 0..bytes.len() {
            assert_eq!(Evicted::parse(&bytes[..len]), None, "{len} bytes");
        }
        let refused = |at: usize, byte: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = byte;
            assert_eq!(Evicted::parse(&bytes), None, "byte {at}");
        };
        refused(0, 0);
        // More begun than there are, a native with unfinished workgroups, another number of them.
        refused(119, 1);
        refused(120, 1);
        refused(120, 2);
        refused(124, 1);
        refused(128, 3);
        // A workgroup that was not begun, and one that is there twice.
        refused(136, 12);
        refused(136, 3);
    }
}
