//! Where mappings of buffer objects have gone.
//!
//! A buffer object's mmap offset is new after a restore. Mappings are matched by the range of old
//! offsets they lie in, so parts of a buffer object, and several mappings of one, are found too;
//! where two GPUs used the same offset, the address decides.

use crate::devices::Device;

/// Which file a moved range is mapped from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Kfd,
    /// The render node of this GPU here.
    Render {
        gpu: u32,
    },
    /// The program's own file of a render node, by CRIU's number of it.
    File {
        file: i32,
    },
}

/// The mmap offsets of one buffer object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moved {
    /// The device the program named.
    pub(crate) device: Device,
    pub(crate) address: u64,
    pub(crate) len: u64,
    pub(crate) old: u64,
    pub(crate) new: u64,
    pub(crate) source: Source,
}

/// Finds the new offset of a mapping of `device` at `address` that had the offset `old`.
pub(crate) fn find(
    moved: &[Moved],
    device: Device,
    address: u64,
    old: u64,
) -> Option<(u64, Source)> {
    let covers = |m: &&Moved| m.device == device && old.wrapping_sub(m.old) < m.len;
    let is_moved_alike = |m: &&Moved| address.wrapping_sub(m.address) == old.wrapping_sub(m.old);
    let found = moved
        .iter()
        .filter(covers)
        .find(is_moved_alike)
        .or_else(|| moved.iter().find(covers))?;
    Some((found.new + (old - found.old), found.source))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RENDER: Device = Device::Render { minor: 128 };

    fn moved(address: u64, old: u64, new: u64, gpu: u32) -> Moved {
        let source = Source::Render { gpu };
        Moved {
            device: RENDER,
            address,
            len: 0x4000,
            old,
            new,
            source,
        }
    }

    #[test]
    fn whole_partial_and_second_mappings_are_found() {
        let table = [
            moved(0x10000, 0x100000, 0x700000, 1),
            moved(0x20000, 0x104000, 0x900000, 1),
        ];
        let gpu = Source::Render { gpu: 1 };
        assert_eq!(
            find(&table, RENDER, 0x10000, 0x100000),
            Some((0x700000, gpu))
        );
        assert_eq!(
            find(&table, RENDER, 0x13000, 0x103000),
            Some((0x703000, gpu)),
            "a part"
        );
        assert_eq!(
            find(&table, RENDER, 0x99000, 0x104000),
            Some((0x900000, gpu)),
            "elsewhere"
        );
        assert_eq!(find(&table, RENDER, 0x24000, 0x108000), None, "beyond");
        assert_eq!(find(&table, RENDER, 0x10000, 0xff000), None, "before");
        assert_eq!(
            find(&table, Device::Kfd, 0x10000, 0x100000),
            None,
            "another device"
        );
    }

    #[test]
    fn the_address_decides_between_equal_offsets() {
        let table = [
            moved(0x10000, 0, 0x700000, 1),
            moved(0x20000, 0, 0x900000, 2),
        ];
        let found = find(&table, RENDER, 0x21000, 0x1000);
        assert_eq!(found, Some((0x901000, Source::Render { gpu: 2 })));
    }
}
