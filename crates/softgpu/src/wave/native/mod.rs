//! Kernels that only move memory, done by the host in place of the interpreter.
//!
//! HIP copies and fills device memory by kernels, and so does Strobe's agent; interpreted, they are slower than
//! copies over the link, where hardware has them ten times as fast and more. They are recognised by content: what
//! decides a dispatch's behaviour (the descriptor but for its entry, and the code) has to be known byte for byte, so
//! a compiler that makes other code of them gets the interpreter. What they do was read off their instructions;
//! the tests run both ways on the same memory. With an access log everything is interpreted, for the log is to
//! say what instructions do.

mod arguments;
mod fingerprint;
mod known;
mod rows;
mod traffic;
mod work;

use super::dispatch::Dispatch;
use super::memory::{AddressSpace, Fault, Memory};
use super::stop::Stop;
pub use traffic::Traffic;
use work::Work;

/// What a launch of a known kernel does, in pieces that may be done in any order, by whoever is free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Native {
    work: Work,
    entry: u64,
}

impl Native {
    /// `None`: it has to be interpreted.
    pub fn of(dispatch: &Dispatch, space: &dyn AddressSpace) -> Option<Self> {
        let mut memory = Memory::new(space, None);
        let kernel = known::kernel(dispatch, &mut memory)?;
        let work = arguments::work(kernel, dispatch, &mut memory)?;
        Some(Self {
            work,
            entry: dispatch.entry(),
        })
    }

    /// How many there are.
    pub fn pieces(&self) -> u64 {
        match &self.work {
            Work::Move(rows) => rows.pieces(),
            Work::Fingerprint(fingerprints) => fingerprints.pieces(),
        }
    }

    /// Does one of them.
    ///
    /// # Errors
    /// Memory that is not mapped.
    pub fn run(&self, piece: u64, space: &dyn AddressSpace) -> Result<(), Stop> {
        let mut memory = Memory::new(space, None);
        let done = match &self.work {
            Work::Move(rows) => rows.run(piece, &mut memory),
            Work::Fingerprint(fingerprints) => fingerprints.run(piece, &mut memory),
        };
        done.map_err(|fault: Fault| *fault.at(self.entry))
    }

    /// `None` where nothing is moved.
    pub fn traffic(&self) -> Option<Traffic> {
        match &self.work {
            Work::Move(rows) => rows.traffic(),
            Work::Fingerprint(fingerprints) => fingerprints.traffic(),
        }
    }
}
