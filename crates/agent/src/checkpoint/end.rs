//! The program goes on: the gate is opened, and what the checkpoint had is given back.

use crate::agent::Agent;
use crate::call::gate::GATE;
use crate::checkpoint::refusal::Refusal;
use crate::wire::page::now_ns;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long what is under way may take.
const IDLE_PATIENCE: Duration = Duration::from_secs(10);
/// How long giving back waits for who makes the resources.
const SPARE_PATIENCE: Duration = Duration::from_secs(1);
/// Between two looks at copies under way, when nobody waits for them, and when somebody does.
const LOOK_AGAIN: Duration = Duration::from_millis(2);
const LOOK_AGAIN_AT_CUT: Duration = Duration::from_micros(500);

/// Opens the gate.
pub(super) fn open(agent: &Agent) {
    agent.page.opened_ns.store(now_ns(), Ordering::Relaxed);
    GATE.open();
}

/// Nothing is kept any more; the pool is given back. What was under way comes to its end first,
/// because the pool and the program's memory are in use until then.
pub(super) fn let_go(agent: &'static Agent) {
    if agent.device.course.with(|saving| saving.is_saved()) == Some(false) {
        agent.device.course.give_up(&Refusal::Over);
    }
    agent.device.course.notify();
    if agent.control.is_exiting() {
        // HIP is about to be torn down; what is left goes with the process.
        agent.device.course.record(&agent.trace);
        return;
    }
    let deadline = Instant::now() + IDLE_PATIENCE;
    while !agent.device.course.is_idle() {
        if Instant::now() >= deadline {
            // It goes on alone, and the next checkpoint waits for it.
            let _ = agent.control.supervisor.run(deadline, move || {
                while !agent.device.course.is_idle() {
                    if agent.control.is_exiting() {
                        return;
                    }
                    std::thread::sleep(LOOK_AGAIN);
                }
                give_back(agent);
            });
            return;
        }
        std::thread::sleep(LOOK_AGAIN_AT_CUT);
    }
    give_back(agent);
}

/// Nothing of ours is under way. None of this asks HIP for anything: behind a kernel that does not
/// end, it would not answer.
fn give_back(agent: &Agent) {
    let saved = agent.device.course.record(&agent.trace);
    let saved = saved.map(|saving| saving.into_resources());
    // Who makes resources has the lock, and may wait for HIP.
    let Some(mut spare) = agent.device.spare.try_lock_for(SPARE_PATIENCE) else {
        return;
    };
    if saved.is_some() {
        *spare = saved;
    }
    if let Some(resources) = spare.as_mut() {
        resources.let_go();
    }
}
