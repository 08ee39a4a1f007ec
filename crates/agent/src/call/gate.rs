//! The gate: every call that changes GPU state passes it; closed, new calls wait.
//!
//! Closed for long, it can let one call of each thread pass that waits there: for what they do somebody else may wait.
//! Before it is closed it can be metered: as many calls pass as were allowed.
//!
//! Each thread counts itself in a cache line of its own, so an open gate costs no contention. Enter
//! and close are the two halves of a Dekker handshake, both sequentially consistent: a thread that
//! did not see the gate closed is seen inside by whoever closes it.
//!
//! A slot belongs to a thread id. Threads tell nobody when they end (no destructor of ours runs in
//! them), so the slots of dead threads are taken over, and a thread that was cancelled inside a call
//! does not hold the gate.

use crate::call::futex::{futex_wait, futex_wake};
use crate::call::held::HeldCalls;
use crate::wire::page::now_ns;
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use strobe_extent::Extent;
use strobe_proto::HeldBy;

/// Threads with a slot of their own; the others share the last one.
const SLOTS: usize = 1024;
const SHARED: usize = SLOTS - 1;
/// A thread that waits looks at the gate this often even when nobody wakes it.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// A call that nothing was allowed for in this time passes, and ends the metering: what the GPU does not get on with may
/// wait for this call.
const METERED_PATIENCE: Duration = Duration::from_secs(2);
/// States of a gate: open; metered; closed in its first turn; calls pass in this turn; what one turn differs from the
/// next by.
const OPEN: u32 = 0;
const METERED: u32 = 1;
const FIRST_TURN: u32 = 2;
const PASSES: u32 = 1;
const TURN: u32 = 2;
/// Fields of the count of calls inside.
const WAITS: u64 = 1 << 21;
const ANNOUNCED: u64 = 1 << 42;
const FIELD: u64 = WAITS - 1;
/// Marks the shared slot: no thread has this id.
const ANY_THREAD: u32 = u32::MAX;

thread_local! {
    static SLOT: Cell<u32> = const { Cell::new(0) };
    static THREAD: Cell<u32> = const { Cell::new(0) };
}

#[derive(Debug)]
#[repr(align(64))]
struct Slot {
    /// Kernel thread id of the owner; 0 is free.
    thread: AtomicU32,
    /// Calls inside; of them, times [`WAITS`], those that give the GPU nothing to do, and, times [`ANNOUNCED`], those of
    /// which all is known that they may do yet.
    inside: AtomicU64,
    /// Start and length of what the CPU may write in the announced call of this thread.
    by_host: [AtomicU64; 2],
    /// Nanoseconds that the owner was held back: by copying in this checkpoint, before its cut by a metered gate.
    held_back: AtomicU64,
    /// Since when the owner waits at the closed gate, on the monotonic clock; 0 where it does not. Of those who share a slot,
    /// the last to come.
    waits_since: AtomicU64,
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Gate {
    /// [`OPEN`], [`METERED`], or closed: a number that grows with each turn in which calls pass, and whether this is
    /// one.
    state: AtomicU32,
    /// Calls that a metered gate lets pass.
    allowed: AtomicU32,
    /// Calls that have passed while it was metered, since it was last.
    metered: AtomicU32,
    /// Threads that wait.
    waiting: AtomicU32,
    /// Calls that have passed in this turn, or the last one.
    passed: AtomicU32,
    slots: [Slot; SLOTS],
    /// Calls that had to wait, here or for copies.
    pub(crate) held: HeldCalls,
}

/// Proof that a call is inside; to be given back to [`Gate::leave`] by the same thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inside {
    slot: u32,
    /// What it is counted with.
    counted: u64,
}

/// Who may be inside of a closed gate that counts as empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Empty {
    /// Nobody.
    Quite,
    /// Calls that wait for the GPU, or whose work is announced.
    OfWork,
}

/// The one that calls of the program pass.
pub(crate) static GATE: Gate = Gate::new();

impl Gate {
    /// An open gate.
    #[allow(clippy::new_without_default, reason = "const, for statics")]
    pub(crate) const fn new() -> Gate {
        Gate {
            state: AtomicU32::new(OPEN),
            allowed: AtomicU32::new(0),
            metered: AtomicU32::new(0),
            waiting: AtomicU32::new(0),
            passed: AtomicU32::new(0),
            slots: [const {
                Slot {
                    thread: AtomicU32::new(0),
                    inside: AtomicU64::new(0),
                    by_host: [const { AtomicU64::new(0) }; 2],
                    held_back: AtomicU64::new(0),
                    waits_since: AtomicU64::new(0),
                }
            }; SLOTS],
            held: HeldCalls::new(),
        }
    }

    /// Passes the gate, after waiting for it to open.
    #[inline]
    pub(crate) fn enter(&self) -> Inside {
        let at = self.own_slot();
        let slot = &self.slots[at];
        slot.inside.fetch_add(1, Ordering::SeqCst);
        if self.state.load(Ordering::SeqCst) != OPEN {
            self.wait_outside(slot, 1, true);
        }
        Inside {
            slot: at as u32,
            counted: 1,
        }
    }

    /// The same for a call that gives the GPU nothing to do: it is not metered.
    #[inline]
    pub(crate) fn enter_idle(&self) -> Inside {
        let at = self.own_slot();
        let slot = &self.slots[at];
        let counted = 1 + WAITS;
        slot.inside.fetch_add(counted, Ordering::SeqCst);
        if self.state.load(Ordering::SeqCst) > METERED {
            self.wait_outside(slot, counted, false);
        }
        Inside {
            slot: at as u32,
            counted,
        }
    }

    /// A call inside has announced what it does, and may wait for the GPU before it does that; so it may be inside at a
    /// cut. Of memory of the device the CPU writes this in it at the most.
    pub(crate) fn announced(&self, inside: Inside, by_host: Option<Extent>) -> Inside {
        let slot = &self.slots[inside.slot as usize];
        if inside.slot as usize == SHARED {
            if by_host.is_some() {
                // Others' would overwrite it.
                return inside;
            }
        } else {
            let start_len = by_host.map_or([0; 2], |extent| [extent.start(), extent.len()]);
            for (place, value) in slot.by_host.iter().zip(start_len) {
                place.store(value, Ordering::Relaxed);
            }
        }
        slot.inside.fetch_add(ANNOUNCED, Ordering::SeqCst);
        let counted = inside.counted + ANNOUNCED;
        Inside { counted, ..inside }
    }

    /// What the CPU may write in calls that are inside and have announced it.
    pub(crate) fn written_by_host(&self) -> Vec<Extent> {
        let is_inside = |slot: &&Slot| slot.inside.load(Ordering::SeqCst) >= ANNOUNCED;
        let slots = self.slots.iter().filter(is_inside);
        let extents = slots.map(|slot| {
            let [start, len] = [&slot.by_host[0], &slot.by_host[1]];
            Extent::with_len(start.load(Ordering::Relaxed), len.load(Ordering::Relaxed))
        });
        extents.flatten().collect()
    }

    /// Goes outside, waits there, and is inside again.
    #[cold]
    fn wait_outside(&self, slot: &Slot, counted: u64, gives_work: bool) {
        slot.inside.fetch_sub(counted, Ordering::SeqCst);
        if gives_work {
            self.wait_metered(slot);
        }
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let came = self.state.load(Ordering::SeqCst) | PASSES;
        let mut waited = false;
        loop {
            slot.inside.fetch_add(counted, Ordering::SeqCst);
            let state = self.state.load(Ordering::SeqCst);
            // Who came in a turn waits for the next one.
            let passes = state > METERED && state & PASSES != 0 && state != came;
            if passes {
                self.passed.fetch_add(1, Ordering::SeqCst);
            }
            if passes || state <= METERED {
                break;
            }
            slot.inside.fetch_sub(counted, Ordering::SeqCst);
            if !waited {
                waited = true;
                slot.waits_since.store(now_ns(), Ordering::Relaxed);
            }
            futex_wait(&self.state, state, LOOK_AGAIN);
        }
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        if waited {
            self.has_waited(slot);
        }
    }

    /// Counts the wait at the closed gate that this slot tells of, once.
    fn has_waited(&self, slot: &Slot) {
        let since = slot.waits_since.swap(0, Ordering::AcqRel);
        if since != 0 {
            let thread = slot.thread.load(Ordering::Relaxed);
            self.held.add(HeldBy::Cut, thread, since);
        }
    }

    /// The gate has been opened: counts the waits there of those who have not seen that yet.
    pub(crate) fn count_waits(&self) {
        self.slots.iter().for_each(|slot| self.has_waited(slot));
    }

    /// Outside: waits until a metered gate allows one more call, or is in another state.
    fn wait_metered(&self, slot: &Slot) {
        let came_ns = now_ns();
        let held = || Duration::from_nanos(now_ns().saturating_sub(came_ns));
        let mut waited = false;
        while self.state.load(Ordering::SeqCst) == METERED {
            let allowed = &self.allowed;
            let took = allowed.fetch_update(Ordering::AcqRel, Ordering::Acquire, |calls| {
                calls.checked_sub(1)
            });
            if took.is_ok() {
                self.metered.fetch_add(1, Ordering::AcqRel);
                break;
            }
            if held() > METERED_PATIENCE {
                self.meter_no_more();
                break;
            }
            waited = true;
            futex_wait(allowed, 0, LOOK_AGAIN);
        }
        if waited {
            let held = held().as_nanos() as u64;
            slot.held_back.fetch_add(held, Ordering::Relaxed);
            let thread = slot.thread.load(Ordering::Relaxed);
            self.held.add(HeldBy::Lead, thread, came_ns);
        }
    }

    /// From now on an open gate lets only as many calls pass as are allowed: none at first.
    pub(crate) fn meter(&self) {
        self.allowed.store(0, Ordering::Release);
        self.metered.store(0, Ordering::Release);
        let (open, metered) = (OPEN, METERED);
        let order = Ordering::SeqCst;
        // Who has closed it meanwhile meters nothing.
        let _ = self.state.compare_exchange(open, metered, order, order);
    }

    /// How many calls have passed that were metered.
    pub(crate) fn metered(&self) -> u32 {
        self.metered.load(Ordering::Acquire)
    }

    /// So many calls may pass a metered gate from now on.
    pub(crate) fn allow(&self, calls: u32) {
        self.allowed.store(calls, Ordering::Release);
        if calls > 0 {
            futex_wake(&self.allowed);
        }
    }

    /// A gate that is metered is open again.
    pub(crate) fn meter_no_more(&self) {
        let (open, metered) = (OPEN, METERED);
        let order = Ordering::SeqCst;
        // One that is closed meanwhile stays closed.
        let _ = self.state.compare_exchange(metered, open, order, order);
        self.look_again();
    }

    /// Who waits for a metered gate sees that it is in another state.
    fn look_again(&self) {
        // As long as it is not 0 nobody sleeps there; who takes it looks at the state first.
        self.allow(u32::MAX);
    }

    /// The call is over.
    #[inline]
    pub(crate) fn leave(&self, inside: Inside) {
        self.slots[inside.slot as usize]
            .inside
            .fetch_sub(inside.counted, Ordering::Release);
    }

    /// Closes the gate: who enters from now on waits.
    pub(crate) fn close(&self) {
        let number = self.state.load(Ordering::SeqCst).max(FIRST_TURN) & !PASSES;
        self.state.store(number, Ordering::SeqCst);
        self.look_again();
    }

    /// Opens the gate.
    pub(crate) fn open(&self) {
        self.state.store(OPEN, Ordering::SeqCst);
        futex_wake(&self.state);
        self.look_again();
    }

    /// Lets each thread that waits now make one call; closed otherwise, and when this returns: when they have begun,
    /// or that has taken too long. For who has closed it.
    pub(crate) fn let_pass(&self, patience: Duration) {
        let waiting = self.waiting.load(Ordering::SeqCst);
        self.passed.store(0, Ordering::SeqCst);
        let last = self.state.load(Ordering::SeqCst);
        let turn = last.wrapping_add(TURN).max(FIRST_TURN) | PASSES;
        self.state.store(turn, Ordering::SeqCst);
        futex_wake(&self.state);
        let deadline = Instant::now() + patience;
        while self.passed.load(Ordering::SeqCst) < waiting && Instant::now() < deadline {
            std::thread::sleep(Duration::from_micros(100));
        }
        self.close();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.state.load(Ordering::SeqCst) > METERED
    }

    /// Waits until it is empty. `Err` names a thread that still is inside when the time is over, or when
    /// there is no reason to wait any more.
    pub(crate) fn wait_until(
        &self,
        empty: Empty,
        deadline: Instant,
        given_up: impl Fn() -> bool,
    ) -> Result<(), u32> {
        loop {
            let Some(thread) = self.someone_inside(empty) else {
                return Ok(());
            };
            if Instant::now() >= deadline || given_up() {
                return Err(thread);
            }
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    /// Adds to the time that this thread was held back: since then, for this.
    pub(crate) fn add_held_back(&self, by: HeldBy, since_ns: u64) {
        let time = now_ns().saturating_sub(since_ns);
        self.slots[self.own_slot()]
            .held_back
            .fetch_add(time, Ordering::Relaxed);
        self.held.add(by, thread_id(), since_ns);
    }

    /// The longest time that one thread was held back, in nanoseconds; forgets it.
    pub(crate) fn take_held_back(&self) -> u64 {
        self.slots
            .iter()
            .map(|slot| slot.held_back.swap(0, Ordering::Relaxed))
            .max()
            .unwrap_or(0)
    }

    fn someone_inside(&self, empty: Empty) -> Option<u32> {
        self.slots.iter().find_map(|slot| {
            let inside = slot.inside.load(Ordering::SeqCst);
            let [waiting, announced] = [WAITS, ANNOUNCED].map(|one| (inside / one) & FIELD);
            let working = (inside & FIELD) - waiting - announced;
            if inside == 0 || empty == Empty::OfWork && working == 0 {
                return None;
            }
            let thread = slot.thread.load(Ordering::Relaxed);
            (thread == ANY_THREAD || is_alive(thread)).then_some(thread)
        })
    }

    #[inline]
    fn own_slot(&self) -> usize {
        let at = SLOT.get() as usize;
        let thread = THREAD.get();
        if thread != 0 && self.slots[at].thread.load(Ordering::Relaxed) == thread {
            at
        } else {
            self.claim()
        }
    }

    #[cold]
    fn claim(&self) -> usize {
        let thread = thread_id();
        THREAD.set(thread);
        let taken = self.slots[..SHARED].iter().position(|slot| {
            let owner = slot.thread.load(Ordering::Relaxed);
            if owner != 0 && owner != thread && is_alive(owner) {
                return false;
            }
            let won = slot
                .thread
                .compare_exchange(owner, thread, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok();
            if won {
                slot.inside.store(0, Ordering::SeqCst);
            }
            won
        });
        let at = taken.unwrap_or_else(|| {
            self.slots[SHARED]
                .thread
                .store(ANY_THREAD, Ordering::Relaxed);
            SHARED
        });
        SLOT.set(at as u32);
        at
    }
}

/// The kernel's id of the calling thread.
pub(crate) fn thread_id() -> u32 {
    // SAFETY: no arguments, cannot fail.
    unsafe { libc::gettid() as u32 }
}

/// Whether a thread of this process has this id.
pub(crate) fn is_alive(thread: u32) -> bool {
    // SAFETY: signal 0 only asks.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread as libc::pid_t, 0) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(50)
    }

    #[test]
    fn a_closed_gate_holds_new_calls_and_waits_for_those_inside() {
        static GATE: Gate = Gate::new();
        static DONE: AtomicBool = AtomicBool::new(false);
        let inside = GATE.enter();
        GATE.close();
        let other = std::thread::spawn(|| {
            let inside = GATE.enter();
            DONE.store(true, Ordering::SeqCst);
            GATE.leave(inside);
        });
        assert_eq!(
            GATE.wait_until(Empty::Quite, soon(), || false),
            Err(thread_id()),
            "we are inside"
        );
        assert!(!DONE.load(Ordering::SeqCst), "a call passed a closed gate");
        GATE.leave(inside);
        assert_eq!(GATE.wait_until(Empty::Quite, soon(), || false), Ok(()));
        GATE.open();
        other.join().unwrap();
        assert!(DONE.load(Ordering::SeqCst));
    }

    #[test]
    fn a_metered_gate_lets_pass_what_is_allowed_until_it_opens_or_closes() {
        static GATE: Gate = Gate::new();
        static STOP: AtomicBool = AtomicBool::new(false);
        GATE.meter();
        let callers: Vec<_> = (0..3)
            .map(|_| {
                std::thread::spawn(|| {
                    while !STOP.load(Ordering::SeqCst) {
                        let inside = GATE.enter();
                        GATE.leave(inside);
                    }
                })
            })
            .collect();
        let settled = || {
            std::thread::sleep(Duration::from_millis(20));
            GATE.metered()
        };
        assert_eq!(settled(), 0, "nothing was allowed");
        // Who only asks is not metered.
        GATE.leave(GATE.enter_idle());
        GATE.allow(5);
        assert_eq!(settled(), 5);
        GATE.allow(2);
        assert_eq!(settled(), 7);
        GATE.close();
        assert!(GATE.is_closed());
        assert_eq!(GATE.wait_until(Empty::Quite, soon(), || false), Ok(()));
        assert_eq!(settled(), 7, "a call passed a closed gate");
        GATE.meter_no_more();
        assert!(GATE.is_closed(), "it is not for that to open it");
        STOP.store(true, Ordering::SeqCst);
        GATE.open();
        callers
            .into_iter()
            .for_each(|caller| caller.join().unwrap());
        assert!(GATE.take_held_back() > 0);
        let held = GATE.held.sums();
        let by = |cause| held.iter().find(|held| held.cause() == cause);
        assert!(by(HeldBy::Lead).is_some_and(|held| held.calls >= 3 && held.ns >= held.longest_ns));
        assert!(by(HeldBy::Cut).is_some_and(|held| (1..=3).contains(&held.calls)));
    }

    #[test]
    fn a_metered_gate_that_allows_nothing_for_long_opens() {
        static GATE: Gate = Gate::new();
        GATE.meter();
        GATE.leave(GATE.enter());
        assert_eq!(GATE.state.load(Ordering::SeqCst), OPEN);
    }

    #[test]
    fn each_that_waits_makes_one_call_in_a_turn() {
        static GATE: Gate = Gate::new();
        static CALLS: [AtomicU32; 3] = [const { AtomicU32::new(0) }; 3];
        static STOP: AtomicBool = AtomicBool::new(false);
        GATE.close();
        let callers: Vec<_> = CALLS
            .iter()
            .map(|calls| {
                std::thread::spawn(move || {
                    while !STOP.load(Ordering::SeqCst) {
                        let inside = GATE.enter();
                        calls.fetch_add(1, Ordering::SeqCst);
                        GATE.leave(inside);
                    }
                })
            })
            .collect();
        let all_wait = || {
            while GATE.waiting.load(Ordering::SeqCst) < CALLS.len() as u32 {
                std::thread::yield_now();
            }
            // Nobody passes who is not let.
            assert_eq!(GATE.wait_until(Empty::Quite, soon(), || false), Ok(()));
        };
        for turn in 1..=20 {
            all_wait();
            GATE.let_pass(Duration::from_secs(10));
            assert!(GATE.is_closed());
            let deadline = Instant::now() + Duration::from_secs(10);
            assert_eq!(GATE.wait_until(Empty::Quite, deadline, || false), Ok(()));
            for calls in &CALLS {
                assert_eq!(calls.load(Ordering::SeqCst), turn);
            }
        }
        // Nobody waits for who is not there.
        STOP.store(true, Ordering::SeqCst);
        GATE.open();
        callers
            .into_iter()
            .for_each(|caller| caller.join().unwrap());
        GATE.close();
        GATE.let_pass(Duration::from_secs(1000));
        assert!(GATE.is_closed());
    }

    #[test]
    fn nobody_is_inside_once_it_is_closed_and_empty() {
        static GATE: Gate = Gate::new();
        static STOP: AtomicBool = AtomicBool::new(false);
        static INSIDE: AtomicU32 = AtomicU32::new(0);
        let threads: Vec<_> = (0..4)
            .map(|_| {
                std::thread::spawn(|| {
                    while !STOP.load(Ordering::Relaxed) {
                        let inside = GATE.enter();
                        INSIDE.fetch_add(1, Ordering::SeqCst);
                        std::hint::spin_loop();
                        INSIDE.fetch_sub(1, Ordering::SeqCst);
                        GATE.leave(inside);
                    }
                })
            })
            .collect();
        for round in 0..50 {
            GATE.close();
            let deadline = Instant::now() + Duration::from_secs(10);
            assert_eq!(
                GATE.wait_until(Empty::Quite, deadline, || false),
                Ok(()),
                "round {round}"
            );
            assert_eq!(
                INSIDE.load(Ordering::SeqCst),
                0,
                "round {round}: a call is inside"
            );
            GATE.open();
            std::thread::yield_now();
        }
        STOP.store(true, Ordering::Relaxed);
        threads.into_iter().for_each(|t| t.join().unwrap());
    }

    #[test]
    fn a_thread_that_died_inside_does_not_hold_the_gate() {
        static GATE: Gate = Gate::new();
        std::thread::spawn(|| {
            GATE.enter();
        })
        .join()
        .unwrap();
        GATE.close();
        let deadline = Instant::now() + Duration::from_secs(5);
        assert_eq!(GATE.wait_until(Empty::Quite, deadline, || false), Ok(()));
    }

    #[test]
    fn more_threads_than_slots_share_one() {
        static GATE: Gate = Gate::new();
        for slot in &GATE.slots[..SHARED] {
            // This test's own thread id lives as long as the test.
            slot.thread.store(std::process::id(), Ordering::Relaxed);
        }
        let inside = std::thread::spawn(|| GATE.enter()).join().unwrap();
        assert_eq!(inside.slot as usize, SHARED);
        GATE.close();
        assert_eq!(
            GATE.wait_until(Empty::Quite, soon(), || false),
            Err(ANY_THREAD)
        );
        GATE.leave(inside);
        assert_eq!(GATE.wait_until(Empty::Quite, soon(), || false), Ok(()));
    }
}
