//! Reasons to give a checkpoint up that come from outside.

use crate::agent::Agent;
use crate::checkpoint::refusal::Refusal;
use crate::wire::controller::{controller_is_there, controller_lives};
use std::time::{Duration, Instant};
use strobe_proto::page::AgentPage;

/// Between looks at whether the controller lives.
const LIVENESS: Duration = Duration::from_millis(10);

/// Looks at reasons to give up, now and then.
pub(super) struct Watch {
    page: &'static AgentPage,
    next: Instant,
}

impl Watch {
    pub(super) fn new(page: &'static AgentPage) -> Watch {
        Watch {
            page,
            next: Instant::now(),
        }
    }

    pub(super) fn look(&mut self, agent: &Agent) -> Result<(), Refusal> {
        self.look_by(agent, controller_lives)
    }

    /// Without opening a file: the freeze comes at any moment, and CRIU would save it as the
    /// program's.
    pub(super) fn look_at_cut(&mut self, agent: &Agent) -> Result<(), Refusal> {
        self.look_by(agent, controller_is_there)
    }

    fn look_by(&mut self, agent: &Agent, lives: fn(&AgentPage) -> bool) -> Result<(), Refusal> {
        if let Some(why) = agent.control.given_up() {
            return Err(why);
        }
        let now = Instant::now();
        if now >= self.next {
            self.next = now + LIVENESS;
            if !lives(self.page) {
                return Err(Refusal::ControllerGone);
            }
        }
        Ok(())
    }
}
