//! The phases of a checkpoint: reported as they end, where that is asked for, and kept for its record.

use crate::wire::page::now_ns;
use parking_lot::Mutex;
use strobe_proto::Span;

/// Phases of one checkpoint; attempts and rounds make more than there are names.
const MOST: usize = 512;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct Phases(Mutex<Vec<Span>>);

impl Phases {
    /// Another checkpoint begins.
    pub(crate) fn start_over(&self) {
        self.0.lock().clear();
    }

    /// A phase that began then is over.
    pub(crate) fn ended(&self, name: &str, start_ns: u64) {
        self.took(name, start_ns, now_ns());
    }

    /// A phase, from then to then.
    pub(crate) fn took(&self, name: &str, start_ns: u64, end_ns: u64) {
        let mut phases = self.0.lock();
        if phases.len() < MOST {
            phases.push(Span {
                name: name.into(),
                start_ns,
                end_ns,
            });
        }
    }

    /// Those that are over.
    pub(crate) fn so_far(&self) -> Vec<Span> {
        self.0.lock().clone()
    }
}

/// Does `$does` as the phase `$name` of the agent's checkpoint.
macro_rules! phase {
    ($agent:expr, $name:literal, $does:expr) => {{
        let began = crate::wire::page::now_ns();
        let done = tracing::debug_span!($name).in_scope($does);
        $agent.phases.ended($name, began);
        done
    }};
}

pub(super) use phase;
