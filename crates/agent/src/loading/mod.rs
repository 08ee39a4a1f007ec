//! A restored program runs before all its memory is back.
//!
//! Who fills it, a process outside, tells this one what has arrived. Until all has, every call first waits for what it may
//! read or write ([`memory`]), and the CPU finds mapped device memory protected ([`guard`]).
//!
//! Nothing is computed on memory that is away: where it cannot be filled, who fills it is gone, or our own code fails, the
//! program is ended, and says why.

pub(crate) mod guard;
pub(crate) mod memory;

use crate::agent::{Agent, existing};
use crate::fault;
use crate::loading::guard::Guard;
use crate::loading::memory::{EVERYTHING, Memory};
use crate::wire::connection::Connection;
use crate::wire::page::{self, refuse, set_phase};
use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;
use strobe_extent::{Access, ChunkIndex, ChunkMap, Extent};
use strobe_proto::page::Phase;
use strobe_proto::{Unloaded, to_agent};

/// Between two looks at what others want of this thread.
const LOOK_AGAIN: Duration = Duration::from_millis(2);
/// How long whoever watches may take to read why the program ends.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// Regions and bytes of a chunk, at the most.
const MOST_REGIONS: usize = 1 << 20;
const MOST_CHUNK_BYTES: u64 = 256 << 20;

/// The calling thread is about to do something that nobody knows: waits for all memory that a restore has yet to fill.
pub fn before_anything() {
    if page::state() == page::State::Live
        && let Some(agent) = existing()
        && agent.device.course.attends()
    {
        fault::guarded(|| agent.device.course.before_touch(&EVERYTHING));
    }
}

/// The gate is closed, and the GPU at rest, which touches this when it goes on. Connects to who fills the memory, and says so
/// when the CPU finds that protected: until then no other thread runs. Then gives back what the checkpoint had by
/// `let_go`, has the program `go_on` as soon as it may, and returns when all is there.
pub(crate) fn run(
    agent: &'static Agent,
    touches: &Access,
    let_go: impl FnOnce(),
    go_on: impl FnOnce(),
) {
    fault::must_not_fail(true);
    if let Err(error) = load(agent, touches, let_go, go_on) {
        end_program(agent, &error.to_string());
    }
    fault::must_not_fail(false);
}

fn load(
    agent: &'static Agent,
    touches: &Access,
    let_go: impl FnOnce(),
    go_on: impl FnOnce(),
) -> io::Result<()> {
    let mut connection = Connection::open_to(agent.page)?;
    let to_agent::Body::Unloaded(unloaded) = connection.receive()? else {
        return Err(nonsense());
    };
    let map = chunks(&unloaded)?;
    let guard = Guard::begin(&map)?;
    let mut memory = Memory::new(map, connection.sender());
    note_left(agent, memory.left_bytes());
    set_phase(agent.page, Phase::Loading);
    let_go();
    let needed = memory.need(touches);
    agent.device.course.load(&agent.trace, memory);
    let mut go_on = Some(go_on);
    loop {
        if agent.device.course.has_arrived(&needed)
            && let Some(go_on) = go_on.take()
        {
            go_on();
        }
        if guard.is_awaited() {
            agent.device.course.want_all();
        }
        match connection.receive_within(LOOK_AGAIN)? {
            None => {}
            Some(to_agent::Body::Arrived(arrived)) => {
                let mut left = 0;
                for chunk in arrived.chunks {
                    let (extent, now_left) = agent.device.course.arrived(ChunkIndex(chunk))?;
                    guard.arrived(extent)?;
                    left = now_left;
                }
                note_left(agent, left);
                agent.device.course.notify();
                if left == 0 {
                    break;
                }
            }
            Some(to_agent::Body::Abandon(abandon)) => return Err(io::Error::other(abandon.reason)),
            Some(_) => return Err(nonsense()),
        }
    }
    guard.end();
    if let Some(go_on) = go_on {
        go_on();
    }
    agent.device.course.record(&agent.trace);
    Ok(())
}

fn chunks(unloaded: &Unloaded) -> io::Result<ChunkMap> {
    if unloaded.regions.len() > MOST_REGIONS || unloaded.chunk_bytes > MOST_CHUNK_BYTES {
        return Err(nonsense());
    }
    let regions = unloaded.regions.iter().copied().map(Extent::try_from);
    let regions: Vec<Extent> = regions.collect::<Result<_, _>>().map_err(|_| nonsense())?;
    ChunkMap::new(regions, unloaded.chunk_bytes).map_err(|_| nonsense())
}

fn nonsense() -> io::Error {
    io::Error::other("who fills it says something unknown")
}

fn note_left(agent: &Agent, bytes: u64) {
    agent.page.unloaded_bytes.store(bytes, Ordering::Release);
}

/// Memory is away for good. Calls wait until the end.
fn end_program(agent: &Agent, why: &str) -> ! {
    let sentence =
        format!("the program's memory cannot all be loaded: {why}; the program is ended");
    refuse(agent.page, &sentence);
    fault::say(&format!("strobe: {sentence}\n"));
    std::thread::sleep(LAST_WORDS);
    fault::kill_program()
}
