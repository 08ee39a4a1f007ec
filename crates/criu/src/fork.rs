//! A copy of this process.

use std::fs;
use std::io;

pub use nix::unistd::ForkResult;

/// Makes a copy of this process, which goes on behind this call as its child.
///
/// # Errors
/// Also where this process has several threads: of those only the calling one would be in the child, and what others
/// hold would never be free.
pub fn fork() -> io::Result<ForkResult> {
    if fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("a process with threads cannot be copied"));
    }
    // SAFETY: this process has one thread, so that the child is as whole as its parent.
    Ok(unsafe { nix::unistd::fork() }?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_threads_is_not_copied() {
        // Tests have threads.
        let other = std::thread::spawn(|| std::thread::sleep(std::time::Duration::from_secs(1)));
        assert!(fork().is_err());
        other.join().unwrap();
    }
}
