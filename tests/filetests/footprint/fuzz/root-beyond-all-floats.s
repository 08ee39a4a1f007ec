//~ missed the last word of the buffer; predicted [0, 0x16c)
//~ flags 
//~ buffer 32768 65536 0 0
//~ buffer 32768 65536 0 0
//~ argument 0 8 0+0
//~ argument 8 4 0
//~ argument 12 4 0
//~ argument 16 4 0
//~ argument 20 4 0
//~ argument 24 8 1+0
//~ grid 4096 1 1 block 64 1 1
    .text
    .globl k0
    .p2align 8
    .type k0,@function
k0:
    s_load_dwordx2 s[4:5], s[0:1], 0
    s_load_dwordx4 s[16:19], s[0:1], 8
    s_load_dwordx2 s[6:7], s[0:1], 24
    s_waitcnt lgkmcnt(0)
    v_lshl_add_u32 v18, s2, 6, v0
    v_mov_b32 v19, 0

    v_lshlrev_b64 v[30:31], 3, v[18:19]
    v_or_b32 v30, 1, v30

    v_cvt_f64_u32 v[36:37], v31
    v_cvt_f64_u32 v[38:39], v30
    v_ldexp_f64 v[36:37], v[36:37], 32
    v_add_f64 v[34:35], v[36:37], v[38:39]

    v_rsq_f64 v[40:41], v[34:35]
    v_mul_f64 v[42:43], v[40:41], v[34:35]
    v_mul_f64 v[40:41], v[42:43], v[40:41]
v_mul_f64 v[44:45], v[40:41], 4.0
 v_mul_f64 v[46:47], v[40:41], 0.5
 v_mul_f64 v[46:47], v[46:47], 0.5
v_mov_b32 v50, v40
v_mov_b32 v51, v41
v_mov_b32 v52, v40
v_mov_b32 v53, v41
v_mul_f64 v[44:45], v[44:45], v[44:45]
 v_mul_f64 v[46:47], v[46:47], v[46:47]
v_mul_f64 v[50:51], v[50:51], v[44:45]
 v_mul_f64 v[52:53], v[52:53], v[46:47]
v_mul_f64 v[44:45], v[44:45], v[44:45]
 v_mul_f64 v[46:47], v[46:47], v[46:47]
v_mul_f64 v[50:51], v[50:51], v[44:45]
 v_mul_f64 v[52:53], v[52:53], v[46:47]
v_mul_f64 v[44:45], v[44:45], v[44:45]
 v_mul_f64 v[46:47], v[46:47], v[46:47]
v_mul_f64 v[50:51], v[50:51], v[44:45]
 v_mul_f64 v[52:53], v[52:53], v[46:47]
v_mul_f64 v[44:45], v[44:45], v[44:45]
 v_mul_f64 v[46:47], v[46:47], v[46:47]
v_mul_f64 v[50:51], v[50:51], v[44:45]
 v_mul_f64 v[52:53], v[52:53], v[46:47]
v_mul_f64 v[44:45], v[44:45], v[44:45]
 v_mul_f64 v[46:47], v[46:47], v[46:47]
v_mul_f64 v[50:51], v[50:51], v[44:45]
 v_mul_f64 v[52:53], v[52:53], v[46:47]
v_mul_f64 v[44:45], v[44:45], v[44:45]
 v_mul_f64 v[46:47], v[46:47], v[46:47]
v_mul_f64 v[50:51], v[50:51], v[44:45]
 v_mul_f64 v[52:53], v[52:53], v[46:47]
v_mul_f64 v[44:45], v[44:45], v[44:45]
 v_mul_f64 v[46:47], v[46:47], v[46:47]
v_mul_f64 v[50:51], v[50:51], v[44:45]
 v_mul_f64 v[52:53], v[52:53], v[46:47]
v_mul_f64 v[44:45], v[44:45], v[44:45]
 v_mul_f64 v[46:47], v[46:47], v[46:47]
v_mul_f64 v[50:51], v[50:51], v[44:45]
 v_mul_f64 v[52:53], v[52:53], v[46:47]

    v_rsq_f64 v[36:37], v[34:35]
    v_cmp_class_f64 vcc, v[34:35], 64
    v_mul_f64 v[38:39], v[36:37], v[34:35]
    v_mul_f64 v[36:37], v[36:37], 0.5
    v_fma_f64 v[32:33], -v[36:37], v[38:39], 0.5
    v_fma_f64 v[38:39], v[38:39], v[32:33], v[38:39]
    v_fma_f64 v[36:37], v[36:37], v[32:33], v[36:37]
    v_fma_f64 v[32:33], -v[38:39], v[38:39], v[34:35]
    v_fma_f64 v[38:39], v[32:33], v[36:37], v[38:39]
v_mul_f64 v[38:39], v[38:39], v[50:51]
v_mul_f64 v[38:39], v[38:39], v[52:53]

    v_cndmask_b32 v35, v39, v35, vcc
    v_cndmask_b32 v34, v38, v34, vcc

    v_fma_f64 v[34:35], v[34:35], 0.5, -0.5
    v_cvt_i32_f64 v16, v[34:35]

    v_and_b32 v16, 0x1fff, v16
    v_lshlrev_b32 v16, 2, v16
    global_store_dword v16, v0, s[4:5]
    s_endpgm
    .rodata
    .p2align 6
    .amdhsa_kernel k0
        .amdhsa_group_segment_fixed_size 0
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
        .amdhsa_next_free_vgpr 64
        .amdhsa_next_free_sgpr 64
        
    .end_amdhsa_kernel
    .text
    .amdgpu_metadata
---
amdhsa.version: [1, 1]
amdhsa.kernels:
  - .name: k0
    .symbol: k0.kd
    .kernarg_segment_size: 32
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 64
    .vgpr_count: 64
    .max_flat_workgroup_size: 1024
    .args:
      - .offset: 0
        .size: 8
        .value_kind: global_buffer
        .address_space: global
      - .offset: 8
        .size: 4
        .value_kind: by_value
      - .offset: 12
        .size: 4
        .value_kind: by_value
      - .offset: 16
        .size: 4
        .value_kind: by_value
      - .offset: 20
        .size: 4
        .value_kind: by_value
      - .offset: 24
        .size: 8
        .value_kind: global_buffer
        .address_space: global
...
    .end_amdgpu_metadata
