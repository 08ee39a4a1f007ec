//! Code objects: from the bytes of a program to its kernels.
//!
//! A HIP program carries its kernels in layers: a host executable or shared library with a
//! `.hip_fatbin` section, which holds offload bundles back to back, raw or compressed, which hold
//! one AMDGPU ELF per target, which holds machine code, kernel descriptors and a metadata note.
//! [`extract`] peels the layers down to ELF files, [`CodeObject::parse`] reads one.
//!
//! What must hold: any bytes are either understood or refused with an error; nothing here panics,
//! and no length field of the input makes it allocate more than [`Limits`] allows.

#![forbid(unsafe_code)]

mod bundle;
mod compressed;
mod container;
mod descriptor;
mod elf;
mod kernel;
mod metadata;
mod target;

pub use bundle::{BundleError, bundle_len};
pub use compressed::CompressedError;
pub use container::{ExtractError, Extracted, extract};
pub use descriptor::{DESCRIPTOR_SIZE, Descriptor};
pub use elf::{CodeObject, ObjectError, Relocation, Segment, Symbol, SymbolKind};
pub use kernel::{Arg, ArgAccess, ArgKind, Kernel};
pub use metadata::MetadataError;
pub use target::{TargetId, TargetName};

/// Bounds on what one input may make us do.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes that one compressed bundle may grow to.
    pub uncompressed: usize,
    /// Entries of one offload bundle.
    pub entries: usize,
    /// Code objects taken from one file.
    pub objects: usize,
    /// Symbols read from one code object.
    pub symbols: usize,
    /// Kernels read from one code object.
    pub kernels: usize,
    /// Bytes of one metadata note.
    pub metadata: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            uncompressed: 4 << 30,
            entries: 1024,
            objects: 65_536,
            symbols: 4 << 20,
            kernels: 1 << 20,
            metadata: 256 << 20,
        }
    }
}

/// Little-endian reads that fail instead of panicking.
trait Bytes {
    fn array<const N: usize>(&self, at: usize) -> Option<[u8; N]>;
    fn u16_at(&self, at: usize) -> Option<u16> {
        self.array(at).map(u16::from_le_bytes)
    }
    fn u32_at(&self, at: usize) -> Option<u32> {
        self.array(at).map(u32::from_le_bytes)
    }
    fn u64_at(&self, at: usize) -> Option<u64> {
        self.array(at).map(u64::from_le_bytes)
    }
}

impl Bytes for [u8] {
    fn array<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.get(at..)?.first_chunk::<N>().copied()
    }
}
