//~ missed writes {[0x1001105f48, 0x1001105f49), [0x1001105f4c, 0x1001105f4d), [0x1001105f50, 0x1001105f51), [0x1001105f54, 0x1001105f55), [0x1001105f58, 0x1001105f59), [0x1001105f5c, 0x1001105f5d), [0x1001105f60, 0x1001105f61), [0x1001105f64, 0x1001105f65), [0x1001105f68, 0x1001105f69), [0x1001105f6c, 0x1001105f6d), [0x1001105f70, 0x1001105f71), [0x1001105f74, 0x1001105f75), [0x1001105f78, 0x1001105f79), [0x1001105f7c, 0x1001105f7d), [0x1001105f80, 0x1001105f81), [0x1001105f84, 0x1001105f85), [0x1001105f88, 0x1001105f89), [0x1001105f8c, 0x1001105f8d), [0x1001105f90, 0x1001105f91), [0x1001105f94, 0x1001105f95), [0x1001105f98, 0x1001105f99), [0x1001105f9c, 0x1001105f9d), [0x1001105fa0, 0x1001105fa1), [0x1001105fa4, 0x1001105fa5), [0x1001105fa8, 0x1001105fa9), [0x1001105fac, 0x1001105fad), [0x1001105fb0, 0x1001105fb1), [0x1001105fb4, 0x1001105fb5), [0x1001105fb8, 0x1001105fb9), [0x1001105fbc, 0x1001105fbd), [0x1001105fc0, 0x1001105fc1), [0x1001105fc4, 0x1001105fc5), [0x1001105fc8, 0x1001105fc9), [0x1001105fcc, 0x1001105fcd), [0x1001105fd0, 0x1001105fd1), [0x1001105fd4, 0x1001105fd5), [0x1001105fd8, 0x1001105fd9), [0x1001105fdc, 0x1001105fdd), [0x1001105fe0, 0x1001105fe1), [0x1001105fe4, 0x1001105fe5), [0x1001105fe8, 0x1001105fe9), [0x1001105fec, 0x1001105fed), [0x1001105ff0, 0x1001105ff1), [0x1001105ff4, 0x1001105ff5), [0x1001105ff8, 0x1001105ff9), [0x1001105ffc, 0x1001105ffd), [0x1001106000, 0x1001106001), [0x1001106004, 0x1001106005), [0x1001106008, 0x1001106009), [0x100110600c, 0x100110600d), [0x1001106010, 0x1001106011), [0x1001106014, 0x1001106015), [0x1001106018, 0x1001106019), [0x100110601c, 0x100110601d), [0x1001106020, 0x1001106021), [0x1001106024, 0x1001106025)} not predicted; predicted {[0x1001105f28, 0x1001105f29), [0x1001105f2c, 0x1001105f2d), [0x1001105f30, 0x1001105f31), [0x1001105f34, 0x1001105f35), [0x1001105f38, 0x1001105f39), [0x1001105f3c, 0x1001105f3d), [0x1001105f40, 0x1001105f41), [0x1001105f44, 0x1001105f45)}
//~ flags 
//~ buffer 32768 65536 0 0
//~ buffer 32768 65536 0 0
//~ buffer 32768 65536 0 0
//~ buffer 32768 65536 0 0
//~ buffer 256 65536 0 0
//~ buffer 256 65536 0 0
//~ buffer 256 65536 0 0
//~ buffer 32768 65536 0 0
//~ argument 0 8 0+24384
//~ argument 8 8 0+24384
//~ argument 16 8 0+16392
//~ argument 24 8 0+0
//~ argument 32 8 0+0
//~ argument 40 8 0+0
//~ argument 48 8 0+24384
//~ argument 56 4 0
//~ argument 64 8 0+16384
//~ argument 72 8 0+16392
//~ argument 80 8 0
//~ argument 88 8 0+16896
//~ argument 96 8 0
//~ argument 104 8 0+16384
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
    v_mov_b32 v10, s4
    v_mov_b32 v11, s5
    v_mov_b32 v13, s7
    v_add_co_u32 v12, vcc, s6, v2
    v_addc_co_u32 v13, vcc, 0, v13, vcc
    s_cmp_eq_u32 s16, s17
Lk0_0:
    s_andn2_saveexec_b64 s[36:37], s[36:37]
    v_cmp_lt_u32_e64 vcc, 7, v1
    s_cbranch_vccz Lk0_2
Lk0_1:
    s_mov_b64 s[36:37], exec
    s_cbranch_execnz Lk0_6
Lk0_2:
Lk0_3:
    s_or_b64 exec, exec, s[36:37]
Lk0_4:
Lk0_5:
    global_store_byte v[12:13], v8, off offset:-24
Lk0_6:
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
