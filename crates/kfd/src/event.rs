//! Events: interrupts from the GPU that threads wait for.

#![expect(
    missing_docs,
    reason = "a mirror of the kernel's header, which says what its names mean"
)]

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::ioctl::requests;

/// Event types (`KFD_IOC_EVENT_*`).
pub const SIGNAL: u32 = 0;
pub const HW_EXCEPTION: u32 = 3;
pub const DEBUG: u32 = 5;
pub const MEMORY: u32 = 8;

/// Wait results (`KFD_IOC_WAIT_RESULT_*`).
pub const WAIT_COMPLETE: u32 = 0;
pub const WAIT_TIMEOUT: u32 = 1;
pub const WAIT_FAIL: u32 = 2;

/// How many signal events a process may have.
pub const SIGNAL_LIMIT: u32 = 4096;

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct CreateEvent {
    /// In: the handle of the page of event slots; out: its mmap offset.
    pub event_page_offset: u64,
    pub event_trigger_data: u32,
    pub event_type: u32,
    pub auto_reset: u32,
    pub node_id: u32,
    pub event_id: u32,
    pub event_slot_index: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct DestroyEvent {
    pub event_id: u32,
    pub pad: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct SetEvent {
    pub event_id: u32,
    pub pad: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct ResetEvent {
    pub event_id: u32,
    pub pad: u32,
}

/// What a memory fault was.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct MemoryException {
    pub not_present: u32,
    pub read_only: u32,
    pub no_execute: u32,
    pub imprecise: u32,
    pub va: u64,
    pub gpu_id: u32,
    pub error_type: u32,
}

/// One element of a wait: in the id, out what happened.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct EventData {
    /// Of a signal event the first eight bytes are its age when the waiter looked last, and in the reply its age now
    /// (from 1.14 on). Who says 0 does not ask for it.
    pub memory: MemoryException,
    pub ext: u64,
    pub event_id: u32,
    pub pad: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct WaitEvents {
    /// Pointer to `num_events` [`EventData`].
    pub events_ptr: u64,
    pub num_events: u32,
    pub wait_for_all: u32,
    /// Milliseconds; `u32::MAX` waits for ever.
    pub timeout: u32,
    pub wait_result: u32,
}

requests! {
    CreateEvent = 3, b'K', 0x08, 32, "AMDKFD_IOC_CREATE_EVENT";
    DestroyEvent = 1, b'K', 0x09, 8, "AMDKFD_IOC_DESTROY_EVENT";
    SetEvent = 1, b'K', 0x0a, 8, "AMDKFD_IOC_SET_EVENT";
    ResetEvent = 1, b'K', 0x0b, 8, "AMDKFD_IOC_RESET_EVENT";
    WaitEvents = 3, b'K', 0x0c, 24, "AMDKFD_IOC_WAIT_EVENTS";
}

const _: () = assert!(size_of::<MemoryException>() == 32 && size_of::<EventData>() == 48);
