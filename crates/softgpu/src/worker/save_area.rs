//! The save area of a queue: memory of the program, of the size that its runtime has computed, where the workgroups of
//! an evicted dispatch are.
//!
//! It begins with room for the control stack, of which runtimes have the first bytes for themselves; what is behind
//! that is ours, each workgroup at the next multiple of 64 bytes.

use super::control_stack::{self, Place};
use super::memory::translate;
use crate::device::Queue;
use crate::space::Snapshot;

const ALIGNMENT: u64 = 64;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SaveArea {
    start: u64,
    bytes: u64,
    /// How many workgroups the control stack can name.
    places: usize,
}

impl SaveArea {
    /// `None`: the queue has no control stack, so what it executes cannot be evicted.
    pub(super) fn of(queue: &Queue, space: &Snapshot) -> Option<Self> {
        let places = control_stack::room(queue.control_stack_bytes())?;
        let nothing = Self {
            places,
            ..Self::default()
        };
        let start = queue.save_address.checked_add(queue.stack_size.into());
        let bytes = queue.save_size.checked_sub(queue.stack_size);
        let (Some(start), Some(bytes)) = (start, bytes) else {
            return Some(nothing);
        };
        let bytes = u64::from(bytes);
        Some(match translate(space, start, bytes) {
            Some(_) => Self {
                start,
                bytes,
                places,
            },
            None => nothing,
        })
    }

    /// Bytes that a workgroup of `len` bytes takes.
    pub(super) fn taken_by(len: usize) -> u64 {
        (len as u64).next_multiple_of(ALIGNMENT)
    }

    /// Whether as many workgroups fit that take so many bytes.
    pub(super) fn has_room(&self, groups: usize, bytes: u64) -> bool {
        groups <= self.places && bytes <= self.bytes
    }

    /// Writes workgroups, which fit; `None` where the area has gone.
    pub(super) fn write(&self, space: &Snapshot, groups: &[(u64, Vec<u8>)]) -> Option<Vec<Place>> {
        let mut offset = 0;
        let mut places = Vec::with_capacity(groups.len());
        for (group, content) in groups {
            let place = Place::of(*group, offset, content);
            let host = self.host(space, &place)?;
            // SAFETY: translated for as many bytes. It is the program's memory, which may write there, too: the
            // fingerprint then tells.
            unsafe { host.copy_from_nonoverlapping(content.as_ptr(), content.len()) };
            places.push(place);
            offset += Self::taken_by(content.len());
        }
        Some(places)
    }

    /// What was written there; `None` if it is not.
    pub(super) fn read(&self, space: &Snapshot, place: &Place) -> Option<Vec<u8>> {
        let host = self.host(space, place)?;
        let mut content = vec![0; place.bytes as usize];
        // SAFETY: as for writing; looked at only once it is copied.
        unsafe { host.copy_to_nonoverlapping(content.as_mut_ptr(), content.len()) };
        place.holds(&content).then_some(content)
    }

    fn host(&self, space: &Snapshot, place: &Place) -> Option<*mut u8> {
        let end = place.offset.checked_add(place.bytes)?;
        (end <= self.bytes).then_some(())?;
        translate(space, self.start + place.offset, place.bytes)
    }
}
