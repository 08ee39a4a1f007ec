//! In which order memory is used after a cut: a program that is restored from it uses its memory likewise.

use strobe_extent::{ChunkIndex, ChunkMap, Extent, Side};

/// Takes note of the chunks that operations touch, each when it is touched first.
#[derive(Clone, Debug)]
pub struct FirstUse {
    map: ChunkMap,
    is_used: Vec<bool>,
    order: Vec<ChunkIndex>,
}

impl FirstUse {
    /// Nothing of these chunks has been used.
    pub fn new(map: ChunkMap) -> FirstUse {
        FirstUse {
            is_used: vec![false; map.len()],
            order: Vec::new(),
            map,
        }
    }

    /// An operation is next that may read, or write, this. What may touch anything says nothing.
    pub fn touched(&mut self, side: &Side) {
        let Side::Known(bytes) = side else { return };
        if self.order.len() == self.map.len() {
            return;
        }
        for chunk in self.map.touching_any_of(bytes) {
            if !std::mem::replace(&mut self.is_used[chunk.0 as usize], true) {
                self.order.push(chunk);
            }
        }
    }

    /// What was used, in its order, in no more than so many extents.
    pub fn order(&self, most: usize) -> Vec<Extent> {
        let mut order: Vec<Extent> = Vec::new();
        for chunk in &self.order {
            let extent = self.map.extent(*chunk);
            let joined = order.last().filter(|last| last.end() == extent.start());
            match joined.and_then(|last| Extent::new(last.start(), extent.end()).ok()) {
                Some(both) => {
                    order.pop();
                    order.push(both);
                }
                None if order.len() == most => break,
                None => order.push(extent),
            }
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_extent::{Access, Reason};

    fn extent(start: u64, end: u64) -> Extent {
        Extent::new(start, end).unwrap()
    }

    #[test]
    fn chunks_come_in_the_order_of_their_first_use() {
        let map = ChunkMap::new([extent(0x10000, 0x18000)], 0x1000).unwrap();
        let mut used = FirstUse::new(map);
        let side = |start, end| Side::from(extent(start, end));
        used.touched(&side(0x14800, 0x16001));
        used.touched(&Access::unknown(Reason::Budget).reads);
        used.touched(&Side::none());
        used.touched(&side(0x10000, 0x10001));
        used.touched(&side(0x13000, 0x15000));
        let expected = [
            extent(0x14000, 0x17000),
            extent(0x10000, 0x11000),
            extent(0x13000, 0x14000),
        ];
        assert_eq!(used.order(10), expected);
        assert_eq!(used.order(2), expected[..2]);
    }
}
