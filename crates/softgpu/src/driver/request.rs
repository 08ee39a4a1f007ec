//! The argument block of a request, and requests that are not known.

use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;
use strobe_kfd::{Request, number_parts};

use crate::report::report;

/// Largest argument block of any known request.
pub(super) const ARGUMENT: usize = 512;

/// The driver's copy of an argument block.
#[repr(C, align(8))]
pub(super) struct Block(pub(super) [u8; ARGUMENT]);

/// Views the block as a request's struct.
pub(super) fn args<R: Request + zerocopy::KnownLayout>(block: &mut Block) -> &mut R {
    const { assert!(size_of::<R>() <= ARGUMENT && align_of::<R>() <= align_of::<Block>()) };
    let Ok((args, _)) = R::mut_from_prefix(&mut block.0) else {
        unreachable!("the assertion above makes a block large and aligned enough");
    };
    args
}

/// A request's number among those of its node.
pub(super) const fn number_of<R: Request>() -> u8 {
    number_parts(R::NUMBER).1
}

/// Answers the request of a number: what each type's is answered with, then any other's.
macro_rules! by_request {
    ($number:ident { $($request:path => $answer:expr,)* } else $other:expr) => {
        match $number {
            $(number if number == $crate::driver::request::number_of::<$request>() => $answer,)*
            _ => $other,
        }
    };
}
pub(super) use by_request;

/// The numbers of one node's requests that were named already.
pub(super) struct Named([AtomicU64; 4]);

impl Named {
    pub(super) const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; 4])
    }

    /// Whether `number` comes for the first time.
    fn first(&self, number: u8) -> bool {
        let bit = 1 << (number % 64);
        let before = self.0[usize::from(number / 64)].fetch_or(bit, Ordering::Relaxed);
        before & bit == 0
    }
}

/// Names a request that nothing answers, once each. Each node numbers its own, so each has a `named`
/// of its own.
pub(super) fn unknown(named: &Named, node: &str, number: u8) -> Errno {
    if named.first(number) {
        report(&format!("{node} request {number:#x} is not implemented"));
    }
    Errno::EINVAL
}
