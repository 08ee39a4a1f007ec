//! A machine-code kernel as assembly.
//!
//! Parameters are those of the HIP kernels. Registers: `s[0:1]` arguments, `s2` work-group, `s3` fuel,
//! `s[8:9]` table of pointers, `s[10:11]` table of records, `s[14:15]` marks, `s16` to `s23` numbers, `s[24:29]` pointers,
//! `s[30:31]`, `s[34:37]` masks, `s[50:53]` masks of [forms](super::forms), `s[60:71]` and `v[24:31]` of [loops](super::loops), `s[56:59]` the descriptor of scratch, from `s40` to `s49` for use inside
//! an item; `v0` work-item, `v1` to `v8` numbers,
//! `v[10:13]` pointers, from `v16` and from `v32` for use inside an item.

use std::fmt::Write;

use super::Machine;

/// What stands above all kernels.
pub const PRELUDE: &str = "    .text\n";

const ENTRY: &str = "\
    s_add_u32 s56, s0, s7
    s_addc_u32 s57, s1, 0
    s_mov_b64 s[58:59], s[2:3]
    s_mov_b64 s[0:1], s[4:5]
    s_mov_b32 s2, s6
    s_load_dwordx4 s[4:7], s[0:1], 0
    s_load_dwordx2 s[10:11], s[0:1], 24
    s_load_dwordx2 s[8:9], s[0:1], 32
    s_load_dwordx2 s[28:29], s[0:1], 48
    s_load_dwordx2 s[14:15], s[0:1], 168
    s_load_dwordx4 s[16:19], s[0:1], 136
    s_load_dword s22, s[0:1], 156
    s_load_dword s23, s[0:1], 152
    s_waitcnt lgkmcnt(0)
    s_mov_b32 s20, s2
    s_mov_b32 s21, 7
    s_mov_b64 s[24:25], s[4:5]
    s_mov_b64 s[26:27], s[6:7]
    s_mov_b64 s[30:31], exec
    s_mov_b64 s[34:35], 0
    s_mov_b64 s[36:37], exec
    s_mov_b64 s[50:51], exec
    s_mov_b64 s[52:53], exec
    s_movk_i32 s3, 8
    v_mov_b32 v1, v0
    v_lshlrev_b32 v2, 2, v0
    v_mov_b32 v3, s16
    v_mov_b32 v4, s17
    s_lshl_b32 s40, s2, 6
    v_add_u32 v5, s40, v0
    v_mov_b32 v6, 0
    v_mov_b32 v7, 5
    v_xor_b32 v8, 6, v0
    s_mov_b64 exec, -1
    v_mov_b32 v10, s4
    v_mov_b32 v11, s5
    v_mov_b32 v13, s7
    v_add_co_u32 v12, vcc, s6, v2
    v_addc_co_u32 v13, vcc, 0, v13, vcc
    v_mov_b32 v24, 0
    v_mov_b32 v25, 4
    v_mov_b32 v26, s14
    v_mov_b32 v27, s15
    v_mov_b32 v28, 0
    v_mov_b32 v29, 4
    v_mov_b32 v30, s14
    v_mov_b32 v31, s15
    s_mov_b64 exec, s[30:31]
    s_mov_b64 s[60:61], 2
    s_mov_b64 s[62:63], 2
    s_mov_b64 s[64:65], 0
    s_mov_b64 s[66:67], 2
    s_mov_b64 s[68:69], 2
    s_mov_b64 s[70:71], 0
    s_cmp_eq_u32 s16, s17
";

const DESCRIPTOR: &str = "\
        .amdhsa_group_segment_fixed_size 1024
        .amdhsa_private_segment_fixed_size 64
        .amdhsa_user_sgpr_private_segment_buffer 1
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
        .amdhsa_system_sgpr_private_segment_wavefront_offset 1
        .amdhsa_next_free_vgpr 40
        .amdhsa_next_free_sgpr 80
    .end_amdhsa_kernel
";

/// Size and kind of each parameter.
const PARAMETERS: [(u32, &str); 16] = [
    (8, "global_buffer"),
    (8, "global_buffer"),
    (8, "global_buffer"),
    (8, "global_buffer"),
    (8, "global_buffer"),
    (8, "global_buffer"),
    (24, "by_value"),
    (64, "by_value"),
    (4, "by_value"),
    (4, "by_value"),
    (8, "by_value"),
    (1, "by_value"),
    (2, "by_value"),
    (4, "by_value"),
    (8, "global_buffer"),
    (8, "global_buffer"),
];
const KERNARG_BYTES: u32 = 176;

pub(super) fn source(machine: &Machine, name: &str) -> String {
    let mut text =
        format!("    .globl {name}\n    .p2align 8\n    .type {name},@function\n{name}:\n");
    text.push_str(ENTRY);
    let last = machine.blocks.len() - 1;
    for (number, block) in machine.blocks.iter().enumerate() {
        let _ = writeln!(text, "L{name}_{number}:");
        for line in block.items.iter().flat_map(|item| item.lines()) {
            let _ = writeln!(text, "    {line}");
        }
        let Some(exit) = &block.exit else { continue };
        let target = format!("L{name}_{}", exit.target.min(last));
        if exit.target > number {
            let _ = match exit.condition {
                "" => writeln!(text, "    s_branch {target}"),
                condition => writeln!(text, "    s_cbranch_{condition} {target}"),
            };
        } else {
            // Going back costs fuel.
            if !exit.condition.is_empty() {
                let _ = writeln!(text, "    s_cbranch_{} L{name}_b{number}", exit.condition);
                let _ = writeln!(text, "    s_branch L{name}_{}", number + 1);
            }
            let _ = writeln!(
                text,
                "L{name}_b{number}:\n    s_sub_u32 s3, s3, 1\n    s_cbranch_scc0 {target}\n    s_branch L{name}_{last}"
            );
        }
    }
    let _ = write!(
        text,
        "    s_endpgm\n    .rodata\n    .p2align 6\n    .amdhsa_kernel {name}\n{DESCRIPTOR}    .text\n"
    );
    text
}

pub(super) fn metadata(names: &[String]) -> String {
    let mut text =
        String::from("    .amdgpu_metadata\n---\namdhsa.version: [1, 1]\namdhsa.kernels:\n");
    for name in names {
        let _ = write!(
            text,
            "  - .name: {name}\n    .symbol: {name}.kd\n    .kernarg_segment_size: {KERNARG_BYTES}\n    \
             .kernarg_segment_align: 8\n    .group_segment_fixed_size: 1024\n    \
             .private_segment_fixed_size: 64\n    .wavefront_size: 64\n    .sgpr_count: 80\n    \
             .vgpr_count: 40\n    .max_flat_workgroup_size: 1024\n    .args:\n"
        );
        let mut offset = 0_u32;
        for (size, kind) in PARAMETERS {
            offset = offset.next_multiple_of(size.min(8));
            let _ = write!(
                text,
                "      - .offset: {offset}\n        .size: {size}\n        .value_kind: {kind}\n"
            );
            if kind == "global_buffer" {
                text.push_str("        .address_space: global\n");
            }
            offset += size;
        }
    }
    text.push_str("...\n    .end_amdgpu_metadata\n");
    text
}
