//! Packets of the architected queueing language, which `COMPUTE_AQL` queues hold, and the signals that
//! they name.
//!
//! Sources: ROCr's `hsa.h` (packets), `hsa_ext_amd.h` and `amd_aql_queue.cpp` (AMD's vendor packets),
//! `amd_hsa_signal.h`, `amd_hsa_queue.h`.

#![expect(
    missing_docs,
    reason = "a mirror of ROCr's headers, which say what their names mean"
)]

use std::mem::offset_of;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Bytes of every packet.
pub const PACKET_BYTES: usize = 64;

/// Types, bits 7:0 of the header. A packet is invalid that is not there yet, or not any more.
pub const VENDOR_SPECIFIC: u8 = 0;
pub const INVALID: u8 = 1;
pub const KERNEL_DISPATCH: u8 = 2;
pub const BARRIER_AND: u8 = 3;
pub const BARRIER_OR: u8 = 5;

/// Formats of vendor packets.
pub const FORMAT_PM4_IB: u8 = 1;
pub const FORMAT_BARRIER_VALUE: u8 = 2;

/// What all packets have in the same places.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Packet {
    pub kind: u8,
    /// Barrier bit and fences.
    pub order: u8,
    /// Of vendor packets.
    pub format: u8,
    pub body: [u8; 53],
    pub completion_signal: u64,
}

/// `hsa_kernel_dispatch_packet_t`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct KernelDispatch {
    pub header: u16,
    pub setup: u16,
    /// Work-items per workgroup, each at least 1.
    pub workgroup_size: [u16; 3],
    pub reserved0: u16,
    /// Work-items in the grid, each at least 1; need not be a multiple of the workgroup size.
    pub grid_size: [u32; 3],
    /// Bytes of private memory a work-item.
    pub private_segment_size: u32,
    /// Bytes of LDS a workgroup.
    pub group_segment_size: u32,
    /// Address of the kernel descriptor.
    pub kernel_object: u64,
    pub kernarg_address: u64,
    pub reserved2: u64,
    pub completion_signal: u64,
}

/// `hsa_barrier_and_packet_t`, `hsa_barrier_or_packet_t`.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Barrier {
    pub header: u16,
    pub reserved0: u16,
    pub reserved1: u32,
    /// 0: none.
    pub dep_signal: [u64; 5],
    pub reserved2: u64,
    pub completion_signal: u64,
}

/// `hsa_amd_barrier_value_packet_t`.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct BarrierValue {
    pub header: [u16; 2],
    pub reserved0: u32,
    pub signal: u64,
    pub value: i64,
    pub mask: i64,
    /// `hsa_signal_condition32_t`.
    pub cond: u32,
    pub reserved1: u32,
    pub reserved2: u64,
    pub reserved3: u64,
    pub completion_signal: u64,
}

/// `amd_aql_pm4_ib`.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Pm4Ib {
    pub header: [u16; 2],
    /// A PM4 packet `INDIRECT_BUFFER`.
    pub ib_jump_cmd: [u32; 4],
    pub dw_cnt_remain: u32,
    pub reserved: [u32; 8],
    pub completion_signal: u64,
}

/// `amd_signal_t`, which program and device change at the same time.
#[derive(Debug)]
#[repr(C)]
pub struct Signal {
    pub kind: AtomicI64,
    pub value: AtomicI64,
    /// Where the event's id goes; 0: nobody waits for an event.
    pub event_mailbox_ptr: AtomicU64,
    pub event_id: AtomicU32,
    pub reserved1: AtomicU32,
    pub start_ts: AtomicU64,
    pub end_ts: AtomicU64,
    pub queue_ptr: AtomicU64,
    pub reserved3: [AtomicU32; 2],
}

/// Places in `amd_queue_t`.
/// The last two of its words between the doorbell's lock and that, which no runtime and no firmware uses.
pub const RESERVED: u64 = 120;
pub const READ_DISPATCH_ID: u64 = 128;
pub const QUEUE_INACTIVE_SIGNAL: u64 = 192;

const _: () = assert!(size_of::<Packet>() == PACKET_BYTES);
const _: () = assert!(offset_of!(Packet, completion_signal) == 56);
const _: () = assert!(size_of::<KernelDispatch>() == PACKET_BYTES);
const _: () = assert!(offset_of!(KernelDispatch, grid_size) == 12);
const _: () = assert!(offset_of!(KernelDispatch, kernel_object) == 32);
const _: () = assert!(size_of::<Barrier>() == PACKET_BYTES);
const _: () = assert!(offset_of!(Barrier, dep_signal) == 8);
const _: () = assert!(size_of::<BarrierValue>() == PACKET_BYTES);
const _: () = assert!(offset_of!(BarrierValue, cond) == 32);
const _: () = assert!(size_of::<Pm4Ib>() == PACKET_BYTES);
const _: () = assert!(offset_of!(Pm4Ib, ib_jump_cmd) == 4);
const _: () = assert!(size_of::<Signal>() == 64);
const _: () = assert!(offset_of!(Signal, event_mailbox_ptr) == 16);
const _: () = assert!(offset_of!(Signal, start_ts) == 32);
