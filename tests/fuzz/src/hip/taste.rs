//! What a kernel is made of. Every kernel has a taste of its own: some forms it does without, some it
//! has a lot of. A defect that takes two returns in one loop is met by kernels that like both, and
//! hardly by those that have a little of everything.

use crate::random::Random;

/// Forms of statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Statement {
    Store,
    Mark,
    StoreFour,
    StoreLambda,
    Set,
    SetPointer,
    SetSlot,
    Swap,
    SwapPointers,
    If,
    /// A return behind two conditions: lanes leave in two steps.
    ReturnInIf,
    Return,
    Jump,
    For,
    Down,
    GridLoop,
    MovingLoop,
    MeetingLoop,
    While,
    Walk,
    TwoEntries,
    IntoLoop,
    Switch,
    Atomic,
    Guarded,
    WhenKind,
    Strided,
    Tagged,
    Nullable,
    OneBased,
    LdsStore,
    Barrier,
}

/// Forms of pointers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pointer {
    Parameter,
    Variable,
    TableEntry,
    Record,
    Choose,
    Advance,
    ThereAndBack,
    Call,
    Slot,
}

const STATEMENTS: [(Statement, usize); 32] = [
    (Statement::Store, 12),
    (Statement::Mark, 10),
    (Statement::StoreFour, 2),
    (Statement::StoreLambda, 2),
    (Statement::Set, 10),
    (Statement::SetPointer, 8),
    (Statement::SetSlot, 2),
    (Statement::Swap, 2),
    (Statement::SwapPointers, 3),
    (Statement::If, 14),
    (Statement::ReturnInIf, 6),
    (Statement::Return, 4),
    (Statement::Jump, 4),
    (Statement::For, 5),
    (Statement::Down, 2),
    (Statement::GridLoop, 2),
    (Statement::MovingLoop, 3),
    (Statement::MeetingLoop, 3),
    (Statement::While, 4),
    (Statement::Walk, 3),
    (Statement::TwoEntries, 4),
    (Statement::IntoLoop, 3),
    (Statement::Switch, 3),
    (Statement::Atomic, 3),
    (Statement::Guarded, 2),
    (Statement::WhenKind, 4),
    (Statement::Strided, 2),
    (Statement::Tagged, 1),
    (Statement::Nullable, 1),
    (Statement::OneBased, 1),
    (Statement::LdsStore, 2),
    (Statement::Barrier, 1),
];

const POINTERS: [(Pointer, usize); 9] = [
    (Pointer::Parameter, 40),
    (Pointer::Variable, 22),
    (Pointer::TableEntry, 9),
    (Pointer::Record, 9),
    (Pointer::Choose, 7),
    (Pointer::Advance, 5),
    (Pointer::ThereAndBack, 3),
    (Pointer::Call, 4),
    (Pointer::Slot, 1),
];

/// How much a kernel likes a form, against the others.
const LIKINGS: [usize; 6] = [0, 1, 1, 1, 1, 6];

/// Forms and their weights.
#[derive(Clone, Debug)]
pub(super) struct Taste {
    statements: Vec<(Statement, usize)>,
    pointers: Vec<(Pointer, usize)>,
}

impl Taste {
    pub(super) fn draw(random: &mut Random) -> Self {
        let statements = STATEMENTS.map(|(form, weight)| (form, weight * random.pick(&LIKINGS)));
        let pointers = POINTERS.map(|(form, weight)| (form, weight * random.pick(&LIKINGS)));
        Self {
            statements: statements.to_vec(),
            pointers: pointers.to_vec(),
        }
    }

    pub(super) fn statement(&self, random: &mut Random) -> Statement {
        weighted(&self.statements, random).unwrap_or(Statement::Store)
    }

    pub(super) fn pointer(&self, random: &mut Random) -> Pointer {
        weighted(&self.pointers, random).unwrap_or(Pointer::Parameter)
    }
}

fn weighted<T: Copy>(forms: &[(T, usize)], random: &mut Random) -> Option<T> {
    let sum = forms.iter().map(|(_, weight)| weight).sum::<usize>();
    let mut left = random.below(sum.max(1));
    forms.iter().find_map(|&(form, weight)| {
        if left < weight {
            return Some(form);
        }
        left -= weight;
        None
    })
}
