//! Numbers that a restored program needs, from CRIU's images.
//!
//! A number is taken as long as it is anybody's: of a process or thread, of a process group, or of a session.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use prost::Message;
use strobe_proto::files;

use crate::images::List;

/// One message for each process, the first the root of the others, `PSTREE_MAGIC`: images/pstree.proto.
pub(crate) const PROCESSES: List = List {
    name: "pstree.img",
    magic: 0x5027_3030,
};

/// `pstree_entry` there.
#[derive(Clone, PartialEq, Message)]
struct Process {
    #[prost(uint32, required, tag = "1")]
    pid: u32,
    #[prost(uint32, required, tag = "3")]
    group: u32,
    #[prost(uint32, required, tag = "4")]
    session: u32,
}

/// All that have to be free: those of the images' threads, and of the groups and sessions that come back.
pub fn needed(images: &Path) -> io::Result<BTreeSet<u32>> {
    let mut processes = Vec::new();
    for message in PROCESSES.read(images)? {
        let process = Process::decode(message.as_slice());
        processes.push(process.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?);
    }
    let mut needed = groups(&processes);
    for entry in images.read_dir()? {
        needed.extend(entry?.file_name().to_str().and_then(files::thread));
    }
    Ok(needed)
}

/// CRIU makes a process for each of them whose leader has ended, but not for those that the root was born in:
/// its own take their place.
fn groups(processes: &[Process]) -> BTreeSet<u32> {
    let all = processes.iter();
    let mut groups: BTreeSet<u32> = all.flat_map(|one| [one.group, one.session]).collect();
    if let Some(root) = processes.first()
        && root.session != root.pid
    {
        groups.remove(&root.session);
        if root.group != root.pid {
            groups.remove(&root.group);
        }
    }
    // What is outside of the program's PID namespace has none.
    groups.remove(&0);
    groups
}

/// Numbers that are given while a restore is under way, by whomever: many more than it takes itself.
pub const AHEAD: u32 = 1000;

/// The number to be given out last, so that what is started next has none of those that are `needed`: `last` itself
/// where none of them is among the next [`AHEAD`]. `limit` is the kernel's `pid_max`: behind the number before it, the
/// lowest that are free are given again.
///
/// Never one that was given before `last`: another restore has gone on from there.
#[must_use]
pub fn clear_of(needed: &BTreeSet<u32>, last: u32, limit: u32) -> u32 {
    // Twice, for those on both sides of the limit.
    let around = needed.iter().chain(needed);
    around
        .filter(|number| **number < limit)
        .fold(last, |last, &number| {
            let distance = if number >= last {
                number - last
            } else {
                number.saturating_add(limit.saturating_sub(last))
            };
            if distance <= AHEAD { number } else { last }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_started_next_has_none_of_the_numbers_that_are_needed() {
        let clear = |needed: &[u32], last| clear_of(&needed.iter().copied().collect(), last, 32768);
        assert_eq!(clear(&[4, 5, 9], 1), 9, "in a container");
        assert_eq!(clear(&[4, 5, 9], 9), 9);
        assert_eq!(clear(&[4, 5, 9], 10), 10);
        assert_eq!(clear(&[5000, 5001], 1000), 1000, "far ahead");
        assert_eq!(clear(&[5000, 5001], 4500), 5001);
        let around = [301, 303, 32757, 32767];
        assert_eq!(clear(&around, 400), 400, "they were given before");
        assert_eq!(clear(&around, 32700), 303, "they come next");
        assert_eq!(clear(&around, 31900), 303, "they come next");
        assert_eq!(clear(&around, 302), 303);
        assert_eq!(clear(&[40000], 39999), 39999, "of a larger machine");
        assert_eq!(clear(&[], 7), 7);
    }

    fn of(processes: &[[u32; 3]]) -> Vec<u32> {
        let process = |&[pid, group, session]: &[u32; 3]| Process {
            pid,
            group,
            session,
        };
        let processes: Vec<_> = processes.iter().map(process).collect();
        groups(&processes).into_iter().collect()
    }

    #[test]
    fn groups_and_sessions_are_needed_but_for_those_that_the_root_was_born_in() {
        assert_eq!(of(&[[50, 50, 50], [51, 49, 50]]), [49, 50], "of a daemon");
        assert_eq!(
            of(&[[50, 50, 7], [51, 51, 7]]),
            [50, 51],
            "of a shell's job"
        );
        assert_eq!(of(&[[50, 48, 7], [51, 48, 7], [52, 52, 52]]), [52]);
        assert_eq!(of(&[]), [0; 0]);
    }
}
