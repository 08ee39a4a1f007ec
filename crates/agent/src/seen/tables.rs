//! What is known of the content of small device buffers: tables of pointers that kernels follow.
//!
//! Content becomes known when the program copies it there from the host and the copy is over. It
//! stays known as long as nothing that may have written it was enqueued since, "may write anything"
//! included, in the order of the calls. At a cut nothing is under way, so what was known once is
//! looked up again, all of it.
//!
//! The program's CPU writes device memory as well, where a large BAR maps it, and nobody sees that:
//! a host callback may fill a table after the launch that follows it. Before a cut that makes a
//! prediction wrong and no image. From the cut on footprints decide what is kept, so then a table
//! that the CPU can reach is not known.

use std::collections::BTreeMap;
use strobe_extent::{Extent, Side, Strided};

/// The longest copy that is looked at, in bytes.
pub(crate) const LONGEST_TABLE: u64 = 16 << 10;
/// All tables together, in bytes.
const ALL_TABLES: u64 = 16 << 20;

/// Tables by address. Entries do not overlap.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    by_start: BTreeMap<u64, Table>,
    bytes: u64,
    /// Whether images depend on what is known: a checkpoint is being copied.
    must_be_right: bool,
}

#[derive(Debug)]
struct Table {
    content: Box<[u8]>,
    /// Whether nothing that was enqueued may have written it since.
    known: bool,
    /// Whether the CPU can reach it.
    mapped: bool,
}

/// How tables are looked up in the program's memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// Fills a buffer with what is at an address, if the CPU can read it there.
    pub read: fn(u64, &mut [u8]) -> bool,
    /// Whether the CPU can reach an address.
    pub is_mapped: fn(u64) -> bool,
}

impl Tables {
    /// `content` is at `address` now; `mapped` says whether the CPU can reach it there.
    pub(crate) fn learn(&mut self, address: u64, content: &[u8], mapped: bool) {
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
            mapped,
        };
        self.by_start.insert(address, table);
    }

    /// Something that may write `writes` was enqueued.
    pub(crate) fn written(&mut self, writes: &Side) {
        match writes.known() {
            None => self
                .by_start
                .values_mut()
                .for_each(|table| table.known = false),
            Some(bytes) => {
                let patterns = bytes.patterns().iter().map(Strided::hull);
                for near in bytes.extents().iter().chain(patterns) {
                    for start in self.touching(near) {
                        if let Some(table) = self.by_start.get_mut(&start) {
                            let len = table.content.len() as u64;
                            let own = Extent::with_len(start, len);
                            table.known &= own.is_ok_and(|own| !bytes.overlaps(own));
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
        let known = table.known && !(self.must_be_right && table.mapped);
        known.then(|| bytes.to_vec())
    }

    /// Nothing is under way: reads everything again that can be read.
    pub(crate) fn look_up_again(&mut self, look: Look) {
        for (start, table) in &mut self.by_start {
            table.mapped = (look.is_mapped)(*start);
            if table.mapped {
                table.known = (look.read)(*start, &mut table.content);
            }
        }
    }

    /// From now on, or no longer, images depend on what is known.
    pub(crate) fn must_be_right(&mut self, must: bool) {
        self.must_be_right = must;
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
    use strobe_extent::{Cover, Reason};

    fn side(start: u64, len: u64) -> Side {
        Extent::with_len(start, len).unwrap().into()
    }

    #[test]
    fn known_until_something_may_have_written_it() {
        let mut tables = Tables::default();
        tables.learn(0x1000, &[1, 2, 3, 4], false);
        tables.learn(0x2000, &[5, 6], false);
        assert_eq!(tables.known(0x1001, 2), Some(vec![2, 3]));
        assert_eq!(tables.known(0x1002, 3), None, "one byte beyond");
        tables.written(&side(0x1004, 0x100));
        assert!(tables.known(0x1000, 4).is_some(), "next to it is not in it");
        tables.written(&side(0x1003, 1));
        assert_eq!(tables.known(0x1000, 1), None);
        let every_other = |start| {
            let mut side = Side::none();
            side.insert_cover(Cover::new(start, 2, [(4, 100)]).unwrap());
            side
        };
        tables.written(&every_other(0x1ff2));
        assert!(tables.known(0x2000, 2).is_some(), "between two blocks");
        tables.written(&every_other(0x1ff0));
        assert_eq!(tables.known(0x2000, 2), None);
        tables.learn(0x2000, &[5, 6], false);
        tables.written(&Side::Unknown(Reason::NotAnalysed));
        assert_eq!(tables.known(0x2000, 2), None);
    }

    #[test]
    fn a_new_copy_replaces_what_it_overlaps() {
        let mut tables = Tables::default();
        tables.learn(0x1000, &[1; 16], false);
        tables.learn(0x1008, &[2; 16], false);
        assert_eq!(tables.known(0x1000, 4), None);
        assert_eq!(tables.known(0x1008, 16), Some(vec![2; 16]));
        tables.learn(0x1000, &vec![3; LONGEST_TABLE as usize + 1], false);
        assert_eq!(
            tables.known(0x1008, 1),
            None,
            "overwritten by content that is not kept"
        );
    }

    #[test]
    fn at_a_cut_all_that_can_be_read_is_read_again() {
        let mut tables = Tables::default();
        tables.learn(0x1000, &[1, 2], true);
        tables.learn(0x2000, &[3, 4], true);
        tables.learn(0x3000, &[5, 6], false);
        tables.learn(0x4000, &[7, 8], false);
        tables.written(&side(0x3000, 1));
        tables.freed(Extent::with_len(0x2000, 0x100).unwrap());
        tables.look_up_again(Look {
            read: |address, content| {
                assert_eq!(address, 0x1000, "what is freed or private is not read");
                content.fill(9);
                true
            },
            is_mapped: |address| address < 0x3000,
        });
        assert_eq!(
            tables.known(0x1000, 2),
            Some(vec![9, 9]),
            "written by the CPU"
        );
        assert_eq!(tables.known(0x3000, 2), None, "it could not be read");
        assert_eq!(tables.known(0x4000, 2), Some(vec![7, 8]));
    }

    #[test]
    fn while_images_depend_on_it_what_the_cpu_can_write_is_not_known() {
        let mut tables = Tables::default();
        tables.learn(0x1000, &[1, 2], true);
        tables.must_be_right(true);
        tables.learn(0x2000, &[3, 4], true);
        tables.learn(0x3000, &[5, 6], false);
        let known = |tables: &Tables| {
            [0x1000, 0x2000, 0x3000].map(|address| tables.known(address, 2).is_some())
        };
        assert_eq!(known(&tables), [false, false, true]);
        tables.must_be_right(false);
        assert_eq!(known(&tables), [true; 3]);
    }
}
