//! Lanes that no work-item has, and lanes of registers that are named by an index.

use super::*;

fn writes(code: &[u32], block: u32) -> Side {
    let kernel = KernelSource::new("kernel", code);
    let footprint = footprint_of(kernel.args(&[(0, 8, "global_buffer"), (8, 4, "by_value")]));
    let kernarg: Vec<u8> = [A, 1].iter().flat_map(|word| word.to_le_bytes()).collect();
    let launch = Launch {
        kernarg: &kernarg,
        grid: [block, 1, 1],
        block: [block, 1, 1],
        dynamic_lds: 0,
    };
    let device = Device {
        buffers: &[A, B],
        content: None,
    };
    footprint.evaluate(&launch, &device).writes
}

/// All lanes get 2048, those of work-items 0; then whoever is on stores there.
fn after(switch: &[u32]) -> Vec<u32> {
    #[rustfmt::skip]
    let before = [
        0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
        0xbe86_017e,               // s_mov_b64 s[6:7], exec
        0xbefe_01c1,               // s_mov_b64 exec, -1
        0x7e02_02ff, 0x0000_0800,  // v_mov_b32_e32 v1, 0x800
        0xbefe_0106,               // s_mov_b64 exec, s[6:7]
        0x7e02_0280,               // v_mov_b32_e32 v1, 0
    ];
    #[rustfmt::skip]
    let behind = [
        0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
        0xbf81_0000,               // s_endpgm
    ];
    [&before, switch, &behind].concat()
}

#[test]
fn lanes_without_a_work_item_are_switched_on_like_others() {
    #[rustfmt::skip]
    let switches = [
        &[0xbefe_01c1][..],        // s_mov_b64 exec, -1
        &[0xbefe_057e],            // s_not_b64 exec, exec
        &[0x88fe_c17e],            // s_xor_b64 exec, exec, -1
        &[0xbe88_21c1],            // s_or_saveexec_b64 s[8:9], -1
        &[0xbe88_22c1],            // s_xor_saveexec_b64 s[8:9], -1
        &[0x8efe_bf81],            // s_lshl_b64 exec, 1, 63
    ];
    let other = run_of(A + 0x800..A + 0x804);
    for switch in switches {
        for block in [40, 100] {
            let writes = writes(&after(switch), block);
            assert!(writes.contains_side(&other), "{switch:x?}: {writes}");
        }
    }
    assert_eq!(writes(&after(&[]), 40), run_of(A..A + 4));
}

/// What nobody has set in them is anything, where there are such lanes.
#[test]
fn nothing_is_known_of_lanes_without_a_work_item() {
    #[rustfmt::skip]
    let code = [
        0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
        0x7e02_0280,               // v_mov_b32_e32 v1, 0
        0xbefe_01c1,               // s_mov_b64 exec, -1
        0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
        0xbf81_0000,               // s_endpgm
    ];
    assert_eq!(writes(&code, 64), run_of(A..A + 4));
    assert_eq!(writes(&code, 128), run_of(A..A + 4));
    assert_eq!(writes(&code, 40), run_of(whole(A)));
}

/// How compilers save registers: lanes that are on keep what they have.
#[test]
fn lanes_of_work_items_do_nothing_of_what_the_others_do() {
    #[rustfmt::skip]
    let code = [
        0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
        0x2402_0082,               // v_lshlrev_b32_e32 v1, 2, v0
        0xbe86_22c1,               // s_xor_saveexec_b64 s[6:7], -1
        0x7e02_02ff, 0x0000_0800,  // v_mov_b32_e32 v1, 0x800
        0xbefe_01c1,               // s_mov_b64 exec, -1
        0x7e06_02ff, 0x0000_0800,  // v_mov_b32_e32 v3, 0x800
        0xbefe_0106,               // s_mov_b64 exec, s[6:7]
        0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
        0xbf81_0000,               // s_endpgm
    ];
    assert_eq!(writes(&code, 40), run_of(A..A + 160));
    let back = 0xbefe_0106;
    let stays: Vec<u32> = code.into_iter().filter(|word| *word != back).collect();
    assert!(writes(&stays, 40).contains_side(&run_of(A + 0x800..A + 0x804)));
}

/// A register that is named by an index is any behind the named one, in all of its lanes.
#[test]
fn scalars_in_lanes_of_registers_named_by_an_index_are_lost() {
    #[rustfmt::skip]
    let code = [
        0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
        0xc002_00c0, 0x0000_0008,  // s_load_dword s3, s[0:1], 0x8
        0x7e0a_0280,               // v_mov_b32_e32 v5, 0
        0xd28a_0005, 0x0001_0680,  // v_writelane_b32 v5, 0, 3
        0xbf11_0803,               // s_set_gpr_idx_on s3, gpr_idx(DST)
        0x7e08_0300,               // v_mov_b32_e32 v4, v0
        0xbf9c_0000,               // s_set_gpr_idx_off
        0xd289_0006, 0x0001_0705,  // v_readlane_b32 s6, v5, 3
        0x7e02_0206,               // v_mov_b32_e32 v1, s6
        0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
        0xbf81_0000,               // s_endpgm
    ];
    assert_eq!(writes(&code, 64), run_of(whole(A)));
    let indexed = [0xbf11_0803, 0x7e08_0300];
    let plain: Vec<u32> = code
        .into_iter()
        .filter(|word| !indexed.contains(word))
        .collect();
    assert_eq!(writes(&plain, 64), run_of(A..A + 4));
}

#[test]
fn registers_written_by_index_are_lost() {
    assert!(run(INDEXED, &[A, B]).writes.is_unknown());
}
