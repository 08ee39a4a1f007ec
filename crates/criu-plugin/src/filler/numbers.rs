//! The numbers that the program's processes, their threads, groups and sessions will have.

use std::collections::BTreeSet;
use std::io::{self, Read};

use prost::Message;
use strobe_proto::files;

use crate::images::{Images, Input};

/// Bytes of the list of processes.
const LIMIT: u64 = 64 << 20;
const LIST: &str = "pstree.img";

/// As the images say. (In a PID namespace of its own the program has others here, which are in nobody's way.)
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers(BTreeSet<u32>);

/// `pstree_entry` of images/pstree.proto: CRIU makes a process for a group or a session whose leader has ended.
#[derive(Clone, PartialEq, Message)]
struct Process {
    #[prost(uint32, required, tag = "3")]
    group: u32,
    #[prost(uint32, required, tag = "4")]
    session: u32,
}

impl Numbers {
    /// Of all that CRIU has saved; none where images are streamed.
    pub(super) fn of_program(images: &Images) -> io::Result<Self> {
        let names = images.names()?;
        let threads = names.iter().filter_map(|name| files::thread(name));
        let mut numbers: BTreeSet<u32> = threads.collect();
        if names.iter().any(|name| name == LIST)
            && let Some(list) = images.open(LIST).map_err(|error| error.error)?
        {
            let processes = processes(&list)?;
            numbers.extend(processes.iter().flat_map(|one| [one.group, one.session]));
        }
        Ok(Self(numbers))
    }

    pub(super) fn has(&self, number: u32) -> bool {
        self.0.contains(&number)
    }
}

/// Behind two words that say what it is (criu/include/magic.h), messages, each behind its length.
fn processes(list: &Input) -> io::Result<Vec<Process>> {
    let mut bytes = Vec::new();
    list.next().take(LIMIT).read_to_end(&mut bytes)?;
    parse(&bytes).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, LIST))
}

fn parse(bytes: &[u8]) -> Option<Vec<Process>> {
    let mut rest = bytes.get(8..)?;
    let mut processes = Vec::new();
    while !rest.is_empty() {
        let (len, tail) = rest.split_first_chunk()?;
        let (message, tail) = tail.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        processes.push(Process::decode(message).ok()?);
        rest = tail;
    }
    Some(processes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_sessions_of_the_program_are_known() {
        let one = Process {
            group: 70,
            session: 1 << 20,
        };
        // A number and a parent's, which are of no interest here.
        let message = [&[0x08, 7, 0x10, 1][..], &one.encode_to_vec()].concat();
        let list = [&[0; 8][..], &(message.len() as u32).to_le_bytes(), &message].concat();
        assert_eq!(parse(&list), Some(vec![one]));
        assert_eq!(parse(&list[..8]), Some(vec![]));
        for end in [0, 7, 9, list.len() - 1] {
            assert_eq!(parse(&list[..end]), None, "{end}");
        }
    }
}
