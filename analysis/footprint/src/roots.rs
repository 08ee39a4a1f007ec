//! Where addresses come from, without a launch.

use strobe_code_object::{ArgKind, Kernel};
use strobe_extent::Reason;

use crate::describe;
use crate::expr::{BOTTOM, Binary, Id, Lost, Node, Symbolic};
use crate::extents::REWRITTEN;
use crate::host_calls::Structure;
use crate::plan::Plan;
use crate::site::Site;
use crate::summary::{self, FootprintSummary, Obstacle, SideSummary, Slot};
use crate::touch::Touch;

/// What an address may be based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Root {
    /// The pointer at this byte of the kernarg segment.
    Slot(u32),
    /// Some pointer in the kernarg segment.
    AnySlot,
    /// A pointer in memory that is reached through the pointer at this byte.
    Behind(Option<u32>),
    Image(u64),
    /// Kernel arguments and packet.
    Arguments,
    /// LDS, scratch.
    Own,
    /// Memory of the runtime.
    Runtime,
    /// A word in it.
    RuntimeWord,
    /// Memory of the runtime for calls of the host; whether it is where that begins.
    HostCalls(Structure, bool),
    /// Something lost less a pointer.
    Apart,
    Lost(Why),
}

impl Root {
    /// What keeps an access through it from being exact.
    fn obstacle(self) -> Option<Obstacle> {
        match self {
            Self::Lost(why) => Some(Obstacle::Unknown(why.reason())),
            Self::Apart => Some(Obstacle::Unknown(Why::Arithmetic.reason())),
            Self::Behind(_) => Some(Obstacle::Indirect),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    Arithmetic,
    Lds,
    Scratch,
    Memory,
    /// The kernel writes to its own arguments.
    Rewritten,
}

impl Why {
    fn reason(self) -> Reason {
        match self {
            Self::Arithmetic => Reason::UntrackedAddress,
            Self::Lds => Reason::Other("pointer from local data share"),
            Self::Scratch => Reason::Other("pointer from scratch"),
            Self::Memory => Reason::PointerFromMemory,
            Self::Rewritten => REWRITTEN,
        }
    }
}

/// Sets of roots grow to a fixed point; loops need a few rounds.
const MAX_ROUNDS: usize = 32;

/// A set of roots, one bit each.
type Set = u128;

/// The roots that have come up, by bit.
#[derive(Default)]
struct Table {
    roots: Vec<Root>,
    lost: Set,
    behind: Set,
    /// Slots of arguments that are pointers by their type.
    pointers: Set,
    slots: Set,
    /// Where memory of the runtime for calls of the host begins.
    beginnings: Set,
}

struct Finder<'a> {
    plan: &'a Plan,
    kernel: &'a Kernel,
    table: Table,
    /// As in [`Reachable`].
    places: Vec<u32>,
    /// By place; nothing at 0.
    sets: Vec<Set>,
    /// The sets grow no further.
    is_settled: bool,
    /// A number of 64 bits beside a pointer may be the distance to another, and the low half of a pointer any word. Otherwise such a
    /// number is an index, and the high half says which pointer it is: what a launch adds is evaluated there. Products, shifted and
    /// extended words are indices always: that they stay in the allocation is taken for granted.
    strict: bool,
}

/// Low bits of a pointer that a mask may clear, and it stays that pointer.
const ALIGNMENT_BITS: u32 = 12;

impl Finder<'_> {
    fn place(&self, id: Id) -> usize {
        self.places[id.0 as usize] as usize
    }

    fn of(&self, id: Id) -> Set {
        self.sets[self.place(id)]
    }

    fn one(&mut self, root: Root) -> Set {
        let known = self.table.roots.iter().position(|known| *known == root);
        let (root, index) = match known {
            Some(index) => return 1 << index,
            // Room is kept for the one that stands for all others.
            None if self.table.roots.len() >= 126 => match self.table.roots.get(126) {
                Some(_) => return 1 << 126,
                None => (Root::Lost(Why::Arithmetic), 126),
            },
            None => (root, self.table.roots.len()),
        };
        self.table.roots.push(root);
        let bit = 1 << index;
        match root {
            Root::Lost(_) => self.table.lost |= bit,
            Root::Behind(_) => self.table.behind |= bit,
            Root::HostCalls(_, true) => self.table.beginnings |= bit,
            Root::Slot(slot) => {
                self.table.slots |= bit;
                let arg = self.kernel.arg_at(slot);
                if arg.is_some_and(|(_, arg)| arg.kind == ArgKind::GlobalBuffer) {
                    self.table.pointers |= bit;
                }
            }
            _ => {}
        }
        bit
    }

    fn roots(&self, set: Set) -> impl Iterator<Item = Root> + '_ {
        let mut left = set;
        std::iter::from_fn(move || {
            let index = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            self.table.roots.get(index).copied()
        })
    }

    /// Roots of a sum: a pointer and its index.
    fn sum(&self, a: Set, b: Set) -> Set {
        let Table {
            lost,
            behind,
            pointers,
            slots,
            ..
        } = self.table;
        let keep = |set: Set, other: Set| {
            let mut set = set;
            if other & !(lost | behind) != 0 {
                set &= !(lost | behind);
            }
            if other & pointers != 0 && !self.strict {
                set &= !(slots & !pointers);
            }
            // Something lost is an index where there is a pointer from memory.
            if other & behind != 0 {
                set &= !lost;
            }
            set
        };
        keep(a, b) | keep(b, a)
    }

    /// Roots of a difference. Something lost less a pointer may lead from there to anywhere, and a pointer less
    /// another leads to the first.
    fn difference(&mut self, a: Set, b: Set) -> Set {
        let from = self.table.lost | self.table.behind | self.table.slots;
        if a & from == 0 || b & self.table.slots == 0 {
            return a;
        }
        a & !from | self.one(Root::Apart)
    }

    /// Whether a mask is one that aligns a pointer.
    fn aligns(&self, mask: Id) -> bool {
        let mask = self.plan.arena.as_const(mask);
        mask.is_some_and(|mask| mask.leading_ones() >= u32::BITS - ALIGNMENT_BITS)
    }

    fn slot(&self, offset: u32) -> Root {
        let slot = offset & !7;
        match self.plan.hidden_kind(offset) {
            Some(
                ArgKind::HiddenHostcallBuffer
                | ArgKind::HiddenHeap
                | ArgKind::HiddenPrintfBuffer
                | ArgKind::HiddenMultigridSync
                | ArgKind::HiddenDefaultQueue
                | ArgKind::HiddenCompletionAction
                | ArgKind::HiddenQueuePtr,
            ) => Root::Runtime,
            Some(_) => Root::Own,
            None => Root::Slot(slot),
        }
    }

    /// Roots of what is not at the place itself, but somewhere from there.
    fn moved(&mut self, set: Set) -> Set {
        let mut moved = set & !self.table.beginnings;
        if moved != set {
            let beginnings: Vec<Root> = self.roots(set & !moved).collect();
            for root in beginnings {
                if let Root::HostCalls(structure, _) = root {
                    moved |= self.one(Root::HostCalls(structure, false));
                }
            }
        }
        moved
    }

    fn loaded(&mut self, load: u32, dword: u8) -> Set {
        let load = self.plan.loads[load as usize];
        if load.bytes < 4 {
            return 0;
        }
        let (base, constant) = self.plan.arena.base_and_offset(load.address);
        let offset = constant.wrapping_add(i64::from(dword) * 4);
        let from: Vec<Root> = self.roots(self.of(base)).collect();
        let mut all = 0;
        for root in &from {
            if let Root::HostCalls(structure, true) = *root
                && let Some((target, _)) = structure.pointer_at(offset)
            {
                all |= self.one(Root::HostCalls(target, true));
                continue;
            }
            all |= self.one(match *root {
                Root::Arguments | Root::Own => Root::AnySlot,
                Root::Slot(slot) => Root::Behind(Some(slot)),
                Root::Runtime => Root::RuntimeWord,
                Root::AnySlot | Root::Behind(_) => Root::Behind(None),
                Root::Image(_)
                | Root::RuntimeWord
                | Root::HostCalls(..)
                | Root::Apart
                | Root::Lost(_) => Root::Lost(Why::Memory),
            });
        }
        if from.is_empty() {
            self.one(Root::Lost(Why::Memory))
        } else {
            all
        }
    }

    fn compute(&mut self, id: Id) -> Set {
        let union = |finder: &Self, ids: &[Id]| ids.iter().fold(0, |all, id| all | finder.of(*id));
        match self.plan.arena.node(id) {
            Node::Kernarg(offset) | Node::Kernarg64(offset) => {
                let slot = self.slot(offset);
                self.one(slot)
            }
            Node::Opaque(_, lost) => self.one(Root::Lost(match lost {
                Lost::Arithmetic => Why::Arithmetic,
                Lost::Lds => Why::Lds,
                Lost::Scratch => Why::Scratch,
                Lost::Memory => Why::Memory,
            })),
            Node::Inverse(..) | Node::Double(_) => self.one(Root::Lost(Why::Arithmetic)),
            Node::Load { load, dword } | Node::Load64 { load, dword } => self.loaded(load, dword),
            Node::Phi(phi) => union(self, self.plan.merges.inputs(phi)),
            Node::Phi64(low, high) => {
                let inputs = self.plan.merges.wide.get(&(low, high));
                union(self, inputs.map_or(&[], |inputs| &inputs[..]))
            }
            Node::Image(address) => self.one(Root::Image(address)),
            Node::Symbol(Symbolic::Queue) => self.one(Root::Runtime),
            Node::Symbol(Symbolic::HostCalls(structure)) => {
                self.one(Root::HostCalls(structure, true))
            }
            Node::Symbol(Symbolic::Kernarg | Symbolic::Packet) => self.one(Root::Arguments),
            Node::Symbol(_) | Node::ScratchBuffer(_) | Node::FlatScratch(_) | Node::ScratchWave => {
                self.one(Root::Own)
            }
            Node::Select(_, a, b) | Node::Select64(_, a, b) => self.of(a) | self.of(b),
            Node::Low(a) | Node::High(a) | Node::Lane(a, ..) | Node::Lane64(a, ..) => self.of(a),
            Node::Pair(low, high) if self.strict && self.of(low) != self.of(high) => {
                self.one(Root::Lost(Why::Arithmetic))
            }
            // The high half decides, if it is no constant.
            Node::Pair(low, high) => match self.of(high) {
                0 => self.moved(self.of(low)),
                high => self.moved(high),
            },
            Node::Binary(Binary::And, _, by) if self.strict && !self.aligns(by) => {
                self.one(Root::Lost(Why::Arithmetic))
            }
            Node::Add64(a, b) | Node::Binary(Binary::Add | Binary::And | Binary::Or, a, b) => {
                self.moved(self.sum(self.of(a), self.of(b)))
            }
            Node::Sub64(a, b) | Node::Binary(Binary::Sub, a, b) => {
                let difference = self.difference(self.of(a), self.of(b));
                self.moved(difference)
            }
            _ => 0,
        }
    }
}

/// Calls `each` with the nodes that tell the roots of a node.
fn sources(plan: &Plan, id: Id, mut each: impl FnMut(Id)) {
    match plan.arena.node(id) {
        Node::Phi(phi) => plan.merges.inputs(phi).iter().copied().for_each(each),
        Node::Phi64(low, high) => {
            let inputs = plan.merges.wide.get(&(low, high));
            inputs.into_iter().flatten().copied().for_each(each);
        }
        Node::Load { load, .. } | Node::Load64 { load, .. } => {
            let load = plan.loads[load as usize];
            if load.bytes >= 4 {
                each(plan.arena.base_and_offset(load.address).0);
            }
        }
        Node::Select(_, a, b)
        | Node::Select64(_, a, b)
        | Node::Pair(a, b)
        | Node::Add64(a, b)
        | Node::Sub64(a, b)
        | Node::Binary(Binary::Add | Binary::Sub | Binary::And | Binary::Or, a, b) => {
            each(a);
            each(b);
        }
        Node::Low(a) | Node::High(a) | Node::Lane(a, ..) | Node::Lane64(a, ..) => each(a),
        // Products, shifted and extended words are no pointers.
        _ => {}
    }
}

/// Everything that tells the roots of addresses.
struct Reachable {
    /// Older nodes first.
    order: Vec<Id>,
    /// For each node of the plan, its place in the order from 1 on; 0 if it is not there.
    places: Vec<u32>,
}

impl Reachable {
    fn of(plan: &Plan) -> Self {
        let mut places = vec![0; plan.arena.len()];
        let mut todo: Vec<Id> = plan.sites.iter().map(|site| site.address).collect();
        let mut order = Vec::new();
        while let Some(id) = todo.pop() {
            if id == BOTTOM || std::mem::replace(&mut places[id.0 as usize], 1) != 0 {
                continue;
            }
            order.push(id);
            sources(plan, id, |source| todo.push(source));
        }
        order.sort_unstable();
        for (place, id) in (1..).zip(&order) {
            places[id.0 as usize] = place;
        }
        Self { order, places }
    }
}

/// Finds where the addresses of all sites come from.
fn find<'a>(plan: &'a Plan, kernel: &'a Kernel, strict: bool) -> Finder<'a> {
    let Reachable { order, places } = Reachable::of(plan);
    let mut finder = Finder {
        plan,
        kernel,
        table: Table::default(),
        sets: vec![0; order.len() + 1],
        places,
        is_settled: false,
        strict,
    };
    // Whose sets may still grow: something that they are made of comes later in the order.
    let mut is_open = vec![false; order.len() + 1];
    let mut open = Vec::new();
    for (place, &id) in (1..).zip(&order) {
        finder.sets[place] = finder.compute(id);
        sources(plan, id, |source| {
            is_open[place] |= source >= id || is_open[finder.place(source)];
        });
        if is_open[place] {
            open.push(id);
        }
    }
    for _ in 1..MAX_ROUNDS {
        let mut changed = false;
        for &id in &open {
            let set = finder.compute(id);
            let place = finder.place(id);
            changed |= finder.sets[place] != set;
            finder.sets[place] = set;
        }
        if !changed {
            finder.is_settled = true;
            break;
        }
    }
    finder
}

/// What an access through a root leads through.
enum Through {
    /// The pointer at this byte of the kernarg segment.
    Slot(u32),
    /// Any, or none of them.
    Any,
    /// None, and no memory of the program.
    None,
}

/// The pointers among the arguments, by their offsets, through which reads go and through which writes do. `None`:
/// some may go elsewhere.
pub(crate) fn pointers(plan: &Plan, kernel: &Kernel) -> [Option<Vec<u32>>; 2] {
    let mut finder = find(plan, kernel, true);
    let sides = finder.sides(|root| match root {
        Root::Slot(offset) => Through::Slot(offset),
        Root::Image(_) | Root::Arguments | Root::Own | Root::Runtime | Root::RuntimeWord => {
            Through::None
        }
        Root::AnySlot | Root::Behind(_) | Root::HostCalls(..) | Root::Apart | Root::Lost(_) => {
            Through::Any
        }
    });
    if finder.is_settled {
        sides
    } else {
        [None, None]
    }
}

/// Likewise, where pointers in memory that they lead to count as well, as far as that can be seen. `None`: it may be
/// any of them.
pub(crate) fn seen(plan: &Plan, kernel: &Kernel) -> [Option<Vec<u32>>; 2] {
    find(plan, kernel, false).sides(|root| match root {
        Root::Slot(offset) | Root::Behind(Some(offset)) => Through::Slot(offset),
        Root::AnySlot | Root::Behind(None) | Root::Apart | Root::Lost(_) => Through::Any,
        Root::Image(_)
        | Root::Arguments
        | Root::Own
        | Root::Runtime
        | Root::RuntimeWord
        | Root::HostCalls(..) => Through::None,
    })
}

impl Finder<'_> {
    /// The slots that reads go through, and those of writes.
    fn sides(&mut self, through: impl Fn(Root) -> Through) -> [Option<Vec<u32>>; 2] {
        let plan = self.plan;
        let mut sides = [Some(Vec::new()), Some(Vec::new())];
        for site in &plan.sites {
            let set = self.set_of(site);
            for (touched, slot) in [site.reads, site.writes].into_iter().zip(&mut sides) {
                let Some(side) = slot.as_mut().filter(|_| touched) else {
                    continue;
                };
                for root in self.roots(set) {
                    match through(root) {
                        Through::Slot(offset) if side.contains(&offset) => {}
                        Through::Slot(offset) => side.push(offset),
                        Through::None => {}
                        Through::Any => {
                            *slot = None;
                            break;
                        }
                    }
                }
            }
        }
        sides
    }
}

/// An address of a site: what it is based on, and in words what is added to that.
struct Way {
    root: Root,
    extent: Option<String>,
}

impl Finder<'_> {
    fn set_of(&mut self, site: &Site) -> Set {
        let set = match self.of(site.address) {
            0 => self.one(Root::Lost(Why::Arithmetic)),
            set => set,
        };
        if site.writes && self.roots(set).any(|root| root == Root::Arguments) {
            return set | self.one(Root::Lost(Why::Rewritten));
        }
        set
    }

    fn roots_of(&mut self, site: &Site) -> Vec<Root> {
        let set = self.set_of(site);
        self.roots(set).collect()
    }

    fn ways(&mut self, site: &Site) -> Vec<Way> {
        let extent = |root| match root {
            Root::Slot(slot) => describe::offset(self.plan, self.kernel, site.address, slot)
                .map(|offset| format!("[{offset} .. +{})", site.bytes)),
            _ => None,
        };
        let roots = self.roots_of(site).into_iter();
        let ways = roots.map(|root| Way {
            root,
            extent: extent(root),
        });
        ways.collect()
    }
}

pub(crate) fn summarise(plan: &Plan, kernel: &Kernel) -> FootprintSummary {
    let mut finder = find(plan, kernel, false);
    let mut summary = FootprintSummary {
        reads: SideSummary::None,
        writes: SideSummary::None,
        module_writes: Vec::new(),
        module_reads: Vec::new(),
        why: Vec::new(),
    };
    for (index, site) in plan.sites.iter().enumerate() {
        for Way { root, extent } in finder.ways(site) {
            if let Root::Image(address) = root {
                let name = plan.symbol(address);
                for (touched, names) in [
                    (site.reads, &mut summary.module_reads),
                    (site.writes, &mut summary.module_writes),
                ] {
                    if touched && !names.contains(&name) {
                        names.push(name.clone());
                    }
                }
            }
            if let Some(obstacle) = root.obstacle() {
                summary
                    .why
                    .extend(plan.places(index).map(|address| summary::Why {
                        address,
                        obstacle,
                        reads: site.reads,
                        writes: site.writes,
                    }));
            }
            if site.reads {
                note(&mut summary.reads, root, kernel, extent.clone());
            }
            if site.writes {
                note(&mut summary.writes, root, kernel, extent);
            }
        }
    }
    summary.why.sort_unstable();
    summary.why.dedup();
    summary
}

/// What each instruction touches, by ascending address.
pub(crate) fn touches(plan: &Plan, kernel: &Kernel) -> Vec<Touch> {
    let mut finder = find(plan, kernel, false);
    let mut touches = Vec::new();
    for (index, site) in plan.sites.iter().enumerate() {
        for way in finder.ways(site) {
            let what = finder.words(&way);
            touches.extend(plan.places(index).map(|address| Touch {
                address,
                reads: site.reads,
                writes: site.writes,
                what: what.clone(),
            }));
        }
    }
    touches.sort_unstable();
    touches.dedup();
    touches
}

impl Finder<'_> {
    fn words(&self, way: &Way) -> String {
        let slot = |offset: u32| match self.kernel.arg_at(offset) {
            Some((index, arg)) => {
                let name = describe::argument(self.kernel, index);
                match offset - arg.offset {
                    0 => name,
                    within => format!("{name}+{within}"),
                }
            }
            None => format!("kernarg+{offset}"),
        };
        match way.root {
            Root::Slot(offset) => {
                let extent = way.extent.as_deref().unwrap_or("[..]");
                format!("{}{extent}", slot(offset))
            }
            Root::AnySlot => "any pointer among the arguments".to_owned(),
            Root::Behind(Some(offset)) => format!("a pointer loaded from {}", slot(offset)),
            Root::Behind(None) => "a pointer loaded from memory".to_owned(),
            Root::Image(address) => format!("module data {}", self.plan.symbol(address)),
            Root::Arguments => "the kernel's arguments or packet".to_owned(),
            Root::Own => "LDS or scratch".to_owned(),
            Root::Runtime | Root::RuntimeWord | Root::HostCalls(..) => {
                "memory of the runtime".to_owned()
            }
            Root::Apart | Root::Lost(_) => match way.root.obstacle() {
                Some(obstacle) => format!("anything: {obstacle}"),
                None => "anything".to_owned(),
            },
        }
    }
}

/// Extents in words of one slot at most; more are none.
const MAX_EXTENTS: usize = 6;

fn note(side: &mut SideSummary, root: Root, kernel: &Kernel, extent: Option<String>) {
    let (offset, indirect) = match root {
        Root::Image(_)
        | Root::Arguments
        | Root::Own
        | Root::Runtime
        | Root::RuntimeWord
        | Root::HostCalls(..) => return,
        Root::Lost(_) | Root::Apart => {
            if let (false, Some(Obstacle::Unknown(reason))) =
                (matches!(side, SideSummary::Unknown(_)), root.obstacle())
            {
                *side = SideSummary::Unknown(reason);
            }
            return;
        }
        Root::Slot(offset) => (Some(offset), false),
        Root::AnySlot => (None, false),
        Root::Behind(offset) => (offset, true),
    };
    let mut slots = match std::mem::replace(side, SideSummary::None) {
        SideSummary::Unknown(reason) => {
            *side = SideSummary::Unknown(reason);
            return;
        }
        SideSummary::None => Vec::new(),
        SideSummary::Args(slots) | SideSummary::Indirect(slots) => slots,
    };
    match slots
        .iter_mut()
        .find(|slot| (slot.offset, slot.indirect) == (offset, indirect))
    {
        // No words stand for the whole allocation; that stays.
        Some(slot) if slot.extents.is_empty() => {}
        Some(slot) => match extent {
            Some(extent) if slot.extents.contains(&extent) => {}
            Some(extent) if slot.extents.len() < MAX_EXTENTS => slot.extents.push(extent),
            _ => slot.extents.clear(),
        },
        None => {
            let arg = offset.and_then(|offset| Some((offset, kernel.arg_at(offset)?)));
            slots.push(Slot {
                offset,
                arg: arg.map(|(_, (index, _))| index),
                name: arg.map_or_else(String::new, |(_, (index, _))| {
                    describe::argument(kernel, index)
                }),
                within: arg.map_or(0, |(offset, (_, arg))| offset - arg.offset),
                extents: extent.into_iter().collect(),
                indirect,
            });
        }
    }
    *side = if slots.iter().any(|slot| slot.indirect) {
        SideSummary::Indirect(slots)
    } else {
        SideSummary::Args(slots)
    };
}
