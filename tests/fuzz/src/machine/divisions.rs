//! Divisions as compilers make them, each one item that ends in a mark; some are nearly one.

use super::sums::mark;
use crate::random::Random;

/// One of the items of this file.
pub(super) fn item(random: &mut Random) -> String {
    by_inverse(random)
}

/// A word: `v18` or another, of items or of the group.
fn word(random: &mut Random, to: &str) -> String {
    match random.below(5) {
        0 => format!("v_mov_b32 {to}, v0"),
        1 => format!("v_mov_b32 {to}, v{}", 1 + random.below(8)),
        2 => format!("v_lshl_add_u32 {to}, s2, {}, v0", random.between(3, 8)),
        3 => format!("v_mov_b32 {to}, s{}", 16 + random.below(8)),
        _ => format!(
            "v_add_u32 {to}, {}, v{}",
            random.between(-9, 60),
            1 + random.below(8)
        ),
    }
}

/// `mark[x / d]` or `mark[x % d]`, where `d` is no constant: by its inverse in floating point, and two corrections.
fn by_inverse(random: &mut Random) -> String {
    let divisor = match random.below(4) {
        0 => format!("v_mov_b32 v19, {}", random.between(1, 40)),
        1 => format!("v_and_b32 v19, 15, v{}", 1 + random.below(8)),
        _ => format!("v_mov_b32 v19, s{}", 16 + random.below(8)),
    };
    let mut lines = vec![word(random, "v18"), divisor];
    // Constants are folded, and no division is made of them.
    if random.chance(30) {
        lines.push("v_max_u32 v19, 1, v19".to_owned());
    }
    let compare = match random.below(12) {
        0 => "v_cmp_gt_u32 vcc, v20, v19",
        1 => "v_cmp_ge_i32 vcc, v20, v19",
        2..5 => "v_cmp_le_u32 vcc, v19, v20",
        _ => "v_cmp_ge_u32 vcc, v20, v19",
    };
    let correct = [
        compare,
        "v_add_u32 v21, 1, v17",
        "v_cndmask_b32 v17, v17, v21, vcc",
        "v_sub_u32 v21, v20, v19",
        "v_cndmask_b32 v20, v20, v21, vcc",
    ];
    let estimate = [
        "v_cvt_f32_u32 v17, v19",
        "v_rcp_iflag_f32 v17, v17",
        "v_mul_f32 v17, 0x4f7ffffe, v17",
        "v_cvt_u32_f32 v17, v17",
        "v_sub_u32 v20, 0, v19",
        "v_mul_lo_u32 v20, v20, v17",
        "v_mul_hi_u32 v20, v17, v20",
        "v_add_u32 v17, v17, v20",
        "v_mul_hi_u32 v17, v18, v17",
        "v_mul_lo_u32 v20, v17, v19",
        "v_sub_u32 v20, v18, v20",
    ];
    let mut machine: Vec<&str> = [&estimate[..], &correct, &correct].concat();
    if random.chance(15) {
        machine.remove(random.below(machine.len()));
    }
    lines.extend(machine.into_iter().map(str::to_owned));
    lines.push(match random.below(3) {
        0 => "v_mov_b32 v16, v17".to_owned(),
        1 => "v_mov_b32 v16, v20".to_owned(),
        _ => "v_mul_lo_u32 v17, v17, v19\nv_sub_u32 v16, v18, v17".to_owned(),
    });
    format!("{}\n{}", lines.join("\n"), mark(random))
}
