//! What something has cost a program that goes round a loop: by how much longer its rounds took meanwhile.

use crate::window::Window;
use strobe_proto::{LaunchedOperation, OperationKind};

/// Of the rounds before it is judged by so many at the most.
const ROUNDS: usize = 32;

/// What a program has lost. All in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostWork {
    /// What it has done since took so long.
    pub took_ns: u64,
    /// The same in rounds before: the median.
    pub before_ns: u64,
    /// The longest round that has ended since, from any operation to the same one of the next round.
    pub slowest_ns: u64,
    /// A round before: the median.
    pub usual_ns: u64,
}

impl LostWork {
    /// By how much longer it took.
    pub fn ns(&self) -> u64 {
        self.took_ns.saturating_sub(self.before_ns)
    }
}

impl Window {
    /// What the program has lost between this window of it and a later one. `None` where it was in no loop, has left it, or
    /// has done nothing since; and where it has done more than is remembered.
    pub fn lost(&self, later: &Window) -> Option<LostWork> {
        let last = self.operations().last()?.sequence;
        let news = later
            .operations()
            .iter()
            .skip_while(|one| one.sequence <= last);
        let is_complete = later.operations().first()?.sequence <= last + 1;
        let before: Vec<_> = self.operations().iter().filter(is_work).collect();
        let period = self.period().filter(|period| *period > 0)?;
        let cut = before.len().checked_sub(1)?;
        let all: Vec<_> = before.into_iter().chain(news.filter(is_work)).collect();
        let end = all.len() - 1;
        let goes_on = || (cut + 1..=end).all(|at| at >= period && same(all[at], all[at - period]));
        if !is_complete || end == cut || !goes_on() {
            return None;
        }
        let took = |from: usize, to: usize| all[to].seen_ns.saturating_sub(all[from].seen_ns);
        // What was over at the cut.
        let first = (end - cut).div_ceil(period);
        let starts = (first..).map_while(|round| cut.checked_sub(round.checked_mul(period)?));
        let mut rounds: Vec<u64> = starts
            .take(ROUNDS)
            .map(|start| took(start, start + (end - cut)))
            .collect();
        rounds.sort_unstable();
        let mut usual: Vec<u64> = (period..=cut)
            .rev()
            .step_by(period)
            .take(ROUNDS)
            .map(|last| took(last - period, last))
            .collect();
        usual.sort_unstable();
        Some(LostWork {
            took_ns: took(cut, end),
            before_ns: *rounds.get(rounds.len() / 2)?,
            slowest_ns: (cut + 1..=end)
                .map(|last| took(last - period, last))
                .max()?,
            usual_ns: *usual.get(usual.len() / 2)?,
        })
    }
}

/// Waits of the host are not counted.
fn is_work(operation: &&LaunchedOperation) -> bool {
    operation.kind() != OperationKind::Synchronisation
}

fn same(one: &LaunchedOperation, other: &LaunchedOperation) -> bool {
    (one.kind, &one.name, one.stream) == (other.kind, &other.name, other.stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_proto::LaunchWindow;

    const MS: u64 = 1_000_000;

    /// Rounds of three operations, of which the last waits: so long each, from an operation on.
    fn window(first: u64, rounds: &[u64], period: Option<u64>) -> Window {
        let mut seen_ns = 0;
        let operations = rounds.iter().flat_map(|ms| {
            seen_ns += ms * MS;
            ["a", "b", "c"].map(|name| LaunchedOperation {
                kind: OperationKind::Kernel.into(),
                name: name.into(),
                stream: Some(1),
                seen_ns: seen_ns + u64::from(name == "c") * 2 * MS,
                ..LaunchedOperation::default()
            })
        });
        let numbered = operations.enumerate().map(|(at, one)| LaunchedOperation {
            sequence: at as u64,
            ..one
        });
        let operations = numbered.filter(|one| one.sequence >= first).collect();
        Window::join([LaunchWindow {
            operations,
            period,
            ..LaunchWindow::default()
        }])
        .expect("a window")
    }

    #[test]
    fn what_took_longer_than_in_rounds_before_is_lost() {
        let before = window(0, &[7, 10, 10, 11, 10], Some(3));
        let after = window(3, &[7, 10, 10, 11, 10, 210, 15, 10], None);
        let lost = before.lost(&after).expect("a loop");
        // Three rounds before took 31 ms once.
        assert_eq!((lost.took_ns, lost.before_ns), (235 * MS, 31 * MS));
        assert_eq!(lost.ns(), 204 * MS);
        // From the last operation before, which waits, to that of the round in which it stood still.
        let (slowest, usual) = (lost.slowest_ns, lost.usual_ns);
        assert_eq!((slowest, usual), (210 * MS, 10 * MS));
        // Of a round that is not over the part that is, beside the same part of each.
        let mut part = after.message().clone();
        part.operations.truncate(part.operations.len() - 3 * 2 - 2);
        let part = before.lost(&Window::join([part]).expect("a window"));
        assert_eq!(part.map(|lost| lost.ns()), Some(200 * MS));
    }

    #[test]
    fn where_nothing_is_known_nothing_is_said() {
        let before = window(0, &[10; 5], Some(3));
        assert_eq!(before.lost(&before), None, "nothing since");
        assert_eq!(before.lost(&Window::default()), None);
        assert_eq!(Window::default().lost(&before), None);
        let no_loop = window(0, &[10; 5], None);
        let after = window(0, &[10; 8], None);
        assert_eq!(no_loop.lost(&after), None);
        let short = window(0, &[10; 2], Some(3));
        assert_eq!(short.lost(&after), None, "more than all before");
        assert_eq!(before.lost(&window(18, &[10; 8], None)), None, "a gap");
        let mut other = after.message().clone();
        other.operations[19].name = "another".into();
        let other = Window::join([other]).expect("a window");
        assert_eq!(before.lost(&other), None, "it has left the loop");
        assert!(before.lost(&after).is_some_and(|lost| lost.ns() == 0));
        let absurd = window(0, &[10; 8], Some(u64::MAX));
        assert_eq!(absurd.lost(&window(0, &[10; 9], None)), None);
    }
}
