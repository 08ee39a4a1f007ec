//! What is kept of a walk: where the kernel touches memory, and what leads there.

use serde::Deserialize;

use crate::expr::{Arena, BOTTOM, FactId, Id};
use crate::facts::{Facts, NOTHING};
use crate::indexed::Indexed;
use crate::merge::Merges;
use crate::reachable::reachable;
use crate::site::{Load, Site, Store};
use crate::walk::Walk;

/// Of one access.
const MOST_BYTES: u32 = 64;

#[derive(Debug, Deserialize)]
pub(crate) struct Walked {
    pub(crate) arena: Arena,
    pub(crate) facts: Facts,
    pub(crate) merges: Merges,
    pub(crate) loads: Vec<Load>,
    /// Each once, in some order.
    pub(crate) sites: Vec<Site>,
    /// Where the instructions of the sites stand: index of the site, address; in that order.
    pub(crate) places: Vec<(u32, u64)>,
    /// Stores of what may be pointers, by site.
    pub(crate) stores: Vec<Store>,
}

impl Walked {
    /// With the accesses of scratch that the walk has noted.
    pub(crate) fn of(walk: Walk<'_>) -> (Self, Vec<Indexed>) {
        let Walk {
            arena,
            facts,
            merges,
            loads,
            mut visits,
            mut indexed,
            ..
        } = walk;
        let key = |s: &Site| (s.address, s.facts.0, s.bytes, s.reads, s.writes, s.scalar);
        visits.sort_unstable_by_key(|visit| (key(&visit.site), visit.pc, visit.words));
        visits.dedup();
        let mut sites: Vec<Site> = Vec::new();
        let mut places = Vec::with_capacity(visits.len());
        let mut stores: Vec<Store> = Vec::new();
        for visits in visits.chunk_by(|a, b| key(&a.site) == key(&b.site)) {
            let site = sites.len() as u32;
            sites.push(visits[0].site);
            places.extend(visits.iter().map(|visit| (site, visit.pc)));
            let words: Option<Vec<[Id; 2]>> = visits.iter().map(|visit| visit.words).collect();
            let words = words.into_iter().flatten();
            stores.extend(words.map(|words| Store { site, words }));
        }
        places.dedup();
        let touched = sites.iter().map(|site| (site.address, site.facts));
        let stored = stores.iter().flat_map(|store| store.words);
        let accessed = indexed.iter().map(|access| (access.offset, access.facts));
        let roots = touched
            .chain(stored.map(|word| (word, NOTHING)))
            .chain(accessed);
        let live = reachable(&arena, &facts, &merges, &loads, roots);
        for site in &mut sites {
            (site.address, site.facts) = (live.node(site.address), live.fact(site.facts));
        }
        for store in &mut stores {
            store.words = store.words.map(|word| live.node(word));
        }
        for access in &mut indexed {
            (access.offset, access.facts) = (live.node(access.offset), live.fact(access.facts));
        }
        let loads = live.loads.kept().map(|load| {
            let load = loads[load as usize];
            Load {
                address: live.node(load.address),
                facts: live.fact(load.facts),
                ..load
            }
        });
        let walked = Self {
            loads: loads.collect(),
            arena: arena.keep(&live),
            facts: facts.keep(&live),
            merges: merges.keep(&live),
            sites,
            places,
            stores,
        };
        (walked, indexed)
    }

    /// What was written down, if some walk may have left it: evaluation of it ends, and is within bounds.
    pub(crate) fn checked(mut self) -> Option<Self> {
        (self.arena.derive_depths() && self.is_sound()).then_some(self)
    }

    fn is_sound(&self) -> bool {
        let is_place = |id: Id, chain: FactId| self.arena.is_of(id, 64) && self.facts.has(chain);
        let is_load =
            |load: &Load| is_place(load.address, load.facts) && [1, 2, 4].contains(&load.bytes);
        let is_site = |site: &Site| is_place(site.address, site.facts) && site.bytes <= MOST_BYTES;
        let has_site = |site: u32| (site as usize) < self.sites.len();
        let is_store = |store: &Store| {
            let mut words = store.words.iter();
            has_site(store.site) && words.all(|id| *id == BOTTOM || self.arena.is_of(*id, 64))
        };
        self.arena.is_sound(&self.facts, &self.merges, &self.loads)
            && self.facts.are_sound(&self.arena)
            && self.merges.are_sound(&self.arena, &self.facts)
            && self.loads.iter().all(is_load)
            && self.sites.iter().all(is_site)
            && self.places.iter().all(|(site, _)| has_site(*site))
            && self.places.is_sorted()
            && self.stores.iter().all(is_store)
            && self.stores.is_sorted_by_key(|store| store.site)
    }
}
