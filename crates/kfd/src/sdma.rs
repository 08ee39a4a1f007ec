//! SDMA 4.x packets (the engine of Vega): the few that copy programs use.
//!
//! Source: the packet layouts of the Linux driver's `vega10_sdma_pkt_open.h`.

#![expect(
    missing_docs,
    reason = "a mirror of the kernel's header, which says what its names mean"
)]

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Operations, in bits 7:0 of a packet's first word; sub-operations stand in bits 15:8.
pub const OP_NOP: u8 = 0;
pub const OP_COPY: u8 = 1;
pub const OP_WRITE: u8 = 2;
pub const OP_INDIRECT: u8 = 4;
pub const OP_FENCE: u8 = 5;
pub const OP_TRAP: u8 = 6;
pub const OP_POLL_REGMEM: u8 = 8;
pub const OP_ATOMIC: u8 = 10;
pub const OP_CONST_FILL: u8 = 11;
pub const OP_TIMESTAMP: u8 = 13;
pub const OP_SRBM_WRITE: u8 = 14;

pub const SUBOP_COPY_LINEAR: u8 = 0;
pub const SUBOP_COPY_LINEAR_RECT: u8 = 4;

/// The most bytes one linear copy can carry on Vega: the count field has 22 bits.
pub const MAX_COPY: u32 = 1 << 22;

/// A linear copy of up to [`MAX_COPY`] bytes between GPU addresses.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C, packed(4))]
pub struct CopyLinear {
    pub header: u32,
    /// Bytes minus one, from Vega on.
    pub count: u32,
    pub parameter: u32,
    pub source: u64,
    pub destination: u64,
}

impl CopyLinear {
    /// Encodes a copy for families from [`crate::render::info::FAMILY_AI`] on.
    ///
    /// # Panics
    /// When `bytes` is zero or above [`MAX_COPY`].
    pub fn new(source: u64, destination: u64, bytes: u32) -> Self {
        assert!(
            (1..=MAX_COPY).contains(&bytes),
            "SDMA copies 1..={MAX_COPY} bytes, not {bytes}"
        );
        Self {
            header: u32::from(OP_COPY) | u32::from(SUBOP_COPY_LINEAR) << 8,
            count: bytes - 1,
            parameter: 0,
            source,
            destination,
        }
    }
}

const _: () = assert!(size_of::<CopyLinear>() == 28);
