//! What another way says, held against the machine code.

use serde::{Deserialize, Serialize};

use super::claims::{Claim, THROUGH_MEMORY};

/// Of one side of one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// It says the same.
    Same,
    /// It says more, and all that is so.
    Wide,
    /// It leaves out an argument that the machine code touches.
    Missed,
    /// It says arguments only, where the machine code goes through pointers in memory.
    Beyond,
    /// It says arguments, and the machine code is not known.
    Unchecked,
    /// It does not know.
    Inexact,
}

/// How often each was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    pub same: u64,
    pub wide: u64,
    pub missed: u64,
    pub beyond: u64,
    pub unchecked: u64,
    pub inexact: u64,
}

pub(super) fn compare(claim: &Claim, machine: &Claim) -> Finding {
    match (claim, machine) {
        (Claim::Inexact(_), _) => Finding::Inexact,
        (Claim::Arguments(claimed), Claim::Arguments(touched)) => {
            if claimed == touched {
                Finding::Same
            } else if claimed.is_superset(touched) {
                Finding::Wide
            } else {
                Finding::Missed
            }
        }
        (Claim::Arguments(_), Claim::Inexact(reason)) if reason.starts_with(THROUGH_MEMORY) => {
            Finding::Beyond
        }
        (Claim::Arguments(_), Claim::Inexact(_)) => Finding::Unchecked,
    }
}

impl Findings {
    pub(super) fn add(&mut self, finding: Finding) {
        *match finding {
            Finding::Same => &mut self.same,
            Finding::Wide => &mut self.wide,
            Finding::Missed => &mut self.missed,
            Finding::Beyond => &mut self.beyond,
            Finding::Unchecked => &mut self.unchecked,
            Finding::Inexact => &mut self.inexact,
        } += 1;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.same += other.same;
        self.wide += other.wide;
        self.missed += other.missed;
        self.beyond += other.beyond;
        self.unchecked += other.unchecked;
        self.inexact += other.inexact;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_left_out_is_a_miss_whatever_else_is_said() {
        let arguments = |indices: &[usize]| Claim::Arguments(indices.iter().copied().collect());
        let machine = arguments(&[1, 2]);
        assert_eq!(compare(&arguments(&[1, 2]), &machine), Finding::Same);
        assert_eq!(compare(&arguments(&[0, 1, 2]), &machine), Finding::Wide);
        assert_eq!(compare(&arguments(&[0, 1, 3]), &machine), Finding::Missed);
        let tables = Claim::Inexact(format!("{THROUGH_MEMORY}: elsewhere"));
        assert_eq!(compare(&arguments(&[0]), &tables), Finding::Beyond);
        let unknown = Claim::Inexact("unresolved call".into());
        assert_eq!(compare(&arguments(&[0]), &unknown), Finding::Unchecked);
        assert_eq!(compare(&unknown, &machine), Finding::Inexact);
    }
}
