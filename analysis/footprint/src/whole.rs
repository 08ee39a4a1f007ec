//! All lanes switched on for a while: how functions save and restore registers whose lanes keep scalars.
//!
//! `s_or_saveexec_b64 s, -1`, some instructions, and EXEC is what it was. In between any lane may be active,
//! so the active lane is one of all. Afterwards it is one of those before again: what was not changed
//! in between is what it was for them.

use std::rc::Rc;

use crate::state::{Parked, State, Widened};
use crate::walk::Walk;

impl Walk<'_> {
    /// All lanes are active now; before, those of a snapshot were.
    pub(crate) fn made_all_active(&self, state: &mut State, snapshot: u32) {
        state.whole = Some(state.exec);
        state.widened = Some(Rc::new(Widened {
            snapshot,
            vectors: Rc::clone(&state.vectors),
            scratch: Rc::clone(&state.scratch),
        }));
    }

    /// EXEC becomes that of a snapshot; `false` if it was not the last before all lanes were switched on.
    pub(crate) fn narrow_again(&mut self, state: &mut State, snapshot: u32) -> bool {
        let widened = state.widened.take();
        let Some(widened) = widened.filter(|w| w.snapshot == snapshot && state.is_whole()) else {
            return false;
        };
        // The other lanes have done what was done in between, too.
        let whole = self.snapshot(state);
        let before = self.snapshots[snapshot as usize].clone();
        self.charge(self.vectors / 8);
        let mut vectors = (*before.vectors).clone();
        let mut scratch = (*before.scratch).clone();
        if !before.idle {
            for (register, value) in vectors.iter_mut().enumerate() {
                let now = state.vectors[register];
                if now != widened.vectors[register] {
                    *value = now;
                }
            }
            // What was not known to all in between may have changed unseen.
            scratch.retain(|slot, _| {
                state.scratch.contains_key(slot) && widened.scratch.contains_key(slot)
            });
            for (slot, &now) in state.scratch.iter() {
                if widened.scratch.get(slot) != Some(&now) {
                    scratch.insert(*slot, now);
                }
            }
        }
        state.vectors = Rc::new(vectors);
        state.scratch = Rc::new(scratch);
        state.facts = before.facts;
        state.idle = before.idle;
        state.occupied = before.occupied;
        state.all_active = before.all_active;
        state.exec = before.exec;
        state.bound = Some(snapshot);
        state.epoch = self.epochs.unrelated(state.bound);
        state.parked = self.parked.push(before.parked, Parked::Snapshot(whole));
        true
    }
}
