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

mod on_device {
    use std::os::fd::AsFd;
    use std::sync::atomic::Ordering;
    use std::time::{Duration, Instant};

    use nix::time::{ClockId, clock_gettime};
    use strobe_kfd::client::compute;
    use strobe_kfd::memory::{EXECUTABLE, GTT, WRITABLE};
    use strobe_kfd::queue::{COMPUTE_AQL, CreateQueue, DestroyQueue};

    use super::super::device::{Bytes, Gpu, request};

    const VA: u64 = 0x10_0000_0000;
    const RING_BYTES: u32 = 4096;
    /// Places in one buffer.
    const QUEUE: u64 = 0x1000;
    const WRITE: u64 = QUEUE + 56;
    const READ: u64 = QUEUE + 128;
    const DESCRIPTOR: u64 = 0x2000;
    const CODE: u64 = 0x2100;
    const BYTES: u64 = 0x3000;

    /// As compilers set it: subnormals of 16 and 64 bits are kept.
    const FLOAT_MODE: u64 = 0xc0;
    const S_BRANCH_SELF: u32 = 0xbf82_ffff;
    const S_ENDPGM: u32 = 0xbf81_0000;

    /// A queue whose packets run `code` on one wave each.
    struct Launch<'a> {
        gpu: &'a Gpu,
        memory: Bytes,
        handle: u64,
        queue: u32,
    }

    impl<'a> Launch<'a> {
        fn new(gpu: &'a Gpu, va: u64, code: u32) -> Self {
            Self::of_packets(gpu, va, code, 1)
        }

        /// Rings for the first packet last.
        fn of_packets(gpu: &'a Gpu, va: u64, code: u32, packets: u64) -> Self {
            let buffer = gpu.allocate(va, BYTES, GTT | WRITABLE | EXECUTABLE);
            gpu.map(buffer.handle);
            let memory = Bytes::map(&gpu.render, buffer.mmap_offset, BYTES as usize);
            let put =
                |at: u64, value: u64| memory.word(at as usize).store(value, Ordering::Relaxed);
            // The kernel's entry, relative to its descriptor.
            put(DESCRIPTOR + 16, CODE - DESCRIPTOR);
            put(DESCRIPTOR + 48, FLOAT_MODE << 12);
            put(CODE, u64::from(code));
            for packet in (0..packets).map(|index| index * 64) {
                // KERNEL_DISPATCH of one dimension: 64 work-items in one workgroup.
                put(packet, 2 | 1 << 16 | 64 << 32 | 1 << 48);
                put(packet + 8, 1 | 64 << 32);
                put(packet + 16, 1 | 1 << 32);
                put(packet + 32, va + DESCRIPTOR);
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
                ..Default::default()
            };
            request(&gpu.kfd, &mut args).expect("create a queue");
            let page = args.doorbell_offset & !4095;
            let doorbells = Bytes::map(&gpu.kfd, page, 4096);
            let doorbell = doorbells.word((args.doorbell_offset - page) as usize);
            for index in (0..packets).rev() {
                doorbell.store(index, Ordering::Release);
            }
            Self {
                gpu,
                memory,
                handle: buffer.handle,
                queue: args.queue_id,
            }
        }

        fn executed(&self) -> u64 {
            self.memory.word(READ as usize).load(Ordering::Acquire)
        }

        fn destroy(&self) {
            let mut args = DestroyQueue {
                queue_id: self.queue,
                pad: 0,
            };
            request(&self.gpu.kfd, &mut args).expect("destroy");
        }
    }

    impl Drop for Launch<'_> {
        fn drop(&mut self) {
            self.gpu.free(self.handle);
        }
    }

    /// Whether a wave is resident: then the driver does not stop the queues.
    fn is_busy(gpu: &Gpu) -> bool {
        match compute::process_info(gpu.kfd.as_fd()) {
            Ok(_) => {
                compute::unpause(gpu.kfd.as_fd()).expect("unpause");
                false
            }
            Err(error) => {
                assert_eq!(error.raw_os_error(), Some(nix::libc::EBUSY));
                true
            }
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
        let endless = Launch::new(&gpu, VA, S_BRANCH_SELF);
        wait_until("running", || is_busy(&gpu));
        let start = Instant::now();
        endless.destroy();
        assert!(start.elapsed() < Duration::from_secs(5), "it hangs");
        assert_eq!(endless.executed(), 0, "an endless kernel ended");
        assert!(!is_busy(&gpu), "a wave is resident on no queue");

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

    /// As when two threads submit to one queue.
    #[test]
    #[ignore = "runs inside an environment"]
    fn an_older_doorbell_that_comes_last_hides_no_packet() {
        let gpu = Gpu::acquired();
        let launch = Launch::of_packets(&gpu, VA, S_ENDPGM, 5);
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
        assert!(!is_busy(&gpu));
    }
}
