//! The phases of a checkpoint: reported as they end, where that is asked for, and kept for its record.

use parking_lot::Mutex;
use strobe_proto::{Span, Spans};

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct Phases(Mutex<Spans>);

impl Phases {
    /// Another checkpoint begins.
    pub(crate) fn start_over(&self) {
        *self.0.lock() = Spans::default();
    }

    /// A phase is over.
    pub(crate) fn add(&self, name: &str, start_ns: u64, end_ns: u64) {
        self.0.lock().add(name, start_ns, end_ns);
    }

    /// Those that are over.
    pub(crate) fn so_far(&self) -> Vec<Span> {
        self.0.lock().clone().into()
    }
}

/// Does `$does` as the phase `$name` of the agent's checkpoint.
macro_rules! phase {
    ($agent:expr, $name:literal, $does:expr) => {{
        let began = crate::wire::page::now_ns();
        let done = tracing::debug_span!($name).in_scope($does);
        let ended = crate::wire::page::now_ns();
        $agent.phases.add($name, began, ended);
        done
    }};
}

pub(super) use phase;
