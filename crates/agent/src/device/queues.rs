//! The hardware queues of this process, as it has asked the driver for them, and how those of the program are stopped.
//!
//! A queue with no percentage is not run: the driver takes it off the GPU in the middle of what it does, with its waves,
//! and puts them back with the percentage (`AMDKFD_IOC_UPDATE_QUEUE`; the runtime stops its queues in the same way). The
//! request is of a process's own queues, so that ours go on. It sets all that a queue has been made with anew, which
//! nobody can ask the driver for: so what is asked for is noted (`ioctl` is wrapped for that).

use crate::device::gpu;
use crate::seen::reach;
use crate::wire::page;
use parking_lot::{Mutex, MutexGuard};
use std::cell::Cell;
use std::ffi::{c_int, c_ulong, c_void};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use strobe_kfd::queue::{COMPUTE_AQL, CreateQueue, DestroyQueue, UpdateQueue};
use strobe_kfd::{Request, number_parts};

const PACKET_BYTES: u64 = 64;
/// Of a queue's percentage, what is one; the rest is for other things.
const SHARE: u32 = 0xff;

static QUEUES: Mutex<Queues> = Mutex::new(Queues {
    known: Vec::new(),
    stopped: false,
});

thread_local! {
    /// What this thread asks of the driver, the agent asks.
    static ASKS_FOR_US: Cell<bool> = const { Cell::new(false) };
}

#[derive(Debug)]
struct Queues {
    known: Vec<Queue>,
    /// Those of the program are stopped.
    stopped: bool,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    /// What it was asked to be last.
    asked: UpdateQueue,
    /// Where it stands how far it was written, and how far the device has read it.
    pointers: [u64; 2],
    /// In bytes, and not in packets.
    counts_bytes: bool,
    is_ours: bool,
}

/// Whether a request of the driver is one that [`request`] has to see.
#[inline]
pub fn concerns(number: c_ulong) -> bool {
    is::<CreateQueue>(number) || is::<UpdateQueue>(number) || is::<DestroyQueue>(number)
}

/// Whether the number is that of a request, as this or a later driver has it: what is added to a request's block goes to
/// its end, and changes the size in the number (`CreateQueue` has got eight bytes in Linux 6.12, which ROCm 6.4 sends).
pub(super) fn is<R: Request>(number: c_ulong) -> bool {
    const fn bytes(number: u32) -> u32 {
        number >> 16 & 0x3fff
    }
    let number = number as u32;
    number_parts(number) == number_parts(R::NUMBER) && bytes(number) >= bytes(R::NUMBER)
}

/// A request of the driver that [`concerns`]: `real` makes it, with these arguments or others, and answers what
/// the C library does.
///
/// # Safety
/// `argument` is what the driver takes with the request.
pub unsafe fn request(
    number: c_ulong,
    argument: *mut c_void,
    real: impl Fn(*mut c_void) -> c_int,
) -> c_int {
    let updates = is::<UpdateQueue>(number);
    let is_ours = updates && ASKS_FOR_US.get();
    // A forked child has none, and who held the lock when it was forked is not there.
    if argument.is_null() || is_ours || page::state() == page::State::Forked {
        return real(argument);
    }
    let mut queues = QUEUES.lock();
    if updates {
        // SAFETY: the request's block, whose layout its number says.
        let asked = unsafe { argument.cast::<UpdateQueue>().read_unaligned() };
        // It is what it is asked to be when it goes on.
        let mut passed = match queues.stopped && !queues.is_ours(asked.queue_id) {
            true => stopped(asked),
            false => asked,
        };
        let result = real((&raw mut passed).cast());
        if result == 0 {
            queues.update(asked);
        }
        return result;
    }
    let result = real(argument);
    if result == 0 && is::<CreateQueue>(number) {
        // SAFETY: as above; the driver has written it.
        queues.create(&unsafe { argument.cast::<CreateQueue>().read_unaligned() });
        if queues.stopped && !ASKS_FOR_US.get() {
            stop_new(queues);
        }
    } else if result == 0 {
        // SAFETY: as above.
        let gone = unsafe { argument.cast::<DestroyQueue>().read_unaligned() };
        queues.forget(gone.queue_id);
    }
    result
}

/// A queue of the program's was made while its queues are stopped: so is this, before anything is in it.
#[cold]
fn stop_new(queues: MutexGuard<'_, Queues>) {
    let made = queues.known.last().map(|queue| queue.asked);
    drop(queues);
    if let (Some(made), Ok(kfd)) = (made, gpu::driver()) {
        let stopped = set(&kfd, stopped(made));
        stopped.unwrap_or_else(|error| tracing::error!("a new queue is not stopped: {error}"));
    }
}

/// The same queue, without a share.
fn stopped(asked: UpdateQueue) -> UpdateQueue {
    UpdateQueue {
        queue_percentage: asked.queue_percentage & !SHARE,
        ..asked
    }
}

/// Queues that the calling thread makes in `make` are the agent's.
pub(crate) fn ours<R>(make: impl FnOnce() -> R) -> R {
    ASKS_FOR_US.set(true);
    let made = make();
    ASKS_FOR_US.set(false);
    made
}

/// How far the program's queues have come, all together: packets of 64 bytes that were written into them, and those that
/// the GPU has begun with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Positions {
    pub(crate) written: u64,
    pub(crate) read: u64,
}

/// See [`Positions`]. Asks nobody: they stand in memory.
pub(crate) fn positions() -> Positions {
    let queues = QUEUES.lock();
    // The runtime frees the place only after the queue, which the lock keeps.
    let position = |queue: &Queue, place| {
        let mut position = [0; 8];
        let is_there = reach::read_at_rest(place, &mut position);
        let position = u64::from_ne_bytes(position) * u64::from(is_there);
        match queue.counts_bytes {
            true => position.div_ceil(PACKET_BYTES),
            false => position,
        }
    };
    let mut all = Positions::default();
    for queue in queues.of_the_program() {
        let [written, read] = queue.pointers.map(|place| position(queue, place));
        all.written = all.written.wrapping_add(written);
        all.read = all.read.wrapping_add(read);
    }
    all
}

/// While it lives the queues of the program are stopped.
#[derive(Debug)]
pub(crate) struct Stopped(());

impl Stopped {
    /// Stops all of them, in the middle of what they do; or none, where one cannot be.
    pub(crate) fn new() -> io::Result<Stopped> {
        let kfd = gpu::driver()?;
        let all = {
            let mut queues = QUEUES.lock();
            queues.stopped = true;
            queues.all_of_the_program()
        };
        // From here on it lets those run again that were stopped, where one cannot be.
        let guard = Stopped(());
        for asked in all {
            set(&kfd, stopped(asked))?;
        }
        Ok(guard)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let all = {
            let mut queues = QUEUES.lock();
            queues.stopped = false;
            queues.all_of_the_program()
        };
        let go_on = |kfd: OwnedFd| all.into_iter().try_for_each(|asked| set(&kfd, asked));
        if let Err(error) = gpu::driver().and_then(go_on) {
            tracing::error!("the program's queues stay stopped: {error}");
        }
    }
}

/// Makes a queue of the program's what is asked for here. It may be gone.
fn set(kfd: &OwnedFd, mut asked: UpdateQueue) -> io::Result<()> {
    // SAFETY: the ring is the queue's own, as it was when it was made.
    let set = ours(|| unsafe { strobe_kfd::call(kfd.as_fd(), &mut asked) });
    set.or_else(|error| match QUEUES.lock().knows(asked.queue_id) {
        true => Err(error),
        false => Ok(()),
    })
}

impl Queues {
    fn create(&mut self, made: &CreateQueue) {
        self.forget(made.queue_id);
        self.known.push(Queue {
            asked: UpdateQueue {
                ring_base_address: made.ring_base_address,
                queue_id: made.queue_id,
                ring_size: made.ring_size,
                queue_percentage: made.queue_percentage,
                queue_priority: made.queue_priority,
            },
            pointers: [made.write_pointer_address, made.read_pointer_address],
            counts_bytes: made.queue_type != COMPUTE_AQL,
            is_ours: ASKS_FOR_US.get(),
        });
    }

    fn update(&mut self, asked: UpdateQueue) {
        let mut queues = self.known.iter_mut();
        if let Some(queue) = queues.find(|queue| queue.asked.queue_id == asked.queue_id) {
            queue.asked = asked;
        }
    }

    fn forget(&mut self, id: u32) {
        self.known.retain(|queue| queue.asked.queue_id != id);
    }

    fn knows(&self, id: u32) -> bool {
        self.known.iter().any(|queue| queue.asked.queue_id == id)
    }

    fn is_ours(&self, id: u32) -> bool {
        let mut queues = self.known.iter();
        queues.any(|queue| queue.asked.queue_id == id && queue.is_ours)
    }

    fn of_the_program(&self) -> impl Iterator<Item = &Queue> {
        self.known.iter().filter(|queue| !queue.is_ours)
    }

    fn all_of_the_program(&self) -> Vec<UpdateQueue> {
        self.of_the_program().map(|queue| queue.asked).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_kfd::number;

    #[test]
    fn requests_of_later_drivers_are_known_by_their_beginning() {
        let create = |bytes| concerns(number(3, b'K', 2, bytes).into());
        assert!(create(88));
        assert!(create(96), "ROCm 6.4 sends this");
        assert!(!create(80), "a block that does not hold what is read");
        assert!(!concerns(number(3, b'K', 4, 96).into()));
        assert!(!concerns(number(3, b'd', 2, 96).into()));
    }
}
