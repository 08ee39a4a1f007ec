//! Around a call of the program: before it, after it, and nothing in between.
//!
//! A wrapper is `let call = enter(..); let result = real(..); leave(call, &result);`. What lies
//! between owns nothing that needs dropping, so cancellation and foreign unwinding pass through.

mod futex;
pub(crate) mod gate;
mod held;
mod outcome;
mod returned;
pub(crate) mod thread;

pub use outcome::CallOutcome;
pub(crate) use returned::After;

use crate::agent::existing;
use crate::call::gate::{GATE, Inside};
use crate::call::thread::{BUSY, HIP_IS_UP};
use crate::device::give_way;
use crate::fault::{self, guarded};
use crate::seen::observed::RawStream;
use crate::wire::page;
use std::sync::atomic::Ordering;
use strobe_extent::Extent;
use strobe_hip::Stream;

/// What [`enter`] leaves for [`leave`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Call {
    entered: bool,
    inside: Option<Inside>,
    pub(crate) after: After,
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

/// What stands for a call that is not to be made.
#[inline]
pub fn left_out<R: CallOutcome>() -> Option<R> {
    let left_out = R::OF_FORKED_CHILD?;
    (page::state() == page::State::Forked).then_some(left_out)
}

/// After a real call: whether it is to be made once more, because it got none of the memory that a
/// checkpoint had borrowed, which now has been given back.
#[inline]
pub fn gives_way(call: &Call, result: &impl CallOutcome) -> bool {
    let lacks = result.lacks_memory();
    // Of launches neither is true, and nothing else is looked at.
    (lacks || matches!(call.after, After::Allocated { .. }))
        && gives_way_to(call, lacks, result.succeeded())
}

#[cold]
fn gives_way_to(call: &Call, lacks: bool, succeeded: bool) -> bool {
    call.entered
        && (lacks || succeeded && call.after.gave_nothing())
        && call.after.allocates().is_some_and(give_way)
}

#[cold]
fn give_way(bytes: u64) -> bool {
    guarded(|| existing().is_some_and(|agent| give_way::give_way(&agent.device, bytes)))
        .unwrap_or(false)
}

/// After the real call.
#[inline]
pub fn leave(call: Call, result: &impl CallOutcome) {
    if !call.entered {
        return;
    }
    if !matches!(call.after, After::Nothing) {
        guarded(|| returned::apply(call.after, result));
    } else if !result.succeeded() {
        guarded(returned::failed);
    }
    if let Some(inside) = call.inside {
        if !HIP_IS_UP.load(Ordering::Relaxed) {
            HIP_IS_UP.store(true, Ordering::Release);
        }
        GATE.leave(inside);
    }
    BUSY.set(false);
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

    /// All is observed that the call does; it may wait for the GPU before it does that, and the CPU writes no other
    /// memory of the device in it than this.
    #[inline]
    pub(crate) fn announced(self, by_host: Option<Extent>) -> Call {
        let inside = self.inside.map(|inside| GATE.announced(inside, by_host));
        Call { inside, ..self }
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
        RawStream::of_handle(stream)
    }
}
