//! The course of one checkpoint, on the control thread.
//!
//! ```text
//! Preparing -> Armed <-> Closing -> Cut -> Copying -> Idle
//!     |          |         |        |        |
//!     +----------+---------+--------+--------+--> Refused (gate open, the program goes on)
//!                                   +-> Idle (aborted by the plugin, or restored from an image)
//! ```
//!
//! What comes out of an image is `Loading` before it is `Idle`, if its memory is filled on demand. A request that comes
//! meanwhile is taken up when all is there.
//!
//! Where several processes are saved at once, `Drained` stands between `Closing` and `Cut`.
//!
//! Whatever happens, the gate is open and nothing is held back when this returns.

use crate::agent::Agent;
use crate::call::gate::GATE;
use crate::checkpoint::close::close_and_rest;
use crate::checkpoint::cut::Cut;
use crate::checkpoint::end::{let_go, open};
use crate::checkpoint::incarnation::Incarnation;
use crate::checkpoint::lead::Bounded;
use crate::checkpoint::phases::phase;
use crate::checkpoint::prepare::prepare;
use crate::checkpoint::refusal::Refusal;
use crate::checkpoint::watch::Watch;
use crate::checkpoint::{deliver, paused};
use crate::device::last_copies::LastCopies;
use crate::fault;
use crate::loading;
use crate::wire::page::{
    end_copying, is_another_process, note_process, refuse, set_phase, verdict,
};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use strobe_extent::Access;
use strobe_proto::page::{Phase, Verdict};
use tracing::debug_span;

/// How long a cut may last. CRIU writes the program's whole host memory in this time.
const CUT_PATIENCE: Duration = Duration::from_secs(1800);
/// How long the device of a restored process may take for its first kernel. (The restore of its queues has
/// been asked for by then, or never will be.)
const DEVICE_PATIENCE: Duration = Duration::from_secs(10);
/// How often the page is looked at while the program stands still.
const LOOK_AGAIN_AT_CUT: Duration = Duration::from_micros(500);

/// Takes the checkpoint that the page asks for.
pub(crate) fn run(agent: &'static Agent) {
    let page = agent.page;
    // It may have come out of an image since, while no checkpoint was under way.
    note_process(page);
    page.verdict
        .store(Verdict::Pending as u32, Ordering::Release);
    page.gate_request.store(0, Ordering::Release);
    page.attempts.store(0, Ordering::Relaxed);
    agent.held_in_vain_ns.store(0, Ordering::Relaxed);
    agent.phases.start_over();
    GATE.held.start_over();
    end_copying(page);
    set_phase(page, Phase::Preparing);
    agent.control.begin_checkpoint();
    let _whole = debug_span!("checkpoint").entered();
    let ended = course(agent);
    end_copying(page);
    GATE.held.keep(false);
    match ended {
        Ok(()) => set_phase(page, Phase::Idle),
        Err(why) => {
            // Wherever it ended: nothing stays borrowed.
            let_go(agent);
            refuse(page, &why.to_string());
        }
    }
}

fn course(agent: &'static Agent) -> Result<(), Refusal> {
    let Some((begin, known)) = phase!(agent, "prepare", || prepare(agent))? else {
        return Ok(());
    };
    let mut lead = Bounded::new(&begin);
    phase!(agent, "lead", || lead.wait_until_short(agent, begin.cut()))?;
    set_phase(agent.page, Phase::Armed);
    let rest = close_and_rest(agent, &begin, lead)?;
    // From here on the gate is closed and the GPU at rest.
    let take = || {
        // CRIU takes one thread's descriptors for those of all, and there it has others.
        if !agent.cache.lock().is_at_rest() {
            return Err(Refusal::CacheDoesNotAnswer);
        }
        Cut::take(agent, &begin, &known, rest)
    };
    let cut = match phase!(agent, "cut", take) {
        Ok(cut) => cut,
        Err(why) => {
            GATE.open();
            return Err(why);
        }
    };
    let page = agent.page;
    let hand_over = cut.hand_over(agent, &begin);
    page.hand_over
        .store(hand_over.as_ptr() as u64, Ordering::Relaxed);
    page.hand_over_len
        .store(hand_over.len() as u64, Ordering::Relaxed);
    let has_stderr = fault::has_stderr();
    set_phase(page, Phase::Cut);
    let verdict = phase!(agent, "frozen", || wait_for_verdict(agent));
    page.hand_over_len.store(0, Ordering::Relaxed);
    drop(hand_over);
    match verdict {
        Ok(Verdict::Dumped) => debug_span!("deliver").in_scope(|| deliver::run(agent, &begin, cut)),
        Ok(verdict @ (Verdict::Restored | Verdict::RestoredOnDemand)) => {
            if has_stderr {
                // It may be another file that does the same.
                fault::note_stderr();
            }
            restored(agent, cut, verdict == Verdict::RestoredOnDemand);
            Ok(())
        }
        Ok(Verdict::Aborted | Verdict::Pending) => {
            drop(cut);
            open(agent);
            let_go(agent);
            Ok(())
        }
        Err(why) => {
            // Before the gate: what passes it would wait for them.
            paused::let_queues_run();
            drop(cut);
            open(agent);
            let_go(agent);
            Err(why)
        }
    }
}

fn wait_for_verdict(agent: &Agent) -> Result<Verdict, Refusal> {
    let page = agent.page;
    let deadline = Instant::now() + CUT_PATIENCE;
    let mut watch = Watch::new(page);
    let mut incarnation = Incarnation::of_this_thread();
    loop {
        match verdict(page) {
            Verdict::Pending => {}
            decided => return Ok(decided),
        }
        let given_up = watch.look_at_cut(agent).err();
        // A file is opened, for the start time, only where nobody is there to freeze us.
        let is_another = incarnation.is_another()
            || given_up.is_some() && agent.control.given_up().is_none() && is_another_process(page);
        if is_another {
            return Ok(match verdict(page) {
                // By who then went away.
                verdict @ (Verdict::Restored | Verdict::RestoredOnDemand) => verdict,
                _ => restored_by_others(agent),
            });
        }
        if let Some(why) = given_up {
            return Err(why);
        }
        if Instant::now() >= deadline {
            return Err(Refusal::DumpDoesNotEnd);
        }
        std::thread::sleep(LOOK_AGAIN_AT_CUT);
    }
}

/// This process came out of an image, and nobody says so: CRIU was not started by `strobe restore`, or it
/// died. The last thing that a restore does before it lets a process go is to let its queues run, so what
/// is there is all there if they do.
fn restored_by_others(agent: &Agent) -> Verdict {
    let deadline = Instant::now() + DEVICE_PATIENCE;
    let answers = agent.device.spare.lock().as_mut().is_some_and(|resources| {
        let aside = &mut resources.aside;
        aside.answers(deadline)
    });
    if !answers {
        end_what_came_back_in_part();
    }
    let restored = Verdict::Restored;
    agent.page.verdict.store(restored as u32, Ordering::Release);
    restored
}

/// A restore that died has let this process go before its queues and memory were all there: nothing
/// it would compute is right, and whoever started the restore may have died too. Without a word: the
/// program's files are as they were, and `strobe restore`, if it is there, says what happened.
fn end_what_came_back_in_part() {
    fault::kill_program();
}

/// This process came out of an image and believes that it is at the cut.
fn restored(agent: &'static Agent, cut: Cut, on_demand: bool) {
    note_process(agent.page);
    // It may have another device, and another host.
    *agent.device.last_copies.lock() = LastCopies::default();
    // What was under way goes on when what it may touch is there.
    let touches = cut.rest.access().cloned();
    let go_on = || {
        drop(cut);
        open(agent);
    };
    match on_demand {
        true => {
            let touches = touches.unwrap_or(Access::none());
            let let_go = || let_go(agent);
            debug_span!("load").in_scope(|| loading::run(agent, &touches, let_go, go_on));
        }
        false => {
            let_go(agent);
            go_on();
        }
    }
}
