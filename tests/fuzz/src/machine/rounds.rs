//! Small loops, conditions on records and pointers by detours, each one item: its labels are its own.

use super::items;
use crate::random::Random;

/// One of the items of this file.
pub(super) fn item(random: &mut Random) -> String {
    match random.below(9) {
        0 => meeting(random),
        1 => without_lanes(random),
        2 => counted_from_one(random),
        3..5 => detour(random),
        5..7 => if_record(random),
        7 => first_of_none(random),
        _ => first_lane(random),
    }
}

/// `for (i = 0; i != bound[i & 3] && fuel; ++i) mark[i] = x;`: the counter may pass by what it waits for.
fn meeting(random: &mut Random) -> String {
    let (table, skip) = random.pick(&[("s[10:11]", 8), ("s[0:1]", 80)]);
    let fuel = random.between(4, 12);
    format!(
        "s_mov_b32 s40, 0\n1:\nv_mov_b32 v16, s40\nv_lshlrev_b32 v16, 2, v16\n{}\n\
         s_and_b32 s42, s40, 3\ns_lshl_b32 s42, s42, 4\ns_add_u32 s42, s42, {skip}\n\
         s_load_dword s43, {table}, s42\ns_add_u32 s40, s40, 1\ns_cmp_eq_u32 s40, {fuel}\n\
         s_cbranch_scc1 2f\ns_cmp_lg_u32 s40, s43\ns_cbranch_scc1 1b\n2:",
        items::mark_at(random)
    )
}

/// A loop that the wave goes on with when its lanes have left, and a store by the wave's counter.
fn without_lanes(random: &mut Random) -> String {
    let (lanes, wave) = (random.between(1, 6), 4 * random.between(2, 12));
    format!(
        "s_mov_b64 s[46:47], exec\ns_mov_b32 s40, 0\nv_mov_b32 v16, 0\n1:\n\
         v_cmp_gt_u32_e64 vcc, {lanes}, v16\ns_and_b64 exec, exec, vcc\nv_add_u32 v16, 1, v16\n\
         s_add_u32 s40, s40, 4\ns_cmp_lg_u32 s40, {wave}\ns_cbranch_scc1 1b\n\
         s_mov_b64 exec, s[46:47]\nv_mov_b32 v16, s40\n{}",
        items::mark_at(random)
    )
}

/// A loop that the wave goes on with when its lanes have left, and a load of the first lane's word: then lane 0's, which
/// was not among them.
fn first_of_none(random: &mut Random) -> String {
    let (lanes, wave) = (random.between(1, 4), 4 * random.between(5, 9));
    let least = random.between(1, 8);
    format!(
        "s_mov_b64 s[46:47], exec\nv_lshlrev_b32 v17, 2, v0\nv_cmp_le_u32_e64 vcc, {least}, v0\n\
         s_and_b64 exec, exec, vcc\ns_cbranch_execz 2f\ns_mov_b32 s40, 0\nv_mov_b32 v16, 0\n1:\n\
         v_readfirstlane_b32 s42, v17\ns_load_dword s43, s[10:11], s42\ns_waitcnt lgkmcnt(0)\n\
         v_cmp_gt_u32_e64 vcc, {lanes}, v16\ns_and_b64 exec, exec, vcc\nv_add_u32 v16, 1, v16\n\
         s_add_u32 s40, s40, 4\ns_cmp_lg_u32 s40, {wave}\ns_cbranch_scc1 1b\n2:\n\
         s_mov_b64 exec, s[46:47]"
    )
}

/// A store into an array whose pointer stands before its first element.
fn counted_from_one(random: &mut Random) -> String {
    format!(
        "s_load_dwordx2 s[44:45], s[0:1], 160\n{}\nglobal_store_dword v16, v1, s[44:45] offset:4",
        items::any_offset(random)
    )
}

/// `if (table[i].k == c) mark = x;`
fn if_record(random: &mut Random) -> String {
    let mark = items::mark(random);
    format!(
        "{}\ns_cbranch_scc0 1f\n{mark}\n1:",
        items::record_compare(random)
    )
}

/// A pointer of the first lane of those that satisfy a condition, which may be none.
fn first_lane(random: &mut Random) -> String {
    let (low, high) = items::halves(items::scalar_pointer_register(random));
    let compare = items::lane_compare(random, "vcc");
    format!(
        "v_mov_b32 v20, v12\nv_mov_b32 v21, v13\n{compare}\ns_and_saveexec_b64 s[46:47], vcc\n\
         v_mov_b32 v20, s{low}\nv_mov_b32 v21, s{high}\nv_readfirstlane_b32 s44, v20\n\
         v_readfirstlane_b32 s45, v21\ns_mov_b64 exec, s[46:47]\n{}\n\
         global_store_dword v16, v1, s[44:45]",
        items::any_offset(random)
    )
}

/// `to = from - other + other`, by a pointer that nobody knows or one that is known, and any index.
fn detour(random: &mut Random) -> String {
    let (fl, fh) = items::halves(items::scalar_pointer_register(random));
    let (ol, oh) = items::halves(items::scalar_pointer_register(random));
    let from = if random.chance(50) {
        // Through the data share.
        format!(
            "v_lshlrev_b32 v18, 2, v0\nv_mov_b32 v16, s{fl}\nv_mov_b32 v17, s{fh}\n\
             ds_bpermute_b32 v16, v18, v16\nds_bpermute_b32 v17, v18, v17\ns_waitcnt lgkmcnt(0)\n\
             s_mov_b32 s46, s{ol}\ns_mov_b32 s47, s{oh}\nv_mov_b32 v18, s47\n\
             v_subrev_co_u32 v20, vcc, s46, v16\nv_subb_co_u32 v21, vcc, v17, v18, vcc"
        )
    } else {
        format!(
            "s_sub_u32 s44, s{fl}, s{ol}\ns_subb_u32 s45, s{fh}, s{oh}\n\
             s_mov_b32 s46, s{ol}\ns_mov_b32 s47, s{oh}\nv_mov_b32 v18, s47\n\
             v_mov_b32 v20, s44\nv_mov_b32 v21, s45"
        )
    };
    let mut text =
        format!("{from}\nv_add_co_u32 v20, vcc, s46, v20\nv_addc_co_u32 v21, vcc, v18, v21, vcc\n");
    if random.chance(70) {
        text.push_str(&items::any_offset(random));
        text.push_str("\nv_add_co_u32 v20, vcc, v20, v16\nv_addc_co_u32 v21, vcc, 0, v21, vcc\n");
    }
    text.push_str("global_store_dword v[20:21], v1, off");
    text
}
