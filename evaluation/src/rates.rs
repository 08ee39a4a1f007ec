//! The time model of the software GPU in experiments.

/// Rates that the software GPU keeps to.
///
/// On real machines device memory is 30 to 100 times as fast as the link. Here a copy inside the
/// device is interpreted, so the link has to be slowed to keep the ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// Bytes a second between host and device.
    pub link: u64,
    /// Bytes a second inside the device.
    pub device: u64,
}

impl Rates {
    /// A copy inside the device as fast as the interpreter does it (`hipMemcpyDtoD` of 64 MB on two
    /// cores), the link at 1/30 of that.
    pub const MODEL: Self = Self {
        link: 11_300_000,
        device: 340_000_000,
    };

    /// The same with the link at 1/96 of it: the ratio of the machines with the fastest memory.
    pub const VALIDATION: Self = Self {
        link: Self::MODEL.device / 96,
        ..Self::MODEL
    };

    /// Options for `strobe softgpu`.
    pub fn options(self) -> Vec<String> {
        vec![
            "--link-rate".into(),
            self.link.to_string(),
            "--device-rate".into(),
            self.device.to_string(),
        ]
    }
}
