//! The device's half: the kernel that adds the lanes of each block, and what it is given.

use crate::BLOCK_BYTES;
use std::ffi::CStr;

/// The symbol of the kernel's descriptor. It wants one work-group of [`crate::LANES`] for each entry
/// of the table of blocks.
pub const KERNEL: &CStr = c"strobe_fingerprint.kd";

/// Bytes of [`KernelArguments`] as the kernel reads them.
pub const KERNEL_ARGUMENT_BYTES: usize = 16;

/// What the kernel is given, at the addresses of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelArguments {
    /// The table of [`BlockEntry`]s, 8-byte aligned.
    pub blocks: u64,
    /// Where the sums of the blocks go: [`SUM_BYTES`] each, 16-byte aligned, in the table's order.
    pub sums: u64,
}

/// Bytes of a [`crate::BlockSum`] as the kernel writes it: four little-endian words.
pub const SUM_BYTES: usize = 16;

/// A block to be fingerprinted, as it lies in the table that the kernel reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockEntry {
    /// Where it is, at any alignment.
    pub address: u64,
    /// How long it is: at most [`BLOCK_BYTES`].
    pub bytes: u32,
    /// The how manieth it is of its memory, from 0.
    pub number: u32,
}

impl KernelArguments {
    /// As the kernel reads them.
    pub fn to_bytes(self) -> [u8; KERNEL_ARGUMENT_BYTES] {
        let mut bytes = [0; KERNEL_ARGUMENT_BYTES];
        bytes[..8].copy_from_slice(&self.blocks.to_le_bytes());
        bytes[8..].copy_from_slice(&self.sums.to_le_bytes());
        bytes
    }
}

impl BlockEntry {
    /// Bytes of an entry.
    pub const BYTES: usize = 16;

    /// The blocks of `len` bytes at `address`.
    pub fn of(address: u64, len: u64) -> impl Iterator<Item = BlockEntry> {
        let blocks = (0..len).step_by(BLOCK_BYTES);
        blocks.zip(0..).map(move |(at, number)| BlockEntry {
            address: address.wrapping_add(at),
            bytes: (len - at).min(BLOCK_BYTES as u64) as u32,
            number,
        })
    }

    /// The reverse of [`BlockEntry::to_bytes`].
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> BlockEntry {
        let half = |at: usize| {
            let bytes = &bytes[at..at + 8];
            bytes
                .iter()
                .rev()
                .fold(0, |all, &byte| all << 8 | u64::from(byte))
        };
        let sizes = half(8);
        BlockEntry {
            address: half(0),
            bytes: sizes as u32,
            number: (sizes >> 32) as u32,
        }
    }

    /// As the kernel reads it.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.address.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[12..].copy_from_slice(&self.number.to_le_bytes());
        bytes
    }
}
