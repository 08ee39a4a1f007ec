//! What a launch leaves in memory, where that are pointers.
//!
//! Tables of pointers that kernels follow are mostly made by other kernels: `table[i] = base + i * stride`.
//! Of a store of whole 64-bit words whose values can be computed the plan keeps what they are, if it is
//! certain who does it ([`crate::certain`]). At a launch all work-items are gone through, and what each of
//! them stores where is put together.
//!
//! Nobody knows in which order items store. So a place is left out where two of them leave different words, and
//! where any other store of the kernel may reach; and where a kernel writes what its own loads
//! have brought, nothing is known.

use strobe_extent::{Access, Extent, Side};

use crate::broken::Rule;
use crate::evaluate::Evaluation;
use crate::expr::{BOTTOM, Node};
use crate::items::{self, Items};
use crate::launch::{Launch, LaunchMemory};
use crate::plan::Plan;
use crate::site::Store;
use crate::unseen::Unseen;
use crate::value::Origin;

/// Work-items of a launch that is gone through.
const MAX_ITEMS: u64 = 1 << 14;
/// Items at once.
const AT_ONCE: usize = 1024;
/// Words that are computed for one launch: about a millisecond.
const MAX_STEPS: usize = 1 << 18;

/// Pointers that a launch leaves in device memory: one run of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPointers {
    /// The address of the first.
    pub start: u64,
    /// As it stands in memory.
    pub content: Vec<u8>,
}

/// A word that an item has stored, and whether it is the only one there.
#[derive(Clone, Copy, Debug)]
struct Stored {
    at: u64,
    word: u64,
    alone: bool,
}

const BYTES: u64 = 8;

/// Whether a half of a stored word is worth keeping the word for.
pub(crate) fn may_be_pointer(half: Node) -> bool {
    !matches!(
        half,
        Node::Bottom | Node::Phi(_) | Node::Lane(..) | Node::Opaque(..)
    )
}

/// What a launch stores.
pub(crate) fn stored(
    plan: &Plan,
    unseen: &[Unseen],
    launch: &Launch<'_>,
    memory: &dyn LaunchMemory,
) -> Vec<StoredPointers> {
    let mut evaluation = Evaluation::new(plan, launch, memory);
    let mut steps = MAX_STEPS;
    let mut all = Vec::new();
    let mut known: Vec<u32> = Vec::new();
    for stores in plan.stores.chunk_by(|a, b| a.site == b.site) {
        // A site is gone through as a whole or not at all.
        let words = stores
            .iter()
            .map(|store| evaluation.of_store(store, &mut steps));
        if let Some(words) = words.collect::<Option<Vec<_>>>() {
            all.extend(words.into_iter().flatten());
            known.push(stores[0].site);
        }
    }
    if all.is_empty() {
        return Vec::new();
    }
    let Some(others) = evaluation.written_besides(&known, unseen) else {
        return Vec::new();
    };
    put_together(&mut all);
    let mut written = others.clone();
    for run in runs(&all) {
        if let Ok(extent) = Extent::with_len(run.start, run.content.len() as u64) {
            written.insert(extent);
        }
    }
    let consulted = &evaluation.consulted;
    if consulted.iter().any(|table| written.overlaps(*table)) {
        return Vec::new();
    }
    let is_shared = |stored: &Stored| {
        let extent = Extent::with_len(stored.at, BYTES);
        !others.is_none() && extent.map_or(true, |extent| others.overlaps(extent))
    };
    if !Rule::PlacesAreShared.is_broken() {
        all.retain(|stored| stored.alone && !is_shared(stored));
    }
    runs(&all)
}

impl Evaluation<'_> {
    /// The words that a store leaves. `None` if that is not known, or if they are no pointers.
    fn of_store(&mut self, store: &Store, steps: &mut usize) -> Option<Vec<Stored>> {
        let site = self.plan.sites[store.site as usize];
        let mut all: Vec<Stored> = Vec::new();
        // The allocation that the last word was stored in: the next one mostly is, too.
        let mut around = None;
        let mut left = items::all(self.launch, MAX_ITEMS)?.peekable();
        while left.peek().is_some() {
            let some = left.by_ref().take(AT_ONCE).collect();
            let from = all.len();
            let mut items = Items::new(self, some, steps);
            items.keep(site.facts)?;
            if items.count() == 0 {
                continue;
            }
            let count = items.count();
            let address = items.of(site.address)?;
            let words = store.words.iter().filter(|word| **word != BOTTOM);
            for (word, number) in words.zip(0..) {
                let column = items.of(*word)?;
                all.extend((0..count).map(|item| Stored {
                    at: address.at(item).wrapping_add(number * BYTES),
                    word: column.at(item),
                    alone: true,
                }));
            }
            let new = &all[from..];
            if !new
                .iter()
                .all(|stored| self.is_inside(stored.at, &mut around))
            {
                return None;
            }
            if from == 0 && !new.iter().any(|stored| self.is_pointer(stored.word)) {
                return None;
            }
        }
        Some(all)
    }

    /// Whether a word lies in an allocation: `around`, or which that is from then on.
    fn is_inside(&self, at: u64, around: &mut Option<Extent>) -> bool {
        let Ok(extent) = Extent::with_len(at, BYTES) else {
            return false;
        };
        let has_it = |around: &Option<Extent>| around.is_some_and(|around| around.contains(extent));
        if !has_it(around) {
            *around = self.memory.allocation(at);
        }
        at.is_multiple_of(4) && has_it(around)
    }

    fn is_pointer(&self, word: u64) -> bool {
        word >= 4096 && self.memory.allocation(word).is_some()
    }

    /// What the other sites may write; `None` if that may be anything.
    fn written_besides(&mut self, known: &[u32], unseen: &[Unseen]) -> Option<Side> {
        let plan = self.plan;
        let mut access = Access::none();
        for (site, index) in plan.sites.iter().zip(0..) {
            if site.writes && known.binary_search(&index).is_err() && self.possible(site.facts) {
                self.site(site, &mut access);
            }
        }
        for argument in unseen.iter().filter(|unseen| unseen.writes) {
            if let Origin::Base(base) = self.argument(argument.offset).origin {
                let all = self.bases[base as usize].all();
                all.for_each(|extent| access.writes.insert(extent));
            }
        }
        (!access.writes.is_unknown()).then_some(access.writes)
    }
}

/// Sorts by address, each once, and marks those that are not the only ones in their place.
fn put_together(all: &mut Vec<Stored>) {
    all.sort_unstable_by_key(|stored| stored.at);
    all.dedup_by(|next, kept| {
        let same = next.at == kept.at;
        kept.alone &= !same || next.word == kept.word;
        same
    });
    for at in 1..all.len() {
        if all[at].at - all[at - 1].at < BYTES {
            all[at].alone = false;
            all[at - 1].alone = false;
        }
    }
}

/// Neighbours make one run.
fn runs(all: &[Stored]) -> Vec<StoredPointers> {
    let mut runs: Vec<StoredPointers> = Vec::new();
    for stored in all {
        let word = stored.word.to_le_bytes();
        match runs.last_mut() {
            Some(run) if run.start + run.content.len() as u64 == stored.at => {
                run.content.extend(word);
            }
            _ => runs.push(StoredPointers {
                start: stored.at,
                content: word.to_vec(),
            }),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(stores: &[(u64, u64)]) -> Vec<(u64, usize)> {
        let mut all: Vec<Stored> = stores
            .iter()
            .map(|&(at, word)| Stored {
                at,
                word,
                alone: true,
            })
            .collect();
        put_together(&mut all);
        all.retain(|stored| stored.alone);
        let runs = runs(&all);
        let places = runs.iter().map(|run| (run.start, run.content.len()));
        places.collect()
    }

    #[test]
    fn neighbours_make_one_run() {
        let stores = [(0x1010, 3), (0x1000, 1), (0x1020, 5), (0x1008, 2)];
        assert_eq!(left(&stores), [(0x1000, 24), (0x1020, 8)]);
    }

    #[test]
    fn where_two_store_nothing_is_known_unless_they_agree() {
        assert_eq!(left(&[(0x1000, 1), (0x1000, 1)]), [(0x1000, 8)]);
        assert_eq!(left(&[(0x1000, 1), (0x1000, 2), (0x1000, 1)]), []);
        let torn = [(0x1000, 1), (0x1004, 1), (0x1008, 1), (0x1010, 1)];
        assert_eq!(left(&torn), [(0x1010, 8)]);
    }
}
