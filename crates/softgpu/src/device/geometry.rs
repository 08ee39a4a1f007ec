//! Numbers of the device that several parts report.

pub(crate) const VENDOR_ID: u32 = 0x1002;
/// Vega 20, which is the thunk's table's word for [`crate::target::TARGET`].
pub(crate) const DEVICE_ID: u32 = 0x66a1;
/// Few, so that runtimes make small save areas and grids.
pub(crate) const COMPUTE_UNITS: u32 = 16;
pub(crate) const SIMD_PER_CU: u32 = 4;
pub(crate) const WAVES_PER_SIMD: u32 = 10;
/// Hertz of the GPU's constant clock.
pub(crate) const CLOCK_HZ: u64 = 100_000_000;
