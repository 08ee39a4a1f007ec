//! Arguments that only the metadata shows as touched.

use strobe_code_object::{ArgAccess, ArgKind, Kernel};

use crate::plan::Plan;
use crate::roots;

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
    let [read, written] = roots::seen(plan, kernel);
    let seen = |side: &Option<Vec<u32>>, offset: u32| {
        side.as_ref().is_none_or(|slots| slots.contains(&offset))
    };
    let unseen = kernel.args.iter().filter_map(|arg| {
        let access = arg.access.filter(|_| arg.kind == ArgKind::GlobalBuffer)?;
        let (reads, writes) = (
            access != ArgAccess::WriteOnly,
            access != ArgAccess::ReadOnly,
        );
        Some(Unseen {
            offset: arg.offset,
            reads: reads && !seen(&read, arg.offset),
            writes: writes && !seen(&written, arg.offset),
        })
    });
    unseen
        .filter(|unseen| unseen.reads || unseen.writes)
        .collect()
}
