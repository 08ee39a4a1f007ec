//! The program's namespaces.
//!
//! CRIU must run in the mount namespace of the program: from outside, a dump succeeds whose
//! restore crashes. An abstract socket is found only in its own network namespace.

use std::ffi::{CString, c_char, c_int};
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sched::{CloneFlags, setns};
use nix::unistd::chdir;

#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum NamespaceError {
    #[error("the namespaces of process {pid} cannot be read: {error}")]
    Read { pid: u32, error: io::Error },
    #[error("process {pid} runs in another pid namespace: run this command in there")]
    OtherPid { pid: u32 },
    #[error(
        "process {pid} runs in another user namespace, and AMD's driver brings back no process that is in one \
         (CAP_CHECKPOINT_RESTORE counts for it in the first only): start the program as root without one (no \
         `unshare -U`, no rootless container, no --userns)"
    )]
    OtherUser { pid: u32 },
    #[error(
        "process {pid} does not see {path}: choose a place both of you see, or mount it in its container \
         under that name"
    )]
    Unseen { pid: u32, path: PathBuf },
}

/// Those namespaces of a process that differ from ours, held open.
#[derive(Debug)]
pub struct Namespaces(Vec<(OwnedFd, CloneFlags)>);

const ENTERED: [(&str, CloneFlags); 4] = [
    ("net", CloneFlags::CLONE_NEWNET),
    ("ipc", CloneFlags::CLONE_NEWIPC),
    ("uts", CloneFlags::CLONE_NEWUTS),
    ("mnt", CloneFlags::CLONE_NEWNS),
];

impl Namespaces {
    /// Opens the namespaces of `pid`. Another pid or user namespace is refused: there the process
    /// has another number, and our privileges count for nothing.
    pub fn of(pid: u32) -> Result<Self, NamespaceError> {
        let failed = |error| NamespaceError::Read { pid, error };
        if is_elsewhere(pid, "pid").map_err(failed)? {
            return Err(NamespaceError::OtherPid { pid });
        }
        check_user(pid)?;
        Self::open(pid).map_err(failed)
    }

    /// The same of a process in another pid namespace. It is entered at once by what this process spawns from
    /// now on.
    pub fn with_pids_of(pid: u32) -> Result<Self, NamespaceError> {
        let failed = |error| NamespaceError::Read { pid, error };
        check_user(pid)?;
        let enter = || {
            let namespace = File::open(of_process(pid, "pid"))?;
            setns(&namespace, CloneFlags::CLONE_NEWPID).map_err(io::Error::from)
        };
        let others = Self::open(pid).map_err(failed)?;
        enter().map_err(failed)?;
        Ok(others)
    }

    fn open(pid: u32) -> io::Result<Self> {
        let mut open = Vec::new();
        for (kind, flag) in ENTERED {
            if is_elsewhere(pid, kind)? {
                let file = File::open(of_process(pid, kind))?;
                open.push((OwnedFd::from(file), flag));
            }
        }
        Ok(Self(open))
    }

    /// As [`Self::enter_on_spawn`], in a folder of those namespaces.
    pub fn enter_on_spawn_in(self, command: &mut Command, folder: &Path) -> io::Result<()> {
        let folder = CString::new(folder.as_os_str().as_bytes())?;
        self.enter_on_spawn(command);
        let enter = move || chdir(folder.as_c_str()).map_err(io::Error::from);
        // SAFETY: the closure runs between fork and exec, behind the one before: chdir is a bare system call,
        // and nothing is allocated.
        unsafe { command.pre_exec(enter) };
        Ok(())
    }

    /// Makes the command enter them when it is spawned. Its program is looked up in there.
    pub fn enter_on_spawn(self, command: &mut Command) {
        if self.0.is_empty() {
            return;
        }
        let enter = move || {
            self.0
                .iter()
                .try_for_each(|(fd, kind)| setns(fd, *kind).map_err(io::Error::from))
        };
        // SAFETY: the closure runs between fork and exec, where only async-signal-safe functions
        // are allowed: setns is a bare system call, and nothing is allocated.
        unsafe { command.pre_exec(enter) };
    }
}

fn of_process(pid: u32, kind: &str) -> String {
    format!("/proc/{pid}/ns/{kind}")
}

/// Whether a process is in another namespace of a kind (`pid`, `mnt`, ...) than we are.
pub fn is_elsewhere(pid: u32, kind: &str) -> io::Result<bool> {
    Ok(fs::read_link(of_process(pid, kind))? != fs::read_link(format!("/proc/self/ns/{kind}"))?)
}

/// Checks that our privileges count where the process is. One that is gone is in no other namespace.
pub fn check_user(pid: u32) -> Result<(), NamespaceError> {
    match is_elsewhere(pid, "user") {
        Ok(true) => Err(NamespaceError::OtherUser { pid }),
        _ => Ok(()),
    }
}

/// Checks that the process sees the same file or folder under this absolute path as we do.
pub fn check_seen(pid: u32, path: &Path) -> Result<(), NamespaceError> {
    let theirs =
        Path::new(&format!("/proc/{pid}/root")).join(path.strip_prefix("/").unwrap_or(path));
    // Through an overlay a file is on another device. Who has its inode number and has changed at the same nanosecond is it.
    let identity = |path: &Path| {
        fs::metadata(path).map(|m| match m.is_file() {
            true => (0, m.ino(), m.ctime(), m.ctime_nsec()),
            false => (m.dev(), m.ino(), 0, 0),
        })
    };
    match (identity(path), identity(&theirs)) {
        (Ok(ours), Ok(theirs)) if ours == theirs => Ok(()),
        _ => Err(NamespaceError::Unseen {
            pid,
            path: path.to_path_buf(),
        }),
    }
}

/// Listens on an abstract socket in the network namespace of a process.
pub fn listen_abstract(pid: u32, name: &[u8]) -> io::Result<UnixListener> {
    in_network_of(pid, || {
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)
    })
}

/// Whether the loopback interface is up in the network namespace of a process.
pub fn has_loopback(pid: u32) -> io::Result<bool> {
    in_network_of(pid, || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        // SAFETY: zeros are a value of it.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
            *to = *from as c_char;
        }
        // SAFETY: a name that ends with a zero; the flags are filled in (netdevice(7)).
        let got = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS, &mut request) };
        if got < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has filled these in.
        let flags = unsafe { request.ifr_ifru.ifru_flags };
        Ok(c_int::from(flags) & libc::IFF_UP != 0)
    })
}

/// Does something in the network namespace of a process.
fn in_network_of<R: Send>(
    pid: u32,
    action: impl FnOnce() -> io::Result<R> + Send,
) -> io::Result<R> {
    if !is_elsewhere(pid, "net")? {
        return action();
    }
    let namespace = File::open(of_process(pid, "net"))?;
    // A network namespace belongs to a thread: enter it in one that ends here.
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            setns(namespace.as_fd(), CloneFlags::CLONE_NEWNET)?;
            action()
        });
        thread
            .join()
            .map_err(|_| io::Error::other("the thread in the network namespace has failed"))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    #[test]
    fn our_own_namespaces_need_no_entering() {
        let namespaces = Namespaces::of(std::process::id()).expect("ours");
        assert!(namespaces.0.is_empty());
        let mut command = Command::new("true");
        namespaces.enter_on_spawn(&mut command);
        assert!(command.status().expect("it starts").success());
    }

    #[test]
    fn a_path_we_do_not_share_is_named() {
        let pid = std::process::id();
        check_seen(pid, Path::new("/proc")).expect("we see what we see");
        let error = check_seen(pid, Path::new("/absent/folder")).unwrap_err();
        assert!(error.to_string().contains("/absent/folder"), "{error}");
    }

    #[test]
    fn an_abstract_socket_can_be_connected_to() {
        let name = format!("strobe-test-{}", std::process::id());
        let _listener = listen_abstract(std::process::id(), name.as_bytes()).expect("listens");
        let address = SocketAddr::from_abstract_name(name.as_bytes()).unwrap();
        UnixStream::connect_addr(&address).expect("connects");
    }
}
