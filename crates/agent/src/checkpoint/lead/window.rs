//! How many calls the program may be ahead of the GPU, so that the work in them is not more than a given time.
//!
//! What a call gives the GPU to do is not known before it is done. So as many calls may wait as the GPU has
//! lately begun with in most of that time; where it has run out of work, which says nothing of that, twice as many. They
//! are allowed a few at a time: so they come through a few at a time, and not all at once, with nothing behind them.

use std::time::{Duration, Instant};

/// One call runs, and one waits behind it: with fewer the GPU would be idle between two calls.
const LEAST: u32 = 2;
/// As many as a queue of HIP's has room for.
const MOST: u32 = 16384;
/// Of the time, how much they may take: the rest is for calls that take longer than those before.
const MOST_OF_IT: f64 = 0.75;
/// Of all, how many are allowed at once.
const PIECES: u32 = 4;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Window {
    bound: Duration,
    size: u32,
    /// What the GPU needs for a call, as far as it has been measured.
    of_a_call: Option<Duration>,
    /// How many calls it had begun with at a moment since which some have always waited.
    since: Option<(u32, Instant)>,
    /// At the last look: calls, and how many more were allowed.
    last: (u32, u32),
}

/// What is seen at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    /// That have been made.
    pub calls: u32,
    /// Of them, those that the GPU has not begun with.
    pub waiting: u32,
    /// Whether it has begun with any since the last look.
    pub began: bool,
    /// Whether it was given anything since then.
    pub wrote: bool,
}

impl Window {
    pub(super) fn new(bound: Duration) -> Window {
        Window {
            bound,
            size: LEAST,
            of_a_call: None,
            since: None,
            last: (0, 0),
        }
    }

    /// How long the GPU needs for so many calls that wait, if that is known.
    pub(super) fn ahead(&self, waiting: u32) -> Option<Duration> {
        match waiting {
            0 => Some(Duration::ZERO),
            _ => Some(self.of_a_call? * waiting),
        }
    }

    /// How many calls may be made until the next look.
    pub(super) fn look(&mut self, now: Instant, look: Look) -> u32 {
        let (before, allowed) = self.last;
        // One that is not held back now may have much to do later.
        let is_held_back = look.calls.wrapping_sub(before) >= allowed;
        if look.began {
            let begun = look.calls.wrapping_sub(look.waiting);
            let (then, since) = *self.since.get_or_insert((begun, now));
            let time = now.saturating_duration_since(since);
            let calls = begun.wrapping_sub(then);
            if time >= self.bound / 2 && calls > 0 && calls < MOST * 2 {
                let in_bound = f64::from(calls) * self.bound.as_secs_f64() / time.as_secs_f64();
                self.size = ((in_bound * MOST_OF_IT) as u32).clamp(LEAST, MOST);
                self.of_a_call = Some(time / calls);
                self.since = Some((begun, now));
            }
        }
        // It has just begun with the last; or calls have come that gave it nothing to do.
        if look.waiting == 0 && (look.began || !look.wrote) {
            self.since = None;
            if is_held_back {
                self.size = (self.size * 2).min(MOST);
            }
        }
        let left = self.size.saturating_sub(look.waiting);
        let allowed = left.min((self.size / PIECES).max(1));
        self.last = (look.calls, allowed);
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    const BOUND: Duration = Duration::from_millis(10);

    /// A program that never stops giving a GPU calls of `work` each, looked at every quarter of a millisecond for a second:
    /// how much the GPU has had to do at the most, but for the first moments, and how long it had nothing to do.
    fn simulate(backlog: Duration, mut work: impl FnMut(u32) -> Duration) -> (Duration, Duration) {
        let begin = Instant::now();
        let mut window = Window::new(BOUND);
        let (mut now, mut end) = (begin, begin);
        let (mut lead, mut idle) = (Duration::ZERO, Duration::ZERO);
        let mut calls = 0;
        // When the GPU begins with each that it has not begun with.
        let mut waiting = VecDeque::new();
        while end < begin + backlog {
            waiting.push_back(end);
            end += work(0);
        }
        let mut wrote = false;
        while now < begin + backlog + Duration::from_secs(1) {
            let before = waiting.len();
            while waiting.front().is_some_and(|at| *at <= now) {
                waiting.pop_front();
            }
            let look = Look {
                calls,
                waiting: waiting.len() as u32,
                began: waiting.len() < before,
                wrote,
            };
            let allowed = window.look(now, look);
            wrote = allowed > 0;
            for _ in 0..allowed {
                idle += now.saturating_duration_since(end);
                waiting.push_back(end.max(now));
                end = end.max(now) + work(calls);
                calls += 1;
            }
            if now > begin + backlog + Duration::from_millis(500) {
                lead = lead.max(end - now);
            }
            now += Duration::from_micros(250);
        }
        (lead, idle)
    }

    #[test]
    fn a_gpu_is_as_far_behind_as_it_may_be_and_hardly_ever_idle() {
        for backlog in [0, 5, 700] {
            for work in [3, 20, 100, 1000, 4000, 50_000] {
                let work = Duration::from_micros(work);
                let (lead, idle) = simulate(Duration::from_millis(backlog), |_| work);
                let what = format!("calls of {work:?}, after {backlog} ms");
                // One runs, and the least that may wait behind it.
                assert!(lead <= BOUND.max(3 * work), "{lead:?} ahead: {what}");
                assert!(idle < Duration::from_millis(3), "idle for {idle:?}: {what}");
            }
        }
    }

    #[test]
    fn calls_that_differ_are_bounded_as_their_mean_is() {
        for work in [20, 100, 1000] {
            let unit = Duration::from_micros(work);
            let (lead, idle) = simulate(Duration::ZERO, |call| unit * [1, 3, 9][call as usize % 3]);
            assert!(lead <= BOUND.max(30 * unit), "{lead:?}, {unit:?}");
            assert!(idle < Duration::from_millis(10), "{idle:?}, {unit:?}");
        }
    }

    #[test]
    fn a_program_that_is_not_held_back_does_not_get_a_larger_window() {
        let mut window = Window::new(BOUND);
        let now = Instant::now();
        let look = |calls| Look {
            calls,
            waiting: 0,
            began: true,
            wrote: true,
        };
        window.look(now, look(0));
        let allowed = (1..1000).map(|calls| window.look(now, look(calls)));
        assert!(
            allowed.max() <= Some(2),
            "a call at each look is all it makes"
        );
    }

    #[test]
    fn calls_that_give_the_gpu_nothing_to_do_are_soon_not_held_back() {
        let mut window = Window::new(BOUND);
        let now = Instant::now();
        let mut calls = 0;
        for _ in 0..100 {
            calls += window.look(
                now,
                Look {
                    calls,
                    waiting: 0,
                    began: false,
                    wrote: false,
                },
            );
        }
        assert!(calls > 100_000, "{calls} in a fortieth of a second");
    }
}
