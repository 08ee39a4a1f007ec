//! What a call did, as it travels from the launch path to the trace.

use crate::seen::kernel::Kernel;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use strobe_extent::{Extent, Reason};
use strobe_graph::Moment;
use strobe_hip::Stream;

/// A stream as the program names it: HIP's handle, made unambiguous for per-thread streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RawStream(pub u64);

impl RawStream {
    /// The legacy default stream.
    pub(crate) const LEGACY: RawStream = RawStream(0);
    /// Marks the own stream of a thread; the rest is a number that no other thread of the process
    /// ever gets. (The kernel's thread ids come again.) No handle has this bit.
    const OF_THREAD: u64 = 1 << 63;

    /// What a handle means that is the same in all threads.
    #[inline]
    #[must_use]
    pub(crate) fn of_handle(stream: Stream) -> RawStream {
        RawStream(stream.0 as u64)
    }

    /// The stream that `hipStreamPerThread` means in the calling thread.
    #[must_use]
    pub(crate) fn of_this_thread() -> RawStream {
        thread_local! {
            static NUMBER: Cell<u64> = const { Cell::new(0) };
        }
        static THREADS: AtomicU64 = AtomicU64::new(0);
        let number = match NUMBER.get() {
            0 => {
                let number = 1 + THREADS.fetch_add(1, Ordering::Relaxed);
                NUMBER.set(number);
                number
            }
            number => number,
        };
        RawStream(RawStream::OF_THREAD | number)
    }

    /// Whether only the thread that uses it can name it to HIP.
    #[must_use]
    pub(crate) fn is_of_thread(self) -> bool {
        self.0 & RawStream::OF_THREAD != 0
    }

    /// The handle to give to HIP, in the thread that used it.
    #[must_use]
    pub(crate) fn handle(self) -> Stream {
        if self.is_of_thread() {
            Stream::PER_THREAD
        } else {
            Stream(self.0 as usize)
        }
    }
}

/// One observation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Observed<'a> {
    Launch(Launch<'a>),
    Transfer(Transfer),
    /// Something may have written anything; a graph, or a launch that is not understood.
    Anything {
        stream: Option<RawStream>,
        is_graph: bool,
    },
    /// A function of the host runs in stream order.
    Callback {
        stream: RawStream,
    },
    /// Something takes its turn in a stream and touches no tracked memory.
    InTurn {
        stream: RawStream,
        what: Turn,
    },
    /// This is at `address` now, which the CPU can reach or not.
    Content {
        address: u64,
        mapped: bool,
        bytes: &'a [u8],
    },
    Allocate {
        start: u64,
        len: u64,
    },
    Free {
        start: u64,
    },
    CreateStream {
        stream: RawStream,
        /// It does not synchronise with the legacy default stream.
        non_blocking: bool,
    },
    DestroyStream {
        stream: RawStream,
    },
    /// What is enqueued so far on `stream` is what the event, by HIP's handle, stands for.
    RecordEvent {
        event: u64,
        stream: RawStream,
    },
    /// What is enqueued from now on waits for the event.
    WaitEvent {
        stream: RawStream,
        event: u64,
    },
    DestroyEvent {
        event: u64,
    },
    /// The host has waited for this, as far as it was announced before `since`.
    Synchronise {
        what: Synchronised,
        since: Moment,
    },
    /// A call has failed: what was announced before it may not have happened.
    Failed,
    /// The device was reset.
    Reset,
}

/// What takes its turn in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Turn {
    /// The stream waits until memory has a value.
    ValueWait,
    Prefetch,
    /// Managed memory is given to the stream.
    Attach,
}

impl Turn {
    pub(crate) const ALL: [Turn; 3] = [Turn::ValueWait, Turn::Prefetch, Turn::Attach];
}

/// What the host waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Synchronised {
    Stream(RawStream),
    /// By HIP's handle.
    Event(u64),
    Device,
    /// For a copy on the stream that was announced at that moment or later.
    Copy(RawStream),
}

/// Bytes by address and number; of no bytes the address means nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub start: u64,
    pub len: u64,
}

impl Span {
    pub(crate) const NONE: Span = Span { start: 0, len: 0 };
}

impl From<Extent> for Span {
    fn from(extent: Extent) -> Span {
        Span {
            start: extent.start(),
            len: extent.len(),
        }
    }
}

/// A copy, or a memset. Memory that is not the device's is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transfer {
    /// Without one the host does it.
    pub stream: Option<RawStream>,
    pub writes: Span,
    pub reads: Span,
    pub is_memset: bool,
    /// Of what lies between the first and the last byte not all is touched: rows with gaps, or nobody knows.
    pub is_hull: bool,
    /// It is over when the call returns.
    pub waits: bool,
}

/// A kernel launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch<'a> {
    pub kernel: &'static Kernel,
    pub stream: RawStream,
    /// Work-items in each dimension.
    pub items: [u32; 3],
    /// Work-items of a work-group.
    pub block: [u32; 3],
    /// Bytes of dynamic LDS.
    pub lds: u32,
    /// The explicit arguments; `Err` says why they are not known.
    pub kernarg: Result<&'a [u8], Reason>,
    /// It may have gone into a graph and not happen now.
    pub is_captured: bool,
}

/// Bytes of a record before its payload.
pub(crate) const HEADER: usize = 56;

const LAUNCH: u32 = 1;
const LAUNCH_UNKNOWN: u32 = 2;
const TRANSFER: u32 = 3;
const ANYTHING: u32 = 4;
const CONTENT: u32 = 5;
const ALLOCATE: u32 = 6;
const FREE: u32 = 7;
const CREATE_STREAM: u32 = 8;
const DESTROY_STREAM: u32 = 9;
const RESET: u32 = 10;
const RECORD_EVENT: u32 = 11;
const WAIT_EVENT: u32 = 12;
const DESTROY_EVENT: u32 = 13;
const SYNCHRONISE_STREAM: u32 = 14;
const SYNCHRONISE_EVENT: u32 = 15;
const SYNCHRONISE_DEVICE: u32 = 16;
const CALLBACK: u32 = 17;
const IN_TURN: u32 = 18;
const FAILED: u32 = 19;
const LAUNCH_CAPTURED: u32 = 20;
const SYNCHRONISE_COPY: u32 = 21;
/// Bits of a transfer's last word.
const IS_MEMSET: u32 = 1;
const WAITS: u32 = 2;
const IS_HULL: u32 = 4;
/// In place of a stream: done by the host.
const NO_STREAM: u64 = u64::MAX;

/// The fixed part of a record, written and read word by word.
struct Header {
    kind: u32,
    /// Bytes of payload.
    len: u32,
    a: u64,
    b: u64,
    words: [u32; 7],
}

impl Header {
    #[inline]
    fn new(kind: u32, a: u64, b: u64) -> Header {
        Header {
            kind,
            len: 0,
            a,
            b,
            words: [0; 7],
        }
    }

    #[inline]
    fn write(&self, bytes: &mut [u8]) {
        bytes[0..4].copy_from_slice(&self.kind.to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.len.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.a.to_ne_bytes());
        bytes[16..24].copy_from_slice(&self.b.to_ne_bytes());
        for (at, word) in self.words.iter().enumerate() {
            bytes[24 + at * 4..28 + at * 4].copy_from_slice(&word.to_ne_bytes());
        }
    }

    fn read(bytes: &[u8]) -> Option<Header> {
        let u32_at = |at: usize| Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
        let u64_at = |at: usize| Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
        let mut header = Header::new(u32_at(0)?, u64_at(8)?, u64_at(16)?);
        header.len = u32_at(4)?;
        for (at, word) in header.words.iter_mut().enumerate() {
            *word = u32_at(24 + at * 4)?;
        }
        Some(header)
    }
}

/// Writes a launch whose arguments the closure fills in, without a copy in between; what it returns
/// says whether they are known.
#[inline]
pub(crate) fn write_launch(
    bytes: &mut [u8],
    launch: &Launch<'_>,
    arguments: impl FnOnce(&mut [u8]) -> bool,
) {
    let (head, payload) = bytes.split_at_mut(HEADER);
    let known = arguments(payload);
    let kind = match known {
        false => LAUNCH_UNKNOWN,
        true if launch.is_captured => LAUNCH_CAPTURED,
        true => LAUNCH,
    };
    let mut header = Header::new(
        kind,
        std::ptr::from_ref(launch.kernel) as u64,
        launch.stream.0,
    );
    header.len = payload.len() as u32;
    let ([x, y, z], [bx, by, bz]) = (launch.items, launch.block);
    header.words = [x, y, z, bx, by, bz, launch.lds];
    header.write(head);
}

impl Observed<'_> {
    /// The stream in which something happens that a graph can do as well.
    pub(crate) fn stream(&self) -> Option<RawStream> {
        match *self {
            Observed::Launch(Launch { stream, .. })
            | Observed::Callback { stream }
            | Observed::InTurn { stream, .. } => Some(stream),
            Observed::Transfer(Transfer { stream, .. }) | Observed::Anything { stream, .. } => {
                stream
            }
            _ => None,
        }
    }

    /// The same, in another stream.
    #[must_use]
    pub(crate) fn on(mut self, to: RawStream) -> Self {
        match &mut self {
            Observed::Launch(Launch { stream, .. })
            | Observed::Callback { stream }
            | Observed::InTurn { stream, .. } => *stream = to,
            Observed::Transfer(Transfer { stream, .. }) | Observed::Anything { stream, .. } => {
                *stream = Some(to);
            }
            _ => {}
        }
        self
    }

    /// Bytes of its record.
    pub(crate) fn record_len(&self) -> usize {
        HEADER
            + match self {
                Observed::Launch(launch) => launch.kernarg.map_or(0, <[u8]>::len),
                Observed::Content { bytes, .. } => bytes.len(),
                _ => 0,
            }
    }

    /// Writes its record; `bytes` is as long as [`Observed::record_len`] says.
    pub(crate) fn write(&self, bytes: &mut [u8]) {
        let stream = |stream: Option<RawStream>| stream.map_or(NO_STREAM, |s| s.0);
        let mut header = match *self {
            Observed::Launch(launch) => {
                return write_launch(bytes, &launch, |payload| match launch.kernarg {
                    Ok(kernarg) => {
                        payload.copy_from_slice(kernarg);
                        true
                    }
                    Err(_) => false,
                });
            }
            Observed::Transfer(transfer) => {
                let Span { start, len } = transfer.writes;
                let mut header = Header::new(TRANSFER, start, len);
                let reads = transfer.reads;
                let u64s = [stream(transfer.stream), reads.start, reads.len];
                for (at, value) in u64s.into_iter().enumerate() {
                    header.words[2 * at] = value as u32;
                    header.words[2 * at + 1] = (value >> 32) as u32;
                }
                let bit = |is: bool, bit: u32| if is { bit } else { 0 };
                header.words[6] = bit(transfer.is_memset, IS_MEMSET)
                    | bit(transfer.waits, WAITS)
                    | bit(transfer.is_hull, IS_HULL);
                header
            }
            Observed::Anything {
                stream: s,
                is_graph,
            } => Header::new(ANYTHING, stream(s), is_graph.into()),
            Observed::Callback { stream } => Header::new(CALLBACK, stream.0, 0),
            Observed::InTurn { stream, what } => Header::new(IN_TURN, stream.0, what as u64),
            Observed::Content {
                address, mapped, ..
            } => Header::new(CONTENT, address, mapped.into()),
            Observed::Allocate { start, len } => Header::new(ALLOCATE, start, len),
            Observed::Free { start } => Header::new(FREE, start, 0),
            Observed::CreateStream {
                stream,
                non_blocking,
            } => Header::new(CREATE_STREAM, stream.0, non_blocking.into()),
            Observed::DestroyStream { stream } => Header::new(DESTROY_STREAM, stream.0, 0),
            Observed::RecordEvent { event, stream } => Header::new(RECORD_EVENT, event, stream.0),
            Observed::WaitEvent { stream, event } => Header::new(WAIT_EVENT, event, stream.0),
            Observed::DestroyEvent { event } => Header::new(DESTROY_EVENT, event, 0),
            Observed::Synchronise { what, since } => {
                let (kind, of) = match what {
                    Synchronised::Stream(stream) => (SYNCHRONISE_STREAM, stream.0),
                    Synchronised::Event(event) => (SYNCHRONISE_EVENT, event),
                    Synchronised::Device => (SYNCHRONISE_DEVICE, 0),
                    Synchronised::Copy(stream) => (SYNCHRONISE_COPY, stream.0),
                };
                Header::new(kind, of, since.0)
            }
            Observed::Failed => Header::new(FAILED, 0, 0),
            Observed::Reset => Header::new(RESET, 0, 0),
        };
        let (head, payload) = bytes.split_at_mut(HEADER);
        if let Observed::Content { bytes: content, .. } = self {
            payload.copy_from_slice(content);
        }
        header.len = payload.len() as u32;
        header.write(head);
    }

    /// Reads a record.
    ///
    /// # Safety
    /// `bytes` was written by [`Observed::write`] or [`write_launch`] in this process.
    pub(crate) unsafe fn read(bytes: &[u8]) -> Option<Observed<'_>> {
        let header = Header::read(bytes)?;
        let payload = bytes.get(HEADER..HEADER + header.len as usize)?;
        let stream = |word| (word != NO_STREAM).then_some(RawStream(word));
        Some(match header.kind {
            LAUNCH | LAUNCH_UNKNOWN | LAUNCH_CAPTURED => {
                let [x, y, z, bx, by, bz, lds] = header.words;
                Observed::Launch(Launch {
                    // SAFETY: the address of a leaked kernel, written by `write_launch`.
                    kernel: unsafe { &*(header.a as *const Kernel) },
                    stream: RawStream(header.b),
                    items: [x, y, z],
                    block: [bx, by, bz],
                    lds,
                    kernarg: if header.kind == LAUNCH_UNKNOWN {
                        Err(UNKNOWN_ARGUMENTS)
                    } else {
                        Ok(payload)
                    },
                    is_captured: header.kind == LAUNCH_CAPTURED,
                })
            }
            TRANSFER => {
                let u64_at = |at: usize| {
                    u64::from(header.words[2 * at + 1]) << 32 | u64::from(header.words[2 * at])
                };
                Observed::Transfer(Transfer {
                    stream: stream(u64_at(0)),
                    writes: Span {
                        start: header.a,
                        len: header.b,
                    },
                    reads: Span {
                        start: u64_at(1),
                        len: u64_at(2),
                    },
                    is_memset: header.words[6] & IS_MEMSET != 0,
                    is_hull: header.words[6] & IS_HULL != 0,
                    waits: header.words[6] & WAITS != 0,
                })
            }
            ANYTHING => Observed::Anything {
                stream: stream(header.a),
                is_graph: header.b != 0,
            },
            CALLBACK => Observed::Callback {
                stream: RawStream(header.a),
            },
            IN_TURN => Observed::InTurn {
                stream: RawStream(header.a),
                what: *Turn::ALL.get(usize::try_from(header.b).ok()?)?,
            },
            CONTENT => Observed::Content {
                address: header.a,
                mapped: header.b != 0,
                bytes: payload,
            },
            ALLOCATE => Observed::Allocate {
                start: header.a,
                len: header.b,
            },
            FREE => Observed::Free { start: header.a },
            CREATE_STREAM => Observed::CreateStream {
                stream: RawStream(header.a),
                non_blocking: header.b != 0,
            },
            DESTROY_STREAM => Observed::DestroyStream {
                stream: RawStream(header.a),
            },
            RECORD_EVENT => Observed::RecordEvent {
                event: header.a,
                stream: RawStream(header.b),
            },
            WAIT_EVENT => Observed::WaitEvent {
                stream: RawStream(header.b),
                event: header.a,
            },
            DESTROY_EVENT => Observed::DestroyEvent { event: header.a },
            SYNCHRONISE_STREAM | SYNCHRONISE_EVENT | SYNCHRONISE_DEVICE | SYNCHRONISE_COPY => {
                Observed::Synchronise {
                    what: match header.kind {
                        SYNCHRONISE_STREAM => Synchronised::Stream(RawStream(header.a)),
                        SYNCHRONISE_EVENT => Synchronised::Event(header.a),
                        SYNCHRONISE_COPY => Synchronised::Copy(RawStream(header.a)),
                        _ => Synchronised::Device,
                    },
                    since: Moment(header.b),
                }
            }
            FAILED => Observed::Failed,
            RESET => Observed::Reset,
            _ => return None,
        })
    }
}

/// Why a launch whose arguments were not understood may touch anything.
pub(crate) const UNKNOWN_ARGUMENTS: Reason = Reason::Other("arguments given in an unknown form");

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(observed: &Observed<'_>) -> String {
        let mut bytes = vec![0xee; observed.record_len()];
        observed.write(&mut bytes);
        // The reader sees whole units.
        bytes.resize(bytes.len().next_multiple_of(64), 0xdd);
        // SAFETY: written just above.
        format!("{:?}", unsafe { Observed::read(&bytes) }.unwrap())
    }

    #[test]
    fn a_thread_that_comes_after_another_has_another_stream() {
        let own = || {
            std::thread::spawn(RawStream::of_this_thread)
                .join()
                .unwrap()
        };
        let (first, second) = (own(), own());
        assert_ne!(first, second);
        assert!(first.is_of_thread() && first.handle() == Stream::PER_THREAD);
        assert_eq!(RawStream::of_this_thread(), RawStream::of_this_thread());
    }

    #[test]
    fn records_read_back_as_written() {
        let kernel: &'static Kernel = Box::leak(Box::new(Kernel::unknown("k")));
        let launch = Launch {
            kernel,
            stream: RawStream(7),
            items: [1, 2, 3],
            block: [4, 5, 6],
            lds: 8,
            kernarg: Ok(&[1, 2, 3]),
            is_captured: false,
        };
        let unknown = Launch {
            kernarg: Err(UNKNOWN_ARGUMENTS),
            ..launch
        };
        let synchronise = |what| Observed::Synchronise {
            what,
            since: Moment(3 << 33 | 1),
        };
        let is_captured = true;
        let captured = Launch {
            is_captured,
            ..launch
        };
        for observed in [
            Observed::Launch(launch),
            Observed::Launch(captured),
            Observed::Launch(unknown),
            Observed::Transfer(Transfer {
                stream: Some(RawStream(3 << 32 | 2)),
                writes: Span {
                    start: 0x1000,
                    len: 5,
                },
                reads: Span {
                    start: 7 << 40 | 1,
                    len: 9 << 33 | 5,
                },
                is_memset: false,
                is_hull: true,
                waits: true,
            }),
            Observed::Transfer(Transfer {
                stream: None,
                writes: Span { start: 1, len: 2 },
                reads: Span::NONE,
                is_memset: true,
                is_hull: false,
                waits: false,
            }),
            Observed::Anything {
                stream: None,
                is_graph: true,
            },
            Observed::Callback {
                stream: RawStream(5),
            },
            Observed::InTurn {
                stream: RawStream(5),
                what: Turn::ValueWait,
            },
            Observed::InTurn {
                stream: RawStream(5),
                what: Turn::Prefetch,
            },
            Observed::InTurn {
                stream: RawStream(5),
                what: Turn::Attach,
            },
            Observed::CreateStream {
                stream: RawStream(5),
                non_blocking: true,
            },
            Observed::RecordEvent {
                event: 4,
                stream: RawStream(5),
            },
            Observed::WaitEvent {
                stream: RawStream(5),
                event: 4,
            },
            Observed::DestroyEvent { event: 4 },
            synchronise(Synchronised::Stream(RawStream(5))),
            synchronise(Synchronised::Event(4)),
            synchronise(Synchronised::Device),
            synchronise(Synchronised::Copy(RawStream(5))),
            Observed::Content {
                address: 9,
                mapped: true,
                bytes: &[7; 100],
            },
            Observed::Free { start: 4 },
            Observed::Failed,
            Observed::Reset,
        ] {
            assert_eq!(round_trip(&observed), format!("{observed:?}"));
        }
    }
}
