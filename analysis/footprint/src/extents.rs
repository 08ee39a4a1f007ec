//! From the addresses of one launch to extents.

use strobe_extent::{Access, Cover, Extent, Reason, Side};

use crate::evaluate::{Base, Evaluation};
use crate::expr::Symbolic;
use crate::launch::{Launch, LaunchMemory, Word};
use crate::plan::Plan;
use crate::range::Range;
use crate::site::Site;
use crate::unseen::Unseen;
use crate::value::{Alternative, Origin};
use crate::work;

/// Of the address of a scalar instruction: base, register, constant. Each may lose 3 bytes.
const SCALAR_PARTS: i128 = 3;

/// An address whose numbers span that many bytes has an index without a bound: an unknown word, or part of one.
const UNBOUNDED: i128 = 1 << 31;

/// Addresses have 48 bits; buffer descriptors have others above them, and what is there leads elsewhere.
const ADDRESSES: u64 = 1 << 48;

/// What the arguments and the packet say counts as known.
pub(crate) const REWRITTEN: Reason = Reason::Other("a write to the kernel's own arguments");

/// Evaluations of one launch, each knowing less of memory than the one before.
const MAX_ROUNDS: usize = 3;

/// What one launch may touch.
pub(crate) struct Found {
    pub(crate) access: Access,
    /// All of the kernarg segment that was looked at.
    pub(crate) words: Vec<Word>,
    /// Whether something depends on what stands in device memory.
    pub(crate) consulted: bool,
}

/// A table that the kernel itself may change is not known while it runs. So where one was looked at, all is done again
/// without it; the last time without any.
pub(crate) fn access(
    plan: &Plan,
    unseen: &[Unseen],
    launch: &Launch<'_>,
    memory: &dyn LaunchMemory,
) -> Found {
    let mut words = Vec::new();
    let mut known = Unwritten {
        memory,
        written: Side::none(),
    };
    let mut round = 1;
    loop {
        let mut evaluation = Evaluation::new(plan, launch, &known);
        let access = evaluation.access(unseen);
        words.append(&mut evaluation.words);
        let consulted = !evaluation.consulted.is_empty();
        let tables = evaluation.consulted.into_iter();
        let written: Vec<Extent> = tables
            .filter(|table| access.writes.overlaps(*table))
            .collect();
        if written.is_empty() {
            return Found {
                access,
                words,
                consulted,
            };
        }
        round += 1;
        written
            .into_iter()
            .for_each(|table| known.written.insert(table));
        if round == MAX_ROUNDS {
            known.written = Side::Unknown(Reason::PointerFromMemory);
        }
    }
}

/// Where a launch takes too long to evaluate: all of the allocations that the pointers at these offsets point
/// into. `None`: one of them points into none, so what is added to it may be a pointer.
pub(crate) fn of_pointers(
    plan: &Plan,
    launch: &Launch<'_>,
    memory: &dyn LaunchMemory,
    offsets: impl IntoIterator<Item = u32>,
    words: &mut Vec<Word>,
) -> Option<Side> {
    let mut evaluation = Evaluation::new(plan, launch, memory);
    let mut side = Some(Side::none());
    for offset in offsets {
        match (evaluation.argument(offset).origin, &mut side) {
            (Origin::Base(base), Some(side)) => {
                let all = evaluation.bases[base as usize].all();
                all.for_each(|extent| side.insert(extent));
            }
            _ => side = None,
        }
    }
    words.append(&mut evaluation.words);
    side
}

/// Memory whose content is known but for what the kernel may write.
struct Unwritten<'a> {
    memory: &'a dyn LaunchMemory,
    written: Side,
}

impl LaunchMemory for Unwritten<'_> {
    fn allocation(&self, addr: u64) -> Option<Extent> {
        self.memory.allocation(addr)
    }

    fn is_allocated(&self, extent: Extent) -> bool {
        self.memory.is_allocated(extent)
    }

    fn known_bytes(&self, addr: u64, len: usize) -> Option<Vec<u8>> {
        let asked = Extent::with_len(addr, len as u64).ok()?;
        let is_written = self.written.overlaps(asked);
        (!is_written)
            .then(|| self.memory.known_bytes(addr, len))
            .flatten()
    }
}

impl Evaluation<'_> {
    fn access(&mut self, unseen: &[Unseen]) -> Access {
        let plan = self.plan;
        let mut access = Access::none();
        for site in &plan.sites {
            let wanted = (site.reads && !access.reads.is_unknown())
                || (site.writes && !access.writes.is_unknown());
            if wanted && self.possible(site.facts) {
                self.site(site, &mut access);
            }
        }
        for argument in unseen {
            let value = self.argument(argument.offset);
            if let Origin::Base(base) = value.origin {
                for extent in self.bases[base as usize].all() {
                    if argument.reads {
                        access.reads.insert(extent);
                    }
                    if argument.writes {
                        access.writes.insert(extent);
                    }
                }
            }
        }
        // Whoever may write anything may change what leads to the runtime's memory.
        if plan.host_calls
            && let Side::Unknown(reason) = access.writes
        {
            return Access::unknown(reason);
        }
        access
    }
}

/// Which bytes of `all`, from the first to the last, some bytes at each number of a range are.
fn cover(range: Range, bytes: u32, all: Extent) -> Cover {
    if range.levels.is_none() && range.step <= i128::from(bytes) {
        return Cover::Extent(all);
    }
    let cover = range.ways().and_then(|ways| {
        let levels = ways.map(|(stride, times)| (stride, times.saturating_add(1)));
        Cover::new(all.start(), bytes.into(), levels)
    });
    cover.unwrap_or(Cover::Extent(all))
}

/// Whether numbers that far apart have an index without a bound.
fn is_unbounded(range: Range) -> bool {
    range.hi - range.lo >= UNBOUNDED
}

/// Where one alternative of an address leads.
enum Touched {
    /// Nothing that is tracked.
    Nothing,
    Known(Cover),
    /// Any of the allocations that the pointer may belong to.
    Around(Base),
    Unknown(Reason),
}

impl Evaluation<'_> {
    pub(crate) fn site(&mut self, site: &Site, access: &mut Access) {
        let address = self.value(site.address, site.facts);
        let own = |one: &Alternative| {
            matches!(
                one.origin,
                Origin::Symbol(Symbolic::Kernarg | Symbolic::Packet)
            )
        };
        if site.writes && address.alternatives().iter().any(own) {
            *access = Access::unknown(REWRITTEN);
            return;
        }
        let mut sides: Vec<&mut Side> = Vec::with_capacity(2);
        let Access { reads, writes } = access;
        if site.reads {
            sides.push(reads);
        }
        if site.writes {
            sides.push(writes);
        }
        for &alternative in address.alternatives() {
            let mut alternative = alternative;
            self.work.charge(work::ADDRESS);
            if site.scalar && !alternative.range.is_of_words() {
                let Range { lo, hi, .. } = alternative.range;
                alternative.range = Range::span(lo - SCALAR_PARTS * 3, hi);
            }
            if let Origin::Symbol(Symbolic::HostCalls(structure)) = alternative.origin
                && site.writes
                && structure.has_pointer(alternative.range, site.bytes)
            {
                let reason = Reason::Other("a write to pointers of the runtime");
                sides
                    .iter_mut()
                    .for_each(|side| side.union_with(&reason.into()));
            }
            match self.touched_by(alternative, address.alternatives(), site.bytes) {
                Touched::Nothing => {}
                Touched::Known(cover) => sides.iter_mut().for_each(|side| side.insert_cover(cover)),
                Touched::Around(base) => {
                    for extent in base.all() {
                        sides.iter_mut().for_each(|side| side.insert(extent));
                    }
                }
                Touched::Unknown(reason) => {
                    sides
                        .iter_mut()
                        .for_each(|side| side.union_with(&reason.into()));
                }
            }
        }
    }

    /// `among` are all that the address may be, with `alternative`.
    fn touched_by(&self, alternative: Alternative, among: &[Alternative], bytes: u32) -> Touched {
        let range = alternative.range;
        match alternative.origin {
            Origin::Symbol(_) | Origin::Runtime | Origin::RuntimeWord => {
                return Touched::Nothing;
            }
            Origin::Image => {
                let image = &self.plan.image;
                let inside = i128::from(image.start) <= range.lo
                    && range.hi + i128::from(bytes) <= i128::from(image.end);
                return if inside || is_unbounded(range) {
                    Touched::Nothing
                } else {
                    Touched::Unknown(Reason::UntrackedAddress)
                };
            }
            Origin::Anchor(_) | Origin::Between => {
                return Touched::Unknown(Reason::UntrackedAddress);
            }
            Origin::Apart(reason) => return Touched::Unknown(reason),
            Origin::Number | Origin::Lost(_) | Origin::Base(_) => {}
        }
        let end = range.hi + i128::from(bytes);
        let exact = (range.lo >= 0)
            .then(|| Extent::new(u64::try_from(range.lo).ok()?, u64::try_from(end).ok()?).ok())
            .flatten();
        if let Some(exact) = exact {
            if exact.end() > ADDRESSES && !is_unbounded(range) {
                return Touched::Unknown(Reason::UntrackedAddress);
            }
            if let Origin::Base(base) = alternative.origin
                && self.bases[base as usize].extent.contains(exact)
            {
                return Touched::Known(cover(range, bytes, exact));
            }
            if exact.end() <= 4096 {
                // A null pointer: the program does not get there.
                return Touched::Nothing;
            }
            let around = self.memory.allocation(exact.start());
            if around.is_some_and(|around| around.contains(exact)) {
                return Touched::Known(cover(range, bytes, exact));
            }
            // One of several words that is no pointer, or null: with its index it leads nowhere. Where
            // there is no other word, there is memory that nobody has told of.
            if among.len() > 1
                && alternative.origin == Origin::Number
                && !self.memory.is_allocated(exact)
            {
                return Touched::Nothing;
            }
            // It leaves the allocation, and that is where it goes.
            if matches!(alternative.origin, Origin::Base(_)) && !is_unbounded(range) {
                return Touched::Known(cover(range, bytes, exact));
            }
        }
        match alternative.origin {
            // An index without a bound stays in the allocation, if it may begin there.
            Origin::Base(base) if self.bases[base as usize].meets(range.lo, end) => {
                Touched::Around(self.bases[base as usize])
            }
            Origin::Lost(reason) => Touched::Unknown(reason),
            _ => Touched::Unknown(Reason::UntrackedAddress),
        }
    }
}
