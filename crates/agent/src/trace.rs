//! The trace: everything observed, applied in the order of the calls.
//!
//! Off-checkpoint the control thread applies records some milliseconds later; from the cut until
//! the last chunk is saved the calling threads apply theirs themselves. Either way allocations and
//! tables are those of the point in the trace that has been reached, whatever happens meanwhile.
//!
//! Fingerprints that are taken ahead of a cut are kept here, because every write that is announced
//! comes by: at the cut, when no record is left, they know of all of them.

use crate::in_flight::InFlight;
use crate::kernel::Kernel;
use crate::launch_log::LaunchLog;
use crate::observed::{Launch, Observed, RawStream};
use crate::registry::Registry;
use crate::tables::{Look, Tables};
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use strobe_engine::{StreamId, Validation};
use strobe_extent::{Access, Extent, ExtentSet, Reason, Side};
use strobe_fingerprint::Fingerprint;
use strobe_footprint::Memory;
use strobe_graph::{Kind, LaunchGraph, Operation, Stream};

/// Operations that the graph remembers: some rounds of a training loop.
const GRAPH_OPERATIONS: usize = 8192;

/// Launches so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub launches: u64,
    /// Launches whose writes are known.
    pub exact: u64,
    /// Launches that may write anything.
    pub conservative: u64,
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Trace {
    registry: Registry,
    tables: Tables,
    graph: LaunchGraph,
    streams: Streams,
    /// The kernel launched last on each stream.
    last: HashMap<RawStream, &'static str>,
    latest: Option<&'static str>,
    counts: Counts,
    /// Kernels that may write anything, and why.
    unresolved: BTreeMap<&'static str, Reason>,
    in_flight: InFlight,
    /// Memory that somebody writes unannounced: worth nothing ahead of a cut.
    not_ahead: ExtentSet,
    /// From the beginning of a checkpoint to its cut.
    validation: Option<Validation<Fingerprint>>,
    log: Option<LaunchLog>,
}

/// What has been learned from one observation: who may write what.
#[derive(Clone, Debug)]
pub(crate) struct Effect {
    /// The stream it was enqueued on, if any.
    pub stream: Option<StreamId>,
    pub writes: Side,
    /// What was launched, if it was a kernel that is known by name.
    pub kernel: Option<&'static Kernel>,
}

#[derive(Debug, Default)]
struct Streams {
    ids: HashMap<RawStream, u64>,
    created: u64,
}

impl Streams {
    /// The number of a stream, never used twice.
    fn id(&mut self, stream: RawStream) -> u64 {
        if stream == RawStream(0) {
            return Stream::LEGACY.0;
        }
        *self.ids.entry(stream).or_insert_with(|| {
            self.created += 1;
            self.created
        })
    }
}

struct Known<'a> {
    registry: &'a Registry,
    tables: &'a Tables,
}

impl Memory for Known<'_> {
    fn allocation(&self, address: u64) -> Option<Extent> {
        self.registry.find(address).map(|buffer| buffer.extent)
    }

    fn known_bytes(&self, address: u64, len: usize) -> Option<Vec<u8>> {
        self.tables.known(address, len)
    }
}

impl Trace {
    #[allow(clippy::new_without_default, reason = "an empty trace is a decision")]
    pub(crate) fn new() -> Trace {
        Trace {
            registry: Registry::new(),
            tables: Tables::default(),
            graph: LaunchGraph::new(GRAPH_OPERATIONS),
            streams: Streams::default(),
            last: HashMap::new(),
            latest: None,
            counts: Counts::default(),
            unresolved: BTreeMap::new(),
            in_flight: InFlight::default(),
            not_ahead: ExtentSet::new(),
            validation: None,
            log: LaunchLog::from_environment(),
        }
    }

    /// Applies one observation.
    pub(crate) fn apply(&mut self, observed: &Observed<'_>) -> Effect {
        let effect = self.effect_of(observed);
        if let Some(validation) = &mut self.validation {
            validation.written(&effect.writes);
        }
        effect
    }

    fn effect_of(&mut self, observed: &Observed<'_>) -> Effect {
        match *observed {
            Observed::Launch(launch) => self.launch(&launch),
            Observed::Write { stream, start, len } => {
                let writes = Extent::with_len(start, len).map_or(Side::none(), Side::from);
                let kind = if stream.is_some() {
                    Kind::Copy
                } else {
                    Kind::Host
                };
                self.operation(kind, stream, len, writes)
            }
            Observed::Anything { stream } => {
                let writes = Side::Unknown(Reason::NotAnalysed);
                self.operation(Kind::Kernel, stream, 0, writes)
            }
            Observed::Content {
                address,
                mapped,
                bytes,
            } => {
                self.tables.learn(address, bytes, mapped);
                Effect::none()
            }
            Observed::Allocate { start, len } => {
                if let Ok(extent) = Extent::with_len(start, len) {
                    self.registry.insert(extent);
                    self.graph.allocate(extent);
                    self.logged(|log| log.allocate(extent));
                }
                Effect::none()
            }
            Observed::Free { start } => {
                self.logged(|log| log.free(start));
                self.graph.free(start);
                let freed = self.registry.remove(start);
                if let Some(buffer) = freed {
                    self.tables.freed(buffer.extent);
                }
                let writes = freed.map_or(Side::none(), |buffer| buffer.extent.into());
                Effect {
                    stream: None,
                    writes,
                    kernel: None,
                }
            }
            Observed::CreateStream { stream } | Observed::DestroyStream { stream } => {
                if let Some(id) = self.streams.ids.remove(&stream) {
                    self.graph.destroy_stream(Stream(id));
                }
                self.last.remove(&stream);
                Effect::none()
            }
            Observed::Synchronising { number } => {
                self.in_flight.waits(number);
                Effect::none()
            }
            Observed::Synchronised { number, stream } => {
                let stream = stream.map(|stream| self.streams.id(stream));
                self.in_flight.waited(number, stream);
                Effect::none()
            }
            Observed::Reset => {
                self.logged(LaunchLog::reset);
                self.in_flight.all_ended();
                self.not_ahead.clear();
                self.registry.clear();
                self.tables.clear();
                self.graph = LaunchGraph::new(GRAPH_OPERATIONS);
                self.streams.ids.clear();
                self.last.clear();
                Effect::none()
            }
        }
    }

    /// Records were lost: `live` is what is allocated, and nothing else is known any more.
    pub(crate) fn resume_after_loss(&mut self, live: &[Extent], lost: u64) {
        self.counts.launches += lost;
        self.counts.conservative += lost;
        self.tables.clear();
        self.registry.clear();
        for extent in live {
            self.registry.insert(*extent);
        }
        let anything = Side::Unknown(Reason::NotAnalysed);
        self.in_flight.enqueued(None, &anything);
        if let Some(validation) = &mut self.validation {
            validation.written(&anything);
        }
        self.logged(|log| log.lost(lost));
    }

    /// From now on the fingerprints are told of every write, and of those at once that may still be
    /// under way. What a loop of the program is about to write is not worth a fingerprint.
    pub(crate) fn validate(&mut self, mut validation: Validation<Fingerprint>) {
        validation.written(&self.in_flight.writes());
        validation.written(&Side::Extents(self.not_ahead.clone()));
        let expected = self.graph.predict();
        if expected.period().is_some() {
            validation.written(&Side::Extents(expected.copy_order().into_iter().collect()));
        }
        self.validation = Some(validation);
    }

    /// These chunks differed from what they had been ahead of a cut.
    pub(crate) fn not_ahead(&mut self, chunks: &[Extent]) {
        chunks
            .iter()
            .for_each(|chunk| self.not_ahead.insert(*chunk));
    }

    /// The fingerprints that are being taken ahead of the cut.
    pub(crate) fn validation(&mut self) -> Option<&mut Validation<Fingerprint>> {
        self.validation.as_mut()
    }

    /// They are told of nothing any more.
    pub(crate) fn take_validation(&mut self) -> Option<Validation<Fingerprint>> {
        self.validation.take()
    }

    /// Whether a launch log is kept.
    pub(crate) fn has_log(&self) -> bool {
        self.log.is_some()
    }

    /// Writes the launch log as far as it goes.
    pub(crate) fn flush_log(&mut self) {
        self.logged(LaunchLog::flush);
    }

    #[inline]
    fn logged(&mut self, write: impl FnOnce(&mut LaunchLog)) {
        if let Some(log) = &mut self.log {
            write(log);
        }
    }

    /// Nothing is under way: reads the tables again.
    pub(crate) fn look_up_tables(&mut self, look: Look) {
        self.in_flight.all_ended();
        self.tables.look_up_again(look);
    }

    /// From now on, or no longer, the content of an image depends on footprints.
    pub(crate) fn must_be_right(&mut self, must: bool) {
        self.tables.must_be_right(must);
    }

    /// Extents in the order in which they are expected to be written.
    pub(crate) fn copy_order(&self) -> Vec<Extent> {
        self.graph.predict().copy_order()
    }

    /// The kernel launched last on `stream`.
    pub(crate) fn last_kernel(&self, stream: RawStream) -> Option<&'static str> {
        self.last.get(&stream).copied()
    }

    /// The kernel launched last on any stream.
    pub(crate) fn latest_kernel(&self) -> Option<&'static str> {
        self.latest
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// The kernels whose launches may write anything, and why the latest one did.
    pub(crate) fn unresolved(&self) -> impl Iterator<Item = (&'static str, Reason)> + '_ {
        self.unresolved
            .iter()
            .map(|(name, reason)| (*name, *reason))
    }

    fn launch(&mut self, launch: &Launch<'_>) -> Effect {
        let kernel = launch.kernel;
        self.last.insert(launch.stream, &kernel.name);
        self.latest = Some(&kernel.name);
        let access = match (launch.kernarg, kernel.footprint()) {
            _ if kernel.is_distrusted() => Access::unknown(Reason::Distrusted),
            (Ok(kernarg), Some(footprint)) => footprint.evaluate(
                &strobe_footprint::Launch {
                    kernarg,
                    grid: launch.items,
                    block: launch.block,
                    dynamic_lds: launch.lds,
                },
                &Known {
                    registry: &self.registry,
                    tables: &self.tables,
                },
            ),
            (Err(reason), _) => Access::unknown(reason),
            (_, None) => Access::unknown(Reason::NotAnalysed),
        };
        self.logged(|log| log.launch(launch, &access));
        self.counts.launches += 1;
        match access.writes.reason() {
            Some(reason) => {
                self.counts.conservative += 1;
                self.unresolved.insert(&kernel.name, reason);
            }
            None => self.counts.exact += 1,
        }
        self.tables.written(&access.writes);
        let stream = self.streams.id(launch.stream);
        self.in_flight.enqueued(Some(stream), &access.writes);
        let mut hasher = DefaultHasher::new();
        (&kernel.name, launch.items, launch.block).hash(&mut hasher);
        let writes = access.writes.clone();
        self.graph.push(Operation {
            kind: Kind::Kernel,
            stream: Some(Stream(stream)),
            signature: hasher.finish(),
            access,
        });
        Effect {
            stream: Some(StreamId(stream)),
            writes,
            kernel: Some(kernel),
        }
    }

    fn operation(
        &mut self,
        kind: Kind,
        stream: Option<RawStream>,
        signature: u64,
        writes: Side,
    ) -> Effect {
        self.logged(|log| log.write(&writes));
        self.tables.written(&writes);
        let stream = stream.map(|stream| self.streams.id(stream));
        self.in_flight.enqueued(stream, &writes);
        let access = Access {
            reads: Side::none(),
            writes: writes.clone(),
        };
        self.graph.push(Operation {
            kind,
            stream: stream.map(Stream),
            signature,
            access,
        });
        Effect {
            stream: stream.map(StreamId),
            writes,
            kernel: None,
        }
    }
}

impl Effect {
    fn none() -> Effect {
        Effect {
            stream: None,
            writes: Side::none(),
            kernel: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(name: &str) -> Observed<'static> {
        Observed::Launch(Launch {
            kernel: Box::leak(Box::new(Kernel::unknown(name))),
            stream: RawStream(0x55),
            items: [1; 3],
            block: [1; 3],
            lds: 0,
            kernarg: Ok(&[]),
        })
    }

    #[test]
    fn a_launch_that_may_write_anything_makes_tables_unknown() {
        let mut trace = Trace::new();
        let content = Observed::Content {
            address: 0x1000,
            mapped: false,
            bytes: &[1, 2],
        };
        trace.apply(&content);
        assert!(trace.tables.known(0x1000, 2).is_some());
        let effect = trace.apply(&launch("k"));
        assert!(effect.writes.is_unknown());
        assert!(trace.tables.known(0x1000, 2).is_none());
        assert_eq!(trace.last_kernel(RawStream(0x55)), Some("k"));
        let counts = Counts {
            launches: 1,
            exact: 0,
            conservative: 1,
        };
        assert_eq!(trace.counts(), counts);
    }

    #[test]
    fn a_stream_that_takes_over_a_handle_is_another_stream() {
        let mut trace = Trace::new();
        let before = trace.apply(&launch("k")).stream;
        assert_eq!(trace.apply(&launch("k")).stream, before);
        let stream = RawStream(0x55);
        trace.apply(&Observed::DestroyStream { stream });
        trace.apply(&Observed::CreateStream { stream });
        assert_ne!(trace.apply(&launch("k")).stream, before);
        let null = Observed::Write {
            stream: Some(RawStream(0)),
            start: 1,
            len: 1,
        };
        assert_eq!(trace.apply(&null).stream, Some(StreamId(0)));
    }

    #[test]
    fn fingerprints_ahead_know_of_what_is_under_way_and_of_what_comes() {
        const CHUNK: u64 = 1 << 20;
        let chunk = |number: u64| Extent::with_len(number * CHUNK, CHUNK).unwrap();
        let write = |number: u64| Observed::Write {
            stream: Some(RawStream(7)),
            start: number * CHUNK + 5,
            len: number,
        };
        let mut trace = Trace::new();
        trace.apply(&write(1));
        trace.apply(&Observed::Synchronising { number: 0 });
        trace.apply(&write(2));
        let stream = Some(RawStream(7));
        trace.apply(&Observed::Synchronised { number: 0, stream });
        trace.not_ahead(&[chunk(3)]);
        let tracked: Vec<Extent> = (1..=6).map(chunk).collect();
        let all = Validation::begin(strobe_engine::Validate::Full, tracked.clone(), CHUNK);
        trace.validate(all.unwrap());
        let next = |trace: &mut Trace| trace.validation().and_then(Validation::next_ahead);
        let ahead: Vec<Extent> = std::iter::from_fn(|| next(&mut trace)).collect();
        assert_eq!(ahead, [1, 4, 5, 6].map(chunk));
        trace.apply(&write(4));
        for chunk in ahead {
            let validation = trace.validation().unwrap();
            validation.ahead_done(chunk, Fingerprint([0; 4]));
        }
        trace.apply(&write(5));
        let mut validation = trace.take_validation().unwrap();
        let wanted = validation.cut(&tracked).unwrap();
        assert_eq!(wanted, [2, 3, 4, 5].map(chunk));

        let all = Validation::begin(strobe_engine::Validate::Full, tracked.clone(), CHUNK);
        trace.validate(all.unwrap());
        trace.resume_after_loss(&tracked, 1);
        assert!(next(&mut trace).is_none(), "nobody knows what was written");
    }

    #[test]
    fn a_free_writes_the_buffer_it_frees() {
        let mut trace = Trace::new();
        let (start, len) = (0x1000, 0x100);
        trace.apply(&Observed::Allocate { start, len });
        let freed = trace.apply(&Observed::Free { start });
        assert_eq!(freed.writes, Extent::with_len(start, len).unwrap().into());
        assert!(trace.apply(&Observed::Free { start }).writes.is_none());
    }
}
