//! Paths: names for the ways that waves take to a point.
//!
//! A branch that may go either way makes two paths of one; where both come together again they are the path
//! that they were. So where a path is the same at two points, all waves that pass the first one
//! come to the second, whatever they have done in between. Where ways meet that do not make up a path that is
//! known, what comes of it is a path of its own.

use std::collections::BTreeSet;

use crate::expr::FactId;
use crate::facts::NOTHING;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PathId(u32);

#[derive(Clone, Copy, Debug)]
struct Path {
    /// Where it is one of the two ways of a branch: of which path, and the other way.
    branched: Option<(PathId, PathId)>,
    /// Every lane of the launch for which these facts hold takes it.
    taken_by: Option<FactId>,
}

/// All paths of a walk.
#[derive(Debug)]
pub(crate) struct Paths {
    all: Vec<Path>,
}

impl Paths {
    /// The path of all waves.
    pub(crate) const BEGIN: PathId = PathId(0);

    pub(crate) fn new() -> Self {
        let begin = Path {
            branched: None,
            taken_by: Some(NOTHING),
        };
        Self { all: vec![begin] }
    }

    /// A path of which nothing is known.
    pub(crate) fn fresh(&mut self) -> PathId {
        self.push(None, None)
    }

    fn push(&mut self, branched: Option<(PathId, PathId)>, taken_by: Option<FactId>) -> PathId {
        self.all.push(Path { branched, taken_by });
        PathId(self.all.len() as u32 - 1)
    }

    /// Both ways of a branch, and the facts for which every lane takes them.
    pub(crate) fn branch(&mut self, from: PathId, taken_by: [Option<FactId>; 2]) -> [PathId; 2] {
        let first = PathId(self.all.len() as u32);
        let second = PathId(first.0 + 1);
        let [to_first, to_second] = taken_by;
        [(second, to_first), (first, to_second)]
            .map(|(other, taken_by)| self.push(Some((from, other)), taken_by))
    }

    /// The facts for which every lane of the launch takes this path.
    pub(crate) fn taken_by(&self, path: PathId) -> Option<FactId> {
        self.all[path.0 as usize].taken_by
    }

    /// Where these meet.
    pub(crate) fn join(&mut self, paths: impl IntoIterator<Item = PathId>) -> PathId {
        let mut left: BTreeSet<PathId> = paths.into_iter().collect();
        // The newest first: what they make up is older.
        while left.len() > 1
            && let Some(newest) = left.pop_last()
        {
            match self.all[newest.0 as usize].branched {
                Some((from, other)) if left.remove(&other) => {
                    left.insert(from);
                }
                _ => return self.fresh(),
            }
        }
        left.pop_last().unwrap_or_else(|| self.fresh())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_that_come_together_are_the_path_that_they_were() {
        let mut paths = Paths::new();
        let [a, b] = paths.branch(Paths::BEGIN, [None; 2]);
        let [c, d] = paths.branch(b, [None; 2]);
        assert_eq!(paths.join([a, b]), Paths::BEGIN);
        assert_eq!(paths.join([d, a, c]), Paths::BEGIN);
        assert_eq!(paths.join([c, d]), b);
        assert_eq!(paths.join([c]), c);
        let apart = paths.join([a, c]);
        assert!(![Paths::BEGIN, a, b, c, d].contains(&apart), "d is missing");
        let [e, f] = paths.branch(apart, [None; 2]);
        assert_eq!(paths.join([e, f]), apart);
    }
}
