//! Expressions at a launch.
//!
//! Everything is evaluated on demand and once: a value depends on its node and on the facts that may
//! narrow it. Recursion is bounded, and so is the number of evaluations.

use strobe_extent::{Extent, Reason};

use crate::broken::Rule;
use crate::comparison::{clip, decide};
use crate::expr::{Binary, FactId, Id, Lost, Map, Node};
use crate::facts::NOTHING;
use crate::launch::{Launch, LaunchMemory, Word};
use crate::plan::{Plan, wide_key};
use crate::range::Range;
use crate::rounds::Rounds;
use crate::value::{Alternative, Origin, Value, add, mixed, sub};
use crate::work::{self, Work};

/// Nested evaluations; each takes some hundred bytes of a stack that is not ours.
const MAX_NESTING: u32 = 200;

/// Values that are computed for a site, as a first guess.
const VALUES: usize = 8;

/// An allocation that some pointer points into.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Base {
    pub(crate) extent: Extent,
    /// The allocation that ends where the pointer points: it may belong to that one.
    pub(crate) below: Option<Extent>,
    /// The allocation that begins a little behind it: it may be that one's, counted from 1.
    pub(crate) above: Option<Extent>,
}

impl Base {
    /// All that a pointer there may belong to.
    pub(crate) fn all(self) -> impl Iterator<Item = Extent> {
        [Some(self.extent), self.below, self.above]
            .into_iter()
            .flatten()
    }

    /// Whether what lies from `lo` on, before `end`, meets one of those, or begins where one ends.
    pub(crate) fn meets(self, lo: i128, end: i128) -> bool {
        self.all()
            .any(|extent| i128::from(extent.start()) < end && lo <= i128::from(extent.end()))
    }
}

/// A pointer so many bytes before an allocation may point to its element 0 of elements counted from 1.
const NEAR: u64 = 128;
/// Allocations begin at multiples of that.
const GRANULE: u64 = 256;

/// A phi whose value is being looked for.
#[derive(Default)]
pub(crate) struct Pending {
    pub(crate) key: u64,
    /// What it is taken to be, in a round of [`crate::going_round`]; else all is relative to it.
    pub(crate) assumed: Option<Value>,
    /// It was used.
    pub(crate) used: bool,
    /// Of [`Evaluation::known`]: what was computed while it was the newest, relative to some of them.
    relative: Vec<(Id, FactId)>,
}

impl Pending {
    pub(crate) fn new(key: u64, assumed: Option<Value>) -> Self {
        Self {
            key,
            assumed,
            ..Self::default()
        }
    }
}

pub(crate) struct Evaluation<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) launch: &'a Launch<'a>,
    pub(crate) memory: &'a dyn LaunchMemory,
    pub(crate) bases: Vec<Base>,
    /// Device memory whose content was looked at.
    pub(crate) consulted: Vec<Extent>,
    /// In `values`: they are large, and a map moves what is in it.
    known: Map<(Id, FactId), u32>,
    /// With the lowest of `pending` that each depends on; [`usize::MAX`] for none.
    values: Vec<(Value, usize)>,
    possible: Map<FactId, bool>,
    /// Phis whose value is being looked for.
    pub(crate) pending: Vec<Pending>,
    /// The lowest entry of `pending` that the running evaluation has used.
    pub(crate) touched: usize,
    pub(crate) trips: Map<u32, Rounds>,
    /// Phis that are looked for beside their loops' heads.
    pub(crate) beside: usize,
    /// Rounds of [`crate::going_round`].
    pub(crate) turns: u32,
    /// All of the kernarg segment that was looked at.
    pub(crate) words: Vec<Word>,
    nesting: u32,
    pub(crate) work: Work,
    pub(crate) any_launch: bool,
}

/// What [`Evaluation::of_any_launch`] does not look at.
const ANY_LAUNCH: Launch<'static> = Launch {
    kernarg: &[],
    grid: [0; 3],
    block: [0; 3],
    dynamic_lds: 0,
};

/// Work-items of a work-group in one dimension.
pub(crate) const MAX_ITEMS: u32 = 1024;

struct NoMemory;

impl LaunchMemory for NoMemory {
    fn allocation(&self, _addr: u64) -> Option<Extent> {
        None
    }

    fn is_allocated(&self, _extent: Extent) -> bool {
        false
    }

    fn known_bytes(&self, _addr: u64, _len: usize) -> Option<Vec<u8>> {
        None
    }
}

impl<'a> Evaluation<'a> {
    pub(crate) fn new(
        plan: &'a Plan,
        launch: &'a Launch<'a>,
        memory: &'a dyn LaunchMemory,
    ) -> Self {
        Self {
            plan,
            launch,
            memory,
            bases: Vec::new(),
            consulted: Vec::new(),
            known: Map::with_capacity_and_hasher(VALUES * plan.sites.len(), Default::default()),
            values: Vec::with_capacity(VALUES * plan.sites.len()),
            possible: Map::default(),
            pending: Vec::new(),
            touched: usize::MAX,
            trips: Map::default(),
            beside: 0,
            turns: 0,
            words: Vec::new(),
            nesting: 0,
            work: Work::default(),
            any_launch: false,
        }
    }

    /// Of any launch at all.
    pub(crate) fn of_any_launch(plan: &'a Plan) -> Self {
        Self {
            any_launch: true,
            ..Self::new(plan, &ANY_LAUNCH, &NoMemory)
        }
    }

    /// The newest part of the chain that may say something about the node.
    fn relevant(&mut self, id: Id, mut facts: FactId) -> FactId {
        let parts = self.plan.arena.traits(id).parts;
        while facts != NOTHING {
            let fact = self.plan.facts.get(facts);
            if fact.parts & parts == 0 {
                return NOTHING;
            }
            if fact.own & parts != 0 {
                break;
            }
            self.work.charge(work::CONDITION);
            facts = fact.parent;
        }
        facts
    }

    pub(crate) fn value(&mut self, id: Id, facts: FactId) -> Value {
        let bits = self.plan.arena.bits(id);
        if let Node::Const(_) | Node::Const64(_) = self.plan.arena.node(id) {
            // No condition says anything about it, and to look it up would take longer.
            return self.compute(id, NOTHING, bits);
        }
        let facts = self.relevant(id, facts);
        let key = (id, facts);
        self.work.charge(work::LOOK_UP);
        if let Some(at) = self.known.get(&key) {
            let (value, touched) = &self.values[*at as usize];
            if let Some(pending) = self.pending.get_mut(*touched) {
                self.touched = self.touched.min(*touched);
                pending.used = true;
            }
            return value.clone();
        }
        self.work.charge(work::VALUE);
        if self.nesting >= MAX_NESTING || self.work.is_too_much() {
            return Value::lost(Reason::Budget, bits);
        }
        self.nesting += 1;
        let before = std::mem::replace(&mut self.touched, usize::MAX);
        let mut value = self.compute(id, facts, bits);
        value = self.summed(id, facts, bits, value);
        value = self.narrow(id, facts, bits, value);
        self.nesting -= 1;
        self.known.insert(key, self.values.len() as u32);
        self.values.push((value.clone(), self.touched));
        if self.touched != usize::MAX
            && let Some(pending) = self.pending.last_mut()
        {
            pending.relative.push(key);
        }
        self.touched = self.touched.min(before);
        value
    }

    /// The newest pending phi is not looked for any more: what depended on it alone does no longer.
    pub(crate) fn settle(&mut self, before: usize) {
        let settled = self.pending.pop();
        for key in settled.into_iter().flat_map(|pending| pending.relative) {
            self.known.remove(&key);
        }
        if self.touched >= self.pending.len() {
            self.touched = usize::MAX;
        }
        self.touched = self.touched.min(before);
    }

    fn two(
        &mut self,
        a: Id,
        b: Id,
        facts: FactId,
        bits: u32,
        f: impl Fn(Alternative, Alternative) -> Alternative,
    ) -> Value {
        let a = self.value(a, facts);
        let b = self.value(b, facts);
        let pairs = a.alternatives().len() * b.alternatives().len();
        self.work.charge(work::ALTERNATIVE * pairs);
        a.with(&b, bits, f)
    }

    fn compute(&mut self, id: Id, facts: FactId, bits: u32) -> Value {
        match self.plan.arena.node(id) {
            Node::Bottom => Value::Empty,
            Node::Const(value) => Value::One(Alternative::number(Range::wrap(
                value.into(),
                value.into(),
                32,
            ))),
            Node::Const64(value) => Value::One(Alternative::number(Range::wrap(
                value.into(),
                value.into(),
                64,
            ))),
            Node::Kernarg(offset) => self.kernarg(offset, 4),
            Node::Kernarg64(offset) => self.kernarg(offset, 8),
            Node::Packet(offset) => self.packet(offset),
            Node::Vacant if self.any_launch => self.up_to(2),
            Node::Vacant => self.number(self.launch.has_vacant_lanes().into()),
            Node::Item(_) if self.any_launch => self.up_to(MAX_ITEMS),
            Node::Items(count) => self.packed_ids(count),
            Node::Group(_) if self.any_launch => self.up_to(u32::MAX),
            Node::Item(dimension) => self.up_to(self.launch.block[usize::from(dimension % 3)]),
            Node::Group(dimension) => {
                let dimension = usize::from(dimension % 3);
                let block = self.launch.block[dimension].max(1);
                self.up_to(self.launch.grid[dimension].div_ceil(block))
            }
            Node::ScratchBuffer(_) | Node::FlatScratch(_) | Node::ScratchWave => {
                Value::lost(Reason::UntrackedAddress, 32)
            }
            Node::Opaque(_, lost) => Value::lost(reason(lost), 32),
            Node::Inverse(..) | Node::Double(_) => Value::lost(reason(Lost::Arithmetic), bits),
            Node::Root(of, root) => self.root(of, root, facts),
            Node::Mask(..) => Value::One(Alternative::number(Range::full(32))),
            Node::Image(address) => {
                let range = Range::exactly(address.into());
                Value::One(Alternative {
                    origin: Origin::Image,
                    range,
                })
            }
            Node::Symbol(symbol) => Value::One(Alternative {
                origin: Origin::Symbol(symbol),
                range: Range::exactly(0),
            }),
            Node::Load { load, dword } => self.load(load, dword, 4),
            Node::Load64 { load, dword } => self.load(load, dword, 8),
            Node::Phi(phi) => self.phi(u64::from(phi), facts, bits),
            Node::Phi64(low, high) => self.phi(wide_key(low, high), facts, bits),
            Node::Lane(inner, at, _) | Node::Lane64(inner, at, ..) => self.value(inner, at),
            Node::Binary(op, a, b) => self.two(a, b, facts, 32, |a, b| binary(op, a, b)),
            Node::Select(condition, yes, no) | Node::Select64(condition, yes, no) => {
                match self.truth(condition, facts) {
                    Some(true) => self.value(yes, facts),
                    Some(false) => self.value(no, facts),
                    None => {
                        let yes = self.value(yes, facts);
                        let no = self.value(no, facts);
                        yes.or(&no, bits)
                    }
                }
            }
            Node::Sign(a, from) => self.value(a, facts).map(32, |a| {
                Alternative::computed(a.words(32).sign(from.into()), a, a)
            }),
            Node::Low(a) => self.value(a, facts).map(32, low),
            Node::High(a) => self.value(a, facts).map(32, high),
            Node::Pair(low, high) => self.two(low, high, facts, 64, pair),
            Node::Zero64(a) => self.value(a, facts).map(64, |a| {
                Alternative::computed(a.words(32).unsigned(32), a, a)
            }),
            Node::Sign64(a) => self
                .value(a, facts)
                .map(64, |a| Alternative::computed(a.words(32).signed(32), a, a)),
            Node::Add64(a, b) => self.two(a, b, facts, 64, |a, b| add(a, b, 64)),
            Node::Sub64(a, b) => self.two(a, b, facts, 64, |a, b| sub(a, b, 64)),
            Node::Shl64(a, by) => self.two(a, by, facts, 64, |a, by| {
                Alternative::computed(a.words(64).shl(by.words(32), 64), a, by)
            }),
            Node::Shr64(a, by) => self.two(a, by, facts, 64, |a, by| {
                Alternative::computed(a.words(64).shr(by.words(32), 64), a, by)
            }),
            Node::Sar64(a, by) => self.two(a, by, facts, 64, |a, by| {
                Alternative::computed(a.words(64).sar(by.words(32), 64), a, by)
            }),
            Node::MulU(a, b) => self.two(a, b, facts, 64, |a, b| {
                let (x, y) = (a.words(32).unsigned(32), b.words(32).unsigned(32));
                Alternative::computed(x.mul(y, 64), a, b)
            }),
            Node::MulS(a, b) => self.two(a, b, facts, 64, |a, b| {
                let (x, y) = (a.words(32).signed(32), b.words(32).signed(32));
                Alternative::computed(x.mul(y, 64), a, b)
            }),
            // Truth values have no words.
            _ => Value::One(Alternative::number(Range::full(bits))),
        }
    }

    fn up_to(&self, count: u32) -> Value {
        if count == 0 {
            return Value::Empty;
        }
        Value::One(Alternative::number(Range::span(0, i128::from(count) - 1)))
    }

    /// A dword (4) or qword (8) of the kernarg segment.
    pub(crate) fn kernarg(&mut self, offset: u32, bytes: u32) -> Value {
        if self.plan.is_hidden(offset) && !self.any_launch {
            return self.hidden(offset, bytes);
        }
        let Some(value) = self.kernarg_bytes(offset, bytes) else {
            return Value::lost(Reason::Other("argument that was not given"), 8 * bytes);
        };
        if bytes == 8 {
            return Value::One(self.pointer(value));
        }
        // Half of a pointer keeps the pointer's origin.
        let number = Range::wrap(value.into(), value.into(), 32);
        let mut origin = Origin::Number;
        if let Some(whole) = self.kernarg_bytes(offset & !7, 8)
            && let Origin::Base(base) = self.pointer(whole).origin
        {
            origin = Origin::Base(base);
        }
        Value::One(Alternative {
            origin,
            range: number,
        })
    }

    /// The pointer argument at an offset; 0 if it was not given.
    pub(crate) fn argument(&mut self, offset: u32) -> Alternative {
        let value = self.kernarg_bytes(offset, 8).unwrap_or(0);
        self.pointer(value)
    }

    pub(crate) fn kernarg_bytes(&mut self, offset: u32, bytes: u32) -> Option<u64> {
        let word = Word::read(self.launch, offset, bytes);
        if !self.words.contains(&word) {
            self.words.push(word);
        }
        word.value
    }

    /// Arguments that the runtime fills in.
    fn hidden(&mut self, offset: u32, bytes: u32) -> Value {
        let bits = 8 * bytes;
        let mut value = 0_u64;
        for byte in (0..bytes).rev() {
            match self.plan.hidden_byte(offset + byte, self.launch) {
                Some(known) => value = value << 8 | u64::from(known),
                None => {
                    let runtime = Alternative {
                        origin: Origin::Runtime,
                        range: Range::full(bits),
                    };
                    return Value::One(runtime);
                }
            }
        }
        Value::One(Alternative::number(Range::wrap(
            value.into(),
            value.into(),
            bits,
        )))
    }

    pub(crate) fn packet(&mut self, offset: u32) -> Value {
        if self.any_launch {
            return Value::lost(Reason::UntrackedAddress, 32);
        }
        let [x, y, z] = self.launch.block;
        let value = match offset {
            4 => (x & 0xffff) | y << 16,
            8 => z & 0xffff,
            12 => self.launch.grid[0],
            16 => self.launch.grid[1],
            20 => self.launch.grid[2],
            _ => return Value::lost(Reason::UntrackedAddress, 32),
        };
        self.number(value)
    }

    fn number(&self, value: u32) -> Value {
        Value::One(Alternative::number(Range::exactly(value.into())))
    }

    /// A 64-bit word that may be a pointer.
    pub(crate) fn pointer(&mut self, value: u64) -> Alternative {
        let range = Range::wrap(value.into(), value.into(), 64);
        if value < 4096 {
            return Alternative::number(range);
        }
        // Well inside of one that is known: no other begins or ends near. Tables have thousands of such.
        let is_well_inside = |base: &Base| {
            base.extent.start() < value && value.saturating_add(GRANULE) < base.extent.end()
        };
        if let Some(known) = self.bases.iter().position(is_well_inside) {
            return Alternative {
                origin: Origin::Base(known as u32),
                range,
            };
        }
        self.work.charge(work::POINTER);
        let at = self.memory.allocation(value);
        let below = match at {
            Some(extent) if extent.start() < value => None,
            _ => self.memory.allocation(value - 1),
        };
        let ahead = [
            value.saturating_add(NEAR),
            value.saturating_add(GRANULE - 1) & !(GRANULE - 1),
            at.map_or(value, Extent::end),
        ];
        let above = ahead.into_iter().find_map(|ahead| {
            let extent = self.memory.allocation(ahead)?;
            (extent.start() > value && extent.start() - value <= NEAR).then_some(extent)
        });
        let above = above.filter(|_| !Rule::ArraysStartAtOne.is_broken());
        let Some(extent) = at.or(below).or(above) else {
            return Alternative::number(range);
        };
        let base = match self.bases.iter().position(|known| known.extent == extent) {
            Some(known) => {
                let base = &mut self.bases[known];
                base.below = base.below.or(below);
                base.above = base.above.or(above);
                known
            }
            None => {
                self.bases.push(Base {
                    extent,
                    below,
                    above,
                });
                self.bases.len() - 1
            }
        };
        Alternative {
            origin: Origin::Base(base as u32),
            range,
        }
    }

    /// Whether the facts can all hold in this launch.
    pub(crate) fn possible(&mut self, facts: FactId) -> bool {
        let mut at = facts;
        let mut undecided = Vec::new();
        while at != NOTHING {
            self.work.charge(work::CONDITION);
            if let Some(known) = self.possible.get(&at) {
                if !known {
                    self.possible.insert(facts, false);
                    return false;
                }
                break;
            }
            undecided.push(at);
            at = self.plan.facts.get(at).parent;
        }
        for fact in undecided.into_iter().rev() {
            let before = std::mem::replace(&mut self.touched, usize::MAX);
            let Fact { parent, condition } = self.fact(fact);
            let holds = self.truth(condition, parent) != Some(false);
            // What was found relative to a pending phi says nothing for good.
            if self.touched == usize::MAX {
                self.possible.insert(fact, holds);
                if !holds {
                    self.possible.insert(facts, false);
                }
            }
            self.touched = self.touched.min(before);
            if !holds {
                return false;
            }
        }
        true
    }

    fn fact(&self, id: FactId) -> Fact {
        let fact = self.plan.facts.get(id);
        Fact {
            parent: fact.parent,
            condition: fact.condition,
        }
    }

    /// What a truth value is for certain.
    fn truth(&mut self, id: Id, facts: FactId) -> Option<bool> {
        match self.plan.arena.node(id) {
            Node::True => Some(true),
            Node::False => Some(false),
            Node::Not(inner) => self.truth(inner, facts).map(|truth| !truth),
            Node::Compare(op, a, b) => {
                let bits = self.plan.arena.bits(a);
                let (a, b) = (self.value(a, facts), self.value(b, facts));
                if matches!((&a, &b), (Value::Empty, _) | (_, Value::Empty)) {
                    return Some(false);
                }
                decide(op, a.numbers()?, b.numbers()?, bits)
            }
            _ => None,
        }
    }

    /// Applies the facts about the node itself.
    pub(crate) fn narrow(&mut self, id: Id, facts: FactId, bits: u32, value: Value) -> Value {
        let mut value = value;
        let mut at = facts;
        let own = self.plan.arena.part(id);
        while at != NOTHING {
            let fact = *self.plan.facts.get(at);
            if fact.parts & own == 0 {
                break;
            }
            self.work.charge(work::CONDITION);
            if let Node::Compare(op, a, b) = self.plan.arena.node(fact.condition) {
                if (a == id) != (b == id) {
                    let left = a == id;
                    self.work.charge(work::COMPARISON);
                    let other = self.value(if left { b } else { a }, fact.parent);
                    match other.numbers() {
                        Some(bound) => {
                            let clipped = |alternative: &Alternative| match alternative.numbers() {
                                Some(range) => Some(Alternative {
                                    range: clip(op, left, range, bound, bits)?,
                                    ..*alternative
                                }),
                                None => Some(*alternative),
                            };
                            value = match value {
                                Value::One(one) => clipped(&one).map_or(Value::Empty, Value::One),
                                some => {
                                    Value::any(some.alternatives().iter().filter_map(clipped), bits)
                                }
                            };
                        }
                        None if matches!(other, Value::Empty) => return Value::Empty,
                        None => {}
                    }
                } else if fact.own & own != 0 && a != b {
                    for (whole, other, left) in [(a, b, true), (b, a, false)] {
                        value =
                            self.narrow_term(id, value, (op, left), [whole, other], fact.parent);
                    }
                }
            }
            at = fact.parent;
        }
        value
    }
}

struct Fact {
    parent: FactId,
    condition: Id,
}

fn reason(lost: Lost) -> Reason {
    match lost {
        Lost::Arithmetic => Reason::UntrackedAddress,
        Lost::Lds => Reason::Other("pointer from local data share"),
        Lost::Scratch => Reason::Other("pointer from scratch"),
        Lost::Memory => Reason::PointerFromMemory,
    }
}

/// Whether `mask` takes of `way`, the way between two pointers, what depends on their offsets only.
fn of_alignment(way: Alternative, mask: Alternative) -> bool {
    let bits = mask.words(32).single();
    way.origin == Origin::Between
        && mask.origin == Origin::Number
        && bits.is_some_and(|bits| (0..i128::from(GRANULE)).contains(&bits))
}

fn binary(op: Binary, a: Alternative, b: Alternative) -> Alternative {
    match op {
        Binary::Add => return add(a, b, 32),
        Binary::Sub => return sub(a, b, 32),
        _ => {}
    }
    let (x, y) = (a.words(32), b.words(32));
    let range = match op {
        Binary::Add | Binary::Sub => Range::full(32),
        Binary::Mul => x.mul(y, 32),
        Binary::MulHighU => x.mul_high_unsigned(y),
        Binary::MulHighS => x.mul_high_signed(y),
        Binary::Shl => x.shl(y, 32),
        Binary::Shr => x.shr(y, 32),
        Binary::Sar => x.sar(y, 32),
        Binary::And => x.and(y, 32),
        Binary::Or => x.or(y, 32),
        Binary::Xor => x.xor(y, 32),
        Binary::MinU => x.min(y, false, 32),
        Binary::MaxU => x.max(y, false, 32),
        Binary::MinS => x.min(y, true, 32),
        Binary::MaxS => x.max(y, true, 32),
        Binary::DivU => x.divided_by(y),
        Binary::RemU => x.rest_by(y),
    };
    let origin = match op {
        // A pointer and a key: the other pointer of a list that keeps both in one word.
        Binary::Xor
            if (a.origin, b.origin) != (Origin::Number, Origin::Number)
                && x.single().is_none()
                && y.single().is_none() =>
        {
            Origin::Lost(Reason::UntrackedAddress)
        }
        // How far a pointer is from an aligned one: allocations are aligned to more.
        Binary::And if of_alignment(a, b) || of_alignment(b, a) => Origin::Number,
        Binary::And | Binary::Or | Binary::Xor => mixed(a.origin, b.origin),
        _ => Alternative::computed(range, a, b).origin,
    };
    // A relative word is not a number: the interval would be taken for an offset.
    if origin.is_relative() {
        let anchored = matches!(origin, Origin::Anchor(_));
        let origin = if anchored {
            Origin::Lost(Reason::UntrackedAddress)
        } else {
            origin
        };
        return Alternative {
            origin,
            range: Range::full(32),
        };
    }
    Alternative { origin, range }
}

fn low(whole: Alternative) -> Alternative {
    match whole.numbers() {
        Some(range) => Alternative {
            origin: whole.origin,
            range: range.reduce(32),
        },
        None => half(whole.origin),
    }
}

fn high(whole: Alternative) -> Alternative {
    match whole.numbers() {
        Some(range) => {
            let range = range.unsigned(64);
            let range = Range::wrap(range.lo >> 32, range.hi >> 32, 32);
            Alternative {
                origin: whole.origin,
                range,
            }
        }
        None => half(whole.origin),
    }
}

/// Half of a relative address: no number, but it is known of what.
fn half(origin: Origin) -> Alternative {
    match origin {
        Origin::Anchor(_) => Alternative::lost(Reason::UntrackedAddress, 32),
        _ => Alternative {
            origin,
            range: Range::full(32),
        },
    }
}

/// Two halves that do not belong together: the high one decides what it points into.
fn pair(low: Alternative, high: Alternative) -> Alternative {
    let origin = match (high.origin, low.origin) {
        (Origin::Number, Origin::Anchor(_)) | (Origin::Anchor(_), _) => {
            return Alternative::lost(Reason::UntrackedAddress, 64);
        }
        (Origin::Number, origin) => origin,
        (origin, _) => origin,
    };
    if origin.is_relative() || low.origin.is_relative() {
        return Alternative {
            origin,
            range: Range::full(64),
        };
    }
    let (low, high) = (low.range.unsigned(32), high.range.unsigned(32));
    let range = Range::stepped(high.lo << 32, high.hi << 32, high.step << 32);
    Alternative {
        origin,
        range: range.add(low, 64),
    }
}
