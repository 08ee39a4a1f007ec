//! What a call did, as it travels from the launch path to the trace.

use crate::kernel::Kernel;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use strobe_extent::Reason;

/// A stream as the program names it: HIP's handle, made unambiguous for per-thread streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RawStream(pub u64);

impl RawStream {
    /// Marks the own stream of a thread; the rest is a number that no other thread of the process
    /// ever gets. (The kernel's thread ids come again.) No handle has this bit.
    const OF_THREAD: u64 = 1 << 63;

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
    pub(crate) fn handle(self) -> strobe_hip::Stream {
        if self.is_of_thread() {
            strobe_hip::Stream::PER_THREAD
        } else {
            strobe_hip::Stream(self.0 as usize)
        }
    }
}

/// One observation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Observed<'a> {
    Launch(Launch<'a>),
    /// A copy or memset wrote `[start, start + len)`.
    Write {
        stream: Option<RawStream>,
        start: u64,
        len: u64,
    },
    /// Something may have written anything.
    Anything {
        stream: Option<RawStream>,
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
    },
    DestroyStream {
        stream: RawStream,
    },
    /// The program begins to wait until the device is done with what has been enqueued.
    Synchronising {
        number: u64,
    },
    /// That wait is over: of what had been enqueued on `stream`, or anywhere, when it began nothing
    /// is left.
    Synchronised {
        number: u64,
        stream: Option<RawStream>,
    },
    /// The device was reset.
    Reset,
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
}

/// Bytes of a record before its payload.
pub(crate) const HEADER: usize = 56;

const LAUNCH: u32 = 1;
const LAUNCH_UNKNOWN: u32 = 2;
const WRITE: u32 = 3;
const ANYTHING: u32 = 4;
const CONTENT: u32 = 5;
const ALLOCATE: u32 = 6;
const FREE: u32 = 7;
const CREATE_STREAM: u32 = 8;
const DESTROY_STREAM: u32 = 9;
const RESET: u32 = 10;
const SYNCHRONISING: u32 = 11;
const SYNCHRONISED: u32 = 12;
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
    let mut header = Header::new(
        if known { LAUNCH } else { LAUNCH_UNKNOWN },
        std::ptr::from_ref(launch.kernel) as u64,
        launch.stream.0,
    );
    header.len = payload.len() as u32;
    let ([x, y, z], [bx, by, bz]) = (launch.items, launch.block);
    header.words = [x, y, z, bx, by, bz, launch.lds];
    header.write(head);
}

impl Observed<'_> {
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
            Observed::Write {
                stream: s,
                start,
                len,
            } => {
                let mut header = Header::new(WRITE, start, len);
                let s = stream(s);
                header.words[0] = s as u32;
                header.words[1] = (s >> 32) as u32;
                header
            }
            Observed::Anything { stream: s } => Header::new(ANYTHING, stream(s), 0),
            Observed::Content {
                address, mapped, ..
            } => Header::new(CONTENT, address, mapped.into()),
            Observed::Allocate { start, len } => Header::new(ALLOCATE, start, len),
            Observed::Free { start } => Header::new(FREE, start, 0),
            Observed::CreateStream { stream } => Header::new(CREATE_STREAM, stream.0, 0),
            Observed::DestroyStream { stream } => Header::new(DESTROY_STREAM, stream.0, 0),
            Observed::Synchronising { number } => Header::new(SYNCHRONISING, number, 0),
            Observed::Synchronised { number, stream: s } => {
                Header::new(SYNCHRONISED, number, stream(s))
            }
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
            LAUNCH | LAUNCH_UNKNOWN => {
                let [x, y, z, bx, by, bz, lds] = header.words;
                Observed::Launch(Launch {
                    // SAFETY: the address of a leaked kernel, written by `write_launch`.
                    kernel: unsafe { &*(header.a as *const Kernel) },
                    stream: RawStream(header.b),
                    items: [x, y, z],
                    block: [bx, by, bz],
                    lds,
                    kernarg: if header.kind == LAUNCH {
                        Ok(payload)
                    } else {
                        Err(UNKNOWN_ARGUMENTS)
                    },
                })
            }
            WRITE => Observed::Write {
                stream: stream(u64::from(header.words[1]) << 32 | u64::from(header.words[0])),
                start: header.a,
                len: header.b,
            },
            ANYTHING => Observed::Anything {
                stream: stream(header.a),
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
            },
            DESTROY_STREAM => Observed::DestroyStream {
                stream: RawStream(header.a),
            },
            SYNCHRONISING => Observed::Synchronising { number: header.a },
            SYNCHRONISED => Observed::Synchronised {
                number: header.a,
                stream: stream(header.b),
            },
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
        assert!(first.is_of_thread() && first.handle() == strobe_hip::Stream::PER_THREAD);
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
        };
        let unknown = Launch {
            kernarg: Err(UNKNOWN_ARGUMENTS),
            ..launch
        };
        for observed in [
            Observed::Launch(launch),
            Observed::Launch(unknown),
            Observed::Write {
                stream: Some(RawStream(3 << 32 | 2)),
                start: 0x1000,
                len: 5,
            },
            Observed::Write {
                stream: None,
                start: 1,
                len: 2,
            },
            Observed::Anything { stream: None },
            Observed::Content {
                address: 9,
                mapped: true,
                bytes: &[7; 100],
            },
            Observed::Free { start: 4 },
            Observed::Synchronising { number: 5 },
            Observed::Synchronised {
                number: 5,
                stream: Some(RawStream(0)),
            },
            Observed::Reset,
        ] {
            assert_eq!(round_trip(&observed), format!("{observed:?}"));
        }
    }
}
