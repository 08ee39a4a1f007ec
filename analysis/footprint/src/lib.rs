//! Which memory a kernel reads and writes, from its machine code.
//!
//! [`analyse`] looks at the code once and keeps, for every instruction that touches memory, its
//! address as an expression over kernel arguments, work-group and work-item ids.
//! [`KernelFootprint::evaluate`] puts the bytes of one launch into those expressions and gives the
//! extents that this launch may touch.
//!
//! What must hold: a launch touches nothing outside of the evaluated [`Access`]. What cannot be
//! resolved is unknown, with the reason; precision comes after that.
//!
//! # What is assumed
//!
//! Of programs, where the analysis cannot bound an index:
//!
//! - A pointer plus an index stays inside the allocation that the pointer points into, ends, or stands
//!   just before (an array counted from 1); an index into an argument by value stays in the arguments.
//! - Of a pointer argument plus or less a word loaded from memory, the word is the index (unless another
//!   pointer was subtracted from it).
//! - No pointer is made by multiplication, shifts or other arithmetic than sums, differences and masks.
//! - A pointer to scratch is kept in registers and scratch alone.
//!
//! A launch that does otherwise may touch more than predicted; nothing here can tell.
//!
//! Only memory that a program allocates counts. Module data (`__device__` variables), kernel
//! arguments, scratch, LDS and the runtime's own memory (host calls, device heap) appear in no
//! [`Access`]: a checkpoint copies them whole while the program stands still.

#![forbid(unsafe_code)]

mod access;
mod block;
#[cfg(feature = "broken")]
pub mod broken;
#[cfg(not(feature = "broken"))]
mod broken;
mod describe;
mod entry;
mod epoch;
mod evaluate;
mod expr;
mod extents;
mod facts;
mod flow;
mod induction;
pub mod inspect;
mod join;
mod launch;
mod load;
mod machine;
mod masks;
mod merge;
mod node;
mod plan;
mod range;
mod reducible;
mod registers;
mod roots;
mod rounds;
mod scalar;
mod site;
mod state;
mod summary;
mod value;
mod vector;
mod walk;

use std::sync::Arc;

use strobe_code_object::{ArgAccess, ArgKind, CodeObject, Kernel};
use strobe_extent::{Access, Reason};

use machine::Machine;
use plan::Plan;
use walk::Walk;

pub use launch::{Launch, Memory};
pub use summary::{SideSummary, Slot, Summary};

/// Bounds on the work for one kernel.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Instructions walked, inlined calls counted each time.
    pub instructions: usize,
    /// Expressions kept.
    pub expressions: usize,
    /// Calls inside calls.
    pub calls: usize,
    /// Pointers taken out of one table in memory at a launch.
    pub table: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            instructions: 400_000,
            expressions: 1 << 20,
            calls: 16,
            table: 65_536,
        }
    }
}

/// What a kernel may touch, as a function of the launch. Cheap to clone.
#[derive(Clone, Debug)]
pub struct KernelFootprint {
    inner: Arc<Inner>,
}

#[derive(Debug)]
enum Inner {
    Known {
        plan: Box<Plan>,
        kernel: Box<Kernel>,
        unseen: Vec<Unseen>,
    },
    Unknown(Reason),
}

/// An argument that the metadata says is read or written, and the code does not show it.
#[derive(Clone, Copy, Debug)]
struct Unseen {
    offset: u32,
    reads: bool,
    writes: bool,
}

/// Analyses one kernel's machine code.
///
/// Work is bounded by `limits`; beyond them, and where the code cannot be followed, the footprint is
/// unknown.
#[must_use]
pub fn analyse(object: &CodeObject, kernel: &Kernel, limits: &Limits) -> KernelFootprint {
    let inner = match walk(object, kernel, limits) {
        Ok(plan) => Inner::Known {
            unseen: unseen(&plan, kernel),
            plan: Box::new(plan),
            kernel: Box::new(kernel.clone()),
        },
        Err(reason) => Inner::Unknown(reason),
    };
    KernelFootprint {
        inner: Arc::new(inner),
    }
}

/// Cross-checks the code against the metadata, where compilers give any.
fn unseen(plan: &Plan, kernel: &Kernel) -> Vec<Unseen> {
    if kernel.args.iter().all(|arg| arg.access.is_none()) {
        return Vec::new();
    }
    let summary = roots::summarise(plan, kernel);
    let seen = |side: &SideSummary, offset: u32| match side {
        SideSummary::Unknown(_) => true,
        SideSummary::None => false,
        SideSummary::Args(slots) | SideSummary::Indirect(slots) => slots
            .iter()
            .any(|slot| slot.offset.is_none_or(|of| of == offset)),
    };
    let unseen = kernel.args.iter().filter_map(|arg| {
        let access = arg.access.filter(|_| arg.kind == ArgKind::GlobalBuffer)?;
        let (reads, writes) = (
            access != ArgAccess::WriteOnly,
            access != ArgAccess::ReadOnly,
        );
        Some(Unseen {
            offset: arg.offset,
            reads: reads && !seen(&summary.reads, arg.offset),
            writes: writes && !seen(&summary.writes, arg.offset),
        })
    });
    unseen
        .filter(|unseen| unseen.reads || unseen.writes)
        .collect()
}

fn walk(object: &CodeObject, kernel: &Kernel, limits: &Limits) -> Result<Plan, Reason> {
    let machine = Machine::of(object.target, kernel)?;
    let mut walk = Walk::new(object, kernel, machine, limits);
    // A compiler leaves no instruction of a body that it takes for unreachable: a launch runs on into
    // what comes next, and so does the walk.
    walk.run()?;
    Ok(Plan::new(walk, limits))
}

impl KernelFootprint {
    /// What one launch may touch.
    #[must_use]
    pub fn evaluate(&self, launch: &Launch<'_>, memory: &dyn Memory) -> Access {
        match &*self.inner {
            Inner::Unknown(reason) => Access::unknown(*reason),
            Inner::Known { plan, unseen, .. } => extents::access(plan, unseen, launch, memory),
        }
    }

    /// What any launch may touch, in terms of arguments. Computed anew by each call.
    #[must_use]
    pub fn summary(&self) -> Summary {
        match &*self.inner {
            Inner::Unknown(reason) => Summary::unknown(*reason),
            Inner::Known { plan, kernel, .. } => roots::summarise(plan, kernel),
        }
    }
}
