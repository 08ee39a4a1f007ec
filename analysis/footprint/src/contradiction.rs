//! Where a kernel's code and its metadata do not agree: one is wrong, or what is known of the code not exact.

use std::fmt;

use strobe_code_object::{Arg, ArgAccess, ArgKind, Kernel};

use crate::describe;
use crate::summary::{FootprintSummary, SideSummary};

/// An argument with which the code may do what the metadata says that it does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// What the argument is called.
    pub argument: String,
    /// Of the metadata: `read_only`, `write_only` or `const`.
    pub says: &'static str,
    /// Of the code: `read` or `written`.
    pub done: &'static str,
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            argument,
            says,
            done,
        } = self;
        write!(
            f,
            "{argument} is {says} by the metadata, and may be {done} by the code"
        )
    }
}

/// Of a side that is unknown nothing is said: it may touch anything.
pub(crate) fn contradictions(summary: &FootprintSummary, kernel: &Kernel) -> Vec<Contradiction> {
    let touches = |side: &SideSummary, arg: &Arg| {
        let mut slots = side.slots().iter();
        slots.any(|slot| slot.offset == Some(arg.offset) && !slot.indirect)
    };
    let pointers = kernel.args.iter().enumerate();
    let pointers = pointers.filter(|(_, arg)| arg.kind == ArgKind::GlobalBuffer);
    let found = pointers.filter_map(|(index, arg)| {
        let says = match arg.access {
            Some(ArgAccess::ReadOnly) => "read_only",
            Some(ArgAccess::WriteOnly) => "write_only",
            Some(ArgAccess::ReadWrite) | None if arg.is_const => "const",
            Some(ArgAccess::ReadWrite) | None => return None,
        };
        let (side, done) = match says {
            "write_only" => (&summary.reads, "read"),
            _ => (&summary.writes, "written"),
        };
        touches(side, arg).then(|| Contradiction {
            argument: describe::argument(kernel, index),
            says,
            done,
        })
    });
    found.collect()
}
