//! The address space in which the engine copies: buffer objects and their addresses.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;

use super::error::SdmaError;
use crate::client::render::{Buffer, RenderNode};
use crate::render::info::FAMILY_AI;

/// Addresses are handed out from here on, in steps of this.
const FIRST_ADDRESS: u64 = 4 << 30;
const ADDRESS_STEP: u64 = 2 << 20;

/// The content of a buffer object.
#[derive(Clone, Copy, Debug)]
pub struct Content<'a> {
    /// The driver's export of it.
    pub dmabuf: BorrowedFd<'a>,
    /// Bytes.
    pub size: u64,
}

/// An address space of our own for the engine: where its free addresses begin.
pub(super) fn address_space(node: &RenderNode) -> Result<u64, SdmaError> {
    let info = node.device_info().map_err(SdmaError::SetUp)?;
    if info.family < FAMILY_AI {
        return Err(SdmaError::Family(info.family));
    }
    Ok(info.virtual_address_offset.max(FIRST_ADDRESS))
}

pub(super) fn take_address(next: &mut u64, len: u64) -> u64 {
    let address = next.next_multiple_of(ADDRESS_STEP);
    *next = address + len;
    address
}

/// Buffer objects mapped for the engine, when they are first used.
#[derive(Debug)]
pub(super) struct Window<'n, 'c> {
    node: &'n RenderNode,
    contents: &'c [Option<Content<'c>>],
    mapped: BTreeMap<usize, (Buffer<'n>, u64)>,
    next_address: u64,
}

impl<'n, 'c> Window<'n, 'c> {
    pub(super) fn new(
        node: &'n RenderNode,
        contents: &'c [Option<Content<'c>>],
        next_address: u64,
    ) -> Self {
        Self {
            node,
            contents,
            mapped: BTreeMap::new(),
            next_address,
        }
    }

    pub(super) fn address(&mut self, bo: usize) -> Result<u64, SdmaError> {
        if let Some((_, address)) = self.mapped.get(&bo) {
            return Ok(*address);
        }
        let content = self
            .contents
            .get(bo)
            .copied()
            .flatten()
            .ok_or(SdmaError::NoContent(bo))?;
        let address = take_address(&mut self.next_address, content.size);
        let open = || {
            let mut buffer = self.node.import(content.dmabuf)?;
            buffer.map_at(address, content.size)?;
            Ok(buffer)
        };
        let buffer = open().map_err(|error| SdmaError::Import { bo, error })?;
        self.mapped.insert(bo, (buffer, address));
        Ok(address)
    }

    /// All that have been used.
    pub(super) fn buffers(&self) -> Vec<&Buffer<'n>> {
        self.mapped.values().map(|(buffer, _)| buffer).collect()
    }

    pub(super) fn buffer(&self, bo: usize) -> Option<&Buffer<'n>> {
        self.mapped.get(&bo).map(|(buffer, _)| buffer)
    }
}
