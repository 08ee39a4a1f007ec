//! The time model: how long copies take, by sleeping.
//!
//! Each GPU's link to the host is one for all queues and processes, in each direction; inside a device
//! every engine has the device's rate to itself. From one GPU to another a copy takes the link between the
//! two, or, where their peer is reached over PCIe, the links that both have to the host.

use std::cell::Cell;
use std::time::{Duration, SystemTime};

use crate::device::Device;
use crate::options::Interconnect;

/// Where the bytes of a copy go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    Local,
    /// From the memory of a GPU.
    ToHost(usize),
    /// To the memory of a GPU.
    FromHost(usize),
    Peer {
        from: usize,
        to: usize,
    },
}

impl Path {
    /// From the memory of one GPU, or the host's, to that of another, by an engine of `gpu`.
    pub(crate) fn between(from: Option<usize>, to: Option<usize>, gpu: usize) -> Self {
        match (from, to) {
            (Some(from), Some(to)) if from == to => Self::Local,
            (Some(from), Some(to)) => Self::Peer { from, to },
            (None, Some(to)) => Self::FromHost(to),
            (Some(from), None) => Self::ToHost(from),
            (None, None) => Self::ToHost(gpu),
        }
    }
}

/// How much an engine catches up, at the most: more than this is no late wake-up, and no slice of time that somebody else had.
const LATEST_NS: u64 = 20_000_000;
/// An engine that begins with nothing for so long had nothing to do.
const PAUSE_NS: u64 = 200_000;

/// How often a wait looks whether it is to be left.
const LOOK: Duration = Duration::from_millis(2);

/// The engine that a thread plays, after its last copy.
#[derive(Clone, Copy, Debug, Default)]
struct Engine {
    /// How much later that ended than the engine was done with it: the host was slow, or the thread woke late.
    late_ns: u64,
    /// When that was.
    ended_ns: u64,
}

thread_local! {
    /// The engine was done in time, and has begun with the next packet. Of the thread, for it was the thread that was late:
    /// what executes packets is made anew for each turn of a queue, by whoever has a thread for it.
    static ENGINE: Cell<Engine> = const { Cell::new(Engine { late_ns: 0, ended_ns: 0 }) };
}

impl Engine {
    /// How much of its delay it makes up for with what begins now.
    fn catches_up(self, began_ns: u64) -> u64 {
        let goes_on = began_ns <= self.ended_ns.saturating_add(PAUSE_NS);
        if goes_on {
            self.late_ns.min(LATEST_NS)
        } else {
            0
        }
    }
}

/// The time now, as copies begin.
pub(crate) fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// Whether copies take a time that is not the host's.
pub(crate) fn is_limited(device: &Device) -> bool {
    let header = device.header();
    let rates = [
        header.device_bytes_per_s,
        header.link_bytes_per_s,
        header.peer_bytes_per_s,
    ];
    rates.into_iter().any(is_rate)
}

/// Some rates alone may be limited, or none.
fn is_rate(bytes_per_s: u64) -> bool {
    !matches!(bytes_per_s, 0 | u64::MAX)
}

/// Returns when `bytes`, whose copy began at `began_ns`, could have been moved.
pub(crate) fn keep(device: &Device, path: Path, bytes: u64, began_ns: u64) {
    let is_stopped = || false;
    if let Some(due) = due(device, path, bytes, began_ns) {
        until(due, is_stopped);
        ended(device, due);
    }
}

/// When `bytes`, whose copy began at `began_ns`, can have been moved; none: at once. The link is taken until then.
pub(crate) fn due(device: &Device, path: Path, bytes: u64, began_ns: u64) -> Option<u64> {
    let header = device.header();
    let over_pcie = header.links == Interconnect::Pcie as u32;
    let rate = match path {
        Path::Local => header.device_bytes_per_s,
        Path::Peer { .. } if !over_pcie => header.peer_bytes_per_s,
        Path::ToHost(_) | Path::FromHost(_) | Path::Peer { .. } => header.link_bytes_per_s,
    };
    if !is_rate(rate) {
        return None;
    }
    let took = u128::from(bytes) * 1_000_000_000 / u128::from(rate);
    let took = u64::try_from(took).unwrap_or(u64::MAX);
    let caught_up = ENGINE.take().catches_up(began_ns);
    let began = began_ns.saturating_sub(caught_up);
    let links = &device.state().links;
    let due = match path {
        Path::Local => began.saturating_add(took),
        Path::ToHost(gpu) => links.to_host[gpu].reserve(began, took),
        Path::FromHost(gpu) => links.from_host[gpu].reserve(began, took),
        Path::Peer { from, to } if over_pcie => {
            let out = links.to_host[from].reserve(began, took);
            out.max(links.from_host[to].reserve(began, took))
        }
        Path::Peer { from, to } => links.peers[from][to].reserve(began, took),
    };
    device.state().pace.began(took, caught_up);
    Some(due)
}

/// The copy that was due then has ended.
pub(crate) fn ended(device: &Device, due_ns: u64) {
    let ended_ns = now_ns();
    let late_ns = ended_ns.saturating_sub(due_ns);
    device.state().pace.ended(late_ns);
    ENGINE.set(Engine { late_ns, ended_ns });
}

/// Waits until `due_ns`, or `is_stopped`: then how much is left.
pub(crate) fn until(due_ns: u64, is_stopped: impl Fn() -> bool) -> Option<u64> {
    loop {
        let now = now_ns();
        if now >= due_ns {
            return None;
        }
        if is_stopped() {
            return Some(due_ns - now);
        }
        std::thread::sleep(Duration::from_nanos(due_ns - now).min(LOOK));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_that_goes_on_catches_up_and_one_that_had_nothing_to_do_does_not() {
        let engine = Engine {
            late_ns: 3_000_000,
            ended_ns: 10_000_000,
        };
        assert_eq!(engine.catches_up(10_050_000), 3_000_000);
        assert_eq!(engine.catches_up(10_000_000 + PAUSE_NS + 1), 0);
        let asleep = Engine {
            late_ns: 900_000_000,
            ..engine
        };
        assert_eq!(asleep.catches_up(10_050_000), LATEST_NS);
    }
}
