//! Streams, stream capture, the device as a whole.

use super::begin;
use crate::agent::Agent;
use crate::call::{After, Call, raw_stream};
use crate::observed::{Observed, RawStream};
use std::sync::atomic::{AtomicU64, Ordering};
use strobe_hip::Stream;

/// `hipStreamCreate` and its kin.
pub unsafe fn create_stream(place: *mut Stream) -> Call {
    let after = After::CreatedStream { place };
    begin()
        .map(|(_, call)| call.then(after))
        .unwrap_or_default()
}

/// `hipStreamDestroy`: HIP finishes its work first.
pub unsafe fn destroy_stream(stream: Stream) -> Call {
    let Some((agent, call)) = begin() else {
        return Call::default();
    };
    agent.streams.write().retain(|known| *known != stream.0);
    let stream = raw_stream(stream);
    agent.captures.destroyed(stream);
    agent.observe(&Observed::DestroyStream { stream }, None);
    call
}

/// `hipDeviceSynchronize` and its kin.
pub unsafe fn synchronise() -> Call {
    let Some((agent, call)) = begin() else {
        return Call::default();
    };
    call.then(waits_for(agent, None))
}

/// `hipStreamSynchronize`.
pub unsafe fn synchronise_stream(stream: Stream) -> Call {
    let Some((agent, call)) = begin() else {
        return Call::default();
    };
    call.then(waits_for(agent, Some(raw_stream(stream))))
}

/// The call returns when the device is done with what has been enqueued on `stream`, or anywhere:
/// what is over then is learned from a record before and one after it.
pub(super) fn waits_for(agent: &Agent, stream: Option<RawStream>) -> After {
    static WAITS: AtomicU64 = AtomicU64::new(0);
    let number = WAITS.fetch_add(1, Ordering::Relaxed);
    agent.observe(&Observed::Synchronising { number }, None);
    After::Synchronised { number, stream }
}

/// `hipStreamBeginCapture`. There is no cut until it ends.
pub unsafe fn begin_capture(stream: Stream) -> Call {
    let after = After::BeganCapture {
        stream: raw_stream(stream),
    };
    begin()
        .map(|(_, call)| call.then(after))
        .unwrap_or_default()
}

/// `hipStreamEndCapture`.
pub unsafe fn end_capture(stream: Stream) -> Call {
    let after = After::EndedCapture {
        stream: raw_stream(stream),
    };
    begin()
        .map(|(_, call)| call.then(after))
        .unwrap_or_default()
}

/// `hipDeviceReset`: everything on the device goes. A checkpoint under way is given up first.
pub unsafe fn reset() -> Call {
    let Some((agent, call)) = begin() else {
        return Call::default();
    };
    agent.control.abandon(agent, "the program reset the device");
    call.then(After::Reset)
}
