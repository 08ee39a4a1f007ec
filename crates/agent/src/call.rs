//! Around a call of the program: before it, after it, and nothing in between.
//!
//! A wrapper is `let call = enter(..); let result = real(..); leave(call, &result);`. What lies
//! between owns nothing that needs dropping, so cancellation and foreign unwinding pass through.

use crate::after;
use crate::agent::{GATE, existing};
use crate::fault::{self, guarded};
use crate::gate::Inside;
use crate::observed::RawStream;
use crate::page;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use strobe_hip::{ConstPtr, Kernel, Module, PitchedPtr, Ptr, Status, Stream};

thread_local! {
    /// Whether this thread is inside a wrapped call (HIP calls itself by its exported names) or is
    /// one of our own. No destructor: it works in every phase of a thread's life.
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// Whether a call of the program has come back: only then is HIP initialised for sure. (Its
/// initialisation does not stand two threads at once.)
static HIP_IS_UP: AtomicBool = AtomicBool::new(false);

/// What [`enter`] leaves for [`leave`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Call {
    entered: bool,
    inside: Option<Inside>,
    pub(crate) after: After,
}

/// What is left to do when the call has succeeded.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum After {
    #[default]
    Nothing,
    Allocated {
        place: *const Ptr,
        bytes: usize,
    },
    AllocatedPitch {
        place: *const Ptr,
        pitch: *const usize,
        rows: usize,
    },
    AllocatedPitched {
        place: *const PitchedPtr,
        rows: usize,
    },
    /// Undone when the call fails.
    Freed {
        start: u64,
        len: u64,
    },
    /// A synchronous copy from the host is over.
    Copied {
        to: u64,
        from: ConstPtr,
        bytes: usize,
    },
    /// The program has waited for the device.
    Synchronised {
        number: u64,
        stream: Option<RawStream>,
    },
    LoadedImage {
        place: *const Module,
        image: ConstPtr,
    },
    LoadedFile {
        place: *const Module,
        path: *const std::ffi::c_char,
    },
    FoundFunction {
        place: *const Kernel,
        module: Module,
        name: *const std::ffi::c_char,
    },
    FatBinary {
        image: *const u8,
    },
    CreatedStream {
        place: *const Stream,
    },
    BeganCapture {
        stream: RawStream,
    },
    EndedCapture {
        stream: RawStream,
    },
    Reset,
}

impl After {
    /// Of a call that allocates device memory: the bytes, as far as they are known before.
    fn allocates(&self) -> Option<u64> {
        match self {
            After::Allocated { bytes, .. } => Some(*bytes as u64),
            After::AllocatedPitch { .. }
            | After::AllocatedPitched { .. }
            | After::LoadedImage { .. }
            | After::LoadedFile { .. } => Some(0),
            _ => None,
        }
    }
}

/// The result of a call, as far as it matters here.
pub trait Outcome {
    /// Whether it did what it was asked for.
    fn succeeded(&self) -> bool;
    /// What HIP answered; a function that answers nothing has succeeded.
    fn status(&self) -> Status {
        Status::SUCCESS
    }
    /// The handle it returned.
    fn handle(&self) -> usize {
        0
    }
    /// Whether there was no memory for it.
    fn lacks_memory(&self) -> bool {
        false
    }
}

impl Outcome for Status {
    fn succeeded(&self) -> bool {
        *self == Status::SUCCESS
    }
    fn lacks_memory(&self) -> bool {
        *self == Status::OUT_OF_MEMORY
    }
    fn status(&self) -> Status {
        *self
    }
}

impl Outcome for () {
    fn succeeded(&self) -> bool {
        true
    }
}

impl<T> Outcome for *mut T {
    fn succeeded(&self) -> bool {
        !self.is_null()
    }
    fn handle(&self) -> usize {
        self.addr()
    }
}

/// Before the real call: `effect` says what it is about to do.
#[inline]
pub fn enter(effect: impl FnOnce() -> Call) -> Call {
    if BUSY.get() || fault::is_off() || page::state() == page::State::Forked {
        return Call::default();
    }
    BUSY.set(true);
    let mut call = guarded(effect).unwrap_or_default();
    call.entered = true;
    call
}

/// After a real call that failed: whether it is to be made once more, because it wanted memory that
/// a checkpoint had borrowed and has given back.
#[inline]
pub fn gives_way(call: &Call, result: &impl Outcome) -> bool {
    result.lacks_memory() && call.entered && call.after.allocates().is_some_and(give_way)
}

#[cold]
fn give_way(bytes: u64) -> bool {
    guarded(|| existing().is_some_and(|agent| crate::resources::give_way(agent, bytes)))
        .unwrap_or(false)
}

/// After the real call.
#[inline]
pub fn leave(call: Call, result: &impl Outcome) {
    if !call.entered {
        return;
    }
    if !matches!(call.after, After::Nothing) {
        guarded(|| after::apply(call.after, result));
    }
    if let Some(inside) = call.inside {
        if !HIP_IS_UP.load(Ordering::Relaxed) {
            HIP_IS_UP.store(true, Ordering::Release);
        }
        GATE.leave(inside);
    }
    BUSY.set(false);
}

/// Whether threads of ours may call HIP.
pub(crate) fn hip_is_up() -> bool {
    HIP_IS_UP.load(Ordering::Acquire)
}

/// The calling thread is ours: its calls of HIP are none of the program's.
pub(crate) fn mark_own_thread() {
    BUSY.set(true);
}

impl Call {
    /// Inside the gate, with nothing left to do.
    #[inline]
    pub(crate) fn inside(inside: Inside) -> Call {
        Call {
            inside: Some(inside),
            ..Call::default()
        }
    }

    #[inline]
    pub(crate) fn then(self, after: After) -> Call {
        Call { after, ..self }
    }

    /// Not gated; `after` is still to be done.
    pub(crate) fn ungated(after: After) -> Call {
        Call {
            after,
            ..Call::default()
        }
    }
}

/// The raw name of a stream handle that the calling thread uses.
#[inline]
pub(crate) fn raw_stream(stream: Stream) -> RawStream {
    if stream == Stream::PER_THREAD {
        if let Some(agent) = existing() {
            agent.per_thread_streams.store(true, Ordering::Relaxed);
        }
        RawStream::of_this_thread()
    } else {
        RawStream(stream.0 as u64)
    }
}
