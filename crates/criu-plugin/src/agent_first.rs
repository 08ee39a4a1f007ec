//! In a program that is restored on demand the agent's thread runs before all others.
//!
//! The CPU reaches device memory by plain loads and stores, which nobody keeps from memory that is away but the agent, by
//! protecting it ([`AgentPage`](strobe_proto::page::AgentPage), `Phase::Loading`). CRIU lets a process go thread by thread
//! (PTRACE_DETACH). So when it lets the first one go, that thread waits, still traced, until the agent's own, which goes
//! before it, has done so.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use libc::pid_t;
use strobe_program::agent::{AgentError, RemoteAgent};
use strobe_program::process;
use strobe_program::signals::without_signals;
use strobe_proto::page::Phase;

use crate::host::{self, Level};

/// How long the agent may take. It may wait for a lock that another thread holds; the restore fails then.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_micros(200);

/// A process whose threads wait.
struct Held {
    agent: RemoteAgent,
    /// The agent's.
    thread: u32,
    has_gone: bool,
    is_guarded: bool,
}

static HELD: Mutex<Vec<Held>> = Mutex::new(Vec::new());
/// Whether there are any. A restore that ends between two threads that go has let some run: nothing takes time there.
static ANY: AtomicBool = AtomicBool::new(false);

/// The agent of a process that CRIU is about to let go has been told that memory is away.
pub(crate) fn hold(agent: RemoteAgent) -> Result<(), AgentError> {
    // Where it is not known, or is the only one, nothing is gained.
    if let Some(thread) = agent.control_thread()? {
        ANY.store(true, Ordering::Relaxed);
        with_held(|held| {
            held.push(Held {
                agent,
                thread,
                has_gone: false,
                is_guarded: false,
            });
        });
    }
    Ok(())
}

/// What becomes of a thread that CRIU lets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It goes.
    Its,
    /// It has gone.
    Over,
    /// It must not: memory is away, and nobody keeps it from that.
    Never,
}

/// CRIU lets a thread go. Lets the agent's thread go first, where it is to.
pub(crate) fn turn_of(thread: pid_t) -> Turn {
    if !ANY.load(Ordering::Relaxed) {
        return Turn::Its;
    }
    let thread = thread.unsigned_abs();
    with_held(|all| {
        let Ok(pid) = process::of_thread(thread) else {
            return Turn::Its;
        };
        let held = all.iter_mut().find(|held| held.agent.identity().pid == pid);
        let Some(held) = held else { return Turn::Its };
        if !held.has_gone {
            held.has_gone = let_go(held.thread);
            held.is_guarded = held.has_gone && wait_for(&held.agent);
        }
        match held.is_guarded {
            true if thread == held.thread => Turn::Over,
            true => Turn::Its,
            false => Turn::Never,
        }
    })
}

fn with_held<R>(body: impl FnOnce(&mut Vec<Held>) -> R) -> R {
    without_signals(|| body(&mut HELD.lock().unwrap_or_else(PoisonError::into_inner)))
}

fn let_go(thread: u32) -> bool {
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: this request takes no pointers; the thread is one that CRIU traces, or it fails.
    let result =
        unsafe { libc::syscall(libc::SYS_ptrace, libc::PTRACE_DETACH, thread, none, none) };
    result == 0
}

/// Whether the agent keeps everybody from memory that is away, or will say why not.
fn wait_for(agent: &RemoteAgent) -> bool {
    let deadline = Instant::now() + PATIENCE;
    // What it did when it was saved.
    while matches!(agent.phase(), Ok(Some(Phase::Cut))) {
        if Instant::now() >= deadline {
            let pid = agent.identity().pid;
            let sentence = format!(
                "the agent of process {pid} has not protected what is away in {} s",
                PATIENCE.as_secs()
            );
            host::log(Level::Error, &sentence);
            return false;
        }
        thread::sleep(LOOK_AGAIN);
    }
    true
}
