//! `/dev/kfd`: version, and checkpoint and restore of a process.
//!
//! The kernel accepts the checkpoint calls only from the process itself or from the very thread
//! that traces its leader, so they must not be issued by a worker thread.

use std::cmp::Ordering;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::criu::{self, BoBucket, CriuOp, DeviceBucket};
use crate::memory::{FreeMemory, INVALID_FD, ImportDmabuf, MapMemory};
use crate::process::GetVersion;

/// Most devices, buffer objects and private bytes accepted from the kernel: counts above these
/// would make us allocate without bound.
const DEVICE_LIMIT: u32 = 4096;
const BO_LIMIT: u32 = 16 << 20;
const PRIVATE_LIMIT: u64 = 1 << 32;

/// What PROCESS_INFO says. From this call to [`unpause`] the queues of the process stand still.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessInfo {
    /// In the process's own pid namespace.
    pub pid: u32,
    /// GPUs that it uses.
    pub devices: u32,
    /// Buffer objects.
    pub bos: u32,
    /// Queues, events and SVM ranges.
    pub objects: u32,
    /// The kernel's own state, in bytes.
    pub private_bytes: u64,
}

/// A buffer object at a checkpoint or after a restore.
#[derive(Debug)]
pub struct Bo {
    /// As the kernel describes it.
    pub bucket: BoBucket,
    /// Its content; `None` unless it is VRAM or GTT.
    pub content: Option<OwnedFd>,
}

/// The state of a process.
#[derive(Debug)]
pub struct ProcessState {
    /// In the kernel's order.
    pub devices: Vec<DeviceBucket>,
    /// In the kernel's order.
    pub bos: Vec<Bo>,
    /// The kernel's own state: opaque.
    pub private: Vec<u8>,
}

/// (major, minor) of the driver's interface.
pub fn version(kfd: BorrowedFd<'_>) -> io::Result<(u32, u32)> {
    let mut args = GetVersion::default();
    // SAFETY: the block holds no pointers.
    unsafe { crate::ioctl::call(kfd, &mut args) }?;
    Ok((args.major, args.minor))
}

/// Stops the queues of the process behind `kfd` and says how much state there is.
pub fn process_info(kfd: BorrowedFd<'_>) -> io::Result<ProcessInfo> {
    let mut args = CriuOp {
        op: criu::PROCESS_INFO,
        ..CriuOp::default()
    };
    // SAFETY: this operation reads and writes through no pointer.
    unsafe { crate::ioctl::call(kfd, &mut args) }?;
    Ok(ProcessInfo {
        pid: args.pid,
        devices: args.num_devices,
        bos: args.num_bos,
        objects: args.num_objects,
        private_bytes: args.priv_data_size,
    })
}

/// Reads the state of a process whose queues stand still.
pub fn checkpoint(kfd: BorrowedFd<'_>, info: &ProcessInfo) -> io::Result<ProcessState> {
    if info.devices > DEVICE_LIMIT || info.bos > BO_LIMIT || info.private_bytes > PRIVATE_LIMIT {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("absurd counts: {info:?}"),
        ));
    }
    let mut devices = vec![DeviceBucket::default(); info.devices as usize];
    let fresh = BoBucket {
        dmabuf_fd: INVALID_FD,
        ..BoBucket::default()
    };
    let mut bos = vec![fresh; info.bos as usize];
    let mut private = vec![0u8; info.private_bytes as usize];
    let mut args = CriuOp {
        devices: devices.as_mut_ptr() as u64,
        bos: bos.as_mut_ptr() as u64,
        priv_data: private.as_mut_ptr() as u64,
        priv_data_size: info.private_bytes,
        num_devices: info.devices,
        num_bos: info.bos,
        num_objects: info.objects,
        pid: info.pid,
        op: criu::CHECKPOINT,
        pad: 0,
    };
    // SAFETY: the three pointers are to live vectors of exactly the lengths given beside them.
    unsafe { crate::ioctl::call(kfd, &mut args) }?;
    Ok(ProcessState {
        devices,
        bos: adopt(bos),
        private,
    })
}

/// Lets the queues run again.
pub fn unpause(kfd: BorrowedFd<'_>) -> io::Result<()> {
    let mut args = CriuOp {
        op: criu::UNPAUSE,
        ..CriuOp::default()
    };
    // SAFETY: this operation reads and writes through no pointer.
    unsafe { crate::ioctl::call(kfd, &mut args) }
}

/// Makes the state anew in the calling process, which must not have used `kfd` yet. The buffer
/// objects come back with their new mmap offsets and their (undefined) contents.
pub fn restore(
    kfd: BorrowedFd<'_>,
    devices: &mut [DeviceBucket],
    mut bos: Vec<BoBucket>,
    private: &mut [u8],
    objects: u32,
) -> io::Result<Vec<Bo>> {
    let count =
        |len: usize| u32::try_from(len).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput));
    for bo in &mut bos {
        bo.dmabuf_fd = INVALID_FD;
    }
    let mut args = CriuOp {
        devices: devices.as_mut_ptr() as u64,
        bos: bos.as_mut_ptr() as u64,
        priv_data: private.as_mut_ptr() as u64,
        priv_data_size: private.len() as u64,
        num_devices: count(devices.len())?,
        num_bos: count(bos.len())?,
        num_objects: objects,
        pid: 0,
        op: criu::RESTORE,
        pad: 0,
    };
    // SAFETY: the three pointers are to live slices of exactly the lengths given beside them.
    unsafe { crate::ioctl::call(kfd, &mut args) }?;
    Ok(adopt(bos))
}

/// The highest number of a buffer object that an import can be given: one comes from an image, and all below are
/// made and given back.
pub const MOST_NUMBERS: u32 = 1 << 16;

/// Makes a buffer object of a dma-buf, at an address, with this number in its handle.
///
/// The driver gives the lowest number that is free. Those below the wanted one are taken by imports that are
/// given back.
///
/// # Errors
/// The driver's; a number beyond [`MOST_NUMBERS`], or one that is in use.
pub fn import(
    kfd: BorrowedFd<'_>,
    dmabuf: BorrowedFd<'_>,
    (gpu_id, va_addr): (u32, u64),
    number: u32,
) -> io::Result<u64> {
    if number > MOST_NUMBERS {
        let far = format!("number {number} of a buffer object is beyond {MOST_NUMBERS}");
        return Err(io::Error::other(far));
    }
    let mut below = Vec::new();
    let imported = loop {
        let mut args = ImportDmabuf {
            va_addr,
            handle: 0,
            gpu_id,
            dmabuf_fd: dmabuf.as_raw_fd().cast_unsigned(),
        };
        // SAFETY: the block holds no pointers.
        if let Err(error) = unsafe { crate::ioctl::call(kfd, &mut args) } {
            break Err(error);
        }
        match (args.handle as u32).cmp(&number) {
            Ordering::Equal => break Ok(args.handle),
            Ordering::Less => below.push(args.handle),
            Ordering::Greater => {
                below.push(args.handle);
                let taken = format!("number {number} of a buffer object is in use");
                break Err(io::Error::other(taken));
            }
        }
    };
    for handle in below {
        let mut args = FreeMemory { handle };
        // SAFETY: as above.
        unsafe { crate::ioctl::call(kfd, &mut args) }?;
    }
    imported
}

/// Maps a buffer object on GPUs, by the ids that the process knows.
pub fn map(kfd: BorrowedFd<'_>, handle: u64, gpu_ids: &[u32]) -> io::Result<()> {
    let mut args = MapMemory {
        handle,
        device_ids_array_ptr: gpu_ids.as_ptr() as u64,
        n_devices: gpu_ids.len() as u32,
        n_success: 0,
    };
    // SAFETY: the pointer is to a live slice of the length beside it, which is only read.
    unsafe { crate::ioctl::call(kfd, &mut args) }
}

/// Lets a restored process's queues run.
pub fn resume(kfd: BorrowedFd<'_>, pid: u32) -> io::Result<()> {
    let mut args = CriuOp {
        op: criu::RESUME,
        pid,
        ..CriuOp::default()
    };
    // SAFETY: this operation reads and writes through no pointer.
    unsafe { crate::ioctl::call(kfd, &mut args) }
}

fn adopt(buckets: Vec<BoBucket>) -> Vec<Bo> {
    let adopt = |bucket: BoBucket| {
        let content = (bucket.dmabuf_fd != INVALID_FD).then(|| {
            // SAFETY: the kernel has just installed this descriptor for us, so it is open and
            // nobody else owns it; each bucket is converted once.
            unsafe { OwnedFd::from_raw_fd(bucket.dmabuf_fd as i32) }
        });
        Bo { bucket, content }
    };
    buckets.into_iter().map(adopt).collect()
}
