//! Streams, events, stream capture, the device as a whole.

use crate::attach::{with_agent, with_idle_agent};
use crate::call::{After, Call, raw_stream};
use crate::loading::memory::EVERYTHING;
use crate::seen::observed::{Observed, Synchronised, Turn};
use strobe_hip::{Event, Graph, Stream};

/// `hipStreamCreate` and its kin.
pub unsafe fn create_stream(place: *mut Stream, flags: u32) -> Call {
    /// `hipStreamNonBlocking`.
    const NON_BLOCKING: u32 = 1;
    let after = After::CreatedStream {
        place,
        non_blocking: flags & NON_BLOCKING != 0,
    };
    with_agent(|_| after)
}

/// `hipEventRecord`.
pub unsafe fn record_event(event: Event, stream: Stream) -> Call {
    with_agent(|agent| {
        let (event, stream) = (event.0 as u64, raw_stream(stream));
        agent.observe(&Observed::RecordEvent { event, stream }, Some(stream));
        After::Nothing
    })
}

/// `hipStreamWaitEvent`.
pub unsafe fn wait_event(stream: Stream, event: Event) -> Call {
    with_agent(|agent| {
        let (event, stream) = (event.0 as u64, raw_stream(stream));
        agent.observe(&Observed::WaitEvent { stream, event }, Some(stream));
        After::Nothing
    })
}

/// `hipStreamWaitValue32` and its kin: the stream waits until memory has a value, whoever writes it.
pub unsafe fn wait_value(stream: Stream) -> Call {
    in_turn(stream, Turn::ValueWait)
}

/// `hipMemPrefetchAsync`: managed memory moves, and none of ours.
pub unsafe fn prefetch(stream: Stream) -> Call {
    in_turn(stream, Turn::Prefetch)
}

/// `hipStreamAttachMemAsync`.
pub unsafe fn attach(stream: Stream) -> Call {
    in_turn(stream, Turn::Attach)
}

fn in_turn(stream: Stream, what: Turn) -> Call {
    with_agent(|agent| {
        let stream = raw_stream(stream);
        agent.observe(&Observed::InTurn { stream, what }, Some(stream));
        After::Nothing
    })
}

/// `hipEventDestroy`.
pub unsafe fn destroy_event(event: Event) -> Call {
    with_agent(|agent| {
        let event = event.0 as u64;
        agent.observe(&Observed::DestroyEvent { event }, None);
        After::Nothing
    })
}

/// `hipStreamAddCallback`, `hipLaunchHostFunc`.
pub unsafe fn callback(stream: Stream) -> Call {
    with_agent(|agent| {
        let stream = raw_stream(stream);
        agent.observe(&Observed::Callback { stream }, Some(stream));
        After::Nothing
    })
}

/// `hipStreamSynchronize`, and `hipStreamQuery`, which succeeds when all is over.
pub unsafe fn synchronise_stream(stream: Stream) -> Call {
    synchronise(|| Synchronised::Stream(raw_stream(stream)))
}

/// `hipEventSynchronize`, `hipEventQuery`.
pub unsafe fn synchronise_event(event: Event) -> Call {
    synchronise(|| Synchronised::Event(event.0 as u64))
}

/// `hipDeviceSynchronize`.
pub unsafe fn synchronise_device() -> Call {
    synchronise(|| Synchronised::Device)
}

fn synchronise(what: impl FnOnce() -> Synchronised) -> Call {
    with_idle_agent(|agent| After::Synchronised {
        what: what(),
        since: agent.moment(),
    })
}

/// `hipStreamDestroy`: HIP finishes its work first.
pub unsafe fn destroy_stream(stream: Stream) -> Call {
    with_agent(|agent| {
        let stream = raw_stream(stream);
        agent.streams.write().retain(|known| *known != stream);
        agent.captures.destroyed(stream);
        agent.graphs.nothing_captured(stream);
        agent.observe(&Observed::DestroyStream { stream }, None);
        After::Nothing
    })
    .announced(None)
}

/// `hipStreamBeginCapture`. There is no cut until it ends.
pub unsafe fn begin_capture(stream: Stream) -> Call {
    let after = After::BeganCapture {
        stream: raw_stream(stream),
    };
    with_agent(|_| after)
}

/// `hipStreamBeginCaptureToGraph`: what is in the graph already is not known, so neither is what it becomes.
pub unsafe fn begin_capture_into(stream: Stream, graph: Graph) -> Call {
    let after = After::BeganCaptureInto {
        stream: raw_stream(stream),
        graph,
    };
    with_agent(|_| after)
}

/// `hipStreamEndCapture`.
pub unsafe fn end_capture(stream: Stream, graph: *mut Graph) -> Call {
    let after = After::EndedCapture {
        stream: raw_stream(stream),
        graph,
    };
    with_agent(|_| after)
}

/// `hipDeviceReset`: everything on the device goes. A checkpoint under way is given up first,
/// and none begins until it is over.
pub unsafe fn reset() -> Call {
    with_agent(|agent| {
        // Else its memory would still be filled when it is somebody else's.
        agent.device.course.before_touch(&EVERYTHING);
        agent.control.begin_reset(agent.page);
        After::Reset
    })
}
