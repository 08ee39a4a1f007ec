//! What a file descriptor stands for.
//!
//! A real driver hangs its data on the open file; here the position of the open file does the same:
//! `dup`, fork and SCM_RIGHTS share it, and CRIU's own descriptor of a target's file sees it. A fresh
//! file has position 0. A dma-buf is a render node with a position that names an object.

use nix::errno::Errno;

use super::layout::{path, render_node};
use super::open::Device;

/// An open file of one of the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Kfd,
    /// That of a GPU.
    Render(usize),
}

/// What the position of an open file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Nothing has been done with it yet.
    Fresh,
    /// A process slot (kfd) or a render file.
    Slot(usize),
    /// An object, and the serial it must have.
    DmaBuf { object: usize, serial: u8 },
}

const SLOT: u64 = 1;
const DMA_BUF: u64 = 2;

/// Position: tag at bit 32, generation (8 bits) at 24, serial (8 bits) at 16, index below; smaller
/// than either device.
fn encode(tag: u64, generation: u64, serial: u8, index: usize) -> u64 {
    tag << 32 | (generation & 0xff) << 24 | u64::from(serial) << 16 | (index as u64 & 0xffff)
}

fn decode(position: u64, generation: u64) -> Result<Meaning, Errno> {
    if position == 0 {
        return Ok(Meaning::Fresh);
    }
    if position >> 24 & 0xff != generation & 0xff {
        return Err(Errno::ENODEV);
    }
    let index = (position & 0xffff) as usize;
    match position >> 32 {
        SLOT => Ok(Meaning::Slot(index)),
        DMA_BUF => Ok(Meaning::DmaBuf {
            object: index,
            serial: (position >> 16) as u8,
        }),
        _ => Err(Errno::EBADF),
    }
}

/// The block device that `fd` is open on, if it is one: all others are told apart without a GPU.
pub(crate) fn block_device(fd: i32) -> Option<u64> {
    let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the raw system call fills `stat` when it answers 0; no hook is on this path.
    let stat = unsafe {
        if libc::syscall(libc::SYS_fstat, fd, stat.as_mut_ptr()) != 0 {
            return None;
        }
        stat.assume_init()
    };
    (stat.st_mode & libc::S_IFMT == libc::S_IFBLK).then_some(stat.st_rdev)
}

/// Which node of the device `fd` is open on.
pub(crate) fn node(device: &Device, fd: i32) -> Option<Node> {
    node_of(device, block_device(fd)?)
}

/// Which node of the device a block device is.
pub(crate) fn node_of(device: &Device, number: u64) -> Option<Node> {
    let header = device.header();
    match number {
        _ if number == header.state_rdev => Some(Node::Kfd),
        _ => gpu_of(device, number).map(Node::Render),
    }
}

/// The GPU whose memory device this is.
pub(crate) fn gpu_of(device: &Device, number: u64) -> Option<usize> {
    let header = device.header();
    header
        .gpus()
        .find(|gpu| header.gpus[*gpu].memory_rdev == number)
}

/// What `fd`, open on one of our nodes, stands for.
///
/// # Errors
/// `ENODEV` for a file of an earlier device.
pub(crate) fn meaning(device: &Device, fd: i32) -> Result<Meaning, Errno> {
    // SAFETY: no pointers.
    let position = unsafe { libc::lseek(fd, 0, libc::SEEK_CUR) };
    if position < 0 {
        return Err(Errno::last());
    }
    decode(position.cast_unsigned(), device.header().generation)
}

/// Makes `fd` stand for a slot from now on.
pub(crate) fn attach(device: &Device, fd: i32, slot: usize) -> Result<(), Errno> {
    seek(fd, encode(SLOT, device.header().generation, 0, slot))
}

/// A new descriptor that stands for an object in the memory of a GPU.
pub(crate) fn dma_buf(
    device: &Device,
    gpu: usize,
    object: usize,
    serial: u32,
) -> Result<i32, Errno> {
    let node = path(&render_node(gpu));
    // SAFETY: the path is a C string.
    let fd = unsafe { libc::open(node.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
    if fd < 0 {
        return Err(Errno::last());
    }
    let position = encode(DMA_BUF, device.header().generation, serial as u8, object);
    seek(fd, position).map(|()| fd).inspect_err(|_| {
        // SAFETY: the descriptor was opened above and given to nobody.
        unsafe { libc::close(fd) };
    })
}

fn seek(fd: i32, position: u64) -> Result<(), Errno> {
    // SAFETY: no pointers.
    let result = unsafe { libc::lseek(fd, position.cast_signed(), libc::SEEK_SET) };
    if result < 0 {
        Err(Errno::last())
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::{MINIMUM_MEMORY, state_bytes};
    use super::*;

    #[test]
    fn positions_name_what_they_were_made_for() {
        for slot in [0, 7, 0xffff] {
            let position = encode(SLOT, 0x1234, 0, slot);
            assert_eq!(decode(position, 0x1234), Ok(Meaning::Slot(slot)));
        }
        let position = encode(DMA_BUF, 0x1234, 9, 77);
        assert_eq!(
            decode(position, 0x1234),
            Ok(Meaning::DmaBuf {
                object: 77,
                serial: 9
            })
        );
    }

    #[test]
    fn files_of_another_device_are_refused() {
        assert_eq!(decode(encode(SLOT, 1, 0, 3), 2), Err(Errno::ENODEV));
        assert_eq!(decode(0, 2), Ok(Meaning::Fresh));
    }

    #[test]
    fn positions_lie_inside_the_devices() {
        let highest = encode(DMA_BUF, u64::MAX, u8::MAX, usize::MAX);
        assert!(highest < state_bytes(1).min(MINIMUM_MEMORY));
    }
}
