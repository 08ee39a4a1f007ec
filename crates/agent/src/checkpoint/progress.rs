//! The bound on how long anything is held back.
//!
//! Whoever is held back waits for copies, and copies always come to their end; unless the device has
//! no room for them, the link stands still, or nobody takes away what has arrived. So time counts in
//! which nothing moved: copies are under way and none has arrived, or somebody waits and the link has
//! nothing to do. Time that the link needs does not count.

use std::time::{Duration, Instant};

/// A look that comes later than this was held up itself (the program was stopped, say): the rest
/// does not count.
const LONGEST_LOOK: Duration = Duration::from_millis(250);

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Progress {
    limit: Duration,
    last_look: Instant,
    /// What had arrived at the last look, on lane and link.
    arrived: (u64, u64),
    /// Since when copies are under way and none arrives.
    still: (Duration, Duration),
    /// How long the link has had nothing to do, in all.
    idle: Duration,
    /// The same at the last arrival.
    idle_at_arrival: Duration,
}

/// When a call began to wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Since(Duration);

/// Nothing has moved for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Stuck {
    #[error(
        "the program is held back: copies inside the device make no progress for {} s \
         (--max-hold)", .0.as_secs_f32()
    )]
    Aside(Duration),
    #[error(
        "the program is held back: copies over the link make no progress for {} s \
         (--max-hold)", .0.as_secs_f32()
    )]
    Link(Duration),
    #[error(
        "the program is held back while the link has nothing to do for {} s (--max-hold): what \
         has arrived is not taken away", .0.as_secs_f32()
    )]
    Idle(Duration),
}

impl Progress {
    pub(crate) fn new(limit: Duration, now: Instant) -> Progress {
        Progress {
            limit,
            last_look: now,
            arrived: (0, 0),
            still: (Duration::ZERO, Duration::ZERO),
            idle: Duration::ZERO,
            idle_at_arrival: Duration::ZERO,
        }
    }

    /// `ordered` and `arrived`: how many copies lane and link were given, and how many have
    /// arrived. `stopped`: whether the whole program stands still until all is copied; it may take
    /// as long as something arrives now and then.
    pub(crate) fn look(
        &mut self,
        now: Instant,
        stopped: bool,
        ordered: (u64, u64),
        arrived: (u64, u64),
    ) -> Result<(), Stuck> {
        let since = now.saturating_duration_since(self.last_look);
        let since = since.min(LONGEST_LOOK);
        self.last_look = now;
        let before = std::mem::replace(&mut self.arrived, arrived);
        for (still, ordered, arrived, before) in [
            (&mut self.still.0, ordered.0, arrived.0, before.0),
            (&mut self.still.1, ordered.1, arrived.1, before.1),
        ] {
            let stuck = ordered > arrived && arrived == before;
            *still = if stuck {
                *still + since
            } else {
                Duration::ZERO
            };
        }
        if ordered.1 <= arrived.1 {
            self.idle += since;
        }
        if arrived.1 != before.1 {
            self.idle_at_arrival = self.idle;
        }
        match () {
            () if self.still.0 >= self.limit => Err(Stuck::Aside(self.limit)),
            () if self.still.1 >= self.limit => Err(Stuck::Link(self.limit)),
            () if stopped => self.look_at_call(Since(self.idle_at_arrival)),
            () => Ok(()),
        }
    }

    /// A call begins to wait.
    pub(crate) fn call_waits(&self) -> Since {
        Since(self.idle)
    }

    /// A call still waits.
    pub(crate) fn look_at_call(&self, since: Since) -> Result<(), Stuck> {
        // Whatever arrives is progress: who waits for all of it waits as long as that takes.
        if self.idle - since.0.max(self.idle_at_arrival) >= self.limit {
            return Err(Stuck::Idle(self.limit));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(2);
    const STEP: Duration = Duration::from_millis(100);

    /// Looks every [`STEP`] for three times the limit, as a call that waits all the time; after how
    /// long it was given up. The numbers are those of lane and link, ordered and arrived.
    fn gave_up(
        stopped: bool,
        waits: bool,
        copies: impl Fn(u64) -> [u64; 4],
    ) -> Option<(Stuck, Duration)> {
        let start = Instant::now();
        let mut progress = Progress::new(LIMIT, start);
        let since = progress.call_waits();
        (1..=60).find_map(|step| {
            let [a, b, c, d] = copies(step);
            let now = start + STEP * step as u32;
            let look = progress.look(now, stopped, (a, b), (c, d));
            let look = look.and_then(|()| match waits {
                true => progress.look_at_call(since),
                false => Ok(()),
            });
            look.err().map(|stuck| (stuck, now - start))
        })
    }

    #[test]
    fn copies_that_move_may_take_as_long_as_they_need() {
        let slow = |step| [2 * step, 1 + step / 15, step, step / 15];
        assert_eq!(gave_up(false, true, slow), None);
        assert_eq!(gave_up(true, true, slow), None);
        assert_eq!(
            gave_up(false, false, |_| [3, 3, 3, 3]),
            None,
            "nobody waits"
        );
    }

    #[test]
    fn copies_that_do_not_move_are_given_up_whether_anybody_waits_or_not() {
        let aside = gave_up(false, false, |_| [1, 0, 0, 0]);
        assert_eq!(aside, Some((Stuck::Aside(LIMIT), LIMIT)));
        let link = gave_up(false, false, |step| [step, 1, step, 0]);
        assert_eq!(link, Some((Stuck::Link(LIMIT), LIMIT)));
    }

    #[test]
    fn a_link_with_nothing_to_do_holds_no_call_for_longer_than_the_limit() {
        let idle = gave_up(false, true, |_| [0, 0, 0, 0]);
        assert_eq!(idle, Some((Stuck::Idle(LIMIT), LIMIT)));
        // Late, but something arrives; and then nothing does.
        let then_nothing = |step: u64| [0, (step / 15).min(1), 0, (step / 15).min(1)];
        let idle = gave_up(false, true, then_nothing);
        assert_eq!(idle, Some((Stuck::Idle(LIMIT), LIMIT + 15 * STEP)));
        let now_and_then = |step: u64| [0, step / 15, 0, step / 15];
        assert_eq!(gave_up(false, true, now_and_then), None);
    }

    #[test]
    fn a_program_that_stands_still_goes_on_when_nothing_arrives_any_more() {
        let idle = gave_up(true, false, |_| [0, 0, 0, 0]);
        assert_eq!(idle, Some((Stuck::Idle(LIMIT), LIMIT)));
        let now_and_then = |step: u64| [0, step / 15, 0, step / 15];
        assert_eq!(gave_up(true, false, now_and_then), None);
    }

    #[test]
    fn time_in_which_nobody_could_look_does_not_count() {
        let start = Instant::now();
        let mut progress = Progress::new(LIMIT, start);
        let none = (0, 0);
        let late = start + Duration::from_secs(3600);
        assert_eq!(progress.look(late, true, none, none), Ok(()));
    }
}
