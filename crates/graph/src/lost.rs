//! What something has cost a program that goes round a loop: by how much longer its rounds took meanwhile.

use crate::window::Window;
use strobe_proto::{LaunchedOperation, OperationKind};

/// Of the rounds before, by which it is judged.
const LEAST_ROUNDS: usize = 3;
const MOST_ROUNDS: usize = 32;

/// What a program has lost. All in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Of a round before, the median.
    pub round_ns: u64,
    /// Whole rounds since, at least one.
    pub rounds: u64,
    /// The longest of them.
    pub slowest_ns: u64,
    /// By how much longer it took to get as far as it has than it would have before.
    pub lost_ns: u64,
}

impl Window {
    /// What the program has lost between this window of it and a later one. `None` where it was in no loop, has left it, or
    /// has been round less than once; and where it has done more than is remembered.
    pub fn lost(&self, later: &Window) -> Option<Lost> {
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
        let since = all.len() - 1 - cut;
        let goes_on =
            || (cut + 1..all.len()).all(|at| at >= period && same(all[at], all[at - period]));
        if !is_complete || since < period || !goes_on() {
            return None;
        }
        let took = |from: usize, to: usize| all[to].seen_ns.saturating_sub(all[from].seen_ns);
        let starts = (1..=MOST_ROUNDS).map_while(|round| cut.checked_sub(round * period));
        let mut rounds: Vec<u64> = starts.map(|start| took(start, start + period)).collect();
        if rounds.len() < LEAST_ROUNDS {
            return None;
        }
        rounds.sort_unstable();
        let round_ns = rounds[rounds.len() / 2];
        let (whole, rest) = (since / period, since % period);
        let last_round = cut - period;
        let expected = round_ns
            .saturating_mul(whole as u64)
            .saturating_add(took(last_round, last_round + rest));
        let each = (0..whole).map(|round| cut + round * period);
        let slowest = each.map(|start| took(start, start + period)).max();
        Some(Lost {
            round_ns,
            rounds: whole as u64,
            slowest_ns: slowest?,
            lost_ns: took(cut, cut + since).saturating_sub(expected),
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
    fn what_rounds_took_longer_is_lost() {
        let before = window(0, &[7, 10, 10, 11, 10], Some(3));
        let after = window(3, &[7, 10, 10, 11, 10, 210, 15, 10], None);
        let lost = Lost {
            round_ns: 10 * MS,
            rounds: 3,
            slowest_ns: 210 * MS,
            lost_ns: 205 * MS,
        };
        assert_eq!(before.lost(&after), Some(lost));
        // Of a round that is not over the part that is.
        let mut part = after.message().clone();
        part.operations.truncate(part.operations.len() - 2);
        let part = before.lost(&Window::join([part]).expect("a window"));
        assert_eq!(
            part.map(|lost| (lost.rounds, lost.lost_ns)),
            Some((2, 205 * MS))
        );
    }

    #[test]
    fn where_nothing_is_known_nothing_is_said() {
        let before = window(0, &[10; 5], Some(3));
        assert_eq!(before.lost(&before), None, "no round since");
        assert_eq!(before.lost(&Window::default()), None);
        assert_eq!(Window::default().lost(&before), None);
        let no_loop = window(0, &[10; 5], None);
        let after = window(0, &[10; 8], None);
        assert_eq!(no_loop.lost(&after), None);
        assert_eq!(
            window(0, &[10; 3], Some(3)).lost(&after),
            None,
            "two rounds"
        );
        assert_eq!(before.lost(&window(18, &[10; 8], None)), None, "a gap");
        let mut other = after.message().clone();
        other.operations[19].name = "another".into();
        let other = Window::join([other]).expect("a window");
        assert_eq!(before.lost(&other), None, "it has left the loop");
        assert!(before.lost(&after).is_some());
        let absurd = window(0, &[10; 8], Some(u64::MAX));
        assert_eq!(absurd.lost(&after), None);
    }
}
