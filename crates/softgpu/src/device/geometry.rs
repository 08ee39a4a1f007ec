//! Numbers of all devices that several parts report; those of a processor are in [`crate::target`].

pub(crate) const VENDOR_ID: u32 = 0x1002;
/// Few, so that runtimes make small save areas and grids.
pub(crate) const COMPUTE_UNITS: u32 = 16;
pub(crate) const SIMD_PER_CU: u32 = 4;
/// Hertz of the GPU's constant clock.
pub(crate) const CLOCK_HZ: u64 = 100_000_000;
