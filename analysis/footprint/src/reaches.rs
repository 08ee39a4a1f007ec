//! How far accesses of scratch get, from the plan of a walk that has noted them.

use crate::evaluate::Evaluation;
use crate::expr::Map;
use crate::indexed::{Indexed, Reaches};
use crate::plan::Plan;
use crate::range::Range;

/// Slots in reach of one instruction.
const MAX_SLOTS: i128 = 512;
/// Accesses looked at.
const MAX_INDEXED: usize = 4096;

/// What the plan of a walk tells of its accesses.
pub(crate) fn reaches(plan: &Plan, indexed: &[Indexed]) -> Reaches {
    let mut found: Map<u64, Option<Range>> = Map::default();
    if indexed.len() > MAX_INDEXED {
        return Reaches::default();
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
        found.insert(access.pc, reach.filter(is_of_slots));
    }
    let known = found.into_iter();
    known.filter_map(|(pc, reach)| Some((pc, reach?))).collect()
}

fn reach(evaluation: &mut Evaluation<'_>, access: &Indexed) -> Option<Range> {
    let offset = evaluation.value(access.offset, access.facts).numbers()?;
    let constant = i128::from(access.constant);
    Some(offset.unsigned(32).shifted(constant))
}

fn is_of_slots(reach: &Range) -> bool {
    reach.lo >= 0 && reach.is_of_words() && reach.hi - reach.lo < 4 * MAX_SLOTS
}
