//! Launches like one before.
//!
//! Evaluation is a function of what it asks for: some dwords of the kernarg segment, the launch's shape, and what is
//! known of device memory. All that is kept with the answer; where it is all the same again, so is the answer. A program that
//! trains launches the same kernels with the same buffers in each step, and numbers that decide nothing (a learning rate) are
//! never asked for.

use std::cell::RefCell;
use std::collections::{HashSet, VecDeque};

use strobe_extent::{Access, Extent};

use crate::analyse::KernelFootprint;
use crate::launch::{Launch, LaunchMemory, Word};

/// Launches of one kernel that are kept: each layer of a network has its own.
const MOST: usize = 32;
/// Questions about memory of one that is kept: more take as long as evaluation.
const QUESTIONS: usize = 512;
/// Bytes of device memory that its answers hold, at most.
const BYTES: usize = 16 << 10;

/// Of one kernel.
#[derive(Debug, Default)]
pub struct LaunchMemo {
    /// The last that was asked for comes first.
    kept: VecDeque<Kept>,
}

#[derive(Debug)]
struct Kept {
    shape: Shape,
    words: Vec<Word>,
    questions: HashSet<Question>,
    access: Access,
}

/// What a launch has beside its arguments.
type Shape = ([u32; 3], [u32; 3], u32);

/// With its answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Question {
    Allocation(u64, Option<Extent>),
    IsAllocated(Extent, bool),
    Bytes(u64, usize, Option<Vec<u8>>),
}

impl Question {
    fn is_answered_so(&self, memory: &dyn LaunchMemory) -> bool {
        match self {
            Self::Allocation(address, answer) => memory.allocation(*address) == *answer,
            Self::IsAllocated(extent, answer) => memory.is_allocated(*extent) == *answer,
            Self::Bytes(address, len, answer) => memory.known_bytes(*address, *len) == *answer,
        }
    }
}

/// Notes what is asked.
struct Asked<'a> {
    memory: &'a dyn LaunchMemory,
    questions: RefCell<Questions>,
}

/// Each once; none any more once they are too many.
#[derive(Default)]
struct Questions {
    all: HashSet<Question>,
    bytes: usize,
    are_too_many: bool,
}

impl Questions {
    fn note(&mut self, question: Question) {
        if self.are_too_many {
            return;
        }
        let bytes = match &question {
            Question::Bytes(_, _, Some(bytes)) => bytes.len(),
            _ => 0,
        };
        if self.all.insert(question) {
            self.bytes += bytes;
        }
        self.are_too_many = self.all.len() > QUESTIONS || self.bytes > BYTES;
    }
}

impl Asked<'_> {
    fn note(&self, question: Question) {
        self.questions.borrow_mut().note(question);
    }
}

impl LaunchMemory for Asked<'_> {
    fn allocation(&self, addr: u64) -> Option<Extent> {
        let answer = self.memory.allocation(addr);
        self.note(Question::Allocation(addr, answer));
        answer
    }

    fn is_allocated(&self, extent: Extent) -> bool {
        let answer = self.memory.is_allocated(extent);
        self.note(Question::IsAllocated(extent, answer));
        answer
    }

    fn known_bytes(&self, addr: u64, len: usize) -> Option<Vec<u8>> {
        let answer = self.memory.known_bytes(addr, len);
        self.note(Question::Bytes(addr, len, answer.clone()));
        answer
    }
}

fn shape(launch: &Launch<'_>) -> Shape {
    (launch.grid, launch.block, launch.dynamic_lds)
}

impl Kept {
    fn is_of(&self, launch: &Launch<'_>, memory: &dyn LaunchMemory) -> bool {
        let is_same = |word: &Word| Word::read(launch, word.offset, word.bytes) == *word;
        self.shape == shape(launch)
            && self.words.iter().all(is_same)
            && self
                .questions
                .iter()
                .all(|asked| asked.is_answered_so(memory))
    }
}

impl LaunchMemo {
    /// [`KernelFootprint::evaluate`] of this memo's kernel.
    pub fn evaluate(
        &mut self,
        footprint: &KernelFootprint,
        launch: &Launch<'_>,
        memory: &dyn LaunchMemory,
    ) -> Access {
        let same = self.kept.iter().position(|kept| kept.is_of(launch, memory));
        if let Some(kept) = same.and_then(|at| self.kept.remove(at)) {
            let access = kept.access.clone();
            self.kept.push_front(kept);
            return access;
        }
        let asked = Asked {
            memory,
            questions: RefCell::default(),
        };
        let (access, words) = footprint.evaluate_noting(launch, &asked);
        let questions = asked.questions.into_inner();
        if !questions.are_too_many {
            self.kept.truncate(MOST - 1);
            self.kept.push_front(Kept {
                shape: shape(launch),
                words,
                questions: questions.all,
                access: access.clone(),
            });
        }
        access
    }
}
