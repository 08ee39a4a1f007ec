//! Work-item ids of all dimensions in one register, 10 bits each: what gfx90a and later targets begin with.

use super::{Arena, Binary, Id, Node, ZERO};
use crate::node::{ID, ID_BITS};

impl Arena {
    /// Bits of packed work-item ids that are all of one dimension.
    pub(crate) fn part_of_items(&mut self, op: Binary, a: Id, y: u32) -> Option<Id> {
        let (items, down, mask) = match (op, self.node(a)) {
            (Binary::Shr, Node::Items(_)) => (a, y & 31, u32::MAX),
            (Binary::Shr, _) => return None,
            (_, Node::Items(_)) => (a, 0, y),
            (_, Node::Binary(Binary::Shr, items, by)) => (items, self.as_const(by)? & 31, y),
            (_, Node::Binary(Binary::Shl, items, by)) => {
                let Node::Items(_) = self.node(items) else {
                    return None;
                };
                let by = self.as_const(by)? & 31;
                let part = self.part_of_items(Binary::And, items, y >> by)?;
                return Some(self.shl(part, by));
            }
            _ => return None,
        };
        let Node::Items(count) = self.node(items) else {
            return None;
        };
        let all = (1 << (ID_BITS * u32::from(count))) - 1;
        let wanted = (u64::from(mask) << down) as u32 & all;
        let dimension = wanted.trailing_zeros() / ID_BITS;
        if wanted == 0 {
            return Some(ZERO);
        }
        let first = ID_BITS * dimension;
        if wanted & !(ID << first) != 0 {
            return None;
        }
        let item = self.intern(Node::Item(dimension as u8));
        let own = self.and(item, wanted >> first);
        Some(match first.checked_sub(down) {
            Some(up) => self.shl(own, up),
            None => {
                let by = self.constant(down - first);
                self.binary(Binary::Shr, own, by)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_id_is_found_wherever_it_is_taken_from() {
        let mut arena = Arena::new();
        let items = arena.intern(Node::Items(3));
        let ids = [0, 1, 2].map(|dimension| arena.intern(Node::Item(dimension)));
        for (dimension, id) in (0..).zip(ids) {
            let by = arena.constant(ID_BITS * dimension);
            let down = arena.binary(Binary::Shr, items, by);
            assert_eq!(arena.and(down, ID), id, "dimension {dimension}");
        }
        assert_eq!(arena.and(items, ID), ids[0]);
        // The wave's number of the first dimension, and four times its id.
        let by = arena.constant(6);
        let wave = arena.binary(Binary::Shr, ids[0], by);
        let down = arena.binary(Binary::Shr, items, by);
        let found = arena.and(down, 15);
        let same = arena.and(wave, 15);
        let masked = arena.and(ids[0], 0x3c0);
        let masked = arena.binary(Binary::Shr, masked, by);
        assert!([same, masked].contains(&found));
        let bytes = arena.shl(items, 2);
        let four = arena.shl(ids[0], 2);
        assert_eq!(arena.and(bytes, 0xffc), four);
        // Of two dimensions at once nothing is known but the word.
        let two = arena.and(items, 0xfffff);
        let mask = arena.constant(0xfffff);
        assert_eq!(arena.node(two), Node::Binary(Binary::And, items, mask));
        // Nothing stands above them, and where a dimension is not asked for there is none.
        assert_eq!(arena.and(items, 0xc000_0000), ZERO);
        let first_two = arena.intern(Node::Items(2));
        assert_eq!(arena.and(first_two, ID << 20), ZERO);
    }
}
