//! What of the program's memory is there, and asking for the rest.

use std::io;
use strobe_engine::{Arriving, Needed};
use strobe_extent::{Access, ChunkIndex, ChunkMap, Extent, Reason};
use strobe_proto::{WantedChunks, from_agent};

use crate::wire::connection::Sender;

/// Why everything is waited for.
pub(crate) const EVERYTHING: Access = Access::unknown(Reason::Other("it waits for all memory"));

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Memory {
    arriving: Arriving,
    sender: Sender,
    wants_all: bool,
}

impl Memory {
    pub(crate) fn new(map: ChunkMap, sender: Sender) -> Memory {
        Memory {
            arriving: Arriving::new(map),
            sender,
            wants_all: false,
        }
    }

    /// This is about to be touched: asks for what is not there.
    pub(crate) fn need(&mut self, access: &Access) -> Needed {
        let needed = self.arriving.need(access);
        if !needed.asked_first.is_empty() {
            let chunks = needed.asked_first.iter().map(|chunk| chunk.0).collect();
            // Who cannot be asked is gone, which the control thread finds out.
            let _ = self
                .sender
                .send(from_agent::Body::Wanted(WantedChunks { chunks }));
        }
        needed
    }

    /// Somebody waits for everything.
    pub(crate) fn want_all(&mut self) {
        if !std::mem::replace(&mut self.wants_all, true) {
            self.need(&EVERYTHING);
        }
    }

    pub(crate) fn is_there(&self, needed: &Needed) -> bool {
        self.arriving.is_there(needed)
    }

    /// A chunk is filled: its bytes, and how many are left.
    pub(crate) fn arrived(&mut self, chunk: ChunkIndex) -> io::Result<(Extent, u64)> {
        self.arriving.arrived(chunk).map_err(io::Error::other)?;
        Ok((self.arriving.map().extent(chunk), self.left_bytes()))
    }

    pub(crate) fn left_bytes(&self) -> u64 {
        self.arriving.left_bytes()
    }
}
