//! The render node: version, clients, and amdgpu's requests by object.

#![expect(
    missing_docs,
    reason = "a mirror of the kernel's header, which says what its names mean"
)]

pub mod context;
pub mod gem;
pub mod info;
pub mod prime;
pub mod submit;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::ioctl::requests;

/// amdgpu's requests start at this number.
pub const COMMAND_BASE: u8 = 0x40;

/// `struct drm_version`: lengths in, lengths and text out.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Version {
    pub major: i32,
    pub minor: i32,
    pub patch: i32,
    pub pad: u32,
    pub name_len: u64,
    pub name: u64,
    pub date_len: u64,
    pub date: u64,
    pub desc_len: u64,
    pub desc: u64,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct GetUnique {
    pub len: u64,
    pub unique: u64,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct GetClient {
    pub index: i32,
    pub auth: i32,
    pub pid: u64,
    pub uid: u64,
    pub magic: u64,
    pub iocs: u64,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct GetCap {
    pub capability: u64,
    pub value: u64,
}

requests! {
    Version = 3, b'd', 0x00, 64, "DRM_IOCTL_VERSION";
    GetUnique = 3, b'd', 0x01, 16, "DRM_IOCTL_GET_UNIQUE";
    GetClient = 3, b'd', 0x05, 40, "DRM_IOCTL_GET_CLIENT";
    GetCap = 3, b'd', 0x0c, 16, "DRM_IOCTL_GET_CAP";
}
