//! The first thread of a restored program that CRIU lets go (PTRACE_DETACH): from then on it lets go of all.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use strobe_criu::point_of_no_return;

use crate::host::{self, Level};

/// All processes are whole. (CRIU detaches from others before, to find out what the machine can do.)
static IS_NEXT: AtomicBool = AtomicBool::new(false);

enum Decision {
    Open,
    /// The lock is held until CRIU ends, where its command has made one.
    Goes {
        _lock: Option<File>,
    },
    GivenUp,
}

static DECISION: Mutex<Decision> = Mutex::new(Decision::Open);

/// A process is whole; CRIU lets nobody go before all are.
pub(crate) fn is_next() {
    IS_NEXT.store(true, Ordering::Relaxed);
}

/// Whether CRIU may let a thread go.
pub(crate) fn may_begin() -> bool {
    if !IS_NEXT.load(Ordering::Relaxed) {
        return true;
    }
    let mut decision = DECISION.lock().unwrap_or_else(PoisonError::into_inner);
    if matches!(*decision, Decision::Open) {
        *decision = match point_of_no_return::pass() {
            Ok(lock) => Decision::Goes { _lock: lock },
            Err(error) => {
                let sentence = match error.kind() {
                    io::ErrorKind::WouldBlock => "the restore has been given up".to_owned(),
                    _ => format!("who gives a restore up cannot be told: {error}"),
                };
                host::log(Level::Error, &sentence);
                Decision::GivenUp
            }
        };
    }
    !matches!(*decision, Decision::GivenUp)
}
