//! Capabilities of the saved processes, from CRIU's images.

use std::path::Path;
use std::{fs, io};

use prost::Message;
use strobe_proto::files;

use crate::images::{List, read_image};

/// One for each thread, `CORE_MAGIC`: images/core.proto.
const CORE: List = List {
    name: "core",
    magic: 0x5505_3847,
};

/// `core_entry` of images/core.proto, as far as it is needed here.
#[derive(Clone, PartialEq, Message)]
struct Core {
    #[prost(message, optional, tag = "5")]
    thread: Option<Thread>,
}

/// `thread_core_entry` there.
#[derive(Clone, PartialEq, Message)]
struct Thread {
    #[prost(message, optional, tag = "10")]
    credentials: Option<Credentials>,
}

/// `creds_entry` of images/creds.proto: of each set the lower word first.
#[derive(Clone, PartialEq, Message)]
struct Credentials {
    #[prost(uint32, repeated, packed = "false", tag = "9")]
    inheritable: Vec<u32>,
    #[prost(uint32, repeated, packed = "false", tag = "10")]
    permitted: Vec<u32>,
}

/// Those that some thread had, bit by bit.
pub fn held(images: &Path) -> io::Result<u64> {
    let mut held = 0;
    for entry in fs::read_dir(images)? {
        let entry = entry?;
        if entry.file_name().to_str().and_then(files::thread).is_some() {
            held |= held_by(&read_image(&entry.path())?).unwrap_or(0);
        }
    }
    Ok(held)
}

fn held_by(image: &[u8]) -> Option<u64> {
    let messages = CORE.messages(image)?;
    let core = Core::decode(messages.first()?.as_slice()).ok()?;
    let credentials = core.thread?.credentials?;
    let word = |set: &[u32], i: usize| u64::from(set.get(i).copied().unwrap_or(0));
    let bits = |set: &[u32]| word(set, 0) | word(set, 1) << 32;
    Some(bits(&credentials.inheritable) | bits(&credentials.permitted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_some_thread_may_do_is_found() {
        let image = |inheritable: &[u32], permitted: &[u32]| {
            let credentials = Credentials {
                inheritable: inheritable.to_vec(),
                permitted: permitted.to_vec(),
            };
            let thread = Thread {
                credentials: Some(credentials),
            };
            let core = Core {
                thread: Some(thread),
            };
            CORE.bytes(&[core.encode_to_vec()])
        };
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("core-7.img"), image(&[4, 1], &[8, 0])).unwrap();
        fs::write(folder.path().join("core-8.img"), image(&[0, 0], &[1, 0])).unwrap();
        fs::write(folder.path().join("mm-7.img"), image(&[2, 0], &[2, 0])).unwrap();
        assert_eq!(held(folder.path()).unwrap(), 1 << 32 | 0b1101);
    }
}
