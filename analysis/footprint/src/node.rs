//! The nodes of the expression graph.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use serde::{Deserialize, Serialize};

use crate::host_calls::Structure;

/// A node of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Id(pub(crate) u32);

/// A chain of conditions that hold; see [`crate::facts`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct FactId(pub(crate) u32);

/// Why a value has no expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Lost {
    /// Arithmetic that is not modelled, floating point, lane exchange.
    Arithmetic,
    /// Read from local data share.
    Lds,
    /// Read from scratch at an unknown place.
    Scratch,
    /// Returned by an atomic or read from memory that the kernel may write.
    Memory,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Binary {
    Add,
    Sub,
    Mul,
    MulHighU,
    MulHighS,
    Shl,
    Shr,
    Sar,
    And,
    Or,
    Xor,
    MinU,
    MaxU,
    MinS,
    MaxS,
    /// The quotient of unsigned words, and the rest; anything where the divisor is 0.
    DivU,
    RemU,
}

/// How far the inverse of a divisor has been made; see [`crate::expr`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Inverse {
    /// The divisor as a float.
    Divisor,
    Float,
    Scaled,
    /// About 2^32 by the divisor.
    Word,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Compare {
    Eq,
    Ne,
    LtU,
    LeU,
    LtS,
    LeS,
}

/// Bits of a work-item id where those of all dimensions are packed.
pub(crate) const ID_BITS: u32 = 10;
/// All of them.
pub(crate) const ID: u32 = (1 << ID_BITS) - 1;

/// Addresses that are no numbers before the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Symbolic {
    /// The kernarg segment.
    Kernarg,
    /// The AQL packet.
    Packet,
    Queue,
    /// Scratch through the flat aperture.
    Scratch,
    /// LDS through the flat aperture.
    Lds,
    /// Memory of the runtime for calls of the host.
    HostCalls(Structure),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Node {
    /// No value: the place is not reached.
    Bottom,
    // 32 bits
    Const(u32),
    /// Dword of the kernarg segment at a byte offset.
    Kernarg(u32),
    /// Dword of the AQL packet at a byte offset.
    Packet(u32),
    /// Dword of the scratch buffer's descriptor.
    ScratchBuffer(u8),
    /// Dword of where flat addresses of scratch begin.
    FlatScratch(u8),
    /// How far from both the scratch of the wave is.
    ScratchWave,
    /// Whether waves of the launch have lanes without a work-item: 1 if some have.
    Vacant,
    /// Work-item id in its group.
    Item(u8),
    /// The ids of the first so many dimensions, 10 bits each from the lowest on.
    Items(u8),
    /// Work-group id.
    Group(u8),
    /// Anything; the number makes it one of a kind.
    Opaque(u32, Lost),
    /// One dword of a load.
    Load {
        load: u32,
        dword: u8,
    },
    Phi(u32),
    Binary(Binary, Id, Id),
    Select(Id, Id, Id),
    /// Sign extension from so many bits.
    Sign(Id, u8),
    /// What becomes of a divisor.
    Inverse(Id, Inverse),
    /// The row of an element of a triangle, by [`crate::triangles`]: of eight times its number and 1.
    Root(Id, u32),
    Low(Id),
    High(Id),
    /// Half of a lane mask: the truth value, and which half.
    Mask(Id, bool),
    /// Another lane's value of the expression, under the facts that held there.
    Lane(Id, FactId, u32),
    // 64 bits
    Pair(Id, Id),
    Zero64(Id),
    Sign64(Id),
    Const64(u64),
    /// A float, by [`crate::float`].
    Double(u32),
    /// An address in the code object's image, relative to where it is loaded.
    Image(u64),
    Symbol(Symbolic),
    /// Two dwords of the kernarg segment.
    Kernarg64(u32),
    Load64 {
        load: u32,
        dword: u8,
    },
    Phi64(u32, u32),
    Add64(Id, Id),
    Sub64(Id, Id),
    Shl64(Id, Id),
    Shr64(Id, Id),
    Sar64(Id, Id),
    /// Product of two 32-bit words.
    MulU(Id, Id),
    MulS(Id, Id),
    Select64(Id, Id, Id),
    /// Two lane values of one lane.
    Lane64(Id, FactId, u32, u32),
    // truth
    True,
    False,
    Unknown(u32),
    Compare(Compare, Id, Id),
    Not(Id),
    Both(Id, Id),
    Either(Id, Id),
    /// The 32-bit sum carries.
    Carry(Id, Id),
    /// The 32-bit difference borrows.
    Borrow(Id, Id),
    /// Some active lane is in the mask.
    Any(Id),
    /// Lanes active in the epoch for which the condition holds; no other lane.
    Lanes(Id, u32),
    /// The lanes that were active at a snapshot.
    Exec(u32),
    /// Some of them; the second number makes it one of a kind.
    PartOf(u32, u32),
}

/// Multiplicative hashing: nodes are small and made by the million.
#[derive(Clone, Copy, Default)]
pub(crate) struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }
    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }
    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 29;
    }
    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
    fn write_isize(&mut self, value: isize) {
        self.write_u64(value as u64);
    }
}

pub(crate) type Map<K, V> = HashMap<K, V, BuildHasherDefault<Mix>>;

/// The nodes that a node is made of.
pub(crate) fn children(node: &Node) -> [Option<Id>; 3] {
    match *node {
        Node::Binary(_, a, b)
        | Node::Pair(a, b)
        | Node::Add64(a, b)
        | Node::Sub64(a, b)
        | Node::Shl64(a, b)
        | Node::Shr64(a, b)
        | Node::Sar64(a, b)
        | Node::MulU(a, b)
        | Node::MulS(a, b)
        | Node::Compare(_, a, b)
        | Node::Both(a, b)
        | Node::Either(a, b)
        | Node::Carry(a, b)
        | Node::Borrow(a, b) => [Some(a), Some(b), None],
        Node::Select(a, b, c) | Node::Select64(a, b, c) => [Some(a), Some(b), Some(c)],
        Node::Sign(a, _)
        | Node::Inverse(a, _)
        | Node::Root(a, _)
        | Node::Low(a)
        | Node::High(a)
        | Node::Mask(a, _)
        | Node::Lane(a, ..)
        | Node::Lane64(a, ..)
        | Node::Zero64(a)
        | Node::Sign64(a)
        | Node::Not(a)
        | Node::Any(a)
        | Node::Lanes(a, _) => [Some(a), None, None],
        _ => [None; 3],
    }
}
