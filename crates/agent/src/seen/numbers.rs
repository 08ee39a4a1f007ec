//! Numbers in place of handles.

use std::collections::HashMap;
use std::hash::Hash;

/// Numbers from 1 on for handles that HIP uses again.
#[derive(Debug)]
pub(crate) struct Numbers<H> {
    pub(crate) live: HashMap<H, u64>,
    given: u64,
}

impl<H> Default for Numbers<H> {
    fn default() -> Numbers<H> {
        Numbers {
            live: HashMap::new(),
            given: 0,
        }
    }
}

impl<H: Eq + Hash> Numbers<H> {
    pub(crate) fn of(&mut self, handle: H) -> u64 {
        *self.live.entry(handle).or_insert_with(|| {
            self.given += 1;
            self.given
        })
    }
}
