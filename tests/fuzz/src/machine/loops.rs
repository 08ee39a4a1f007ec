//! Loops as compilers make them, with items in them: lanes leave one after the other and are collected in a mask, by one exit or
//! by two, and counters that wait to be equal to a bound that was chosen before.
//!
//! Where items may switch lanes on and off, or a counter may pass by its bound, rounds cost fuel, which is an exit of the wave.

use super::{forms, items};
use crate::random::Random;

/// What a loop of some depth has for itself; items use none of it.
struct Registers {
    /// Fuel, the wave's counter and its bound.
    fuel: usize,
    counter: usize,
    bound: usize,
    /// Lanes that have left.
    done: String,
    /// The lane's counter and its bound, and a pointer.
    of_lane: usize,
    bound_of_lane: usize,
    pointer: usize,
    /// Of the head, of what follows, and of a choice.
    labels: [usize; 3],
}

impl Registers {
    fn of(depth: usize) -> Self {
        let (scalar, vector) = (60 + 6 * (depth - 1), 24 + 4 * (depth - 1));
        Self {
            fuel: scalar,
            counter: scalar + 1,
            bound: scalar + 2,
            done: format!("s[{}:{}]", scalar + 4, scalar + 5),
            of_lane: vector,
            bound_of_lane: vector + 1,
            pointer: vector + 2,
            labels: [1, 2, 3].map(|label| 10 * depth + label),
        }
    }
}

/// One loop, with forms of less depth in it; `saved` is for the lanes of a condition.
pub(super) fn form(random: &mut Random, depth: usize, saved: &str, to: &mut Vec<String>) {
    let own = Registers::of(depth);
    match random.below(5) {
        0..2 => of_lanes(random, depth, &own, None, to),
        2 => of_lanes(random, depth, &own, Some(saved), to),
        3 => of_wave(random, depth, &own, to),
        _ => along(random, depth, &own, to),
    }
}

fn body(random: &mut Random, depth: usize, to: &mut Vec<String>) {
    if random.chance(40) {
        forms::some(random, depth, to);
    }
}

/// A mark at the element that a counter says: at one of the first 128, if it is beyond.
fn mark_by(random: &mut Random, counter: &str) -> String {
    let clamp = random.pick(&[
        "v_min_u32 v16, 0x7f, v16",
        "v_max_i32 v16, 0, v16\nv_min_i32 v16, 0x7f, v16",
        "v_and_b32 v16, 0x7f, v16",
    ]);
    format!(
        "v_mov_b32 v16, {counter}\n{clamp}\nv_lshlrev_b32 v16, 2, v16\n{}",
        items::mark_at(random)
    )
}

/// `while (fuel--)`, of the wave.
fn burn(own: &Registers) -> String {
    let (fuel, [_, out, _]) = (own.fuel, own.labels);
    format!("s_sub_u32 s{fuel}, s{fuel}, 1\ns_cbranch_scc1 {out}f")
}

/// `do { if (other) break; } while (i < n)` of each lane, the first exit under a condition if there is `saved`.
fn of_lanes(
    random: &mut Random,
    depth: usize,
    own: &Registers,
    saved: Option<&str>,
    to: &mut Vec<String>,
) {
    let Registers {
        fuel,
        of_lane,
        bound_of_lane,
        done,
        labels: [head, out, _],
        ..
    } = own;
    let lane = format!("v{of_lane}");
    let (start, step) = random.pick(&[
        ("0", 1),
        ("1", 1),
        ("v0", 1),
        ("0", 2),
        ("0", 3),
        ("60", -4),
        ("v0", -1),
        ("40", -1),
    ]);
    // What a loop may leave as it is, and those change who are left.
    let kept = random
        .chance(40)
        .then(|| format!("v{}", 1 + random.below(8)));
    if let Some(kept) = &kept {
        to.push(format!("v_mov_b32 {kept}, {}", random.between(0, 60)));
    }
    let bound = match random.below(4) {
        0 => format!("v_mov_b32 v{bound_of_lane}, {}", random.between(1, 24)),
        1 => format!("v_and_b32 v{bound_of_lane}, 15, v{}", 1 + random.below(8)),
        2 => format!(
            "{}\nv_mov_b32 v16, {}\nv_mov_b32 v{bound_of_lane}, {}\n\
             v_cndmask_b32_e64 v{bound_of_lane}, v{bound_of_lane}, v16, vcc",
            items::lane_compare(random, "vcc"),
            random.between(1, 12),
            random.between(5, 30)
        ),
        _ => format!(
            "v_mov_b32 v{bound_of_lane}, {}\n{}\ns_cbranch_vccz {}f\nv_mov_b32 v{bound_of_lane}, {}\n{}:",
            random.between(1, 12),
            items::lane_compare(random, "vcc"),
            own.labels[2],
            random.between(5, 30),
            own.labels[2]
        ),
    };
    to.push(format!(
        "v_mov_b32 {lane}, {start}\n{bound}\ns_mov_b64 {done}, 0\ns_movk_i32 s{fuel}, {}\n{head}:",
        random.between(3, 20)
    ));
    let (at_end, again) = if random.chance(40) {
        // The wave leaves before any lane does in that round, and maybe nowhere else.
        to.push(burn(own));
        let again = random.pick(&["s_cbranch_execnz", "s_branch", "s_branch"]);
        (String::new(), again)
    } else {
        (burn(own) + "\n", "s_cbranch_execnz")
    };
    if random.chance(70) {
        to.push(mark_by(random, &lane));
    }
    body(random, depth, to);
    if let Some(saved) = saved {
        // Lanes leave by this condition, or else by the other.
        let flag = items::mask(random);
        to.push(format!(
            "{}\ns_or_b64 {flag}, {flag}, exec\ns_and_saveexec_b64 {saved}, vcc",
            items::lane_compare(random, "vcc")
        ));
        body(random, depth, to);
        to.push(format!(
            "v_add_u32 {lane}, {step}, {lane}\n{}\ns_andn2_b64 {flag}, {flag}, exec\n\
             s_and_b64 s[44:45], vcc, exec\ns_or_b64 {flag}, {flag}, s[44:45]\n\
             s_or_b64 exec, exec, {saved}\ns_and_b64 s[44:45], exec, {flag}\n\
             s_or_b64 {done}, s[44:45], {done}",
            leaves(random, own)
        ));
    } else {
        to.push(format!(
            "v_add_u32 {lane}, {step}, {lane}\n{}\n{}s_or_b64 {done}, vcc, {done}",
            leaves(random, own),
            random.pick(&["", "s_and_b64 vcc, exec, vcc\n"])
        ));
    }
    to.push(format!(
        "s_andn2_b64 exec, exec, {done}\n{at_end}{again} {head}b\n{out}:"
    ));
    if random.chance(40) {
        // Those who have left are still off.
        body(random, depth, to);
    }
    if let Some(kept) = &kept {
        let from = random.pick(&["v0", kept.as_str(), kept.as_str()]);
        to.push(format!(
            "v_add_u32 {kept}, {}, {from}",
            random.between(0, 60)
        ));
    }
    to.push(format!("s_or_b64 exec, exec, {done}"));
    if let Some(kept) = &kept {
        to.push(mark_by(random, kept));
    }
    if random.chance(70) {
        to.push(mark_by(random, &lane));
    }
}

/// Which lanes leave, in VCC.
fn leaves(random: &mut Random, own: &Registers) -> String {
    let relation = random.pick(&["le", "lt", "eq", "eq", "ge", "gt"]);
    let ty = random.pick(&["i32", "u32"]);
    format!(
        "v_cmp_{relation}_{ty}_e64 vcc, v{}, v{}",
        own.bound_of_lane, own.of_lane
    )
}

/// `n = c ? x : y; do { if (other) break; } while (++i != n)` of the wave.
fn of_wave(random: &mut Random, depth: usize, own: &Registers, to: &mut Vec<String>) {
    let Registers {
        fuel,
        counter,
        bound,
        labels: [head, out, choice],
        ..
    } = own;
    let number = format!("s{}", 16 + random.below(8));
    let other = match random.below(4) {
        0 => format!("s_movk_i32 s{bound}, {}", random.between(-1, 24)),
        1 => format!("s_min_u32 s{bound}, {number}, 20"),
        2 => format!("s_and_b32 s{bound}, {number}, 15"),
        _ => format!("s_add_u32 s{bound}, s{bound}, {}", random.between(-4, 8)),
    };
    let relation = random.pick(&["lt", "le", "gt", "lg"]);
    let skip = random.pick(&["scc0", "scc1", "vccz", "execz"]);
    let choose = format!(
        "s_cmp_{relation}_u32 {number}, {}\ns_cbranch_{skip} {choice}f\n{other}\n{choice}:",
        random.between(0, 9)
    );
    let (start, step) = random.pick(&[(0, 1), (1, 1), (0, 2), (12, -1), (40, -4), (0, 3)]);
    to.push(format!(
        "s_movk_i32 s{bound}, {}\n{choose}\ns_movk_i32 s{counter}, {start}\n\
         s_movk_i32 s{fuel}, {}\n{head}:",
        random.between(0, 24),
        random.between(3, 20)
    ));
    if random.chance(70) {
        to.push(mark_by(random, &format!("s{counter}")));
    }
    body(random, depth, to);
    if random.chance(30) {
        // It moves.
        let choose = choose.replace(&choice.to_string(), "1");
        to.push(choose);
    }
    let next = format!("s_add_i32 s{counter}, s{counter}, {step}");
    let early = random.chance(50);
    if early {
        to.push(next.clone());
    }
    if random.chance(60) {
        to.push(format!(
            "s_cmp_{}_u32 s{counter}, {}\ns_cbranch_scc1 {out}f",
            random.pick(&["eq", "ge", "lt"]),
            scalar_bound(random)
        ));
    }
    to.push(burn(own));
    let relation = random.pick(&["lg_u32", "lg_u32", "lt_u32", "lt_i32", "gt_i32", "le_u32"]);
    to.push(if early {
        format!("s_cmp_{relation} s{counter}, s{bound}\ns_cbranch_scc1 {head}b\n{out}:")
    } else {
        // The value of before is compared.
        format!(
            "s_mov_b32 s40, s{counter}\n{next}\ns_cmp_{relation} s40, s{bound}\ns_cbranch_scc1 {head}b\n{out}:"
        )
    });
    if random.chance(70) {
        to.push(mark_by(random, &format!("s{counter}")));
    }
}

fn scalar_bound(random: &mut Random) -> String {
    match random.below(2) {
        0 => random.between(0, 30).to_string(),
        _ => format!("s{}", 16 + random.below(8)),
    }
}

/// `for (p = begin; p != end; p += step) *p = x;` of each lane.
fn along(random: &mut Random, depth: usize, own: &Registers, to: &mut Vec<String>) {
    let Registers {
        fuel,
        done,
        pointer: low,
        labels: [head, out, _],
        ..
    } = own;
    let high = low + 1;
    let step = 4 * random.pick(&[1, 1, 2, 3, -1, -2]);
    let carry = if step < 0 { -1 } else { 0 };
    let at = 0x200 * random.below(26) + 0x100;
    let end = i64::try_from(at).expect("small") + 4 * random.between(-20, 40);
    let from = random.pick(&["v_mov_b32 v16, 0", "v_lshlrev_b32 v16, 2, v0"]);
    to.push(format!(
        "{from}\nv_add_u32 v16, {at:#x}, v16\ns_mov_b64 {done}, 0\ns_movk_i32 s{fuel}, {}\n\
         v_mov_b32 v17, s15\nv_add_co_u32 v{low}, vcc, s14, v16\nv_addc_co_u32 v{high}, vcc, 0, v17, vcc\n{head}:",
        random.between(3, 12)
    ));
    to.push(format!(
        "global_store_dword v[{low}:{high}], v{}, off",
        1 + random.below(8)
    ));
    body(random, depth, to);
    let relation = random.pick(&["eq", "ge", "le", "gt"]);
    to.push(format!(
        "v_add_co_u32 v{low}, vcc, {step}, v{low}\nv_addc_co_u32 v{high}, vcc, {carry}, v{high}, vcc\n\
         s_add_u32 s44, s14, {end:#x}\ns_addc_u32 s45, s15, 0\n\
         v_cmp_{relation}_u64_e64 vcc, v[{low}:{high}], s[44:45]\ns_or_b64 {done}, vcc, {done}\n\
         s_andn2_b64 exec, exec, {done}\n{}\ns_cbranch_execnz {head}b\n{out}:\ns_or_b64 exec, exec, {done}",
        burn(own)
    ));
    if random.chance(50) {
        to.push(format!(
            "global_store_dword v[{low}:{high}], v{}, off",
            1 + random.below(8)
        ));
    }
}
