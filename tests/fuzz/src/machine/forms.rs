//! What compilers make of control flow, as items one after the other: lanes go and come back, and a
//! condition is put together of what each way found. Every item can be left out for itself.

use super::{divisions, items, loops, rounds, sums};
use crate::random::Random;

/// Saved by forms that stand in each other.
const SAVED: [&str; 2] = ["s[50:51]", "s[52:53]"];

/// One item, or a form with items in it, `depth` deep at most.
pub(super) fn form(random: &mut Random, depth: usize, to: &mut Vec<String>) {
    let Some(saved) = depth.checked_sub(1).map(|depth| SAVED[depth]) else {
        return to.push(items::item(random));
    };
    match random.below(40) {
        0..2 => when(random, depth, saved, to),
        2..4 => either(random, depth, saved, to),
        4..6 => condition_of_two_ways(random, depth, saved, to),
        6 => leave(random, depth, saved, to),
        7 => to.push(rounds::item(random)),
        8..10 => chosen_with_lanes(random, depth, saved, to),
        10..12 => by_number(random, depth, saved, to),
        12..15 => to.push(sums::item(random)),
        15..17 => loops::form(random, depth, saved, to),
        17 => to.push(divisions::item(random)),
        _ => to.push(items::item(random)),
    }
}

pub(super) fn some(random: &mut Random, depth: usize, to: &mut Vec<String>) {
    for _ in 0..1 + random.below(2) {
        form(random, depth - 1, to);
    }
    if random.chance(60) {
        to.push(items::mark(random));
    }
}

fn lanes(random: &mut Random, to: &mut Vec<String>) -> &'static str {
    if random.chance(30) {
        return items::mask(random);
    }
    to.push(items::lane_compare(random, "vcc"));
    "vcc"
}

/// `if (c) { }`
fn when(random: &mut Random, depth: usize, saved: &str, to: &mut Vec<String>) {
    let lanes = lanes(random, to);
    to.push(format!("s_and_saveexec_b64 {saved}, {lanes}"));
    some(random, depth, to);
    to.push(format!("s_or_b64 exec, exec, {saved}"));
}

/// `if (c) { } else { }`
fn either(random: &mut Random, depth: usize, saved: &str, to: &mut Vec<String>) {
    let lanes = lanes(random, to);
    to.push(format!("s_and_saveexec_b64 {saved}, {lanes}"));
    to.push(format!("s_xor_b64 {saved}, exec, {saved}"));
    some(random, depth, to);
    to.push(if random.chance(50) {
        format!("s_or_saveexec_b64 {saved}, {saved}\ns_xor_b64 exec, exec, {saved}")
    } else {
        format!("s_andn2_saveexec_b64 {saved}, {saved}")
    });
    some(random, depth, to);
    to.push(format!("s_or_b64 exec, exec, {saved}"));
}

/// `bool b = x; if (c) b = y; if (b) { }`: the lanes of `y` join those of `x` that were switched off.
fn condition_of_two_ways(random: &mut Random, depth: usize, saved: &str, to: &mut Vec<String>) {
    let condition = items::mask(random);
    to.push(match random.below(3) {
        0 => format!(
            "s_mov_b64 {condition}, {}",
            random.pick(&["0", "-1", "exec"])
        ),
        _ => items::lane_compare(random, condition),
    });
    let lanes = lanes(random, to);
    to.push(format!("s_and_saveexec_b64 {saved}, {lanes}"));
    if random.chance(40) {
        some(random, depth, to);
    }
    to.push(items::lane_compare(random, "vcc"));
    to.push(format!("s_andn2_b64 {condition}, {condition}, exec"));
    to.push(format!(
        "s_and_b64 s[44:45], vcc, exec\ns_or_b64 {condition}, {condition}, s[44:45]"
    ));
    to.push(format!("s_or_b64 exec, exec, {saved}"));
    to.push(format!("s_and_saveexec_b64 {saved}, {condition}"));
    some(random, depth, to);
    to.push(format!("s_or_b64 exec, exec, {saved}"));
}

/// `bool b = false; if (c) { p = x; b = true; } if (b) { *p = y; }`: lanes that have not been there are in no mask, whatever
/// their pointers are.
fn chosen_with_lanes(random: &mut Random, depth: usize, saved: &str, to: &mut Vec<String>) {
    let condition = items::mask(random);
    to.push(format!("s_mov_b64 {condition}, 0"));
    let lanes = lanes(random, to);
    to.push(format!("s_and_saveexec_b64 {saved}, {lanes}"));
    some(random, depth, to);
    to.push(match random.below(4) {
        0 => format!("s_or_b64 {condition}, {condition}, exec"),
        1 => items::lane_compare(random, condition),
        _ => format!("s_mov_b64 {condition}, exec"),
    });
    if random.chance(30) {
        some(random, depth, to);
    }
    to.push(format!("s_or_b64 exec, exec, {saved}"));
    if random.chance(30) {
        some(random, depth, to);
    }
    to.push(format!("s_and_saveexec_b64 {saved}, {condition}"));
    to.push(items::store(random));
    some(random, depth, to);
    to.push(format!("s_or_b64 exec, exec, {saved}"));
}

/// Lanes that end: they do not come back.
fn leave(random: &mut Random, depth: usize, saved: &str, to: &mut Vec<String>) {
    let lanes = lanes(random, to);
    to.push(format!("s_and_saveexec_b64 {saved}, {lanes}"));
    to.push(format!("s_xor_b64 {saved}, exec, {saved}"));
    some(random, depth, to);
    to.push(format!("s_mov_b64 exec, {saved}"));
}

/// Lanes by their numbers, be they on before or not, for a while: so scalars are spilled where no register is left.
fn by_number(random: &mut Random, depth: usize, saved: &str, to: &mut Vec<String>) {
    let lanes = random.pick(&["1", "3", "15", "64", "0xfff0", "-1"]);
    to.push(match random.below(8) {
        0 => format!("s_or_saveexec_b64 {saved}, -1"),
        1 => format!("s_xor_saveexec_b64 {saved}, -1"),
        2 => format!("s_mov_b64 {saved}, exec\ns_not_b64 exec, exec"),
        3 => format!("s_mov_b64 {saved}, exec\ns_lshl_b64 exec, {lanes}, 33"),
        _ => format!("s_mov_b64 {saved}, exec\ns_mov_b64 exec, {lanes}"),
    });
    if random.chance(30) {
        some(random, depth, to);
    } else {
        to.push(items::item(random));
    }
    to.push(format!("s_mov_b64 exec, {saved}"));
}
