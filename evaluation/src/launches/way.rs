//! The ways to say which memory a launch may touch.

use std::collections::BTreeSet;

use strobe_code_object::Kernel;
use strobe_extent::{Access, ExtentSet, Reason, Side};
use strobe_footprint::{Launch, LaunchMemory, SideSummary};

use super::code::Launched;
use super::mapped::Mapped;
use crate::footprints::claims::Claim;

/// One of them. The first three say which arguments lead to what is touched: of a launch, the whole allocations that
/// these point into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Signature,
    Metadata,
    /// Machine code, once for all launches.
    Static,
    /// Machine code with the launch's arguments, nothing being known of what stands in memory.
    Launch,
    /// With what stood behind its pointers when it began.
    Known,
}

impl Way {
    pub const ALL: [Self; 5] = [
        Self::Signature,
        Self::Metadata,
        Self::Static,
        Self::Launch,
        Self::Known,
    ];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Signature => "signature",
            Self::Metadata => "metadata",
            Self::Static => "machine code",
            Self::Launch => "at launch",
            Self::Known => "tables known",
        }
    }

    /// What it says of a launch.
    pub(super) fn access(
        self,
        kernel: &Launched,
        launch: &Launch<'_>,
        memory: &Mapped<'_>,
    ) -> Access {
        let claimed = |claim: &Claim| match claim {
            Claim::Arguments(arguments) => {
                whole(pointers(&kernel.kernel, arguments, launch), memory)
            }
            Claim::Inexact(_) => Side::Unknown(Reason::Other("no claim")),
        };
        let summarised = |side: &SideSummary| match side.obstacle() {
            None => {
                let slots = side.slots().iter().map(|slot| slot.offset);
                let pointers: Option<Vec<u64>> =
                    slots.map(|offset| word(launch, offset?)).collect();
                match pointers {
                    Some(pointers) => whole(pointers, memory),
                    None => Side::Unknown(Reason::Other("an argument chosen at run time")),
                }
            }
            Some(_) => Side::Unknown(Reason::Other("not exact")),
        };
        match self {
            Self::Signature => Access {
                reads: claimed(&kernel.signature.reads),
                writes: claimed(&kernel.signature.writes),
            },
            Self::Metadata => Access {
                reads: claimed(&kernel.metadata.reads),
                writes: claimed(&kernel.metadata.writes),
            },
            Self::Static => Access {
                reads: summarised(&kernel.reads),
                writes: summarised(&kernel.writes),
            },
            Self::Launch => {
                let nothing = Mapped {
                    contents: &[],
                    ..*memory
                };
                kernel.footprint.evaluate(launch, &nothing)
            }
            Self::Known => kernel.footprint.evaluate(launch, memory),
        }
    }
}

/// The arguments that can be pointers.
fn pointers(kernel: &Kernel, arguments: &BTreeSet<usize>, launch: &Launch<'_>) -> Vec<u64> {
    let arguments = arguments.iter().filter_map(|&index| kernel.args.get(index));
    arguments
        .filter_map(|arg| word(launch, arg.offset))
        .collect()
}

fn word(launch: &Launch<'_>, offset: u32) -> Option<u64> {
    let bytes = launch.kernarg.get(offset as usize..)?.first_chunk()?;
    Some(u64::from_le_bytes(*bytes))
}

fn whole(pointers: Vec<u64>, memory: &Mapped<'_>) -> Side {
    let allocations = pointers.into_iter();
    let allocations: ExtentSet = allocations
        .filter_map(|pointer| memory.allocation(pointer))
        .collect();
    allocations.into()
}
