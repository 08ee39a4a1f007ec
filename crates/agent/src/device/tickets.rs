//! Tickets of one checkpoint, as values of a [`Word`] that streams wait for.
//!
//! Tickets begin anew with each checkpoint, values rise as long as the word is used.

use crate::device::error::DeviceError;
use crate::device::word::Word;
use strobe_engine::Ticket;
use strobe_hip::Stream;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Tickets {
    word: Word,
    /// What the word stood at when this checkpoint began: ticket 0.
    base: u32,
}

impl Tickets {
    pub(crate) fn create() -> Result<Tickets, DeviceError> {
        Ok(Tickets {
            word: new_word()?,
            base: 0,
        })
    }

    /// The next checkpoint counts its tickets anew. Nothing is under way.
    pub(crate) fn start_over(&mut self) -> Result<(), DeviceError> {
        if !self.word.is_usable() {
            self.word = new_word()?;
        }
        self.base = self.word.value();
        Ok(())
    }

    /// The word has gone with everything that HIP had on the device.
    pub(crate) fn device_was_reset(&mut self) {
        self.word = Word::lost();
    }

    /// Where the device stores, and what, when it has come to `ticket`.
    pub(crate) fn store(&self, ticket: Ticket) -> (u64, u32) {
        (self.word.address(), self.value(ticket))
    }

    /// The latest ticket that has been stored.
    pub(crate) fn passed(&self) -> Ticket {
        Ticket(self.word.value().wrapping_sub(self.base).into())
    }

    /// Makes `stream` wait for `ticket`.
    pub(crate) fn make_wait(&self, stream: Stream, ticket: Ticket) -> Result<(), DeviceError> {
        self.word
            .make_wait(stream, self.value(ticket))
            .map_err(DeviceError::Wait)
    }

    /// Nobody waits for any ticket any more.
    pub(crate) fn release(&self) {
        self.word.release();
    }

    fn value(&self, ticket: Ticket) -> u32 {
        // A checkpoint has fewer chunks than the 2^31 values that a usable word has left.
        self.base.wrapping_add(ticket.0 as u32)
    }
}

fn new_word() -> Result<Word, DeviceError> {
    Word::create().map_err(DeviceError::NoWord)
}
