//~ missed a word that a lane has got on one of two paths
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
//~ argument 48 8 0+16384
//~ argument 56 4 0
//~ argument 64 8 0+24384
//~ argument 72 8 0+16384
//~ argument 80 8 0
//~ argument 88 8 0+16384
//~ argument 96 8 0
//~ argument 104 8 0+16392
//~ argument 112 8 0
//~ argument 120 8 0+16384
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
    s_load_dwordx2 s[8:9], s[0:1], 0
    v_mov_b32 v4, 0x200
    v_cmp_eq_u32 s[40:41], 32, v0
    s_waitcnt lgkmcnt(0)
    s_and_saveexec_b64 s[58:59], s[40:41]
    s_xor_b64 exec, exec, s[58:59]
    v_cmp_gt_u32 vcc, 60, v0
    s_and_saveexec_b64 s[50:51], vcc
    s_mov_b64 s[56:57], s[50:51]
    s_cbranch_execz Lk0_1
    v_cmp_gt_u32 vcc, 32, v0
    s_and_saveexec_b64 s[50:51], vcc
    s_or_saveexec_b64 s[48:49], s[40:41]
    v_mov_b32 v4, 0x380
    s_mov_b64 exec, s[50:51]
Lk0_1:
    s_or_b64 exec, exec, s[56:57]
    v_mov_b32 v4, 0x440
    s_mov_b64 exec, s[58:59]
    global_store_dword v4, v0, s[8:9]
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
    .kernarg_segment_size: 176
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
