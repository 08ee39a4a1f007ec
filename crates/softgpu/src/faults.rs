//! Requests that fail on purpose, and waves that are evicted on purpose.
//!
//! A plan belongs to the device: it counts the calls of all processes, so that it does not matter
//! whether the program, CRIU or the process being restored makes them. A call that fails does
//! nothing, as in a driver that refuses before it begins. UNPAUSE cannot be named: after a driver
//! that does not let go, nobody could make the program run on.

use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::errno::Errno;
use strobe_kfd::criu::{CHECKPOINT, CriuOp, PROCESS_INFO, RESTORE, RESUME};
use strobe_kfd::memory::AvailableMemory;
use strobe_kfd::queue::UpdateQueue;
use strobe_kfd::render::context::Ctx;
use strobe_kfd::render::gem::{Create, ListHandles, Mmap, Userptr, Va};
use strobe_kfd::render::prime::FdToHandle;
use strobe_kfd::render::submit::{Submit, WaitSubmit};
use strobe_kfd::{Request, number_parts};
use thiserror::Error;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Requests that can fail: name, type, number, and the operation of those that have several. By all
/// of them but the last three a process is saved and brought back.
const CALLS: [(&str, u8, u8, Option<u32>); 15] = [
    call::<CriuOp>("criu-process-info", Some(PROCESS_INFO)),
    call::<CriuOp>("criu-checkpoint", Some(CHECKPOINT)),
    call::<CriuOp>("criu-restore", Some(RESTORE)),
    call::<CriuOp>("criu-resume", Some(RESUME)),
    call::<FdToHandle>("import", None),
    call::<Create>("create", None),
    call::<Mmap>("mmap", None),
    call::<Ctx>("context", None),
    call::<Submit>("submit", None),
    call::<Va>("map", None),
    call::<WaitSubmit>("wait", None),
    call::<Userptr>("userptr", None),
    call::<UpdateQueue>("update-queue", None),
    call::<AvailableMemory>("available", None),
    call::<ListHandles>("list", None),
];

const fn call<R: Request>(
    name: &'static str,
    operation: Option<u32>,
) -> (&'static str, u8, u8, Option<u32>) {
    let (kind, number) = number_parts(R::NUMBER);
    (name, kind, number, operation)
}

/// Of these as many are drawn as a random plan says.
const DRAWN: usize = 12;

const ERRNOS: [(&str, Errno); 5] = [
    ("EBUSY", Errno::EBUSY),
    ("EINVAL", Errno::EINVAL),
    ("EIO", Errno::EIO),
    ("ENODEV", Errno::ENODEV),
    ("ENOMEM", Errno::ENOMEM),
];

/// Calls that a plan can name one by one.
const RULES: usize = 16;

/// Why a text is no plan.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum PlanError {
    #[error(
        "{0:?} is not CALL@NUMBER=ERRNO, CALL@every=ERRNO, random@SEED=PERCENT or evict@SEED=INSTRUCTIONS"
    )]
    Form(String),
    #[error("{name:?} is no call that can fail; there are {}", call_names())]
    Call { name: String },
    #[error("{name:?} is no error to fail with; there are {}", errno_names())]
    Errno { name: String },
    #[error("a plan names at most {RULES} calls")]
    Long,
}

fn call_names() -> String {
    CALLS.map(|call| call.0).join(", ")
}

fn errno_names() -> String {
    ERRNOS.map(|errno| errno.0).join(", ")
}

/// Instead of a number.
const EVERY: u32 = u32::MAX;

/// Which calls fail, as a new device gets it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct FaultPlan {
    rules: [Rule; RULES],
    seed: u64,
    /// Of all calls that can fail, as many of a hundred do.
    percent: u64,
    eviction_seed: u64,
    /// After as many instructions, on average, waves are evicted; 0: never.
    eviction_every: u64,
}

/// Call number `at` (from 1) of a kind fails, or each ([`EVERY`]).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
struct Rule {
    /// 0: no rule.
    at: u32,
    call: u32,
    errno: u32,
}

impl FromStr for FaultPlan {
    type Err = PlanError;

    /// Rules with commas between them.
    fn from_str(text: &str) -> Result<Self, PlanError> {
        let mut plan = Self::default();
        let mut free = plan.rules.iter_mut();
        for rule in text.split(',') {
            let form = || PlanError::Form(rule.to_owned());
            let (call, rest) = rule.split_once('@').ok_or_else(form)?;
            let (number, value) = rest.split_once('=').ok_or_else(form)?;
            if call == "random" {
                plan.seed = number.parse().map_err(|_| form())?;
                plan.percent = value.parse().map_err(|_| form())?;
                if plan.percent > 100 {
                    return Err(form());
                }
                continue;
            }
            if call == "evict" {
                plan.eviction_seed = number.parse().map_err(|_| form())?;
                let every = value.parse().ok().filter(|every| *every > 0);
                plan.eviction_every = every.ok_or_else(form)?;
                continue;
            }
            let unknown = || PlanError::Call {
                name: call.to_owned(),
            };
            let index = CALLS.iter().position(|known| known.0 == call);
            let errno = ERRNOS.iter().find(|known| known.0 == value);
            let (_, errno) = errno.ok_or_else(|| PlanError::Errno {
                name: value.to_owned(),
            })?;
            let at = match number {
                "every" => Some(EVERY),
                number => number.parse().ok().filter(|at| *at > 0),
            };
            *free.next().ok_or(PlanError::Long)? = Rule {
                at: at.ok_or_else(form)?,
                call: index.ok_or_else(unknown)? as u32,
                errno: *errno as u32,
            };
        }
        Ok(plan)
    }
}

/// How often each call was made on a device.
#[repr(C)]
pub(crate) struct CallCounts([AtomicU32; CALLS.len()]);

impl FaultPlan {
    /// After how many instructions of a compute unit its waves are evicted, where there were so many evictions before;
    /// none: never.
    pub(crate) fn instructions_to_eviction(&self, before: u64) -> Option<u64> {
        let drawn = mix(self.eviction_seed ^ mix(before));
        let most = self
            .eviction_every
            .checked_mul(2)
            .filter(|most| *most > 0)?;
        Some(drawn % most + 1)
    }

    /// Counts a request, and says how it fails if it does. Nothing is printed: where CRIU brings a
    /// process back, stderr is a file of the program already. `operation` is that of a CRIU request.
    pub(crate) fn strike(
        &self,
        counts: &CallCounts,
        (kind, number): (u8, u8),
        operation: impl FnOnce() -> u32,
    ) -> Option<Errno> {
        if *self == Self::default() {
            return None;
        }
        let mut operation = Some(operation);
        let mut asked = None;
        let index = CALLS.iter().position(|(_, of_kind, of_number, wanted)| {
            (*of_kind, *of_number) == (kind, number)
                && wanted.is_none_or(|wanted| {
                    let ask = || operation.take().map(|ask| ask());
                    asked = asked.or_else(ask);
                    asked == Some(wanted)
                })
        })?;
        let number = counts.0[index].fetch_add(1, Ordering::Relaxed) + 1;
        let planned = self
            .rules
            .iter()
            .find(|rule| [number, EVERY].contains(&rule.at) && rule.call as usize == index)
            .map(|rule| Errno::from_raw(rule.errno.cast_signed()));
        planned.or_else(|| self.draw(index, number))
    }

    /// The same for the same seed and call, whatever else happens in between.
    fn draw(&self, index: usize, number: u32) -> Option<Errno> {
        let drawn = mix(self.seed ^ mix((index as u64) << 32 | u64::from(number)));
        let (_, errno) = ERRNOS[(drawn >> 32) as usize % ERRNOS.len()];
        (index < DRAWN && drawn % 100 < self.percent).then_some(errno)
    }
}

/// The finaliser of SplitMix64: every bit of the result depends on every bit of `value`.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts() -> CallCounts {
        CallCounts([const { AtomicU32::new(0) }; CALLS.len()])
    }

    fn plan(text: &str) -> FaultPlan {
        text.parse().expect(text)
    }

    #[test]
    fn the_call_that_is_named_fails_once() {
        let plan = plan("submit@2=EIO,criu-restore@1=ENOMEM");
        let counts = counts();
        let submit = || plan.strike(&counts, (b'd', 0x44), || 0);
        assert_eq!(submit(), None);
        assert_eq!(submit(), Some(Errno::EIO));
        assert_eq!(submit(), None);
        let all = FaultPlan::from_str("available@every=EINVAL").expect("a plan");
        for _ in 0..3 {
            let asked = all.strike(&counts, (b'K', 0x23), || 0);
            assert_eq!(asked, Some(Errno::EINVAL));
        }
        let criu = |operation| plan.strike(&counts, (b'K', 0x22), || operation);
        assert_eq!(criu(CHECKPOINT), None);
        assert_eq!(criu(RESTORE), Some(Errno::ENOMEM));
        assert_eq!(plan.strike(&counts, (b'K', 0x16), || 0), None);
    }

    #[test]
    fn a_seed_strikes_the_same_calls_every_time_and_about_as_many_as_it_says() {
        let strikes = |text: &str| -> Vec<u32> {
            let (plan, counts) = (plan(text), counts());
            (1..=1000)
                .filter(|_| plan.strike(&counts, (b'd', 0x44), || 0).is_some())
                .collect()
        };
        let first = strikes("random@7=20");
        assert_eq!(first, strikes("random@7=20"));
        assert_ne!(first, strikes("random@8=20"));
        assert!((150..250).contains(&first.len()), "{}", first.len());
        assert!(strikes("random@7=0").is_empty());
        assert_eq!(strikes("random@7=100").len(), 1000);
    }

    #[test]
    fn waves_are_evicted_as_often_as_the_plan_says_and_otherwise_with_each_seed() {
        let drawn = |text: &str| -> Vec<Option<u64>> {
            let plan = plan(text);
            (0..1000)
                .map(|n| plan.instructions_to_eviction(n))
                .collect()
        };
        let first = drawn("evict@7=500");
        assert_eq!(first, drawn("submit@1=EIO,evict@7=500"));
        assert_ne!(first, drawn("evict@8=500"));
        let sum: u64 = first.iter().flatten().sum();
        assert!((450..550).contains(&(sum / 1000)), "{sum}");
        assert!(first.iter().flatten().all(|n| (1..=1000).contains(n)));
        assert_eq!(drawn("submit@1=EIO"), [None; 1000]);
    }

    #[test]
    fn what_is_no_plan_is_named() {
        let error = |text: &str| text.parse::<FaultPlan>().expect_err(text).to_string();
        for text in [
            "",
            "submit",
            "submit@1",
            "submit@0=EIO",
            "random@1=101",
            "evict@1=0",
        ] {
            assert!(error(text).contains("CALL@NUMBER=ERRNO"), "{text}");
        }
        assert!(error("sbmit@1=EIO").contains("there are criu-process-info, "));
        assert!(error("submit@1=EFUN").contains("EBUSY, EINVAL"));
        assert!(error(&["submit@1=EIO"; 17].join(",")).contains("at most 16"));
    }
}
