//! The length of the loop that a program is in, and when it was last where it is now.

/// Less of the past says nothing: many a loop has the same kernel in several places.
const LEAST_CONTEXT: usize = 2;

/// The number of operations after which the latest operations repeat, judged from the signatures,
/// oldest first; `None` unless one whole round has come again. Of several candidates the one that
/// explains most of the past wins: a training step may end with the same kernel twice.
pub(crate) fn period(signatures: &[u64]) -> Option<usize> {
    let backwards: Vec<u64> = signatures.iter().rev().copied().collect();
    let repeats = z_function(&backwards);
    let (period, explained) = repeats
        .iter()
        .copied()
        .enumerate()
        .skip(1)
        .filter(|(period, explained)| explained >= period)
        // The first of equals: the shortest.
        .max_by_key(|(period, explained)| (*explained, usize::MAX - period))?;
    debug_assert!(explained >= period);
    Some(period)
}

/// How many operations ago the program was where it is now: where the longest past was the same as now. That is known right
/// after something that comes every few rounds of a loop only, when no whole round has come again yet.
pub(crate) fn last_time(signatures: &[u64]) -> Option<usize> {
    let backwards: Vec<u64> = signatures.iter().rev().copied().collect();
    let same = z_function(&backwards).into_iter().enumerate().skip(1);
    // The first of equals: the latest.
    let (ago, same) = same.max_by_key(|(ago, same)| (*same, usize::MAX - ago))?;
    (same >= LEAST_CONTEXT).then_some(ago)
}

/// For each `i`, how many items from `i` on equal the first items.
fn z_function(items: &[u64]) -> Vec<usize> {
    let mut z = vec![0; items.len()];
    let (mut left, mut right) = (0, 0);
    for i in 1..items.len() {
        let mut len = if i < right {
            z[i - left].min(right - i)
        } else {
            0
        };
        while i + len < items.len() && items[len] == items[i + len] {
            len += 1;
        }
        z[i] = len;
        if i + len > right {
            (left, right) = (i, i + len);
        }
    }
    z
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_loop_and_not_a_repetition_inside_it() {
        let step = [1, 2, 3, 3, 2, 2];
        let warm_up = [9, 8, 7];
        let history: Vec<u64> = warm_up
            .iter()
            .chain(step.repeat(4).iter())
            .copied()
            .collect();
        assert_eq!(period(&history), Some(6));
        // In the middle of a step too.
        assert_eq!(period(&history[..history.len() - 2]), Some(6));
        assert_eq!(period(&[5, 5, 5, 5]), Some(1));
    }

    #[test]
    fn one_round_is_no_loop() {
        assert_eq!(period(&[]), None);
        assert_eq!(period(&[1]), None);
        assert_eq!(period(&[1, 2, 3, 4, 1, 2]), None);
        assert_eq!(period(&[1, 2, 3, 1, 2, 3]), Some(3));
    }

    #[test]
    fn where_it_was_last_is_known_before_a_round_has_come_again() {
        let step = [1, 2, 3, 4, 5];
        let odd = [7, 8];
        let mut history: Vec<u64> = [&step[..], &step, &odd, &step[..2]].concat();
        assert_eq!(period(&history), None);
        // 1 2 | 3 4 5 7 8 1 2
        assert_eq!(last_time(&history), Some(7));
        history.truncate(history.len() - 1);
        assert_eq!(last_time(&history), None, "of one operation");
        assert_eq!(last_time(&[]), None);
        assert_eq!(last_time(&[1, 2, 3]), None);
    }

    #[test]
    fn z_agrees_with_its_definition() {
        let mut state = 1u64;
        for len in 0..40 {
            let items: Vec<u64> = (0..len)
                .map(|_| {
                    state = state
                        .wrapping_mul(6364136223846793005)
                        .wrapping_add(1442695040888963407);
                    (state >> 60) % 2
                })
                .collect();
            let z = z_function(&items);
            for i in 1..items.len() {
                let naive = items[i..]
                    .iter()
                    .zip(&items)
                    .take_while(|(a, b)| a == b)
                    .count();
                assert_eq!(z[i], naive, "{items:?} at {i}");
            }
        }
    }
}
