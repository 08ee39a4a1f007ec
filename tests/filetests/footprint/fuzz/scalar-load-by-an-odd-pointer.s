//~ missed reads {[0x1001104000, 0x1001104001)} not predicted; predicted {[0x1001104001, 0x1001104005)}
//~ flags 
//~ buffer 32768 65536 0 0
//~ buffer 32768 65536 0 0
//~ buffer 32768 65536 0 0
//~ buffer 32768 65536 0 0
//~ argument 0 8 0+16385
//~ argument 8 8 1+16384
//~ argument 16 8 2+16384
//~ argument 24 4 3
//~ argument 28 4 5
//~ argument 32 8 7
//~ grid 64 1 1 block 64 1 1
    .amdgcn_target "amdgcn-amd-amdhsa--gfx906"
    .text

    .globl k0
    .p2align 8
    .type k0,@function
k0:
    s_load_dwordx4 s[4:7], s[0:1], 0
    s_load_dwordx2 s[8:9], s[0:1], 16
    s_load_dwordx2 s[10:11], s[0:1], 24
    s_load_dwordx2 s[12:13], s[0:1], 32
    s_waitcnt lgkmcnt(0)
    v_lshlrev_b32 v2, 2, v0

s_load_dword s20, s[4:5], 0
 s_waitcnt lgkmcnt(0)

    s_endpgm
    .size k0, .-k0


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
        .value_kind: global_buffer
        .address_space: global
      - .offset: 24
        .size: 4
        .value_kind: by_value
      - .offset: 28
        .size: 4
        .value_kind: by_value
      - .offset: 32
        .size: 8
        .value_kind: by_value
...
    .end_amdgpu_metadata
