//! Packets, kernels and copies that are wrong: what the runtime hears, and when a program ends.

use super::device::{begun, inside};
use super::harness::{Ended, hip_program, run};

/// Submits with HSA alone; `cases` are those of the program.
fn submitted(cases: &[&str]) -> Ended {
    let program = hip_program("packets.cpp");
    let head = ["softgpu", "--", &program];
    run(head.into_iter().chain(cases.iter().copied()))
}

/// As ROCr's own negative tests have it, of which the first five are: the error, and a signal that nobody has touched.
#[test]
fn bad_packets_and_waves_are_errors_of_their_queue_alone() {
    const ERRORS: &[(&str, &str)] = &[
        ("dimensions", "INCOMPATIBLE_ARGUMENTS"),
        ("lds", "INVALID_ALLOCATION"),
        ("no_kernel", "INVALID_CODE_OBJECT"),
        ("type", "INVALID_PACKET_FORMAT"),
        ("group_x", "INVALID_ARGUMENT"),
        ("group_y", "INVALID_ARGUMENT"),
        ("group_z", "INVALID_ARGUMENT"),
        ("grid", "INCOMPATIBLE_ARGUMENTS"),
        ("empty_group", "INCOMPATIBLE_ARGUMENTS"),
        ("agent", "INVALID_PACKET_FORMAT"),
        ("vendor", "INVALID_PACKET_FORMAT"),
        ("condition", "INVALID_PACKET_FORMAT"),
        ("scratch", "OUT_OF_RESOURCES"),
        ("wide", "INVALID_ISA"),
        ("bad_instruction", "ILLEGAL_INSTRUCTION"),
        ("image", "ILLEGAL_INSTRUCTION"),
        ("trap", "EXCEPTION"),
        ("reserved_trap", "EXCEPTION"),
        ("beyond", "MEMORY_APERTURE_VIOLATION"),
    ];
    let cases = ERRORS.iter().map(|(case, _)| *case);
    let cases: Vec<&str> = cases.chain(["debug_trap", "good"]).collect();
    let ended = submitted(&cases).well();
    let mut expected = String::new();
    for (case, error) in ERRORS {
        expected += &format!("{case}: HSA_STATUS_ERROR_{error}, completion 1, word 6\n");
    }
    expected += "debug_trap: done, completion 0, word 7\ngood: done, completion 0, word 7\n";
    assert_eq!(ended.stdout, expected, "{}", ended.stderr);
    let said = "this GPU has no images and textures";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
}

#[test]
fn what_is_not_mapped_is_a_memory_fault_whoever_wants_it() {
    for case in [
        "kernel",
        "arguments",
        "signal",
        "dependency",
        "reads",
        "writes",
    ] {
        let ended = submitted(&[case]).well();
        let word = if case == "signal" { 7 } else { 6 };
        let expected = format!(
            "memory fault at 0x10000 reason 0x1\n{case}: a memory fault, completion 1, word {word}\n"
        );
        assert_eq!(ended.stdout, expected, "{}", ended.stderr);
    }
}

#[test]
fn what_only_this_gpu_cannot_do_ends_the_program_by_name() {
    let ended = submitted(&["unknown"]);
    assert_eq!((ended.code, &*ended.stdout), (Some(134), ""));
    assert!(ended.stderr.contains("v_mqsad_u32_u8"), "{}", ended.stderr);
}

#[test]
fn the_driver_s_exceptions_are_left_where_the_save_area_says() {
    inside(
        "exceptions::on_device::the_driver_s_exceptions_are_left_where_the_save_area_says",
        &[],
    );
}

#[test]
fn a_write_to_memory_that_kernels_may_only_read_is_told_from_one_to_nothing() {
    inside(
        "exceptions::on_device::a_write_to_memory_that_kernels_may_only_read_is_told_from_one_to_nothing",
        &[],
    );
}

/// The engine would hang, and the GPU be reset.
#[test]
fn a_packet_that_the_copy_engine_does_not_know_ends_the_program_by_name() {
    let ended = begun("exceptions::on_device::an_unknown_copy", &[]);
    assert_eq!(ended.code, Some(134), "{}", ended.stderr);
    let said = "SDMA packet 12.7";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
}

mod on_device {
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    use strobe_kfd::event::{
        CreateEvent, EventData, MEMORY, MemoryException, SIGNAL, WAIT_COMPLETE, WaitEvents,
    };
    use strobe_kfd::memory::{EXECUTABLE, GTT, WRITABLE};
    use strobe_kfd::queue::{COMPUTE_AQL, CreateQueue, MIN_RING_SIZE, SDMA};

    use super::super::device::{Bytes, Gpu, request};

    const VA: u64 = 0x10_0000_0000;
    const READ_ONLY: u64 = 2 * VA;
    /// Places in one buffer.
    const QUEUE: u64 = 0x1000;
    const WRITE: u64 = QUEUE + 56;
    const READ: u64 = QUEUE + 128;
    const DESCRIPTOR: u64 = 0x2000;
    const CODE: u64 = 0x2100;
    const PAYLOAD: u64 = 0x3000;
    const SAVE_AREA: u64 = 0x4000;
    const CONTROL_STACK_BYTES: u32 = 0x1000;
    const BYTES: u64 = 0x6000;

    /// A buffer for a queue of `kind`, and what is in it.
    fn buffer(gpu: &Gpu, words: &[(u64, u64)]) -> Bytes {
        let buffer = gpu.allocate(VA, BYTES, GTT | WRITABLE | EXECUTABLE);
        gpu.map(buffer.handle);
        let memory = Bytes::map(&gpu.render, buffer.mmap_offset, BYTES as usize);
        for (at, word) in words {
            memory.word(*at as usize).store(*word, Ordering::Release);
        }
        memory
    }

    /// Makes a queue of what is in the buffer; `rung` is where its doorbell points.
    fn submit(gpu: &Gpu, kind: u32, rung: u64) {
        let mut args = CreateQueue {
            ring_base_address: VA,
            write_pointer_address: VA + WRITE,
            read_pointer_address: VA + READ,
            ring_size: MIN_RING_SIZE,
            gpu_id: gpu.id,
            queue_type: kind,
            queue_percentage: 100,
            ctx_save_restore_address: VA + SAVE_AREA,
            ctx_save_restore_size: 0x2000,
            ctl_stack_size: CONTROL_STACK_BYTES,
            ..Default::default()
        };
        request(&gpu.kfd, &mut args).expect("create a queue");
        let page = args.doorbell_offset & !4095;
        let doorbells = Bytes::map(&gpu.kfd, page, 4096);
        let doorbell = (args.doorbell_offset - page) as usize;
        doorbells.word(doorbell).store(rung, Ordering::Release);
    }

    fn event(gpu: &Gpu, event_type: u32) -> u32 {
        let mut args = CreateEvent {
            event_type,
            auto_reset: 1,
            ..Default::default()
        };
        request(&gpu.kfd, &mut args).expect("create an event");
        args.event_id
    }

    /// What came with an event.
    fn wait(gpu: &Gpu, event_id: u32) -> MemoryException {
        let mut data = EventData {
            event_id,
            ..Default::default()
        };
        let mut args = WaitEvents {
            events_ptr: (&raw mut data) as u64,
            num_events: 1,
            timeout: 30_000,
            ..Default::default()
        };
        request(&gpu.kfd, &mut args).expect("wait");
        assert_eq!(args.wait_result, WAIT_COMPLETE);
        data.memory
    }

    /// A dispatch of `dimensions`, at the head of the ring.
    fn dispatch(dimensions: u64) -> [(u64, u64); 5] {
        [
            (0, 2 | dimensions << 16 | 64 << 32 | 1 << 48),
            (8, 1 | 64 << 32),
            (16, 1 | 1 << 32),
            (32, VA + DESCRIPTOR),
            (WRITE, 1),
        ]
    }

    #[test]
    #[ignore = "runs inside an environment"]
    fn the_driver_s_exceptions_are_left_where_the_save_area_says() {
        /// `EC_QUEUE_PACKET_DISPATCH_DIM_INVALID`.
        const DIMENSIONS: u64 = 1 << 15;
        let gpu = Gpu::acquired();
        let id = event(&gpu, SIGNAL);
        let header = [
            (SAVE_AREA + 24, VA + PAYLOAD),
            (SAVE_AREA + 32, u64::from(id)),
        ];
        let memory = buffer(&gpu, &[&header[..], &dispatch(0)].concat());
        submit(&gpu, COMPUTE_AQL, 0);
        wait(&gpu, id);
        let payload = memory.word(PAYLOAD as usize).load(Ordering::Acquire);
        assert_eq!(payload, DIMENSIONS);
        let executed = memory.word(READ as usize).load(Ordering::Acquire);
        assert_eq!(executed, 0, "the packet was consumed");
    }

    #[test]
    #[ignore = "runs inside an environment"]
    fn a_write_to_memory_that_kernels_may_only_read_is_told_from_one_to_nothing() {
        /// global_store_dword v[2:3], v1, off; v[2:3] is [`READ_ONLY`].
        const STORE: [u64; 3] = [
            0x7e06_02a0_7e04_0280, // v_mov_b32 v2, 0; v_mov_b32 v3, 32
            0x007f_0102_dc70_8000,
            0xbf81_0000, // s_endpgm
        ];
        let gpu = Gpu::acquired();
        let id = event(&gpu, MEMORY);
        let target = gpu.allocate(READ_ONLY, 4096, GTT);
        gpu.map(target.handle);
        let code = [
            (DESCRIPTOR + 16, CODE - DESCRIPTOR),
            (DESCRIPTOR + 48, 0xc0 << 12),
            (CODE, STORE[0]),
            (CODE + 8, STORE[1]),
            (CODE + 16, STORE[2]),
        ];
        let _memory = buffer(&gpu, &[&code[..], &dispatch(1)].concat());
        submit(&gpu, COMPUTE_AQL, 0);
        let fault = wait(&gpu, id);
        assert_eq!((fault.va, fault.gpu_id), (READ_ONLY, gpu.id));
        assert_eq!((fault.not_present, fault.read_only), (0, 1));
    }

    #[test]
    #[ignore = "runs inside an environment"]
    fn an_unknown_copy() {
        let gpu = Gpu::acquired();
        let _memory = buffer(&gpu, &[(0, 0x070c), (WRITE, 4)]);
        submit(&gpu, SDMA, 4);
        std::thread::sleep(Duration::from_secs(30));
        panic!("the program goes on");
    }
}
