//! The terms of a whole: what a bound on it bounds, too.
//!
//! Where `128 * group + item` is below `n`, so is each term, less the least that the others can be
//! ([`crate::narrowing`]). Addresses are often made of the terms in another way.

use crate::expr::{Arena, Binary, Id, Node};

/// Operations between a whole and its terms.
pub(crate) const DEPTH: u32 = 8;
/// Nodes that are looked at in a whole.
const NODES: u32 = 32;

/// The operands that a bound is carried to.
pub(crate) fn operands(arena: &Arena, node: &Node) -> [Option<Id>; 2] {
    match *node {
        // Its low half.
        Node::Phi64(low, _) => [Some(arena.phi(low)), None],
        Node::Binary(Binary::Add | Binary::Sub | Binary::Or | Binary::Mul, a, b)
        | Node::Add64(a, b)
        | Node::Sub64(a, b)
        | Node::MulU(a, b)
        | Node::MulS(a, b) => [Some(a), Some(b)],
        Node::Binary(Binary::Shl | Binary::Shr, a, _)
        | Node::Shl64(a, _)
        | Node::Zero64(a)
        | Node::Sign64(a)
        | Node::Low(a) => [Some(a), None],
        _ => [None; 2],
    }
}

/// Bits of the terms of a whole.
pub(crate) fn parts(arena: &Arena, whole: Id) -> u64 {
    fn gather(arena: &Arena, whole: Id, depth: u32, left: &mut u32) -> u64 {
        if depth == 0 || *left == 0 {
            return 0;
        }
        let mut bits = 0;
        for operand in operands(arena, &arena.node(whole)).into_iter().flatten() {
            // These are the same in the whole launch.
            let is_fixed = matches!(
                arena.node(operand),
                Node::Const(_)
                    | Node::Const64(_)
                    | Node::Kernarg(_)
                    | Node::Kernarg64(_)
                    | Node::Packet(_)
                    | Node::Vacant
            );
            if !is_fixed {
                *left = left.saturating_sub(1);
                bits |= arena.part(operand) | gather(arena, operand, depth - 1, left);
            }
        }
        bits
    }
    let left = &mut NODES.clone();
    let low = arena.known_low(whole);
    let of_low = low.map(|low| arena.part(low) | gather(arena, low, DEPTH, left));
    of_low.unwrap_or(0) | gather(arena, whole, DEPTH, left)
}
