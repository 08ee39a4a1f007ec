//! Quotients as machine code has them: words shifted to the right, high halves of products, and what is left of low bits
//! that are cleared.

use crate::expr::{Arena, Binary, Id, Node};

/// `of * times >> shift`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quotient {
    pub(crate) of: Id,
    pub(crate) times: i128,
    pub(crate) shift: u32,
    /// How the word that is divided is taken.
    pub(crate) signed: bool,
}

impl Quotient {
    /// About what it is divided by.
    pub(crate) fn by(self) -> i128 {
        ((1 << self.shift) + self.times / 2) / self.times
    }
}

/// What is left of a word by a divisor that was made a factor and a shift before the launch:
/// `of - (of + high(of * times) >> shift) * by`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prepared {
    pub(crate) of: Id,
    pub(crate) times: Id,
    pub(crate) shift: Id,
    pub(crate) by: Id,
}

/// Whether the difference of two words may be one.
pub(crate) fn prepared(arena: &Arena, of: Id, whole: Id) -> Option<Prepared> {
    let Node::Binary(Binary::Mul, a, b) = arena.node(whole) else {
        return None;
    };
    [(a, b), (b, a)].into_iter().find_map(|(quotient, by)| {
        let Node::Binary(Binary::Shr, sum, shift) = arena.node(quotient) else {
            return None;
        };
        let Node::Binary(Binary::Add, a, b) = arena.node(sum) else {
            return None;
        };
        let high = match (a == of, b == of) {
            (true, _) => b,
            (_, true) => a,
            _ => return None,
        };
        let Node::Binary(Binary::MulHighU, a, b) = arena.node(high) else {
            return None;
        };
        let times = match (a == of, b == of) {
            (true, _) => b,
            (_, true) => a,
            _ => return None,
        };
        Some(Prepared {
            of,
            times,
            shift,
            by,
        })
    })
}

/// What the node is a quotient of, and the factor that it has besides.
pub(crate) fn quotient(arena: &Arena, id: Id) -> Option<(Quotient, i128)> {
    let node = arena.node(id);
    let (quotient, factor) = match node {
        Node::Binary(Binary::And, of, mask) => {
            let mask = arena.as_const(mask)?.cast_signed();
            let below = mask.unsigned_abs();
            let quotient = Quotient {
                of,
                times: 1,
                shift: below.trailing_zeros(),
                signed: true,
            };
            let clears = mask < 0 && below.is_power_of_two();
            (clears.then_some(quotient)?, i128::from(below))
        }
        Node::Binary(op @ (Binary::Shr | Binary::Sar), a, by) => {
            let by = arena.as_const(by)? & 31;
            (shifted(arena, a, by, op == Binary::Sar), 1)
        }
        Node::Shr64(a, by) => (shifted(arena, a, arena.as_const(by)? & 63, false), 1),
        Node::Sar64(a, by) => (shifted(arena, a, arena.as_const(by)? & 63, true), 1),
        _ => (high_of_product(arena, node)?, 1),
    };
    (quotient.times > 0 && quotient.by() > 1).then_some((quotient, factor))
}

/// A word or a product, shifted to the right.
fn shifted(arena: &Arena, id: Id, by: u32, signed: bool) -> Quotient {
    let word = Quotient {
        of: id,
        times: 1,
        shift: 0,
        signed,
    };
    let node = arena.node(id);
    let product = high_of_product(arena, node).or_else(|| added(arena, node));
    let whole = product.filter(|product| product.times > 0).unwrap_or(word);
    Quotient {
        shift: whole.shift + by,
        ..whole
    }
}

/// The high half of a product of 32-bit words.
fn high_of_product(arena: &Arena, node: Node) -> Option<Quotient> {
    let Node::Binary(op @ (Binary::MulHighU | Binary::MulHighS), of, times) = node else {
        return None;
    };
    let times = arena.as_const(times)?;
    let signed = op == Binary::MulHighS;
    let times = match signed {
        true => times.cast_signed().into(),
        false => times.into(),
    };
    Some(Quotient {
        of,
        times,
        shift: 32,
        signed,
    })
}

/// Likewise, of a factor of 33 bits, of which the top bit is added apart.
pub(crate) fn added(arena: &Arena, node: Node) -> Option<Quotient> {
    let Node::Binary(Binary::Add, a, b) = node else {
        return None;
    };
    [(a, b), (b, a)].into_iter().find_map(|(high, rest)| {
        let product = high_of_product(arena, arena.node(high))?;
        let whole = Quotient {
            times: product.times + (1 << 32),
            ..product
        };
        if product.of == rest {
            return Some(whole);
        }
        // (x - high) / 2 + high: half of the sum, which would not fit.
        let Node::Binary(Binary::Shr, way, by) = arena.node(rest) else {
            return None;
        };
        let is_half = arena.as_const(by) == Some(1)
            && arena.node(way) == Node::Binary(Binary::Sub, product.of, high)
            && !product.signed;
        is_half.then_some(Quotient { shift: 33, ..whole })
    })
}
