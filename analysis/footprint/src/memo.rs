//! Launches like one before.
//!
//! Evaluation is a function of what it asks for: some words of the kernarg segment, the launch's shape, and what is
//! known of device memory. All that is kept with the answer; where it is all the same again, so is the answer. A program that
//! trains launches the same kernels with the same buffers in each step, and numbers that decide nothing (a learning rate) are
//! never asked for.
//!
//! Which words are asked for depends on what they say, but there are few *paths* through a kernel's words. So a launch is
//! looked for by the hash of its shape and of its words along each path that its kernel has been evaluated on.
//! Allocations are asked for again only when some have changed.
//!
//! Where there is no more room, one at random is forgotten. Of launches that come in turn, one more than there is room for,
//! the least recently used is the very next to come.

use std::hash::Hasher;
use std::sync::Arc;

use strobe_extent::{Access, Extent, Side};

use crate::analyse::KernelFootprint;
use crate::launch::{Launch, LaunchMemory, Word};
use crate::node::{Map, Mix};
use crate::questions::{Questions, Record};

/// Bytes of one: where it takes more, so does evaluating it again.
const LARGEST: usize = 256 << 10;
/// Paths of one kernel.
const PATHS: usize = 8;
/// Launches that differ in nothing but what is known of memory.
const ALIKE: usize = 4;
/// Of one launch, for the tables that hold it.
const OVERHEAD: usize = 64;

/// Of all kernels of a program, in one memory.
#[derive(Debug)]
pub struct LaunchMemo {
    /// Bytes that all that is kept may take.
    room: usize,
    /// By the identity of the footprint.
    kernels: Map<usize, Kernel>,
    /// By hash; those of one hash are mostly of one launch.
    kept: Map<u64, Vec<Kept>>,
    /// The hashes in `kept`, in no order.
    hashes: Vec<u64>,
    /// What is kept takes so many.
    bytes: usize,
    /// Paths so far.
    paths: u64,
    random: u64,
    /// The words of the launch that is looked for.
    words: Vec<u64>,
}

#[derive(Debug)]
struct Kernel {
    /// While it is here, no other has its identity.
    footprint: KernelFootprint,
    /// The last one that led to a launch comes first.
    paths: Vec<Path>,
}

/// Which words an evaluation has asked for.
#[derive(Debug)]
struct Path {
    /// No other path has had it.
    number: u64,
    /// Offset and bytes.
    words: Box<[(u32, u32)]>,
    /// Where the last of them ends.
    end: usize,
}

#[derive(Debug)]
struct Kept {
    path: u64,
    shape: Shape,
    /// Bytes of the kernarg segment that were given, as far as the path goes.
    given: usize,
    words: Box<[u64]>,
    questions: Questions,
    access: Arc<Access>,
}

/// What a launch has beside its arguments.
type Shape = ([u32; 3], [u32; 3], u32);

fn shape(launch: &Launch<'_>) -> Shape {
    (launch.grid, launch.block, launch.dynamic_lds)
}

impl Path {
    fn new(number: u64, words: &[Word]) -> Self {
        let end = |word: &Word| (word.offset as usize).saturating_add(word.bytes as usize);
        Self {
            number,
            end: words.iter().map(end).max().unwrap_or(0),
            words: words.iter().map(|word| (word.offset, word.bytes)).collect(),
        }
    }

    fn is_of(&self, words: &[Word]) -> bool {
        let mut pairs = self.words.iter().zip(words);
        self.words.len() == words.len()
            && pairs.all(|(mine, word)| *mine == (word.offset, word.bytes))
    }

    /// The launch's words along this path go into `words`; their hash, and how much was given.
    fn follow(&self, launch: &Launch<'_>, words: &mut Vec<u64>) -> (u64, usize) {
        let mut hash = Mix::default();
        hash.write_u64(self.number);
        let ([x, y, z], [a, b, c], lds) = shape(launch);
        for pair in [[x, y], [z, a], [b, c], [lds, 0]] {
            hash.write_u64(u64::from(pair[0]) << 32 | u64::from(pair[1]));
        }
        let given = launch.kernarg.len().min(self.end);
        hash.write_usize(given);
        words.clear();
        for &(offset, bytes) in &self.words {
            let word = Word::read(launch, offset, bytes).value.unwrap_or(0);
            hash.write_u64(word);
            words.push(word);
        }
        (hash.finish(), given)
    }
}

impl Kept {
    fn bytes(&self) -> usize {
        let runs = |side: &Side| match side {
            Side::Known(bytes) => {
                bytes.extents().runs() * size_of::<Extent>() + size_of_val(bytes.patterns())
            }
            Side::Unknown(_) => 0,
        };
        let access = size_of::<Access>() + runs(&self.access.reads) + runs(&self.access.writes);
        OVERHEAD + size_of::<Self>() + 8 * self.words.len() + self.questions.bytes() + access
    }
}

impl LaunchMemo {
    /// Has nothing yet, and keeps launches in so many bytes.
    #[must_use]
    pub fn new(room: usize) -> Self {
        Self {
            room,
            kernels: Map::default(),
            kept: Map::default(),
            hashes: Vec::new(),
            bytes: 0,
            paths: 0,
            random: 0,
            words: Vec::new(),
        }
    }

    /// [`KernelFootprint::evaluate`]. The memory is the same one in each call.
    pub fn evaluate(
        &mut self,
        footprint: &KernelFootprint,
        launch: &Launch<'_>,
        memory: &dyn LaunchMemory,
    ) -> Arc<Access> {
        if let Some(access) = footprint.unknown() {
            return Arc::clone(access);
        }
        if let Some(access) = self.find(footprint, launch, memory) {
            return access;
        }
        let record = Record::of(memory);
        let (access, words) = footprint.evaluate_noting(launch, &record);
        let access = Arc::new(access);
        if let Some(questions) = record.questions() {
            self.keep(footprint, launch, &words, questions, Arc::clone(&access));
        }
        access
    }

    fn find(
        &mut self,
        footprint: &KernelFootprint,
        launch: &Launch<'_>,
        memory: &dyn LaunchMemory,
    ) -> Option<Arc<Access>> {
        let paths = &mut self.kernels.get_mut(&footprint.identity())?.paths;
        for at in 0..paths.len() {
            let path = &paths[at];
            let (hash, given) = path.follow(launch, &mut self.words);
            let is_same = |kept: &mut Kept| {
                kept.path == path.number
                    && kept.given == given
                    && kept.shape == shape(launch)
                    && *kept.words == *self.words
                    && kept.questions.are_answered_so(memory)
            };
            for kept in self.kept.get_mut(&hash).into_iter().flatten() {
                if is_same(kept) {
                    paths.swap(0, at);
                    return Some(Arc::clone(&kept.access));
                }
            }
        }
        None
    }

    fn keep(
        &mut self,
        footprint: &KernelFootprint,
        launch: &Launch<'_>,
        words: &[Word],
        questions: Questions,
        access: Arc<Access>,
    ) {
        let path = self.path(footprint, words);
        let Some(path) = self.kernels[&footprint.identity()].paths.get(path) else {
            return;
        };
        let (hash, given) = path.follow(launch, &mut self.words);
        let kept = Kept {
            path: path.number,
            shape: shape(launch),
            given,
            words: self.words.as_slice().into(),
            questions,
            access,
        };
        let bytes = kept.bytes();
        if bytes > LARGEST.min(self.room) {
            return;
        }
        while self.bytes + bytes > self.room && !self.hashes.is_empty() {
            self.forget_one();
        }
        self.bytes += bytes;
        let one = self.random(ALIKE);
        let alike = self.kept.entry(hash).or_default();
        if alike.is_empty() {
            self.hashes.push(hash);
        }
        if alike.len() < ALIKE {
            alike.push(kept);
        } else {
            self.bytes -= std::mem::replace(&mut alike[one], kept).bytes();
        }
    }

    /// The place of the path with these words among its kernel's.
    fn path(&mut self, footprint: &KernelFootprint, words: &[Word]) -> usize {
        let one = self.random(PATHS);
        let kernel = self
            .kernels
            .entry(footprint.identity())
            .or_insert_with(|| Kernel {
                footprint: footprint.clone(),
                paths: Vec::new(),
            });
        debug_assert_eq!(kernel.footprint.identity(), footprint.identity());
        let paths = &mut kernel.paths;
        if let Some(known) = paths.iter().position(|path| path.is_of(words)) {
            return known;
        }
        self.paths += 1;
        let path = Path::new(self.paths, words);
        if paths.len() < PATHS {
            paths.push(path);
            return paths.len() - 1;
        }
        // What was kept along the old one is not found any more, and forgotten in time.
        paths[one] = path;
        one
    }

    fn forget_one(&mut self) {
        let one = self.random(self.hashes.len());
        let hash = self.hashes.swap_remove(one);
        for kept in self.kept.remove(&hash).into_iter().flatten() {
            self.bytes -= kept.bytes();
        }
    }

    /// A number below another.
    fn random(&mut self, below: usize) -> usize {
        const ODD: u64 = 0x5851_f42d_4c95_7f2d;
        self.random = self.random.wrapping_mul(ODD).wrapping_add(1);
        (self.random >> 33) as usize % below.max(1)
    }
}
