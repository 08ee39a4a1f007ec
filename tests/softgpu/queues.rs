//! Compute queues: packets, doorbells, and queues that go away while a kernel runs.

use super::device::inside;

#[test]
fn a_destroyed_queue_takes_its_endless_kernel_with_it() {
    inside(
        "queues::on_device::a_destroyed_queue_takes_its_endless_kernel_with_it",
        &[],
    );
}

#[test]
fn a_queue_that_was_destroyed_at_once_never_runs() {
    inside(
        "queues::on_device::a_queue_that_was_destroyed_at_once_never_runs",
        &[],
    );
}

#[test]
fn an_older_doorbell_that_comes_last_hides_no_packet() {
    inside(
        "queues::on_device::an_older_doorbell_that_comes_last_hides_no_packet",
        &[],
    );
}

#[test]
fn a_queue_without_a_share_executes_nothing_until_it_has_one_again() {
    inside(
        "queues::on_device::a_queue_without_a_share_executes_nothing_until_it_has_one_again",
        &[],
    );
}

#[test]
fn a_kernel_of_a_queue_without_a_share_is_held_where_it_is() {
    inside(
        "queues::on_device::a_kernel_of_a_queue_without_a_share_is_held_where_it_is",
        &[],
    );
}

#[test]
fn a_kernel_is_evicted_with_its_process_and_goes_on_where_it_was() {
    inside(
        "queues::on_device::a_kernel_is_evicted_with_its_process_and_goes_on_where_it_was",
        &[],
    );
}

#[test]
fn a_kernel_that_cannot_be_saved_is_not_stopped() {
    inside(
        "queues::on_device::a_kernel_that_cannot_be_saved_is_not_stopped",
        &[],
    );
}

mod on_device {
    use std::os::fd::AsFd;
    use std::sync::atomic::Ordering;
    use std::time::{Duration, Instant};

    use nix::time::{ClockId, clock_gettime};
    use strobe_kfd::client::compute;
    use strobe_kfd::memory::{EXECUTABLE, GTT, WRITABLE};
    use strobe_kfd::queue::{COMPUTE_AQL, CreateQueue, DestroyQueue, UpdateQueue};

    use super::super::device::{Bytes, Gpu, errno, request};

    const VA: u64 = 0x10_0000_0000;
    const RING_BYTES: u32 = 4096;
    /// Places in one buffer.
    const QUEUE: u64 = 0x1000;
    const WRITE: u64 = QUEUE + 56;
    const READ: u64 = QUEUE + 128;
    const DESCRIPTOR: u64 = 0x2000;
    const CODE: u64 = 0x2100;
    const COUNTER: u64 = 0x2800;
    const SAVE_AREA: u64 = 0x4000;
    const CONTROL_STACK_BYTES: u32 = 0x1000;
    const SAVE_AREA_BYTES: u32 = CONTROL_STACK_BYTES + 0x4000;
    const BYTES: u64 = SAVE_AREA + SAVE_AREA_BYTES as u64;

    /// As compilers set it: subnormals of 16 and 64 bits are kept.
    const FLOAT_MODE: u64 = 0xc0;
    const S_ENDPGM: &[u32] = &[0xbf81_0000];
    /// Counts at [`COUNTER`] for ever.
    const COUNT: &[u32] = &[
        0xbe80_1c00, // s_getpc_b64 s[0:1]
        0x8000_ff00,
        (COUNTER - CODE - 4) as u32, // s_add_u32 s0, s0, COUNTER - here
        0x7e04_0200,                 // v_mov_b32 v2, s0
        0x7e06_0201,                 // v_mov_b32 v3, s1
        0x6802_0281,                 // v_add_u32 v1, 1, v1
        0xdc70_8000,
        0x007f_0102, // global_store_dword v[2:3], v1, off
        0xbf82_fffc, // s_branch back to the addition
    ];

    /// A queue whose packets run `code` on one wave each.
    struct Launch<'a> {
        gpu: &'a Gpu,
        va: u64,
        memory: Bytes,
        doorbells: Bytes,
        doorbell: usize,
        handle: u64,
        queue: u32,
    }

    impl<'a> Launch<'a> {
        fn new(gpu: &'a Gpu, va: u64, code: &[u32]) -> Self {
            Self::of_packets(gpu, va, code, 1, SAVE_AREA_BYTES)
        }

        /// Rings for the first packet last.
        fn of_packets(gpu: &'a Gpu, va: u64, code: &[u32], packets: u64, save_area: u32) -> Self {
            let buffer = gpu.allocate(va, BYTES, GTT | WRITABLE | EXECUTABLE);
            gpu.map(buffer.handle);
            let memory = Bytes::map(&gpu.render, buffer.mmap_offset, BYTES as usize);
            let put =
                |at: u64, value: u64| memory.word(at as usize).store(value, Ordering::Relaxed);
            // The kernel's entry, relative to its descriptor.
            put(DESCRIPTOR + 16, CODE - DESCRIPTOR);
            put(DESCRIPTOR + 48, FLOAT_MODE << 12);
            for (at, pair) in (CODE..).step_by(8).zip(code.chunks(2)) {
                let high = pair.get(1).map_or(0, |word| u64::from(*word) << 32);
                put(at, u64::from(pair[0]) | high);
            }
            for index in 0..packets {
                write_packet(&memory, va, index);
            }
            put(WRITE, packets);
            let mut args = CreateQueue {
                ring_base_address: va,
                write_pointer_address: va + WRITE,
                read_pointer_address: va + READ,
                ring_size: RING_BYTES,
                gpu_id: gpu.id,
                queue_type: COMPUTE_AQL,
                queue_percentage: 100,
                ctx_save_restore_address: va + SAVE_AREA,
                ctx_save_restore_size: save_area,
                ctl_stack_size: CONTROL_STACK_BYTES.min(save_area),
                ..Default::default()
            };
            request(&gpu.kfd, &mut args).expect("create a queue");
            let page = args.doorbell_offset & !4095;
            let doorbells = Bytes::map(&gpu.kfd, page, 4096);
            let doorbell = (args.doorbell_offset - page) as usize;
            for index in (0..packets).rev() {
                doorbells.word(doorbell).store(index, Ordering::Release);
            }
            Self {
                gpu,
                va,
                memory,
                doorbells,
                doorbell,
                handle: buffer.handle,
                queue: args.queue_id,
            }
        }

        fn executed(&self) -> u64 {
            self.memory.word(READ as usize).load(Ordering::Acquire)
        }

        /// Submits one more packet.
        fn again(&self) {
            let index = self.memory.word(WRITE as usize).load(Ordering::Relaxed);
            write_packet(&self.memory, self.va, index);
            self.memory
                .word(WRITE as usize)
                .store(index + 1, Ordering::Release);
            self.doorbells
                .word(self.doorbell)
                .store(index, Ordering::Release);
        }

        fn percentage(&self, percentage: u32) -> UpdateQueue {
            UpdateQueue {
                queue_id: self.queue,
                queue_percentage: percentage,
                ..Default::default()
            }
        }

        fn set_percentage(&self, percentage: u32) {
            request(&self.gpu.kfd, &mut self.percentage(percentage)).expect("update");
        }

        /// Whether its kernel counts on.
        fn counts(&self) -> bool {
            let counted = self.counted();
            std::thread::sleep(Duration::from_millis(20));
            self.counted() != counted
        }

        fn counted(&self) -> u64 {
            self.memory.word(COUNTER as usize).load(Ordering::Acquire)
        }

        fn destroy(&self) {
            let mut args = DestroyQueue {
                queue_id: self.queue,
                pad: 0,
            };
            request(&self.gpu.kfd, &mut args).expect("destroy");
        }
    }

    /// A KERNEL_DISPATCH of one dimension: 64 work-items in one workgroup.
    fn write_packet(memory: &Bytes, va: u64, index: u64) {
        let put = |at: u64, value: u64| {
            let word = memory.word((index * 64 + at) as usize);
            word.store(value, Ordering::Release);
        };
        put(8, 1 | 64 << 32);
        put(16, 1 | 1 << 32);
        put(32, va + DESCRIPTOR);
        put(0, 2 | 1 << 16 | 64 << 32 | 1 << 48);
    }

    impl Drop for Launch<'_> {
        fn drop(&mut self) {
            self.gpu.free(self.handle);
        }
    }

    fn cpu_time() -> Duration {
        clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)
            .expect("a clock")
            .into()
    }

    fn wait_until(what: &str, holds: impl Fn() -> bool) {
        let start = Instant::now();
        while !holds() {
            assert!(start.elapsed() < Duration::from_secs(30), "never {what}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    #[ignore = "runs inside an environment"]
    fn a_destroyed_queue_takes_its_endless_kernel_with_it() {
        let gpu = Gpu::acquired();
        let endless = Launch::new(&gpu, VA, COUNT);
        wait_until("counting", || endless.counted() > 0);
        let start = Instant::now();
        endless.destroy();
        assert!(start.elapsed() < Duration::from_secs(5), "it hangs");
        assert_eq!(endless.executed(), 0, "an endless kernel ended");
        assert!(!endless.counts(), "a wave is resident on no queue");

        // Idle threads look for work now and then: a small part of one core.
        let (start, before) = (Instant::now(), cpu_time());
        std::thread::sleep(Duration::from_millis(500));
        let spent = cpu_time().saturating_sub(before);
        assert!(
            spent < start.elapsed() / 4,
            "{spent:?} of CPU in {:?} of rest",
            start.elapsed()
        );

        // The next queue gets the same doorbell, and nothing of the former's end.
        let next = Launch::new(&gpu, 2 * VA, S_ENDPGM);
        wait_until("executed", || next.executed() == 1);
        next.destroy();
    }

    #[test]
    #[ignore = "runs inside an environment"]
    fn a_queue_without_a_share_executes_nothing_until_it_has_one_again() {
        let gpu = Gpu::acquired();
        let launch = Launch::new(&gpu, VA, S_ENDPGM);
        wait_until("executed", || launch.executed() == 1);
        for round in 1..20 {
            launch.set_percentage(0);
            launch.again();
            std::thread::sleep(Duration::from_millis(5));
            assert_eq!(launch.executed(), round, "executed without a share");
            launch.set_percentage(100);
            wait_until("executed", || launch.executed() == round + 1);
        }
        launch.destroy();
    }

    #[test]
    #[ignore = "runs inside an environment"]
    fn a_kernel_of_a_queue_without_a_share_is_held_where_it_is() {
        let gpu = Gpu::acquired();
        let launch = Launch::new(&gpu, VA, COUNT);
        wait_until("counting", || launch.counted() > 0);
        for _ in 0..3 {
            launch.set_percentage(0);
            let counted = launch.counted();
            assert!(!launch.counts(), "it goes on");
            assert_eq!(launch.counted(), counted, "it goes on");
            launch.set_percentage(100);
            wait_until("going on", || launch.counted() > counted);
        }
        launch.set_percentage(0);
        launch.destroy();
        assert_eq!(launch.executed(), 0, "an endless kernel ended");
        // The next queue gets the same doorbell, and is not held.
        let next = Launch::new(&gpu, 2 * VA, S_ENDPGM);
        wait_until("executed", || next.executed() == 1);
        next.destroy();
    }

    /// As when two threads submit to one queue.
    #[test]
    #[ignore = "runs inside an environment"]
    fn an_older_doorbell_that_comes_last_hides_no_packet() {
        let gpu = Gpu::acquired();
        let launch = Launch::of_packets(&gpu, VA, S_ENDPGM, 5, 0);
        wait_until("executed", || launch.executed() == 5);
        launch.destroy();
    }

    #[test]
    #[ignore = "runs inside an environment"]
    fn a_queue_that_was_destroyed_at_once_never_runs() {
        let gpu = Gpu::acquired();
        for _ in 0..200 {
            let launch = Launch::new(&gpu, VA, S_ENDPGM);
            launch.destroy();
            let executed = launch.executed();
            std::thread::sleep(Duration::from_micros(300));
            assert_eq!(launch.executed(), executed, "executed after its end");
        }
        compute::process_info(gpu.kfd.as_fd()).expect("nothing is resident");
        compute::unpause(gpu.kfd.as_fd()).expect("unpause");
    }

    #[test]
    #[ignore = "runs inside an environment"]
    fn a_kernel_is_evicted_with_its_process_and_goes_on_where_it_was() {
        let gpu = Gpu::acquired();
        let launch = Launch::new(&gpu, VA, COUNT);
        wait_until("counting", || launch.counted() > 0);
        for _ in 0..50 {
            compute::process_info(gpu.kfd.as_fd()).expect("it lets go");
            let counted = launch.counted();
            assert!(!launch.counts(), "it goes on");
            // A reason more, and one less.
            launch.set_percentage(0);
            compute::unpause(gpu.kfd.as_fd()).expect("unpause");
            assert!(!launch.counts(), "it goes on without a share");
            launch.set_percentage(100);
            // What it had counted was in a register.
            wait_until("going on", || launch.counted() > counted);
        }
        // Its queue goes while it is evicted.
        compute::process_info(gpu.kfd.as_fd()).expect("it lets go");
        launch.destroy();
        compute::unpause(gpu.kfd.as_fd()).expect("unpause");
        assert_eq!(launch.executed(), 0, "an endless kernel ended");
        let next = Launch::new(&gpu, 2 * VA, S_ENDPGM);
        wait_until("executed", || next.executed() == 1);
        next.destroy();
    }

    /// Its queue has a save area that is too small, or none.
    #[test]
    #[ignore = "runs inside an environment"]
    fn a_kernel_that_cannot_be_saved_is_not_stopped() {
        let gpu = Gpu::acquired();
        for (va, save_area) in [(VA, 0), (2 * VA, CONTROL_STACK_BYTES)] {
            let launch = Launch::of_packets(&gpu, va, COUNT, 1, save_area);
            wait_until("counting", || launch.counted() > 0);
            assert_eq!(errno(&gpu.kfd, &mut launch.percentage(0)), nix::libc::ETIME);
            launch.set_percentage(100);
            let info = compute::process_info(gpu.kfd.as_fd()).expect_err("it does not let go");
            assert_eq!(info.raw_os_error(), Some(nix::libc::EBUSY));
            assert!(launch.counts(), "it stands still");
            launch.destroy();
        }
    }
}
