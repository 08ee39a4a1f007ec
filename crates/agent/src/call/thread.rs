//! What is known of the calling thread, and of all of them.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    /// Whether this thread is inside a wrapped call (HIP calls itself by its exported names) or is
    /// one of our own. No destructor: it works in every phase of a thread's life.
    pub(super) static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// Whether a call of the program has come back: only then is HIP initialised for sure. (Its
/// initialisation does not stand two threads at once.)
pub(super) static HIP_IS_UP: AtomicBool = AtomicBool::new(false);

/// Whether threads of ours may call HIP.
pub(crate) fn hip_is_up() -> bool {
    HIP_IS_UP.load(Ordering::Acquire)
}

/// The calling thread is ours: its calls of HIP are none of the program's.
pub(crate) fn mark_own_thread() {
    BUSY.set(true);
}
