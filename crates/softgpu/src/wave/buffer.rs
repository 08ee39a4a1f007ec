//! MUBUF instructions: addresses through a buffer descriptor, ordinary or swizzled.
//!
//! The swizzled ones are private memory: see [`super::private`]. Their offsets are sums modulo 2^32,
//! which are not checked against the descriptor's size: LLVM relies on it when it folds `a[i - 1]`
//! of an array on the stack into an offset register that may be negative and a constant.

use strobe_isa::{Class, Generation, Inst, Operand};

use super::atomics::Rmw;
use super::flat::atomic_lanes;
use super::group::Group;
use super::lanes::compiled_twice;
use super::mask::active;
use super::private::{Private, WINDOW};
use super::register::{Addresses, Lanes};
use super::source::Src;
use super::state::Wave;
use super::step::{Handler, Outcome, Step};
use super::transfer::{Transfer, translated};
use crate::target::{LANES, LaneMask};

const OFFEN: u64 = 1 << 16;
const IDXEN: u64 = 1 << 17;

/// Translates; `None` if the instruction is not known. `base.src` holds address, data and scalar
/// offset, `base.sdst` the descriptor's first register.
pub(super) fn translate(inst: &Inst, base: Step, uses_avx512: bool) -> Option<Step> {
    if inst.lds || inst.tfe {
        return None;
    }
    let mut aux = 0;
    if inst.offen {
        aux |= OFFEN;
    }
    if inst.idxen {
        aux |= IDXEN;
    }
    translated!(inst, Step { aux, ..base }, uses_avx512)
}

/// A buffer descriptor (gfx9: "Vega" instruction set architecture, buffer resource).
#[derive(Clone, Copy, Debug)]
struct Descriptor {
    base: u64,
    stride: u64,
    records: u64,
    swizzled: bool,
    add_lane: bool,
    index_stride: u64,
    element: u64,
}

impl Descriptor {
    #[inline(always)]
    fn of(w: &Wave, first: u8) -> Self {
        let word = |k: u8| w.scalar(first.wrapping_add(k));
        let add_lane = word(3) >> 23 & 1 != 0;
        // The high stride bits stand where the data format is, if the lane number is added.
        let high_stride = if add_lane { word(3) >> 15 & 15 } else { 0 };
        Self {
            base: u64::from(word(0)) | u64::from(word(1) & 0xffff) << 32,
            stride: u64::from(word(1) >> 16 & 0x3fff | high_stride << 14),
            records: u64::from(word(2)),
            swizzled: word(1) >> 31 != 0,
            add_lane,
            index_stride: 8 << (word(3) >> 21 & 3),
            element: 2 << (word(3) >> 19 & 3),
        }
    }

    fn is_private(&self) -> bool {
        self.base >= WINDOW
    }
}

/// Addresses, and the mask of lanes inside the buffer.
#[inline(always)]
fn addresses(w: &Wave, s: &Step, d: &Descriptor, bytes: u64) -> (Addresses, u64) {
    let zero = [0; LANES];
    let (indices, offsets) = match (s.src[0], s.aux & IDXEN != 0, s.aux & OFFEN != 0) {
        (Src::Vector(reg), true, true) => (w.vector(reg), w.vector(reg + 1)),
        (Src::Vector(reg), true, false) => (w.vector(reg), &zero),
        (Src::Vector(reg), false, true) => (&zero, w.vector(reg)),
        _ => (&zero, &zero),
    };
    let scalar = u64::from(w.read32(s.src[2]));
    let private = d.is_private();
    let mut out = [0; LANES];
    let mut outside = 0_u64;
    for i in 0..LANES {
        let index = u64::from(indices[i]) + if d.add_lane { i as u64 } else { 0 };
        let sum = u64::from(offsets[i]) + s.imm as u64;
        let offset = if private { sum & 0xffff_ffff } else { sum };
        let place = if d.swizzled {
            let (row, column) = (index / d.index_stride, index & (d.index_stride - 1));
            let (block, within) = (offset / d.element, offset & (d.element - 1));
            (row * d.stride + block * d.element) * d.index_stride + column * d.element + within
        } else {
            index * d.stride + offset
        };
        let place = place.wrapping_add(scalar);
        out[i] = d
            .base
            .wrapping_add(if private { place & 0xffff_ffff } else { place });
        let out_of_range = if d.stride == 0 || !d.swizzled && s.aux & IDXEN == 0 && !d.add_lane {
            // The scalar offset counts too: Tensile leaves rows of a tile that are outside to this check.
            offset + scalar + bytes > d.records
        } else {
            index >= d.records
        };
        outside |= u64::from(out_of_range) << i;
    }
    (out, if private { !0 } else { !outside })
}

fn register(src: Src) -> u16 {
    match src {
        Src::Vector(reg) => reg,
        // Decoding gives vector registers only.
        _ => 0,
    }
}

/// The first active lane's address if all lanes of private memory lie in one row.
#[inline(always)]
fn row(exec: LaneMask, addrs: &Addresses) -> Option<u64> {
    let mut differing = 0;
    for (i, addr) in addrs.iter().enumerate() {
        let expected = addrs[0].wrapping_add(4 * i as u64);
        differing |= if exec >> i & 1 != 0 {
            addr ^ expected
        } else {
            0
        };
    }
    (differing == 0 && addrs[0].is_multiple_of(256) && addrs[0] >= WINDOW)
        .then(|| addrs[0] - WINDOW)
}

#[inline(always)]
fn load<const N: usize>(w: &mut Wave, g: &mut Group<'_>, s: &Step) -> Outcome {
    let d = Descriptor::of(w, s.sdst);
    let exec = w.exec();
    let (addrs, inside) = addresses(w, s, &d, 4 * N as u64);
    let mut out = [[0; LANES]; N];
    if !d.is_private() {
        g.memory
            .load(exec & inside, &addrs, &mut out)
            .map_err(|fault| fault.at(s.pc))?;
    } else if let (1, Some(at)) = (N, row(exec, &addrs)) {
        // All lanes' words lie side by side.
        match w.private.row(at) {
            Some(words) => out[0] = *words,
            None => return Err(Private::fault(addrs[0], false).at(s.pc)),
        }
    } else {
        for (k, column) in out.iter_mut().enumerate() {
            let part = Step {
                imm: s.imm + 4 * k as i32,
                ..*s
            };
            let (addrs, _) = addresses(w, &part, &d, 4);
            for lane in active(exec) {
                let linear = addrs[lane].wrapping_sub(WINDOW);
                column[lane] = w
                    .private
                    .load_linear(linear, 4)
                    .ok_or_else(|| Private::fault(addrs[lane], false).at(s.pc))?;
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
    let d = Descriptor::of(w, s.sdst);
    let (exec, data) = (w.exec(), register(s.src[1]));
    let (addrs, inside) = addresses(w, s, &d, 4 * N as u64);
    if !d.is_private() {
        let columns: [&Lanes; N] = std::array::from_fn(|k| w.vector(data + k as u16));
        return g
            .memory
            .store(exec & inside, &addrs, &columns)
            .map_err(|fault| fault.at(s.pc));
    }
    if let (1, Some(at)) = (N, row(exec, &addrs)) {
        let words = *w.vector(data);
        let Some(place) = w.private.row_mut(at) else {
            return Err(Private::fault(addrs[0], true).at(s.pc));
        };
        for i in 0..LANES {
            place[i] = if exec >> i & 1 != 0 {
                words[i]
            } else {
                place[i]
            };
        }
        return Ok(());
    }
    for k in 0..N {
        let part = Step {
            imm: s.imm + 4 * k as i32,
            ..*s
        };
        let (addrs, _) = addresses(w, &part, &d, 4);
        for lane in active(exec) {
            let value = w.vector(data + k as u16)[lane];
            w.private
                .store_linear(addrs[lane].wrapping_sub(WINDOW), 4, value)
                .ok_or_else(|| Private::fault(addrs[lane], true).at(s.pc))?;
        }
    }
    Ok(())
}

#[inline(always)]
fn load_part(w: &mut Wave, g: &mut Group<'_>, s: &Step) -> Outcome {
    let (d, shape) = (Descriptor::of(w, s.sdst), Transfer::unpack(s.sel));
    let exec = w.exec();
    let bytes = u64::from(shape.bytes);
    let (addrs, inside) = addresses(w, s, &d, bytes);
    let mut out = *w.vector(s.dst);
    for lane in active(exec) {
        let word = if d.is_private() {
            w.private
                .load_linear(addrs[lane].wrapping_sub(WINDOW), bytes)
                .ok_or_else(|| Private::fault(addrs[lane], false).at(s.pc))?
        } else if inside >> lane & 1 != 0 {
            g.memory
                .load_lane(addrs[lane], bytes)
                .map_err(|fault| fault.at(s.pc))?[0]
        } else {
            0
        };
        out[lane] = shape.fill(out[lane], word);
    }
    w.commit(s.dst, &out);
    Ok(())
}

#[inline(always)]
fn store_part(w: &mut Wave, g: &mut Group<'_>, s: &Step) -> Outcome {
    let (d, shape) = (Descriptor::of(w, s.sdst), Transfer::unpack(s.sel));
    let data = register(s.src[1]);
    let bytes = u64::from(shape.bytes);
    let (addrs, inside) = addresses(w, s, &d, bytes);
    for lane in active(w.exec()) {
        let word = shape.take(w.vector(data)[lane]);
        if d.is_private() {
            w.private
                .store_linear(addrs[lane].wrapping_sub(WINDOW), bytes, word)
                .ok_or_else(|| Private::fault(addrs[lane], true).at(s.pc))?;
        } else if inside >> lane & 1 != 0 {
            g.memory
                .store_lane(addrs[lane], bytes, [word, 0, 0, 0])
                .map_err(|fault| fault.at(s.pc))?;
        }
    }
    Ok(())
}

#[inline(always)]
fn atomic(w: &mut Wave, g: &mut Group<'_>, s: &Step) -> Outcome {
    let d = Descriptor::of(w, s.sdst);
    let exec = w.exec();
    let (addrs, inside) = addresses(w, s, &d, s.aux & 0xff);
    if d.is_private() {
        // Each lane's words are its own: no atomicity is needed, but none of our compilers does it.
        return Err(Private::fault(addrs[0], true).at(s.pc));
    }
    atomic_lanes(w, g, s, exec & inside, &addrs, register(s.src[1]))
}
