//! Several GPUs: programs of the real stack on them, and the driver's requests that name more than one.

use super::device::inside;
use super::harness::{Ended, hip_program, run};

fn on_softgpu(options: &[&str], program: &[&str]) -> Ended {
    let head = ["softgpu"].into_iter().chain(options.iter().copied());
    run(head.chain(["--"]).chain(program.iter().copied()))
}

#[test]
fn the_runtime_finds_each_gpu_with_an_id_and_a_bus_number_of_its_own() {
    let ended = on_softgpu(&["--gpus", "3"], &["rocminfo"]).well();
    let values = |key: &str| -> Vec<&str> {
        let lines = ended.stdout.lines().map(str::trim);
        let found = lines.filter_map(|line| line.strip_prefix(key));
        found.map(str::trim).collect()
    };
    let gpus = ["0001", "0002", "0003"].map(|end| format!("GPU-535647505500{end}"));
    let ids = values("Uuid:");
    assert_eq!(ids[1..], gpus, "{}", ended.stdout);
    // The CPU has none.
    assert_eq!(values("BDFID:"), ["0", "768", "1024", "1280"]);
}

#[test]
fn gpus_have_the_ids_that_they_are_given_and_each_its_own() {
    let script = "cat /sys/class/kfd/kfd/topology/nodes/*/gpu_id; ls /dev/dri";
    let ended = on_softgpu(&["--gpu-ids", "0x77,5"], &["sh", "-c", script]).well();
    assert_eq!(ended.stdout, "0\n119\n5\nrenderD128\nrenderD129\n");
    for ids in ["7,7", "1,0", "1,2,3,4,5,6,7,8,9"] {
        on_softgpu(&["--gpu-ids", ids], &["true"]).badly(&["between 1 and 8 GPUs"]);
    }
    let both = on_softgpu(&["--gpus", "2", "--gpu-ids", "1,2"], &["true"]);
    assert_eq!(both.code, Some(2), "{}", both.stderr);
}

#[test]
fn gpus_compute_on_their_own_memory_and_on_that_of_their_peers() {
    let program = hip_program("peers.cpp");
    for (count, options) in [
        ("1", &[] as &[&str]),
        ("2", &[]),
        ("2", &["--private-vram"]),
        ("3", &["--links", "pcie"]),
        ("8", &["--vram", "64M"]),
    ] {
        let options: Vec<&str> = ["--gpus", count]
            .into_iter()
            .chain(options.iter().copied())
            .collect();
        let ended = on_softgpu(&options, &[&program]).well();
        assert_eq!(
            ended.stdout,
            format!("gpus {count} wrong 0\n"),
            "{options:?}"
        );
    }
}

#[test]
fn gpus_without_a_link_have_no_access_and_copy_all_the_same() {
    let program = hip_program("peers.cpp");
    // Over PCIe a GPU sees what the CPU sees.
    for options in [
        ["--links", "none"].as_slice(),
        &["--links", "pcie", "--private-vram"],
    ] {
        let options = [&["--gpus", "2"], options].concat();
        let ended = on_softgpu(&options, &[&program, "none"]).well();
        assert_eq!(ended.stdout, "gpus 2 wrong 0\n", "{options:?}");
    }
}

#[test]
fn a_gpu_that_was_given_no_access_faults_and_is_named() {
    let program = hip_program("peers.cpp");
    let ended = on_softgpu(&["--gpus", "2"], &[&program, "stray"]);
    assert_eq!(ended.code, Some(134), "{}", ended.stderr);
    let expected = "Memory access fault by GPU node-2 ";
    assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    assert!(!ended.stdout.contains("survived"));
}

#[test]
fn rounds_in_which_gpus_need_one_another_are_right() {
    let program = hip_program("several.cpp");
    for options in [
        &["--gpus", "4"],
        &["--links", "none", "--gpus", "3"] as &[&str],
    ] {
        let ended = on_softgpu(options, &[&program, "3"]).well();
        assert!(ended.stdout.ends_with("end rounds 3\n"), "{}", ended.stdout);
    }
}

#[test]
fn copies_between_gpus_take_the_time_the_model_says() {
    let program = hip_program("transfers.cpp");
    // 4 MB there and back: over the one link at 16 MB/s, over PCIe at the rate of the links to the host.
    for (links, least) in [("xgmi", 450_000), ("pcie", 900_000)] {
        let rates = ["--link-rate", "8M", "--peer-rate", "16M"];
        let options = [&["--gpus", "2", "--links", links], rates.as_slice()].concat();
        let ended = on_softgpu(&options, &[&program, "4", "peers"]).well();
        let time = ended.stdout.trim().strip_prefix("microseconds ");
        let time: u64 = time.and_then(|n| n.parse().ok()).expect(&ended.stdout);
        assert!((least..3 * least).contains(&time), "{links}: {time} us");
    }
}

#[test]
fn processes_share_memory_and_events_by_handles_where_the_driver_has_them() {
    let program = hip_program("handles.cpp");
    for options in [
        ["--ipc"].as_slice(),
        &["--ipc", "--gpus", "2"],
        &["--ipc", "--gpus", "2", "--private-vram"],
    ] {
        let ended = on_softgpu(options, &[&program]).well();
        assert_eq!(ended.stdout, "handles wrong 0 0\n", "{options:?}");
    }
}

#[test]
fn without_the_driver_s_handles_a_program_is_told_so() {
    let ended = on_softgpu(&[], &[&hip_program("ring.cpp"), "1", "1"]);
    assert_eq!(ended.code, Some(1));
    let expected = "hipErrorInvalidDevicePointer";
    assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    let expected = "KFD request 0x81 is not implemented";
    assert!(ended.stderr.contains(expected), "{}", ended.stderr);
}

#[test]
fn a_ring_of_processes_adds_up_what_their_gpus_have() {
    let program = hip_program("ring.cpp");
    for options in [
        &["--gpus", "4"],
        &["--gpus", "3", "--links", "pcie"] as &[&str],
    ] {
        let options = [&["--ipc"], options].concat();
        let ended = on_softgpu(&options, &[&program, "4", "5"]).well();
        let rounds = ended.stdout.matches("round ").count();
        assert_eq!(rounds, 5, "{}", ended.stdout);
        assert!(ended.stdout.ends_with("end ranks 4 rounds 5\n"));
    }
}

#[test]
fn a_buffer_is_seen_by_the_gpus_that_it_is_mapped_on() {
    let name = "several::on_device::a_buffer_is_seen_by_the_gpus_that_it_is_mapped_on";
    inside(name, &["--gpus", "2"]);
}

#[test]
fn without_links_only_host_memory_is_mapped_on_both() {
    let name = "several::on_device::without_links_only_host_memory_is_mapped_on_both";
    inside(name, &["--gpus", "2", "--links", "none"]);
    inside(name, &["--gpus", "2", "--links", "pcie", "--private-vram"]);
}

#[test]
fn each_gpu_has_vram_handles_and_doorbells_of_its_own() {
    let name = "several::on_device::each_gpu_has_vram_handles_and_doorbells_of_its_own";
    inside(name, &["--gpus", "2", "--vram", "64M"]);
}

#[test]
fn a_dma_buf_of_one_gpu_is_imported_on_the_other() {
    let name = "several::on_device::a_dma_buf_of_one_gpu_is_imported_on_the_other";
    inside(name, &["--gpus", "2"]);
}

#[test]
fn a_shared_number_names_a_buffer_until_nobody_has_it() {
    let name = "several::on_device::a_shared_number_names_a_buffer_until_nobody_has_it";
    inside(name, &["--gpus", "2", "--ipc"]);
}

mod on_device {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;

    use nix::libc::{EINVAL, ENOMEM, EPERM};
    use nix::sys::stat::fstat;
    use strobe_kfd::memory::{
        AvailableMemory, DOORBELL, ExportDmabuf, FreeMemory, GTT, GetDmabufInfo, ImportDmabuf,
        IpcExportHandle, IpcImportHandle, MapMemory, PUBLIC, UnmapMemory, VRAM, WRITABLE,
    };
    use strobe_kfd::process::{Apertures, GetProcessAperturesNew};
    use strobe_kfd::render::gem;
    use strobe_kfd::render::prime::FdToHandle;
    use strobe_kfd::sdma::CopyLinear;

    use super::super::device::{Bytes, Gpu, errno, own, request, submit, words};

    const VA: u64 = 0x10_0000_0000;
    const MIB: u64 = 1 << 20;
    const SIZE: usize = 1 << 20;

    fn both() -> [Gpu; 2] {
        [0, 1].map(|index| Gpu::numbered(index).acquire())
    }

    /// Room for a packet that a GPU executes.
    struct Commands<'a> {
        node: &'a File,
        va: u64,
        bytes: Bytes,
    }

    impl<'a> Commands<'a> {
        fn new(gpu: &'a Gpu, va: u64) -> Self {
            let memory = gpu.allocate(va, 4096, GTT | WRITABLE);
            gpu.map(memory.handle);
            Self {
                node: &gpu.render,
                va,
                bytes: Bytes::map(&gpu.render, memory.mmap_offset, 4096),
            }
        }

        fn copy(&self, from: u64, to: u64) -> io::Result<()> {
            let packet = CopyLinear::new(from, to, SIZE as u32);
            self.bytes.write(&words(&packet));
            submit(self.node, self.va)
        }
    }

    fn unmap(gpu: &Gpu, handle: u64, ids: &[u32]) {
        let mut args = UnmapMemory {
            handle,
            device_ids_array_ptr: ids.as_ptr() as u64,
            n_devices: ids.len() as u32,
            n_success: 0,
        };
        request(&gpu.kfd, &mut args).expect("unmap");
        assert_eq!(args.n_success, args.n_devices);
    }

    #[test]
    #[ignore = "runs inside an environment"]
    fn a_buffer_is_seen_by_the_gpus_that_it_is_mapped_on() {
        let gpus = both();
        let ids = [gpus[0].id, gpus[1].id];
        let commands = [0, 1].map(|i| Commands::new(&gpus[i], (8 + i as u64) * VA));
        let [from, to] = [0, 1].map(|i: usize| {
            let va = (1 + i as u64) * VA;
            gpus[i].allocate(va, MIB, VRAM | PUBLIC | WRITABLE)
        });
        let source = Bytes::map(&gpus[0].render, from.mmap_offset, SIZE);
        let target = Bytes::map(&gpus[1].render, to.mmap_offset, SIZE);
        source.fill(0x5a);
        assert!(target.all(0), "the memory of one is that of the other");
        gpus[1].map(to.handle);
        commands[1].copy(VA, 2 * VA).expect_err("mapped nowhere");
        gpus[0].map(from.handle);
        commands[1]
            .copy(VA, 2 * VA)
            .expect_err("mapped on the other");
        gpus[0].map_on(from.handle, &ids).expect("map on both");
        commands[1].copy(VA, 2 * VA).expect("a copy between GPUs");
        assert!(target.all(0x5a));
        // Each GPU's table is its own: the target is not mapped on the first.
        commands[0]
            .copy(VA, 2 * VA)
            .expect_err("mapped on the other");
        unmap(&gpus[0], from.handle, &ids[1..]);
        commands[1].copy(VA, 2 * VA).expect_err("unmapped");
        gpus[1]
            .map_on(to.handle, &ids[..1])
            .expect("map on the first");
        source.fill(0xa5);
        commands[0].copy(VA, 2 * VA).expect("a copy between GPUs");
        assert!(target.all(0xa5));
        // What was done before a GPU that does not exist stays, and is counted.
        let unknown = [ids[1], 0x4711];
        let mut args = MapMemory {
            handle: from.handle,
            device_ids_array_ptr: unknown.as_ptr() as u64,
            n_devices: 2,
            n_success: 0,
        };
        assert_eq!(errno(&gpus[0].kfd, &mut args), EINVAL);
        assert_eq!(args.n_success, 1);
        commands[1].copy(VA, 2 * VA).expect("mapped again");
        gpus[0].free(from.handle);
        commands[1].copy(VA, 2 * VA).expect_err("freed");
    }

    #[test]
    #[ignore = "runs inside an environment"]
    fn without_links_only_host_memory_is_mapped_on_both() {
        let gpus = both();
        let ids = [gpus[0].id, gpus[1].id];
        let vram = gpus[0].allocate(VA, MIB, VRAM | WRITABLE);
        let refused = gpus[0].map_on(vram.handle, &ids).expect_err("no link");
        assert_eq!(refused.raw_os_error(), Some(EINVAL));
        let host = gpus[0].allocate(2 * VA, MIB, GTT | WRITABLE);
        gpus[0].map_on(host.handle, &ids).expect("host memory");
        let other = gpus[1].allocate(3 * VA, MIB, GTT | WRITABLE);
        gpus[1].map(other.handle);
        let bytes = Bytes::map(&gpus[0].render, host.mmap_offset, SIZE);
        bytes.fill(0x11);
        let commands = Commands::new(&gpus[1], 8 * VA);
        commands.copy(2 * VA, 3 * VA).expect("a copy");
        assert!(Bytes::map(&gpus[1].render, other.mmap_offset, SIZE).all(0x11));
    }

    fn available(gpu: &Gpu) -> u64 {
        let mut args = AvailableMemory {
            gpu_id: gpu.id,
            ..Default::default()
        };
        request(&gpu.kfd, &mut args).expect("available");
        args.available
    }

    #[test]
    #[ignore = "runs inside an environment"]
    fn each_gpu_has_vram_handles_and_doorbells_of_its_own() {
        let gpus = both();
        let mut apertures = [Apertures::default(); 4];
        let mut args = GetProcessAperturesNew {
            apertures_ptr: apertures.as_mut_ptr() as u64,
            num_of_nodes: 4,
            pad: 0,
        };
        request(&gpus[0].kfd, &mut args).expect("apertures");
        let ids = apertures.map(|aperture| aperture.gpu_id);
        assert_eq!(
            (args.num_of_nodes, ids),
            (2, [gpus[0].id, gpus[1].id, 0, 0])
        );
        let most = gpus[0].allocate(VA, 48 * MIB, VRAM | WRITABLE);
        assert_eq!(
            [available(&gpus[0]), available(&gpus[1])],
            [16 * MIB, 64 * MIB]
        );
        let full = gpus[0].try_allocate(2 * VA, 32 * MIB, VRAM | WRITABLE);
        let full = full.expect_err("no room");
        assert_eq!(full.raw_os_error(), Some(ENOMEM));
        let other = gpus[1].allocate(2 * VA, 64 * MIB, VRAM | WRITABLE);
        // Both have the same number, and each its GPU.
        assert_eq!((most.handle as u32, other.handle as u32), (0, 0));
        let handles = [most.handle, other.handle].map(|handle| (handle >> 32) as u32);
        assert_eq!(handles, ids[..2]);
        gpus[0].free(most.handle);
        let mut again = FreeMemory {
            handle: most.handle,
        };
        assert_eq!(errno(&gpus[0].kfd, &mut again), EINVAL);
        assert_eq!([available(&gpus[0]), available(&gpus[1])], [64 * MIB, 0]);
        let doorbells = [0, 1].map(|i: usize| {
            let doorbell = gpus[i].allocate((3 + i as u64) * VA, 8192, DOORBELL | WRITABLE);
            Bytes::map(&gpus[i].kfd, doorbell.mmap_offset, 8192)
        });
        doorbells[0].fill(0x21);
        assert!(doorbells[1].all(0), "two GPUs have one doorbell");
        // A node's file is for its own GPU.
        let fresh = Gpu::numbered(1);
        let mut args = strobe_kfd::process::AcquireVm {
            drm_fd: fresh.render.as_raw_fd().cast_unsigned(),
            gpu_id: ids[0],
        };
        assert_eq!(errno(&fresh.kfd, &mut args), EINVAL);
    }

    #[test]
    #[ignore = "runs inside an environment"]
    fn a_dma_buf_of_one_gpu_is_imported_on_the_other() {
        let gpus = both();
        // Something in front, so that the buffer is not where one of the other GPU's begins.
        gpus[0].allocate(VA, MIB, VRAM | WRITABLE);
        let memory = gpus[0].allocate(2 * VA, MIB, VRAM | PUBLIC | WRITABLE);
        let bytes = Bytes::map(&gpus[0].render, memory.mmap_offset, SIZE);
        bytes.fill(0x3c);
        let mut export = ExportDmabuf {
            handle: memory.handle,
            flags: 0,
            dmabuf_fd: 0,
        };
        request(&gpus[0].kfd, &mut export).expect("export");
        let dma_buf = own(export.dmabuf_fd);
        // Of one memory all have one inode, and that of another has another.
        let other = gpus[0].allocate(4 * VA, MIB, VRAM | WRITABLE);
        let inode = |handle| {
            let mut export = ExportDmabuf {
                handle,
                flags: 0,
                dmabuf_fd: 0,
            };
            request(&gpus[0].kfd, &mut export).expect("export");
            let stat = fstat(own(export.dmabuf_fd)).expect("its inode");
            (stat.st_dev, stat.st_ino)
        };
        let stat = fstat(&dma_buf).expect("its inode");
        assert_eq!(inode(memory.handle), (stat.st_dev, stat.st_ino));
        assert_ne!(inode(other.handle), (stat.st_dev, stat.st_ino));
        assert!(Bytes::map(dma_buf.try_clone().expect("dup"), 0, SIZE).all(0x3c));
        let mut info = GetDmabufInfo {
            dmabuf_fd: export.dmabuf_fd,
            ..Default::default()
        };
        request(&gpus[1].kfd, &mut info).expect("info");
        assert_eq!(
            (info.gpu_id, info.size, info.flags),
            (gpus[0].id, MIB, VRAM)
        );
        // By the render node: mapped there for the GPU, and not for the CPU.
        let mut import = FdToHandle {
            handle: 0,
            flags: 0,
            fd: dma_buf.as_raw_fd(),
        };
        request(&gpus[1].render, &mut import).expect("import");
        let mut place = gem::Mmap::new(import.handle);
        assert_eq!(errno(&gpus[1].render, &mut place), EPERM);
        let mut map = gem::Va {
            handle: import.handle,
            operation: gem::VA_MAP,
            flags: gem::PAGE_READABLE,
            va_address: 5 * VA,
            map_size: MIB,
            ..Default::default()
        };
        request(&gpus[1].render, &mut map).expect("map");
        let target = gpus[1].allocate(6 * VA, MIB, VRAM | PUBLIC | WRITABLE);
        gpus[1].map(target.handle);
        let seen = Bytes::map(&gpus[1].render, target.mmap_offset, SIZE);
        let commands = Commands::new(&gpus[1], 8 * VA);
        commands.copy(5 * VA, 6 * VA).expect("a copy");
        assert!(seen.all(0x3c));
        // By the compute driver.
        bytes.fill(0x4d);
        let mut import = ImportDmabuf {
            va_addr: 7 * VA,
            handle: 0,
            gpu_id: gpus[1].id,
            dmabuf_fd: export.dmabuf_fd,
        };
        request(&gpus[1].kfd, &mut import).expect("import");
        gpus[1].map(import.handle);
        gpus[0].free(memory.handle);
        commands.copy(7 * VA, 6 * VA).expect("a copy");
        assert!(seen.all(0x4d), "freed while imported");
    }

    #[test]
    #[ignore = "runs inside an environment"]
    fn a_shared_number_names_a_buffer_until_nobody_has_it() {
        let gpus = both();
        let memory = gpus[0].allocate(VA, MIB, VRAM | PUBLIC | WRITABLE);
        let export = |handle| {
            let mut args = IpcExportHandle {
                handle,
                gpu_id: gpus[0].id,
                ..Default::default()
            };
            request(&gpus[0].kfd, &mut args).map(|()| args.share_handle)
        };
        let number = export(memory.handle).expect("export");
        assert_eq!(export(memory.handle).expect("export"), number);
        let second = gpus[0].allocate(2 * VA, MIB, GTT | WRITABLE);
        assert_ne!(export(second.handle).expect("export"), number);
        let import = |number| IpcImportHandle {
            va_addr: 3 * VA,
            share_handle: number,
            gpu_id: gpus[0].id,
            ..Default::default()
        };
        let refused = [[0; 4], [number[0] ^ 1, number[1], number[2], number[3]]];
        for number in refused {
            assert_eq!(errno(&gpus[0].kfd, &mut import(number)), EINVAL);
        }
        let mut args = import(number);
        request(&gpus[0].kfd, &mut args).expect("import");
        assert_ne!(args.handle, memory.handle);
        assert_eq!(args.mmap_offset, memory.mmap_offset);
        Bytes::map(&gpus[0].render, args.mmap_offset, SIZE).fill(0x66);
        gpus[0].free(memory.handle);
        // The import keeps it, and the number goes on naming it.
        let mut other = import(number);
        request(&gpus[0].kfd, &mut other).expect("import");
        assert!(Bytes::map(&gpus[0].render, other.mmap_offset, SIZE).all(0x66));
        gpus[0].free(args.handle);
        gpus[0].free(other.handle);
        assert_eq!(errno(&gpus[0].kfd, &mut import(number)), EINVAL);
    }
}
