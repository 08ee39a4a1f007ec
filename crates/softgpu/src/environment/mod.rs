//! A place where programs find the software GPUs: loop devices and a mount namespace.
//!
//! Why loop block devices: to CRIU they are devices it does not know, so descriptors and mappings of
//! them go to plugins and no content is saved, as with a real GPU; yet they map at memory speed.
//! Why a mount namespace: device nodes and sysfs files are real files there, so CRIU's plugin, which
//! runs without hooks, sees them like any program does.
//!
//! What must hold: the devices exist only as long as an [`Environment`] or a process in it does; a
//! new environment is a new device, with another generation and nothing in its memory. A killed
//! keeper takes the programs with it; one that ends by itself leaves those that still run.

mod caretaker;
mod guard;
mod loop_device;
mod namespace;
mod resident;
mod stdio;
mod topology;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{SigHandler, Signal, signal};
use thiserror::Error;

pub use crate::device::Pace;
use crate::device::{self, GPUS};
use crate::options::Options;
use guard::Guard;
use loop_device::LoopDevice;
use namespace::Nodes;
use resident::Resident;

/// Why there is no environment.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum EnvironmentError {
    #[error("the software GPU needs root (mount namespaces and loop devices)")]
    NotRoot,
    #[error("cannot {what}")]
    Io { what: String, source: io::Error },
    #[error("there are between 1 and {GPUS} GPUs, each with an id of its own, which is not 0")]
    GpuIds,
    #[error("the preload library {0} does not exist")]
    NoPreload(PathBuf),
}

impl EnvironmentError {
    fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}

/// Software GPUs and the mount namespace that shows them.
#[derive(Debug)]
pub struct Environment {
    /// Held so that the devices are not released between two programs.
    state: LoopDevice,
    _memory: Vec<LoopDevice>,
    namespace: OwnedFd,
    _guard: Guard,
    generation: u64,
    preload: PathBuf,
    /// Where memory may not be locked the engines are slower at times, and no less right.
    _code: Option<Resident>,
}

impl Environment {
    /// Creates devices and their namespace. `preload` is the path of `libsoftgpu.so`.
    ///
    /// # Errors
    /// Without root, loop devices, or the library; for ids that GPUs cannot have.
    pub fn create(options: &Options, preload: &Path) -> Result<Self, EnvironmentError> {
        if !nix::unistd::geteuid().is_root() {
            return Err(EnvironmentError::NotRoot);
        }
        let preload = preload
            .canonicalize()
            .map_err(|_| EnvironmentError::NoPreload(preload.to_owned()))?;
        let gpus = options.gpu_ids.len();
        if !are_ids(&options.gpu_ids) {
            return Err(EnvironmentError::GpuIds);
        }
        let state = LoopDevice::create(device::state_bytes(gpus)).map_err(EnvironmentError::io(
            "set up a loop device for the device state",
        ))?;
        let memory = (0..gpus).map(|_| LoopDevice::create(device::memory_bytes(options)));
        let memory: Vec<_> = memory
            .collect::<io::Result<_>>()
            .map_err(EnvironmentError::io(
                "set up a loop device for the device memory",
            ))?;
        let nodes = Nodes {
            state: state.rdev(),
            memory: memory.iter().map(LoopDevice::rdev).collect(),
        };
        let generation = random_u64().map_err(EnvironmentError::io("get random bytes"))?;
        device::initialise(
            state.node(),
            generation,
            options,
            nodes.state,
            &nodes.memory,
        )
        .map_err(EnvironmentError::io("initialise the device state"))?;
        let namespace = namespace::create(options, &nodes)?;
        let files = memory.iter().map(LoopDevice::node);
        let guard = Guard::start(&namespace, state.node(), files)
            .map_err(EnvironmentError::io("start the environment's guard"))?;
        Ok(Self {
            state,
            _memory: memory,
            namespace,
            _guard: guard,
            generation,
            _code: Resident::keep(&preload).ok(),
            preload,
        })
    }

    /// A random number that no other device has.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// How well the time model was kept so far.
    ///
    /// # Errors
    /// When the devices' state cannot be read.
    pub fn pace(&self) -> io::Result<Pace> {
        Pace::read(self.state.node())
    }

    /// How often its fault plan has evicted waves so far.
    ///
    /// # Errors
    /// When the devices' state cannot be read.
    pub fn evictions(&self) -> io::Result<u64> {
        device::evictions(self.state.node())
    }

    /// The mount namespace, for `setns`.
    pub fn namespace(&self) -> impl AsFd {
        &self.namespace
    }

    /// Starts a program in the environment.
    ///
    /// Its standard files are opened again inside the namespace (CRIU cannot look up a file of
    /// another one), other descriptors are closed, and without a terminal it leads a session.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn spawn(&self, mut command: Command) -> Result<Child, EnvironmentError> {
        let program = command.get_program().to_string_lossy().into_owned();
        self.prepare(&mut command)
            .and_then(|()| command.spawn())
            .map_err(EnvironmentError::io(format!("run {program}")))
    }

    /// Makes `command` start inside the environment, with the software GPU preloaded.
    ///
    /// # Errors
    /// When the namespace's descriptor cannot be duplicated.
    pub fn prepare(&self, command: &mut Command) -> io::Result<()> {
        let set = |name: &str| {
            command
                .get_envs()
                .find(|(key, _)| *key == name)
                .map_or_else(
                    || std::env::var_os(name),
                    |(_, value)| value.map(Into::into),
                )
        };
        let mut preload = self.preload.clone().into_os_string();
        if let Some(others) = set("LD_PRELOAD").filter(|others| !others.is_empty()) {
            preload.push(":");
            preload.push(others);
        }
        let mut path = std::ffi::OsString::from(namespace::PROGRAMS);
        path.push(":");
        path.push(set("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into()));
        command.env("LD_PRELOAD", preload).env("PATH", path);
        let namespace = self.namespace.try_clone()?;
        // SAFETY: the closure runs in the forked child, alone in its process, and makes system
        // calls only; it touches no lock that another thread of the parent could hold.
        unsafe { command.pre_exec(move || enter(&namespace)) };
        Ok(())
    }
}

/// Whether GPUs can have these ids, in that order.
fn are_ids(ids: &[u32]) -> bool {
    let repeats = |(index, id): (usize, &u32)| ids[..index].contains(id);
    (1..=GPUS).contains(&ids.len()) && !ids.contains(&0) && !ids.iter().enumerate().any(repeats)
}

/// What a child does between fork and exec.
fn enter(namespace: &OwnedFd) -> io::Result<()> {
    let directory = nix::unistd::getcwd();
    setns(namespace, CloneFlags::CLONE_NEWNS)?;
    if let Ok(directory) = directory {
        nix::unistd::chdir(&directory)?;
    }
    stdio::reopen()?;
    if !stdio::has_terminal() {
        // Fails only for a process that leads a group already.
        let _ = nix::unistd::setsid();
    }
    stdio::close_others_on_exec();
    Ok(())
}

/// How a program on a software GPU has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// The exit code that a shell would have: 128 plus the signal when one ended it.
    pub code: i32,
    /// How well the time model was kept.
    pub pace: Pace,
    /// How often the fault plan has evicted waves.
    pub evictions: u64,
}

/// Runs `command` on a new software GPU and waits for it. Interrupt, hang-up and termination are passed on; when
/// this process is killed, all programs on the device are.
///
/// # Errors
/// When the environment cannot be made or the command not be started.
pub fn run(options: &Options, preload: &Path, command: Command) -> Result<Ended, EnvironmentError> {
    let environment = Environment::create(options, preload)?;
    let mut child = environment.spawn(command)?;
    forward_signals(&child);
    let status = child
        .wait()
        .map_err(EnvironmentError::io("wait for the program"))?;
    stdio::follow_child();
    let (pace, evictions) = (environment.pace(), environment.evictions());
    Ok(Ended {
        code: status
            .code()
            .unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
        pace: pace.map_err(EnvironmentError::io("read the devices' state"))?,
        evictions: evictions.map_err(EnvironmentError::io("read the devices' state"))?,
    })
}

static FORWARD_TO: std::sync::atomic::AtomicI32 = std::sync::atomic::AtomicI32::new(0);

extern "C" fn forward(number: i32) {
    let child = FORWARD_TO.load(std::sync::atomic::Ordering::Relaxed);
    if child > 0 {
        // SAFETY: kill is async-signal-safe and takes no pointers.
        unsafe { libc::kill(child, number) };
    }
}

/// From here on this process passes on the signals that would end it.
fn forward_signals(child: &Child) {
    FORWARD_TO.store(
        child.id().cast_signed(),
        std::sync::atomic::Ordering::Relaxed,
    );
    for number in [
        Signal::SIGINT,
        Signal::SIGTERM,
        Signal::SIGHUP,
        Signal::SIGQUIT,
    ] {
        // SAFETY: the handler only loads an atomic and calls kill, both async-signal-safe.
        let _ = unsafe { signal(number, SigHandler::Handler(forward)) };
    }
}

fn random_u64() -> io::Result<u64> {
    use std::io::Read;
    let mut bytes = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    // Zero means "no device" in the caches that hold a generation.
    Ok(u64::from_le_bytes(bytes).max(1))
}
