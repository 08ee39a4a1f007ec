//! What an evaluation has asked about device memory, and whether the answers are still the same.

use std::cell::RefCell;

use strobe_extent::Extent;

use crate::launch::LaunchMemory;

/// Questions about allocations that are kept; more are asked again by an evaluation as fast.
const ALLOCATIONS: usize = 512;
/// Questions about contents.
const CONTENTS: usize = 256;
/// Bytes that are known in answer to them.
const BYTES: usize = 64 << 10;

/// Each with its answer.
#[derive(Debug)]
pub(crate) struct Questions {
    /// None where they were too many: then they hold in one epoch only.
    allocations: Option<Box<[Allocation]>>,
    contents: Box<[Content]>,
    /// The last in which the answers about allocations were these.
    epoch: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Allocation {
    At(u64, Option<Extent>),
    Any(Extent, bool),
}

#[derive(Debug, PartialEq, Eq)]
struct Content {
    address: u64,
    len: usize,
    known: Option<Box<[u8]>>,
}

impl Allocation {
    fn is_answered_so(&self, memory: &dyn LaunchMemory) -> bool {
        match *self {
            Self::At(address, answer) => memory.allocation(address) == answer,
            Self::Any(extent, answer) => memory.is_allocated(extent) == answer,
        }
    }
}

impl Content {
    fn is_answered_so(&self, memory: &dyn LaunchMemory) -> bool {
        match &self.known {
            Some(known) => memory.is_known_as(self.address, known),
            None => memory.known_bytes(self.address, self.len).is_none(),
        }
    }
}

impl Questions {
    /// Whether all answers are what they were.
    pub(crate) fn are_answered_so(&mut self, memory: &dyn LaunchMemory) -> bool {
        let epoch = memory.allocations_epoch();
        if epoch.is_none() || epoch != self.epoch {
            let Some(allocations) = &self.allocations else {
                return false;
            };
            if !allocations.iter().all(|one| one.is_answered_so(memory)) {
                return false;
            }
            self.epoch = epoch;
        }
        self.contents.iter().all(|one| one.is_answered_so(memory))
    }

    /// On the heap.
    pub(crate) fn bytes(&self) -> usize {
        let allocations = self.allocations.as_ref().map_or(0, |all| all.len());
        let known = self.contents.iter().flat_map(|one| &one.known);
        let known: usize = known.map(|known| known.len()).sum();
        allocations * size_of::<Allocation>() + size_of_val(&*self.contents) + known
    }
}

/// Asks, and takes note.
pub(crate) struct Record<'a> {
    memory: &'a dyn LaunchMemory,
    noted: RefCell<Noted>,
}

#[derive(Default)]
struct Noted {
    allocations: Vec<Allocation>,
    too_many_allocations: bool,
    contents: Vec<Content>,
    known: usize,
    too_many_contents: bool,
}

impl<'a> Record<'a> {
    pub(crate) fn of(memory: &'a dyn LaunchMemory) -> Self {
        Self {
            memory,
            noted: RefCell::default(),
        }
    }

    /// None where nobody could tell later whether the answers are the same.
    pub(crate) fn questions(self) -> Option<Questions> {
        let mut noted = self.noted.into_inner();
        noted.tidy();
        let epoch = self.memory.allocations_epoch();
        let lasts = !noted.too_many_allocations || epoch.is_some();
        (lasts && !noted.too_many_contents).then(|| Questions {
            allocations: (!noted.too_many_allocations).then(|| noted.allocations.into()),
            contents: noted.contents.into(),
            epoch,
        })
    }

    fn note(&self, allocation: Allocation) {
        let noted = &mut *self.noted.borrow_mut();
        if noted.too_many_allocations || noted.allocations.last() == Some(&allocation) {
            return;
        }
        if noted.allocations.len() == 2 * ALLOCATIONS {
            noted.tidy();
        }
        if !noted.too_many_allocations {
            noted.allocations.push(allocation);
        }
    }
}

impl Noted {
    /// Each once.
    fn tidy(&mut self) {
        self.allocations.sort_unstable();
        self.allocations.dedup();
        if self.allocations.len() > ALLOCATIONS {
            self.too_many_allocations = true;
            self.allocations.clear();
        }
    }
}

impl LaunchMemory for Record<'_> {
    fn allocation(&self, addr: u64) -> Option<Extent> {
        let answer = self.memory.allocation(addr);
        self.note(Allocation::At(addr, answer));
        answer
    }

    fn is_allocated(&self, extent: Extent) -> bool {
        let answer = self.memory.is_allocated(extent);
        self.note(Allocation::Any(extent, answer));
        answer
    }

    fn known_bytes(&self, addr: u64, len: usize) -> Option<Vec<u8>> {
        let answer = self.memory.known_bytes(addr, len);
        let noted = &mut *self.noted.borrow_mut();
        if noted.too_many_contents {
            return answer;
        }
        let content = Content {
            address: addr,
            len,
            known: answer.as_deref().map(Box::from),
        };
        if !noted.contents.contains(&content) {
            noted.known += answer.as_ref().map_or(0, Vec::len);
            noted.contents.push(content);
            noted.too_many_contents = noted.contents.len() > CONTENTS || noted.known > BYTES;
            if noted.too_many_contents {
                noted.contents.clear();
            }
        }
        answer
    }
}
