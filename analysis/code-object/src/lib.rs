//! Code objects: from the bytes of a program to its kernels.
//!
//! A HIP program carries its kernels in layers: a host executable or shared library with a
//! `.hip_fatbin` section, which holds offload bundles back to back, raw or compressed, which hold
//! one AMDGPU ELF per target, which holds machine code, kernel descriptors and a metadata note.
//! [`extract`] peels the layers down to ELF files ([`visit`]: one at a time), [`CodeObject::parse`] reads one.
//!
//! What must hold: any bytes are either understood or refused with an error; nothing here panics,
//! and no length field of the input makes it allocate more than [`ObjectLimits`] allows.

#![forbid(unsafe_code)]

mod bundle;
mod bytes;
mod compressed;
mod constants;
mod container;
mod descriptor;
mod elf;
mod image;
mod input;
mod kernel;
mod limits;
mod metadata;
mod sections;
mod target;

pub use bundle::{BundleError, bundle_len};
pub use compressed::CompressedError;
pub use constants::Constant;
pub use container::{ExtractError, Extracted, extract, visit, visit_file};
pub use descriptor::{DESCRIPTOR_SIZE, Descriptor};
pub use elf::{CodeObject, ObjectError, Relocation, Segment, Symbol, SymbolKind};
pub use image::file_of_image;
pub use kernel::{Arg, ArgAccess, ArgKind, Kernel};
pub use limits::ObjectLimits;
pub use metadata::MetadataError;
pub use target::{TargetId, TargetName};
