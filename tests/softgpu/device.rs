//! Tests that talk to the driver run inside an environment: each starts the test program again.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::AtomicU64;

use strobe_kfd::memory::{AllocMemory, FreeMemory, MapMemory};
use strobe_kfd::process::AcquireVm;
use strobe_kfd::render::submit::{CHUNK_IB, Chunk, ChunkIb, IP_DMA, Submit};
use strobe_kfd::sdma::CopyLinear;
use strobe_kfd::{Request, call};

/// Runs the ignored test `name` of this program on a software GPU.
#[track_caller]
pub(super) fn inside(name: &str, options: &[&str]) -> super::harness::Ended {
    let ended = begun(name, options);
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    assert!(
        ended.stdout.contains("1 passed"),
        "{name} did not run: {}",
        ended.stdout
    );
    ended
}

/// The same, whatever its end.
#[track_caller]
pub(super) fn begun(name: &str, options: &[&str]) -> super::harness::Ended {
    let own = std::env::current_exe().expect("the test program");
    let mut command = super::harness::strobe().command();
    command.arg("softgpu").args(options).arg("--").arg(own);
    command.args([
        "--exact",
        name,
        "--ignored",
        "--nocapture",
        "--test-threads=1",
    ]);
    super::harness::Ended::new(&command.output().expect("strobe starts"))
}

/// The nodes of one GPU, opened by this process.
pub(super) struct Gpu {
    pub(super) kfd: File,
    pub(super) render: File,
    pub(super) id: u32,
}

pub(super) fn open(path: &str) -> File {
    OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .expect(path)
}

/// Issues a request whose pointers, if any, are to live memory of the test.
pub(super) fn request<R: Request>(fd: impl AsFd, args: &mut R) -> io::Result<()> {
    // SAFETY: the tests fill pointer fields from live, large enough variables.
    unsafe { call(fd.as_fd(), args) }
}

/// The errno of a request that must fail.
#[track_caller]
pub(super) fn errno<R: Request>(fd: impl AsFd, args: &mut R) -> i32 {
    request(fd, args)
        .expect_err(R::NAME)
        .raw_os_error()
        .expect("an errno")
}

impl Gpu {
    pub(super) fn open() -> Self {
        Self::numbered(0)
    }

    /// One of several GPUs.
    pub(super) fn numbered(index: usize) -> Self {
        let path = format!("/sys/class/kfd/kfd/topology/nodes/{}/gpu_id", index + 1);
        let id = std::fs::read_to_string(path).expect("a GPU");
        Self {
            kfd: open("/dev/kfd"),
            render: open(&format!("/dev/dri/renderD{}", 128 + index)),
            id: id.trim().parse().expect("a number"),
        }
    }

    /// The same nodes, where the driver knows the GPU by another id.
    pub(super) fn known_as(&self, id: u32) -> Self {
        Self {
            kfd: self.kfd.try_clone().expect("a descriptor"),
            render: self.render.try_clone().expect("a descriptor"),
            id,
        }
    }

    pub(super) fn acquired() -> Self {
        Self::open().acquire()
    }

    /// With the render node's address space made that of compute.
    pub(super) fn acquire(self) -> Self {
        let gpu = self;
        let drm_fd = gpu.render.as_raw_fd().cast_unsigned();
        request(
            &gpu.kfd,
            &mut AcquireVm {
                drm_fd,
                gpu_id: gpu.id,
            },
        )
        .expect("acquire");
        gpu
    }

    pub(super) fn try_allocate(&self, va: u64, size: u64, flags: u32) -> io::Result<AllocMemory> {
        let mut args = AllocMemory {
            va_addr: va,
            size,
            handle: 0,
            mmap_offset: 0,
            gpu_id: self.id,
            flags,
        };
        request(&self.kfd, &mut args).map(|()| args)
    }

    pub(super) fn allocate(&self, va: u64, size: u64, flags: u32) -> AllocMemory {
        self.try_allocate(va, size, flags).expect("allocate")
    }

    pub(super) fn map(&self, handle: u64) {
        self.map_on(handle, &[self.id]).expect("map");
    }

    /// Maps a buffer on the GPUs of these ids.
    pub(super) fn map_on(&self, handle: u64, ids: &[u32]) -> io::Result<()> {
        let mut args = MapMemory {
            handle,
            device_ids_array_ptr: ids.as_ptr() as u64,
            n_devices: ids.len() as u32,
            n_success: 0,
        };
        request(&self.kfd, &mut args)?;
        assert_eq!(args.n_success, args.n_devices);
        Ok(())
    }

    pub(super) fn free(&self, handle: u64) {
        request(&self.kfd, &mut FreeMemory { handle }).expect("free");
    }
}

/// A copy packet, as bytes, with a NOP up to the length of what [`submit`] says.
pub(super) fn words(packet: &CopyLinear) -> Vec<u8> {
    let CopyLinear {
        header,
        count,
        parameter,
        source,
        destination,
    } = *packet;
    let mut bytes = Vec::new();
    for word in [header, count, parameter] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(source.to_le_bytes());
    bytes.extend(destination.to_le_bytes());
    bytes.extend([0; 4]);
    bytes
}

/// Has the copy engine of a render node execute the packet at `va`.
pub(super) fn submit(node: &File, va: u64) -> io::Result<()> {
    let ib = ChunkIb {
        va_start: va,
        ib_bytes: 32,
        ip_type: IP_DMA,
        ..Default::default()
    };
    let chunk = Chunk {
        chunk_id: CHUNK_IB,
        length_dw: 8,
        chunk_data: (&raw const ib) as u64,
    };
    let chunks = [(&raw const chunk) as u64];
    let mut args = Submit {
        num_chunks: 1,
        chunks: chunks.as_ptr() as u64,
        ..Default::default()
    };
    request(node, &mut args)
}

/// A shared mapping of a file, as bytes.
pub(super) struct Bytes {
    start: *mut u8,
    length: usize,
}

impl Bytes {
    pub(super) fn map(fd: impl AsFd, offset: u64, length: usize) -> Self {
        use nix::sys::mman::{MapFlags, ProtFlags, mmap};
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        let size = length.try_into().expect("not zero");
        // SAFETY: a new mapping; the bytes are touched only through `get` and `fill`.
        let start = unsafe {
            mmap(
                None,
                size,
                protection,
                MapFlags::MAP_SHARED,
                fd,
                offset.cast_signed(),
            )
        };
        Self {
            start: start.expect("mmap").as_ptr().cast(),
            length,
        }
    }

    pub(super) fn fill(&self, byte: u8) {
        // SAFETY: the mapping has that many bytes.
        unsafe { self.start.write_bytes(byte, self.length) };
    }

    /// Writes at the start.
    pub(super) fn write(&self, bytes: &[u8]) {
        assert!(bytes.len() <= self.length);
        // SAFETY: the mapping has room, by the assertion.
        unsafe {
            bytes
                .as_ptr()
                .copy_to_nonoverlapping(self.start, bytes.len())
        };
    }

    /// A place that the GPU reads and writes at the same time.
    pub(super) fn word(&self, at: usize) -> &AtomicU64 {
        assert!(at.is_multiple_of(8) && at + 8 <= self.length);
        // SAFETY: inside the mapping and aligned, by the assertion, and it lives as long as `self`.
        unsafe { AtomicU64::from_ptr(self.start.add(at).cast()) }
    }

    /// A copy of some bytes.
    pub(super) fn part(&self, at: usize, length: usize) -> Vec<u8> {
        assert!(at + length <= self.length);
        // SAFETY: inside the mapping, by the assertion.
        unsafe { std::slice::from_raw_parts(self.start.add(at), length) }.to_vec()
    }

    pub(super) fn all(&self, byte: u8) -> bool {
        // SAFETY: inside the mapping.
        (0..self.length).all(|at| unsafe { self.start.add(at).read_volatile() } == byte)
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        if let Some(start) = std::ptr::NonNull::new(self.start.cast()) {
            // SAFETY: mapped by `map`, and nothing else refers to it.
            let _ = unsafe { nix::sys::mman::munmap(start, self.length) };
        }
    }
}

/// Takes over a descriptor number that a request answered.
pub(super) fn own(fd: u32) -> OwnedFd {
    use std::os::fd::FromRawFd;
    // SAFETY: the driver opened it for this process and told nobody else.
    unsafe { OwnedFd::from_raw_fd(fd.cast_signed()) }
}
