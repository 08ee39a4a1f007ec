//! The GPU at rest: idle, or stopped in the middle of what it does, until that may go on.

use crate::agent::Agent;
use crate::device::queues::Stopped;
use std::io;
use strobe_engine::{Proceed, Validate, Waits, Writer};
use strobe_extent::{Access, ChunkMapError};

/// See the module's documentation. When it is dropped the program's queues run.
#[derive(Debug)]
pub(crate) struct Rest(Option<UnderWay>);

/// What was under way.
#[derive(Debug)]
struct UnderWay {
    /// Held for its end.
    _queues: Stopped,
    operations: u64,
    /// What it may touch yet.
    access: Access,
    /// What has to be passed before it may, once that is decided.
    waits: Option<Waits>,
}

impl Rest {
    /// Nothing is under way.
    pub(crate) fn idle() -> Rest {
        Rest(None)
    }

    /// Stops the program's queues. Nobody gives them anything to do.
    pub(crate) fn stop() -> io::Result<Rest> {
        Ok(Rest(Some(UnderWay {
            _queues: Stopped::new()?,
            operations: 0,
            access: Access::none(),
            waits: None,
        })))
    }

    /// All calls so far are in the trace: finds out what is under way.
    pub(crate) fn look(&mut self, agent: &Agent) {
        if let Some(under_way) = &mut self.0 {
            (under_way.operations, under_way.access) = agent.trace.lock().under_way();
        }
    }

    /// How many operations are under way, where the queues were stopped.
    pub(crate) fn under_way(&self) -> Option<u64> {
        self.0.as_ref().map(|under_way| under_way.operations)
    }

    /// What it may touch yet, where something is under way.
    pub(crate) fn access(&self) -> Option<&Access> {
        self.0.as_ref().map(|under_way| &under_way.access)
    }

    /// Bytes of the chunks that it may write yet.
    pub(crate) fn bytes_to_set_aside(
        &self,
        agent: &Agent,
        chunk_bytes: u64,
    ) -> Result<u64, ChunkMapError> {
        let Some(access) = self.access() else {
            return Ok(0);
        };
        let chunks = Validate::Full.choose(&agent.device.registry.found(), chunk_bytes)?;
        let written = chunks
            .iter()
            .filter(|chunk| access.writes.overlaps(**chunk));
        Ok(written.map(|chunk| chunk.len()).sum())
    }

    /// Whether what is under way may go on: what it may write is safe. To be asked until it is so, while copies are
    /// ordered and their arrivals taken.
    pub(crate) fn may_go_on(&mut self, agent: &Agent) -> bool {
        let Some(UnderWay { access, waits, .. }) = &mut self.0 else {
            return true;
        };
        let looked = agent.device.course.with(|saving| {
            if waits.is_none()
                && let Proceed::After(decided) =
                    saving.before_write(Writer::Host, &access.writes, None)
            {
                *waits = Some(decided);
            }
            waits.is_some_and(|waits| saving.has_passed(waits))
        });
        // Where nothing is kept, nothing has to be.
        looked.unwrap_or(true)
    }
}
