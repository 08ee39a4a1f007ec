//! How many calls the program may be ahead of the GPU, so that the work in them is not more than a given time.
//!
//! What a call gives the GPU to do is not known before it is done. So as many calls may be under way as the GPU has
//! lately got done in most of that time; where it has run out of work, which says nothing of that, twice as many. They
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
    /// Of the calls so far, how many are known to be done.
    done: u32,
    /// How many were done at a moment since which the GPU has always had work.
    since: Option<(u32, Instant)>,
    /// At the last look: calls, and how many more were allowed.
    last: (u32, u32),
}

impl Window {
    pub(super) fn new(bound: Duration) -> Window {
        Window {
            bound,
            size: LEAST,
            done: 0,
            since: None,
            last: (0, 0),
        }
    }

    /// How many calls may be made until the next look, after `calls`. Of them `through` are known to be done since the
    /// last one, and all if `is_idle`.
    pub(super) fn look(
        &mut self,
        now: Instant,
        calls: u32,
        through: Option<u32>,
        is_idle: bool,
    ) -> u32 {
        let (before, allowed) = self.last;
        // One that is not held back now may have much to do later.
        let is_held_back = calls.wrapping_sub(before) >= allowed;
        if let Some(through) = through {
            self.done = through;
            let (then, since) = *self.since.get_or_insert((through, now));
            let time = now.saturating_duration_since(since);
            if time >= self.bound / 2 {
                let done = f64::from(through.wrapping_sub(then));
                let in_bound = done * self.bound.as_secs_f64() / time.as_secs_f64();
                self.size = ((in_bound * MOST_OF_IT) as u32).clamp(LEAST, MOST);
                self.since = Some((through, now));
            }
        }
        if is_idle {
            self.done = calls;
            self.since = None;
            if is_held_back {
                self.size = (self.size * 2).min(MOST);
            }
        }
        let left = self.size.saturating_sub(calls.wrapping_sub(self.done));
        let allowed = left.min((self.size / PIECES).max(1));
        self.last = (calls, allowed);
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
        let (mut now, mut end) = (begin, begin + backlog);
        let (mut lead, mut idle) = (Duration::ZERO, Duration::ZERO);
        let mut calls = 0;
        // Of a marker: calls before it, when it comes through.
        let mut markers = VecDeque::from([(0, end)]);
        while now < begin + backlog + Duration::from_secs(1) {
            let mut through = None;
            while let Some(&(before, at)) = markers.front()
                && at <= now
            {
                through = Some(before);
                markers.pop_front();
            }
            if markers.back().map_or(0, |(before, _)| *before) < calls && end > now {
                markers.push_back((calls, end));
            }
            for _ in 0..window.look(now, calls, through, markers.is_empty()) {
                idle += now.saturating_duration_since(end);
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
                assert!(lead <= BOUND.max(2 * work), "{lead:?} ahead: {what}");
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
        window.look(now, 0, None, false);
        let allowed = (1..1000).map(|calls| window.look(now, calls, None, true));
        assert!(
            allowed.max() <= Some(2),
            "a call at each look is all it makes"
        );
    }
}
