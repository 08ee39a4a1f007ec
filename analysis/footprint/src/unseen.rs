//! Arguments that only the metadata shows as touched.

use strobe_code_object::{ArgAccess, ArgKind, Kernel};

use crate::plan::Plan;
use crate::roots;
use crate::summary::SideSummary;

/// An argument that the metadata says is read or written, and the code does not show it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unseen {
    pub(crate) offset: u32,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
}

/// Cross-checks the code against the metadata, where compilers give any.
pub(crate) fn unseen(plan: &Plan, kernel: &Kernel) -> Vec<Unseen> {
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
