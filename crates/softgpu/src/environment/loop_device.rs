//! A loop block device over a sparse memory file.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use nix::sys::memfd::{MFdFlags, memfd_create};

// From include/uapi/linux/loop.h.
const LOOP_CTL_GET_FREE: libc::c_ulong = 0x4c82;
const LOOP_CONFIGURE: libc::c_ulong = 0x4c0a;
/// The device is released when its last user closes it.
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_OFFSET: usize = 52;
const LOOP_MAJOR: u64 = 7;
/// Another process may take the free device we were told of; then we ask again.
const ATTEMPTS: u32 = 64;

/// `struct loop_config`: backing fd, block size, `struct loop_info64` (232 bytes), reserved words.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: [u8; 232],
    reserved: [u64; 8],
}

const _: () = assert!(size_of::<LoopConfig>() == 304);

/// An open loop device; its content is gone when this and all users of the device are.
#[derive(Debug)]
pub(super) struct LoopDevice {
    node: File,
    rdev: u64,
}

impl LoopDevice {
    /// A zeroed device of `bytes` bytes; memory is used only where something was written.
    pub(super) fn create(bytes: u64) -> io::Result<Self> {
        let backing: OwnedFd = memfd_create(c"softgpu", MFdFlags::MFD_CLOEXEC)?;
        nix::unistd::ftruncate(&backing, bytes.cast_signed())?;
        let control = OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/loop-control")?;
        let mut last = io::Error::from(io::ErrorKind::ResourceBusy);
        for _ in 0..ATTEMPTS {
            // SAFETY: LOOP_CTL_GET_FREE takes no argument.
            let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE) };
            if number < 0 {
                return Err(io::Error::last_os_error());
            }
            let rdev = libc::makedev(LOOP_MAJOR as u32, number.unsigned_abs());
            match configure(number, rdev, &backing) {
                Ok(node) => return Ok(Self { node, rdev }),
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    pub(super) fn node(&self) -> &File {
        &self.node
    }

    pub(super) fn rdev(&self) -> u64 {
        self.rdev
    }
}

fn configure(number: i32, rdev: u64, backing: &OwnedFd) -> io::Result<File> {
    let node = open_node(number, rdev)?;
    let mut config = LoopConfig {
        fd: backing.as_raw_fd().cast_unsigned(),
        block_size: 4096,
        info: [0; 232],
        reserved: [0; 8],
    };
    config.info[LO_FLAGS_OFFSET..LO_FLAGS_OFFSET + 4]
        .copy_from_slice(&LO_FLAGS_AUTOCLEAR.to_le_bytes());
    // SAFETY: `config` is a live `struct loop_config`, which the kernel only reads.
    let result = unsafe { libc::ioctl(node.as_raw_fd(), LOOP_CONFIGURE, &raw const config) };
    if result == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok(node)
    }
}

/// Opens /dev/loopN, or a node of our own where /dev has none (containers).
fn open_node(number: i32, rdev: u64) -> io::Result<File> {
    let open = |path: &PathBuf| OpenOptions::new().read(true).write(true).open(path);
    let path = PathBuf::from(format!("/dev/loop{number}"));
    match open(&path) {
        Ok(node) if node.metadata()?.rdev() == rdev => return Ok(node),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let folder = tempfile::Builder::new().prefix("softgpu-").tempdir()?;
    let path = folder.path().join(format!("loop{number}"));
    super::namespace::block_node(&path, rdev)?;
    open(&path)
}
