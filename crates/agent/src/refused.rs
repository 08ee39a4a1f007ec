//! Functions that are not supported: whether the program has used one.

use crate::agent::Agent;
use crate::checkpoint::refusal::Refusal;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How long the dynamic linker may take to answer.
const LINKER_PATIENCE: Duration = Duration::from_secs(10);

/// Whom to ask what the program has used of that which is not supported.
#[derive(Clone, Copy, Debug)]
pub struct RefusedFunctions {
    /// The name of a function that was used. Takes no lock.
    pub used: fn() -> Option<String>,
    /// The name of a function that a loaded library may use without anybody seeing it. Takes the
    /// dynamic linker's lock.
    pub linked: fn() -> Option<String>,
}

static REFUSED: OnceLock<RefusedFunctions> = OnceLock::new();

/// Says whom to ask about refused functions.
pub fn watch_refused(functions: RefusedFunctions) {
    REFUSED.get_or_init(|| functions);
}

/// `Err` names a refused function that the program has used: what that did is not in any image.
pub(crate) fn nothing_refused() -> Result<(), Refusal> {
    refuse(REFUSED.get().and_then(|functions| (functions.used)()))
}

/// The same of what loaded libraries may use. A thread that loads a library may hold its caller up.
fn nothing_refused_is_linked() -> Result<(), Refusal> {
    refuse(REFUSED.get().and_then(|functions| (functions.linked)()))
}

fn refuse(used: Option<String>) -> Result<(), Refusal> {
    used.map_or(Ok(()), |name| Err(Refusal::Used(name)))
}

/// Whatever is done by functions that are not modelled is in no image. They do not pass the gate, so
/// this is asked before the work begins, at the cut, and when all is delivered.
pub(crate) fn used_nothing_refused(agent: &'static Agent) -> Result<(), Refusal> {
    let deadline = Instant::now() + LINKER_PATIENCE;
    let linked = agent
        .control
        .supervisor
        .run(deadline, nothing_refused_is_linked);
    linked.unwrap_or(Err(Refusal::LinkerDoesNotAnswer))?;
    nothing_refused()
}
