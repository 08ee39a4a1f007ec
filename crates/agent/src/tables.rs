//! What is known of the content of small device buffers: tables of pointers that kernels follow.
//!
//! Content becomes known when the program copies it there from the host and the copy is over. It
//! stays known as long as nothing that may have written it was enqueued since, "may write anything"
//! included, in the order of the calls. At a cut nothing is under way, so what was known once can be
//! looked up again.

use std::collections::BTreeMap;
use strobe_extent::{Extent, Side};

/// The longest copy that is looked at, in bytes.
pub(crate) const LONGEST_TABLE: u64 = 16 << 10;
/// All tables together, in bytes.
const ALL_TABLES: u64 = 16 << 20;

/// Tables by address. Entries do not overlap.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    by_start: BTreeMap<u64, Table>,
    bytes: u64,
}

#[derive(Debug)]
struct Table {
    content: Box<[u8]>,
    /// Whether nothing may have written it since.
    known: bool,
}

impl Tables {
    /// `content` is at `address` now.
    pub(crate) fn learn(&mut self, address: u64, content: &[u8]) {
        let Ok(extent) = Extent::with_len(address, content.len() as u64) else {
            return;
        };
        for start in self.touching(extent) {
            self.remove(start);
        }
        if extent.len() > LONGEST_TABLE {
            return;
        }
        if self.bytes + extent.len() > ALL_TABLES {
            self.clear();
        }
        self.bytes += extent.len();
        let table = Table {
            content: content.into(),
            known: true,
        };
        self.by_start.insert(address, table);
    }

    /// Something that may write `writes` was enqueued.
    pub(crate) fn written(&mut self, writes: &Side) {
        match writes.extents() {
            None => self
                .by_start
                .values_mut()
                .for_each(|table| table.known = false),
            Some(set) => {
                for extent in set.iter() {
                    for start in self.touching(extent) {
                        if let Some(table) = self.by_start.get_mut(&start) {
                            table.known = false;
                        }
                    }
                }
            }
        }
    }

    /// `extent` was freed.
    pub(crate) fn freed(&mut self, extent: Extent) {
        let tables = self.by_start.range(extent.start()..extent.end());
        let gone: Vec<u64> = tables.map(|(start, _)| *start).collect();
        for start in gone {
            self.remove(start);
        }
    }

    /// The content of `[address, address + len)`, if all of it is known.
    pub(crate) fn known(&self, address: u64, len: usize) -> Option<Vec<u8>> {
        let (start, table) = self.by_start.range(..=address).next_back()?;
        let from = usize::try_from(address - start).ok()?;
        let bytes = table.content.get(from..from.checked_add(len)?)?;
        table.known.then(|| bytes.to_vec())
    }

    /// Nothing is under way: reads what is not known any more. `read` fills a buffer with what is at
    /// an address, if it can.
    pub(crate) fn look_up_again(&mut self, mut read: impl FnMut(u64, &mut [u8]) -> bool) {
        for (start, table) in &mut self.by_start {
            if !table.known {
                table.known = read(*start, &mut table.content);
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        self.by_start.clear();
        self.bytes = 0;
    }

    /// The starts of the tables that share a byte with `extent`.
    fn touching(&self, extent: Extent) -> Vec<u64> {
        // No table is longer than LONGEST_TABLE, so none that starts earlier reaches `extent`.
        let from = extent.start().saturating_sub(LONGEST_TABLE);
        self.by_start
            .range(from..extent.end())
            .filter(|(start, table)| *start + table.content.len() as u64 > extent.start())
            .map(|(start, _)| *start)
            .collect()
    }

    fn remove(&mut self, start: u64) {
        if let Some(table) = self.by_start.remove(&start) {
            self.bytes -= table.content.len() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_extent::Reason;

    fn side(start: u64, len: u64) -> Side {
        Extent::with_len(start, len).unwrap().into()
    }

    #[test]
    fn known_until_something_may_have_written_it() {
        let mut tables = Tables::default();
        tables.learn(0x1000, &[1, 2, 3, 4]);
        tables.learn(0x2000, &[5, 6]);
        assert_eq!(tables.known(0x1001, 2), Some(vec![2, 3]));
        assert_eq!(tables.known(0x1002, 3), None, "one byte beyond");
        tables.written(&side(0x1004, 0x100));
        assert!(tables.known(0x1000, 4).is_some(), "next to it is not in it");
        tables.written(&side(0x1003, 1));
        assert_eq!(tables.known(0x1000, 1), None);
        assert!(tables.known(0x2000, 2).is_some());
        tables.written(&Side::Unknown(Reason::NotAnalysed));
        assert_eq!(tables.known(0x2000, 2), None);
    }

    #[test]
    fn a_new_copy_replaces_what_it_overlaps() {
        let mut tables = Tables::default();
        tables.learn(0x1000, &[1; 16]);
        tables.learn(0x1008, &[2; 16]);
        assert_eq!(tables.known(0x1000, 4), None);
        assert_eq!(tables.known(0x1008, 16), Some(vec![2; 16]));
        tables.learn(0x1000, &vec![3; LONGEST_TABLE as usize + 1]);
        assert_eq!(
            tables.known(0x1008, 1),
            None,
            "overwritten by content that is not kept"
        );
    }

    #[test]
    fn at_a_cut_what_was_known_once_is_read_again() {
        let mut tables = Tables::default();
        tables.learn(0x1000, &[1, 2]);
        tables.learn(0x2000, &[3, 4]);
        tables.learn(0x3000, &[5, 6]);
        tables.written(&Side::Unknown(Reason::NotAnalysed));
        tables.freed(Extent::with_len(0x2000, 0x100).unwrap());
        let mut asked = Vec::new();
        tables.look_up_again(|address, content| {
            asked.push(address);
            content.fill(9);
            address == 0x1000
        });
        assert_eq!(asked, [0x1000, 0x3000], "what is freed is not read");
        assert_eq!(tables.known(0x1000, 2), Some(vec![9, 9]));
        assert_eq!(tables.known(0x3000, 2), None, "it could not be read");
    }
}
