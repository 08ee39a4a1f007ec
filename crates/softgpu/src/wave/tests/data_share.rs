//! Every instruction on the local data share against bytes on the host, with bases that are
//! negative, offsets that lead back inside, and addresses beyond the end.

use strobe_isa::{DecodeError, Inst, Role, Target};

use super::{Test, random};
use crate::wave::Stop;
use crate::wave::state::Wave;

/// What the program's LDS is told to be, and is.
const BYTES: u32 = 4096;
/// Registers of the instruction under test.
const ADDRESS: u16 = 1;
const DATA: [u16; 2] = [2, 6];
const RESULT: u16 = 12;

/// What an instruction does to one lane.
#[derive(Clone, Copy)]
enum Effect {
    /// Bytes, and what the register becomes from what it was and what was found.
    Read(u32, fn(u32, u128) -> u128),
    /// Bytes at each of two addresses, and the unit of their offsets.
    Read2(u32, u32),
    /// Bytes, and the bit of the register where they begin.
    Write(u32, u32),
    Write2(u32, u32),
    /// Bytes, whether the old value is returned, and the new value from the old and the data.
    Update(u32, bool, fn(u64, u64, u64) -> u64),
    /// The same with floating-point numbers.
    Float(u32, bool, fn(u64, u64, u64) -> u64),
}

use crate::target::WAVE;
use Effect::{Float, Read, Read2, Update, Write, Write2};

/// The data-share operation of an opcode.
fn decode(code: u32) -> Result<Inst, DecodeError> {
    Target::GFX906
        .isa
        .decode(&[0xd800_0000 | code << 17, 0], WAVE)
}

fn single(x: u64) -> f32 {
    f32::from_bits(x as u32)
}

fn of_single(x: f32) -> u64 {
    u64::from(x.to_bits())
}

fn double(x: u64) -> f64 {
    f64::from_bits(x)
}

fn low(old: u32, half: u32) -> u128 {
    u128::from(old & 0xffff_0000 | half & 0xffff)
}

fn high(old: u32, half: u32) -> u128 {
    u128::from(old & 0xffff | half << 16)
}

fn signed8(x: u128) -> u32 {
    (x as u8 as i8) as u32
}

/// The read-modify-write operations: `ds_<name>`, and `_rtn` before the type.
fn update(operation: &str, is_64_bit: bool) -> Option<fn(u64, u64, u64) -> u64> {
    Some(match (operation, is_64_bit) {
        ("add", _) => |m, a, _| m.wrapping_add(a),
        ("sub", _) => |m, a, _| m.wrapping_sub(a),
        ("rsub", _) => |m, a, _| a.wrapping_sub(m),
        ("inc", _) => |m, a, _| if m >= a { 0 } else { m + 1 },
        ("dec", _) => |m, a, _| if m == 0 || m > a { a } else { m - 1 },
        ("min_i", false) => |m, a, _| if (m as i32) < a as i32 { m } else { a },
        ("min_i", true) => |m, a, _| if (m as i64) < a as i64 { m } else { a },
        ("max_i", false) => |m, a, _| if (m as i32) > a as i32 { m } else { a },
        ("max_i", true) => |m, a, _| if (m as i64) > a as i64 { m } else { a },
        ("min_u", _) => |m, a, _| if m < a { m } else { a },
        ("max_u", _) => |m, a, _| if m > a { m } else { a },
        ("and", _) => |m, a, _| m & a,
        ("or", _) => |m, a, _| m | a,
        ("xor", _) => |m, a, _| m ^ a,
        ("mskor", _) => |m, a, b| m & !a | b,
        ("wrxchg", _) => |_, a, _| a,
        ("cmpst", _) => |m, a, b| if m == a { b } else { m },
        ("wrap", _) => |m, a, b| if m >= a { m - a } else { m.wrapping_add(b) },
        _ => return None,
    })
}

fn float_update(operation: &str, is_64_bit: bool) -> Option<fn(u64, u64, u64) -> u64> {
    Some(match (operation, is_64_bit) {
        ("add", false) => |m, a, _| of_single(single(m) + single(a)),
        ("min", false) => |m, a, _| if single(m) < single(a) { m } else { a },
        ("min", true) => |m, a, _| if double(m) < double(a) { m } else { a },
        ("max", false) => |m, a, _| if single(m) > single(a) { m } else { a },
        ("max", true) => |m, a, _| if double(m) > double(a) { m } else { a },
        ("cmpst", false) => |m, a, b| if single(m) == single(a) { b } else { m },
        ("cmpst", true) => |m, a, b| if double(m) == double(a) { b } else { m },
        _ => return None,
    })
}

/// From the instruction set document; `None` for what the software GPU does not know.
fn effect(name: &str) -> Option<Effect> {
    Some(match name {
        "ds_read_b32" | "ds_read_b64" | "ds_read_b96" | "ds_read_b128" => {
            let bits: u32 = name[9..].parse().expect(name);
            Read(bits / 8, |_, x| x)
        }
        "ds_read_u8" => Read(1, |_, x| x),
        "ds_read_u16" => Read(2, |_, x| x),
        "ds_read_i8" => Read(1, |_, x| u128::from(signed8(x))),
        "ds_read_i16" => Read(2, |_, x| u128::from((x as u16 as i16) as u32)),
        "ds_read_u8_d16" => Read(1, |old, x| low(old, x as u32)),
        "ds_read_u8_d16_hi" => Read(1, |old, x| high(old, x as u32)),
        "ds_read_i8_d16" => Read(1, |old, x| low(old, signed8(x))),
        "ds_read_i8_d16_hi" => Read(1, |old, x| high(old, signed8(x))),
        "ds_read_u16_d16" => Read(2, |old, x| low(old, x as u32)),
        "ds_read_u16_d16_hi" => Read(2, |old, x| high(old, x as u32)),
        "ds_read2_b32" => Read2(4, 4),
        "ds_read2st64_b32" => Read2(4, 256),
        "ds_read2_b64" => Read2(8, 8),
        "ds_read2st64_b64" => Read2(8, 512),
        "ds_write_b8" => Write(1, 0),
        "ds_write_b16" => Write(2, 0),
        "ds_write_b8_d16_hi" => Write(1, 16),
        "ds_write_b16_d16_hi" => Write(2, 16),
        "ds_write_b32" | "ds_write_b64" | "ds_write_b96" | "ds_write_b128" => {
            let bits: u32 = name[10..].parse().expect(name);
            Write(bits / 8, 0)
        }
        "ds_write2_b32" => Write2(4, 4),
        "ds_write2st64_b32" => Write2(4, 256),
        "ds_write2_b64" => Write2(8, 8),
        "ds_write2st64_b64" => Write2(8, 512),
        _ => {
            let name = name.strip_prefix("ds_")?;
            let (operation, ty) = name.rsplit_once('_')?;
            let (operation, returns) = match operation.strip_suffix("_rtn") {
                Some(operation) => (operation, true),
                None => (operation, false),
            };
            let is_64_bit = ty.ends_with("64");
            let bytes = if is_64_bit { 8 } else { 4 };
            if ty.starts_with('f') {
                return Some(Float(bytes, returns, float_update(operation, is_64_bit)?));
            }
            let ordered = operation == "min" || operation == "max";
            let key = match ty.as_bytes()[0] {
                b'i' if ordered => format!("{operation}_i"),
                b'u' if ordered => format!("{operation}_u"),
                _ => operation.to_owned(),
            };
            Update(bytes, returns, update(&key, is_64_bit)?)
        }
    })
}

/// The same, with registers and storage of a whole wave.
struct Model {
    bytes: Vec<u8>,
    /// Bytes that several lanes of one instruction stored to: which of them wins is not defined.
    stores: Vec<u8>,
    columns: [[u32; 64]; 4],
}

impl Model {
    fn place(&self, at: u32, bytes: u32) -> Option<std::ops::Range<usize>> {
        let range = at as usize..at as usize + bytes as usize;
        (range.end <= self.bytes.len()).then_some(range)
    }

    fn load(&self, at: u32, bytes: u32) -> u128 {
        let mut value = [0; 16];
        if let Some(place) = self.place(at, bytes) {
            value[..bytes as usize].copy_from_slice(&self.bytes[place]);
        }
        u128::from_le_bytes(value)
    }

    fn store(&mut self, at: u32, bytes: u32, value: u128) {
        if let Some(place) = self.place(at, bytes) {
            self.bytes[place.clone()].copy_from_slice(&value.to_le_bytes()[..bytes as usize]);
            for count in &mut self.stores[place] {
                *count = count.saturating_add(1);
            }
        }
    }

    fn set(&mut self, lane: usize, first: usize, words: u32, value: u128) {
        for k in 0..words as usize {
            self.columns[first + k][lane] = (value >> (32 * k)) as u32;
        }
    }
}

/// Addresses relative to the end of the offset's addition: what a lane is meant to reach.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reach {
    /// Whole, naturally aligned, inside: what compilers make.
    Plain,
    /// Any byte inside, or around the end, or anywhere.
    Any,
}

struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32
    }

    fn below(&mut self, end: u32) -> u32 {
        self.next() % end
    }
}

/// A word that is no NaN, neither alone nor as the high half of a double, or any word.
fn word(numbers: &mut Numbers, float: bool) -> u32 {
    let word = match numbers.below(4) {
        0 => numbers.below(4),
        _ => numbers.next(),
    };
    if float { word & !0x4000_0000 } else { word }
}

fn target(numbers: &mut Numbers, reach: Reach, bytes: u32, aligned: bool) -> u32 {
    let unit = bytes.next_power_of_two();
    let inside = BYTES - bytes;
    if reach == Reach::Plain {
        return numbers.below(inside / unit + 1) * unit;
    }
    let at = match numbers.below(8) {
        0..5 => numbers.below(inside),
        5 => inside.wrapping_add(numbers.below(2 * unit)),
        6 => 0_u32.wrapping_sub(numbers.below(2 * unit)),
        _ => numbers.next(),
    };
    if aligned { at & !(unit - 1) } else { at }
}

/// Runs one instruction with one set of operands and compares everything it could change.
fn check(code: u32, name: &str, effect: Effect, reach: Reach, numbers: &mut Numbers) {
    let (bytes, unit) = match effect {
        Read(bytes, _) | Write(bytes, _) | Update(bytes, ..) | Float(bytes, ..) => (bytes, 0),
        Read2(bytes, unit) | Write2(bytes, unit) => (bytes, unit),
    };
    let atomic = matches!(effect, Update(..) | Float(..));
    let float = matches!(effect, Float(..));
    let field = match numbers.below(3) {
        0 => numbers.below(64),
        _ => numbers.below(1 << 16),
    };
    // The second of two addresses must have a chance to be inside.
    let field = if unit != 0 { field & 0x0f0f } else { field };
    let (first, second) = if unit != 0 {
        ((field & 0xff) * unit, (field >> 8) * unit)
    } else {
        (field, 0)
    };
    let aligned = atomic || reach == Reach::Plain;
    let bases: [u32; 64] = std::array::from_fn(|_| {
        let offset = match (unit, numbers.below(2)) {
            (1.., 1) => second,
            _ => first,
        };
        target(numbers, reach, bytes, aligned).wrapping_sub(offset)
    });
    let data: [[u32; 64]; 8] =
        std::array::from_fn(|_| std::array::from_fn(|_| word(numbers, float)));
    let exec = match numbers.below(3) {
        0 => u64::from(numbers.next()) << 32 | u64::from(numbers.next()),
        _ => !0,
    };
    // A result may take the place of the address.
    let result = if numbers.below(2) == 0 {
        ADDRESS
    } else {
        RESULT
    };

    let info = decode(code).map(|inst| inst.op.info());
    let info = info.unwrap_or_else(|error| panic!("{name}: {error}"));
    let register = |role, register: u16| u32::from(register) * u32::from(role != Role::None);
    let instruction = [
        0xd800_0000 | code << 17 | field,
        register(info.srcs[0].role, ADDRESS)
            | register(info.srcs[1].role, DATA[0]) << 8
            | register(info.srcs[2].role, DATA[1]) << 16
            | register(info.dsts[0].role, result) << 24,
    ];
    let mut test = Test::new(&instruction);
    test.lds = (0..BYTES / 4).map(|_| word(numbers, float)).collect();

    let mut model = Model {
        bytes: test
            .lds
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect(),
        stores: vec![0; BYTES as usize],
        columns: std::array::from_fn(|k| match (result, k) {
            (ADDRESS, 0) => bases,
            (ADDRESS, k) => data[k - 1],
            _ => [0x5555_5555; 64],
        }),
    };
    for lane in (0..64).filter(|lane| exec >> lane & 1 != 0) {
        let value = |n: usize| {
            (0..4).fold(0, |value, k| {
                value | u128::from(data[4 * n + k][lane]) << (32 * k)
            })
        };
        let at = bases[lane].wrapping_add(first);
        match effect {
            Read(bytes, fill) => {
                let filled = fill(model.columns[0][lane], model.load(at, bytes));
                model.set(lane, 0, bytes.div_ceil(4), filled);
            }
            Read2(bytes, _) => {
                let other = model.load(bases[lane].wrapping_add(second), bytes);
                model.set(lane, 0, bytes / 4, model.load(at, bytes));
                model.set(lane, bytes as usize / 4, bytes / 4, other);
            }
            Write(bytes, from) => model.store(at, bytes, value(0) >> from),
            Write2(bytes, _) => {
                model.store(at, bytes, value(0));
                model.store(bases[lane].wrapping_add(second), bytes, value(1));
            }
            Update(bytes, returns, new) | Float(bytes, returns, new) => {
                let mask = if bytes == 8 { !0 } else { 0xffff_ffff };
                let old = model.load(at, bytes) as u64;
                let new = new(old, value(0) as u64 & mask, value(1) as u64 & mask) & mask;
                model.store(at, bytes, u128::from(new));
                if returns {
                    model.set(lane, 0, bytes / 4, u128::from(old));
                }
            }
        }
    }
    if atomic {
        // One lane after the other.
        model.stores.fill(0);
    }
    let setup = |_: usize, w: &mut Wave| {
        *w.vector_mut(ADDRESS) = bases;
        for k in 0..4 {
            *w.vector_mut(DATA[0] + k) = data[usize::from(k)];
            *w.vector_mut(DATA[1] + k) = data[4 + usize::from(k)];
            *w.vector_mut(RESULT + k) = [0x5555_5555; 64];
        }
        w.set_exec(exec);
    };
    test.both(setup, |end| {
        let what = format!("{name}, offset {field:#x}, {reach:?}, exec {exec:#x}");
        let words = &end.unit.lds.words[..BYTES as usize / 4];
        let bytes = words.iter().flat_map(|word| word.to_le_bytes());
        for (at, (got, want)) in bytes.zip(&model.bytes).enumerate() {
            assert!(got == *want || model.stores[at] > 1, "{what}: byte {at}");
        }
        for k in 0..4 {
            let register = result + k as u16;
            for lane in 0..64 {
                let (got, want) = (end.vector(register)[lane], model.columns[k][lane]);
                let base = bases[lane];
                assert_eq!(
                    got, want,
                    "{what}: v{register} of lane {lane}, base {base:#x}"
                );
            }
        }
    });
}

/// The instructions of the encoding that address the local data share.
fn instructions() -> impl Iterator<Item = (u32, &'static str)> {
    (0..256).filter_map(|code| {
        let inst = decode(code).ok()?;
        Some((code, inst.op.info().name))
    })
}

#[test]
fn addresses_wrap_for_every_instruction() {
    let mut known = 0;
    for (code, name) in instructions() {
        let Some(effect) = effect(name) else { continue };
        known += 1;
        let mut numbers = Numbers(u64::from(code) << 8);
        for _ in 0..24 {
            check(code, name, effect, Reach::Plain, &mut numbers);
            check(code, name, effect, Reach::Any, &mut numbers);
        }
    }
    assert_eq!(known, 103, "instructions with a model");
}

#[test]
fn an_instruction_without_a_model_is_named() {
    let mut refused = Vec::new();
    for (code, name) in instructions() {
        let exchanges = [
            "ds_nop",
            "ds_swizzle_b32",
            "ds_permute_b32",
            "ds_bpermute_b32",
        ];
        if effect(name).is_some() || exchanges.contains(&name) {
            continue;
        }
        let stop = Test::new(&[0xd800_0000 | code << 17, 0]).stops(|_, _| {});
        assert!(
            matches!(&stop, Stop::Unknown { text, .. } if text.starts_with(name)),
            "{name}: {stop}"
        );
        refused.push(name);
    }
    assert!(refused.contains(&"ds_write_src2_b32"), "{refused:?}");
}

/// What LLVM makes of `out[i] = lds[i - 1]` behind a test for the first.
#[test]
fn a_negative_base_with_an_offset_is_the_first_word() {
    let mut test = Test::new(&[
        0xd86c_0004,
        0x0200_0001, // ds_read_b32 v2, v1 offset:4
        0xd81a_0008,
        0x0000_0301, // ds_write_b32 v1, v3 offset:8
    ]);
    test.lds = vec![7; 128];
    let x = random(9);
    test.both(
        |_, w| {
            *w.vector_mut(1) = std::array::from_fn(|i| (4 * i as u32).wrapping_sub(4));
            *w.vector_mut(3) = x;
        },
        |end| {
            assert_eq!(end.vector(2)[..2], [7, 7]);
            assert_eq!(end.unit.lds.words[1..65], x);
        },
    );
}
