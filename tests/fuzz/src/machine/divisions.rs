//! Divisions as compilers make them, and rows and columns of triangles, each one item that ends in a mark; some are nearly
//! one.

use super::sums::mark;
use crate::random::Random;

/// One of the items of this file.
pub(super) fn item(random: &mut Random) -> String {
    match random.below(6) {
        0..3 => by_inverse(random),
        3 => prepared(random),
        4 => triangle(random),
        _ => lesser(random),
    }
}

/// The lines of an item, one of which may be there twice, and the mark that follows. None is left out: what nobody has set does
/// not matter.
fn with_mark(random: &mut Random, mut lines: Vec<String>, last: &str) -> String {
    if random.chance(12) {
        let at = random.below(lines.len());
        lines.insert(at, lines[at].clone());
    }
    format!("{}\n{last}\n{}", lines.join("\n"), mark(random))
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(|line| line.trim().to_owned()).collect()
}

/// `mark[x % d]`, by a factor and a shift that are arguments of which nothing is known before the launch.
fn prepared(random: &mut Random) -> String {
    let (by, shift) = random.pick(&[(100_u64, 7), (8, 3), (7, 3), (3, 2), (1, 0), (64, 6)]);
    let times = ((1_u64 << 32) * ((1 << shift) - by.min(1 << shift))) / by + 1;
    let number = |random: &mut Random, number: u64| match random.below(5) {
        0 => format!("s{}", 16 + random.below(8)),
        // Of a table's words, nobody knows which these are.
        _ => format!("{number:#x}"),
    };
    let [times, shift, by] = [times, shift, by].map(|of| number(random, of));
    let text = format!(
        "{}
        s_mov_b32 s40, {times}
        s_mov_b32 s41, {shift}
        s_mov_b32 s42, {by}
        v_mul_hi_u32 v17, v18, s40
        v_add_u32 v17, v18, v17
        v_lshrrev_b32 v17, s41, v17
        v_mul_lo_u32 v17, v17, s42",
        word(random, "v18")
    );
    with_mark(random, lines(&text), "v_sub_u32 v16, v18, v17")
}

/// `mark[row]` or `mark[column]` of an element of a triangle, by a root.
fn triangle(random: &mut Random) -> String {
    let (by, plus) = random.pick(&[(3, 1), (3, 1), (3, 1), (3, 1), (2, 1), (3, 3)]);
    let half = random.pick(&[
        "v_add_f64 v[34:35], v[34:35], -1.0\nv_mul_f64 v[34:35], v[34:35], 0.5",
        "v_fma_f64 v[34:35], v[34:35], 0.5, -0.5\nv_floor_f64 v[34:35], v[34:35]",
        "v_fma_f64 v[34:35], v[34:35], 0.5, -0.5",
    ]);
    let product = random.pick(&[
        "v_mad_u64_u32 v[34:35], vcc, v20, v20, v[20:21]",
        "v_add_u32 v21, 1, v20\nv_mul_lo_u32 v34, v21, v20",
        "v_add_u32 v21, -1, v20\nv_mul_lo_u32 v34, v21, v20",
        "v_sub_u32 v21, 5, v20\nv_add_u32 v22, -1, v21\nv_mul_lo_u32 v34, v21, v22",
    ]);
    let high = random.pick(&["0", "0", "0", "v6"]);
    let text = format!(
        "{}
        v_mov_b32 v19, {high}
        v_lshlrev_b64 v[34:35], {by}, v[18:19]
        v_or_b32 v34, {plus}, v34
        v_cvt_f64_u32 v[36:37], v35
        v_cvt_f64_u32 v[38:39], v34
        v_ldexp_f64 v[36:37], v[36:37], 32
        v_add_f64 v[34:35], v[36:37], v[38:39]
        v_rsq_f64 v[36:37], v[34:35]
        v_cmp_class_f64 vcc, v[34:35], 64
        v_mul_f64 v[38:39], v[36:37], v[34:35]
        v_mul_f64 v[36:37], v[36:37], 0.5
        v_fma_f64 v[32:33], -v[36:37], v[38:39], 0.5
        v_fma_f64 v[38:39], v[38:39], v[32:33], v[38:39]
        v_fma_f64 v[36:37], v[36:37], v[32:33], v[36:37]
        v_fma_f64 v[32:33], -v[38:39], v[38:39], v[34:35]
        v_fma_f64 v[38:39], v[32:33], v[36:37], v[38:39]
        v_cndmask_b32 v35, v39, v35, vcc
        v_cndmask_b32 v34, v38, v34, vcc
        {half}
        v_cvt_i32_f64 v20, v[34:35]
        v_mov_b32 v21, 0
        {product}
        v_lshrrev_b32 v35, 31, v34
        v_add_u32 v34, v34, v35
        v_ashrrev_i32 v34, 1, v34",
        word(random, "v18")
    );
    let last = random.pick(&[
        "v_mov_b32 v16, v20",
        "v_sub_u32 v16, v18, v34",
        "v_sub_u32 v16, v18, v34",
        "v_sub_u32 v16, v34, v18",
        "v_add_u32 v16, v18, v34\nv_sub_u32 v16, v16, v20",
    ]);
    with_mark(random, lines(&text), last)
}

/// `mark[min(a, b)]`, of floats.
fn lesser(random: &mut Random) -> String {
    let op = random.pick(&["min", "min", "max"]);
    let kinds = [(); 2].map(|()| random.pick(&["u32", "i32"]));
    let text = format!(
        "{}
        {}
        v_cvt_f64_{} v[32:33], v18
        v_cvt_f64_{} v[34:35], v19
        v_{op}_f64 v[32:33], v[32:33], v[34:35]",
        word(random, "v18"),
        word(random, "v19"),
        kinds[0],
        kinds[1],
    );
    with_mark(random, lines(&text), "v_cvt_i32_f64 v16, v[32:33]")
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
    let machine: Vec<&str> = [&estimate[..], &correct, &correct].concat();
    lines.extend(machine.into_iter().map(str::to_owned));
    let last = match random.below(3) {
        0 => "v_mov_b32 v16, v17",
        1 => "v_mov_b32 v16, v20",
        _ => "v_mul_lo_u32 v17, v17, v19\nv_sub_u32 v16, v18, v17",
    };
    with_mark(random, lines, last)
}
