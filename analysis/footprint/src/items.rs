//! Expressions of each work-item of a launch.
//!
//! Where it matters which item does what, an expression is evaluated for some hundred items at once: a
//! column of words. What has no word of its own for each of them (what was lost, merged, or taken from another
//! lane) has none at all.

use std::rc::Rc;

use strobe_extent::Extent;

use crate::computed::MAX_LOADS;
use crate::evaluate::{Evaluation, MAX_ITEMS};
use crate::expr::{FactId, Id, Map, Node};
use crate::facts::NOTHING;
use crate::launch::Launch;
use crate::node::{ID, ID_BITS};
use crate::range::Range;
use crate::value::{Alternative, Value};
use crate::words;

/// An expression's word for each item; truth values are 0 and 1.
#[derive(Clone, Debug)]
pub(crate) enum Column {
    /// All items have the same.
    Same(u64),
    Each(Rc<[u64]>),
}

impl Column {
    pub(crate) fn at(&self, item: usize) -> u64 {
        match self {
            Self::Same(word) => *word,
            Self::Each(words) => words[item],
        }
    }
}

/// A work-item: its group, and itself in the group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    group: [u32; 3],
    item: [u32; 3],
}

impl Evaluation<'_> {
    /// Work-item ids of the first so many dimensions, in one word.
    pub(crate) fn packed_ids(&self, count: u8) -> Value {
        let most = |dimension: u8| match self.any_launch {
            true => MAX_ITEMS - 1,
            false => self.launch.block[usize::from(dimension % 3)].saturating_sub(1),
        };
        let last = (0..count).fold(0, |all, dimension| {
            all | i128::from(most(dimension) & ID) << (ID_BITS * u32::from(dimension))
        });
        Value::One(Alternative::number(Range::span(0, last)))
    }
}

/// The work-items of a launch; `None` if there are more than `most`.
pub(crate) fn all(launch: &Launch<'_>, most: u64) -> Option<impl Iterator<Item = Item>> {
    let block = launch.block.map(|items| items.max(1));
    let grid = launch.grid;
    let count = grid.iter().try_fold(1_u64, |count, items| {
        count.checked_mul((*items).into()).filter(|c| *c <= most)
    });
    count?;
    let groups = [0, 1, 2].map(|d| grid[d].div_ceil(block[d]));
    let inside = move |group: [u32; 3]| {
        let left = [0, 1, 2].map(|d| (grid[d] - group[d] * block[d]).min(block[d]));
        cells(left).map(move |item| Item { group, item })
    };
    Some(cells(groups).flat_map(inside))
}

fn cells(of: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    let [x, y, z] = of;
    let row = move |y, z| (0..x).map(move |x| [x, y, z]);
    (0..z).flat_map(move |z| (0..y).flat_map(move |y| row(y, z)))
}

/// Some items, and what is known of them.
pub(crate) struct Items<'e, 'a> {
    evaluation: &'e mut Evaluation<'a>,
    items: Vec<Item>,
    columns: Map<Id, Option<Column>>,
    loads: u32,
    /// Words that may still be computed.
    steps: &'e mut usize,
}

impl<'e, 'a> Items<'e, 'a> {
    pub(crate) fn new(
        evaluation: &'e mut Evaluation<'a>,
        items: Vec<Item>,
        steps: &'e mut usize,
    ) -> Self {
        Self {
            evaluation,
            items,
            columns: Map::default(),
            loads: 0,
            steps,
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.items.len()
    }

    /// Leaves those for which the facts hold. `None` if that is not known of each.
    pub(crate) fn keep(&mut self, facts: FactId) -> Option<()> {
        let mut conditions = Vec::new();
        let mut at = facts;
        while at != NOTHING {
            let fact = self.evaluation.plan.facts.get(at);
            conditions.push(fact.condition);
            at = fact.parent;
        }
        // The oldest first: what is loaded is loaded where those before hold.
        for condition in conditions.into_iter().rev() {
            match self.of(condition)? {
                Column::Same(0) => self.items.clear(),
                Column::Same(_) => continue,
                Column::Each(holds) => {
                    let mut holds = holds.iter();
                    self.items.retain(|_| holds.next() != Some(&0));
                }
            }
            self.columns.clear();
            if self.items.is_empty() {
                break;
            }
        }
        Some(())
    }

    /// The words of an expression.
    pub(crate) fn of(&mut self, id: Id) -> Option<Column> {
        if let Some(known) = self.columns.get(&id) {
            return known.clone();
        }
        let column = self.compute(id);
        self.columns.insert(id, column.clone());
        column
    }

    fn each(&mut self, of: impl Fn(&Item) -> u32) -> Option<Column> {
        self.spend()?;
        let words = self.items.iter().map(|item| of(item).into());
        Some(Column::Each(words.collect()))
    }

    fn spend(&mut self) -> Option<()> {
        *self.steps = self.steps.checked_sub(self.items.len())?;
        Some(())
    }

    fn map(&mut self, a: Id, f: impl Fn(u64) -> u64) -> Option<Column> {
        match self.of(a)? {
            Column::Same(a) => Some(Column::Same(f(a))),
            Column::Each(all) => {
                self.spend()?;
                Some(Column::Each(all.iter().map(|a| f(*a)).collect()))
            }
        }
    }

    fn two(&mut self, a: Id, b: Id, f: impl Fn(u64, u64) -> u64) -> Option<Column> {
        let (a, b) = (self.of(a)?, self.of(b)?);
        if let (Column::Same(a), Column::Same(b)) = (&a, &b) {
            return Some(Column::Same(f(*a, *b)));
        }
        self.spend()?;
        let items = 0..self.items.len();
        let words = items.map(|item| f(a.at(item), b.at(item)));
        Some(Column::Each(words.collect()))
    }

    fn choice(&mut self, condition: Id, yes: Id, no: Id) -> Option<Column> {
        let condition = self.of(condition)?;
        if let Column::Same(condition) = condition {
            return self.of(if condition == 0 { no } else { yes });
        }
        let (yes, no) = (self.of(yes)?, self.of(no)?);
        self.spend()?;
        let items = 0..self.items.len();
        let words = items.map(|item| match condition.at(item) {
            0 => no.at(item),
            _ => yes.at(item),
        });
        Some(Column::Each(words.collect()))
    }

    fn compute(&mut self, id: Id) -> Option<Column> {
        let plan = self.evaluation.plan;
        let both = |f: fn(u32, u32) -> u32| move |a: u64, b: u64| f(a as u32, b as u32).into();
        match plan.arena.node(id) {
            Node::Const(word) => Some(Column::Same(word.into())),
            Node::Const64(word) => Some(Column::Same(word)),
            Node::True => Some(Column::Same(1)),
            Node::False => Some(Column::Same(0)),
            Node::Kernarg(offset) => self.argument(offset, 4).map(Column::Same),
            Node::Kernarg64(offset) => self.argument(offset, 8).map(Column::Same),
            Node::Packet(offset) => {
                let word = self.evaluation.packet(offset).numbers()?.single()?;
                Some(Column::Same(u64::from(word as u32)))
            }
            Node::Vacant => Some(Column::Same(
                self.evaluation.launch.has_vacant_lanes().into(),
            )),
            Node::Item(d) => self.each(|item| item.item[usize::from(d % 3)]),
            Node::Items(count) => self.each(|item| {
                let ids = item.item.iter().take(count.into());
                ids.rev().fold(0, |all, id| all << ID_BITS | id & ID)
            }),
            Node::Group(d) => self.each(|item| item.group[usize::from(d % 3)]),
            Node::Load { load, dword } => self.load(load, dword, 4),
            Node::Load64 { load, dword } => self.load(load, dword, 8),
            Node::Binary(op, a, b) => {
                let by = self.of(b)?;
                let mut items = 0..self.items.len();
                if !items.all(|item| op.is_of(by.at(item) as u32)) {
                    return None;
                }
                self.two(a, b, move |a, b| op.of(a as u32, b as u32).into())
            }
            Node::Select(condition, yes, no) | Node::Select64(condition, yes, no) => {
                self.choice(condition, yes, no)
            }
            Node::Sign(a, bits) => self.map(a, |a| words::sign(a as u32, bits).into()),
            Node::Low(a) | Node::Zero64(a) => self.map(a, |a| a & u64::from(u32::MAX)),
            Node::High(a) => self.map(a, |a| a >> 32),
            Node::Pair(low, high) => self.two(low, high, |low, high| high << 32 | low),
            Node::Sign64(a) => self.map(a, |a| i64::from(a as i32) as u64),
            Node::Add64(a, b) => self.two(a, b, u64::wrapping_add),
            Node::Sub64(a, b) => self.two(a, b, u64::wrapping_sub),
            Node::Shl64(a, by) => self.two(a, by, |a, by| a << (by & 63)),
            Node::Shr64(a, by) => self.two(a, by, |a, by| a >> (by & 63)),
            Node::Sar64(a, by) => self.two(a, by, |a, by| ((a as i64) >> (by & 63)) as u64),
            Node::MulU(a, b) => self.two(a, b, |a, b| a * b),
            Node::MulS(a, b) => self.two(a, b, |a, b| {
                (i64::from(a as i32) * i64::from(b as i32)) as u64
            }),
            Node::Compare(op, a, b) if plan.arena.bits(a) == 64 => {
                self.two(a, b, move |a, b| op.of64(a, b).into())
            }
            Node::Compare(op, a, b) => self.two(a, b, move |a, b| op.of(a as u32, b as u32).into()),
            Node::Not(a) => self.map(a, |a| 1 - a),
            Node::Both(a, b) => self.two(a, b, |a, b| a & b),
            Node::Either(a, b) => self.two(a, b, |a, b| a | b),
            Node::Carry(a, b) => self.two(a, b, both(|a, b| a.checked_add(b).is_none().into())),
            Node::Borrow(a, b) => self.two(a, b, both(|a, b| (a < b).into())),
            _ => None,
        }
    }

    fn argument(&mut self, offset: u32, bytes: u32) -> Option<u64> {
        let Evaluation { plan, launch, .. } = *self.evaluation;
        if !plan.is_hidden(offset) {
            return self.evaluation.kernarg_bytes(offset, bytes);
        }
        (0..bytes).rev().try_fold(0, |word, byte| {
            let byte = plan.hidden_byte(offset + byte, launch)?;
            Some(word << 8 | u64::from(byte))
        })
    }

    /// What is loaded, if the content of that memory is known.
    fn load(&mut self, load: u32, dword: u8, bytes: u64) -> Option<Column> {
        let load = self.evaluation.plan.loads[load as usize];
        if load.bytes != 4 || self.loads == MAX_LOADS {
            return None;
        }
        self.loads += 1;
        let address = self.map(load.address, |at| at.wrapping_add(u64::from(dword) * 4));
        self.loads -= 1;
        let address = address?;
        let ats = || (0..self.items.len()).map(|item| address.at(item));
        let (first, last) = (ats().min()?, ats().max()?);
        // Scalar loads lose the low bits of their addresses.
        let is_of_words = ats().all(|at| at % 4 == 0);
        let extent = Extent::new(first, last.checked_add(bytes)?).ok()?;
        let longest = self.evaluation.plan.longest_table();
        if first < 4096 || !is_of_words || extent.len() > longest {
            return None;
        }
        let length = extent.len() as usize;
        let memory = self.evaluation.memory;
        let content = memory.known_bytes(first, length)?;
        if content.len() != length {
            return None;
        }
        self.evaluation.consulted.push(extent);
        let word = |at: u64| {
            let at = (at - first) as usize;
            let bytes = content[at..at + bytes as usize].iter().rev();
            bytes.fold(0, |word, byte| word << 8 | u64::from(*byte))
        };
        match address {
            Column::Same(at) => Some(Column::Same(word(at))),
            Column::Each(all) => {
                *self.steps = self.steps.checked_sub(all.len())?;
                Some(Column::Each(all.iter().map(|at| word(*at)).collect()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(grid: [u32; 3], block: [u32; 3]) -> Launch<'static> {
        Launch {
            kernarg: &[],
            grid,
            block,
            dynamic_lds: 0,
        }
    }

    #[test]
    fn the_last_group_of_a_grid_may_be_smaller() {
        let launch = launch([5, 1, 2], [2, 1, 2]);
        let items: Vec<_> = all(&launch, 100).unwrap().collect();
        assert_eq!(items.len(), 10);
        let x = |item: &Item| item.group[0] * 2 + item.item[0];
        let first: Vec<u32> = items
            .iter()
            .filter(|item| item.item[2] == 0)
            .map(x)
            .collect();
        assert_eq!(first, [0, 1, 2, 3, 4]);
        assert!(items.iter().all(|item| item.group[2] == 0));
    }

    #[test]
    fn launches_of_too_many_items_are_not_taken_apart() {
        let most = u64::from(u32::MAX);
        assert!(all(&launch([u32::MAX; 3], [1; 3]), most).is_none());
        assert!(all(&launch([64, 64, 1], [64, 1, 1]), 4095).is_none());
        assert_eq!(all(&launch([0, 1, 1], [1; 3]), most).unwrap().count(), 0);
    }
}
