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

/// Waits until `streams`, the default stream and everything else on `devices` devices is idle. The
/// gate is closed and empty: none of the streams is destroyed meanwhile.
pub(crate) fn wait(
    mut streams: Vec<RawStream>,
    devices: i32,
    deadline: Instant,
) -> Result<(), NotDrained> {
    streams.push(RawStream::LEGACY);
    for stream in streams {
        loop {
            // SAFETY: a live stream of the program.
            match unsafe { next::hipStreamQuery(stream.handle()) } {
                Status::SUCCESS => break,
                Status::NOT_READY if Instant::now() < deadline => std::thread::sleep(LOOK_AGAIN),
                Status::NOT_READY => return Err(NotDrained::Busy(stream)),
                error => return Err(NotDrained::Failed("asking a stream", error)),
            }
        }
    }
    synchronise_all(devices)
        .ok()
        .map_err(|error| NotDrained::Failed("synchronising", error))
}

/// Synchronises every device; runs on a thread of the agent's, whose current device is nobody
/// else's.
fn synchronise_all(devices: i32) -> Status {
    for device in 0..devices {
        // SAFETY: sets this thread's own device, and waits.
        let status = unsafe {
            match next::hipSetDevice(device) {
                Status::SUCCESS => next::hipDeviceSynchronize(),
                error => error,
            }
        };
        if status != Status::SUCCESS {
            return status;
        }
    }
    Status::SUCCESS
}
