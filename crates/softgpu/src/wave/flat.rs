//! FLAT, GLOBAL and SCRATCH instructions: one 64-bit address a lane.

use strobe_isa::scalar_register::M0;
use strobe_isa::{Class, Generation, Inst, Op, Operand, Space};

use super::aperture::{LDS_APERTURE, PRIVATE_APERTURE};
use super::atomics::Rmw;
use super::group::Group;
use super::lanes::compiled_twice;
use super::mask::active;
use super::memory::Fault;
use super::private::Private;
use super::register::{Addresses, Lanes};
use super::source::Src;
use super::state::Wave;
use super::step::{Handler, Outcome, Step};
use super::transfer::{Transfer, translated};
use crate::target::{LANES, LaneMask};

/// How the address is made, as kept in `Step::sdst`.
const FLAT: u8 = 0;
const GLOBAL: u8 = 1;
const SCRATCH: u8 = 2;

/// Translates; `None` if the instruction is not known.
pub(super) fn translate(inst: &Inst, base: Step, uses_avx512: bool) -> Option<Step> {
    let is_to_lds = inst.op == Op::global_load_lds_dword;
    if inst.lds && !is_to_lds || inst.tfe {
        return None;
    }
    let info = inst.op.info();
    let mode = match info.space {
        Space::Flat => FLAT,
        Space::Global => GLOBAL,
        Space::Scratch => SCRATCH,
        _ => return None,
    };
    // The second data operand of no instruction: place 2 is the scalar base.
    let base = Step { sdst: mode, ..base };
    if is_to_lds {
        return Some(Step {
            run: load_to_lds,
            ..base
        });
    }
    translated!(inst, base, uses_avx512)
}

/// A word of each active lane, to where M0 and the instruction's offset say in LDS, and a word further on for each lane
/// before it in the wave (LLVM's `llvm.amdgcn.global.load.lds`; AMD's CDNA4 ISA: `LDSbase + M0[17:2] * 4 + INST.OFFSET +
/// ThreadID * 4`).
fn load_to_lds(w: &mut Wave, g: &mut Group<'_>, s: &Step) -> Outcome {
    let (exec, addrs) = (w.exec(), addresses(w, s));
    let first = (w.scalar(M0) & 0x3_fffc).wrapping_add_signed(s.imm);
    for lane in active(exec) {
        let words = g
            .memory
            .load_lane(addrs[lane], 4)
            .map_err(|fault| fault.at(s.pc))?;
        let to = first.wrapping_add(4 * lane as u32);
        g.lds.store_lane(to, 4, words);
    }
    Ok(())
}

#[inline(always)]
fn addresses(w: &Wave, s: &Step) -> Addresses {
    let mut out = [0; LANES];
    let offset = i64::from(s.imm).cast_unsigned();
    match (s.sdst, s.src[0], s.src[2]) {
        (SCRATCH, vector, scalar) => {
            let base = u64::from(w.read32(scalar)).wrapping_add(offset);
            for (i, out) in out.iter_mut().enumerate() {
                let lane = match vector {
                    Src::Vector(reg) => u64::from(w.vector(reg)[i]),
                    _ => 0,
                };
                *out = PRIVATE_APERTURE | (base.wrapping_add(lane) & 0xffff_ffff);
            }
        }
        (_, Src::Vector(reg), Src::None) => {
            let (lo, hi) = (w.vector(reg), w.vector(reg + 1));
            for i in 0..LANES {
                out[i] = (u64::from(lo[i]) | u64::from(hi[i]) << 32).wrapping_add(offset);
            }
        }
        (_, vector, scalar) => {
            let base = w.read64(scalar).wrapping_add(offset);
            for (i, out) in out.iter_mut().enumerate() {
                let lane = match vector {
                    Src::Vector(reg) => u64::from(w.vector(reg)[i]),
                    _ => 0,
                };
                *out = base.wrapping_add(lane);
            }
        }
    }
    out
}

/// Whether all active lanes address global memory.
#[inline(always)]
fn all_global(s: &Step, exec: LaneMask, addrs: &Addresses) -> bool {
    let mut other = 0_u64;
    for (i, addr) in addrs.iter().enumerate() {
        other |= u64::from(addr >> 48 != 0) << i;
    }
    s.sdst == GLOBAL || other & exec == 0
}

fn load_lane(
    w: &Wave,
    g: &mut Group<'_>,
    lane: usize,
    addr: u64,
    bytes: u64,
) -> Result<[u32; 4], Fault> {
    match addr & !0xffff_ffff {
        LDS_APERTURE => Ok(g.lds.load_lane(addr as u32, bytes)),
        PRIVATE_APERTURE => w
            .private
            .load_lane(lane, addr & 0xffff_ffff, bytes)
            .ok_or_else(|| Private::fault(addr, false)),
        _ => g.memory.load_lane(addr, bytes),
    }
}

fn store_lane(
    w: &mut Wave,
    g: &mut Group<'_>,
    lane: usize,
    addr: u64,
    bytes: u64,
    words: [u32; 4],
) -> Result<(), Fault> {
    match addr & !0xffff_ffff {
        LDS_APERTURE => {
            g.lds.store_lane(addr as u32, bytes, words);
            Ok(())
        }
        PRIVATE_APERTURE => w
            .private
            .store_lane(lane, addr & 0xffff_ffff, bytes, words)
            .ok_or_else(|| Private::fault(addr, true)),
        _ => g.memory.store_lane(addr, bytes, words),
    }
}

/// The register of a data operand.
fn register(src: Src) -> u16 {
    match src {
        Src::Vector(reg) => reg,
        // Decoding gives vector registers only.
        _ => 0,
    }
}

#[inline(always)]
fn load<const N: usize>(w: &mut Wave, g: &mut Group<'_>, s: &Step) -> Outcome {
    let (exec, addrs) = (w.exec(), addresses(w, s));
    let mut out = [[0; LANES]; N];
    if all_global(s, exec, &addrs) {
        g.memory
            .load(exec, &addrs, &mut out)
            .map_err(|fault| fault.at(s.pc))?;
    } else {
        for lane in active(exec) {
            let words =
                load_lane(w, g, lane, addrs[lane], 4 * N as u64).map_err(|fault| fault.at(s.pc))?;
            for k in 0..N {
                out[k][lane] = words[k];
            }
        }
    }
    for (k, column) in out.iter().enumerate() {
        w.commit(s.dst + k as u16, column);
    }
    Ok(())
}

#[inline(always)]
fn store<const N: usize>(w: &mut Wave, g: &mut Group<'_>, s: &Step) -> Outcome {
    let (exec, addrs) = (w.exec(), addresses(w, s));
    let data = register(s.src[1]);
    if all_global(s, exec, &addrs) {
        let columns: [&Lanes; N] = std::array::from_fn(|k| w.vector(data + k as u16));
        return g
            .memory
            .store(exec, &addrs, &columns)
            .map_err(|fault| fault.at(s.pc));
    }
    for lane in active(exec) {
        let words = std::array::from_fn(|k| {
            if k < N {
                w.vector(data + k as u16)[lane]
            } else {
                0
            }
        });
        store_lane(w, g, lane, addrs[lane], 4 * N as u64, words).map_err(|fault| fault.at(s.pc))?;
    }
    Ok(())
}

#[inline(always)]
fn load_part(w: &mut Wave, g: &mut Group<'_>, s: &Step) -> Outcome {
    let (exec, addrs, shape) = (w.exec(), addresses(w, s), Transfer::unpack(s.sel));
    let mut out = *w.vector(s.dst);
    for lane in active(exec) {
        let word = load_lane(w, g, lane, addrs[lane], u64::from(shape.bytes))
            .map_err(|fault| fault.at(s.pc))?[0];
        out[lane] = shape.fill(out[lane], word);
    }
    w.commit(s.dst, &out);
    Ok(())
}

#[inline(always)]
fn store_part(w: &mut Wave, g: &mut Group<'_>, s: &Step) -> Outcome {
    let (exec, addrs, shape) = (w.exec(), addresses(w, s), Transfer::unpack(s.sel));
    let data = register(s.src[1]);
    for lane in active(exec) {
        let word = shape.take(w.vector(data)[lane]);
        store_lane(
            w,
            g,
            lane,
            addrs[lane],
            u64::from(shape.bytes),
            [word, 0, 0, 0],
        )
        .map_err(|fault| fault.at(s.pc))?;
    }
    Ok(())
}

/// One lane's read-modify-write; `words` holds the data (compare-and-swap: new value, then the
/// one compared with).
pub(super) fn rmw_lane(
    w: &mut Wave,
    g: &mut Group<'_>,
    lane: usize,
    addr: u64,
    bytes: u64,
    op: Rmw,
    words: [u32; 4],
) -> Result<u64, Fault> {
    let quad = |k: usize| u64::from(words[k]) | u64::from(words[k + 1]) << 32;
    let (first, second) = if bytes == 8 {
        (quad(0), quad(2))
    } else {
        (u64::from(words[0]), u64::from(words[1]))
    };
    let (a, b) = if op.compares() {
        (second, first)
    } else {
        (first, 0)
    };
    let new = |old: u64| {
        if bytes == 8 {
            op.apply64(old, a, b)
        } else {
            u64::from(op.apply32(old as u32, a as u32, b as u32))
        }
    };
    match addr & !0xffff_ffff {
        LDS_APERTURE => Ok(g.lds.rmw(op, addr as u32, bytes, a, b)),
        PRIVATE_APERTURE => {
            let old = load_lane(w, g, lane, addr, bytes)?;
            let old = u64::from(old[0]) | u64::from(old[1]) << 32;
            let value = new(old);
            store_lane(
                w,
                g,
                lane,
                addr,
                bytes,
                [value as u32, (value >> 32) as u32, 0, 0],
            )?;
            Ok(old)
        }
        _ if bytes == 8 => g.memory.atomic64(addr, new),
        _ => g
            .memory
            .atomic32(addr, |old| new(u64::from(old)) as u32)
            .map(u64::from),
    }
}

#[inline(always)]
fn atomic(w: &mut Wave, g: &mut Group<'_>, s: &Step) -> Outcome {
    let (exec, addrs) = (w.exec(), addresses(w, s));
    atomic_lanes(w, g, s, exec, &addrs, register(s.src[1]))
}

/// Read-modify-write of every active lane, in lane order.
pub(super) fn atomic_lanes(
    w: &mut Wave,
    g: &mut Group<'_>,
    s: &Step,
    exec: LaneMask,
    addrs: &Addresses,
    data: u16,
) -> Outcome {
    let (op, bytes, returns) = (Rmw::from_index(s.sel), s.aux & 0xff, s.aux >> 8 & 1 != 0);
    let registers = if op.compares() { bytes / 2 } else { bytes / 4 };
    let (mut lo, mut hi) = ([0; LANES], [0; LANES]);
    for lane in active(exec) {
        let words = std::array::from_fn(|k| {
            if (k as u64) < registers {
                w.vector(data + k as u16)[lane]
            } else {
                0
            }
        });
        let old =
            rmw_lane(w, g, lane, addrs[lane], bytes, op, words).map_err(|fault| fault.at(s.pc))?;
        (lo[lane], hi[lane]) = (old as u32, (old >> 32) as u32);
    }
    if returns {
        w.commit(s.dst, &lo);
        if bytes == 8 {
            w.commit(s.dst + 1, &hi);
        }
    }
    Ok(())
}
