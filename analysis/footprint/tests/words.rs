//! Hand-made machine code, one rule each; the text beside the words is LLVM's.
//!
//! Kernels get the kernarg pointer in `s[0:1]`, the work-group id in `s2`, the work-item id in `v0`.

#![allow(
    clippy::single_range_in_vec_init,
    reason = "lists of ranges that happen to have one element"
)]

#[path = "../../code-object/tests/elf/mod.rs"]
mod elf;

use elf::KernelSource;
use strobe_code_object::CodeObject;
use strobe_extent::{Access, Extent, ExtentSet, Reason, Side};
use strobe_footprint::{KernelFootprint, Launch, Limits, Memory, SideSummary, analyse};

const A: u64 = 0x7f00_0000_0000;
const B: u64 = 0x7f00_1000_0000;
const SIZE: u64 = 4096;

/// Buffers of 4 KiB at the given addresses.
struct Device<'a> {
    buffers: &'a [u64],
    content: Option<(u64, Vec<u8>)>,
}

impl Memory for Device<'_> {
    fn allocation(&self, addr: u64) -> Option<Extent> {
        let start = *self
            .buffers
            .iter()
            .find(|start| (**start..**start + SIZE).contains(&addr))?;
        Extent::with_len(start, SIZE).ok()
    }

    fn known_bytes(&self, addr: u64, len: usize) -> Option<Vec<u8>> {
        let (start, bytes) = self.content.as_ref()?;
        bytes
            .get(addr.checked_sub(*start)? as usize..)?
            .get(..len)
            .map(<[u8]>::to_vec)
    }
}

fn footprint(code: &[u32]) -> KernelFootprint {
    let kernel = KernelSource::new("kernel", code).args(&[(0, 8, "global_buffer")]);
    let bytes = elf::write(&[kernel], &[0; 64], false);
    let object =
        CodeObject::parse(&bytes, &strobe_code_object::Limits::default()).expect("an object");
    analyse(&object, &object.kernels[0], &Limits::default())
}

/// One work-group of 64 on buffers A and B.
fn run(code: &[u32], kernarg: &[u64]) -> Access {
    run_on(
        code,
        kernarg,
        &Device {
            buffers: &[A, B],
            content: None,
        },
    )
}

fn run_on(code: &[u32], kernarg: &[u64], device: &Device<'_>) -> Access {
    let kernarg: Vec<u8> = kernarg.iter().flat_map(|word| word.to_le_bytes()).collect();
    let launch = Launch {
        kernarg: &kernarg,
        grid: [64, 1, 1],
        block: [64, 1, 1],
        dynamic_lds: 0,
    };
    footprint(code).evaluate(&launch, device)
}

/// One run of bytes.
fn run_of(range: std::ops::Range<u64>) -> Side {
    bytes(std::slice::from_ref(&range))
}

fn bytes(ranges: &[std::ops::Range<u64>]) -> Side {
    let extents = ranges
        .iter()
        .map(|range| Extent::new(range.start, range.end).expect("a range"));
    Side::Extents(extents.collect::<ExtentSet>())
}

fn whole(buffer: u64) -> std::ops::Range<u64> {
    buffer..buffer + SIZE
}

#[test]
fn a_sum_with_carry_is_one_address() {
    let access = run(STORE, &[A]);
    assert_eq!(access.writes, run_of(A..A + 256));
    assert_eq!(access.reads, Side::none());
}

#[test]
fn an_address_before_the_buffer_makes_it_the_whole_buffer() {
    assert_eq!(run(BEFORE, &[A + 16]).writes, run_of(A..A + 256));
    assert_eq!(
        run(BEFORE, &[A + 12]).writes,
        run_of(whole(A)),
        "4 bytes before it"
    );
}

/// A pointer between two buffers may mean either, when it is not known which way the index goes.
#[test]
fn a_pointer_behind_a_buffer_may_belong_to_it() {
    let device = Device {
        buffers: &[A, A + SIZE],
        content: None,
    };
    let both = run_of(A..A + 2 * SIZE);
    assert_eq!(
        run_on(BEFORE, &[A + SIZE + 4], &device).writes,
        run_of(A + SIZE..A + 2 * SIZE)
    );
    assert_eq!(run_on(WRAP, &[A + SIZE], &device).writes, both);
    let device = Device {
        buffers: &[A],
        content: None,
    };
    assert_eq!(
        run_on(BEFORE, &[A + SIZE], &device).writes,
        run_of(whole(A))
    );
}

/// An array counted from 1 is handed over as a pointer before it.
#[test]
fn a_pointer_just_before_a_buffer_may_belong_to_it() {
    let device = Device {
        buffers: &[A, A + SIZE],
        content: None,
    };
    let both = run_of(A..A + 2 * SIZE);
    for before in [4, 8, 16, 64] {
        assert_eq!(run_on(WRAP, &[A + SIZE - before], &device).writes, both);
    }
    assert_eq!(
        run_on(WRAP, &[A + SIZE - 1024], &device).writes,
        run_of(whole(A))
    );
    let device = Device {
        buffers: &[A],
        content: None,
    };
    assert_eq!(run_on(WRAP, &[A - 4], &device).writes, run_of(whole(A)));
}

#[test]
fn an_index_that_wraps_is_any_index() {
    assert_eq!(run(WRAP, &[A]).writes, run_of(whole(A)));
}

#[test]
fn pointers_subtract_to_numbers() {
    let access = run(DIFFERENCE, &[A + 64, A, B]);
    assert_eq!(access.writes, run_of(B + 64..B + 68));
}

/// Less an argument and with it again, a pointer from memory points where it pointed.
#[test]
fn a_pointer_from_memory_is_not_the_argument_it_is_taken_relative_to() {
    let code = FROM_MEMORY_TO_ARGUMENT;
    assert!(run(code, &[A, B]).writes.is_unknown());
    let summary = footprint(code).summary();
    assert!(!summary.writes.is_exact(), "got {:?}", summary.writes);
    let known = Device {
        buffers: &[A, B],
        content: Some((A, (B + 64).to_le_bytes().to_vec())),
    };
    assert_eq!(
        run_on(code, &[A, A + 128], &known).writes,
        run_of(B + 64..B + 68)
    );
}

/// What the runtime keeps for a program (its device heap) may hold the program's pointers.
#[test]
fn pointers_from_the_runtimes_memory_are_unknown() {
    let kernel = KernelSource::new("kernel", RUNTIME_HEAP)
        .args(&[(0, 8, "global_buffer"), (8, 8, "hidden_hostcall_buffer")]);
    let file = elf::write(&[kernel], &[0; 64], false);
    let object =
        CodeObject::parse(&file, &strobe_code_object::Limits::default()).expect("an object");
    let launch = Launch {
        kernarg: &A.to_le_bytes(),
        grid: [64, 1, 1],
        block: [64, 1, 1],
        dynamic_lds: 0,
    };
    let device = Device {
        buffers: &[A],
        content: None,
    };
    let access =
        analyse(&object, &object.kernels[0], &Limits::default()).evaluate(&launch, &device);
    assert!(access.writes.is_unknown(), "got {}", access.writes);
}

#[test]
fn null_is_not_followed_and_other_numbers_are_no_pointers() {
    assert_eq!(run(STORE, &[0]).writes, Side::none());
    assert_eq!(
        run(STORE, &[0x1234_5678_9abc]).writes,
        Reason::UntrackedAddress.into()
    );
    let access = run(STORE, &[]);
    assert!(access.writes.is_unknown(), "the argument was not given");
}

#[test]
fn lanes_that_come_back_bring_their_values() {
    let both = bytes(&[A..A + 4, B..B + 4]);
    assert_eq!(run(RETURNING_LANES, &[A, B]).writes, both);
    assert_eq!(run(OTHER_LANES, &[A, B]).writes, both);
    assert_eq!(run(LEAVING_LANES, &[A, B]).writes, both);
}

#[test]
fn a_wave_without_lanes_touches_nothing() {
    assert_eq!(run(SKIPPED, &[A, B]).writes, run_of(B..B + 32));
}

/// A comparison where no lane is active says nothing of those that come back.
#[test]
fn a_comparison_without_lanes_leaves_the_mask_empty() {
    assert_eq!(run(COMPARED_BY_NOBODY, &[A, 0]).writes, run_of(A..A + 4));
}

/// A mask of all lanes that are active holds no others.
#[test]
fn lanes_that_were_off_are_not_in_a_mask_of_all_active_ones() {
    assert_eq!(run(ALL_OF_THE_ACTIVE, &[A]).writes, run_of(A..A + 4));
}

#[test]
fn spilled_scalars_come_back_and_other_lanes_are_unknown() {
    assert_eq!(run(SPILLED, &[A]).writes, run_of(A..A + 4));
    assert!(run(OTHER_LANES_VALUE, &[A]).writes.is_unknown());
}

#[test]
fn conditions_narrow_what_they_guard_and_nothing_else() {
    assert_eq!(run(GUARDED, &[A, 10]).writes, run_of(A..A + 40));
    assert_eq!(run(GUARDED, &[A, 0]).writes, Side::none());
    let negative = u64::from(-5_i32 as u32);
    assert_eq!(run(GUARDED, &[A, negative]).writes, Side::none());
    assert_eq!(run(WIDENED_GUARD, &[A]).writes, run_of(A..A + 256));
    let access = run(NOT_IN_MASK, &[A]);
    let upper_half = Extent::new(A + 128, A + 256).expect("a range");
    assert!(access.writes.contains(upper_half), "got {}", access.writes);
}

#[test]
fn loops_end_where_their_condition_says() {
    assert_eq!(run(LOOP, &[A, 10]).writes, run_of(A..A + 40));
    // Counting up from 0 until equal to 0 goes round all words.
    assert_eq!(run(LOOP, &[A, 0]).writes, run_of(whole(A)));
    // The bound leaves the buffer: it is the program's promise that it does not.
    assert_eq!(run(LOOP, &[A, 1 << 20]).writes, run_of(whole(A)));
}

/// A counter that is a lane's goes round as often as the scalar that is compared.
#[test]
fn a_scalar_condition_bounds_what_lanes_count() {
    assert_eq!(run(ROWS, &[A, 10]).writes, run_of(A..A + 292));
}

/// A bound that moves may be passed by without ever being met.
#[test]
fn a_loop_until_equal_to_a_bound_that_moves_has_no_end() {
    assert_eq!(run(MOVING_BOUND, &[A, B]).writes, run_of(whole(A)));
}

/// Scalars go on where no lane does.
#[test]
fn what_lanes_satisfy_does_not_bound_a_scalar_that_goes_on_without_them() {
    let access = run(LANES_LEAVE_THE_WAVE, &[A]);
    let after = Extent::new(A + 64, A + 68).expect("a range");
    assert!(access.writes.contains(after), "got {}", access.writes);
}

/// What held on one of the ways into a loop holds on no other.
#[test]
fn a_loop_with_two_entries_is_entered_at_either() {
    let both = bytes(&[A..A + 4, A + 64..A + 68]);
    assert_eq!(run(TWO_ENTRIES, &[A, 0]).writes, both);
    assert_eq!(run(TWO_ENTRIES, &[A, 1]).writes, both);
}

#[test]
fn atomics_read_and_write() {
    let access = run(ATOMIC, &[A]);
    assert_eq!(access.writes, run_of(A..A + 4));
    assert_eq!(access.reads, access.writes);
}

#[test]
fn tables_in_memory_are_followed_only_when_known() {
    assert_eq!(run(TABLE, &[A, B]).writes, Reason::PointerFromMemory.into());
    let table: Vec<u8> = [0, B + 64]
        .iter()
        .flat_map(|word: &u64| word.to_le_bytes())
        .collect();
    let known = |at| Device {
        buffers: &[A, B],
        content: Some((at, table.clone())),
    };
    let access = run_on(TABLE, &[A, B], &known(A));
    assert_eq!(access.writes, bytes(&[B..B + 4, B + 64..B + 68]));
    assert_eq!(access.reads, run_of(A + 8..A + 16));
    // The kernel writes into the table that it reads.
    let access = run_on(TABLE, &[A, A + 8], &known(A));
    assert!(access.writes.is_unknown(), "got {}", access.writes);
}

#[test]
fn a_chosen_argument_is_any_of_them() {
    let kernarg: Vec<u8> = [A, B, 7, 0]
        .iter()
        .flat_map(|word: &u64| word.to_le_bytes())
        .collect();
    let launch = Launch {
        kernarg: &kernarg,
        grid: [128, 1, 1],
        block: [64, 1, 1],
        dynamic_lds: 0,
    };
    let device = Device {
        buffers: &[A, B],
        content: None,
    };
    let access = footprint(ARGUMENT_TABLE).evaluate(&launch, &device);
    assert_eq!(access.writes, bytes(&[A..A + 4, B..B + 4]));
}

#[test]
fn registers_written_by_index_are_lost() {
    assert!(run(INDEXED, &[A, B]).writes.is_unknown());
}

#[test]
fn module_data_is_named_and_not_tracked() {
    assert_eq!(run(DATA, &[]), Access::none());
    let summary = footprint(DATA).summary();
    assert_eq!(summary.writes, SideSummary::None);
    assert_eq!(summary.module_writes, ["global"]);
}

#[test]
fn what_cannot_be_followed_is_unknown() {
    assert_eq!(run(CALL, &[A]), Access::unknown(Reason::UnresolvedCall));
    // No instruction.
    assert!(run(&[0xffff_ffff], &[A]).writes.is_unknown());
    // The code runs out of its segment.
    assert!(run(&STORE[..4], &[A]).writes.is_unknown());
    let kernel = KernelSource::new("kernel", STORE);
    let file = elf::write(&[kernel], &[0; 64], false);
    let object =
        CodeObject::parse(&file, &strobe_code_object::Limits::default()).expect("an object");
    let limits = Limits {
        instructions: 3,
        ..Limits::default()
    };
    let launch = Launch {
        kernarg: &[],
        grid: [1; 3],
        block: [1; 3],
        dynamic_lds: 0,
    };
    let access = analyse(&object, &object.kernels[0], &limits).evaluate(
        &launch,
        &Device {
            buffers: &[],
            content: None,
        },
    );
    assert_eq!(access, Access::unknown(Reason::Budget));
}

#[test]
fn metadata_adds_what_the_code_does_not_show() {
    let mut kernel = KernelSource::new("kernel", STORE)
        .args(&[(0, 8, "global_buffer"), (8, 8, "global_buffer")]);
    kernel.access = vec!["read_only", "write_only"];
    let file = elf::write(&[kernel], &[0; 64], false);
    let object =
        CodeObject::parse(&file, &strobe_code_object::Limits::default()).expect("an object");
    let kernarg: Vec<u8> = [A, B]
        .iter()
        .flat_map(|word: &u64| word.to_le_bytes())
        .collect();
    let launch = Launch {
        kernarg: &kernarg,
        grid: [64, 1, 1],
        block: [64, 1, 1],
        dynamic_lds: 0,
    };
    let device = Device {
        buffers: &[A, B],
        content: None,
    };
    let access =
        analyse(&object, &object.kernels[0], &Limits::default()).evaluate(&launch, &device);
    assert_eq!(access.writes, bytes(&[A..A + 256, whole(B)]));
    assert_eq!(access.reads, run_of(whole(A)));
}

#[test]
fn a_report_says_it_in_words() {
    let kernels = [
        KernelSource::new("store", STORE).args(&[(0, 8, "global_buffer")]),
        KernelSource::new("call", CALL).args(&[(0, 8, "global_buffer")]),
        KernelSource::new("table", TABLE).args(&[(0, 16, "by_value")]),
    ];
    let file = elf::write(&kernels, &[0; 64], false);
    let report = strobe_footprint::inspect::report(&file, Some("gfx906")).expect("a report");
    let counts = (
        report.kernels,
        report.writes_exact,
        report.reads_exact,
        report.conservative,
    );
    assert_eq!(counts, (3, 1, 2, 2));
    let text: Vec<String> = report.rows.iter().map(|row| row.to_string()).collect();
    assert_eq!(
        text,
        [
            "store (gfx906, 1 arguments)\n  reads:  nothing\n  writes: arg0[4*tid.x .. +4)",
            "call (gfx906, 1 arguments)\n  reads:  unknown: unresolved call\n  \
             writes: unknown: unresolved call",
            "table (gfx906, 1 arguments)\n  reads:  arg0[8 .. +8)\n  \
             writes: pointers loaded from memory at arg0, arg0+8[0 .. +4)",
        ]
    );
    assert_eq!(
        strobe_footprint::inspect::report(&file, Some("gfx90a"))
            .expect("none")
            .kernels,
        0
    );
}

/// Random words and damaged programs: whatever they are, the analysis ends without a panic.
#[test]
fn damaged_code_never_panics() {
    let programs = [
        STORE,
        RETURNING_LANES,
        OTHER_LANES,
        LEAVING_LANES,
        LOOP,
        TABLE,
        INDEXED,
        SPILLED,
    ];
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    let device = Device {
        buffers: &[A, B],
        content: None,
    };
    let kernarg: Vec<u8> = [A, B, 3]
        .iter()
        .flat_map(|word: &u64| word.to_le_bytes())
        .collect();
    let launch = Launch {
        kernarg: &kernarg,
        grid: [64; 3],
        block: [64, 1, 1],
        dynamic_lds: 0,
    };
    let mut known = 0;
    for _ in 0..3000 {
        let mut code = programs[(random() % programs.len() as u64) as usize].to_vec();
        for _ in 0..1 + random() % 3 {
            let at = (random() % code.len() as u64) as usize;
            code[at] ^= 1 << (random() % 32);
        }
        let footprint = footprint(&code);
        let _ = footprint.summary();
        known += usize::from(!footprint.evaluate(&launch, &device).writes.is_unknown());
    }
    assert!(
        known > 300,
        "only {known} of 3000 could be analysed: too tame"
    );
}

#[rustfmt::skip]
const STORE: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x2402_0082,               // v_lshlrev_b32_e32 v1, 2, v0
    0x7e04_0280,               // v_mov_b32_e32 v2, 0
    0x7e06_0205,               // v_mov_b32_e32 v3, s5
    0x3202_0204,               // v_add_co_u32_e32 v1, vcc, s4, v1
    0x3804_0503,               // v_addc_co_u32_e32 v2, vcc, v3, v2, vcc
    0xdc70_8000, 0x007f_0001,  // global_store_dword v[1:2], v0, off
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const BEFORE: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x2402_0082,               // v_lshlrev_b32_e32 v1, 2, v0
    0xdc70_9ff0, 0x0004_0001,  // global_store_dword v1, v0, s[4:5] offset:-16
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const WRAP: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x2402_009e,               // v_lshlrev_b32_e32 v1, 30, v0
    0xd285_0001, 0x0002_0101,  // v_mul_lo_u32 v1, v1, v0
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const DIFFERENCE: &[u32] = &[
    0xc00a_0100, 0x0000_0000,  // s_load_dwordx4 s[4:7], s[0:1], 0x0
    0xc006_0200, 0x0000_0010,  // s_load_dwordx2 s[8:9], s[0:1], 0x10
    0x8084_0604,               // s_sub_u32 s4, s4, s6
    0x8285_0705,               // s_subb_u32 s5, s5, s7
    0x8008_0408,               // s_add_u32 s8, s8, s4
    0x8209_0509,               // s_addc_u32 s9, s9, s5
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xdc70_8000, 0x0008_0001,  // global_store_dword v1, v0, s[8:9]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const RETURNING_LANES: &[u32] = &[
    0xc00a_0100, 0x0000_0000,  // s_load_dwordx4 s[4:7], s[0:1], 0x0
    0x7e02_0204,               // v_mov_b32_e32 v1, s4
    0x7e04_0205,               // v_mov_b32_e32 v2, s5
    0x7d98_0088,               // v_cmp_gt_u32_e32 vcc, 8, v0
    0xbe88_206a,               // s_and_saveexec_b64 s[8:9], vcc
    0x7e02_0206,               // v_mov_b32_e32 v1, s6
    0x7e04_0207,               // v_mov_b32_e32 v2, s7
    0x87fe_087e,               // s_or_b64 exec, exec, s[8:9]
    0xdc70_8000, 0x007f_0001,  // global_store_dword v[1:2], v0, off
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const OTHER_LANES: &[u32] = &[
    0xc00a_0100, 0x0000_0000,  // s_load_dwordx4 s[4:7], s[0:1], 0x0
    0x7d98_0088,               // v_cmp_gt_u32_e32 vcc, 8, v0
    0xbe88_206a,               // s_and_saveexec_b64 s[8:9], vcc
    0x8888_087e,               // s_xor_b64 s[8:9], exec, s[8:9]
    0x7e02_0204,               // v_mov_b32_e32 v1, s4
    0x7e04_0205,               // v_mov_b32_e32 v2, s5
    0xbe88_2108,               // s_or_saveexec_b64 s[8:9], s[8:9]
    0x88fe_087e,               // s_xor_b64 exec, exec, s[8:9]
    0x7e02_0206,               // v_mov_b32_e32 v1, s6
    0x7e04_0207,               // v_mov_b32_e32 v2, s7
    0x87fe_087e,               // s_or_b64 exec, exec, s[8:9]
    0xdc70_8000, 0x007f_0001,  // global_store_dword v[1:2], v0, off
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const LEAVING_LANES: &[u32] = &[
    0xc00a_0100, 0x0000_0000,  // s_load_dwordx4 s[4:7], s[0:1], 0x0
    0xbe88_0180,               // s_mov_b64 s[8:9], 0
    0x7e02_0204,               // v_mov_b32_e32 v1, s4
    0x7e04_0205,               // v_mov_b32_e32 v2, s5
    0x7e06_0300,               // v_mov_b32_e32 v3, v0
    0x7d94_0680,               // v_cmp_eq_u32_e32 vcc, 0, v3
    0x8788_086a,               // s_or_b64 s[8:9], vcc, s[8:9]
    0x89fe_087e,               // s_andn2_b64 exec, exec, s[8:9]
    0xbf88_0004,               // s_cbranch_execz E
    0x6806_06c1,               // v_add_u32_e32 v3, -1, v3
    0x7e02_0206,               // v_mov_b32_e32 v1, s6
    0x7e04_0207,               // v_mov_b32_e32 v2, s7
    0xbf82_fff8,               // s_branch L
    0x87fe_087e,               // s_or_b64 exec, exec, s[8:9]
    0xdc70_8000, 0x007f_0001,  // global_store_dword v[1:2], v0, off
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const SKIPPED: &[u32] = &[
    0xc00a_0100, 0x0000_0000,  // s_load_dwordx4 s[4:7], s[0:1], 0x0
    0x7e02_0204,               // v_mov_b32_e32 v1, s4
    0x7e04_0205,               // v_mov_b32_e32 v2, s5
    0x7d98_0088,               // v_cmp_gt_u32_e32 vcc, 8, v0
    0xbe88_206a,               // s_and_saveexec_b64 s[8:9], vcc
    0xbf88_0003,               // s_cbranch_execz E
    0x2406_0082,               // v_lshlrev_b32_e32 v3, 2, v0
    0xdc70_8000, 0x0006_0003,  // global_store_dword v3, v0, s[6:7]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const SPILLED: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xd28a_0009, 0x0001_0004,  // v_writelane_b32 v9, s4, 0
    0xd28a_0009, 0x0001_0205,  // v_writelane_b32 v9, s5, 1
    0xbe84_0180,               // s_mov_b64 s[4:5], 0
    0xd289_0006, 0x0001_0109,  // v_readlane_b32 s6, v9, 0
    0xd289_0007, 0x0001_0309,  // v_readlane_b32 s7, v9, 1
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xdc70_8000, 0x0006_0001,  // global_store_dword v1, v0, s[6:7]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const OTHER_LANES_VALUE: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x7e12_0204,               // v_mov_b32_e32 v9, s4
    0xd289_0006, 0x0000_0509,  // v_readlane_b32 s6, v9, s2
    0xbe87_0006,               // s_mov_b32 s7, s6
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xdc70_8000, 0x0006_0001,  // global_store_dword v1, v0, s[6:7]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const CALL: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xbe9e_1e04,               // s_swappc_b64 s[30:31], s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const ATOMIC: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xdd08_8000, 0x0004_0001,  // global_atomic_add v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const TABLE: &[u32] = &[
    0xc00a_0100, 0x0000_0000,  // s_load_dwordx4 s[4:7], s[0:1], 0x0
    0xc006_0202, 0x0000_0008,  // s_load_dwordx2 s[8:9], s[4:5], 0x8
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xdc70_8000, 0x0008_0001,  // global_store_dword v1, v0, s[8:9]
    0xdc70_8000, 0x0006_0001,  // global_store_dword v1, v0, s[6:7]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const LOOP: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xc002_0180, 0x0000_0008,  // s_load_dword s6, s[0:1], 0x8
    0xbe87_0080,               // s_mov_b32 s7, 0
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0x8004_8404,               // s_add_u32 s4, s4, 4
    0x8205_8005,               // s_addc_u32 s5, s5, 0
    0x8107_8107,               // s_add_i32 s7, s7, 1
    0xbf07_0607,               // s_cmp_lg_u32 s7, s6
    0xbf85_fff9,               // s_cbranch_scc1 L
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const TWO_ENTRIES: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xc002_0180, 0x0000_0008,  // s_load_dword s6, s[0:1], 0x8
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xbe87_0080,               // s_mov_b32 s7, 0
    0xbf07_8006,               // s_cmp_lg_u32 s6, 0
    0xbf85_0002,               // s_cbranch_scc1 MIDDLE
    0xdc70_8000, 0x0004_0001,  // TOP: global_store_dword v1, v0, s[4:5]
    0xdc70_8040, 0x0004_0001,  // MIDDLE: global_store_dword v1, v0, s[4:5] offset:64
    0x8107_8107,               // s_add_i32 s7, s7, 1
    0xbf0a_8407,               // s_cmp_lt_u32 s7, 4
    0xbf85_fff9,               // s_cbranch_scc1 TOP
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const INDEXED: &[u32] = &[
    0xc00a_0100, 0x0000_0000,  // s_load_dwordx4 s[4:7], s[0:1], 0x0
    0x7e04_0204,               // v_mov_b32_e32 v2, s4
    0x7e06_0205,               // v_mov_b32_e32 v3, s5
    0xbf11_0802,               // s_set_gpr_idx_on s2, gpr_idx(DST)
    0x7e02_0206,               // v_mov_b32_e32 v1, s6
    0xbf9c_0000,               // s_set_gpr_idx_off
    0xdc70_8000, 0x007f_0002,  // global_store_dword v[2:3], v0, off
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const ARGUMENT_TABLE: &[u32] = &[
    0x8e02_8302,               // s_lshl_b32 s2, s2, 3
    0x8000_0200,               // s_add_u32 s0, s0, s2
    0x8201_8001,               // s_addc_u32 s1, s1, 0
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const GUARDED: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xc002_0180, 0x0000_0008,  // s_load_dword s6, s[0:1], 0x8
    0x7d88_0006,               // v_cmp_gt_i32_e32 vcc, s6, v0
    0xbe88_206a,               // s_and_saveexec_b64 s[8:9], vcc
    0x2402_0082,               // v_lshlrev_b32_e32 v1, 2, v0
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const WIDENED_GUARD: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x2402_0082,               // v_lshlrev_b32_e32 v1, 2, v0
    0x7d98_0088,               // v_cmp_gt_u32_e32 vcc, 8, v0
    0xbe88_206a,               // s_and_saveexec_b64 s[8:9], vcc
    0x87fe_087e,               // s_or_b64 exec, exec, s[8:9]
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const NOT_IN_MASK: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x2402_0082,               // v_lshlrev_b32_e32 v1, 2, v0
    0x7d98_00a0,               // v_cmp_gt_u32_e32 vcc, 32, v0
    0xbe88_206a,               // s_and_saveexec_b64 s[8:9], vcc
    0xd0cc_000a, 0x0002_00c0,  // v_cmp_gt_u32_e64 s[10:11], 64, v0
    0x87fe_087e,               // s_or_b64 exec, exec, s[8:9]
    0x89fe_0a7e,               // s_andn2_b64 exec, exec, s[10:11]
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const DATA: &[u32] = &[
    0xbe84_1c00,               // s_getpc_b64 s[4:5]
    0x8004_ff04, 0x0000_fffc,  // s_add_u32 s4, s4, 0xfffc
    0x8205_8005,               // s_addc_u32 s5, s5, 0
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const FROM_MEMORY_TO_ARGUMENT: &[u32] = &[
    0xc00a_0100, 0x0000_0000,  // s_load_dwordx4 s[4:7], s[0:1], 0x0
    0xc006_0202, 0x0000_0000,  // s_load_dwordx2 s[8:9], s[4:5], 0x0
    0x8088_0608,               // s_sub_u32 s8, s8, s6
    0x8289_0709,               // s_subb_u32 s9, s9, s7
    0x8008_0806,               // s_add_u32 s8, s6, s8
    0x8209_0907,               // s_addc_u32 s9, s7, s9
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xdc70_8000, 0x0008_0001,  // global_store_dword v1, v0, s[8:9]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const MOVING_BOUND: &[u32] = &[
    0xc00a_0100, 0x0000_0000,  // s_load_dwordx4 s[4:7], s[0:1], 0x0
    0xbe88_0080,               // s_mov_b32 s8, 0
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xc002_0243, 0x0000_0000,  // s_load_dword s9, s[6:7], 0x0
    0x8609_9f09,               // s_and_b32 s9, s9, 31
    0x8709_a009,               // s_or_b32 s9, s9, 32
    0x8004_8404,               // s_add_u32 s4, s4, 4
    0x8205_8005,               // s_addc_u32 s5, s5, 0
    0x8108_8108,               // s_add_i32 s8, s8, 1
    0xbf07_0908,               // s_cmp_lg_u32 s8, s9
    0xbf85_fff5,               // s_cbranch_scc1 L
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const LANES_LEAVE_THE_WAVE: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xbe88_017e,               // s_mov_b64 s[8:9], exec
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0x7e04_0284,               // v_mov_b32_e32 v2, 4
    0xbe87_0080,               // s_mov_b32 s7, 0
    0x7d92_0407,               // v_cmp_lt_u32_e32 vcc, s7, v2
    0x86fe_6a7e,               // s_and_b64 exec, exec, vcc
    0x8004_8404,               // s_add_u32 s4, s4, 4
    0x8205_8005,               // s_addc_u32 s5, s5, 0
    0x8107_8107,               // s_add_i32 s7, s7, 1
    0xbf07_9007,               // s_cmp_lg_u32 s7, 16
    0xbf85_fff9,               // s_cbranch_scc1 L
    0xbefe_0108,               // s_mov_b64 exec, s[8:9]
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const ALL_OF_THE_ACTIVE: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0x7e04_0280,               // v_mov_b32_e32 v2, 0
    0xbe88_017e,               // s_mov_b64 s[8:9], exec
    0x7d98_0088,               // v_cmp_gt_u32_e32 vcc, 8, v0
    0x86fe_6a7e,               // s_and_b64 exec, exec, vcc
    0x868a_c17e,               // s_and_b64 s[10:11], exec, -1
    0xbefe_0108,               // s_mov_b64 exec, s[8:9]
    0x89fe_0a7e,               // s_andn2_b64 exec, exec, s[10:11]
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const RUNTIME_HEAP: &[u32] = &[
    0xc006_0100, 0x0000_0008,  // s_load_dwordx2 s[4:5], s[0:1], 0x8
    0xc006_0182, 0x0000_0000,  // s_load_dwordx2 s[6:7], s[4:5], 0x0
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xdc70_8000, 0x0006_0001,  // global_store_dword v1, v0, s[6:7]
    0xc006_0203, 0x0000_0000,  // s_load_dwordx2 s[8:9], s[6:7], 0x0
    0xdc70_8000, 0x0008_0001,  // global_store_dword v1, v0, s[8:9]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const COMPARED_BY_NOBODY: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xc002_0180, 0x0000_0008,  // s_load_dword s6, s[0:1], 0x8
    0xbe88_017e,               // s_mov_b64 s[8:9], exec
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0x7e04_0285,               // v_mov_b32_e32 v2, 5
    0x7d98_0006,               // v_cmp_gt_u32_e32 vcc, s6, v0
    0xbe8a_206a,               // s_and_saveexec_b64 s[10:11], vcc
    0x7d9a_04bf,               // v_cmp_ne_u32_e32 vcc, 63, v2
    0x87fe_087e,               // s_or_b64 exec, exec, s[8:9]
    0xbf86_0001,               // s_cbranch_vccz E
    0xbf81_0000,               // s_endpgm
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
const ROWS: &[u32] = &[
    0xc006_0080, 0x0000_0000,  // s_load_dwordx2 s[2:3], s[0:1], 0x0
    0xc002_0100, 0x0000_0008,  // s_load_dword s4, s[0:1], 0x8
    0xbf06_8004,               // s_cmp_eq_u32 s4, 0
    0xbf85_000d,               // s_cbranch_scc1 E
    0x7e02_0300,               // v_mov_b32_e32 v1, v0
    0x7e04_0280,               // v_mov_b32_e32 v2, 0
    0xd28f_0004, 0x0002_0282,  // v_lshlrev_b64 v[4:5], 2, v[1:2]
    0x7e0c_0203,               // v_mov_b32_e32 v6, s3
    0x3208_0802,               // v_add_co_u32_e32 v4, vcc, s2, v4
    0x380a_0b06,               // v_addc_co_u32_e32 v5, vcc, v6, v5, vcc
    0xdc70_8000, 0x007f_0204,  // global_store_dword v[4:5], v2, off
    0x8104_c104,               // s_add_i32 s4, s4, -1
    0x6802_0281,               // v_add_u32_e32 v1, 1, v1
    0xbf06_8004,               // s_cmp_eq_u32 s4, 0
    0xbf84_fff5,               // s_cbranch_scc0 L
    0xbf81_0000,               // s_endpgm
];
