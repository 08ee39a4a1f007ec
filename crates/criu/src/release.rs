//! Frees a program whose GPU queues a dump has left stopped.
//!
//! Our plugin stops the queues and lets them run again when CRIU ends. A CRIU that is killed, or
//! crashes, never comes to that, and the driver remembers: whatever the program asks of the GPU would
//! wait for ever. (Its threads go on by themselves: the kernel ends the tracing with the tracer, and
//! CRIU's code in the first thread gives the thread back when the other end of its socket is gone.)
//!
//! The driver (`kfd_ioctl` in amdkfd) lets the queues run at the request of the process itself or of
//! the thread that traces its first thread, and only with CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN; on
//! a descriptor of the program's own. So this seizes the program, which does not stop it, and takes a
//! copy of its descriptor. Where the program runs on the software GPU, whoever does this needs its
//! library too. Both are why it is done by a process of its own: [`command`] starts it, [`release`]
//! is what it does.
//!
//! The rest of what a dead CRIU leaves goes as well: connections that are locked and in repair
//! ([`crate::network_lock`]), and links that it has made for the program's files ([`crate::remapped`]).
//!
//! Two things that it leaves cannot be undone. Its code stays mapped in the program, 20 MB of
//! shared memory of which little is ever touched. And for a moment in each thread it has
//! that code run there, to read what only the thread itself can read: killed in such a moment it takes
//! the program with it, for the thread's registers were in its memory alone.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use strobe_kfd::client::compute;
use strobe_program::descriptor::{copy_descriptor, open_process};
use strobe_program::namespaces::{NamespaceError, Namespaces};
use strobe_program::process;

use crate::network_lock::{InRepair, Run};
use crate::{remapped, run};

#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum ReleaseError {
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    #[error("process {pid} cannot be looked into: {error}")]
    Look { pid: u32, error: io::Error },
    #[error("process {pid} cannot be seized: {error}; a checkpoint of it, or a debugger, has it")]
    Seize { pid: u32, error: io::Error },
    #[error(
        "the connections of process {pid}, which CRIU has locked, cannot be let go on: {error}"
    )]
    Unlock { pid: u32, error: io::Error },
    #[error("the GPU driver does not let the queues of process {pid} run: {error}")]
    Unpause { pid: u32, error: io::Error },
}

/// Makes `command` run in the namespaces of a program and, if need be, on its software GPU.
pub fn command(mut command: Command, pid: u32) -> Result<Command, ReleaseError> {
    let softgpu = run::softgpu_library(pid).map_err(|error| ReleaseError::Look { pid, error })?;
    run::preload(&mut command, softgpu.as_deref());
    Namespaces::of(pid)?.enter_on_spawn(&mut command);
    Ok(command)
}

/// Lets the queues of a process and of those below it run; the processes whose queues stood still.
///
/// Connections go on that the dumps `dead` have locked, and those that any dump has left in repair.
///
/// They stay traced until the calling thread ends, so the calling process must end soon: a thread
/// that gets a signal meanwhile waits for that.
pub fn release(root: u32, dead: &[Run]) -> Result<Vec<u32>, ReleaseError> {
    for run in dead {
        let unlocked = run.unlock();
        unlocked.map_err(|error| ReleaseError::Unlock { pid: root, error })?;
    }
    let mut freed = Vec::new();
    for pid in process::tree(root).map_err(|error| ReleaseError::Look { pid: root, error })? {
        match release_one(pid) {
            Ok(true) => freed.push(pid),
            Ok(false) => {}
            // It has ended meanwhile.
            Err(_) if pid != root && !process::has_memory(pid) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(freed)
}

fn release_one(pid: u32) -> Result<bool, ReleaseError> {
    let look = |error| ReleaseError::Look { pid, error };
    let descriptors = driver_descriptors(pid).map_err(look)?;
    let connections = InRepair::of(pid).map_err(look)?;
    let links = remapped::left(pid).map_err(look)?;
    if descriptors.is_empty() && connections.is_empty() && links.is_empty() {
        return Ok(false);
    }
    // Of one that a dump has in hand nothing is taken away: that fails.
    seize(pid).map_err(|error| ReleaseError::Seize { pid, error })?;
    let unlocked = connections.end();
    unlocked.map_err(|error| ReleaseError::Unlock { pid, error })?;
    for link in links {
        // It says at the next dump what is in the way.
        let _ = fs::remove_file(link);
    }
    let process = open_process(pid).map_err(look)?;
    for number in descriptors {
        let kfd = match copy_descriptor(&process, number) {
            Ok(kfd) => kfd,
            // The program closes files as it likes.
            Err(error) if error.raw_os_error() == Some(libc::EBADF) => continue,
            Err(error) => return Err(look(error)),
        };
        match compute::unpause(kfd.as_fd()) {
            Ok(()) => return Ok(true),
            // They were not stopped; or the descriptor was inherited, and is another process's.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EBADF)) => {}
            Err(error) => return Err(ReleaseError::Unpause { pid, error }),
        }
    }
    Ok(false)
}

/// The descriptors of a process that are the driver's.
fn driver_descriptors(pid: u32) -> io::Result<Vec<i32>> {
    let Ok(driver) = fs::metadata(format!("/proc/{pid}/root/dev/kfd")) else {
        return Ok(Vec::new());
    };
    let entries = fs::read_dir(format!("/proc/{pid}/fd"))?.flatten();
    let ours = entries.filter(|entry| {
        // Follows the link to the open file, whatever the path has become.
        fs::metadata(entry.path())
            .is_ok_and(|file| file.rdev() != 0 && file.rdev() == driver.rdev())
    });
    Ok(ours
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect())
}

/// Makes the calling thread the tracer of a process's first thread, which goes on undisturbed.
fn seize(pid: u32) -> io::Result<()> {
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: this request reads and writes no memory of ours.
    let result = unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid as libc::pid_t, none, none) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    #[test]
    fn a_process_without_the_driver_has_nothing_to_release() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        assert_eq!(release(child.id(), &[]).unwrap(), []);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_process_that_is_gone_is_an_error() {
        assert!(matches!(
            release(u32::MAX >> 1, &[]),
            Err(ReleaseError::Look { .. })
        ));
    }
}
