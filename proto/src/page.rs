//! The agent page: the words through which the agent, the controller and the CRIU plugin meet.
//!
//! It is one anonymous page of the program, found through the data symbol [`PAGE_SYMBOL`] of
//! `libstrobe.so`, and read and written from outside with `process_vm_readv`/`writev`: at the
//! freeze the agent may hold no connected socket, and in a restored program none exists.
//! The page is wiped on fork (`MADV_WIPEONFORK`), so a child has no magic and is no target.
//!
//! | offset | field | written by |
//! |---|---|---|
//! | 0 | `magic`, `version`, `pid`, `start_time` | agent, once; the last two at each checkpoint and restore |
//! | 24 | `request`, `controller_pid`, `controller_start`, `socket` | controller; `request` last |
//! | 104 | `gate_request`, `verdict` | plugin (`verdict` also controller), which names in `socket` who fills memory on demand |
//! | 112 | `phase`, `attempts`, `hand_over`, `hand_over_len` | agent; `phase` last |
//! | 136 | times and counters | agent |
//! | 224 | how far it is in the phase | agent |
//! | 256 | `reason_len`, `reason` | agent, before `phase` becomes `Refused` |
//! | 1288 | the last checkpoint that was complete | agent |

use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// The name of the agent's threads that have descriptors of their own: none is there at a cut.
pub const FILES_THREAD: &str = "strobe-files";
/// Exported by `libstrobe.so`: a u64, 0 or the address of the page.
pub const PAGE_SYMBOL: &str = "strobe_agent_page";
/// Bytes of the page.
pub const PAGE_BYTES: usize = 4096;
/// "STROBE\x01\0", little-endian.
pub const MAGIC: u64 = u64::from_le_bytes(*b"STROBE\x01\0");
/// Of this layout.
pub const VERSION: u32 = 6;
/// Why an agent refuses that was told that there will be no dump. Who told it knows the cause.
pub const NO_DUMP: &str = "the dump did not begin";
/// Why one refuses whose process has begun to end.
pub const EXITING: &str = "the program is exiting";

/// What the agent is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Phase {
    /// No checkpoint under way.
    Idle = 0,
    /// Connected to the controller, preparing.
    Preparing = 1,
    /// Prepared, disconnected; waits for `gate_request`.
    Armed = 2,
    /// The gate is closing, or GPU work is drained.
    Closing = 3,
    /// The cut: gate closed, drained, hand-over readable. Waits for `verdict`.
    Cut = 4,
    /// The dump is done; content is being copied.
    Copying = 5,
    /// This checkpoint is refused, `reason` says why. The gate is open again.
    Refused = 6,
    /// The gate is closed, no GPU work is left. Waits for [`Goal::Cut`].
    Drained = 7,
    /// Restored: the gate is open, and memory is still being filled.
    Loading = 8,
}

/// How far the agent is to go, in `gate_request`. Where several processes are saved at once, none takes its
/// cut before the work of all has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Goal {
    /// No further than [`Phase::Armed`].
    Open = 0,
    /// As far as [`Phase::Drained`].
    Drained = 1,
    /// As far as [`Phase::Cut`].
    Cut = 2,
    /// From [`Phase::Drained`] once back to [`Phase::Closing`]: each thread that waits at the gate makes one call.
    /// The agent takes it for [`Self::Drained`] then.
    Pass = 3,
}

/// What became of the dump, written into the frozen (or restored) program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Verdict {
    /// Nothing is known yet.
    Pending = 0,
    /// The dump succeeded and the program goes on.
    Dumped = 1,
    /// The dump failed; nothing is delivered.
    Aborted = 2,
    /// This process came out of an image.
    Restored = 3,
    /// So did this one, and its tracked memory is filled on demand by who listens at `socket`.
    RestoredOnDemand = 4,
}

/// The layout. All fields are atomics because other processes write them at any time.
#[derive(Debug)]
#[repr(C, align(4096))]
pub struct AgentPage {
    /// [`MAGIC`].
    pub magic: AtomicU64,
    /// [`VERSION`].
    pub version: AtomicU32,
    /// In the program's pid namespace.
    pub pid: AtomicU32,
    /// As [`crate::start_time`] gives it.
    pub start_time: AtomicU64,
    /// Incremented by the controller when the fields after it are complete.
    pub request: AtomicU32,
    /// Who asks.
    pub controller_pid: AtomicU32,
    /// As [`crate::start_time`] gives it.
    pub controller_start: AtomicU64,
    /// Name of an abstract unix stream socket, NUL padded, without the leading NUL.
    pub socket: [AtomicU8; 64],
    /// A [`Goal`].
    pub gate_request: AtomicU32,
    /// A [`Verdict`].
    pub verdict: AtomicU32,
    /// A [`Phase`].
    pub phase: AtomicU32,
    /// Times the gate has been closed for this checkpoint.
    pub attempts: AtomicU32,
    /// Address and bytes of the encoded [`crate::HandOver`].
    pub hand_over: AtomicU64,
    /// Its bytes.
    pub hand_over_len: AtomicU64,
    /// CLOCK_MONOTONIC, nanoseconds.
    pub gate_closed_ns: AtomicU64,
    /// The same clock: all GPU work had ended.
    pub drained_ns: AtomicU64,
    /// The same clock: the gate was opened again.
    pub opened_ns: AtomicU64,
    /// Traced since the program began.
    pub launches: AtomicU64,
    /// Of those, how many had known writes.
    pub footprints_exact: AtomicU64,
    /// Of those, how many could have written anything.
    pub footprints_conservative: AtomicU64,
    /// Live tracked allocations and their bytes.
    pub allocations: AtomicU64,
    /// Their bytes.
    pub tracked_bytes: AtomicU64,
    /// Checkpoints committed in this process.
    pub checkpoints: AtomicU64,
    /// Bytes of tracked memory that a restore has not filled yet.
    pub unloaded_bytes: AtomicU64,
    /// The agent's thread that takes up what this page asks for, in the program's pid namespace.
    pub control_thread: AtomicU64,
    /// When `phase` was entered, on the clock of the others; 0 in older agents.
    pub phase_since_ns: AtomicU64,
    /// When the copying that is under way began; 0 where none is.
    pub copy_began_ns: AtomicU64,
    /// Bytes that it is to copy, and those that have arrived.
    pub copy_bytes: AtomicU64,
    /// See `copy_bytes`.
    pub copied_bytes: AtomicU64,
    /// Bytes of `reason`.
    pub reason_len: AtomicU32,
    /// Zero.
    pub reserved2: AtomicU32,
    /// UTF-8: why the checkpoint was refused.
    pub reason: [AtomicU8; 1024],
    /// Of the last checkpoint that was complete: nanoseconds for which the program was held back.
    pub last_stall_ns: AtomicU64,
    /// When that was, in nanoseconds since 1970.
    pub last_unix_ns: AtomicU64,
    /// Bytes of `last_directory`.
    pub last_directory_len: AtomicU32,
    /// Zero.
    pub reserved3: AtomicU32,
    /// Where it is; a longer path is cut.
    pub last_directory: [AtomicU8; 1024],
}

impl Phase {
    /// The phase a word stands for, if any.
    pub fn from_word(word: u32) -> Option<Self> {
        use Phase::*;
        [
            Idle, Preparing, Armed, Closing, Cut, Copying, Refused, Drained, Loading,
        ]
        .into_iter()
        .find(|&p| p as u32 == word)
    }
}

impl Goal {
    /// The goal a word stands for; a word that is none opens the gate.
    pub fn from_word(word: u32) -> Self {
        use Goal::*;
        [Drained, Cut, Pass]
            .into_iter()
            .find(|&goal| goal as u32 == word)
            .unwrap_or(Open)
    }
}

impl Verdict {
    /// The verdict a word stands for, if any.
    pub fn from_word(word: u32) -> Option<Self> {
        use Verdict::*;
        [Pending, Dumped, Aborted, Restored, RestoredOnDemand]
            .into_iter()
            .find(|&v| v as u32 == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::{offset_of, size_of};

    #[test]
    fn layout_is_as_documented() {
        assert_eq!(size_of::<AgentPage>(), PAGE_BYTES);
        assert_eq!(offset_of!(AgentPage, request), 24);
        assert_eq!(offset_of!(AgentPage, gate_request), 104);
        assert_eq!(offset_of!(AgentPage, phase), 112);
        assert_eq!(offset_of!(AgentPage, gate_closed_ns), 136);
        assert_eq!(offset_of!(AgentPage, control_thread), 216);
        assert_eq!(offset_of!(AgentPage, phase_since_ns), 224);
        assert_eq!(offset_of!(AgentPage, reason_len), 256);
        assert_eq!(offset_of!(AgentPage, last_stall_ns), 1288);
    }
}
