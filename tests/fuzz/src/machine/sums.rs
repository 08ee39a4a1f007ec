//! Sums whose terms belong together, each one item that ends in a mark: remainders, and words of a table less those before.

use super::items;
use crate::random::Random;

/// One of the items of this file.
pub(super) fn item(random: &mut Random) -> String {
    match random.below(6) {
        0..4 => remainder(random),
        4 => growth(random),
        _ => row(random),
    }
}

/// A mark at an element whose number stands in `v16`: at one of the first 128, if it is another.
pub(super) fn mark(random: &mut Random) -> String {
    let other = random.pick(&["v_min_u32", "v_max_i32", "v_and_b32"]);
    let clamp = match other {
        "v_max_i32" => "v_max_i32 v16, 0, v16\nv_min_u32 v16, 0x7f, v16".to_owned(),
        _ => format!("{other} v16, 0x7f, v16"),
    };
    format!(
        "{clamp}\nv_lshlrev_b32 v16, 2, v16\n{}",
        items::mark_at(random)
    )
}

/// `mark[a * x - b * (x / d) + c]`, where `x / d` is a shift, a mask or the high half of a product, the right one or nearly.
fn remainder(random: &mut Random) -> String {
    let x = match random.below(5) {
        0 => "v_mov_b32 v18, v0".to_owned(),
        1 => format!("v_mov_b32 v18, v{}", 1 + random.below(8)),
        2 => format!("v_and_b32 v18, 0xfff, v{}", 1 + random.below(8)),
        3 => format!("v_lshl_add_u32 v18, s2, {}, v0", random.between(3, 8)),
        _ => format!(
            "v_add_u32 v18, {}, v{}",
            random.between(-9, 60),
            1 + random.below(8)
        ),
    };
    let shift = random.between(1, 7);
    let by = random.pick(&[3_i64, 5, 6, 7, 10, 100]);
    let (quotient, by) = match random.below(8) {
        0 => (format!("v_lshrrev_b32 v17, {shift}, v18"), 1 << shift),
        1 => (format!("v_ashrrev_i32 v17, {shift}, v18"), 1 << shift),
        2 => (
            format!(
                "v_ashrrev_i32 v17, 31, v18\nv_lshrrev_b32 v17, {}, v17\nv_add_u32 v17, v18, v17\n\
                 v_ashrrev_i32 v17, {shift}, v17",
                32 - shift
            ),
            1 << shift,
        ),
        3 => (
            format!(
                "v_and_b32 v17, {}, v18\nv_lshrrev_b32 v17, {shift}, v17",
                -(1_i64 << shift)
            ),
            1 << shift,
        ),
        4 => {
            let times = (1_i64 << 32) / by + i64::from(random.chance(70));
            (
                format!("s_mov_b32 s40, {times:#x}\nv_mul_hi_u32 v17, v18, s40"),
                by,
            )
        }
        5 => {
            let times = (1_i64 << 31) / by + i64::from(random.chance(70));
            (
                format!(
                    "s_mov_b32 s40, {times:#x}\nv_mul_hi_i32 v17, v18, s40\n\
                     v_lshrrev_b32 v19, 31, v17\nv_lshlrev_b32 v17, 1, v17\nv_add_u32 v17, v17, v19"
                ),
                by,
            )
        }
        6 => (
            "s_mov_b32 s40, 0x92492493\nv_mul_hi_i32 v17, v18, s40\nv_add_u32 v17, v17, v18\n\
             v_lshrrev_b32 v19, 31, v17\nv_ashrrev_i32 v17, 2, v17\nv_add_u32 v17, v17, v19"
                .to_owned(),
            7,
        ),
        _ => (
            "s_mov_b32 s40, 0x24924925\nv_mul_hi_u32 v17, v18, s40\nv_sub_u32 v19, v18, v17\n\
             v_lshrrev_b32 v19, 1, v19\nv_add_u32 v17, v19, v17\nv_lshrrev_b32 v17, 2, v17"
                .to_owned(),
            7,
        ),
    };
    let factor = random.pick(&[1, 1, 1, 2, 3]);
    let by = factor * if random.chance(10) { by + 1 } else { by };
    let plus = random.between(-3, 40);
    format!(
        "{x}\n{quotient}\nv_mul_lo_u32 v18, v18, {factor}\nv_add_u32 v18, {plus}, v18\n\
         s_movk_i32 s40, {by}\nv_mul_lo_u32 v17, v17, s40\nv_sub_u32 v16, v18, v17\n{}",
        mark(random)
    )
}

/// `mark[a * number[i + 1] - b * number[i] + c]` of the table of records.
fn growth(random: &mut Random) -> String {
    let (last, first) = random.pick(&[(24, 8), (24, 8), (8, 24), (40, 8), (12, 8)]);
    let [a, b] = [(); 2].map(|()| random.pick(&[1, 1, 1, 2]));
    let at = random.pick(&[
        "v_and_b32 v16, 1, v0",
        "v_and_b32 v16, 1, v5",
        "v_mov_b32 v16, s2",
    ]);
    format!(
        "{at}\nv_and_b32 v16, 1, v16\nv_lshlrev_b32 v16, 4, v16\n\
         global_load_dword v17, v16, s[10:11] offset:{last}\n\
         global_load_dword v18, v16, s[10:11] offset:{first}\ns_waitcnt vmcnt(0)\n\
         v_mul_lo_u32 v17, v17, {a}\nv_mul_lo_u32 v18, v18, {b}\nv_sub_u32 v16, v17, v18\n\
         v_add_u32 v16, {}, v16\n{}",
        random.between(-2, 20),
        mark(random)
    )
}

/// `for (i = number[j], k = 0; i < number[j + 1] && fuel; i += step) mark[k++] = x;`
fn row(random: &mut Random) -> String {
    let (step, fuel) = (random.between(1, 3), random.between(4, 30));
    let less = random.pick(&["lt", "le", "lg"]);
    let ty = if less == "lg" {
        "u32"
    } else {
        random.pick(&["i32", "u32"])
    };
    format!(
        "s_and_b32 s40, s{}, 1\ns_lshl_b32 s40, s40, 4\ns_add_u32 s40, s40, 8\n\
         s_load_dword s42, s[10:11], s40\ns_add_u32 s40, s40, 16\n\
         s_load_dword s43, s[10:11], s40\ns_waitcnt lgkmcnt(0)\ns_add_u32 s42, s42, {}\n\
         s_mov_b32 s40, 0\n1:\nv_mov_b32 v16, s40\nv_lshlrev_b32 v16, 2, v16\n{}\n\
         s_add_u32 s40, s40, 1\ns_add_u32 s42, s42, {step}\ns_cmp_eq_u32 s40, {fuel}\n\
         s_cbranch_scc1 2f\ns_cmp_{less}_{ty} s42, s43\ns_cbranch_scc1 1b\n2:",
        16 + random.below(8),
        random.between(-2, 3),
        items::mark_at(random)
    )
}
