//! Hand-made machine code, one rule each; the text beside the words is LLVM's.
//!
//! Kernels get the kernarg pointer in `s[0:1]`, the work-group id in `s2`, the work-item id in `v0`.

#![allow(
    clippy::single_range_in_vec_init,
    reason = "lists of ranges that happen to have one element"
)]

#[path = "words/buffers.rs"]
mod buffers;
#[path = "words/cdna.rs"]
mod cdna;
#[path = "words/code.rs"]
mod code;
#[path = "words/divisions.rs"]
mod divisions;
#[path = "../../code-object/tests/elf/mod.rs"]
mod elf;
#[path = "words/guards.rs"]
mod guards;
#[path = "words/lanes.rs"]
mod lanes;
#[path = "words/sums.rs"]
mod sums;
#[path = "words/triangles.rs"]
mod triangles;
#[path = "words/vacant.rs"]
mod vacant;

use code::*;
use elf::KernelSource;
use guards::*;

use strobe_code_object::CodeObject;
use strobe_extent::{Access, Extent, ExtentSet, Reason, Side};
use strobe_footprint::{
    AnalysisLimits, KernelFootprint, Launch, LaunchMemo, LaunchMemory, SideSummary, analyse,
};
use strobe_isa::Target;

const A: u64 = 0x7f00_0000_0000;
const B: u64 = 0x7f00_1000_0000;
const SIZE: u64 = 4096;

/// Buffers of 4 KiB at the given addresses.
struct Device<'a> {
    buffers: &'a [u64],
    content: Option<(u64, Vec<u8>)>,
}

impl LaunchMemory for Device<'_> {
    fn allocation(&self, addr: u64) -> Option<Extent> {
        let start = *self
            .buffers
            .iter()
            .find(|start| (**start..**start + SIZE).contains(&addr))?;
        Extent::with_len(start, SIZE).ok()
    }

    fn is_allocated(&self, extent: Extent) -> bool {
        let buffers = self.buffers.iter();
        let mut extents = buffers.filter_map(|start| Extent::with_len(*start, SIZE).ok());
        extents.any(|buffer| buffer.overlaps(extent))
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
    footprint_of(KernelSource::new("kernel", code).args(&[(0, 8, "global_buffer")]))
}

fn footprint_of(kernel: KernelSource) -> KernelFootprint {
    let bytes = elf::write(&[kernel], &[0; 64], false);
    let object =
        CodeObject::parse(&bytes, &strobe_code_object::ObjectLimits::default()).expect("an object");
    analyse(&object, &object.kernels[0], &AnalysisLimits::default())
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
    launch(&footprint(code), kernarg, device)
}

fn launch(footprint: &KernelFootprint, kernarg: &[u64], device: &Device<'_>) -> Access {
    let kernarg: Vec<u8> = kernarg.iter().flat_map(|word| word.to_le_bytes()).collect();
    let launch = Launch {
        kernarg: &kernarg,
        grid: [64, 1, 1],
        block: [64, 1, 1],
        dynamic_lds: 0,
    };
    let access = footprint.evaluate(&launch, device);
    let mut memo = LaunchMemo::new(1 << 20);
    for time in ["first", "second"] {
        let again = memo.evaluate(footprint, &launch, device);
        assert_eq!(*again, access, "{time}");
    }
    access
}

fn run_of(range: std::ops::Range<u64>) -> Side {
    bytes(std::slice::from_ref(&range))
}

fn bytes(ranges: &[std::ops::Range<u64>]) -> Side {
    let extents = ranges
        .iter()
        .map(|range| Extent::new(range.start, range.end).expect("a range"));
    extents.collect::<ExtentSet>().into()
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

/// The carry is added to the high halves in the other order than the low ones were.
#[test]
fn halves_that_are_added_crosswise_are_one_address() {
    let access = run_with_hidden(HALVES_CROSSED, "hidden_printf_buffer");
    assert_eq!(access.writes, Side::none());
}

#[test]
fn an_address_that_leaves_the_buffer_is_where_it_goes() {
    assert_eq!(run(BEFORE, &[A + 16]).writes, run_of(A..A + 256));
    assert_eq!(
        run(BEFORE, &[A + 12]).writes,
        run_of(A - 4..A + 252),
        "4 bytes before it"
    );
}

/// A pointer between two buffers may mean either, when it is not known how far the index goes.
#[test]
fn a_pointer_behind_a_buffer_may_belong_to_it() {
    let device = Device {
        buffers: &[A, A + SIZE],
        content: None,
    };
    let both = run_of(A..A + 2 * SIZE);
    assert_eq!(
        run_on(BEFORE, &[A + SIZE + 4], &device).writes,
        run_of(A + SIZE - 12..A + SIZE + 244)
    );
    assert_eq!(run_on(WRAP, &[A + SIZE], &device).writes, both);
    let device = Device {
        buffers: &[A],
        content: None,
    };
    assert_eq!(run_on(WRAP, &[A + SIZE], &device).writes, run_of(whole(A)));
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

#[test]
fn without_an_evaluation_it_is_all_that_pointers_point_into_or_nothing_is_known() {
    let writes = |code, kernarg: &[u64]| {
        let kernarg: Vec<u8> = kernarg.iter().flat_map(|word| word.to_le_bytes()).collect();
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
        footprint(code).by_pointers(&launch, &device).writes
    };
    assert_eq!(writes(STORE, &[A + 64]), run_of(whole(A)));
    assert!(
        writes(STORE, &[0]).is_unknown(),
        "what is added to null may be a pointer"
    );
    assert!(
        writes(DIFFERENCE, &[A + 64, A, B]).is_unknown(),
        "one that leads from a pointer to another"
    );
    let distance = [A, B - A];
    assert_eq!(run(DISTANCE, &distance).writes, run_of(B..B + 4));
    assert!(
        writes(DISTANCE, &distance).is_unknown(),
        "a number that leads to another"
    );
    assert_eq!(run(OTHER_LOW_HALF, &[A, B]).writes, run_of(B..B + 4));
    assert!(
        writes(OTHER_LOW_HALF, &[A, B]).is_unknown(),
        "another pointer with the same high half"
    );
    assert!(writes(ARGUMENT_TABLE, &[A, B]).is_unknown());
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

/// A launch of a kernel whose second argument is the runtime's, with A for the first and B for that.
fn run_with_hidden(code: &[u32], kind: &'static str) -> Access {
    let kernel = KernelSource::new("kernel", code).args(&[(0, 8, "global_buffer"), (8, 8, kind)]);
    let file = elf::write(&[kernel], &[0; 64], false);
    let object =
        CodeObject::parse(&file, &strobe_code_object::ObjectLimits::default()).expect("an object");
    let kernarg: Vec<u8> = [A, B].iter().flat_map(|word| word.to_le_bytes()).collect();
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
    analyse(&object, &object.kernels[0], &AnalysisLimits::default()).evaluate(&launch, &device)
}

/// What the runtime keeps for a program (its device heap) may hold the program's pointers.
#[test]
fn pointers_from_the_runtimes_memory_are_unknown() {
    let access = run_with_hidden(RUNTIME_HEAP, "hidden_heap_v1");
    assert!(access.writes.is_unknown(), "got {}", access.writes);
}

/// Whatever the program has passed in the place of the runtime's buffer.
#[test]
fn a_host_call_writes_memory_of_the_runtime_alone() {
    let access = run_with_hidden(HOST_CALL, "hidden_hostcall_buffer");
    assert_eq!(access.writes, run_of(A..A + 4));
    assert_eq!(access.reads, Side::none());
}

/// The same code on what may hold pointers of the program.
#[test]
fn other_memory_of_the_runtime_is_not_laid_out_like_that() {
    for kind in ["hidden_heap_v1", "by_value", "global_buffer"] {
        let access = run_with_hidden(HOST_CALL, kind);
        assert!(access.writes.is_unknown(), "{kind}: {}", access.writes);
    }
}

#[test]
fn an_address_that_the_host_has_answered_may_lead_anywhere() {
    let access = run_with_hidden(HOST_ANSWER, "hidden_hostcall_buffer");
    assert!(access.writes.is_unknown(), "got {}", access.writes);
}

#[test]
fn who_changes_the_runtimes_pointers_may_touch_anything() {
    let access = run_with_hidden(HOST_POINTER_CHANGED, "hidden_hostcall_buffer");
    assert!(access.writes.is_unknown() && access.reads.is_unknown());
}

#[test]
fn the_buffer_of_printf_is_written_and_no_pointer_is_read_there() {
    let printed = run_with_hidden(PRINTED, "hidden_printf_buffer");
    assert_eq!(printed.writes, Side::none());
    let access = run_with_hidden(PRINTED_POINTER, "hidden_printf_buffer");
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

/// After an if and its else all lanes are active again, so that the first one's word is one of theirs.
#[test]
fn an_if_and_its_else_make_up_what_was_there_before() {
    let access = run(IF_ELSE_FIRST_LANE, &[A, B]);
    let each = bytes(&[32, 64].map(|at| A + at..A + at + 4));
    assert!(access.writes.contains_side(&each) && each.contains_side(&access.writes));
    let access = run(ONE_HALF_FIRST_LANE, &[A, B]);
    assert!(access.writes.contains(Extent::new(B, B + 4).unwrap()));
}

#[test]
fn a_loop_whose_lanes_are_all_back_has_a_first_one_in_each_round() {
    let access = run(LOOP_WITH_LANES, &[A]);
    assert_eq!(access.writes, run_of(A..A + 16));
}

/// With no lane left, lane 0 is read, which has never come to the loop.
#[test]
fn a_loop_that_goes_on_without_lanes_reads_lane_0() {
    let access = run(LOOP_THAT_RUNS_EMPTY, &[A, B]);
    assert!(access.writes.contains(Extent::new(B, B + 4).unwrap()));
}

#[test]
fn lanes_that_have_left_a_loop_are_all_in_its_mask() {
    assert_eq!(run(LANES_THAT_LEFT, &[A]).writes, run_of(A..A + 4));
}

/// The function's address stays in its registers, as the loop shows when it goes round.
#[test]
fn a_function_called_in_a_loop_is_known() {
    assert_eq!(run(CALLS_IN_A_LOOP, &[A]).writes, run_of(A..A + 4));
    let mut changed = CALLS_IN_A_LOOP.to_vec();
    // s_sub_u32 s12, s12, 1 becomes s_sub_u32 s10, s12, 1
    let at = changed.iter().position(|word| *word == 0x808c_810c);
    changed[at.expect("the counter")] = 0x808a_810c;
    assert!(run(&changed, &[A]).writes.is_unknown());
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

/// Items store 16 bytes each; compared is twice the item and 1.
#[test]
fn a_bound_on_a_sum_bounds_its_terms() {
    assert_eq!(run(TERM_GUARDED, &[A, 10]).writes, run_of(A..A + 80));
    assert_eq!(run(TERM_GUARDED, &[A, 1]).writes, Side::none());
    let all = run_of(A..A + 1024);
    assert_eq!(run(TERM_GUARDED, &[A, 1000]).writes, all);
    // Items 0 and 32: the product wraps.
    let access = run(WRAPPED_TERM_GUARDED, &[A, 16]);
    let last = Extent::new(A + 512, A + 528).expect("a range");
    assert!(access.writes.contains(last), "got {}", access.writes);
}

/// A word that nobody knows decides; where it brings no lanes, it does not matter what else it brings.
#[test]
fn where_a_mask_is_empty_nothing_comes_from() {
    assert_eq!(run(CHOSEN_WITH_MASK, &[A]).writes, run_of(A + 16..A + 20));
    assert_eq!(run(CHOSEN_BY_LANES, &[A]).writes, run_of(A..A + 20));
    let other = Extent::with_len(A + 2048, 4).expect("a range");
    for code in [CHOSEN_AND_MORE_LANES, CHOSEN_BY_SOME_LANES] {
        let writes = run(code, &[A]).writes;
        assert!(writes.contains(other), "{writes}");
    }
}

/// What one row does not hold between its end and the next is not written.
#[test]
fn a_part_of_a_matrix_is_rows_with_room_between_them() {
    let part = |columns: u64, width: u64| run(TILE, &[A, width << 32 | columns]).writes;
    let rows = |length: u64, width: u64| {
        let row = |row: u64| A + 4 * row * width;
        let rows: Vec<_> = (0..8).map(|at| row(at)..row(at) + 4 * length).collect();
        bytes(&rows)
    };
    for (columns, length) in [(5, 5), (8, 8), (100, 8)] {
        let writes = part(columns, 20);
        let known = writes.known().expect("it is known");
        assert_eq!(known.patterns().len(), 1, "{writes}");
        assert!(writes.contains_side(&rows(length, 20)), "{writes}");
        assert!(rows(length, 20).contains_side(&writes), "{writes}");
    }
    assert_eq!(part(100, 8), run_of(A..A + 256));
    assert_eq!(part(0, 20), Side::none());
    let beyond = part(8, 1000);
    assert!(beyond.contains_side(&rows(8, 1000)), "{beyond}");
    assert!(rows(8, 1000).contains_side(&beyond), "{beyond}");
}

/// The second store is reached with and without the first, under the same condition.
#[test]
fn what_holds_on_all_ways_holds_where_they_meet() {
    assert_eq!(run(GUARDED_EITHER_WAY, &[A, 80]).writes, run_of(A..A + 320));
    assert_eq!(run(GUARDED_EITHER_WAY, &[A, 64]).writes, run_of(A..A + 256));
}

#[test]
fn loops_end_where_their_condition_says() {
    assert_eq!(run(LOOP, &[A, 10]).writes, run_of(A..A + 40));
    // Counting up from 0 until equal to 0 goes round all words.
    assert_eq!(run(LOOP, &[A, 0]).writes, run_of(whole(A)));
    // The bound leaves the buffer, and so may the loop.
    assert_eq!(run(LOOP, &[A, 1 << 20]).writes, run_of(A..A + (4 << 20)));
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

/// What a kernel may itself write says nothing: all is then as if nobody had known it.
#[test]
fn an_index_that_the_kernel_may_write_over_is_not_known() {
    let with = |index: u32| {
        let content = Some((A, index.to_le_bytes().to_vec()));
        let buffers = &[A, B];
        run_on(LOADED_INDEX, &[A], &Device { buffers, content }).writes
    };
    assert_eq!(with(2), run_of(A + 8..A + 12));
    assert_eq!(with(0), run_of(whole(A)));
    assert_eq!(run(LOADED_INDEX, &[A]).writes, run_of(whole(A)));
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
        CodeObject::parse(&file, &strobe_code_object::ObjectLimits::default()).expect("an object");
    let launch = Launch {
        kernarg: &[],
        grid: [1; 3],
        block: [1; 3],
        dynamic_lds: 0,
    };
    let device = Device {
        buffers: &[],
        content: None,
    };
    let all = AnalysisLimits::default();
    for limits in [
        AnalysisLimits {
            instructions: 3,
            ..all
        },
        AnalysisLimits {
            expressions: 3,
            ..all
        },
        AnalysisLimits { steps: 300, ..all },
    ] {
        let footprint = analyse(&object, &object.kernels[0], &limits);
        let access = footprint.evaluate(&launch, &device);
        assert_eq!(access, Access::unknown(Reason::Budget), "{limits:?}");
    }
}

/// Branches too long for their instruction.
#[test]
fn a_jump_to_one_address_of_the_image_is_a_branch() {
    assert_eq!(run(JUMP, &[A]).writes, run_of(A..A + 256));
    // Eight rounds of a loop, by lanes of one word each.
    assert_eq!(run(JUMP_BACK, &[A]).writes, run_of(A..A + 32));
}

/// Only with the first target in the graph does the second one show.
#[test]
fn a_jump_that_leads_elsewhere_the_second_time_is_unknown() {
    let access = run(JUMP_TWO_WAYS, &[A]);
    assert_eq!(access, Access::unknown(Reason::UnresolvedCall));
}

#[test]
fn a_call_relative_to_the_program_counter_is_followed() {
    assert_eq!(run(CALLED, &[A]).writes, run_of(A..A + 256));
}

#[test]
fn nothing_follows_a_trap_that_gives_up_or_a_call_that_does_not_return() {
    assert_eq!(run(GIVES_UP, &[A, 0]).writes, run_of(A..A + 256));
    assert_eq!(run(NEVER_RETURNS, &[A, 0]).writes, run_of(A..A + 256));
    // A debug trap goes on, and a wave without lanes does.
    let trap = GIVES_UP.iter().position(|&word| word == 0xbf92_0002);
    let mut debug = GIVES_UP.to_vec();
    debug[trap.expect("a trap")] = 0xbf92_0003;
    let no_code = Access::unknown(Reason::Other("code that cannot be decoded"));
    assert_eq!(run(&debug, &[A, 1]), no_code);
    assert_eq!(run(NOBODY_RUNS_ON, &[]), no_code);
}

/// Registers that nothing is put into hold nothing that a program can mean; those that the descriptor asks for do.
#[test]
fn scalars_that_nobody_sets_have_no_value() {
    let writes = |user_registers: u32| {
        let mut kernel = KernelSource::new("kernel", UNSET).args(&[(0, 8, "global_buffer")]);
        kernel.rsrc2 = user_registers << 1 | 1 << 7;
        let file = elf::write(&[kernel], &[0; 64], false);
        let object = CodeObject::parse(&file, &strobe_code_object::ObjectLimits::default());
        let object = object.expect("an object");
        analyse(&object, &object.kernels[0], &AnalysisLimits::default())
            .summary()
            .writes
    };
    assert!(matches!(writes(2), SideSummary::Args(_)), "{:?}", writes(2));
    assert_eq!(writes(8), SideSummary::Unknown(Reason::UntrackedAddress));
}

#[test]
fn metadata_adds_what_the_code_does_not_show() {
    let mut kernel = KernelSource::new("kernel", STORE)
        .args(&[(0, 8, "global_buffer"), (8, 8, "global_buffer")]);
    kernel.access = vec!["read_only", "write_only"];
    let file = elf::write(&[kernel], &[0; 64], false);
    let object =
        CodeObject::parse(&file, &strobe_code_object::ObjectLimits::default()).expect("an object");
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
        analyse(&object, &object.kernels[0], &AnalysisLimits::default()).evaluate(&launch, &device);
    assert_eq!(access.writes, bytes(&[A..A + 256, whole(B)]));
    assert_eq!(access.reads, run_of(whole(A)));
}

/// A compiler that takes a body for unreachable leaves nothing of it, and a launch runs on.
#[test]
fn a_kernel_without_an_instruction_is_what_comes_next() {
    let mut empty = KernelSource::new("empty", &[]).args(&[(0, 8, "global_buffer")]);
    let stores = || KernelSource::new("stores", STORE).args(&[(0, 8, "global_buffer")]);
    let summary = |kernels: &[KernelSource], index: usize| {
        let file = elf::write(kernels, &[0; 64], false);
        let object = CodeObject::parse(&file, &strobe_code_object::ObjectLimits::default());
        let object = object.expect("an object");
        analyse(&object, &object.kernels[index], &AnalysisLimits::default()).summary()
    };
    empty.symbol_size = Some(0);
    let before = summary(&[empty, stores()], 0);
    assert!(matches!(before.writes, SideSummary::Args(_)), "{before:?}");
    let mut empty = KernelSource::new("empty", &[]);
    empty.symbol_size = Some(0);
    // Nothing comes next; the other kernel is what it is all the same.
    let last = [stores(), empty];
    let SideSummary::Unknown(_) = summary(&last, 1).writes else {
        panic!("{:?}", summary(&last, 1));
    };
    assert!(matches!(summary(&last, 0).writes, SideSummary::Args(_)));
}

/// What is not known is everything, and says for whom it was meant.
#[test]
fn code_for_another_target_is_unknown_by_name() {
    /// Offset of `e_flags`, whose low byte is the machine.
    const MACHINE: usize = 48;
    let kernel = KernelSource::new("kernel", STORE).args(&[(0, 8, "global_buffer")]);
    let mut file = elf::write(&[kernel], &[0; 64], false);
    let mut writes = |machine: u8| {
        file[MACHINE] = machine;
        let object = CodeObject::parse(&file, &strobe_code_object::ObjectLimits::default());
        let object = object.expect("an object");
        analyse(&object, &object.kernels[0], &AnalysisLimits::default())
            .summary()
            .writes
    };
    for target in Target::ALL {
        let side = writes(target.machine);
        assert!(matches!(side, SideSummary::Args(_)), "{target}: {side:?}");
    }
    let gfx1030 = SideSummary::Unknown(Reason::Target("gfx1030"));
    assert_eq!(writes(0x36), gfx1030);
    let unknown = SideSummary::Unknown(Reason::Target("an unknown processor"));
    assert_eq!(writes(0xfe), unknown);
    assert_eq!(
        Reason::Target("gfx1030").to_string(),
        "code for gfx1030, which is not analysed"
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
