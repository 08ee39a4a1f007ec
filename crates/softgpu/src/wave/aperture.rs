//! Where flat addresses mean memory other than global.

/// Start of the LDS aperture of flat addresses (`GET_PROCESS_APERTURES` reports the same).
pub const LDS_APERTURE: u64 = 1 << 48;
/// Start of the private (scratch) aperture of flat addresses.
pub const PRIVATE_APERTURE: u64 = 2 << 48;
