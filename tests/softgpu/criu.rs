//! The driver's checkpoint and restore, without CRIU around it.

use super::device::inside;

#[test]
fn a_checkpoint_needs_paused_queues_and_matching_counts() {
    inside(
        "criu::on_device::a_checkpoint_needs_paused_queues_and_matching_counts",
        &[],
    );
}

#[test]
fn a_restore_makes_buffers_and_events_again_with_their_ids() {
    inside(
        "criu::on_device::a_restore_makes_buffers_and_events_again_with_their_ids",
        &[],
    );
}

#[test]
fn a_file_stays_with_the_process_that_opened_it_whoever_looks_at_it_first() {
    inside(
        "criu::on_device::a_file_stays_with_the_process_that_opened_it_whoever_looks_at_it_first",
        &[],
    );
}

#[test]
fn buffers_come_back_on_the_gpu_that_stands_for_theirs() {
    inside(
        "criu::on_device::buffers_come_back_on_the_gpu_that_stands_for_theirs",
        &["--gpus", "2"],
    );
}

mod on_device {
    use std::os::fd::{AsFd, AsRawFd};

    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::{ForkResult, fork};
    use strobe_kfd::client::{compute, gem};
    use strobe_kfd::criu::{BoBucket, CHECKPOINT, CriuOp, DeviceBucket, RESTORE};
    use strobe_kfd::event::{CreateEvent, SIGNAL, SetEvent};
    use strobe_kfd::memory::{AvailableMemory, GTT, PUBLIC, VRAM, WRITABLE};
    use strobe_kfd::sdma::CopyLinear;

    use super::super::device::{Bytes, Gpu, errno, own, request, submit, words};

    const VA: u64 = 0x10_0000_0000;
    const MIB: u64 = 1 << 20;

    #[test]
    #[ignore = "runs inside an environment"]
    fn a_checkpoint_needs_paused_queues_and_matching_counts() {
        let gpu = Gpu::acquired();
        gpu.allocate(VA, MIB, VRAM | WRITABLE);
        let unpause = |what: &str| compute::unpause(gpu.kfd.as_fd()).expect_err(what);
        assert_eq!(
            unpause("not paused").raw_os_error(),
            Some(nix::libc::EINVAL)
        );
        let info = compute::process_info(gpu.kfd.as_fd()).expect("process info");
        assert_eq!(
            (info.pid, info.devices, info.bos),
            (std::process::id(), 1, 1)
        );
        let mut devices = [DeviceBucket::default()];
        let mut bos = [BoBucket::default(); 2];
        let mut private = vec![0u8; info.private_bytes as usize];
        let mut wrong = CriuOp {
            devices: devices.as_mut_ptr() as u64,
            bos: bos.as_mut_ptr() as u64,
            priv_data: private.as_mut_ptr() as u64,
            priv_data_size: info.private_bytes,
            num_devices: 1,
            num_bos: 2,
            num_objects: info.objects,
            op: CHECKPOINT,
            ..Default::default()
        };
        assert_eq!(errno(&gpu.kfd, &mut wrong), nix::libc::EINVAL);
        compute::checkpoint(gpu.kfd.as_fd(), &info).expect("checkpoint");
        compute::unpause(gpu.kfd.as_fd()).expect("unpause");
        assert_eq!(unpause("twice").raw_os_error(), Some(nix::libc::EINVAL));
        // Only the process itself and its tracer may.
        match forked() {
            ForkResult::Parent { child } => {
                let end = waitpid(child, None).expect("wait");
                assert_eq!(end, WaitStatus::Exited(child, nix::libc::EBADF));
            }
            ForkResult::Child => {
                let refused = compute::process_info(gpu.kfd.as_fd());
                let code = refused.map_or_else(|error| error.raw_os_error(), |_| Some(0));
                // SAFETY: ends the child without the test harness's exit.
                unsafe { nix::libc::_exit(code.unwrap_or(0)) };
            }
        }
        // Stops are counted, and of several only one can be undone.
        compute::process_info(gpu.kfd.as_fd()).expect("process info");
        compute::process_info(gpu.kfd.as_fd()).expect("process info");
        compute::unpause(gpu.kfd.as_fd()).expect("unpause");
        let refused = unpause("no request knows of the other");
        assert_eq!(refused.raw_os_error(), Some(nix::libc::EINVAL));
    }

    /// CRIU dumps programs that have only just opened the driver's files.
    #[test]
    #[ignore = "runs inside an environment"]
    fn a_file_stays_with_the_process_that_opened_it_whoever_looks_at_it_first() {
        let gpu = Gpu::open();
        match forked() {
            ForkResult::Parent { child } => {
                let end = waitpid(child, None).expect("wait");
                assert_eq!(end, WaitStatus::Exited(child, nix::libc::EAGAIN));
            }
            ForkResult::Child => {
                let info = compute::process_info(gpu.kfd.as_fd());
                let code = info.map_or_else(|error| error.raw_os_error(), |_| Some(0));
                let has_none = gem::handles(gpu.render.as_fd())
                    .is_ok_and(|handles| handles.is_some_and(|handles| handles.is_empty()));
                let code = code.filter(|_| has_none).unwrap_or(0);
                // SAFETY: ends the child without the test harness's exit.
                unsafe { nix::libc::_exit(code) };
            }
        }
        let gpu = gpu.acquire();
        let memory = gpu.allocate(VA, 2 * MIB, GTT | WRITABLE);
        gpu.map(memory.handle);
        // This frees what those have left that have ended.
        let mut available = AvailableMemory {
            gpu_id: gpu.id,
            ..Default::default()
        };
        request(&gpu.kfd, &mut available).expect("available memory");
        let bytes = Bytes::map(&gpu.render, memory.mmap_offset, 2 * MIB as usize);
        bytes.fill(0x5a);
        bytes.write(&words(&CopyLinear::new(VA + 4096, VA + MIB, 4096)));
        submit(&gpu.render, VA).expect("its memory is mapped");
        assert_eq!(bytes.part(MIB as usize, 4096), [0x5a; 4096]);
    }

    fn forked() -> ForkResult {
        // SAFETY: the child makes requests and ends; the other threads only wait for this test.
        unsafe { fork() }.expect("fork")
    }

    #[test]
    #[ignore = "runs inside an environment"]
    fn a_restore_makes_buffers_and_events_again_with_their_ids() {
        let gpu = Gpu::acquired();
        let first = gpu.allocate(VA, MIB, VRAM | PUBLIC | WRITABLE);
        let second = gpu.allocate(2 * VA, 2 * MIB, GTT | WRITABLE);
        gpu.map(second.handle);
        // A hole among the handles must stay one.
        gpu.free(first.handle);
        let mut event = CreateEvent {
            event_type: SIGNAL,
            auto_reset: 1,
            ..Default::default()
        };
        request(&gpu.kfd, &mut event).expect("event");
        Bytes::map(&gpu.render, second.mmap_offset, 4096).fill(0x11);
        let info = compute::process_info(gpu.kfd.as_fd()).expect("process info");
        let saved = compute::checkpoint(gpu.kfd.as_fd(), &info).expect("checkpoint");
        compute::unpause(gpu.kfd.as_fd()).expect("unpause");

        match forked() {
            ForkResult::Parent { child } => {
                let end = waitpid(child, None).expect("wait");
                assert_eq!(end, WaitStatus::Exited(child, 0), "the restored process");
            }
            ForkResult::Child => {
                let well = std::panic::catch_unwind(|| restored(&saved, &info, event.event_id));
                // SAFETY: ends the child without the test harness's exit.
                unsafe { nix::libc::_exit(i32::from(well.is_err())) };
            }
        }
    }

    fn restored(saved: &compute::ProcessState, info: &compute::ProcessInfo, event_id: u32) {
        let gpu = Gpu::open();
        let mut device = saved.devices[0];
        device.drm_fd = gpu.render.as_raw_fd().cast_unsigned();
        let mut devices = [device];
        let mut buckets: Vec<BoBucket> = saved.bos.iter().map(|bo| bo.bucket).collect();
        let mut args = CriuOp {
            devices: devices.as_mut_ptr() as u64,
            bos: buckets.as_mut_ptr() as u64,
            priv_data: saved.private.as_ptr() as u64,
            priv_data_size: saved.private.len() as u64,
            num_devices: 1,
            num_bos: info.bos,
            num_objects: info.objects,
            op: RESTORE,
            ..Default::default()
        };
        request(&gpu.kfd, &mut args).expect("restore");
        let bucket = buckets[0];
        assert_eq!((bucket.addr, bucket.size), (2 * VA, 2 * MIB));
        assert_ne!(
            bucket.restored_offset, bucket.offset,
            "the original still has its place"
        );
        let bytes = Bytes::map(&gpu.render, bucket.restored_offset, 4096);
        assert!(
            bytes.all(0),
            "a restored buffer has content nobody put there"
        );
        // The handle is 1 as before: 0 is the next one given.
        let next = gpu.allocate(3 * VA, 4096, VRAM | WRITABLE);
        assert_eq!(next.handle as u32, 0);
        gpu.free(u64::from(gpu.id) << 32 | 1);
        request(&gpu.kfd, &mut SetEvent { event_id, pad: 0 }).expect("the event is there");
        compute::resume(gpu.kfd.as_fd(), std::process::id()).expect("resume");
        // A second restore into the same process is refused.
        assert_eq!(errno(&gpu.kfd, &mut args), nix::libc::EINVAL);
    }

    /// What a program with a buffer on each of two GPUs has saved.
    struct Saved {
        info: compute::ProcessInfo,
        state: compute::ProcessState,
    }

    impl Saved {
        /// Restored onto these GPUs, in the order of the buckets.
        fn restore(&mut self, gpus: [&Gpu; 2], count: u32) -> (std::io::Result<()>, Vec<BoBucket>) {
            let mut devices = [self.state.devices[0], self.state.devices[1]];
            for (device, gpu) in devices.iter_mut().zip(gpus) {
                device.actual_gpu_id = gpu.id;
                device.drm_fd = gpu.render.as_raw_fd().cast_unsigned();
            }
            let mut buckets: Vec<BoBucket> = self.state.bos.iter().map(|bo| bo.bucket).collect();
            let mut args = CriuOp {
                devices: devices.as_mut_ptr() as u64,
                bos: buckets.as_mut_ptr() as u64,
                priv_data: self.state.private.as_ptr() as u64,
                priv_data_size: self.state.private.len() as u64,
                num_devices: count,
                num_bos: self.info.bos,
                num_objects: self.info.objects,
                op: RESTORE,
                ..Default::default()
            };
            let result = request(&gpus[0].kfd, &mut args);
            (result, buckets)
        }
    }

    #[test]
    #[ignore = "runs inside an environment"]
    fn buffers_come_back_on_the_gpu_that_stands_for_theirs() {
        let gpus = [0, 1].map(|index| Gpu::numbered(index).acquire());
        let ids = [gpus[0].id, gpus[1].id];
        // The first GPU has one more, so that places differ.
        gpus[0].allocate(4 * VA, MIB, VRAM | WRITABLE);
        let first = gpus[0].allocate(VA, MIB, VRAM | PUBLIC | WRITABLE);
        let second = gpus[1].allocate(2 * VA, MIB, VRAM | PUBLIC | WRITABLE);
        gpus[0].map_on(first.handle, &ids).expect("map on both");
        gpus[1].map(second.handle);
        let info = compute::process_info(gpus[0].kfd.as_fd()).expect("process info");
        assert_eq!((info.devices, info.bos), (2, 3));
        let state = compute::checkpoint(gpus[0].kfd.as_fd(), &info).expect("checkpoint");
        compute::unpause(gpus[0].kfd.as_fd()).expect("unpause");
        let known: Vec<_> = state
            .devices
            .iter()
            .map(|device| (device.user_gpu_id, device.actual_gpu_id))
            .collect();
        assert_eq!(known, [(ids[0], ids[0]), (ids[1], ids[1])]);
        let mut saved = Saved { info, state };
        match forked() {
            ForkResult::Parent { child } => {
                let end = waitpid(child, None).expect("wait");
                assert_eq!(end, WaitStatus::Exited(child, 0), "the restored process");
            }
            ForkResult::Child => {
                let well = std::panic::catch_unwind(move || swapped(&mut saved, ids));
                // SAFETY: ends the child without the test harness's exit.
                unsafe { nix::libc::_exit(i32::from(well.is_err())) };
            }
        }
    }

    fn swapped(saved: &mut Saved, ids: [u32; 2]) {
        let gpus = [0, 1].map(Gpu::numbered);
        let refused = |result: std::io::Result<()>| {
            let error = result.expect_err("it cannot be").raw_os_error();
            assert_eq!(error, Some(nix::libc::EINVAL));
        };
        refused(saved.restore([&gpus[0], &gpus[1]], 1).0);
        refused(saved.restore([&gpus[0], &gpus[0]], 2).0);
        // Each stands for the other.
        let (result, buckets) = saved.restore([&gpus[1], &gpus[0]], 2);
        result.expect("restore");
        let find = |va| buckets.iter().find(|bucket| bucket.addr == va).expect("it");
        let (first, second) = (find(VA), find(2 * VA));
        assert_eq!(
            [first.gpu_id, second.gpu_id],
            ids,
            "as the program knows them"
        );
        let here = Bytes::map(&gpus[1].render, first.restored_offset, 4096);
        here.fill(0x77);
        let dma_buf = own(first.dmabuf_fd);
        assert!(Bytes::map(&dma_buf, 0, 4096).all(0x77));
        // Both see the first one's, by the address that it had; the ids that count are the program's.
        let stand_in = gpus[0].known_as(ids[1]);
        let commands = stand_in.allocate(6 * VA, 4096, GTT | WRITABLE);
        stand_in.map(commands.handle);
        let packet = CopyLinear::new(VA, 2 * VA, 4096);
        Bytes::map(&gpus[0].render, commands.mmap_offset, 4096).write(&words(&packet));
        submit(&gpus[0].render, 6 * VA).expect("a copy");
        assert!(Bytes::map(&gpus[0].render, second.restored_offset, 4096).all(0x77));
    }
}
