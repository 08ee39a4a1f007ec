//! Words that look like instructions.

use strobe_isa::{Target, WaveSize};

/// A reproducible stream of cases.
pub(crate) struct Generator {
    target: &'static Target,
    state: u64,
    family: usize,
}

/// The fixed bits of each encoding, and how many low bits are free.
const FAMILIES: [(Shape, u32, u32); 21] = [
    (Shape::Plain, 0x8000_0000, 30),
    (Shape::Plain, 0xb000_0000, 28),
    (Shape::Plain, 0xbe80_0000, 23),
    (Shape::Plain, 0xbf00_0000, 23),
    (Shape::Plain, 0xbf80_0000, 23),
    (Shape::Plain, 0xc000_0000, 26),
    (Shape::Plain, 0x0000_0000, 31),
    (Shape::Plain, 0x7c00_0000, 25),
    (Shape::Plain, 0x7e00_0000, 25),
    (Shape::Sdwa, 0x0000_0000, 31),
    (Shape::Sdwa, 0x7c00_0000, 25),
    (Shape::Sdwa, 0x7e00_0000, 25),
    (Shape::Dpp, 0x0000_0000, 31),
    (Shape::Dpp, 0x7e00_0000, 25),
    (Shape::Vop3, 0xd000_0000, 26),
    (Shape::Vop3, 0xd380_0000, 23),
    (Shape::Data, 0xd800_0000, 26),
    (Shape::Flat, 0xdc00_0000, 26),
    (Shape::Flat, 0xe000_0000, 26),
    (Shape::Flat, 0xe800_0000, 26),
    (Shape::Plain, 0x0000_0000, 32),
];

#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Plain,
    Sdwa,
    Dpp,
    Vop3,
    Data,
    Flat,
}

/// Literals that show as constants.
const LITERALS: [u32; 9] = [
    0,
    1,
    64,
    0x3f80_0000,
    0xffff_ffff,
    0x3c00,
    0x3118,
    0x3e22_f983,
    0xfff0,
];

impl Generator {
    pub(crate) fn new(target: &'static Target, seed: u64) -> Self {
        Self {
            target,
            state: seed,
            family: 0,
        }
    }

    /// SplitMix64.
    fn bits(&mut self) -> u32 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) as u32
    }

    /// True in `of` cases of 16.
    fn chance(&mut self, of: u32) -> bool {
        self.bits() & 15 < of
    }

    /// Bits that are seldom set.
    fn sparse(&mut self) -> u32 {
        self.bits() & self.bits() & self.bits()
    }

    fn pick<const N: usize>(&mut self, from: [u32; N]) -> u32 {
        from[self.bits() as usize % N]
    }

    /// The two words of a case; the encodings come in turn. Most cases are such that we decode
    /// them, so that texts get compared; the others look for what only LLVM decodes.
    pub(crate) fn next_case(&mut self) -> [u32; 2] {
        self.family = (self.family + 1) % FAMILIES.len();
        let attempts = if self.chance(11) { 12 } else { 1 };
        let mut words = [0; 2];
        for _ in 0..attempts {
            words = self.shaped();
            if self.target.isa.decode(&words, WaveSize::Lanes64).is_ok() {
                break;
            }
        }
        words
    }

    fn shaped(&mut self) -> [u32; 2] {
        let (shape, fixed, free) = FAMILIES[self.family];
        let mut first = fixed | self.bits() & (u32::MAX >> (32 - free));
        let mut second = self.bits();
        match shape {
            Shape::Plain => {
                if self.chance(5) {
                    second = self.pick(LITERALS);
                } else if self.chance(5) {
                    second &= 0x1f_ffff;
                }
            }
            Shape::Sdwa => {
                first = first & !0x1ff | 249;
                if self.chance(12) {
                    // Few modifiers; one-source operations have no second selection.
                    let modifiers = 0xf8f8_e000;
                    second = second & !modifiers | self.sparse() & modifiers;
                    if first >> 25 == 0x3f {
                        second &= 0x00ff_ffff;
                    }
                }
            }
            Shape::Dpp => {
                first = first & !0x1ff | 250;
                if self.chance(12) {
                    second &= !0x00f0_0000;
                }
                if self.chance(14) {
                    let kinds = [0, 0, 0x100, 0x110, 0x120, 0x130, 0x134, 0x138, 0x13c, 0x140];
                    let mut ctrl = self.pick(kinds);
                    ctrl |= self.bits() & if ctrl == 0 { 0xff } else { 0xf };
                    second = second & !0x1_ff00 | (ctrl & 0x1ff) << 8;
                }
            }
            Shape::Vop3 => {
                if self.chance(10) {
                    first = first & !0xff00 | self.sparse() & 0xff00;
                }
                if self.chance(11) {
                    second = second & !0xf800_0000 | self.sparse() & 0xf800_0000;
                }
                if self.chance(10) {
                    // One- and two-source operations.
                    second &= self.pick([!0x07fc_0000, !0x07ff_fe00]);
                }
                if self.chance(6) {
                    second |= 0x100 | 0x100 << 9;
                }
            }
            Shape::Data => {
                if self.chance(8) {
                    second &= self.pick([0xff, 0xffff, 0xff00_00ff, 0xff_ffff, 0xff00_ffff]);
                }
            }
            Shape::Flat => {
                if self.chance(8) {
                    second |= 0x7f << 16;
                } else if self.chance(8) {
                    second &= !(0x7f << 16);
                }
                if self.chance(8) {
                    first &= !0xf000;
                }
            }
        }
        if first >> 31 == 0 && first & 0x1ff == 249 {
            second = avoid_reserved_selections(second);
        }
        [first, second]
    }
}

/// LLVM aborts on SDWA selections that do not exist. They are refused here; a plain test says so.
fn avoid_reserved_selections(mut word: u32) -> u32 {
    for shift in [8, 16, 24] {
        if word >> shift & 7 == 7 {
            word &= !(1 << shift);
        }
    }
    if word >> 11 & 3 == 3 {
        word &= !(1 << 11);
    }
    word
}
