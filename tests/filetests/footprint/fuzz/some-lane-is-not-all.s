//~ missed reads {[0x1001103ff8, 0x1001103ff9), [0x1001103ffc, 0x1001103ffd), [0x1001104000, 0x1001104001), [0x1001104004, 0x1001104005), [0x1001104008, 0x1001104009), [0x100110400c, 0x100110400d), [0x1001104010, 0x1001104011), [0x1001104014, 0x1001104015)} not predicted; predicted {[0x1001104018, 0x1001104019), [0x100110401c, 0x100110401d), [0x1001104020, 0x1001104021), [0x1001104024, 0x1001104025), [0x1001104028, 0x1001104029), [0x100110402c, 0x100110402d), [0x1001104030, 0x1001104031), [0x1001104034, 0x1001104035), [0x1001104038, 0x1001104039), [0x100110403c, 0x100110403d), [0x1001104040, 0x1001104041), [0x1001104044, 0x1001104045), [0x1001104048, 0x1001104049), [0x100110404c, 0x100110404d), [0x1001104050, 0x1001104051), [0x1001104054, 0x1001104055), [0x1001104058, 0x1001104059), [0x100110405c, 0x100110405d), [0x1001104060, 0x1001104061), [0x1001104064, 0x1001104065), [0x1001104068, 0x1001104069), [0x100110406c, 0x100110406d), [0x1001104070, 0x1001104071), [0x1001104074, 0x1001104075), [0x1001104078, 0x1001104079), [0x100110407c, 0x100110407d), [0x1001104080, 0x1001104081), [0x1001104084, 0x1001104085), [0x1001104088, 0x1001104089), [0x100110408c, 0x100110408d), [0x1001104090, 0x1001104091), [0x1001104094, 0x1001104095), [0x1001104098, 0x1001104099), [0x100110409c, 0x100110409d), [0x10011040a0, 0x10011040a1), [0x10011040a4, 0x10011040a5), [0x10011040a8, 0x10011040a9), [0x10011040ac, 0x10011040ad), [0x10011040b0, 0x10011040b1), [0x10011040b4, 0x10011040b5), [0x10011040b8, 0x10011040b9), [0x10011040bc, 0x10011040bd), [0x10011040c0, 0x10011040c1), [0x10011040c4, 0x10011040c5), [0x10011040c8, 0x10011040c9), [0x10011040cc, 0x10011040cd), [0x10011040d0, 0x10011040d1), [0x10011040d4, 0x10011040d5), [0x10011040d8, 0x10011040d9), [0x10011040dc, 0x10011040dd), [0x10011040e0, 0x10011040e1), [0x10011040e4, 0x10011040e5), [0x10011040e8, 0x10011040e9), [0x10011040ec, 0x10011040ed), [0x10011040f0, 0x10011040f1), [0x10011040f4, 0x10011040f5)}
//~ flags 
//~ buffer 32768 65536 0 0
//~ buffer 32768 65536 0 0
//~ buffer 32768 65536 0 0
//~ buffer 32768 65536 0 0
//~ buffer 256 65536 0 0
//~ buffer 256 65536 0 0
//~ buffer 256 65536 0 0
//~ buffer 32768 65536 0 0
//~ argument 0 8 0+16392
//~ argument 8 8 0+16384
//~ argument 16 8 0+24384
//~ argument 24 8 0+0
//~ argument 32 8 0+0
//~ argument 40 8 0+0
//~ argument 48 8 0+16392
//~ argument 56 4 0
//~ argument 64 8 0+16384
//~ argument 72 8 0+16384
//~ argument 80 8 0
//~ argument 88 8 0+16896
//~ argument 96 8 0
//~ argument 104 8 0+16896
//~ argument 112 8 0
//~ argument 120 8 0+16384
//~ argument 128 8 0
//~ argument 136 4 0
//~ argument 140 4 1
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
Lk0_1:
    v_cmp_lt_u16_e64 s[36:37], v4, v8
    v_cmp_ge_i32_e64 s[30:31], s21, v5
    s_andn2_b64 vcc, s[36:37], s[30:31]
    s_cbranch_vccz Lk0_8
Lk0_2:
Lk0_3:
Lk0_4:
Lk0_5:
Lk0_6:
    v_lshlrev_b32 v16, 2, v0
    global_load_sbyte v2, v16, s[28:29] offset:-16
Lk0_7:
Lk0_8:
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
