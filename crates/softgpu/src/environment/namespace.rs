//! The mount namespace: /dev with the GPUs' nodes, sysfs with their topology.

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::stat::{Mode, SFlag, mknod};
use nix::unistd::{ForkResult, fork};

use super::{EnvironmentError, topology};
use crate::device;
use crate::options::Options;

/// Where the few programs are that the environment answers for (`lsmod`).
pub(super) const PROGRAMS: &str = "/dev/softgpu/bin";
/// All of the real sysfs: directories that are covered link into it.
const REAL_SYSFS: &str = "/dev/softgpu/sys";

/// The numbers of the block devices behind the nodes.
pub(super) struct Nodes {
    pub(super) state: u64,
    /// Of each GPU.
    pub(super) memory: Vec<u64>,
}

/// Makes the namespace in a throw-away child (a process with threads cannot unshare) and returns a
/// descriptor of it.
pub(super) fn create(options: &Options, nodes: &Nodes) -> Result<OwnedFd, EnvironmentError> {
    let pipes = || -> io::Result<_> { Ok((io::pipe()?, io::pipe()?)) };
    let ((mut report, reporter), (waiter, release)) =
        pipes().map_err(EnvironmentError::io("make a pipe"))?;
    // SAFETY: the child is alone in its process, takes no lock of the parent's other threads but
    // the allocator's, which the C library makes usable after fork, and never returns.
    let child = match unsafe { fork() }.map_err(|e| EnvironmentError::io("fork")(e.into()))? {
        ForkResult::Parent { child } => child,
        ForkResult::Child => {
            drop((report, release));
            build_and_wait(options, nodes, reporter, waiter)
        }
    };
    drop((reporter, waiter));
    let mut text = String::new();
    let read = report.read_to_string(&mut text);
    let opened = fs::File::open(format!("/proc/{child}/ns/mnt"));
    drop(release);
    // The child has nothing left to do; its status says nothing more than its report.
    let _ = nix::sys::wait::waitpid(child, None);
    read.map_err(EnvironmentError::io("hear from the namespace's builder"))?;
    if text != "done" {
        return Err(EnvironmentError::io("build the mount namespace")(
            io::Error::other(text),
        ));
    }
    opened
        .map(Into::into)
        .map_err(EnvironmentError::io("open the mount namespace"))
}

fn build_and_wait(
    options: &Options,
    nodes: &Nodes,
    mut reporter: io::PipeWriter,
    mut waiter: io::PipeReader,
) -> ! {
    let result = std::panic::catch_unwind(|| build(options, nodes));
    let text = match result {
        Ok(Ok(())) => "done".to_owned(),
        Ok(Err((what, error))) => format!("{what}: {error}"),
        Err(_) => "panic".to_owned(),
    };
    // A parent that does not listen any more needs no report.
    let _ = reporter.write_all(text.as_bytes());
    drop(reporter);
    // Until the parent has opened the namespace (or died).
    let _ = waiter.read(&mut [0]);
    // SAFETY: ends this process without running the parent's exit handlers.
    unsafe { libc::_exit(0) }
}

type Step<T> = Result<T, (String, io::Error)>;

trait Named<T> {
    fn named(self, what: impl FnOnce() -> String) -> Step<T>;
}

impl<T, E: Into<io::Error>> Named<T> for Result<T, E> {
    fn named(self, what: impl FnOnce() -> String) -> Step<T> {
        self.map_err(|error| (what(), error.into()))
    }
}

fn build(options: &Options, nodes: &Nodes) -> Step<()> {
    unshare(CloneFlags::CLONE_NEWNS).named(|| "unshare the mount namespace".into())?;
    mount(
        None::<&str>,
        "/",
        None::<&str>,
        MsFlags::MS_REC | MsFlags::MS_PRIVATE,
        None::<&str>,
    )
    .named(|| "make mounts private".into())?;
    let folder = tempfile::Builder::new().prefix("softgpu-dev-").tempdir();
    // Never emptied: the host's /dev/shm and /dev/pts are among what is mounted in it.
    let stage = folder.named(|| "create a folder for the new /dev".into())?;
    let stage = stage.keep();
    let staged = stage_dev(&stage, nodes);
    let moved = staged.and_then(|()| {
        mount(
            Some(&stage),
            "/dev",
            None::<&str>,
            MsFlags::MS_MOVE,
            None::<&str>,
        )
        .named(|| "move the new /dev into place".into())
    });
    // In the error case the mount still sits on it; the namespace dies with this process.
    let _ = fs::remove_dir(&stage);
    moved?;
    cover_sysfs(options)?;
    create_semaphore().named(|| "create the thunk's semaphore".into())
}

pub(super) fn block_node(path: &Path, rdev: u64) -> io::Result<()> {
    mknod(path, SFlag::S_IFBLK, Mode::from_bits_truncate(0o666), rdev)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o666))
}

fn stage_dev(stage: &Path, nodes: &Nodes) -> Step<()> {
    tmpfs(stage)?;
    let directory = |name: &str| {
        let path = stage.join(name);
        fs::create_dir_all(&path)
            .named(|| format!("create {}", path.display()))
            .map(|()| path)
    };
    for (name, major, minor) in [
        ("null", 1, 3),
        ("zero", 1, 5),
        ("full", 1, 7),
        ("random", 1, 8),
        ("urandom", 1, 9),
        ("tty", 5, 0),
        ("net/tun", 10, 200),
    ] {
        let path = stage.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).named(|| format!("create {}", parent.display()))?;
        }
        let mode = Mode::from_bits_truncate(0o666);
        mknod(&path, SFlag::S_IFCHR, mode, libc::makedev(major, minor))
            .and_then(|()| {
                fs::set_permissions(&path, fs::Permissions::from_mode(0o666))
                    .map_err(|_| nix::errno::Errno::EPERM)
            })
            .named(|| format!("make {name}"))?;
    }
    for (name, target) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
        ("ptmx", "pts/ptmx"),
    ] {
        symlink(target, stage.join(name)).named(|| format!("link {name}"))?;
    }
    if Path::new("/dev/pts").is_dir() {
        bind(Path::new("/dev/pts"), &directory("pts")?)?;
    }
    if Path::new("/dev/mqueue").is_dir() {
        bind(Path::new("/dev/mqueue"), &directory("mqueue")?)?;
    }
    tmpfs(&directory("shm")?)?;
    fs::set_permissions(stage.join("shm"), fs::Permissions::from_mode(0o1777))
        .named(|| "open /dev/shm to all".into())?;
    directory("dri")?;
    let own = directory("softgpu")?;
    let state = ["kfd", "softgpu/state"].map(|name| (name.to_owned(), nodes.state));
    let memory = nodes.memory.iter().enumerate().flat_map(|(gpu, rdev)| {
        [device::render_node(gpu), device::memory_node(gpu)].map(|name| (name, *rdev))
    });
    for (name, rdev) in state.into_iter().chain(memory) {
        block_node(&stage.join(&name), rdev).named(|| format!("make the node {name}"))?;
    }
    bind(Path::new("/sys"), &directory("softgpu/sys")?)?;
    lsmod(&own.join("bin")).named(|| "write lsmod".into())
}

/// rocminfo asks `lsmod` for the driver; many kernels have neither modules nor /proc/modules.
fn lsmod(directory: &Path) -> io::Result<()> {
    fs::create_dir(directory)?;
    let path = directory.join("lsmod");
    fs::write(&path, "#!/bin/sh\necho 'amdgpu 8388608 1'\n")?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
}

/// Covers the three directories of sysfs in which the driver would show its devices. What was there
/// stays reachable by links.
fn cover_sysfs(options: &Options) -> Step<()> {
    for directory in [
        "/sys/devices/virtual",
        "/sys/class",
        "/sys/dev/char",
        "/sys/module",
    ] {
        cover(Path::new(directory))?;
    }
    let write = |base: &str, files: Vec<(PathBuf, String)>| -> Step<()> {
        for (path, text) in files {
            let path = Path::new(base).join(path);
            path.parent()
                .map_or(Ok(()), fs::create_dir_all)
                .and_then(|()| fs::write(&path, text))
                .named(|| format!("write {}", path.display()))?;
        }
        Ok(())
    };
    write("/sys/devices/virtual/kfd/kfd", topology::files(options))?;
    write("/sys/module/amdgpu", topology::module_files())?;
    fs::create_dir_all("/sys/class/kfd")
        .and_then(|()| symlink("../../devices/virtual/kfd/kfd", "/sys/class/kfd/kfd"))
        .named(|| "link /sys/class/kfd".into())?;
    for minor in (0..options.gpu_ids.len()).map(device::render_minor) {
        let render = format!("/sys/dev/char/{}:{minor}", device::DRM_MAJOR);
        write(&render, topology::render_files(options.model, minor))?;
        fs::create_dir_all(format!("{render}/device/drm/renderD{minor}"))
            .named(|| format!("make {render}/device/drm"))?;
    }
    Ok(())
}

fn cover(directory: &Path) -> Step<()> {
    let entries: Vec<_> = fs::read_dir(directory)
        .and_then(Iterator::collect::<io::Result<_>>)
        .named(|| format!("list {}", directory.display()))?;
    tmpfs(directory)?;
    let real = Path::new(REAL_SYSFS).join(directory.strip_prefix("/sys").unwrap_or(directory));
    for entry in entries {
        let name = entry.file_name();
        // A machine's own amdgpu is not the one this environment shows.
        if name == "kfd" || name == "amdgpu" || name.to_string_lossy().starts_with("226:") {
            continue;
        }
        symlink(real.join(&name), directory.join(&name))
            .named(|| format!("link {}/{}", directory.display(), name.display()))?;
    }
    Ok(())
}

fn tmpfs(at: &Path) -> Step<()> {
    mount(
        Some("softgpu"),
        at,
        Some("tmpfs"),
        MsFlags::MS_NOSUID,
        Some("mode=755"),
    )
    .named(|| format!("mount a tmpfs on {}", at.display()))
}

fn bind(from: &Path, to: &Path) -> Step<()> {
    mount(Some(from), to, None::<&str>, MsFlags::MS_BIND, None::<&str>)
        .named(|| format!("bind {} to {}", from.display(), to.display()))
}

/// The thunk's semaphore. When a program creates it, the C library maps it under a temporary name
/// that is then removed, and CRIU meets a mapping of a deleted file.
fn create_semaphore() -> io::Result<()> {
    // SAFETY: the name is a C string; the semaphore is left mapped until this process ends.
    let semaphore =
        unsafe { libc::sem_open(c"/hsakmt_semaphore".as_ptr(), libc::O_CREAT, 0o666, 1) };
    if semaphore == libc::SEM_FAILED {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
