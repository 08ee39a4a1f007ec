//! Pagemaps: which pages of a process (`pagemap-PID.img`) or of shared memory (`pagemap-shmem-ID.img`) lie in an
//! image of memory, one after the other.

use prost::Message;

use crate::images::List;

/// `PAGEMAP_MAGIC` (criu/include/magic.h): `pagemap_head`, then `pagemap_entry`s of images/pagemap.proto.
pub(crate) const LIST: List = List {
    name: "pagemap",
    magic: 0x5608_4025,
};

/// Of the machines that are supported (x86-64).
const PAGE_BYTES: u64 = 4096;
/// Bits of an entry's flags (criu/include/pagemap.h): the pages are in an older image, or in this.
const IN_PARENT: u32 = 1;
const PRESENT: u32 = 1 << 2;

#[derive(Clone, PartialEq, Message)]
struct Head {
    #[prost(uint32, required, tag = "1")]
    pages_id: u32,
}

#[derive(Clone, PartialEq, Message)]
struct Entry {
    #[prost(uint64, required, tag = "1")]
    address: u64,
    /// Until CRIU 4.1.
    #[prost(uint32, optional, tag = "2")]
    pages_32: Option<u32>,
    #[prost(bool, optional, tag = "3")]
    in_parent: Option<bool>,
    #[prost(uint32, optional, tag = "4")]
    flags: Option<u32>,
    #[prost(uint64, optional, tag = "5")]
    pages: Option<u64>,
}

/// Pages in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) address: u64,
    /// In memory; in the image too, if nothing else is said of them.
    pub(crate) bytes: u64,
    /// Whether they are in the image.
    pub(crate) is_present: bool,
    /// Whether they are in an older one.
    pub(crate) in_parent: bool,
    /// Whether CRIU says no more of them than is known here: it may have compressed them.
    pub(crate) is_known: bool,
}

/// The number of the image that has the pages, and which those are; `None` where it is no pagemap.
pub(crate) fn read(image: &[u8]) -> Option<(u32, Vec<Run>)> {
    let messages = LIST.messages(image)?;
    let (head, entries) = messages.split_first()?;
    let runs = entries.iter().map(|message| run(message));
    Some((
        Head::decode(head.as_slice()).ok()?.pages_id,
        runs.collect::<Option<_>>()?,
    ))
}

fn run(message: &[u8]) -> Option<Run> {
    let entry = Entry::decode(message).ok()?;
    let pages = entry.pages.or(entry.pages_32.map(u64::from))?;
    // Before there were flags, a page was here or in the parent.
    let in_parent = match entry.flags {
        Some(flags) => flags & IN_PARENT != 0,
        None => entry.in_parent(),
    };
    Some(Run {
        address: entry.address,
        bytes: pages.checked_mul(PAGE_BYTES)?,
        is_present: entry.flags.map_or(!in_parent, |flags| flags & PRESENT != 0),
        in_parent,
        is_known: entry.encoded_len() == message.len(),
    })
}

/// A pagemap of three pages.
pub(crate) fn valid() -> Vec<u8> {
    let entry = Entry {
        address: 1 << 30,
        pages_32: Some(3),
        flags: Some(PRESENT),
        ..Entry::default()
    };
    LIST.bytes(&[Head { pages_id: 1 }.encode_to_vec(), entry.encode_to_vec()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_one(entry: &Entry, behind: &[u8]) -> Option<Run> {
        let message = [entry.encode_to_vec(), behind.to_vec()].concat();
        let (number, runs) = read(&LIST.bytes(&[Head { pages_id: 7 }.encode_to_vec(), message]))?;
        assert_eq!(number, 7);
        runs.first().copied()
    }

    #[test]
    fn what_each_age_of_criu_says_of_pages_is_understood() {
        let old = Entry {
            address: 0x5000,
            pages_32: Some(2),
            ..Entry::default()
        };
        let here = Run {
            address: 0x5000,
            bytes: 0x2000,
            is_present: true,
            in_parent: false,
            is_known: true,
        };
        assert_eq!(read_one(&old, &[]), Some(here));
        let of = |flags, pages| Entry {
            flags,
            pages,
            ..old.clone()
        };
        assert_eq!(read_one(&of(Some(PRESENT), Some(2)), &[]), Some(here));
        let zero = read_one(&of(Some(1 << 1), None), &[]).expect("an entry");
        assert!(!zero.is_present && !zero.in_parent);
        for older in [
            of(Some(IN_PARENT), None),
            Entry {
                in_parent: Some(true),
                ..old.clone()
            },
        ] {
            let older = read_one(&older, &[]).expect("an entry");
            assert!(older.in_parent && !older.is_present);
        }
        // Field 15, a number.
        let more = read_one(&old, &[0x78, 1]).expect("an entry");
        assert!(!more.is_known);
        assert_eq!(read_one(&of(None, Some(u64::MAX)), &[]), None);
        assert_eq!(
            read_one(
                &Entry {
                    pages_32: None,
                    ..old
                },
                &[]
            ),
            None
        );
    }
}
