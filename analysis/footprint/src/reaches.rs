//! How far accesses of scratch get, from the plan of a walk that has noted them.

use crate::evaluate::Evaluation;
use crate::indexed::{Found, Indexed};
use crate::plan::Plan;
use crate::range::Range;

/// Bytes in reach of one instruction.
const MAX_BYTES: i128 = 2048;
/// Accesses looked at.
const MAX_INDEXED: usize = 4096;

/// What the plan of a walk tells of its accesses; nothing if they are too many.
pub(crate) fn reaches(plan: &Plan, indexed: &[Indexed]) -> Option<Found> {
    let mut found = Found::default();
    if indexed.len() > MAX_INDEXED {
        return None;
    }
    let mut evaluation = Evaluation::of_any_launch(plan);
    for access in indexed {
        let known = found.get(&access.pc).copied();
        let reach = match known {
            Some(None) => continue,
            _ => reach(&mut evaluation, access),
        };
        let reach = match (known.flatten(), reach) {
            (Some(known), Some(reach)) => Some(known.hull(reach)),
            (_, reach) => reach,
        };
        found.insert(access.pc, reach.filter(is_small));
    }
    Some(found)
}

fn reach(evaluation: &mut Evaluation<'_>, access: &Indexed) -> Option<Range> {
    let offset = evaluation.value(access.offset, access.facts).numbers()?;
    let constant = i128::from(access.constant);
    Some(offset.unsigned(32).shifted(constant))
}

fn is_small(reach: &Range) -> bool {
    reach.lo >= 0 && reach.hi - reach.lo < MAX_BYTES
}
