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

mod on_device {
    use std::os::fd::{AsFd, AsRawFd};

    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::{ForkResult, fork};
    use strobe_kfd::client::compute;
    use strobe_kfd::criu::{BoBucket, CHECKPOINT, CriuOp, DeviceBucket, RESTORE};
    use strobe_kfd::event::{CreateEvent, SIGNAL, SetEvent};
    use strobe_kfd::memory::{GTT, PUBLIC, VRAM, WRITABLE};

    use super::super::device::{Bytes, Gpu, errno, request};

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
}
