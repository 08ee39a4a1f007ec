//! Draws a kernel.

use super::node::{Mark, Node, NodeKind, ScalarType};
use super::taste::{Pointer, Statement, Taste};
use crate::random::Random;

const TYPES: [ScalarType; 8] = [
    ScalarType::I8,
    ScalarType::U8,
    ScalarType::I16,
    ScalarType::U16,
    ScalarType::I32,
    ScalarType::U32,
    ScalarType::I64,
    ScalarType::U64,
];
/// What memory is accessed as, most of the time as what it is.
const MEMORY: [ScalarType; 8] = [
    ScalarType::I8,
    ScalarType::U16,
    ScalarType::I32,
    ScalarType::I32,
    ScalarType::I32,
    ScalarType::I32,
    ScalarType::U32,
    ScalarType::I64,
];
const VARIABLES: usize = 4;
const POINTERS: usize = 3;
const LOOPS: usize = 3;
const WHILES: usize = 3;

/// A kernel of some tens of nodes.
#[must_use]
pub fn kernel(random: &mut Random) -> Node {
    let mut children = Vec::new();
    // Half of the kernels call nothing: calls make much unknown.
    let functions = if random.chance(75) {
        0
    } else {
        random.below(3)
    };
    let taste = Taste::draw(random);
    let mut kinds = Vec::new();
    for _ in 0..functions {
        let inline = random.chance(50);
        let mut draw = Draw::new(random, &taste, 4, kinds.clone());
        draw.in_function = true;
        let block = draw.block(2);
        let pointer = draw.random.chance(40);
        let (kind, value) = if pointer {
            (NodeKind::PointerFunction { inline }, draw.pointer(2))
        } else {
            (NodeKind::Function { inline }, draw.number(2))
        };
        kinds.push(pointer);
        children.push(Node::new(kind, vec![block, value]));
    }
    let budget = random.pick(&[2, 3, 4, 6, 8, 12, 20]);
    let mut draw = Draw::new(random, &taste, budget, kinds);
    let mut block = draw.block(3);
    // A kernel that stores nothing has nothing to tell.
    let last = if draw.random.chance(40) {
        draw.mark(1)
    } else {
        draw.store(2)
    };
    block.children.push(last);
    children.push(block);
    Node::new(NodeKind::Kernel, children)
}

struct Draw<'a> {
    random: &'a mut Random,
    taste: &'a Taste,
    /// Statements that may still be drawn.
    budget: usize,
    /// The functions before; whether each returns a pointer.
    functions: Vec<bool>,
    in_function: bool,
    loops: usize,
    whiles: usize,
    /// Around the place, in lambdas: 1 or more.
    lambdas: usize,
    breakable: bool,
    /// Depth of blocks.
    nested: usize,
}

impl<'a> Draw<'a> {
    fn new(random: &'a mut Random, taste: &'a Taste, budget: usize, functions: Vec<bool>) -> Self {
        Self {
            random,
            taste,
            budget,
            functions,
            in_function: false,
            loops: 0,
            whiles: 0,
            lambdas: 0,
            breakable: false,
            nested: 0,
        }
    }

    fn block(&mut self, depth: usize) -> Node {
        let mut children = Vec::new();
        let most = self.random.below(4) + if self.nested == 0 { 3 } else { 1 };
        self.nested += 1;
        while children.len() < most && self.budget > 0 {
            self.budget -= 1;
            children.push(self.statement(depth));
        }
        if self.nested > 1 && !self.in_function && self.random.chance(50) {
            children.push(self.mark(1));
        }
        self.nested -= 1;
        Node::new(NodeKind::Block, children)
    }

    fn store(&mut self, depth: usize) -> Node {
        let ty = self.random.pick(&MEMORY);
        let children = vec![self.pointer(depth), self.index(depth), self.number(depth)];
        Node::new(NodeKind::Store(ty), children)
    }

    fn mark(&mut self, depth: usize) -> Node {
        let mark = match self.random.below(3) {
            0 => Mark::Lane,
            1 if self.loops > 0 => Mark::Round(self.random.below(self.loops)),
            _ => Mark::One,
        };
        Node::new(NodeKind::Mark(mark), vec![self.number(depth)])
    }

    fn statement(&mut self, depth: usize) -> Node {
        let d = if self.random.chance(30) { 2 } else { 1 };
        if depth == 0 {
            return match self.random.below(4) {
                0 => self.set(d),
                1 => self.set_pointer(d),
                2 if !self.in_function => self.mark(d),
                _ => self.store(d),
            };
        }
        match self.taste.statement(self.random) {
            Statement::Store => self.store(d),
            Statement::Mark if !self.in_function => self.mark(d),
            Statement::StoreFour => {
                let mut children = vec![self.pointer(d), self.index(d)];
                children.extend([self.number(d), self.number(d)]);
                Node::new(NodeKind::StoreFour, children)
            }
            Statement::StoreLambda => {
                let mut children = vec![self.pointer(d), self.index(d)];
                children.extend([self.number(d), self.number(d)]);
                Node::new(NodeKind::StoreLambda, children)
            }
            Statement::Set => self.set(d),
            Statement::SetPointer => self.set_pointer(d),
            Statement::SetSlot => {
                Node::new(NodeKind::SetSlot, vec![self.index(d), self.pointer(d)])
            }
            Statement::Swap => {
                let a = self.random.below(VARIABLES);
                let b = self.random.below(VARIABLES);
                Node::leaf(NodeKind::Swap(a, b))
            }
            Statement::SwapPointers => {
                let a = self.random.below(POINTERS);
                let b = self.random.below(POINTERS);
                Node::leaf(NodeKind::SwapPointers(a, b))
            }
            Statement::If => {
                let condition = self.condition(d);
                let (then, other) = (self.block(depth - 1), self.optional(depth - 1));
                Node::new(NodeKind::If, vec![condition, then, other])
            }
            Statement::ReturnInIf => {
                let condition = self.condition(d);
                let mut then = self.optional(depth - 1);
                let leave = Node::new(NodeKind::Return, vec![self.condition(d)]);
                let at = self.random.below(then.children.len() + 1);
                then.children.insert(at, leave);
                let other = self.optional(depth - 1);
                Node::new(NodeKind::If, vec![condition, then, other])
            }
            Statement::Return => Node::new(NodeKind::Return, vec![self.condition(d)]),
            Statement::Jump if self.breakable => {
                let kind = self.random.pick(&[NodeKind::Break, NodeKind::Continue]);
                Node::new(kind, vec![self.condition(d)])
            }
            Statement::For if self.loops < LOOPS => self.counted(NodeKind::For, depth, d),
            Statement::Down if self.loops < LOOPS => self.counted(NodeKind::Down, depth, d),
            Statement::GridLoop if self.loops < LOOPS => self.counted(NodeKind::GridLoop, depth, d),
            Statement::MovingLoop if self.loops < LOOPS => {
                let op = self.random.pick(&[0, 1, 2, 5, 5]);
                let step = self.random.pick(&[1, 1, 2, 3, -1]);
                let change = self.random.pick(&[-1, 1, 1, 2, -3]);
                self.counted(|i| NodeKind::MovingLoop(i, op, step, change), depth, d)
            }
            Statement::MeetingLoop if self.loops < LOOPS => {
                let i = self.loops;
                self.loops += 1;
                let record = self.record(1);
                let mut body = self.body(depth - 1);
                if !self.in_function {
                    let number = self.number(1);
                    let mark = Node::new(NodeKind::Mark(Mark::Round(i)), vec![number]);
                    body.children.insert(0, mark);
                }
                self.loops -= 1;
                Node::new(NodeKind::MeetingLoop(i), vec![record, body])
            }
            Statement::While if self.whiles < WHILES => {
                let condition = self.condition(d);
                let w = self.whiles;
                self.whiles += 1;
                let body = self.body(depth - 1);
                self.whiles -= 1;
                Node::new(NodeKind::While(w), vec![condition, body])
            }
            Statement::Walk => {
                let step = self.random.pick(&[1, 1, 2, 3, -1, -2]);
                let mut children = vec![self.pointer(d), self.index(d)];
                children.extend([self.number(d), self.number(d)]);
                Node::new(NodeKind::Walk(step), children)
            }
            Statement::TwoEntries => {
                let mut children: Vec<Node> = (0..3).map(|_| self.condition(d)).collect();
                let was = std::mem::replace(&mut self.breakable, false);
                children.push(self.block(depth - 1));
                children.push(self.block(depth - 1));
                self.breakable = was;
                Node::new(NodeKind::TwoEntries, children)
            }
            Statement::IntoLoop => {
                let mut children = vec![self.number(d), self.condition(d)];
                children.extend((0..3).map(|_| self.body(depth - 1)));
                Node::new(NodeKind::IntoLoop, children)
            }
            Statement::Switch => {
                let mut children = vec![self.number(d)];
                let was = std::mem::replace(&mut self.breakable, false);
                children.extend((0..3).map(|_| self.block(depth - 1)));
                self.breakable = was;
                Node::new(NodeKind::Switch, children)
            }
            Statement::Atomic => {
                let kind = NodeKind::Atomic(self.random.below(6));
                Node::new(kind, vec![self.pointer(d), self.index(d), self.number(d)])
            }
            Statement::Guarded => {
                let children = vec![self.number(d), self.pointer(d), self.number(d)];
                Node::new(NodeKind::Guarded, children)
            }
            Statement::WhenKind => {
                let small = self.random.between(0, 5);
                let than = if self.random.chance(70) {
                    Node::leaf(NodeKind::Const(small))
                } else {
                    self.number(d)
                };
                let kind = NodeKind::WhenKind(self.random.pick(&[0, 1, 2, 3, 4, 4, 4, 5]));
                let children = vec![self.record(d), self.index(d), self.number(d), than];
                Node::new(kind, children)
            }
            Statement::Strided => {
                let children = vec![self.record(d), self.index(d), self.number(d)];
                Node::new(NodeKind::Strided, children)
            }
            Statement::Tagged if !self.in_function => {
                let bits = self.random.below(16) as u64;
                let children = vec![self.index(d), self.index(d), self.number(d)];
                Node::new(NodeKind::Tagged(bits), children)
            }
            Statement::Nullable => {
                let children = vec![self.record(d), self.index(d), self.number(d)];
                Node::new(NodeKind::Nullable, children)
            }
            Statement::OneBased if !self.in_function => {
                Node::new(NodeKind::OneBased, vec![self.index(d), self.number(d)])
            }
            Statement::LdsStore if !self.in_function => {
                Node::new(NodeKind::LdsStore, vec![self.index(d), self.number(d)])
            }
            Statement::Barrier if !self.in_function && self.nested == 1 => {
                Node::leaf(NodeKind::Barrier)
            }
            _ => self.store(d),
        }
    }

    /// A loop with a counter of its own.
    fn counted(&mut self, kind: impl Fn(usize) -> NodeKind, depth: usize, d: usize) -> Node {
        let bound = self.number(d);
        let i = self.loops;
        self.loops += 1;
        let body = self.body(depth - 1);
        self.loops -= 1;
        Node::new(kind(i), vec![bound, body])
    }

    fn optional(&mut self, depth: usize) -> Node {
        if self.random.chance(40) {
            self.block(depth)
        } else {
            Node::leaf(NodeKind::Block)
        }
    }

    /// Of a loop that can be left.
    fn body(&mut self, depth: usize) -> Node {
        let was = std::mem::replace(&mut self.breakable, true);
        let body = self.block(depth);
        self.breakable = was;
        body
    }

    fn set(&mut self, depth: usize) -> Node {
        let variable = self.random.below(VARIABLES);
        Node::new(NodeKind::Set(variable), vec![self.number(depth)])
    }

    fn set_pointer(&mut self, depth: usize) -> Node {
        let variable = self.random.below(POINTERS);
        Node::new(NodeKind::SetPointer(variable), vec![self.pointer(depth)])
    }

    /// A number that is often 0 and often not.
    fn condition(&mut self, depth: usize) -> Node {
        match self.random.below(11) {
            10 => {
                let op = self.random.pick(&[0, 1, 2, 3, 4, 4, 4, 5]);
                let kind = NodeKind::RecordIs(op, self.random.between(0, 5));
                Node::new(kind, vec![self.record(depth)])
            }
            0..7 => {
                let kind = NodeKind::Compare(self.random.below(6), self.random.pick(&TYPES));
                Node::new(kind, vec![self.number(depth), self.number(depth)])
            }
            7 => Node::new(
                NodeKind::SamePointer,
                vec![self.pointer(depth), self.pointer(depth)],
            ),
            8 => {
                let bits = Node::leaf(NodeKind::Const(self.random.pick(&[1, 2, 3, 4])));
                let number = self.number(depth);
                Node::new(NodeKind::Binary(3, ScalarType::I32), vec![number, bits])
            }
            _ => Node::new(NodeKind::Not, vec![self.number(depth)]),
        }
    }

    fn simple(&mut self) -> Node {
        let kind = match self.random.below(14) {
            0..3 => {
                let few = [
                    0,
                    1,
                    2,
                    3,
                    4,
                    7,
                    8,
                    16,
                    63,
                    64,
                    -1,
                    -2,
                    255,
                    1000,
                    0x7fff_ffff,
                ];
                NodeKind::Const(self.random.pick(&few))
            }
            3..6 => NodeKind::Variable(self.random.below(VARIABLES)),
            6 if self.loops > 0 => NodeKind::Loop(self.random.below(self.loops)),
            7 if self.lambdas > 0 => NodeKind::Bound,
            8..11 if self.in_function => NodeKind::Argument(6),
            8..11 => NodeKind::Argument(self.random.below(6)),
            11 => self.random.pick(&[
                NodeKind::Gid,
                NodeKind::Group,
                NodeKind::Groups,
                NodeKind::GroupSize,
            ]),
            _ => NodeKind::Tid,
        };
        Node::leaf(kind)
    }

    fn number(&mut self, depth: usize) -> Node {
        if depth == 0 {
            return self.simple();
        }
        let d = depth - 1;
        match self.random.below(100) {
            0..30 => self.simple(),
            30..50 => {
                let ty = match self.random.below(20) {
                    0 => ScalarType::F32,
                    1..4 => self.random.pick(&TYPES),
                    _ => ScalarType::I32,
                };
                let kind = NodeKind::Binary(self.random.below(10), ty);
                Node::new(kind, vec![self.number(d), self.number(d)])
            }
            50..64 => {
                let ty = self.random.pick(&MEMORY);
                Node::new(NodeKind::Load(ty), vec![self.pointer(d), self.index(d)])
            }
            64..70 => {
                let ty = self.random.pick(&TYPES);
                Node::new(NodeKind::Cast(ty), vec![self.number(d)])
            }
            70..74 => {
                let children = vec![self.condition(d), self.number(d), self.number(d)];
                Node::new(NodeKind::Choose, children)
            }
            75..79 => self.condition(d),
            79 => Node::new(NodeKind::Negate, vec![self.number(d)]),
            80..82 => Node::new(NodeKind::Shuffle, vec![self.number(d), self.index(d)]),
            74 => Node::new(NodeKind::Hidden, vec![self.number(d)]),
            82 => Node::new(NodeKind::FirstLane, vec![self.number(d)]),
            83 => Node::new(NodeKind::Ballot, vec![self.condition(d)]),
            84..87 if !self.in_function => Node::new(NodeKind::LdsLoad, vec![self.index(d)]),
            87..91 => Node::new(NodeKind::RecordNumber, vec![self.record(d)]),
            91..94 => self.call(d, false),
            94..96 if self.lambdas == 0 => {
                self.lambdas += 1;
                let body = self.number(d);
                self.lambdas -= 1;
                Node::new(NodeKind::Lambda, vec![body, self.number(d)])
            }
            96 => {
                let kind = NodeKind::AtomicResult(self.random.below(6));
                Node::new(kind, vec![self.pointer(d), self.index(d), self.number(d)])
            }
            _ => self.simple(),
        }
    }

    fn call(&mut self, depth: usize, pointer: bool) -> Node {
        let fitting: Vec<usize> = (0..self.functions.len())
            .filter(|&f| self.functions[f] == pointer)
            .collect();
        if fitting.is_empty() {
            return if pointer {
                self.pointer(depth)
            } else {
                self.number(depth)
            };
        }
        let f = self.random.pick(&fitting);
        let kind = if pointer {
            NodeKind::CallPointer(f)
        } else {
            NodeKind::Call(f)
        };
        let mut children = vec![self.pointer(depth), self.pointer(depth)];
        children.extend([self.number(depth), self.record(depth)]);
        Node::new(kind, children)
    }

    fn index(&mut self, depth: usize) -> Node {
        let d = depth.saturating_sub(1);
        match self.random.below(25) {
            24 => Node::new(NodeKind::Opaque, vec![self.number(d)]),
            20 => Node::new(NodeKind::Clamped, vec![self.number(d)]),
            21 => Node::new(NodeKind::Cell, vec![self.number(d), self.number(d)]),
            22 if depth > 0 => {
                let by = self.random.pick(&[2, 3, 7, -3, 64]);
                Node::new(NodeKind::Divided(by), vec![self.index(d)])
            }
            23 if depth > 0 => Node::new(NodeKind::RecordIndex, vec![self.record(d)]),
            0..6 => Node::leaf(NodeKind::Own(self.random.chance(50))),
            6..10 => Node::new(NodeKind::Masked, vec![self.number(d)]),
            10 => Node::new(NodeKind::Modulo, vec![self.number(d)]),
            11 => Node::new(NodeKind::Least, vec![self.number(d)]),
            12 => Node::new(NodeKind::Signed, vec![self.number(d)]),
            13..15 if !self.in_function => Node::leaf(NodeKind::Small),
            15 if self.loops > 0 => Node::leaf(NodeKind::LoopIndex(self.random.below(self.loops))),
            16 if depth > 0 => Node::new(NodeKind::Minus, vec![self.index(d)]),
            17..=19 if depth > 0 => {
                let more = self.random.pick(&[1, 2, -1, -4, 8, 64]);
                Node::new(NodeKind::Plus(more), vec![self.index(d)])
            }
            _ => Node::new(NodeKind::Masked, vec![self.simple()]),
        }
    }

    fn pointer(&mut self, depth: usize) -> Node {
        let d = depth.saturating_sub(1);
        let simple = Node::leaf(match self.random.below(3) {
            0 => NodeKind::PointerVariable(self.random.below(POINTERS)),
            _ if self.in_function => NodeKind::Parameter(5 + self.random.below(2)),
            _ => NodeKind::Parameter(self.random.below(5)),
        });
        match self.taste.pointer(self.random) {
            Pointer::Variable => Node::leaf(NodeKind::PointerVariable(self.random.below(POINTERS))),
            Pointer::TableEntry if !self.in_function && depth > 0 => {
                Node::new(NodeKind::TableEntry, vec![self.index(d)])
            }
            Pointer::Record if depth > 0 => {
                Node::new(NodeKind::RecordPointer, vec![self.record(d)])
            }
            Pointer::Choose if depth > 0 => {
                let children = vec![self.condition(d), self.pointer(d), self.pointer(d)];
                Node::new(NodeKind::ChoosePointer, children)
            }
            Pointer::Advance if depth > 0 => {
                Node::new(NodeKind::Advance, vec![self.pointer(d), self.index(d)])
            }
            Pointer::ThereAndBack if depth > 0 => {
                let kind = NodeKind::ThereAndBack(self.random.chance(70));
                Node::new(kind, vec![self.pointer(d), self.pointer(d)])
            }
            Pointer::Call if depth > 0 => self.call(d, true),
            Pointer::Slot => Node::new(NodeKind::Slot, vec![self.index(d)]),
            _ => simple,
        }
    }

    fn record(&mut self, depth: usize) -> Node {
        let d = depth.saturating_sub(1);
        match self.random.below(if depth > 0 { 10 } else { 8 }) {
            0..8 if self.in_function => Node::leaf(NodeKind::FunctionRecord),
            0..4 => Node::new(NodeKind::TableRecord, vec![self.index(d)]),
            4..8 => Node::new(NodeKind::ParameterRecord, vec![self.index(d)]),
            _ => {
                let children = vec![self.condition(d), self.record(d), self.record(d)];
                Node::new(NodeKind::ChooseRecord, children)
            }
        }
    }
}
