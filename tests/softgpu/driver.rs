//! Requests of the two nodes, one by one.

use super::device::inside;

#[test]
fn freed_memory_comes_back_zeroed() {
    inside("driver::on_device::freed_memory_comes_back_zeroed", &[]);
}

#[test]
fn memory_is_present_once_it_is_allocated() {
    inside(
        "driver::on_device::memory_is_present_once_it_is_allocated",
        &[],
    );
}

#[test]
fn vram_is_limited_and_handles_are_checked() {
    inside(
        "driver::on_device::vram_is_limited_and_handles_are_checked",
        &["--vram", "64M"],
    );
}

#[test]
fn a_dma_buf_shows_the_memory_it_names() {
    inside(
        "driver::on_device::a_dma_buf_shows_the_memory_it_names",
        &[],
    );
}

#[test]
fn events_wake_waiters_and_reset() {
    inside("driver::on_device::events_wake_waiters_and_reset", &[]);
}

#[test]
fn the_copy_engine_copies_what_a_submission_says() {
    inside(
        "driver::on_device::the_copy_engine_copies_what_a_submission_says",
        &[],
    );
}

#[test]
fn unknown_requests_fail_by_name() {
    let ended = inside("driver::on_device::unknown_requests_fail_by_name", &[]);
    // Both nodes count their requests from nothing, so the numbers mean different ones.
    for node in ["KFD", "DRM"] {
        for number in ["0x20", "0x60", "0x80", "0xa0", "0xc0", "0xe0"] {
            let line = format!("softgpu: {node} request {number} is not implemented");
            let lines = ended.stderr.lines().filter(|text| **text == line);
            assert_eq!(lines.count(), 1, "{line}: {}", ended.stderr);
        }
    }
}

mod on_device {
    use std::os::fd::AsRawFd;
    use std::time::{Duration, Instant};

    use strobe_kfd::event::{
        CreateEvent, DestroyEvent, EventData, SIGNAL, SetEvent, WAIT_COMPLETE, WAIT_FAIL,
        WAIT_TIMEOUT, WaitEvents,
    };
    use strobe_kfd::memory::{ExportDmabuf, FreeMemory, GTT, PUBLIC, USERPTR, VRAM, WRITABLE};
    use strobe_kfd::process::Svm;
    use strobe_kfd::render::gem;
    use strobe_kfd::render::prime::FdToHandle;
    use strobe_kfd::sdma::CopyLinear;

    use super::super::device::{Bytes, Gpu, errno, open, own, request, submit, words};

    const VA: u64 = 0x10_0000_0000;
    const MIB: u64 = 1 << 20;

    #[test]
    #[ignore = "runs inside an environment"]
    fn freed_memory_comes_back_zeroed() {
        let gpu = Gpu::acquired();
        for round in 0..3 {
            let memory = gpu.allocate(VA, 4 * MIB, VRAM | PUBLIC | WRITABLE);
            gpu.map(memory.handle);
            let bytes = Bytes::map(&gpu.render, memory.mmap_offset, 4 << 20);
            assert!(bytes.all(0), "round {round}: memory of a former buffer");
            bytes.fill(0xa5);
            gpu.free(memory.handle);
        }
    }

    /// Bytes of the GPU's memory device that are present in this process.
    fn present() -> u64 {
        let maps = std::fs::read_to_string("/proc/self/smaps").expect("it can be read");
        let mut lines = maps.lines();
        let mut bytes = 0;
        while lines
            .by_ref()
            .any(|line| line.ends_with("/dev/softgpu/memory0"))
        {
            let rss = lines.by_ref().find_map(|line| line.strip_prefix("Rss:"));
            let kib = rss.and_then(|rss| rss.trim().strip_suffix(" kB"));
            bytes += kib.and_then(|kib| kib.parse::<u64>().ok()).expect("KiB") << 10;
        }
        bytes
    }

    #[test]
    #[ignore = "runs inside an environment"]
    fn memory_is_present_once_it_is_allocated() {
        let gpu = Gpu::acquired();
        let none = present();
        let memory = gpu.allocate(VA, 64 * MIB, VRAM | WRITABLE);
        let some = present();
        assert!(some - none >= 64 * MIB, "{some}, before it {none}");
        gpu.free(memory.handle);
        assert!(present() < some, "freed memory is not given back");
    }

    #[test]
    #[ignore = "runs inside an environment"]
    fn vram_is_limited_and_handles_are_checked() {
        let gpu = Gpu::acquired();
        let most = gpu.allocate(VA, 48 * MIB, VRAM | WRITABLE);
        let full = gpu
            .try_allocate(2 * VA, 32 * MIB, VRAM | WRITABLE)
            .expect_err("no room");
        assert_eq!(full.raw_os_error(), Some(nix::libc::ENOMEM));
        assert_eq!(most.handle >> 32, u64::from(gpu.id));
        gpu.free(most.handle);
        let twice = errno(
            &gpu.kfd,
            &mut FreeMemory {
                handle: most.handle,
            },
        );
        assert_eq!(twice, nix::libc::EINVAL);
        gpu.free(gpu.allocate(VA, 64 * MIB, VRAM | WRITABLE).handle);
        let odd = gpu.try_allocate(VA, 0, VRAM).expect_err("nothing");
        assert_eq!(odd.raw_os_error(), Some(nix::libc::EINVAL));
    }

    #[test]
    #[ignore = "runs inside an environment"]
    fn a_dma_buf_shows_the_memory_it_names() {
        let gpu = Gpu::acquired();
        // Something in front, so that the buffer is not at offset 0.
        gpu.allocate(VA, MIB, VRAM | WRITABLE);
        let memory = gpu.allocate(2 * VA, MIB, VRAM | PUBLIC | WRITABLE);
        let mut export = ExportDmabuf {
            handle: memory.handle,
            flags: 0,
            dmabuf_fd: 0,
        };
        request(&gpu.kfd, &mut export).expect("export");
        let dma_buf = own(export.dmabuf_fd);
        Bytes::map(&gpu.render, memory.mmap_offset, 1 << 20).fill(0x3c);
        let seen = Bytes::map(dma_buf.try_clone().expect("dup"), 0, 1 << 20);
        assert!(
            seen.all(0x3c),
            "a mapping of the dma-buf shows other memory"
        );

        let other = open("/dev/dri/renderD128");
        let mut import = FdToHandle {
            handle: 0,
            flags: 0,
            fd: dma_buf.as_raw_fd(),
        };
        request(&other, &mut import).expect("import");
        let mut place = gem::Mmap::new(import.handle);
        request(&other, &mut place).expect("mmap offset");
        assert_eq!(place.word, memory.mmap_offset);
        // The import keeps the memory; when both are gone, the dma-buf names nothing.
        gpu.free(memory.handle);
        assert!(seen.all(0x3c), "freed while imported");
        request(
            &other,
            &mut gem::Close {
                handle: import.handle,
                pad: 0,
            },
        )
        .expect("close");
        let gone = errno(
            &other,
            &mut FdToHandle {
                handle: 0,
                flags: 0,
                fd: dma_buf.as_raw_fd(),
            },
        );
        assert_eq!(gone, nix::libc::ENOENT);
    }

    fn wait(gpu: &Gpu, ids: &[u32], all: bool, milliseconds: u32) -> u32 {
        let mut events: Vec<EventData> = ids
            .iter()
            .map(|id| EventData {
                event_id: *id,
                ..EventData::default()
            })
            .collect();
        let mut args = WaitEvents {
            events_ptr: events.as_mut_ptr() as u64,
            num_events: ids.len() as u32,
            wait_for_all: u32::from(all),
            timeout: milliseconds,
            wait_result: u32::MAX,
        };
        request(&gpu.kfd, &mut args).expect("wait");
        args.wait_result
    }

    #[test]
    #[ignore = "runs inside an environment"]
    fn events_wake_waiters_and_reset() {
        let gpu = Gpu::acquired();
        let create = || {
            let mut args = CreateEvent {
                event_type: SIGNAL,
                auto_reset: 1,
                ..Default::default()
            };
            request(&gpu.kfd, &mut args).expect("create");
            args.event_id
        };
        let set = |event_id| {
            request(&gpu.kfd, &mut SetEvent { event_id, pad: 0 }).expect("set");
        };
        let (a, b) = (create(), create());
        assert_ne!(a, b);
        assert_eq!(wait(&gpu, &[a, b], false, 20), WAIT_TIMEOUT);
        std::thread::scope(|scope| {
            let start = Instant::now();
            let waiter = scope.spawn(|| wait(&gpu, &[a, b], false, 5000));
            std::thread::sleep(Duration::from_millis(30));
            set(b);
            assert_eq!(waiter.join().expect("the waiter"), WAIT_COMPLETE);
            assert!(start.elapsed() < Duration::from_secs(2), "woken too late");
        });
        assert_eq!(wait(&gpu, &[b], false, 0), WAIT_TIMEOUT, "it resets itself");
        set(a);
        assert_eq!(
            wait(&gpu, &[a, b], true, 20),
            WAIT_TIMEOUT,
            "one of two is not all"
        );
        // The wait that timed out has consumed it.
        set(a);
        set(b);
        assert_eq!(wait(&gpu, &[a, b], true, 20), WAIT_COMPLETE);
        std::thread::scope(|scope| {
            let waiters = [0; 4].map(|_| scope.spawn(|| wait(&gpu, &[a], false, 5000)));
            std::thread::sleep(Duration::from_millis(100));
            set(a);
            for waiter in waiters {
                let woken = waiter.join().expect("a waiter");
                assert_eq!(woken, WAIT_COMPLETE, "one consumed it for all");
            }
        });
        request(
            &gpu.kfd,
            &mut DestroyEvent {
                event_id: a,
                pad: 0,
            },
        )
        .expect("destroy");
        assert_eq!(wait(&gpu, &[a], false, 20), WAIT_FAIL);
    }

    #[test]
    #[ignore = "runs inside an environment"]
    fn the_copy_engine_copies_what_a_submission_says() {
        let gpu = Gpu::acquired();
        let node = open("/dev/dri/renderD128");
        let create = |domain, va: u64, size: u64| {
            let mut args = gem::Create {
                bo_size: size,
                domains: domain,
                ..Default::default()
            };
            request(&node, &mut args).expect("create");
            let handle = args.handle();
            let mut map = gem::Va {
                handle,
                operation: gem::VA_MAP,
                flags: gem::PAGE_READABLE | gem::PAGE_WRITEABLE,
                va_address: va,
                map_size: size,
                ..Default::default()
            };
            request(&node, &mut map).expect("map");
            let mut place = gem::Mmap::new(handle);
            request(&node, &mut place).expect("mmap offset");
            Bytes::map(&node, place.word, size as usize)
        };
        let source = create(gem::DOMAIN_GTT, VA, MIB);
        let destination = create(gem::DOMAIN_VRAM, 2 * VA, MIB);
        let commands = create(gem::DOMAIN_GTT, 3 * VA, 4096);
        source.fill(0x77);
        // All but the last byte: the count is encoded minus one.
        let packet = CopyLinear::new(VA, 2 * VA, MIB as u32 - 1);
        commands.write(&words(&packet));
        submit(&node, 3 * VA).expect("submit");
        assert!(
            destination
                .part(0, MIB as usize - 1)
                .iter()
                .all(|byte| *byte == 0x77)
        );
        assert_eq!(
            destination.part(MIB as usize - 1, 1),
            [0],
            "one byte too many"
        );
        // Past the end of the mapping: refused, as a fault of the engine would be.
        commands.write(&words(&CopyLinear::new(VA + MIB - 16, 2 * VA, 32)));
        submit(&node, 3 * VA).expect_err("a copy outside of any buffer");
        drop(gpu);
    }

    #[test]
    #[ignore = "runs inside an environment"]
    fn unknown_requests_fail_by_name() {
        let gpu = Gpu::acquired();
        assert_eq!(errno(&gpu.kfd, &mut Svm::default()), nix::libc::EINVAL);
        for _ in 0..2 {
            for number in [0x20, 0x60, 0x80, 0xa0, 0xc0, 0xe0] {
                for (file, kind) in [(&gpu.kfd, b'K'), (&gpu.render, b'd')] {
                    // SAFETY: a request without an argument.
                    let result = unsafe {
                        nix::libc::ioctl(file.as_raw_fd(), u64::from(kind) << 8 | number, 0)
                    };
                    assert_eq!(result, -1, "{number:#x} is known");
                }
            }
        }
        let wrong = gpu
            .try_allocate(VA, 4096, VRAM | GTT)
            .expect_err("two kinds at once");
        assert_eq!(wrong.raw_os_error(), Some(nix::libc::EINVAL));
        let nowhere = gpu
            .try_allocate(VA, 4096, USERPTR)
            .expect_err("no host address");
        assert_eq!(nowhere.raw_os_error(), Some(nix::libc::EINVAL));
        assert_eq!(
            errno(&gpu.render, &mut strobe_kfd::process::GetVersion::default()),
            nix::libc::ENOTTY
        );
    }
}
