//! The agent of this process, from its first call on.

use crate::agent::{Agent, existing, make};
use crate::call::gate::GATE;
use crate::call::{After, Call};
use crate::wire::page;
use crate::{control, fault, journal};

/// The agent, made at the first call; `None` in forked children and after a fault.
#[inline]
pub(crate) fn agent() -> Option<&'static Agent> {
    match page::state() {
        page::State::Live if !fault::is_off() => existing(),
        page::State::Unused => start(),
        _ => None,
    }
}

#[cold]
fn start() -> Option<&'static Agent> {
    fault::install_hook();
    let agent = make()?;
    journal::note_gpu();
    control::start(agent);
    Some(agent)
}

/// Past the gate: `body` says what is left to do when the call has come back. Nothing where nothing is
/// traced.
#[inline]
pub(crate) fn with_agent(body: impl FnOnce(&'static Agent) -> After) -> Call {
    let Some(agent) = agent() else {
        return Call::default();
    };
    let call = Call::inside(GATE.enter());
    call.then(body(agent))
}

/// The same for a call that gives the GPU nothing to do.
#[inline]
pub(crate) fn with_idle_agent(body: impl FnOnce(&'static Agent) -> After) -> Call {
    let Some(agent) = agent() else {
        return Call::default();
    };
    let call = Call::inside(GATE.enter_idle());
    call.then(body(agent))
}
