//! Everything that evaluation needs.

use std::ops::Range;
use std::sync::OnceLock;

use serde::Serialize;
use strobe_code_object::{Arg, ArgKind, CodeObject, Kernel, SymbolKind};

use crate::computed::Computed;
use crate::expr::{Arena, BOTTOM, Binary, Id, Map, Node, Symbolic};
use crate::facts::Facts;
use crate::launch::Launch;
use crate::limits::AnalysisLimits;
use crate::merge::Merges;
use crate::site::{Load, Site, Store};
use crate::sums::Sums;
use crate::triangles::{self, Triangle};
use crate::walked::Walked;

/// Marks keys of 64-bit phis.
pub(crate) const WIDE: u64 = 1 << 63;

/// The key of the 64-bit phi that two phis make.
pub(crate) fn wide_key(low: u32, high: u32) -> u64 {
    WIDE | u64::from(low) << 32 | u64::from(high)
}

/// The key of a node, if it is a phi.
pub(crate) fn phi_key(node: Node) -> Option<u64> {
    match node {
        Node::Phi(phi) => Some(u64::from(phi)),
        Node::Phi64(low, high) => Some(wide_key(low, high)),
        _ => None,
    }
}

#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) arena: Arena,
    pub(crate) facts: Facts,
    pub(crate) merges: Merges,
    pub(crate) loads: Vec<Load>,
    pub(crate) sites: Vec<Site>,
    pub(crate) sums: Sums,
    pub(crate) triangles: Map<Id, Triangle>,
    /// Where the instructions of the sites stand: index of the site, address; in that order.
    places: Vec<(u32, u64)>,
    /// Stores of what may be pointers, by site.
    pub(crate) stores: Vec<Store>,
    pub(crate) kernarg_size: u32,
    pub(crate) args: Vec<Arg>,
    pub(crate) table: usize,
    /// Something goes through pointers of the runtime: [`crate::host_calls`].
    pub(crate) host_calls: bool,
    /// All that is loaded of the code object, from its first address to its last.
    pub(crate) image: Range<u64>,
    /// Names of the module data that addresses point to, by image address.
    symbols: Map<u64, String>,
    /// Phis of loops and their next values, in the order of the loop's point and the node.
    counters: OnceLock<Vec<(u32, Id, Counter)>>,
}

/// A phi of a loop, as a condition may compare it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counter {
    pub(crate) key: u64,
    /// It is the phi's next value.
    pub(crate) after: bool,
    /// What is added to the phi, in words that wrap. Nothing to a next value.
    pub(crate) plus: i64,
}

impl Plan {
    pub(crate) fn new(
        walked: Walked,
        object: &CodeObject,
        kernel: &Kernel,
        limits: &AnalysisLimits,
    ) -> Self {
        let Walked {
            arena,
            facts,
            merges,
            loads,
            sites,
            places,
            stores,
        } = walked;
        let names = (0..arena.len()).filter_map(|index| match arena.node(Id(index as u32)) {
            Node::Image(address) => {
                let symbol = object.symbol_at(address)?;
                (symbol.kind != SymbolKind::Function).then(|| (address, symbol.name.clone()))
            }
            _ => None,
        });
        let symbols = names.collect();
        let host_calls = (0..arena.len()).any(|index| {
            let node = arena.node(Id(index as u32));
            matches!(node, Node::Symbol(Symbolic::HostCalls(_)))
        });
        let loaded = object.segments.iter();
        let image = loaded.map(|segment| segment.addresses.clone());
        let image = image.reduce(|all, one| all.start..all.end.max(one.end));
        let mut plan = Self {
            sums: Sums::new(&arena, &loads),
            triangles: triangles::find(&arena),
            image: image.unwrap_or_default(),
            host_calls,
            symbols,
            arena,
            facts,
            merges,
            loads,
            sites,
            places,
            stores: Vec::new(),
            kernarg_size: kernel.kernarg_size,
            args: kernel.args.clone(),
            table: limits.table,
            counters: OnceLock::new(),
        };
        plan.keep_stores(stores);
        plan
    }

    /// What it was made of, in the order of [`Walked`].
    pub(crate) fn walked(&self) -> impl Serialize + '_ {
        (
            &self.arena,
            &self.facts,
            &self.merges,
            &self.loads,
            &self.sites,
            &self.places,
            &self.stores,
        )
    }

    /// Keeps those whose words can be computed for each work-item of a launch.
    fn keep_stores(&mut self, mut stores: Vec<Store>) {
        let mut computed = Computed::default();
        let mut has = |id: Id| id == BOTTOM || computed.has(self, id);
        let mut unknown: Vec<u32> = Vec::new();
        for store in &stores {
            let site = self.sites[store.site as usize];
            if !(has(site.address) && store.words.into_iter().all(&mut has)) {
                unknown.push(store.site);
            }
        }
        stores.retain(|store| unknown.binary_search(&store.site).is_err());
        self.stores = stores;
    }

    /// The longest table of pointers that is looked at, in bytes.
    pub(crate) fn longest_table(&self) -> u64 {
        8 * self.table as u64
    }

    /// Where the instructions of a site stand, by its index.
    pub(crate) fn places(&self, site: usize) -> impl Iterator<Item = u64> + '_ {
        let first = self
            .places
            .partition_point(|place| (place.0 as usize) < site);
        let of_site = self.places[first..].iter();
        of_site
            .take_while(move |place| place.0 as usize == site)
            .map(|place| place.1)
    }

    /// Whether the node is the phi of this key.
    pub(crate) fn is_phi(&self, id: Id, key: u64) -> bool {
        phi_key(self.arena.node(id)) == Some(key)
    }

    fn find_counters(&self) -> Vec<(u32, Id, Counter)> {
        let mut found: Vec<(u32, Id, Counter)> = Vec::new();
        for index in 0..self.arena.len() {
            let id = Id(index as u32);
            let (phi, key, inputs) = match self.arena.node(id) {
                Node::Phi(phi) => (phi, u64::from(phi), Some(self.merges.inputs(phi))),
                Node::Phi64(low, high) => {
                    let later = self.merges.later(low, high);
                    (
                        later,
                        wide_key(low, high),
                        self.merges.wide.get(&(low, high)).map(Vec::as_slice),
                    )
                }
                _ => continue,
            };
            let point = self.merges.phis[phi as usize].point;
            let head = &self.merges.points[point as usize];
            if !head.is_loop() {
                continue;
            }
            let counter = |after| Counter {
                key,
                after,
                plus: 0,
            };
            found.push((point, id, counter(false)));
            for (&input, way) in inputs.into_iter().flatten().zip(&head.ways) {
                if way.back && input != BOTTOM {
                    found.push((point, input, counter(true)));
                }
            }
        }
        found.sort_by_key(|&(point, id, _)| (point, id));
        found
    }

    /// The phis of the loop at `point` that the node is, is the next value of, or is a constant away from.
    pub(crate) fn counters(&self, point: u32, id: Id) -> impl Iterator<Item = Counter> + '_ {
        let (phi, plus) = match self.arena.node(id) {
            Node::Binary(Binary::Add, phi, plus) => {
                let plus = self.arena.as_const(plus);
                (phi, plus.map(|plus| i64::from(plus.cast_signed())))
            }
            Node::Add64(phi, plus) => (phi, self.arena.as_const64(plus).map(u64::cast_signed)),
            _ => (id, None),
        };
        let away = plus.into_iter().flat_map(move |plus| {
            let phis = self.counters_at(point, phi);
            phis.filter(|counter| !counter.after)
                .map(move |counter| Counter { plus, ..counter })
        });
        self.counters_at(point, id).chain(away)
    }

    fn counters_at(&self, point: u32, id: Id) -> impl Iterator<Item = Counter> + '_ {
        let counters = self.counters.get_or_init(|| self.find_counters());
        let first = counters.partition_point(|&(at, of, _)| (at, of) < (point, id));
        let same = counters[first..].iter();
        same.take_while(move |&&(at, of, _)| (at, of) == (point, id))
            .map(|&(.., counter)| counter)
    }

    /// The name of the module data at an image address.
    pub(crate) fn symbol(&self, address: u64) -> String {
        self.symbols
            .get(&address)
            .cloned()
            .unwrap_or_else(|| format!("{address:#x}"))
    }

    fn arg_at(&self, offset: u32) -> Option<&Arg> {
        let after = self.args.partition_point(|arg| arg.offset <= offset);
        let arg = &self.args[after.checked_sub(1)?];
        (offset - arg.offset < arg.size).then_some(arg)
    }

    /// Whether the runtime fills in this byte of the kernarg segment.
    pub(crate) fn is_hidden(&self, offset: u32) -> bool {
        self.arg_at(offset).is_some_and(|arg| arg.kind.is_hidden())
    }

    /// A byte of a hidden argument that follows from the launch. `None`: it belongs to a pointer of
    /// the runtime.
    pub(crate) fn hidden_byte(&self, offset: u32, launch: &Launch<'_>) -> Option<u8> {
        let Some(arg) = self.arg_at(offset) else {
            return Some(0);
        };
        let of = |values: [u32; 3], dimension: u8| values[usize::from(dimension % 3)];
        let value = match arg.kind {
            // HIP has no global offset.
            ArgKind::HiddenGlobalOffset(_) | ArgKind::HiddenNone => 0,
            ArgKind::HiddenBlockCount(d) => of(launch.grid, d) / of(launch.block, d).max(1),
            ArgKind::HiddenGroupSize(d) => of(launch.block, d),
            ArgKind::HiddenRemainder(d) => of(launch.grid, d) % of(launch.block, d).max(1),
            ArgKind::HiddenDynamicLdsSize => launch.dynamic_lds,
            _ => return None,
        };
        let byte = (offset - arg.offset) as usize;
        Some(value.to_le_bytes().get(byte).copied().unwrap_or(0))
    }

    /// The hidden argument of a byte, if it is one.
    pub(crate) fn hidden_kind(&self, offset: u32) -> Option<ArgKind> {
        self.arg_at(offset)
            .map(|arg| arg.kind)
            .filter(|kind| kind.is_hidden())
    }
}
