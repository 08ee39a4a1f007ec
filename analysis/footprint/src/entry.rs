//! Registers at a kernel's entry: LLVM's AMDGPU guide, "Initial Kernel Execution State".

use crate::broken::Rule;
use crate::expr::{BOTTOM, Id, Lost, Node, Symbolic};
use crate::state::{Parked, State};
use crate::walk::Walk;

impl Walk<'_> {
    /// Arguments stand at the end of the user registers.
    pub(crate) fn preload(&mut self, state: &mut State) {
        let descriptor = self.kernel.descriptor;
        let first = descriptor.first_preloaded_sgpr();
        for dword in 0..usize::from(descriptor.preload_length) {
            let offset = 4 * (dword as u32 + u32::from(descriptor.preload_offset));
            let value = self.arena.intern(Node::Kernarg(offset));
            self.set_scalar(state, first + dword, value);
        }
    }

    /// The state in which the command processor starts a wave.
    pub(crate) fn initial(&mut self, is_preloaded: bool) -> State {
        let descriptor = self.kernel.descriptor;
        let mut state = State::new(self.vectors);
        state.scc = self.arena.unknown();
        let mut next = 0;
        if descriptor.private_segment_buffer() {
            for word in 0..4 {
                let value = self.arena.intern(Node::ScratchBuffer(word));
                self.set_scalar(&mut state, next, value);
                next += 1;
            }
        }
        let kernarg = Some(Node::Symbol(Symbolic::Kernarg));
        let pointers = [
            (
                descriptor.dispatch_ptr(),
                Some(Node::Symbol(Symbolic::Packet)),
            ),
            (descriptor.queue_ptr(), Some(Node::Symbol(Symbolic::Queue))),
            (descriptor.kernarg_segment_ptr(), kernarg),
            (descriptor.dispatch_id(), None),
        ];
        for (present, node) in pointers {
            if present {
                if let Some(node) = node {
                    let address = self.arena.intern(node);
                    self.set_scalar64(&mut state, next as u8, address);
                }
                next += 2;
            }
        }
        if descriptor.flat_scratch_init() {
            for half in 0..2 {
                let value = self.arena.intern(Node::FlatScratch(half));
                self.set_scalar(&mut state, next, value);
                next += 1;
            }
        }
        next += usize::from(descriptor.private_segment_size_sgpr());
        if is_preloaded {
            self.preload(&mut state);
        }
        next = next.max(descriptor.user_sgprs());
        for dimension in 0..3_u8 {
            if descriptor.workgroup_id(usize::from(dimension)) {
                let value = self.arena.intern(Node::Group(dimension));
                self.set_scalar(&mut state, next, value);
                next += 1;
            }
        }
        next += usize::from(descriptor.workgroup_info());
        if descriptor.private_segment() && !self.machine.has_architected_scratch() {
            let value = self.arena.intern(Node::ScratchWave);
            self.set_scalar(&mut state, next, value);
            next += 1;
        }
        // What the command processor sets and nobody here asks for. Those behind are set by nobody.
        for register in 0..next {
            if self.scalar(&state, register) == BOTTOM {
                let value = self.arena.opaque(Lost::Arithmetic);
                self.set_scalar(&mut state, register, value);
            }
        }
        let dimensions = descriptor.workitem_ids().min(3) as u8;
        if self.machine.target.packed_work_item_ids && dimensions > 1 {
            let value: Id = self.arena.intern(Node::Items(dimensions));
            self.set_vector(&mut state, 0, value);
        } else {
            for dimension in 0..dimensions {
                let value: Id = self.arena.intern(Node::Item(dimension));
                self.set_vector(&mut state, dimension.into(), value);
            }
        }
        // Nobody but work-items is on, until lanes are switched on that need not be theirs.
        if !Rule::LanesMayBeVacant.is_broken() {
            state.parked = self.parked.push(state.parked, Parked::Vacant);
        }
        let items = self.snapshot(&state);
        state.bound = Some(items);
        self.epochs.begin_with(items);
        state
    }
}
