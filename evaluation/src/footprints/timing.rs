//! How long one launch of each kernel takes to evaluate: the first time, and when it comes again.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use strobe_code_object::{ArgKind, Kernel};
use strobe_extent::Extent;
use strobe_footprint::{KernelFootprint, Launch, LaunchMemo, LaunchMemory};

/// Bytes of each buffer; the next one begins twice as far on.
const BUFFER: u64 = 1 << 24;
const FIRST: u64 = 0x7f << 40;
/// Bytes for what a launch has touched.
const MEMO: usize = 1 << 20;
/// Times that it comes again; the shortest counts.
const AGAIN: usize = 3;
/// Buckets for each power of two.
const BUCKETS: f64 = 8.0;

/// Of this thread: others of the machine do not count.
pub(super) fn processor_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// Of all kernels of a library, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EvaluationTimes {
    /// Of processor time.
    pub first: Times,
    /// Of the clock: asking for processor time takes longer than that.
    pub again: Times,
    /// Launches whose writes are known, with nothing known of device memory.
    pub writes_known: u64,
}

/// Logarithmic buckets of times, and the longest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    buckets: BTreeMap<u32, u64>,
    pub longest: u64,
}

impl Times {
    fn add(&mut self, time: Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let bucket = (ns.max(1) as f64).log2() * BUCKETS;
        *self.buckets.entry(bucket as u32).or_default() += 1;
        self.longest = self.longest.max(ns);
    }

    fn merge(&mut self, other: &Self) {
        for (bucket, count) in &other.buckets {
            *self.buckets.entry(*bucket).or_default() += count;
        }
        self.longest = self.longest.max(other.longest);
    }

    /// The time that this part (0 to 1) of all does not exceed, to a tenth.
    pub fn quantile(&self, part: f64) -> f64 {
        let all: u64 = self.buckets.values().sum();
        let mut left = (all as f64 * part).ceil() as u64;
        for (bucket, count) in &self.buckets {
            if *count >= left {
                return (f64::from(bucket + 1) / BUCKETS).exp2();
            }
            left -= count;
        }
        0.0
    }
}

impl EvaluationTimes {
    pub(super) fn add(&mut self, footprint: &KernelFootprint, kernel: &Kernel) {
        let kernarg = arguments(kernel);
        let launch = Launch {
            kernarg: &kernarg,
            grid: [4096, 1, 1],
            block: [256, 1, 1],
            dynamic_lds: 0,
        };
        let mut memo = LaunchMemo::new(MEMO);
        let start = processor_time();
        let access = memo.evaluate(footprint, &launch, &Buffers);
        self.first.add(processor_time() - start);
        let again = (0..AGAIN).map(|_| {
            let start = Instant::now();
            std::hint::black_box(memo.evaluate(footprint, &launch, &Buffers));
            start.elapsed()
        });
        self.again.add(again.min().unwrap_or_default());
        self.writes_known += u64::from(!access.writes.is_unknown());
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.first.merge(&other.first);
        self.again.merge(&other.again);
        self.writes_known += other.writes_known;
    }
}

/// Device memory full of buffers, whose content nobody knows.
struct Buffers;

impl LaunchMemory for Buffers {
    fn allocation(&self, addr: u64) -> Option<Extent> {
        let start = addr & !(2 * BUFFER - 1);
        let extent = Extent::with_len(start, BUFFER).ok()?;
        let is_device = (FIRST..2 * FIRST).contains(&addr);
        (is_device && extent.contains_address(addr)).then_some(extent)
    }

    fn is_allocated(&self, extent: Extent) -> bool {
        let next = ((extent.start() | (2 * BUFFER - 1)) + 1).max(FIRST);
        self.allocation(extent.start()).is_some() || (next..2 * FIRST).contains(&(extent.end() - 1))
    }

    fn known_bytes(&self, _: u64, _: usize) -> Option<Vec<u8>> {
        None
    }

    fn allocations_epoch(&self) -> Option<u64> {
        Some(0)
    }
}

/// A buffer for each pointer, a small number for each number, buffers in each structure.
fn arguments(kernel: &Kernel) -> Vec<u8> {
    let mut kernarg = vec![0; kernel.kernarg_size as usize];
    let mut put = |at: u32, bytes: &[u8]| {
        let place = kernarg.get_mut(at as usize..);
        if let Some(place) = place.and_then(|place| place.get_mut(..bytes.len())) {
            place.copy_from_slice(bytes);
        }
    };
    let pointer = |at: u32| (FIRST + u64::from(at / 8) * 2 * BUFFER).to_le_bytes();
    for arg in kernel.args.iter().filter(|arg| !arg.kind.is_hidden()) {
        match (arg.kind, arg.size) {
            (ArgKind::GlobalBuffer, _) => put(arg.offset, &pointer(arg.offset)),
            (_, 0..=3) => {}
            (_, 4..=8) => put(arg.offset, &100_u32.to_le_bytes()),
            _ => (0..arg.size / 8)
                .filter_map(|word| arg.offset.checked_add(8 * word))
                .for_each(|at| put(at, &pointer(at))),
        }
    }
    kernarg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_near_the_times() {
        let mut times = Times::default();
        assert_eq!(times.quantile(0.5), 0.0);
        for ns in 1..=1000 {
            times.add(Duration::from_nanos(ns));
        }
        let mut both = Times::default();
        both.add(Duration::from_millis(2));
        both.merge(&times);
        for (part, expected) in [(0.5, 500.0), (0.99, 990.0)] {
            let found = times.quantile(part);
            assert!((found / expected - 1.0).abs() < 0.1, "{found} at {part}");
        }
        assert_eq!((times.longest, both.longest), (1000, 2_000_000));
    }

    #[test]
    fn memory_is_allocated_where_a_buffer_is() {
        let extent = |start, len| Extent::with_len(start, len).unwrap();
        assert!(Buffers.is_allocated(extent(FIRST + BUFFER - 1, 2)));
        assert!(!Buffers.is_allocated(extent(FIRST + BUFFER, BUFFER)));
        assert!(Buffers.is_allocated(extent(FIRST + BUFFER, BUFFER + 1)));
        assert!(!Buffers.is_allocated(extent(4096, 4096)));
        assert!(Buffers.is_allocated(extent(4096, FIRST)));
    }
}
