//! The tree of a kernel. It is uniform, so that the shrinker needs no knowledge of its parts.

/// What a node stands for in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    Function,
    Block,
    Statement,
    /// A number of any size.
    Number,
    /// A number that is small enough to be an index of any pointer.
    Index,
    Pointer,
    /// A record: a pointer and a number.
    Record,
}

/// Width and signedness of a number in memory or in arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarType {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
}

/// Which words a mark writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    One,
    /// One for each lane.
    Lane,
    /// One for each round of a loop.
    Round(usize),
}

/// What a node is. In the comments: its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// The kernel: functions, then its block.
    Kernel,
    /// `int f(int* fp, int* fq, int fx, Record fr)`: block, number.
    Function {
        inline: bool,
    },
    /// `int* g(int* fp, int* fq, int fx, Record fr)`: block, pointer.
    PointerFunction {
        inline: bool,
    },
    /// Any number of statements.
    Block,

    /// Pointer, index, number.
    Store(ScalarType),
    /// Four ints at once: pointer, index, two numbers.
    StoreFour,
    /// Twice through a lambda that holds the pointer: pointer, index, number, number.
    StoreLambda,
    /// A word that nothing else writes: a number. It tells that the place is reached, and by what.
    Mark(Mark),
    /// A number goes into a variable.
    Set(usize),
    /// A pointer goes into a variable.
    SetPointer(usize),
    /// A pointer goes into an element of the private array: index, pointer.
    SetSlot,
    Swap(usize, usize),
    SwapPointers(usize, usize),
    /// Number, block, block.
    If,
    /// `for (i = 0; i < bound; ++i)`: number, block.
    For(usize),
    /// `for (i = bound; i-- > 0;)`: number, block.
    Down(usize),
    /// Each work-item's part of a range: number, block.
    GridLoop(usize),
    /// A loop whose bound moves while it runs: comparison, step, change of the bound; number, block.
    MovingLoop(usize, usize, i64, i64),
    /// A loop that ends when its counter meets a bound that is read anew: record, block.
    MeetingLoop(usize),
    /// A loop that goes on while a number is not 0, at most some times: number, block.
    While(usize),
    /// Leaves the loop if: number.
    Break,
    /// Goes on with the loop if: number.
    Continue,
    /// Ends the kernel or function if: number.
    Return,
    /// A loop with two entries: numbers for which entry and how it goes on, two blocks.
    TwoEntries,
    /// A switch into the middle of a loop: two numbers, three blocks.
    IntoLoop,
    /// Number, three blocks.
    Switch,
    /// Stores along a stretch by a pointer that goes to its end: step; pointer, index, two numbers.
    Walk(i64),
    /// Pointer, index, number; the operation by number.
    Atomic(usize),
    /// Index, number.
    LdsStore,
    Barrier,
    /// Stores through a pointer if a number (first) is within bounds: number, pointer, number.
    Guarded,
    /// Stores through a record's pointer if its number compares so: record, index, number, number.
    WhenKind(usize),
    /// Stores with a record's number as the stride, if that is small: record, index, number.
    Strided,
    /// Stores through a word of memory if it is a pointer, plain or tagged: index, index, number.
    Tagged(u64),
    /// Stores through a record's pointer if it has one: record, index, number.
    Nullable,
    /// One-based: pointer to the element before the first, index, number.
    OneBased,

    Const(i64),
    Variable(usize),
    Loop(usize),
    /// A number among the parameters.
    Argument(usize),
    Tid,
    Gid,
    Group,
    Groups,
    GroupSize,
    /// The parameter of the lambda around.
    Bound,
    /// Pointer, index.
    Load(ScalarType),
    /// Record.
    RecordNumber,
    /// Two numbers.
    Binary(usize, ScalarType),
    /// Two numbers.
    Compare(usize, ScalarType),
    /// A record's number, all of it, with a constant: comparison, constant; record.
    RecordIs(usize, i64),
    /// Number.
    Not,
    /// Number.
    Negate,
    /// Number.
    Cast(ScalarType),
    /// Three numbers.
    Choose,
    /// Number, index of a lane.
    Shuffle,
    /// A number that the compiler knows nothing about: number.
    Hidden,
    /// Number.
    FirstLane,
    /// Number.
    Ballot,
    /// Index.
    LdsLoad,
    /// Pointer, pointer, number, record.
    Call(usize),
    /// `([&](int x) { return body; })(argument)`: body, argument.
    Lambda,
    /// Pointer, pointer.
    SamePointer,
    /// Pointer, index, number; the operation by number.
    AtomicResult(usize),

    /// Number cut to 0..64.
    Masked,
    /// The same, through another lane's eyes: nobody knows that it is small.
    Opaque,
    /// Number, modulo 61.
    Modulo,
    /// The lesser of a number and 63.
    Least,
    /// A number within -20 and 60.
    Clamped,
    /// A row and a column: two numbers.
    Cell,
    /// An index, divided.
    Divided(i64),
    /// A record's number cut to 0..32.
    RecordIndex,
    /// A number as a signed char.
    Signed,
    /// A work-item's number in its group, or in the grid.
    Own(bool),
    /// A number less than 64 among the parameters.
    Small,
    LoopIndex(usize),
    /// The negative of an index.
    Minus,
    /// Index and a constant.
    Plus(i64),

    /// A pointer among the parameters.
    Parameter(usize),
    PointerVariable(usize),
    /// Element of the table of pointers in memory: index.
    TableEntry,
    /// Record.
    RecordPointer,
    /// Number, pointer, pointer.
    ChoosePointer,
    /// Pointer, index (a little of it).
    Advance,
    /// `(p - q) + q`, plainly or so that the compiler cannot shorten it: pointer, pointer.
    ThereAndBack(bool),
    /// Pointer, pointer, number, record.
    CallPointer(usize),
    /// Element of the private array: index.
    Slot,

    /// Element of the table of records in memory: index.
    TableRecord,
    /// Element of the records among the parameters: index.
    ParameterRecord,
    /// The record among a function's parameters.
    FunctionRecord,
    /// Number, record, record.
    ChooseRecord,
}

/// A node and its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub kind: NodeKind,
    pub children: Vec<Node>,
}

impl Node {
    #[must_use]
    pub fn new(kind: NodeKind, children: Vec<Node>) -> Self {
        Self { kind, children }
    }

    #[must_use]
    pub fn leaf(kind: NodeKind) -> Self {
        Self::new(kind, Vec::new())
    }

    /// Nodes in this tree.
    #[must_use]
    pub fn size(&self) -> usize {
        1 + self.children.iter().map(Self::size).sum::<usize>()
    }
}

impl NodeKind {
    #[must_use]
    pub fn sort(self) -> Sort {
        match self {
            Self::Kernel | Self::Function { .. } | Self::PointerFunction { .. } => Sort::Function,
            Self::Block => Sort::Block,
            Self::Store(_)
            | Self::StoreFour
            | Self::StoreLambda
            | Self::Mark(_)
            | Self::Set(_)
            | Self::SetPointer(_)
            | Self::SetSlot
            | Self::Swap(..)
            | Self::SwapPointers(..)
            | Self::If
            | Self::For(_)
            | Self::Down(_)
            | Self::GridLoop(_)
            | Self::MovingLoop(..)
            | Self::MeetingLoop(_)
            | Self::While(_)
            | Self::Break
            | Self::Continue
            | Self::Return
            | Self::TwoEntries
            | Self::IntoLoop
            | Self::Switch
            | Self::Walk(_)
            | Self::Atomic(_)
            | Self::LdsStore
            | Self::Barrier
            | Self::Guarded
            | Self::WhenKind(_)
            | Self::Strided
            | Self::Tagged(_)
            | Self::Nullable
            | Self::OneBased => Sort::Statement,
            Self::Const(_)
            | Self::Variable(_)
            | Self::Loop(_)
            | Self::Argument(_)
            | Self::Tid
            | Self::Gid
            | Self::Group
            | Self::Groups
            | Self::GroupSize
            | Self::Bound
            | Self::Load(_)
            | Self::RecordNumber
            | Self::Binary(..)
            | Self::Compare(..)
            | Self::RecordIs(..)
            | Self::Not
            | Self::Negate
            | Self::Cast(_)
            | Self::Choose
            | Self::Shuffle
            | Self::Hidden
            | Self::FirstLane
            | Self::Ballot
            | Self::LdsLoad
            | Self::Call(_)
            | Self::Lambda
            | Self::SamePointer
            | Self::AtomicResult(_) => Sort::Number,
            Self::Masked
            | Self::Opaque
            | Self::Modulo
            | Self::Least
            | Self::Clamped
            | Self::Cell
            | Self::Divided(_)
            | Self::RecordIndex
            | Self::Signed
            | Self::Own(_)
            | Self::Small
            | Self::LoopIndex(_)
            | Self::Minus
            | Self::Plus(_) => Sort::Index,
            Self::Parameter(_)
            | Self::PointerVariable(_)
            | Self::TableEntry
            | Self::RecordPointer
            | Self::ChoosePointer
            | Self::Advance
            | Self::ThereAndBack(_)
            | Self::CallPointer(_)
            | Self::Slot => Sort::Pointer,
            Self::TableRecord
            | Self::ParameterRecord
            | Self::FunctionRecord
            | Self::ChooseRecord => Sort::Record,
        }
    }

    /// Whether its blocks can be left by `break` and `continue`.
    #[must_use]
    pub fn is_loop(self) -> bool {
        matches!(
            self,
            Self::For(_)
                | Self::Down(_)
                | Self::GridLoop(_)
                | Self::MovingLoop(..)
                | Self::MeetingLoop(_)
                | Self::While(_)
                | Self::IntoLoop
        )
    }
}
