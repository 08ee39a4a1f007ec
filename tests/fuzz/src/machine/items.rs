//! The items that machine-code kernels are made of: one or more instructions that leave the registers
//! in order (see `print`).

use crate::random::Random;

const MASKS: [&str; 3] = ["s[30:31]", "s[34:35]", "s[36:37]"];
const SCALAR_POINTERS: [&str; 3] = ["s[24:25]", "s[26:27]", "s[28:29]"];
const VECTOR_POINTERS: [usize; 2] = [10, 12];

fn scalar(random: &mut Random) -> String {
    format!("s{}", 16 + random.below(8))
}

fn vector(random: &mut Random) -> String {
    format!("v{}", 1 + random.below(8))
}

fn constant(random: &mut Random) -> i64 {
    random.pick(&[0, 1, 2, 3, 4, 7, 8, 31, 63, 64, -1, -4])
}

/// What a scalar instruction reads.
fn scalar_source(random: &mut Random) -> String {
    match random.below(6) {
        0 | 1 => constant(random).to_string(),
        _ => scalar(random),
    }
}

/// What a vector instruction may read first.
fn vector_source(random: &mut Random) -> String {
    match random.below(8) {
        0 | 1 => constant(random).to_string(),
        2 | 3 => scalar(random),
        4 => "v0".to_owned(),
        _ => vector(random),
    }
}

pub(super) fn mask(random: &mut Random) -> &'static str {
    random.pick(&MASKS)
}

/// A mask or VCC or EXEC.
fn lanes(random: &mut Random) -> &'static str {
    match random.below(5) {
        0 => "vcc",
        1 => "exec",
        _ => mask(random),
    }
}

/// Low and high register of a scalar pointer.
pub(super) fn halves(pair: &str) -> (usize, usize) {
    let low = pair.trim_start_matches("s[").split(':').next();
    let low = low.and_then(|low| low.parse().ok()).expect("a pair");
    (low, low + 1)
}

pub(super) fn item(random: &mut Random) -> String {
    match random.below(100) {
        0..10 => scalar_arithmetic(random),
        10..25 => vector_arithmetic(random),
        25..33 => compare(random),
        33..47 => masks(random),
        47..57 => scalar_pointer(random),
        57..67 => vector_pointer(random),
        67..73 => load(random),
        73..75 => lds(random),
        75 => scratch(random),
        76..80 => across(random),
        80..83 => atomic(random),
        83..85 => scratch(random),
        85..91 => mark(random),
        91..94 => store_pointer(random),
        _ => store(random),
    }
}

/// Words that nothing else writes: that they are written tells that the place is reached.
pub(super) fn mark(random: &mut Random) -> String {
    let make = match random.below(3) {
        0 => "v_mov_b32 v16, 0".to_owned(),
        1 => vector_offset(random, 64, 4),
        _ => "v_lshlrev_b32 v16, 2, v0".to_owned(),
    };
    format!("{make}\n{}", mark_at(random))
}

/// A pointer into a table, where marks stand beside it.
fn store_pointer(random: &mut Random) -> String {
    let make = match random.below(5) {
        0 => vector_offset(random, 64, 8),
        1 => "s_lshl_b32 s40, s2, 3\nv_mov_b32 v16, s40".to_owned(),
        _ => "v_lshlrev_b32 v16, 3, v5".to_owned(),
    };
    let slice = 512 * random.below(25) + 4 * random.pick(&[0, 0, 0, 1]);
    let add = format!("v_add_u32 v16, 0x{slice:x}, v16");
    let from = random.pick(&VECTOR_POINTERS);
    if random.chance(20) {
        return format!(
            "{make}\n{add}\nv_add_u32 v16, v16, v16\nv_and_b32 v16, 0x1fff, v16\n\
             global_store_dwordx4 v16, v[10:13], s[14:15]"
        );
    }
    format!(
        "{make}\n{add}\nglobal_store_dwordx2 v16, v[{from}:{}], s[14:15]",
        from + 1
    )
}

/// The same with the offset in `v16`, up to 512 bytes.
pub(super) fn mark_at(random: &mut Random) -> String {
    let slice = 512 * random.below(28);
    let data = vector(random);
    format!("v_add_u32 v16, 0x{slice:x}, v16\nglobal_store_dword v16, {data}, s[14:15]")
}

/// `v16` becomes a small offset that nobody knows to be small.
pub(super) fn any_offset(random: &mut Random) -> String {
    let small = vector_offset(random, 64, 4);
    format!(
        "{small}\nv_lshlrev_b32 v17, 2, v0\nds_bpermute_b32 v16, v17, v16\ns_waitcnt lgkmcnt(0)"
    )
}

pub(super) fn scalar_pointer_register(random: &mut Random) -> &'static str {
    random.pick(&SCALAR_POINTERS)
}

fn scalar_arithmetic(random: &mut Random) -> String {
    let (to, a, b) = (scalar(random), scalar_source(random), scalar(random));
    match random.below(5) {
        0..3 => {
            let operation = random.pick(&[
                "s_add_u32",
                "s_sub_u32",
                "s_addc_u32",
                "s_subb_u32",
                "s_mul_i32",
                "s_and_b32",
                "s_or_b32",
                "s_xor_b32",
                "s_lshl_b32",
                "s_lshr_b32",
                "s_ashr_i32",
                "s_min_i32",
                "s_max_u32",
                "s_cselect_b32",
                "s_andn2_b32",
                "s_bfe_i32",
                "s_mul_hi_u32",
                "s_lshl2_add_u32",
                "s_pack_ll_b32_b16",
                "s_add_i32",
                "s_min_u32",
                "s_max_i32",
            ]);
            format!("{operation} {to}, {a}, {b}")
        }
        3 => {
            let operation = random.pick(&[
                "s_mov_b32",
                "s_not_b32",
                "s_sext_i32_i8",
                "s_sext_i32_i16",
                "s_brev_b32",
                "s_ff1_i32_b32",
                "s_bcnt1_i32_b32",
                "s_abs_i32",
                "s_cmov_b32",
            ]);
            format!("{operation} {to}, {b}")
        }
        _ => {
            let operation = random.pick(&["s_movk_i32", "s_addk_i32", "s_mulk_i32", "s_cmovk_i32"]);
            format!("{operation} {to}, {}", random.between(-9, 99))
        }
    }
}

fn vector_arithmetic(random: &mut Random) -> String {
    let (to, a, b, c) = (
        vector(random),
        vector_source(random),
        vector(random),
        vector(random),
    );
    match random.below(10) {
        0..5 => {
            let operation = random.pick(&[
                "v_add_u32",
                "v_sub_u32",
                "v_subrev_u32",
                "v_and_b32",
                "v_or_b32",
                "v_xor_b32",
                "v_lshlrev_b32",
                "v_lshrrev_b32",
                "v_ashrrev_i32",
                "v_min_i32",
                "v_max_u32",
                "v_mul_u32_u24",
                "v_mul_i32_i24",
                "v_min_u32",
                "v_max_i32",
                "v_add_u16",
                "v_sub_u16",
                "v_lshlrev_b16",
                "v_mul_lo_u16",
            ]);
            format!("{operation} {to}, {a}, {b}")
        }
        5 => {
            let operation = random.pick(&[
                "v_mad_u32_u24",
                "v_add3_u32",
                "v_lshl_add_u32",
                "v_and_or_b32",
                "v_bfe_i32",
                "v_bfe_u32",
                "v_or3_b32",
                "v_xad_u32",
                "v_lshl_or_b32",
                "v_alignbit_b32",
                "v_bfi_b32",
                "v_mad_i32_i24",
                "v_med3_i32",
                "v_perm_b32",
            ]);
            format!("{operation} {to}, {a}, {b}, {c}")
        }
        6 => format!("v_mul_lo_u32 {to}, {a}, {b}"),
        7 => {
            let lanes = random.pick(&["vcc", "s[30:31]", "s[34:35]", "s[36:37]"]);
            format!("v_cndmask_b32_e64 {to}, {c}, {b}, {lanes}")
        }
        8 => {
            let operation = random.pick(&[
                "v_mov_b32",
                "v_not_b32",
                "v_bfrev_b32",
                "v_cvt_f32_i32",
                "v_cvt_i32_f32",
            ]);
            format!("{operation} {to}, {a}")
        }
        _ => {
            let part = random.pick(&["BYTE_0", "BYTE_3", "WORD_0", "WORD_1", "DWORD"]);
            let sign = if random.chance(50) {
                format!("sext({b})")
            } else {
                b
            };
            format!(
                "v_add_u32_sdwa {to}, {sign}, {c} dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:{part} \
                 src1_sel:DWORD"
            )
        }
    }
}

fn compare(random: &mut Random) -> String {
    if random.chance(8) {
        return record_compare(random);
    }
    let relation = random.pick(&["lt", "le", "gt", "ge", "eq", "lg"]);
    let ty = random.pick(&["i32", "u32"]);
    if random.chance(40) {
        let (a, b) = (scalar_source(random), scalar(random));
        return format!("s_cmp_{relation}_{ty} {a}, {b}");
    }
    if random.chance(10) {
        let relation = if relation == "lg" { "ne" } else { relation };
        let (a, b) = (vector_source(random), vector(random));
        return format!("v_cmpx_{relation}_{ty}_e64 {}, {a}, {b}", mask(random));
    }
    let to = if random.chance(50) {
        "vcc"
    } else {
        mask(random)
    };
    lane_compare(random, to)
}

/// A record's number, all of it, with a constant.
pub(super) fn record_compare(random: &mut Random) -> String {
    let relation = random.pick(&["eq", "lg"]);
    let (table, skip) = random.pick(&[("s[10:11]", 8), ("s[0:1]", 80)]);
    format!(
        "{}\ns_add_u32 s40, s40, {skip}\ns_load_dwordx2 s[44:45], {table}, s40\n\
         s_cmp_{relation}_u64 s[44:45], {}",
        scalar_offset(random, 4, 16),
        random.below(5)
    )
}

/// Lanes whose numbers compare so.
pub(super) fn lane_compare(random: &mut Random, to: &str) -> String {
    let relation = random.pick(&["lt", "le", "gt", "ge", "eq", "ne"]);
    let ty = random.pick(&["i32", "u32", "i32", "u32", "i16", "u16"]);
    let (a, b) = (vector_source(random), vector(random));
    format!("v_cmp_{relation}_{ty}_e64 {to}, {a}, {b}")
}

fn masks(random: &mut Random) -> String {
    let (a, b) = (lanes(random), lanes(random));
    let binary = random.pick(&[
        "s_and_b64",
        "s_or_b64",
        "s_xor_b64",
        "s_andn2_b64",
        "s_orn2_b64",
        "s_nor_b64",
        "s_nand_b64",
        "s_xnor_b64",
        "s_cselect_b64",
    ]);
    match random.below(10) {
        // What compilers make of branches.
        0..3 => format!(
            "s_and_saveexec_b64 {}, {}",
            mask(random),
            random.pick(&["vcc", MASKS[0], MASKS[1]])
        ),
        3 => {
            let operation = random.pick(&[
                "s_or_saveexec_b64",
                "s_xor_saveexec_b64",
                "s_andn2_saveexec_b64",
                "s_orn2_saveexec_b64",
                "s_andn1_saveexec_b64",
            ]);
            format!("{operation} {}, {b}", mask(random))
        }
        4 => format!("s_or_b64 exec, exec, {}", mask(random)),
        5 => format!("s_xor_b64 {}, exec, {}", mask(random), mask(random)),
        6 => {
            let operation = random.pick(&["s_andn2_b64", "s_and_b64", "s_mov_b64", "s_xor_b64"]);
            match operation {
                "s_mov_b64" => format!(
                    "s_mov_b64 exec, {}",
                    random.pick(&["-1", MASKS[0], MASKS[1], MASKS[2]])
                ),
                _ => format!("{operation} exec, exec, {}", mask(random)),
            }
        }
        7 => {
            let operation = random.pick(&["s_mov_b64", "s_not_b64", "s_wqm_b64", "s_cmov_b64"]);
            format!("{operation} {}, {a}", mask(random))
        }
        _ => {
            let to = random.pick(&["vcc", MASKS[0], MASKS[1], MASKS[2]]);
            format!("{binary} {to}, {a}, {b}")
        }
    }
}

/// `s40` becomes a small offset of a multiple of `unit` bytes.
fn scalar_offset(random: &mut Random, count: u64, unit: u64) -> String {
    let shift = unit.trailing_zeros();
    format!(
        "s_and_b32 s40, {}, {}\ns_lshl_b32 s40, s40, {shift}",
        scalar(random),
        count - 1
    )
}

/// `v16` becomes a small offset of a multiple of `unit` bytes.
fn vector_offset(random: &mut Random, count: u64, unit: u64) -> String {
    let shift = unit.trailing_zeros();
    let from = if random.chance(30) {
        "v0".to_owned()
    } else {
        vector(random)
    };
    if count == 64 && random.chance(40) {
        // A row and a column, each of four.
        let (column, row) = (1 + random.below(4) as u64, 1 + random.below(17) as u64);
        let number = vector(random);
        let other = if random.chance(60) { &from } else { &number };
        return format!(
            "v_and_b32 v16, 3, {from}\nv_mul_u32_u24 v16, {}, v16\n\
             v_bfe_u32 v17, {other}, 2, 2\nv_mul_u32_u24 v17, {:#x}, v17\nv_add_u32 v16, v17, v16",
            column * unit,
            row * unit,
        );
    }
    format!(
        "v_and_b32 v16, {}, {from}\nv_lshlrev_b32 v16, {shift}, v16",
        count - 1
    )
}

fn scalar_pointer(random: &mut Random) -> String {
    let (to, from, other) = (
        random.pick(&SCALAR_POINTERS),
        random.pick(&SCALAR_POINTERS),
        random.pick(&SCALAR_POINTERS),
    );
    let ((tl, th), (fl, fh)) = (halves(to), halves(from));
    match random.below(10) {
        0 => format!("s_mov_b64 {to}, {from}"),
        1 => format!("s_cselect_b64 {to}, {from}, {other}"),
        2 => format!("s_load_dwordx2 {to}, s[8:9], {}", 8 * random.below(8)),
        3 => format!("s_load_dwordx2 {to}, s[10:11], {}", 16 * random.below(8)),
        4 => format!(
            "{}\ns_load_dwordx2 {to}, s[8:9], s40",
            scalar_offset(random, 8, 8)
        ),
        5 => {
            let number = scalar(random);
            format!(
                "{}\ns_load_dwordx4 s[44:47], s[10:11], s40\ns_mov_b64 {to}, s[44:45]\ns_mov_b32 {number}, s46",
                scalar_offset(random, 8, 16)
            )
        }
        6 => {
            let number = scalar(random);
            format!(
                "{}\ns_add_u32 s40, s40, 72\ns_load_dwordx4 s[44:47], s[0:1], s40\n\
                 s_mov_b64 {to}, s[44:45]\ns_mov_b32 {number}, s46",
                scalar_offset(random, 4, 16)
            )
        }
        7 => format!(
            "{}\ns_add_u32 s{tl}, s{fl}, s40\ns_addc_u32 s{th}, s{fh}, 0",
            scalar_offset(random, 32, 4)
        ),
        8 => format!(
            "{}\ns_sub_u32 s{tl}, s{fl}, s40\ns_subb_u32 s{th}, s{fh}, 0",
            scalar_offset(random, 32, 4)
        ),
        _ => {
            let v = random.pick(&VECTOR_POINTERS);
            format!(
                "v_readfirstlane_b32 s{tl}, v{v}\nv_readfirstlane_b32 s{th}, v{}",
                v + 1
            )
        }
    }
}

fn vector_pointer(random: &mut Random) -> String {
    let (to, from) = (random.pick(&VECTOR_POINTERS), random.pick(&VECTOR_POINTERS));
    let (low, high) = halves(random.pick(&SCALAR_POINTERS));
    match random.below(9) {
        0 => format!("v_mov_b32 v{to}, s{low}\nv_mov_b32 v{}, s{high}", to + 1),
        1 => format!(
            "v_mov_b32 v{to}, v{from}\nv_mov_b32 v{}, v{}",
            to + 1,
            from + 1
        ),
        2 => {
            let lanes = random.pick(&["vcc", MASKS[0], MASKS[1], MASKS[2]]);
            format!(
                "v_mov_b32 v16, s{low}\nv_mov_b32 v17, s{high}\n\
                 v_cndmask_b32_e64 v{to}, v16, v{from}, {lanes}\n\
                 v_cndmask_b32_e64 v{}, v17, v{}, {lanes}",
                to + 1,
                from + 1
            )
        }
        3 => format!(
            "{}\nv_mov_b32 v17, s{high}\nv_add_co_u32 v{to}, vcc, s{low}, v16\n\
             v_addc_co_u32 v{}, vcc, 0, v17, vcc",
            vector_offset(random, 64, 4),
            to + 1
        ),
        4 => format!(
            "{}\nv_sub_co_u32 v{to}, vcc, v{from}, v16\nv_subbrev_co_u32 v{}, vcc, 0, v{}, vcc",
            vector_offset(random, 64, 4),
            to + 1,
            from + 1
        ),
        5 => format!(
            "{}\nglobal_load_dwordx2 v[{to}:{}], v16, s[8:9]",
            vector_offset(random, 8, 8),
            to + 1
        ),
        6 => {
            let number = vector(random);
            format!(
                "{}\nglobal_load_dwordx4 v[20:23], v16, s[10:11]\nv_mov_b32 v{to}, v20\n\
                 v_mov_b32 v{}, v21\nv_mov_b32 {number}, v22",
                vector_offset(random, 8, 16),
                to + 1
            )
        }
        7 => format!(
            "v_bfe_i32 v16, {}, 0, 8\nv_ashrrev_i32 v17, 31, v16\nv_lshlrev_b64 v[16:17], 2, v[16:17]\n\
             v_add_co_u32 v{to}, vcc, v{from}, v16\nv_addc_co_u32 v{}, vcc, v{}, v17, vcc",
            vector(random),
            to + 1,
            from + 1
        ),
        _ => {
            // Through the data share: what comes back was put there by another lane.
            let lane = format!("v_lshlrev_b32 v16, 2, {}", vector(random));
            format!(
                "s_mov_b64 s[44:45], exec\ns_mov_b64 exec, -1\n{lane}\nds_bpermute_b32 v17, v16, v{from}\n\
                 ds_bpermute_b32 v18, v16, v{}\ns_waitcnt lgkmcnt(0)\ns_mov_b64 exec, s[44:45]\n\
                 v_mov_b32 v{to}, v17\nv_mov_b32 v{}, v18",
                from + 1,
                to + 1
            )
        }
    }
}

/// An address operand, with what makes it: 4-byte aligned, near a pointer.
fn address(random: &mut Random) -> (String, String) {
    let offset = 4 * random.between(-8, 8);
    let scalar_pointer = random.pick(&SCALAR_POINTERS);
    match random.below(4) {
        0 => {
            let v = random.pick(&VECTOR_POINTERS);
            (
                String::new(),
                format!("v[{v}:{}] OFF off offset:{offset}", v + 1),
            )
        }
        1 => {
            let make = "v_lshlrev_b32 v16, 2, v0\n".to_owned();
            (make, format!("v16 OFF {scalar_pointer} offset:{offset}"))
        }
        _ => {
            let make = format!("{}\n", vector_offset(random, 64, 4));
            (make, format!("v16 OFF {scalar_pointer} offset:{offset}"))
        }
    }
}

/// A word of scratch, be it by a descriptor that begins elsewhere.
fn scratch(random: &mut Random) -> String {
    let (data, slot) = (vector(random), 4 * random.below(4));
    match random.below(8) {
        0..3 => format!("buffer_store_dword {data}, off, s[56:59], 0 offset:{slot}"),
        3..7 => {
            format!("buffer_load_dword {data}, off, s[56:59], 0 offset:{slot}\ns_waitcnt vmcnt(0)")
        }
        _ => format!(
            "s_add_u32 s44, s56, 0x100\ns_addc_u32 s45, s57, 0\ns_mov_b64 s[46:47], s[58:59]\n\
             buffer_store_dword {data}, off, s[44:47], 0 offset:{slot}"
        ),
    }
}

/// An element of a buffer, or so many elements further on that it begins 4 GiB after that.
fn structured_store(random: &mut Random) -> String {
    let (low, high) = halves(random.pick(&SCALAR_POINTERS));
    let (shift, beyond) = (2 + random.below(3), random.chance(30));
    let (further, before) = match beyond {
        true => (1_u64 << (32 - shift), 1),
        false => (0, 0),
    };
    format!(
        "v_and_b32 v16, 7, {}\nv_add_u32 v16, {further:#x}, v16\ns_mov_b32 s44, s{low}\n\
         s_sub_u32 s45, s{high}, {before}\ns_and_b32 s45, s45, 0xffff\ns_or_b32 s45, s45, {:#x}\n\
         s_mov_b32 s46, -1\ns_mov_b32 s47, 0x27000\nbuffer_store_dword {}, v16, s[44:47], 0 idxen",
        vector(random),
        1_u64 << (16 + shift),
        vector(random)
    )
}

pub(super) fn store(random: &mut Random) -> String {
    if random.chance(8) {
        return structured_store(random);
    }
    if random.chance(8) {
        let (low, high) = halves(random.pick(&SCALAR_POINTERS));
        return format!(
            "{}\ns_mov_b32 s44, s{low}\ns_and_b32 s45, s{high}, 0xffff\ns_mov_b32 s46, -1\n\
             s_mov_b32 s47, 0x27000\nbuffer_store_dword {}, v16, s[44:47], 0 offen offset:{}",
            vector_offset(random, 64, 4),
            vector(random),
            4 * random.below(9)
        );
    }
    let (make, address) = address(random);
    let width = random.pick(&["dword", "dword", "byte", "short", "dwordx2"]);
    let data = match width {
        "dwordx2" => format!("v[{0}:{1}]", 2, 3),
        _ => vector(random),
    };
    // Flat accesses know no scalar pointer.
    format!(
        "{make}global_store_{width} {}",
        address.replace(" OFF", &format!(", {data},"))
    )
}

fn load(random: &mut Random) -> String {
    if random.chance(35) {
        let make = scalar_offset(random, 64, 4);
        let from = random.pick(&SCALAR_POINTERS);
        return format!("{make}\ns_load_dword {}, {from}, s40", scalar(random));
    }
    if random.chance(15) {
        return format!(
            "s_load_dword {}, s[10:11], {}",
            scalar(random),
            8 + 16 * random.below(8)
        );
    }
    let (make, address) = address(random);
    let width = random.pick(&["dword", "ubyte", "sbyte", "sshort", "ushort"]);
    format!(
        "{make}global_load_{width} {}, {}",
        vector(random),
        address.replace(" OFF", ",")
    )
}

fn atomic(random: &mut Random) -> String {
    let (make, address) = address(random);
    let operation = random.pick(&["add", "swap", "or", "smax", "umin", "inc"]);
    let data = vector(random);
    let place = address.replace(" OFF", &format!(", {data},"));
    if random.chance(50) {
        format!(
            "{make}global_atomic_{operation} {}, {place} glc",
            vector(random)
        )
    } else {
        format!("{make}global_atomic_{operation} {place}")
    }
}

fn lds(random: &mut Random) -> String {
    let make = vector_offset(random, 64, 4);
    if random.chance(50) {
        format!(
            "{make}\nds_write_b32 v16, {} offset:{}",
            vector(random),
            4 * random.below(9)
        )
    } else {
        format!(
            "{make}\nds_read_b32 {}, v16 offset:{}",
            vector(random),
            4 * random.below(9)
        )
    }
}

fn across(random: &mut Random) -> String {
    let (to, from) = (vector(random), vector(random));
    match random.below(5) {
        0 => format!("v_readfirstlane_b32 {}, {from}", scalar(random)),
        1 => format!(
            "v_readlane_b32 {}, {from}, {}",
            scalar(random),
            random.below(64)
        ),
        2 => format!(
            "v_writelane_b32 {to}, {}, {}",
            scalar(random),
            random.below(64)
        ),
        3 => {
            let how = random.pick(&[
                "quad_perm:[1,0,3,2]",
                "row_shr:1",
                "row_mirror",
                "row_bcast:15",
                "wave_shr:1",
            ]);
            format!("v_mov_b32_dpp {to}, {from} {how} row_mask:0xf bank_mask:0xf")
        }
        _ => format!("v_lshlrev_b32 v16, 2, {from}\nds_bpermute_b32 {to}, v16, {from}"),
    }
}

/// An item that does the same with fewer instructions, if there is one.
pub(super) fn simplify(item: &mut String) {
    let simple = |item: &str| -> Option<String> {
        let rest = item.strip_prefix("v_and_b32 v16")?;
        let (_, rest) = rest.split_once('\n')?;
        let (shift, rest) = rest.split_once('\n')?;
        let shift = shift
            .strip_prefix("v_lshlrev_b32 v16, ")?
            .split(',')
            .next()?;
        Some(format!("v_lshlrev_b32 v16, {shift}, v0\n{rest}"))
    };
    // Loads of tables have few slots, waves many lanes: only what has room.
    if !item.contains("s[8:9]")
        && !item.contains("s[10:11]")
        && let Some(simple) = simple(item)
    {
        *item = simple;
    }
}
