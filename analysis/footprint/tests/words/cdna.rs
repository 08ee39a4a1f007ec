//! What gfx90a and gfx942 have beside the rest: accumulation registers, packed ids, words of 64 bits, scratch whose place is
//! architected, arguments in registers.

use super::*;

/// Offset of `e_flags`, whose low byte is the machine.
const MACHINE: usize = 48;

/// A kernel with twelve vector registers and four accumulation registers.
fn kernel(code: &[u32]) -> KernelSource {
    let mut kernel = KernelSource::new("kernel", code);
    // Two granules of 8 registers; three times 4 come before the first accumulation register.
    kernel.rsrc1 = 1;
    kernel.rsrc3 = 2;
    kernel.args(&[
        (0, 8, "global_buffer"),
        (8, 8, "global_buffer"),
        (16, 4, "by_value"),
    ])
}

fn access(
    kernel: KernelSource,
    target: &Target,
    block: [u32; 3],
    content: Option<&[u64]>,
) -> Access {
    let mut file = elf::write(&[kernel], &[0; 64], false);
    file[MACHINE] = target.machine;
    let object = CodeObject::parse(&file, &strobe_code_object::ObjectLimits::default());
    let object = object.expect("an object");
    let footprint = analyse(&object, &object.kernels[0], &AnalysisLimits::default());
    let kernarg: Vec<u8> = [A, B, 16]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    let launch = Launch {
        kernarg: &kernarg,
        grid: block,
        block,
        dynamic_lds: 0,
    };
    let content = content.map(|words| {
        (
            A,
            words.iter().flat_map(|word| word.to_le_bytes()).collect(),
        )
    });
    footprint.evaluate(
        &launch,
        &Device {
            buffers: &[A, B],
            content,
        },
    )
}

fn writes(code: &[u32], target: &Target) -> Side {
    access(kernel(code), target, [64, 1, 1], None).writes
}

#[rustfmt::skip]
const PACKED: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xd1c8_0001, 0x0229_1500,  // v_bfe_u32 v1, v0, 10, 10
    0x2402_0284,               // v_lshlrev_b32_e32 v1, 4, v1
    0x2604_00ff, 0x0000_03ff,  // v_and_b32_e32 v2, 0x3ff, v0
    0xd1fe_0001, 0x020a_0501,  // v_add_lshl_u32 v1, v1, v2, 2
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[test]
fn work_item_ids_are_packed() {
    for target in [&Target::GFX90A, &Target::GFX942] {
        for dimensions in [2, 3] {
            let mut packed = kernel(PACKED);
            packed.rsrc2 |= (dimensions - 1) << 11;
            let found = access(packed, target, [16, 5, 1], None).writes;
            assert_eq!(found, run_of(A..A + 4 * 16 * 5), "{target}");
        }
        // Of one dimension there is nothing above.
        assert_eq!(writes(PACKED, target), run_of(A..A + 4 * 64));
    }
}

#[rustfmt::skip]
const KEPT: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x7e04_0204,               // v_mov_b32_e32 v2, s4
    0x7e06_0205,               // v_mov_b32_e32 v3, s5
    0xd3d9_4000, 0x1800_0102,  // v_accvgpr_write_b32 a0, v2
    0xd3d9_4001, 0x1800_0103,  // v_accvgpr_write_b32 a1, v3
    0x7e04_a500,               // v_accvgpr_mov_b32 a2, a0
    0x7e04_0280,               // v_mov_b32_e32 v2, 0
    0x7e06_0280,               // v_mov_b32_e32 v3, 0
    0xd3d8_4002, 0x1800_0102,  // v_accvgpr_read_b32 v2, a2
    0xd3d8_4003, 0x1800_0101,  // v_accvgpr_read_b32 v3, a1
    0xdc70_8010, 0x007f_0002,  // global_store_dword v[2:3], v0, off offset:16
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const LOADED: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xdc54_8000, 0x0284_0001,  // global_load_dwordx2 a[2:3], v1, s[4:5]
    0xd3d8_4002, 0x1800_0102,  // v_accvgpr_read_b32 v2, a2
    0xd3d8_4003, 0x1800_0103,  // v_accvgpr_read_b32 v3, a3
    0xbf8c_0f70,               // s_waitcnt vmcnt(0)
    0xdc70_8000, 0x00ff_0202,  // global_store_dword v[2:3], a2, off
    0xbf81_0000,               // s_endpgm
];

#[test]
fn accumulation_registers_hold_values() {
    for target in [&Target::GFX90A, &Target::GFX942] {
        assert_eq!(writes(KEPT, target), run_of(A + 16..A + 20), "{target}");
        let found = access(kernel(LOADED), target, [64, 1, 1], Some(&[B + 64, 0]));
        assert_eq!(found.reads, run_of(A..A + 8), "{target}");
        assert_eq!(found.writes, run_of(B + 64..B + 68), "{target}");
        let unknown = access(kernel(LOADED), target, [64, 1, 1], None);
        assert!(unknown.writes.is_unknown());
    }
}

#[rustfmt::skip]
const MATRIX: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x7e08_0280,               // v_mov_b32_e32 v4, 0
    0x7d98_00a0,               // v_cmp_gt_u32_e32 vcc, 32, v0
    0xbe86_206a,               // s_and_saveexec_b64 s[6:7], vcc
    0xd3c2_0004, 0x0202_0100,  // v_mfma_f32_4x4x1f32 v[4:7], v0, v0, 0
    0x7e08_0280,               // v_mov_b32_e32 v4, 0
    0x87fe_067e,               // s_or_b64 exec, exec, s[6:7]
    0xdc70_8000, 0x0004_0004,  // global_store_dword v4, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

/// Whoever is switched off has the product in its registers, too.
#[test]
fn matrices_are_multiplied_in_all_lanes() {
    let whole = run_of(A..A + SIZE);
    assert_eq!(writes(MATRIX, &Target::GFX90A), whole);
    // Without the product.
    let [before, after] = [&MATRIX[..5], &MATRIX[7..]];
    assert_eq!(
        writes(&[before, after].concat(), &Target::GFX90A),
        run_of(A..A + 4)
    );
}

#[rustfmt::skip]
const PAIRS: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x7e04_0204,               // v_mov_b32_e32 v2, s4
    0x7e0a_0205,               // v_mov_b32_e32 v5, s5
    0xd3b3_5006, 0x1802_0902,  // v_pk_mov_b32 v[6:7], v[2:3], v[4:5] op_sel:[0,1]
    0xd3b3_4808, 0x1800_0804,  // v_pk_mov_b32 v[8:9], s[4:5], s[4:5] op_sel:[1,0]
    0xd3b3_4808, 0x1802_1108,  // v_pk_mov_b32 v[8:9], v[8:9], v[8:9] op_sel:[1,0]
    0xdc70_8008, 0x007f_0006,  // global_store_dword v[6:7], v0, off offset:8
    0xdc70_8020, 0x007f_0008,  // global_store_dword v[8:9], v0, off offset:32
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const DOUBLES: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xdd3c_8000, 0x0004_0201,  // global_atomic_add_f64 v1, v[2:3], s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const SUM64: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xd208_0002, 0x0011_0700,  // v_lshl_add_u64 v[2:3], v[0:1], 3, s[4:5]
    0x7e08_7102,               // v_mov_b64_e32 v[4:5], v[2:3]
    0xdc70_8000, 0x007f_0004,  // global_store_dword v[4:5], v0, off
    0xbf81_0000,               // s_endpgm
];

#[test]
fn words_of_64_bits_are_moved_and_added() {
    let both = bytes(&[A + 8..A + 12, A + 32..A + 36]);
    assert_eq!(writes(PAIRS, &Target::GFX90A), both);
    let found = access(kernel(DOUBLES), &Target::GFX90A, [64, 1, 1], None);
    assert_eq!(
        (found.reads, found.writes),
        (run_of(A..A + 8), run_of(A..A + 8))
    );
    let each: Vec<_> = (0..64).map(|lane| A + 8 * lane..A + 8 * lane + 4).collect();
    let (found, each) = (writes(SUM64, &Target::GFX942), bytes(&each));
    assert!(
        found.contains_side(&each) && each.contains_side(&found),
        "{found}"
    );
}

#[rustfmt::skip]
const SPILLED_THERE: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x7e04_0204,               // v_mov_b32_e32 v2, s4
    0x7e06_0205,               // v_mov_b32_e32 v3, s5
    0x7e02_0284,               // v_mov_b32_e32 v1, 4
    0xbea0_00a0,               // s_mov_b32 s32, 32
    0xdc74_4008, 0x0020_0200,  // scratch_store_dwordx2 off, v[2:3], s32 offset:8
    0xdc70_6000, 0x0020_0001,  // scratch_store_dword v1, v0, s32
    0xdc54_4028, 0x047f_0000,  // scratch_load_dwordx2 v[4:5], off, off offset:40
    0xbf8c_0f70,               // s_waitcnt vmcnt(0)
    0xdc70_8000, 0x007f_0004,  // global_store_dword v[4:5], v0, off
    0xbf81_0000,               // s_endpgm
];

#[test]
fn scratch_is_found_without_a_register() {
    assert_eq!(writes(SPILLED_THERE, &Target::GFX942), run_of(A..A + 4));
    // The other store reaches the slot of the lower half, which A has not: the address is the lane's number beside it.
    let mut over = SPILLED_THERE.to_vec();
    over[8] = 0xdc70_6004;
    assert_eq!(over[7], 0x0020_0200, "behind the first store");
    assert_eq!(writes(&over, &Target::GFX942), run_of(A..A + 67));
}

#[rustfmt::skip]
const TO_LDS: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x2402_0082,               // v_lshlrev_b32_e32 v1, 2, v0
    0xbefc_0080,               // s_mov_b32 m0, 0
    0xdca8_8000, 0x0004_0001,  // global_load_lds_dword v1, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[test]
fn what_goes_to_local_data_share_is_read() {
    let found = access(kernel(TO_LDS), &Target::GFX942, [64, 1, 1], None);
    assert_eq!(found.reads, run_of(A..A + 256));
    assert_eq!(found.writes, bytes(&[]));
}

#[rustfmt::skip]
const PROLOGUE: &[u32] = &[
    0xc006_0080, 0x0000_0008,  // s_load_dwordx2 s[2:3], s[0:1], 0x8
    0xc002_0100, 0x0000_0010,  // s_load_dword s4, s[0:1], 0x10
    0xbf8c_c07f,               // s_waitcnt lgkmcnt(0)
    0xbf82_003a,               // s_branch 58
];

/// Arguments in s[2:4]: a pointer and a number.
#[rustfmt::skip]
const BODY: &[u32] = &[
    0x2402_0082,               // v_lshlrev_b32_e32 v1, 2, v0
    0x6802_0204,               // v_add_u32_e32 v1, s4, v1
    0xdc70_8000, 0x0002_0001,  // global_store_dword v1, v0, s[2:3]
    0xbf81_0000,               // s_endpgm
];

fn preloaded(prologue: &[u32]) -> Side {
    let mut code = prologue.to_vec();
    // s_nop 0
    code.resize(64, 0xbf80_0000);
    code.extend(BODY);
    let mut preloading = kernel(&code);
    preloading.rsrc2 = 5 << 1 | 1 << 7;
    // Three dwords, from the second on.
    preloading.preload = 3 | 2 << 7;
    access(preloading, &Target::GFX942, [64, 1, 1], None).writes
}

#[test]
fn arguments_stand_in_registers() {
    let expected = run_of(B + 16..B + 16 + 256);
    assert_eq!(preloaded(PROLOGUE), expected);
    // Old firmware ends the kernel: s_trap 2.
    assert_eq!(preloaded(&[0xbf92_0002]), expected);
    // What the kernel loads for old firmware is something else, or goes elsewhere: a launch does either.
    let of = |word: usize, other: u32| {
        let mut prologue = PROLOGUE.to_vec();
        prologue[word] = other;
        preloaded(&prologue)
    };
    let others = [
        (1, 0, run_of(A + 16..A + 16 + 256)),
        (3, 0x14, run_of(B..B + 256)),
        (2, 0xc002_0140, run_of(B..B + SIZE)),
        // s_add_u32 s4, s4, 1
        (4, 0x8004_8104, run_of(B + 17..B + 17 + 256)),
    ];
    for (word, other, more) in others {
        let found = of(word, other);
        assert!(found.contains_side(&expected), "{word}: {found}");
        assert!(found.contains_side(&more), "{word}: {found}");
    }
    // It goes on behind the other entry.
    assert!(of(5, 0xbf82_003b).is_unknown());
}
