//! The registers of a wave.

use strobe_isa::scalar_register::{CODES, EXEC, VCC};

use super::private::Private;
use super::register::{ACCUMULATORS, BROADCAST, Lanes, Register, VECTOR_REGISTERS, Vectors};
use super::source::Src;
use crate::target::{LANES, LaneMask, WAVE};

/// What a wave does next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Status {
    #[default]
    Running,
    /// Lets the other waves run first (`s_sleep`).
    Yielded,
    AtBarrier,
    /// The same of a barrier of the grid: until that has been passed an even, or an odd number of times.
    AtGridBarrier {
        until_odd: bool,
    },
    Ended,
}

/// A wave.
#[derive(Debug)]
pub(super) struct Wave {
    pub pc: u64,
    pub status: Status,
    pub scc: bool,
    /// The MODE register (hardware register 1).
    pub mode: u32,
    /// The EXEC to return to after a DPP instruction that masked lanes.
    pub saved_exec: LaneMask,
    /// Scalar registers by operand code, special ones included.
    s: [u32; CODES],
    v: Box<Vectors>,
    /// What the current vector operation gives, before EXEC selects: low and high words.
    lo: Register,
    hi: Register,
    pub private: Private,
}

impl Wave {
    pub(super) fn new() -> Self {
        let v = vec![Register([0; LANES]); VECTOR_REGISTERS].into_boxed_slice();
        Self {
            pc: 0,
            status: Status::Running,
            scc: false,
            mode: 0,
            saved_exec: 0,
            s: [0; CODES],
            v: v.try_into().expect("the vector has exactly that length"),
            lo: Register([0; LANES]),
            hi: Register([0; LANES]),
            private: Private::default(),
        }
    }

    /// Back to the state before the first instruction, so many vector and accumulation registers zeroed.
    pub(super) fn reset(&mut self, [vectors, accumulators]: [usize; 2]) {
        self.status = Status::Running;
        self.scc = false;
        self.s = [0; CODES];
        self.v[..vectors].fill(Register([0; LANES]));
        self.v[usize::from(ACCUMULATORS)..][..accumulators].fill(Register([0; LANES]));
    }

    #[inline(always)]
    pub(super) fn scalar(&self, reg: u8) -> u32 {
        self.s[usize::from(reg & 127)]
    }

    #[inline(always)]
    pub(super) fn set_scalar(&mut self, reg: u8, value: u32) {
        self.s[usize::from(reg & 127)] = value;
    }

    #[inline(always)]
    pub(super) fn scalar64(&self, reg: u8) -> u64 {
        u64::from(self.scalar(reg)) | u64::from(self.scalar(reg.wrapping_add(1))) << 32
    }

    #[inline(always)]
    pub(super) fn set_scalar64(&mut self, reg: u8, value: u64) {
        self.set_scalar(reg, value as u32);
        self.set_scalar(reg.wrapping_add(1), (value >> 32) as u32);
    }

    /// A lane mask in scalar registers: as many as the wave needs.
    #[inline(always)]
    pub(super) fn mask(&self, reg: u8) -> LaneMask {
        const { assert!(WAVE.mask_dwords() == 2) };
        self.scalar64(reg)
    }

    #[inline(always)]
    pub(super) fn set_mask(&mut self, reg: u8, mask: LaneMask) {
        self.set_scalar64(reg, mask);
    }

    #[inline(always)]
    pub(super) fn exec(&self) -> LaneMask {
        self.mask(EXEC)
    }

    #[inline(always)]
    pub(super) fn set_exec(&mut self, mask: LaneMask) {
        self.set_mask(EXEC, mask);
    }

    #[inline(always)]
    pub(super) fn vcc(&self) -> LaneMask {
        self.mask(VCC)
    }

    #[inline(always)]
    pub(super) fn vector(&self, reg: u16) -> &Lanes {
        &self.v[usize::from(reg)].0
    }

    #[inline(always)]
    pub(super) fn vector_mut(&mut self, reg: u16) -> &mut Lanes {
        &mut self.v[usize::from(reg)].0
    }

    /// The value of a scalar source.
    #[inline(always)]
    pub(super) fn read64(&self, src: Src) -> u64 {
        match src {
            Src::Const(value) => value,
            Src::Scalar(reg) => self.scalar64(reg),
            Src::Vector(_) | Src::None => 0,
        }
    }

    /// A lane mask that is a source; constants stand for the lanes of their bits.
    #[inline(always)]
    pub(super) fn read_mask(&self, src: Src) -> LaneMask {
        self.read64(src)
    }

    #[inline(always)]
    pub(super) fn read32(&self, src: Src) -> u32 {
        match src {
            Src::Const(value) => value as u32,
            Src::Scalar(reg) => self.scalar(reg),
            Src::Vector(_) | Src::None => 0,
        }
    }

    /// The vector register that holds source number `n`, after a broadcast if it is scalar.
    #[inline(always)]
    pub(super) fn stage(&mut self, src: Src, n: u16, is_64_bit: bool) -> u16 {
        let value = match src {
            Src::Vector(reg) => return reg,
            Src::Const(value) => value,
            Src::Scalar(reg) if is_64_bit => self.scalar64(reg),
            Src::Scalar(reg) => u64::from(self.scalar(reg)),
            Src::None => 0,
        };
        let reg = BROADCAST + 2 * n;
        *self.vector_mut(reg) = [value as u32; LANES];
        if is_64_bit {
            *self.vector_mut(reg + 1) = [(value >> 32) as u32; LANES];
        }
        reg
    }

    /// The vector registers to read, and the place for the result's low and high words.
    #[inline(always)]
    pub(super) fn operands(&mut self) -> (&Vectors, &mut Lanes, &mut Lanes) {
        (&self.v, &mut self.lo.0, &mut self.hi.0)
    }

    /// Writes the result to the active lanes of a register (pair).
    #[inline(always)]
    pub(super) fn commit_result(&mut self, reg: u16, is_64_bit: bool) {
        let exec = self.exec();
        merge(&mut self.v[usize::from(reg)].0, &self.lo.0, exec);
        if is_64_bit {
            merge(&mut self.v[usize::from(reg) + 1].0, &self.hi.0, exec);
        }
    }

    /// Writes the active lanes of a register.
    #[inline(always)]
    pub(super) fn commit(&mut self, reg: u16, new: &Lanes) {
        let exec = self.exec();
        merge(self.vector_mut(reg), new, exec);
    }
}

#[inline(always)]
fn merge(old: &mut Lanes, new: &Lanes, exec: LaneMask) {
    if exec == !0 {
        *old = *new;
        return;
    }
    for (half, mask) in [(0, exec as u32), (32, (exec >> 32) as u32)] {
        for i in 0..32 {
            let (before, after) = (old[half + i], new[half + i]);
            let select = 0_u32.wrapping_sub(mask >> i & 1);
            old[half + i] = before ^ (before ^ after) & select;
        }
    }
}
