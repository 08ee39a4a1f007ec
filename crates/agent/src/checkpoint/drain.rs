//! Waiting until the GPU has nothing left to do, with a time-out.
//!
//! HIP's own synchronisation has none, and holds locks meanwhile: a program whose kernel waits for
//! the host would stand still with us. So streams are asked, again and again; only when all of them
//! have said that they are idle is the device synchronised, which then returns at once (unless a
//! thread's own stream is busy: those cannot be asked from here).

use crate::seen::observed::RawStream;
use std::time::{Duration, Instant};
use strobe_hip::{Status, next};

const LOOK_AGAIN: Duration = Duration::from_micros(200);

/// Why the GPU is not idle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotDrained {
    /// This stream still has work.
    Busy(RawStream),
    /// HIP refuses to say.
    Failed(&'static str, Status),
}

/// Waits until `streams` and everything else on all devices is idle. The gate is closed and empty: none of
/// the streams is destroyed meanwhile. Runs on a thread of the agent's, whose current device is nobody else's.
/// Once `given_up` says so it is not waited any longer.
pub(crate) fn wait(
    streams: Vec<RawStream>,
    deadline: Instant,
    given_up: impl Fn() -> bool,
) -> Result<(), NotDrained> {
    for stream in streams {
        wait_for_stream(stream, deadline, &given_up)?;
    }
    let failed = |what| move |error| NotDrained::Failed(what, error);
    let mut devices = 0;
    // SAFETY: writes to a local.
    let counted = unsafe { next::hipGetDeviceCount(&mut devices) };
    counted.ok().map_err(failed("counting GPUs"))?;
    // Each has a default stream of its own.
    for device in 0..devices {
        // SAFETY: sets this thread's own device.
        let chosen = unsafe { next::hipSetDevice(device) };
        chosen.ok().map_err(failed("choosing a GPU"))?;
        wait_for_stream(RawStream::LEGACY, deadline, &given_up)?;
    }
    for device in 0..devices {
        // SAFETY: as above.
        let chosen = unsafe { next::hipSetDevice(device) };
        chosen.ok().map_err(failed("choosing a GPU"))?;
        // SAFETY: waits.
        let done = unsafe { next::hipDeviceSynchronize() };
        done.ok().map_err(failed("synchronising"))?;
    }
    Ok(())
}

fn wait_for_stream(
    stream: RawStream,
    deadline: Instant,
    given_up: impl Fn() -> bool,
) -> Result<(), NotDrained> {
    loop {
        // SAFETY: a live stream of the program.
        match unsafe { next::hipStreamQuery(stream.handle()) } {
            Status::SUCCESS => return Ok(()),
            Status::NOT_READY if Instant::now() < deadline && !given_up() => {
                std::thread::sleep(LOOK_AGAIN)
            }
            Status::NOT_READY => return Err(NotDrained::Busy(stream)),
            error => return Err(NotDrained::Failed("asking a stream", error)),
        }
    }
}
