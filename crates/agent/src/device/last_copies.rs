//! What the last checkpoint has shown of how fast a device's content is copied.

use std::time::Duration;

/// Less says nothing of a rate.
const LEAST_COPIED: u64 = 4 << 20;

/// What the last checkpoint has shown.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LastCopies {
    /// Bytes a second, into the checkpoint.
    pub(crate) link_rate: Option<u64>,
    pub(crate) rest_ns: Option<u64>,
    pub(crate) unchanged_bytes: u64,
}

impl LastCopies {
    /// Takes note of one: so many bytes copied in so long; of its stall, what was neither fingerprints nor copying; and what
    /// had not changed.
    pub(crate) fn note(&mut self, copied: (u64, u64), rest_ns: u64, unchanged_bytes: u64) {
        let (bytes, took_ns) = copied;
        if bytes >= LEAST_COPIED {
            self.link_rate = rate(bytes, Duration::from_nanos(took_ns));
        }
        self.rest_ns = Some(rest_ns);
        self.unchanged_bytes = unchanged_bytes;
    }
}

/// Bytes a second.
pub(crate) fn rate(bytes: u64, took: Duration) -> Option<u64> {
    let rate = u128::from(bytes) * 1_000_000_000 / took.as_nanos().max(1);
    rate.try_into().ok().filter(|rate| *rate > 0)
}
