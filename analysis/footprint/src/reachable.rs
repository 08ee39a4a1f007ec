//! What of a walk evaluation can get to.
//!
//! A walk follows every register, and most of what is in them leads to no address: of ten expressions that it makes, one or
//! two are asked for at a launch. Only those are kept. All about them but their numbers stays as it was, so what they are
//! evaluated to is the same.

use crate::expr::{Arena, FactId, Id, Node, children};
use crate::facts::{Facts, NOTHING};
use crate::live::{Counts, Live};
use crate::merge::Merges;
use crate::site::Load;

/// All that can be got to from some expressions, under some facts.
pub(crate) fn reachable(
    arena: &Arena,
    facts: &Facts,
    merges: &Merges,
    loads: &[Load],
    roots: impl Iterator<Item = (Id, FactId)>,
) -> Live {
    let live = Live::none_of(Counts {
        nodes: arena.len(),
        facts: facts.len(),
        loads: loads.len(),
        phis: merges.phis.len(),
        points: merges.points.len(),
        roots: arena.roots.len(),
    });
    let mut search = Search {
        arena,
        facts,
        merges,
        loads,
        live,
        nodes: Vec::new(),
        chains: vec![NOTHING],
    };
    arena.always().for_each(|id| search.node(id));
    for (id, facts) in roots {
        search.node(id);
        search.chains.push(facts);
    }
    search.run();
    search.live.number();
    search.live
}

struct Search<'a> {
    arena: &'a Arena,
    facts: &'a Facts,
    merges: &'a Merges,
    loads: &'a [Load],
    live: Live,
    /// Those that are kept, and not followed yet.
    nodes: Vec<Id>,
    /// Chains that are to be kept.
    chains: Vec<FactId>,
}

impl Search<'_> {
    fn run(&mut self) {
        loop {
            while let Some(facts) = self.chains.pop() {
                self.chain(facts);
            }
            let Some(id) = self.nodes.pop() else {
                break;
            };
            self.follow(id);
        }
    }

    fn node(&mut self, id: Id) {
        if self.live.nodes.keep(id.0) {
            self.nodes.push(id);
        }
    }

    /// Down to its end, or to what is kept already.
    fn chain(&mut self, mut facts: FactId) {
        while self.live.facts.keep(facts.0) {
            let fact = self.facts.get(facts);
            self.node(fact.condition);
            if let Some(gathered) = self.merges.gathered.get(&fact.condition) {
                self.point(gathered.point);
                self.chains.extend(gathered.ways.iter().flatten().flatten());
            }
            facts = fact.parent;
        }
    }

    /// What holds on all ways to it.
    fn point(&mut self, point: u32) {
        if !self.live.points.keep(point) {
            return;
        }
        let point = &self.merges.points[point as usize];
        self.chains.extend([point.facts, point.wave]);
        let ways = point.ways.iter();
        self.chains
            .extend(ways.flat_map(|way| [way.facts, way.wave]));
    }

    fn load(&mut self, load: u32) {
        if self.live.loads.keep(load) {
            let load = self.loads[load as usize];
            self.node(load.address);
            self.chains.push(load.facts);
        }
    }

    fn phi(&mut self, phi: u32) {
        if self.live.phis.keep(phi) {
            self.node(self.arena.phi(phi));
            self.point(self.merges.phis[phi as usize].point);
            let inputs = self.merges.inputs(phi);
            inputs.iter().for_each(|input| self.node(*input));
        }
    }

    fn root(&mut self, root: u32) {
        if self.live.roots.keep(root) {
            let root = &self.arena.roots[root as usize];
            self.node(root.of);
            for &(whole, low, _) in &root.terms {
                self.node(whole);
                self.node(low);
            }
        }
    }

    fn follow(&mut self, id: Id) {
        let node = self.arena.node(id);
        children(&node)
            .into_iter()
            .flatten()
            .for_each(|child| self.node(child));
        match node {
            Node::Load { load, .. } | Node::Load64 { load, .. } => self.load(load),
            Node::Phi(phi) => self.phi(phi),
            Node::Phi64(low, high) => {
                self.phi(low);
                self.phi(high);
                let inputs = self.merges.wide.get(&(low, high));
                inputs
                    .into_iter()
                    .flatten()
                    .for_each(|input| self.node(*input));
            }
            Node::Lane(_, facts, _) | Node::Lane64(_, facts, ..) => self.chains.push(facts),
            Node::Compare(_, a, b) => {
                let lows = [a, b].map(|whole| self.arena.known_low(whole));
                lows.into_iter().flatten().for_each(|low| self.node(low));
            }
            Node::Root(_, root) => self.root(root),
            _ => {}
        }
    }
}
