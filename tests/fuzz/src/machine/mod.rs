//! Random kernels as machine code: what no compiler makes, and what it makes only of large programs.
//!
//! A kernel is a graph of blocks, each a list of items. An item begins and ends in the
//! same order of registers: pointers point into the middle of buffers, numbers and masks are anything.
//! So any item may be left out, any block may go on in any other, and EXEC may be anything: lanes that no work-item
//! has hold pointers, too, and 0. Going back costs fuel, so that kernels end.

mod divisions;
mod forms;
mod items;
mod loops;
mod print;
mod rounds;
mod sums;

pub use print::PRELUDE;

use crate::compile::Language;
use crate::hip;
use crate::program::Program;
use crate::random::Random;
use crate::scene::Scene;

/// How a block ends: the next one follows, or another one if this is so.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Exit {
    /// What a branch instruction tests; empty for none.
    condition: &'static str,
    target: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Block {
    items: Vec<String>,
    exit: Option<Exit>,
}

/// A kernel; the last block is its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    blocks: Vec<Block>,
}

const CONDITIONS: [&str; 7] = ["scc0", "scc1", "vccz", "vccnz", "execz", "execnz", ""];

impl Machine {
    /// The same kernel without the store that ends it.
    #[must_use]
    pub fn without_last_store(&self) -> Self {
        let mut machine = self.clone();
        if let Some(last) = machine.blocks.last_mut() {
            last.items.clear();
        }
        machine
    }
}

/// A kernel of some tens of instructions.
#[must_use]
pub fn kernel(random: &mut Random) -> Machine {
    let count = random.pick(&[1, 2, 3, 4, 6, 8]);
    let mut blocks = Vec::new();
    for number in 0..count {
        let mut items = Vec::new();
        for _ in 0..1 + random.below(7) {
            forms::form(random, 2, &mut items);
        }
        let exit = (count > 1 && random.chance(70)).then(|| Exit {
            condition: random.pick(&CONDITIONS),
            // Forwards more often than back.
            target: if random.chance(60) {
                number + 1 + random.below(count - number)
            } else {
                random.below(count)
            },
        });
        blocks.push(Block { items, exit });
    }
    blocks.push(Block {
        items: vec![if random.chance(50) {
            items::mark(random)
        } else {
            items::store(random)
        }],
        exit: None,
    });
    Machine { blocks }
}

/// A launch, of full waves mostly.
#[must_use]
pub fn scene(random: &mut Random) -> Scene {
    let mut scene = hip::scene(random);
    if random.chance(20) {
        return scene;
    }
    let block = scene.block[0].next_multiple_of(64);
    scene.grid[0] = scene.grid[0] / scene.block[0] * block;
    scene.block[0] = block;
    scene
}

impl Program for Machine {
    const LANGUAGE: Language = Language::Assembly;
    const PRELUDE: &'static str = PRELUDE;

    fn source(&self, name: &str) -> String {
        print::source(self, name)
    }

    fn closing(names: &[String]) -> String {
        print::metadata(names)
    }

    fn smaller(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for (at, block) in self.blocks.iter().enumerate() {
            let mut with = |change: &dyn Fn(&mut Block)| {
                let mut machine = self.clone();
                change(&mut machine.blocks[at]);
                if machine != *self {
                    all.push(machine);
                }
            };
            with(&|block| *block = Block::default());
            with(&|block| block.items.clear());
            let half = block.items.len() / 2;
            with(&|block| block.items.truncate(half));
            with(&|block| {
                block.items.drain(..half);
            });
            with(&|block| block.exit = None);
            for item in 0..block.items.len() {
                with(&|block| {
                    block.items.remove(item);
                });
            }
            let lines = |item: &str| item.lines().count();
            for item in (0..block.items.len()).filter(|&i| lines(&block.items[i]) > 1) {
                // An access may do without the instructions before it: its registers keep their order.
                with(&|block| items::simplify(&mut block.items[item]));
            }
        }
        all
    }
}
