//! Floats of 64 bits, as far as indices are made of them.
//!
//! Integers that become floats and integers again, and the square root by which an index finds its row in a triangle: machines
//! estimate the inverse of a root, and compilers refine that. So a float is followed as a number times a power of an integer's
//! root, with bounds of the number that hold whatever each instruction has rounded.

use strobe_isa::{Inst, Op, Operand};

use crate::expr::{Binary, Compare, FALSE, Id, Lost, Node, TRUE};
use crate::float::{Bounds, Double, Power, ROUNDED};
use crate::state::State;
use crate::walk::Walk;

/// What `v_rsq_f64` is off by at most, of its result: LLVM counts on half of that.
const ESTIMATED: f64 = 1.0 / (1 << 22) as f64;
/// The bits by which `v_cmp_class_f64` asks for zeros, or for zeros and infinity.
const ZEROS: [u32; 2] = [0x40, 0x260];
/// Words that far from 0, or further, are no numbers of elements.
const MANY: u32 = 1 << 30;

/// What a sum or a difference of two is multiplied with, or what an operand is.
#[derive(Clone, Copy)]
enum Source {
    Double(Double),
    Number(f64),
}

impl Walk<'_> {
    /// The value of an instruction on floats of 64 bits, if it is followed.
    pub(crate) fn double_value(&mut self, state: &State, inst: &Inst) -> Option<Id> {
        use Op::*;
        if inst.omod != 0 || inst.abs != 0 || inst.clamp {
            return None;
        }
        let made = match inst.op {
            v_cvt_f64_u32 | v_cvt_f64_i32 => Double::Word {
                word: self.word(state, inst.srcs[0]),
                signed: inst.op == v_cvt_f64_i32,
            },
            v_cvt_i32_f64 => return self.truncated(state, inst),
            v_ldexp_f64 => self.scaled_up(state, inst)?,
            v_rsq_f64 => self.inverse_root(state, inst)?,
            v_floor_f64 => Double::Word {
                word: self.root(state, inst, true)?,
                signed: true,
            },
            v_min_f64 | v_max_f64 => self.extreme(state, inst)?,
            v_add_f64 => self.double_sum(state, inst)?,
            v_mul_f64 => {
                let (a, b) = (self.double(state, inst, 0)?, self.double(state, inst, 1)?);
                self.double_product(a, b)?
            }
            v_fma_f64 => self.multiplied_and_added(state, inst)?,
            _ => return None,
        };
        Some(self.arena.double(made))
    }

    /// Whether a float is 0, where an instruction asks for that.
    pub(crate) fn is_zero(&mut self, state: &State, inst: &Inst) -> Option<Id> {
        let Source::Double(Double::Power(power)) = self.double(state, inst, 0)? else {
            return None;
        };
        let class = self.word(state, inst.srcs[1]);
        let class = self.arena.as_const(class)?;
        let is_asked = ZEROS.contains(&class) && power.roots == 2 && power.number.is_one();
        let zero = self.arena.constant64(0);
        is_asked.then(|| self.arena.compare(Compare::Eq, power.of, zero))
    }

    fn double(&mut self, state: &State, inst: &Inst, index: usize) -> Option<Source> {
        let source = match inst.srcs[index] {
            Operand::Float(number) => Source::Number(f64::from_bits(number.double())),
            Operand::Int(0) => Source::Number(0.0),
            operand @ (Operand::Vector(_) | Operand::Scalar(_)) => {
                Source::Double(self.double_at(state, operand)?)
            }
            _ => return None,
        };
        if inst.neg >> index & 1 == 0 {
            return Some(source);
        }
        Some(match source {
            Source::Number(number) => Source::Number(-number),
            Source::Double(Double::Power(power)) => Source::Double(Double::Power(Power {
                number: power.number.negated(),
                ..power
            })),
            Source::Double(_) => return None,
        })
    }

    /// What is followed in a pair of registers. Most floats are not: of those it is told by the low half.
    fn double_at(&mut self, state: &State, operand: Operand) -> Option<Double> {
        let low = self.word(state, operand);
        let is_half = |id: Id| match self.arena.node(id) {
            Node::Low(whole) => matches!(self.arena.node(whole), Node::Double(_)),
            _ => false,
        };
        let may_be = match self.arena.node(low) {
            Node::Select(_, yes, no) => is_half(yes) && is_half(no),
            _ => is_half(low),
        };
        if !may_be {
            return None;
        }
        let whole = self.scalar64(state, operand);
        self.as_double(whole)
    }

    fn as_double(&mut self, whole: Id) -> Option<Double> {
        match self.arena.node(whole) {
            Node::Double(index) => Some(self.arena.doubles[index as usize]),
            // The root of 0 is 0 itself: what was made of it otherwise is no number.
            Node::Select64(condition, yes, no) => {
                let (yes, no) = (self.as_double(yes)?, self.as_double(no)?);
                let (Double::Power(own), Double::Power(root)) = (yes, no) else {
                    return None;
                };
                let zero = self.arena.constant64(0);
                let is_zero =
                    self.arena.node(condition) == Node::Compare(Compare::Eq, own.of, zero);
                let is_root = own.of == root.of && own.of_zero && root.roots > 0;
                let of_zero = true;
                (is_zero && is_root).then_some(Double::Power(Power { of_zero, ..root }))
            }
            _ => None,
        }
    }

    /// `v_ldexp_f64`: only of the upper half of an integer.
    fn scaled_up(&mut self, state: &State, inst: &Inst) -> Option<Double> {
        let by = self.word(state, inst.srcs[1]);
        match self.double(state, inst, 0)? {
            Source::Double(Double::Word {
                word,
                signed: false,
            }) if self.arena.as_const(by) == Some(32) => Some(Double::Upper(word)),
            _ => None,
        }
    }

    fn inverse_root(&mut self, state: &State, inst: &Inst) -> Option<Double> {
        match self.double(state, inst, 0)? {
            Source::Double(Double::Power(Power {
                of,
                roots: 2,
                number,
                ..
            })) if number.is_one() => {
                let number = Bounds {
                    lo: 1.0 / number.hi.sqrt(),
                    hi: 1.0 / number.lo.sqrt(),
                };
                Some(Double::Power(Power {
                    of,
                    roots: -1,
                    number: number.off_by(ESTIMATED),
                    of_zero: false,
                }))
            }
            _ => None,
        }
    }

    fn extreme(&mut self, state: &State, inst: &Inst) -> Option<Double> {
        let (a, b) = (self.double(state, inst, 0)?, self.double(state, inst, 1)?);
        let (
            Source::Double(Double::Word {
                word: a,
                signed: a_signed,
            }),
            Source::Double(Double::Word {
                word: b,
                signed: b_signed,
            }),
        ) = (a, b)
        else {
            return None;
        };
        let is_least = inst.op == Op::v_min_f64;
        if !a_signed && !b_signed {
            let op = if is_least { Binary::MinU } else { Binary::MaxU };
            let word = self.arena.binary(op, a, b);
            let signed = false;
            return Some(Double::Word { word, signed });
        }
        // The lesser of two is no more than the one with a sign.
        if !is_least && a_signed != b_signed {
            return None;
        }
        let op = if is_least { Binary::MinS } else { Binary::MaxS };
        let a = self.with_sign(a, a_signed);
        let b = self.with_sign(b, b_signed);
        let word = self.arena.binary(op, a, b);
        let signed = true;
        Some(Double::Word { word, signed })
    }

    /// The word with a sign that is nearest.
    fn with_sign(&mut self, word: Id, signed: bool) -> Id {
        if signed {
            return word;
        }
        let most = self.arena.constant(i32::MAX as u32);
        self.arena.binary(Binary::MinU, word, most)
    }

    fn double_sum(&mut self, state: &State, inst: &Inst) -> Option<Double> {
        // A word may have been made negative by its sign alone.
        if inst.neg & 0b11 == 0b10
            && let (Operand::Vector(_), Operand::Vector(_)) = (inst.srcs[0], inst.srcs[1])
        {
            let a = self.double_at(state, inst.srcs[0])?;
            let b = self.double_at(state, inst.srcs[1])?;
            return self.difference_of_words(a, b);
        }
        let (a, b) = (self.double(state, inst, 0)?, self.double(state, inst, 1)?);
        match (a, b) {
            (Source::Double(Double::Upper(high)), Source::Double(low))
            | (Source::Double(low), Source::Double(Double::Upper(high))) => {
                let Double::Word {
                    word,
                    signed: false,
                } = low
                else {
                    return None;
                };
                Some(Double::Power(Power {
                    of: self.arena.pair(word, high),
                    roots: 2,
                    number: Bounds::ONE.off_by(ROUNDED),
                    of_zero: true,
                }))
            }
            (Source::Double(Double::Power(root)), Source::Number(-1.0)) if root.is_root() => {
                let number = root.number.off_by(ROUNDED);
                Some(Double::LessOne(Power { number, ..root }))
            }
            _ => None,
        }
    }

    fn difference_of_words(&mut self, a: Double, b: Double) -> Option<Double> {
        let (
            Double::Word {
                word: a,
                signed: true,
            },
            Double::Word {
                word: b,
                signed: true,
            },
        ) = (a, b)
        else {
            return None;
        };
        // The machine makes the last word of a difference that is none. Of two small words it is one. (What is not known is
        // in the first word's place: rows of triangles are told by the root that is taken from something.)
        let Node::Root(..) = self.arena.node(b) else {
            return None;
        };
        let lost = self.arena.opaque(Lost::Arithmetic);
        let mut from = a;
        for word in [a, b] {
            let many = self.arena.constant(MANY);
            let from_least = self.arena.binary(Binary::Add, word, many);
            let most = self.arena.constant(2 * MANY);
            let is_small = self.arena.compare(Compare::LtU, from_least, most);
            from = match is_small {
                TRUE => from,
                FALSE => lost,
                _ => self.arena.select(is_small, from, lost),
            };
        }
        Some(Double::Word {
            word: self.arena.binary(Binary::Sub, from, b),
            signed: true,
        })
    }

    fn double_product(&mut self, a: Source, b: Source) -> Option<Double> {
        Some(match (a, b) {
            (Source::Double(Double::Power(a)), Source::Double(Double::Power(b))) => {
                Double::Power(a.times(b)?)
            }
            (Source::Double(Double::LessOne(root)), Source::Number(0.5))
            | (Source::Number(0.5), Source::Double(Double::LessOne(root))) => Double::Half(root),
            (Source::Double(Double::Power(power)), Source::Number(number))
            | (Source::Number(number), Source::Double(Double::Power(power))) => {
                let times = Bounds {
                    lo: number,
                    hi: number,
                };
                let product = Power {
                    number: power.number.times(times).off_by(ROUNDED),
                    ..power
                };
                Double::Power(product.checked()?)
            }
            _ => return None,
        })
    }

    fn multiplied_and_added(&mut self, state: &State, inst: &Inst) -> Option<Double> {
        let (a, b) = (self.double(state, inst, 0)?, self.double(state, inst, 1)?);
        let c = self.double(state, inst, 2)?;
        if let (Source::Double(Double::Power(root)), Source::Number(0.5), Source::Number(-0.5)) =
            (a, b, c)
            && root.is_root()
        {
            let number = root.number.off_by(ROUNDED);
            return Some(Double::Half(Power { number, ..root }));
        }
        let Double::Power(product) = self.double_product(a, b)? else {
            return None;
        };
        let added = match c {
            Source::Double(Double::Power(added)) => added,
            Source::Number(number) => Power {
                roots: 0,
                number: Bounds {
                    lo: number,
                    hi: number,
                },
                ..product
            },
            Source::Double(_) => return None,
        };
        if (product.of, product.roots) != (added.of, added.roots) {
            return None;
        }
        let sum = Power {
            number: product.number.plus(added.number).off_by(ROUNDED),
            of_zero: product.of_zero && added.of_zero,
            ..product
        };
        Some(Double::Power(sum.checked()?))
    }

    /// `v_cvt_i32_f64`.
    fn truncated(&mut self, state: &State, inst: &Inst) -> Option<Id> {
        match self.double(state, inst, 0)? {
            Source::Double(Double::Word { word, signed }) => Some(self.with_sign(word, signed)),
            Source::Double(Double::Half(_)) => self.root(state, inst, false),
            Source::Double(_) | Source::Number(_) => None,
        }
    }

    /// Half of a root less 1, without what comes behind the point.
    fn root(&mut self, state: &State, inst: &Inst, floored: bool) -> Option<Id> {
        let Source::Double(Double::Half(power)) = self.double(state, inst, 0)? else {
            return None;
        };
        // Of roots of the integer itself, and rounded as it is reckoned with.
        if !power.number.is_one() || !self.rounding.is_to_nearest(self.kernel) {
            return None;
        }
        let float = self.scalar64(state, inst.srcs[0]);
        Some(self.arena.root(float, power, floored))
    }
}
