//! Matrix instructions: `D = A * B + C` of blocks that the lanes of a wave hold together.
//!
//! Which lane and register has which element: AMD's matrix instruction calculator. Where a lane has several elements of a row of A they follow one another in `k`. What
//! AMD's documents do not say is how the sum over `k` is rounded: here each product is added by a fused
//! multiply-add, `k` ascending from C. EXEC does not count. (MMA-Sim, Microsoft's model of what was measured, has MI300 add
//! several products of halves and smaller numbers at once, and cut bits off there: that is not modelled.)
//!
//! MI200 takes subnormal halves and `bf16`s, and subnormal sums of theirs, for zero; singles and doubles it keeps
//! (PyTorch's notes on numerical accuracy, "Reduced Precision FP16 and BF16 GEMMs and Convolutions on AMD Instinct MI200
//! devices"). MI300 keeps all, and of singles that are to be multiplied as `xf32` drops the bits that those have not (MMA-Sim).

use strobe_isa::{Generation, Inst, Op};

use super::f16::F16;
use super::float;
use super::fp8;
use super::group::Group;
use super::lanes::{Kind, compiled_twice};
use super::operand::{source, vector_register};
use super::register::Lanes;
use super::source::Src;
use super::state::Wave;
use super::step::{Handler, Outcome, Step};
use crate::target::LANES;

/// Blocks of `m` rows of A and as many columns of B, `k` products for each element.
#[derive(Clone, Copy, Debug)]
struct Shape {
    m: usize,
    k: usize,
    blocks: usize,
}

/// What A and B consist of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    F32,
    F16,
    Bf16,
    I8,
    F64,
    Xf32,
    /// Each of A and B of `fp8` or `bf8`.
    F8 {
        a_is_bf8: bool,
        b_is_bf8: bool,
    },
}

/// How A and B are laid out in A's and B's registers, and what comes out.
pub(super) trait Elements {
    type Sum: Copy + Default;
    /// Registers of a sum.
    const OF_A_SUM: usize;
    /// Rows of D that follow one another in registers.
    const ROWS: usize;
    /// BLGP says which of A, B and C are negated.
    const HAS_SIGNS: bool = false;
    /// Element number `n` of what a lane has of A from a register on.
    fn element(register: impl Fn(usize) -> u32, n: usize) -> Self::Sum;
    /// The same of B.
    #[inline(always)]
    fn element_of_b(register: impl Fn(usize) -> u32, n: usize) -> Self::Sum {
        Self::element(register, n)
    }
    #[inline(always)]
    fn negated(sum: Self::Sum) -> Self::Sum {
        sum
    }
    fn multiply_add(a: Self::Sum, b: Self::Sum, c: Self::Sum) -> Self::Sum;
    fn addend(lo: u32, hi: u32) -> Self::Sum;
    fn result(sum: Self::Sum) -> [u32; 2];
}

macro_rules! elements {
    ($($name:ident: $in_a_register:literal |$lo:ident, $n:ident| $element:expr, $(or of B $of_b:expr,)? |$sum:ident| $finish:expr;)*) => { $(
        pub(super) struct $name;

        impl Elements for $name {
            type Sum = f32;
            const OF_A_SUM: usize = 1;
            const ROWS: usize = 4;
            #[inline(always)]
            fn element(register: impl Fn(usize) -> u32, $n: usize) -> f32 {
                let $lo = register($n / $in_a_register);
                $element
            }
            $(
                #[inline(always)]
                fn element_of_b(register: impl Fn(usize) -> u32, $n: usize) -> f32 {
                    let $lo = register($n / $in_a_register);
                    $of_b
                }
            )?
            #[inline(always)]
            fn multiply_add(a: f32, b: f32, c: f32) -> f32 {
                a.mul_add(b, c)
            }
            #[inline(always)]
            fn addend(lo: u32, _: u32) -> f32 {
                let $sum = f32::from_bits(lo);
                $finish
            }
            #[inline(always)]
            fn result($sum: f32) -> [u32; 2] {
                let sum: f32 = $finish;
                [sum.to_bits(), 0]
            }
        }
    )* };
}

elements! {
    Singles: 1 |word, _n| f32::from_bits(word), |sum| sum;
    Halves: 2 |word, n| half(word >> (16 * (n % 2))), |sum| float::flush(sum);
    Brains: 2 |word, n| float::flush(brain(word, n)), |sum| float::flush(sum);
    KeptHalves: 2 |word, n| F16((word >> (16 * (n % 2))) as u16).to_f32(), |sum| sum;
    KeptBrains: 2 |word, n| brain(word, n), |sum| sum;
    ShortSingles: 1 |word, _n| f32::from_bits(word & !0x1fff), |sum| sum;
    Fp8s: 4 |word, n| fp8::fp8(byte(word, n)), |sum| sum;
    Bf8s: 4 |word, n| fp8::bf8(byte(word, n)), |sum| sum;
    Fp8sByBf8s: 4 |word, n| fp8::fp8(byte(word, n)), or of B fp8::bf8(byte(word, n)), |sum| sum;
    Bf8sByFp8s: 4 |word, n| fp8::bf8(byte(word, n)), or of B fp8::fp8(byte(word, n)), |sum| sum;
}

#[inline(always)]
fn brain(word: u32, n: usize) -> f32 {
    f32::from_bits(word >> (16 * (n % 2)) << 16)
}

#[inline(always)]
fn byte(word: u32, n: usize) -> u8 {
    (word >> (8 * (n % 4))) as u8
}

/// A half whose subnormals are zero.
#[inline(always)]
fn half(word: u32) -> f32 {
    let bits = word as u16;
    let kept = if bits & 0x7c00 == 0 {
        bits & 0x8000
    } else {
        bits
    };
    F16(kept).to_f32()
}

pub(super) struct Bytes;

impl Elements for Bytes {
    type Sum = i32;
    const OF_A_SUM: usize = 1;
    const ROWS: usize = 4;
    #[inline(always)]
    fn element(register: impl Fn(usize) -> u32, n: usize) -> i32 {
        i32::from(byte(register(n / 4), n).cast_signed())
    }
    #[inline(always)]
    fn multiply_add(a: i32, b: i32, c: i32) -> i32 {
        a.wrapping_mul(b).wrapping_add(c)
    }
    #[inline(always)]
    fn addend(lo: u32, _: u32) -> i32 {
        lo.cast_signed()
    }
    #[inline(always)]
    fn result(sum: i32) -> [u32; 2] {
        [sum.cast_unsigned(), 0]
    }
}

struct Doubles;

impl Elements for Doubles {
    type Sum = f64;
    const OF_A_SUM: usize = 2;
    const ROWS: usize = 1;
    #[inline(always)]
    fn element(register: impl Fn(usize) -> u32, n: usize) -> f64 {
        Self::addend(register(2 * n), register(2 * n + 1))
    }
    #[inline(always)]
    fn multiply_add(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }
    #[inline(always)]
    fn addend(lo: u32, hi: u32) -> f64 {
        f64::from_bits(u64::from(lo) | u64::from(hi) << 32)
    }
    #[inline(always)]
    fn result(sum: f64) -> [u32; 2] {
        let bits = sum.to_bits();
        [bits as u32, (bits >> 32) as u32]
    }
}

/// Doubles whose signs can be changed.
struct SignedDoubles;

impl Elements for SignedDoubles {
    type Sum = f64;
    const OF_A_SUM: usize = Doubles::OF_A_SUM;
    const ROWS: usize = Doubles::ROWS;
    const HAS_SIGNS: bool = true;
    #[inline(always)]
    fn element(register: impl Fn(usize) -> u32, n: usize) -> f64 {
        Doubles::element(register, n)
    }
    #[inline(always)]
    fn negated(sum: f64) -> f64 {
        -sum
    }
    #[inline(always)]
    fn multiply_add(a: f64, b: f64, c: f64) -> f64 {
        Doubles::multiply_add(a, b, c)
    }
    #[inline(always)]
    fn addend(lo: u32, hi: u32) -> f64 {
        Doubles::addend(lo, hi)
    }
    #[inline(always)]
    fn result(sum: f64) -> [u32; 2] {
        Doubles::result(sum)
    }
}

fn shape(op: Op) -> Option<(Element, Shape)> {
    use Element::{Bf16, F8, F16, F32, F64, I8, Xf32};
    let f8 = |a_is_bf8, b_is_bf8| F8 { a_is_bf8, b_is_bf8 };
    let (element, [m, k, blocks]) = match op {
        Op::v_mfma_f32_32x32x1f32 | Op::v_mfma_f32_32x32x1_2b_f32 => (F32, [32, 1, 2]),
        Op::v_mfma_f32_16x16x1f32 | Op::v_mfma_f32_16x16x1_4b_f32 => (F32, [16, 1, 4]),
        Op::v_mfma_f32_4x4x1f32 | Op::v_mfma_f32_4x4x1_16b_f32 => (F32, [4, 1, 16]),
        Op::v_mfma_f32_32x32x2f32 | Op::v_mfma_f32_32x32x2_f32 => (F32, [32, 2, 1]),
        Op::v_mfma_f32_16x16x4f32 | Op::v_mfma_f32_16x16x4_f32 => (F32, [16, 4, 1]),
        Op::v_mfma_f32_32x32x4_xf32 => (Xf32, [32, 4, 1]),
        Op::v_mfma_f32_16x16x8_xf32 => (Xf32, [16, 8, 1]),
        Op::v_mfma_f32_32x32x4f16 | Op::v_mfma_f32_32x32x4_2b_f16 => (F16, [32, 4, 2]),
        Op::v_mfma_f32_16x16x4f16 | Op::v_mfma_f32_16x16x4_4b_f16 => (F16, [16, 4, 4]),
        Op::v_mfma_f32_4x4x4f16 | Op::v_mfma_f32_4x4x4_16b_f16 => (F16, [4, 4, 16]),
        Op::v_mfma_f32_32x32x8f16 | Op::v_mfma_f32_32x32x8_f16 => (F16, [32, 8, 1]),
        Op::v_mfma_f32_16x16x16f16 | Op::v_mfma_f32_16x16x16_f16 => (F16, [16, 16, 1]),
        Op::v_mfma_i32_32x32x4i8 | Op::v_mfma_i32_32x32x4_2b_i8 => (I8, [32, 4, 2]),
        Op::v_mfma_i32_16x16x4i8 | Op::v_mfma_i32_16x16x4_4b_i8 => (I8, [16, 4, 4]),
        Op::v_mfma_i32_4x4x4i8 | Op::v_mfma_i32_4x4x4_16b_i8 => (I8, [4, 4, 16]),
        Op::v_mfma_i32_32x32x8i8 => (I8, [32, 8, 1]),
        Op::v_mfma_i32_16x16x16i8 => (I8, [16, 16, 1]),
        Op::v_mfma_i32_32x32x16_i8 => (I8, [32, 16, 1]),
        Op::v_mfma_i32_16x16x32_i8 => (I8, [16, 32, 1]),
        Op::v_mfma_f32_32x32x2bf16 => (Bf16, [32, 2, 2]),
        Op::v_mfma_f32_16x16x2bf16 => (Bf16, [16, 2, 4]),
        Op::v_mfma_f32_4x4x2bf16 => (Bf16, [4, 2, 16]),
        Op::v_mfma_f32_32x32x4bf16 => (Bf16, [32, 4, 1]),
        Op::v_mfma_f32_16x16x8bf16 => (Bf16, [16, 8, 1]),
        Op::v_mfma_f32_32x32x4bf16_1k | Op::v_mfma_f32_32x32x4_2b_bf16 => (Bf16, [32, 4, 2]),
        Op::v_mfma_f32_16x16x4bf16_1k | Op::v_mfma_f32_16x16x4_4b_bf16 => (Bf16, [16, 4, 4]),
        Op::v_mfma_f32_4x4x4bf16_1k | Op::v_mfma_f32_4x4x4_16b_bf16 => (Bf16, [4, 4, 16]),
        Op::v_mfma_f32_32x32x8bf16_1k | Op::v_mfma_f32_32x32x8_bf16 => (Bf16, [32, 8, 1]),
        Op::v_mfma_f32_16x16x16bf16_1k | Op::v_mfma_f32_16x16x16_bf16 => (Bf16, [16, 16, 1]),
        Op::v_mfma_f64_16x16x4f64 | Op::v_mfma_f64_16x16x4_f64 => (F64, [16, 4, 1]),
        Op::v_mfma_f64_4x4x4f64 | Op::v_mfma_f64_4x4x4_4b_f64 => (F64, [4, 4, 4]),
        Op::v_mfma_f32_16x16x32_bf8_bf8 => (f8(true, true), [16, 32, 1]),
        Op::v_mfma_f32_16x16x32_bf8_fp8 => (f8(true, false), [16, 32, 1]),
        Op::v_mfma_f32_16x16x32_fp8_bf8 => (f8(false, true), [16, 32, 1]),
        Op::v_mfma_f32_16x16x32_fp8_fp8 => (f8(false, false), [16, 32, 1]),
        Op::v_mfma_f32_32x32x16_bf8_bf8 => (f8(true, true), [32, 16, 1]),
        Op::v_mfma_f32_32x32x16_bf8_fp8 => (f8(true, false), [32, 16, 1]),
        Op::v_mfma_f32_32x32x16_fp8_bf8 => (f8(false, true), [32, 16, 1]),
        Op::v_mfma_f32_32x32x16_fp8_fp8 => (f8(false, false), [32, 16, 1]),
        _ => return None,
    };
    Some((element, Shape { m, k, blocks }))
}

/// The step of a matrix instruction; `None` if it is not known.
pub(super) fn translate(inst: &Inst, pc: u64, uses_avx512: bool) -> Option<Step> {
    let (element, shape) = shape(inst.op)?;
    let is_newer = inst.generation >= Generation::Cdna3;
    let (run, kind): (Handler, Kind) = match element {
        Element::F32 => (compiled_twice!(uses_avx512, multiply::<Singles>), Kind::F32),
        Element::F16 if is_newer => (
            compiled_twice!(uses_avx512, multiply::<KeptHalves>),
            Kind::F32,
        ),
        Element::F16 => (compiled_twice!(uses_avx512, multiply::<Halves>), Kind::F32),
        Element::Bf16 if is_newer => (
            compiled_twice!(uses_avx512, multiply::<KeptBrains>),
            Kind::F32,
        ),
        Element::Bf16 => (compiled_twice!(uses_avx512, multiply::<Brains>), Kind::F32),
        Element::I8 => (compiled_twice!(uses_avx512, multiply::<Bytes>), Kind::Int32),
        Element::F64 if is_newer => (
            compiled_twice!(uses_avx512, multiply::<SignedDoubles>),
            Kind::F64,
        ),
        Element::F64 => (compiled_twice!(uses_avx512, multiply::<Doubles>), Kind::F64),
        Element::Xf32 => (
            compiled_twice!(uses_avx512, multiply::<ShortSingles>),
            Kind::F32,
        ),
        Element::F8 { a_is_bf8, b_is_bf8 } => {
            let run: Handler = match (a_is_bf8, b_is_bf8) {
                (false, false) => compiled_twice!(uses_avx512, multiply::<Fp8s>),
                (false, true) => compiled_twice!(uses_avx512, multiply::<Fp8sByBf8s>),
                (true, false) => compiled_twice!(uses_avx512, multiply::<Bf8sByFp8s>),
                (true, true) => compiled_twice!(uses_avx512, multiply::<Bf8s>),
            };
            (run, Kind::F32)
        }
    };
    // Doubles have no blocks to choose.
    let [cbsz, abid, blgp] = [inst.matrix.cbsz, inst.matrix.abid, inst.matrix.blgp];
    let of_doubles = if is_newer {
        cbsz | abid
    } else {
        cbsz | abid | blgp
    };
    if element == Element::F64 && of_doubles != 0 || 1 << cbsz > shape.blocks {
        return None;
    }
    let src = [
        source(inst.srcs[0], kind)?,
        source(inst.srcs[1], kind)?,
        source(inst.srcs[2], kind)?,
    ];
    Some(Step {
        sel: cbsz | abid << 4,
        imm: i32::from(blgp),
        aux: (shape.m | shape.k << 8 | shape.blocks << 16) as u64,
        ..Step::new(run, pc, src, vector_register(inst.dsts[0])?)
    })
}

/// The lane that B is taken from where `lane` would be: BLGP, as AMD's matrix instruction calculator has it.
fn of_group(lane: usize, blgp: i32) -> usize {
    match blgp {
        1 => lane % 32,
        2 => lane % 32 + 32,
        3 => (lane + 16) % LANES,
        4..=7 => lane % 16 + 16 * (blgp as usize - 4),
        _ => lane,
    }
}

/// Where row `i` of a block of `m` times `m` sums begins, in C and D: by sums, and its first lane.
///
/// They are cut into strips of `rows` rows, one register a row and `m` lanes wide. These fill the lanes side by side, then
/// the next registers: block by block, but where blocks are so small that several stand side by side, strip by strip of
/// these.
#[inline(always)]
pub(super) fn place_of_row(m: usize, rows: usize, block: usize, i: usize) -> (usize, usize) {
    let strips_of_a_block = m / rows;
    let side_by_side = LANES / m;
    let together = (side_by_side / strips_of_a_block).max(1);
    let strip = block / together * strips_of_a_block + i / rows;
    let strip = strip * together + block % together;
    (
        strip / side_by_side * rows + i % rows,
        strip % side_by_side * m,
    )
}

/// 32 registers of 64 lanes are the largest D, and C.
const MOST_SUMS: usize = 32 * LANES;
/// Eight elements of each lane are the most of A and B.
const MOST_ELEMENTS: usize = 8 * LANES;

#[inline(always)]
fn multiply<E: Elements>(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    let [m, k, blocks] = [0, 8, 16].map(|at| (s.aux >> at & 0xff) as usize);
    let (cbsz, abid, blgp) = (s.sel & 15, usize::from(s.sel >> 4), s.imm);
    let of_a_lane = k * m * blocks / LANES;
    let register = |src: Src| match src {
        Src::Vector(reg) => reg,
        // Decoding gives registers only.
        _ => 0,
    };
    // By lane, then by the elements that it has.
    let mut a = [E::Sum::default(); MOST_ELEMENTS];
    let mut b = [E::Sum::default(); MOST_ELEMENTS];
    let (from_a, from_b) = (register(s.src[0]), register(s.src[1]));
    let signed = |bit: i32, value: E::Sum| {
        if E::HAS_SIGNS && blgp >> bit & 1 != 0 {
            E::negated(value)
        } else {
            value
        }
    };
    for lane in 0..LANES {
        let b_lane = if E::HAS_SIGNS {
            lane
        } else {
            of_group(lane, blgp)
        };
        for n in 0..of_a_lane {
            let of_a = E::element(|r| w.vector(from_a + r as u16)[lane], n);
            let of_b = E::element_of_b(|r| w.vector(from_b + r as u16)[b_lane], n);
            a[lane * of_a_lane + n] = signed(0, of_a);
            b[lane * of_a_lane + n] = signed(1, of_b);
        }
    }
    let place = |block: usize, row: usize, k: usize| {
        let lane = (k / of_a_lane * blocks + block) * m + row;
        lane * of_a_lane + k % of_a_lane
    };
    let mut out = [[0; LANES]; MOST_SUMS / LANES];
    for block in 0..blocks {
        // CBSZ: so many blocks have A of one of them, ABID says which.
        let of = (block >> cbsz << cbsz)
            + if cbsz == 0 {
                0
            } else {
                abid & ((1 << cbsz) - 1)
            };
        for i in 0..m {
            let (row, first) = place_of_row(m, E::ROWS, block, i);
            let reg = row * E::OF_A_SUM;
            for j in 0..m {
                let lane = first + j;
                let (lo, hi) = match s.src[2] {
                    Src::Vector(c) => (
                        w.vector(c + reg as u16)[lane],
                        w.vector(c + (reg + E::OF_A_SUM - 1) as u16)[lane],
                    ),
                    Src::Const(value) => (value as u32, (value >> 32) as u32),
                    Src::Scalar(_) | Src::None => (0, 0),
                };
                let mut sum = signed(2, E::addend(lo, hi));
                for k in 0..k {
                    sum = E::multiply_add(a[place(of, i, k)], b[place(block, j, k)], sum);
                }
                let words = E::result(sum);
                out[reg][lane] = words[0];
                if E::OF_A_SUM == 2 {
                    out[reg + 1][lane] = words[1];
                }
            }
        }
    }
    let registers = blocks * m * m * E::OF_A_SUM / LANES;
    for (r, column) in out[..registers].iter().enumerate() {
        let to: &mut Lanes = w.vector_mut(s.dst + r as u16);
        *to = *column;
    }
    Ok(())
}
