//! Packets for the DMA engine: a buffer of them, filled, submitted and waited for.

use std::io;

use nix::time::{ClockId, clock_gettime};
use zerocopy::IntoBytes;

use super::error::SdmaError;
use super::window::take_address;
use crate::client::render::{Buffer, Context, Fence, HostMemory, RenderNode};
use crate::sdma::CopyLinear;

const BYTES: usize = 64 << 10;
/// Less than any engine's limit (4 MiB on Vega).
pub(super) const PACKET_LIMIT: u64 = 2 << 20;
/// What is submitted ends on this boundary; a zero word is a no-operation.
const ALIGN: usize = 32;
/// Packets that fit.
pub(super) const MOST: usize = (BYTES - ALIGN) / size_of::<CopyLinear>();
const WAIT_SECONDS: u64 = 120;

/// A copy between addresses of the engine's address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Copy {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) len: u64,
}

impl Copy {
    /// The packets it takes.
    pub(super) fn packets(&self) -> impl Iterator<Item = CopyLinear> + use<> {
        let Self { from, to, len } = *self;
        (0..len).step_by(PACKET_LIMIT as usize).map(move |done| {
            let part = (len - done).min(PACKET_LIMIT);
            CopyLinear::new(from + done, to + done, part as u32)
        })
    }
}

#[derive(Debug)]
pub(super) struct Packets<'n> {
    buffer: Buffer<'n>,
    address: u64,
    memory: HostMemory,
    pending: Option<Fence>,
}

impl<'n> Packets<'n> {
    /// `next_address` is where the next free address is.
    pub(super) fn new(node: &'n RenderNode, next_address: &mut u64) -> io::Result<Self> {
        let mut buffer = node.create_gtt(BYTES)?;
        let address = take_address(next_address, BYTES as u64);
        buffer.map_at(address, BYTES as u64)?;
        let memory = buffer.map_for_cpu(BYTES)?;
        Ok(Self {
            buffer,
            address,
            memory,
            pending: None,
        })
    }

    /// Submits at most [`MOST`] packets, after those before are done. `buffers` are all buffers that
    /// they use.
    pub(super) fn submit(
        &mut self,
        context: &Context<'_>,
        packets: &[CopyLinear],
        buffers: &[&Buffer<'_>],
    ) -> Result<(), SdmaError> {
        self.wait(context)?;
        let mut bytes = packets.as_bytes().to_vec();
        bytes.resize(bytes.len().next_multiple_of(ALIGN), 0);
        self.memory.write(0, &bytes);
        let mut buffers = buffers.to_vec();
        buffers.push(&self.buffer);
        let fence = context
            .submit_dma(&buffers, self.address, bytes.len() as u32)
            .map_err(SdmaError::Submit)?;
        self.pending = Some(fence);
        Ok(())
    }

    /// Waits until what was submitted is done.
    pub(super) fn wait(&mut self, context: &Context<'_>) -> Result<(), SdmaError> {
        let Some(fence) = self.pending.take() else {
            return Ok(());
        };
        let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map_err(|e| SdmaError::Wait(e.into()))?;
        let deadline = (now.tv_sec() as u64 + WAIT_SECONDS) * 1_000_000_000;
        context.wait(fence, deadline).map_err(SdmaError::Wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_cover_a_copy_once() {
        let copy = Copy {
            from: 0x1000,
            to: 0x9000,
            len: 2 * PACKET_LIMIT + 1,
        };
        let packets: Vec<CopyLinear> = copy.packets().collect();
        let expected = [
            CopyLinear::new(0x1000, 0x9000, PACKET_LIMIT as u32),
            CopyLinear::new(
                0x1000 + PACKET_LIMIT,
                0x9000 + PACKET_LIMIT,
                PACKET_LIMIT as u32,
            ),
            CopyLinear::new(0x1000 + 2 * PACKET_LIMIT, 0x9000 + 2 * PACKET_LIMIT, 1),
        ];
        assert_eq!(packets.as_bytes(), expected.as_bytes());
        let nothing = Copy { len: 0, ..copy };
        assert_eq!(nothing.packets().count(), 0);
    }

    #[test]
    fn the_most_packets_fit_their_buffer() {
        let bytes = MOST * size_of::<CopyLinear>();
        assert!(bytes.next_multiple_of(ALIGN) <= BYTES, "{bytes}");
    }
}
