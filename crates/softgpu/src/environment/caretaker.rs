//! What a driver does for processes that have ended, or were frozen by one that has, where no other process can see
//! that.
//!
//! The driver is a part of each process, and frees what another has left when it needs room ([`reap`]). It cannot tell
//! of a process in a PID namespace that is hidden from it, such as another container's, whether that lives. Outside of
//! them all somebody can.
//!
//! [`reap`]: crate::driver::reap

use crate::device::{Device, ProcessId};
use crate::driver::reap_those;

/// Frees what hidden processes have left.
pub(super) struct Caretaker {
    device: &'static Device,
    /// Those that lived when they were looked at, by the numbers that they have here.
    alive: Vec<(ProcessId, u32)>,
}

impl Caretaker {
    pub(super) fn new(device: &'static Device) -> Self {
        Self {
            device,
            alive: Vec::new(),
        }
    }

    /// Looks at all of them once.
    pub(super) fn look(&mut self) {
        for live in &self.device.state().live {
            live.thaw_if_forgotten(true);
        }
        // Whoever has been stopped with the lock in its hands goes on some day.
        let Ok(tables) = self.device.state().lock_seeing_all() else {
            return;
        };
        let processes = tables.processes.iter().map(|process| process.id);
        let files = tables.render_files.iter().map(|file| file.id);
        let mut hidden: Vec<_> = processes.chain(files).collect();
        drop(tables);
        hidden.retain(|id| !id.is_nobody() && !id.is_of_our_namespace());
        self.alive
            .retain(|(id, pid)| hidden.contains(id) && !id.has_ended(*pid));
        let mut dead = Vec::new();
        for id in hidden {
            if dead.contains(&id) || self.alive.iter().any(|(known, _)| *known == id) {
                continue;
            }
            match id.seen_as() {
                Ok(Some(pid)) => self.alive.push((id, pid)),
                Ok(None) => dead.push(id),
                // Nobody can say.
                Err(_) => {}
            }
        }
        if dead.is_empty() {
            return;
        }
        if let Ok(mut tables) = self.device.state().lock_seeing_all() {
            reap_those(self.device, &mut tables, |id| dead.contains(id));
        }
    }
}
