//~ missed writes {[0x1001104000, 0x1001104004), [0x1001104020, 0x1001104024)} not predicted; predicted {}
//~ flags 
//~ buffer 32768 65536 0 0
//~ buffer 32768 65536 0 0
//~ buffer 32768 65536 0 0
//~ buffer 32768 65536 0 0
//~ buffer 256 65536 0 0
//~ buffer 256 65536 0 0
//~ buffer 256 65536 0 0
//~ buffer 32768 65536 0 0
//~ argument 0 8 0+16384
//~ argument 8 8 0+16384
//~ argument 16 8 0+16384
//~ argument 24 8 0+0
//~ argument 32 8 0+0
//~ argument 40 8 0+0
//~ argument 48 8 0+16896
//~ argument 56 4 0
//~ argument 64 8 0+16384
//~ argument 72 8 0+24384
//~ argument 80 8 0
//~ argument 88 8 0+16896
//~ argument 96 8 0
//~ argument 104 8 0+16392
//~ argument 112 8 0
//~ argument 120 8 0+16896
//~ argument 128 8 0
//~ argument 136 4 0
//~ argument 140 4 0
//~ argument 144 8 0
//~ argument 152 1 0
//~ argument 154 2 0
//~ argument 156 4 0
//~ argument 160 8 0+-4
//~ argument 168 8 0+16384
//~ grid 64 1 1 block 64 1 1
    .text

    .globl k0
    .p2align 8
    .type k0,@function
k0:
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
Lk0_0:
Lk0_1:
    s_andn2_saveexec_b64 s[30:31], s[36:37]
    s_mov_b64 s[70:71], 0
    21:
    v_lshrrev_b32 v7, v8, v2
    v_cmp_gt_u32_e64 vcc, v29, v28
    s_or_b64 s[70:71], vcc, s[70:71]
    s_andn2_b64 exec, exec, s[70:71]
    s_cbranch_execnz 21b
    s_or_b64 exec, exec, s[70:71]
    s_cbranch_scc0 Lk0_1
    v_cmp_ge_u32_e64 vcc, 64, v7
    s_and_saveexec_b64 s[50:51], vcc
    v_add_u32 v16, 0x20000000, v16
    s_mov_b32 s44, s26
    s_sub_u32 s45, s27, 1
    s_or_b32 s45, s45, 0x80000
    s_mov_b32 s46, -1
    buffer_store_dword v3, v16, s[44:47], 0 idxen
    s_endpgm
    .rodata
    .p2align 6
    .amdhsa_kernel k0
.amdhsa_group_segment_fixed_size 1024
        .amdhsa_private_segment_fixed_size 64
        .amdhsa_user_sgpr_private_segment_buffer 1
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
        .amdhsa_system_sgpr_private_segment_wavefront_offset 1
        .amdhsa_next_free_vgpr 40
        .amdhsa_next_free_sgpr 80
    .end_amdhsa_kernel
    .text
    .amdgpu_metadata
---
amdhsa.version: [1, 1]
amdhsa.kernels:
  - .name: k0
    .symbol: k0.kd
    .kernarg_segment_size: 176
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 64
    .wavefront_size: 64
    .sgpr_count: 80
    .vgpr_count: 40
    .max_flat_workgroup_size: 1024
    .args:
      - .offset: 0
        .size: 8
        .value_kind: global_buffer
        .address_space: global
      - .offset: 8
        .size: 8
        .value_kind: global_buffer
        .address_space: global
      - .offset: 16
        .size: 8
        .value_kind: global_buffer
        .address_space: global
      - .offset: 24
        .size: 8
        .value_kind: global_buffer
        .address_space: global
      - .offset: 32
        .size: 8
        .value_kind: global_buffer
        .address_space: global
      - .offset: 40
        .size: 8
        .value_kind: global_buffer
        .address_space: global
      - .offset: 48
        .size: 24
        .value_kind: by_value
      - .offset: 72
        .size: 64
        .value_kind: by_value
      - .offset: 136
        .size: 4
        .value_kind: by_value
      - .offset: 140
        .size: 4
        .value_kind: by_value
      - .offset: 144
        .size: 8
        .value_kind: by_value
      - .offset: 152
        .size: 1
        .value_kind: by_value
      - .offset: 154
        .size: 2
        .value_kind: by_value
      - .offset: 156
        .size: 4
        .value_kind: by_value
      - .offset: 160
        .size: 8
        .value_kind: global_buffer
        .address_space: global
      - .offset: 168
        .size: 8
        .value_kind: global_buffer
        .address_space: global
...
    .end_amdgpu_metadata
