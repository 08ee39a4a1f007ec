//! Checkpoint and restore of a process's compute state.
//!
//! A dump is PROCESS_INFO, CHECKPOINT, UNPAUSE on the target's own fd, issued by its ptrace parent;
//! a restore is RESTORE in the new process, then RESUME by its parent.

#![expect(
    missing_docs,
    reason = "a mirror of the kernel's header, which says what its names mean"
)]

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::ioctl::requests;

/// Operations (`KFD_CRIU_OP_*`).
pub const PROCESS_INFO: u32 = 0;
pub const CHECKPOINT: u32 = 1;
pub const UNPAUSE: u32 = 2;
pub const RESTORE: u32 = 3;
pub const RESUME: u32 = 4;

/// The driver's interface version from which these operations exist: 1.8.
pub const MINIMUM_MINOR: u32 = 8;

/// Sizes in the private blob that the kernel of Linux 6.x and 7.x writes, in its order: one
/// process, then every device, buffer object, queue (plus its register state) and event.
pub const PRIVATE_PROCESS_SIZE: usize = 8;
pub const PRIVATE_DEVICE_SIZE: usize = 8;
pub const PRIVATE_BO_SIZE: usize = 272;
pub const PRIVATE_QUEUE_SIZE: usize = 120;
pub const PRIVATE_EVENT_SIZE: usize = 64;

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct CriuOp {
    /// Pointer to `num_devices` [`DeviceBucket`].
    pub devices: u64,
    /// Pointer to `num_bos` [`BoBucket`].
    pub bos: u64,
    /// Pointer to `priv_data_size` bytes that only the driver understands.
    pub priv_data: u64,
    pub priv_data_size: u64,
    pub num_devices: u32,
    pub num_bos: u32,
    /// Queues, events and SVM ranges.
    pub num_objects: u32,
    /// PROCESS_INFO: out, the target's pid in its own namespace; RESUME: in.
    pub pid: u32,
    pub op: u32,
    pub pad: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct DeviceBucket {
    /// The id the program knows, unchanged since its start.
    pub user_gpu_id: u32,
    /// The id of this machine's device.
    pub actual_gpu_id: u32,
    /// RESTORE: the render node that becomes the address space.
    pub drm_fd: u32,
    pub pad: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct BoBucket {
    pub addr: u64,
    pub size: u64,
    /// The mmap offset at the checkpoint.
    pub offset: u64,
    /// RESTORE, out: the mmap offset now.
    pub restored_offset: u64,
    /// The user gpu id.
    pub gpu_id: u32,
    pub alloc_flags: u32,
    /// Out, VRAM and GTT: a dma-buf of the content; [`crate::memory::INVALID_FD`] otherwise.
    pub dmabuf_fd: u32,
    pub pad: u32,
}

/// What the private blob has of each buffer object, in the order of the buckets.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct PrivateBo {
    pub user_addr: u64,
    /// The number in its handle: the lower half.
    pub index: u32,
    /// User ids of the GPUs that map it; then zeros.
    pub mapped_gpu_ids: [u32; 64],
    pub pad: u32,
}

impl PrivateBo {
    /// The record of a buffer object in the blob of a process with so many devices.
    pub fn of(private: &[u8], devices: usize, bo: usize) -> Option<Self> {
        let record = private.get(place(devices, bo)?..)?;
        Some(Self::read_from_prefix(record).ok()?.0)
    }
}

fn place(devices: usize, bo: usize) -> Option<usize> {
    let head = devices.checked_mul(PRIVATE_DEVICE_SIZE)? + PRIVATE_PROCESS_SIZE;
    bo.checked_mul(PRIVATE_BO_SIZE)?.checked_add(head)
}

/// The blob of a process with so many devices, as it would be with these of its buffer objects only.
pub fn with_bos(private: &[u8], devices: usize, keeps: &[bool]) -> Option<Vec<u8>> {
    let mut left = private.get(..place(devices, 0)?)?.to_vec();
    for (bo, _) in keeps.iter().enumerate().filter(|(_, keep)| **keep) {
        left.extend(private.get(place(devices, bo)?..place(devices, bo + 1)?)?);
    }
    left.extend(private.get(place(devices, keeps.len())?..)?);
    Some(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blob_loses_the_records_of_buffer_objects_and_nothing_else() {
        let (head, tail) = ([1; 24], [9; 64]);
        let record = |index| {
            let mut mapped_gpu_ids = [0; 64];
            mapped_gpu_ids[0] = 100 + index;
            PrivateBo {
                user_addr: 0,
                index,
                mapped_gpu_ids,
                pad: 0,
            }
        };
        let blob = |indices: &[u32]| {
            let mut blob = head.to_vec();
            for index in indices {
                blob.extend(record(*index).as_bytes());
            }
            blob.extend(tail);
            blob
        };
        let whole = blob(&[4, 5, 6]);
        let left = with_bos(&whole, 2, &[true, false, true]);
        assert_eq!(left, Some(blob(&[4, 6])));
        let found = PrivateBo::of(&whole, 2, 1).map(|bo| (bo.index, bo.mapped_gpu_ids[0]));
        assert_eq!(found, Some((5, 105)));
        assert_eq!(with_bos(&whole, 2, &[true; 4]), None, "shorter than that");
        assert!(PrivateBo::of(&whole, 2, 3).is_none());
    }
}

const _: () = assert!(size_of::<PrivateBo>() == PRIVATE_BO_SIZE);

requests! {
    CriuOp = 3, b'K', 0x22, 56, "AMDKFD_IOC_CRIU_OP";
}

const _: () = assert!(<CriuOp as crate::Request>::NUMBER == 0xc038_4b22);
const _: () = assert!(size_of::<DeviceBucket>() == 16 && size_of::<BoBucket>() == 48);
