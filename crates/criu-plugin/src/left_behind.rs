//! Mappings of buffer objects that no handle names any more, and that nobody can reach.
//!
//! ROCr of ROCm 7 leaves what `hipMemUnmap` has taken from the CPU mapped without permission, to keep its addresses. Once
//! the memory is released nothing else of it is left, and nothing will ever be read of it: what comes next at these
//! addresses is mapped anew.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::OwnedFd;

use prost::Message;

use crate::images::{ImageError, Images};

/// CRIU's image of a process's mappings, of one message: images/mm.proto and images/vma.proto, as far as they are needed.
const MAGIC: [u32; 2] = [0x5456_4319, 0x5749_2820];
/// Bytes of an image that is read; a mapping takes some forty.
const MOST_BYTES: u64 = 64 << 20;

#[derive(Clone, PartialEq, Message)]
struct Mappings {
    #[prost(message, repeated, tag = "14")]
    all: Vec<Mapping>,
}

#[derive(Clone, PartialEq, Message)]
struct Mapping {
    #[prost(uint64, tag = "1")]
    start: u64,
    /// Bits of mmap(2).
    #[prost(uint32, tag = "5")]
    permission: u32,
}

/// Whether the mapping at this address of this process may not be touched; not known where images are streamed.
pub(crate) fn is_unreachable(images: &Images, address: u64) -> Result<bool, ImageError> {
    if images.is_stream() {
        return Ok(false);
    }
    let Some(image) = images.open(&format!("mm-{}.img", std::process::id()))? else {
        return Ok(false);
    };
    let mut bytes = Vec::new();
    let read = image.next().take(MOST_BYTES).read_to_end(&mut bytes);
    read.map_err(|error| image.error(error))?;
    Ok(says_unreachable(&bytes, address))
}

fn says_unreachable(image: &[u8], address: u64) -> bool {
    let mappings = || {
        let (head, rest) = image.split_first_chunk::<12>()?;
        let (words, len) = head.split_at(8);
        let expected = MAGIC.map(u32::to_le_bytes).concat();
        let len = u32::from_le_bytes(len.try_into().ok()?) as usize;
        let message = rest.get(..len).filter(|_| words == expected)?;
        Mappings::decode(message).ok()
    };
    let mappings = mappings().unwrap_or_default();
    let mapping = mappings.all.iter().find(|mapping| mapping.start == address);
    mapping.is_some_and(|mapping| mapping.permission == 0)
}

/// What stands in for such memory: shared memory of its own wherever it is mapped.
pub(crate) fn stand_in() -> io::Result<OwnedFd> {
    let zero: File = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/zero")?;
    Ok(zero.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(magic: [u32; 2], mappings: &[(u64, u32)]) -> Vec<u8> {
        let all = mappings
            .iter()
            .map(|&(start, permission)| Mapping { start, permission });
        let message = Mappings { all: all.collect() }.encode_to_vec();
        let len = message.len() as u32;
        let mut bytes: Vec<u8> = magic
            .iter()
            .chain([&len])
            .flat_map(|word| word.to_le_bytes())
            .collect();
        bytes.extend(message);
        bytes
    }

    #[test]
    fn only_what_has_no_permission_is_unreachable() {
        let whole = image(MAGIC, &[(0x1000, 3), (0x4000, 0), (0x8000, 1)]);
        let unreachable = [0x1000, 0x4000, 0x8000, 0x9000].map(|at| says_unreachable(&whole, at));
        assert_eq!(unreachable, [false, true, false, false]);
    }

    #[test]
    fn of_what_is_no_such_image_nothing_is_said() {
        assert!(!says_unreachable(
            &image([MAGIC[0], 7], &[(0x4000, 0)]),
            0x4000
        ));
        let whole = image(MAGIC, &[(0x4000, 0)]);
        for len in 0..whole.len() {
            assert!(!says_unreachable(&whole[..len], 0x4000), "{len} bytes");
        }
    }
}
