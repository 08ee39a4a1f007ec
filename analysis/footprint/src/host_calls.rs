//! Memory of the runtime for calls of the host, and which of its words are pointers.
//!
//! A kernel that asserts or prints asks the host to do it: it takes a packet from a list, fills it in, puts
//! it into another list and rings. All of that goes through pointers that are loaded from memory. What
//! memory that is follows from the sources of both sides: of ROCm-Device-Libs, `ockl/src/hostcall_impl.cl`
//! and `ockl/src/hsaqs.cl`; of ROCclr, `device/devhostcall.hpp`, `device/devhostcall.cpp` and
//! `device/rocm/rocvirtual.cpp`; of ROCR, `inc/amd_hsa_signal.h`.
//!
//! - `hidden_hostcall_buffer` and `hidden_printf_buffer` are filled in by the runtime at every launch, of
//!   graphs, too: the program has no say in them, and where there is no buffer for host calls the launch
//!   fails. So what the caller gives for them is not looked at.
//! - The buffer is fine-grained host memory that the runtime allocates for itself, one for each hardware
//!   queue. It begins with three pointers, the same in every version: to the headers of the packets and to
//!   their payloads, which lie behind them in the same allocation, and to the signal that is rung. They are
//!   set before the buffer is given to any kernel, and not changed.
//! - A signal holds the pointer to its mailbox in the driver's page of events, or none.
//! - The buffer of `printf` is host memory of the runtime as well, and holds no pointer.
//!
//! HIP has given none of it to the program: it is tracked nowhere, and saved while the program stands
//! still. A write there belongs to no [`Access`](strobe_extent::Access).
//!
//! Only these four words are pointers of the runtime. Whatever else is read there is unknown: payloads hold
//! what lanes have passed and what the host has answered, and both may be addresses of the program's. And it
//! counts only while those words are what the runtime has set: a launch that may write one itself may touch
//! anything.

use serde::{Deserialize, Serialize};
use strobe_code_object::ArgKind;

use crate::range::Range;

/// What the runtime has for calls of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Structure {
    /// The buffer that the packets are in.
    Buffer,
    /// A signal that wakes the host.
    Signal,
    /// Headers, payloads, a mailbox, text: no pointers.
    Plain,
}

/// Bytes of a pointer.
const POINTER: i64 = 8;

impl Structure {
    /// Where pointers stand, and to what.
    fn pointers(self) -> &'static [(i64, Self)] {
        match self {
            Self::Buffer => &[(0, Self::Plain), (8, Self::Plain), (16, Self::Signal)],
            Self::Signal => &[(16, Self::Plain)],
            Self::Plain => &[],
        }
    }

    /// What a hidden argument points to.
    pub(crate) fn of_argument(kind: ArgKind) -> Option<Self> {
        match kind {
            ArgKind::HiddenHostcallBuffer => Some(Self::Buffer),
            ArgKind::HiddenPrintfBuffer => Some(Self::Plain),
            _ => None,
        }
    }

    /// The pointer that an offset stands in: to what, and how far in.
    pub(crate) fn pointer_at(self, offset: i64) -> Option<(Self, i64)> {
        let pointers = self.pointers().iter();
        let &(at, target) = pointers.rev().find(|(at, _)| *at <= offset)?;
        matches!(offset - at, 0 | 4).then_some((target, offset - at))
    }

    /// Whether some of so many bytes, anywhere in `range`, belong to a pointer.
    pub(crate) fn has_pointer(self, range: Range, bytes: u32) -> bool {
        self.pointers().iter().any(|&(at, _)| {
            let at = i128::from(at);
            range
                .within(at - i128::from(bytes) + 1, at + i128::from(POINTER) - 1)
                .is_some()
        })
    }
}
