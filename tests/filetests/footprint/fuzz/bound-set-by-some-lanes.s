//~ missed x
//~ flags 
//~ buffer 65536 65536 0 0
//~ buffer 65536 65536 0 0
//~ buffer 65536 65536 0 0
//~ argument 0 8 0+0
//~ argument 8 8 1+0
//~ argument 16 8 0
//~ argument 24 4 0
//~ argument 28 4 0
//~ argument 32 8 2+0
//~ grid 1 1 1 block 1 1 1
    .text
    .globl k0
    .p2align 8
    .type k0,@function
k0:
    s_load_dwordx4 s[4:7], s[0:1], 0
    s_load_dwordx4 s[8:11], s[0:1], 16
    s_load_dwordx2 s[12:13], s[0:1], 32
    s_waitcnt lgkmcnt(0)
    v_mov_b32 v1, 0
    s_mov_b32 s3, 0
Lh:
    v_mov_b32 v5, 5
    v_mov_b32 v6, s3
    v_cmp_lt_u32 vcc, 3, v6
    s_and_saveexec_b64 s[32:33], vcc
    s_cbranch_execz La
    v_mov_b32 v5, 3
La:
    s_or_b64 exec, exec, s[32:33]
    s_lshl_b32 s21, s3, 4
    v_mov_b32 v2, s21
    global_store_dword v2, v0, s[4:5]
    s_add_u32 s3, s3, 1
    s_cmp_gt_u32 s3, 100
    s_cbranch_scc1 Le
    v_mov_b32 v6, s3
    v_cmp_ne_u32 vcc, v6, v5
    s_and_b64 exec, exec, vcc
    s_cbranch_execnz Lh
Le:
    s_endpgm
    .rodata
    .p2align 6
    .amdhsa_kernel k0
        .amdhsa_group_segment_fixed_size 1024
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
        .amdhsa_next_free_vgpr 40
        .amdhsa_next_free_sgpr 64
    .end_amdhsa_kernel
    .text
    .amdgpu_metadata
---
amdhsa.version: [1, 1]
amdhsa.kernels:
  - .name: k0
    .symbol: k0.kd
    .kernarg_segment_size: 40
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 64
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
        .value_kind: by_value
      - .offset: 24
        .size: 4
        .value_kind: by_value
      - .offset: 28
        .size: 4
        .value_kind: by_value
      - .offset: 32
        .size: 8
        .value_kind: global_buffer
        .address_space: global
...
    .end_amdgpu_metadata
