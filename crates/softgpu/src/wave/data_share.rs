//! Instructions on the local data share.

use strobe_isa::{Class, Flags, Inst, Op};

use super::atomics::Rmw;
use super::grid_barrier;
use super::group::Group;
use super::lanes::compiled_twice;
use super::lds::{WORDS, address};
use super::mask::active;
use super::register::{Lanes, MODIFIED};
use super::source::Src;
use super::state::Wave;
use super::step::{Handler, Outcome, Step};
use super::transfer::Transfer;
use crate::target::LANES;

/// Translates a data share instruction; `None` if it is not known.
pub(super) fn translate(inst: &Inst, base: Step, uses_avx512: bool) -> Option<Step> {
    if inst.gds {
        return grid_barrier::translate(inst, base);
    }
    let info = inst.op.info();
    let name = info.name.strip_prefix("ds_")?;
    let two = info.flags.contains(Flags::TWO_ADDRESSES);
    let unit = i32::from(info.bytes)
        * if info.flags.contains(Flags::STRIDE_64) {
            64
        } else {
            1
        };
    // Stores of what stands elsewhere in LDS have an address only.
    if info.class == Class::Store && base.src[1] == Src::None {
        return None;
    }
    let handler: Handler = match inst.op {
        Op::ds_bpermute_b32 => backward_permute,
        Op::ds_permute_b32 => forward_permute,
        Op::ds_swizzle_b32 => {
            swizzled(inst.imm, 0)?;
            return Some(Step {
                run: swizzle,
                imm: inst.imm,
                ..base
            });
        }
        Op::ds_read_addtid_b32 | Op::ds_write_addtid_b32 => return None,
        _ => match (info.class, info.bytes, two) {
            (Class::Load, 4, true) => compiled_twice!(uses_avx512, read2::<1>),
            (Class::Load, 8, true) => compiled_twice!(uses_avx512, read2::<2>),
            (Class::Store, 4, true) => compiled_twice!(uses_avx512, write2::<1>),
            (Class::Store, 8, true) => compiled_twice!(uses_avx512, write2::<2>),
            (Class::Load, 4, false) => compiled_twice!(uses_avx512, read::<1>),
            (Class::Load, 8, false) => compiled_twice!(uses_avx512, read::<2>),
            (Class::Load, 12, false) => compiled_twice!(uses_avx512, read::<3>),
            (Class::Load, 16, false) => compiled_twice!(uses_avx512, read::<4>),
            (Class::Store, 4, false) => compiled_twice!(uses_avx512, write::<1>),
            (Class::Store, 8, false) => compiled_twice!(uses_avx512, write::<2>),
            (Class::Store, 12, false) => compiled_twice!(uses_avx512, write::<3>),
            (Class::Store, 16, false) => compiled_twice!(uses_avx512, write::<4>),
            (Class::Load, 1 | 2, false) => read_part,
            (Class::Store, 1 | 2, false) => write_part,
            (Class::Atomic, 4 | 8, false) => {
                let op = Rmw::of_lds(&name.replace("_rtn", ""))?;
                let returns = u64::from(name.contains("_rtn"));
                return Some(Step {
                    run: atomic,
                    sel: op.index(),
                    aux: u64::from(info.bytes) | returns << 8,
                    ..base
                });
            }
            _ => return None,
        },
    };
    let sel = Transfer::of(info.name, info.bytes).map_or(0, Transfer::pack);
    if two {
        let (first, second) = (inst.imm * unit, i32::from(inst.offset1) * unit);
        return Some(Step {
            run: handler,
            imm: first,
            aux: second as u64,
            sel,
            ..base
        });
    }
    Some(Step {
        run: handler,
        sel,
        ..base
    })
}

#[inline(always)]
fn data(w: &Wave, src: Src, k: usize) -> &Lanes {
    match src {
        Src::Vector(reg) => w.vector(reg + k as u16),
        // Decoding gives vector registers only.
        _ => w.vector(0),
    }
}

#[inline(always)]
fn gather<const N: usize>(w: &mut Wave, g: &Group<'_>, s: &Step, offset: u32, dst: u16) {
    let exec = w.exec();
    let addrs = data(w, s.src[0], 0);
    let mut out = [[0_u32; LANES]; N];
    if g.lds.plain(exec, addrs, offset, 4 * N as u32) {
        for i in 0..LANES {
            let at = (address(addrs[i], offset) >> 2) as usize;
            for (k, column) in out.iter_mut().enumerate() {
                column[i] = g.lds.words[(at + k) % WORDS];
            }
        }
    } else {
        for i in active(exec) {
            let words = g.lds.load_lane(address(addrs[i], offset), 4 * N as u64);
            for (column, word) in out.iter_mut().zip(words) {
                column[i] = word;
            }
        }
    }
    for (k, column) in out.iter().enumerate() {
        w.commit(dst + k as u16, column);
    }
}

#[inline(always)]
fn scatter<const N: usize>(w: &Wave, g: &mut Group<'_>, s: &Step, offset: u32, src: Src) {
    let exec = w.exec();
    let addrs = data(w, s.src[0], 0);
    let columns: [&Lanes; N] = std::array::from_fn(|k| data(w, src, k));
    let plain = g.lds.plain(exec, addrs, offset, 4 * N as u32);
    if plain && exec == !0 {
        for i in 0..LANES {
            let at = (address(addrs[i], offset) >> 2) as usize;
            for (k, column) in columns.iter().enumerate() {
                g.lds.words[(at + k) % WORDS] = column[i];
            }
        }
    } else {
        for i in active(exec) {
            let words = std::array::from_fn(|k| if k < N { columns[k][i] } else { 0 });
            g.lds
                .store_lane(address(addrs[i], offset), 4 * N as u64, words);
        }
    }
}

#[inline(always)]
fn read<const N: usize>(w: &mut Wave, g: &mut Group<'_>, s: &Step) -> Outcome {
    gather::<N>(w, g, s, s.imm as u32, s.dst);
    Ok(())
}

#[inline(always)]
fn read2<const N: usize>(w: &mut Wave, g: &mut Group<'_>, s: &Step) -> Outcome {
    // The first destination may be the address register.
    let keep = *data(w, s.src[0], 0);
    gather::<N>(w, g, s, s.imm as u32, s.dst);
    let mut second = *s;
    if let Src::Vector(reg) = s.src[0]
        && (s.dst..s.dst + N as u16).contains(&reg)
    {
        *w.vector_mut(MODIFIED) = keep;
        second.src[0] = Src::Vector(MODIFIED);
    }
    gather::<N>(w, g, &second, s.aux as u32, s.dst + N as u16);
    Ok(())
}

#[inline(always)]
fn write<const N: usize>(w: &mut Wave, g: &mut Group<'_>, s: &Step) -> Outcome {
    scatter::<N>(w, g, s, s.imm as u32, s.src[1]);
    Ok(())
}

#[inline(always)]
fn write2<const N: usize>(w: &mut Wave, g: &mut Group<'_>, s: &Step) -> Outcome {
    scatter::<N>(w, g, s, s.imm as u32, s.src[1]);
    scatter::<N>(w, g, s, s.aux as u32, s.src[2]);
    Ok(())
}

fn read_part(w: &mut Wave, g: &mut Group<'_>, s: &Step) -> Outcome {
    let shape = Transfer::unpack(s.sel);
    let mut out = *w.vector(s.dst);
    for i in active(w.exec()) {
        let at = address(data(w, s.src[0], 0)[i], s.imm as u32);
        let word = g.lds.load_lane(at, u64::from(shape.bytes))[0];
        out[i] = shape.fill(out[i], word);
    }
    w.commit(s.dst, &out);
    Ok(())
}

fn write_part(w: &mut Wave, g: &mut Group<'_>, s: &Step) -> Outcome {
    let shape = Transfer::unpack(s.sel);
    for i in active(w.exec()) {
        let at = address(data(w, s.src[0], 0)[i], s.imm as u32);
        let word = shape.take(data(w, s.src[1], 0)[i]);
        g.lds
            .store_lane(at, u64::from(shape.bytes), [word, 0, 0, 0]);
    }
    Ok(())
}

fn atomic(w: &mut Wave, g: &mut Group<'_>, s: &Step) -> Outcome {
    let (op, bytes, returns) = (Rmw::from_index(s.sel), s.aux & 0xff, s.aux >> 8 != 0);
    let (mut lo, mut hi) = ([0; LANES], [0; LANES]);
    for i in active(w.exec()) {
        let at = address(data(w, s.src[0], 0)[i], s.imm as u32);
        let value = |src| match src {
            Src::None => 0,
            _ if bytes == 8 => u64::from(data(w, src, 0)[i]) | u64::from(data(w, src, 1)[i]) << 32,
            _ => u64::from(data(w, src, 0)[i]),
        };
        let old = g.lds.rmw(op, at, bytes, value(s.src[1]), value(s.src[2]));
        (lo[i], hi[i]) = (old as u32, (old >> 32) as u32);
    }
    if returns {
        w.commit(s.dst, &lo);
        if bytes == 8 {
            w.commit(s.dst + 1, &hi);
        }
    }
    Ok(())
}

fn backward_permute(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    let exec = w.exec();
    let (addrs, values) = (data(w, s.src[0], 0), data(w, s.src[1], 0));
    let mut out = [0; LANES];
    for i in 0..LANES {
        let from = (address(addrs[i], s.imm as u32) >> 2) as usize & (LANES - 1);
        out[i] = if exec >> from & 1 != 0 {
            values[from]
        } else {
            0
        };
    }
    w.commit(s.dst, &out);
    Ok(())
}

fn forward_permute(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    let (addrs, values) = (data(w, s.src[0], 0), data(w, s.src[1], 0));
    let mut out = [0; LANES];
    for i in active(w.exec()) {
        out[(address(addrs[i], s.imm as u32) >> 2) as usize & (LANES - 1)] = values[i];
    }
    w.commit(s.dst, &out);
    Ok(())
}

/// The lane that `ds_swizzle_b32` makes `lane` read; `None` for patterns not known.
fn swizzled(pattern: i32, lane: usize) -> Option<usize> {
    let pattern = pattern as usize & 0xffff;
    if pattern & 0x8000 == 0 {
        let (and, or, xor) = (pattern & 31, pattern >> 5 & 31, pattern >> 10 & 31);
        Some(lane & 32 | ((lane & and) | or) ^ xor)
    } else if pattern < 0x8100 {
        Some(lane & !3 | pattern >> (2 * (lane & 3)) & 3)
    } else {
        None
    }
}

fn swizzle(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    let exec = w.exec();
    let values = data(w, s.src[0], 0);
    let mut out = [0; LANES];
    for (i, lane) in out.iter_mut().enumerate() {
        let from = swizzled(s.imm, i).unwrap_or(i) & (LANES - 1);
        *lane = if exec >> from & 1 != 0 {
            values[from]
        } else {
            0
        };
    }
    w.commit(s.dst, &out);
    Ok(())
}
