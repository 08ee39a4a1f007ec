//! What the kernel says in a file of `/proc`: text, but for the names that others have given (of processes and threads,
//! files, interfaces), which may hold any bytes.

use std::path::Path;
use std::{fs, io};

/// The text of such a file. In names, what is not UTF-8 is replaced: who looks for a name takes the bytes.
///
/// # Errors
/// It cannot be read.
pub fn read(path: impl AsRef<Path>) -> io::Result<String> {
    let bytes = fs::read(path)?;
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_any_bytes_hides_nothing_of_the_rest() {
        // The name of a thread is what its process writes there (proc_pid_comm(5)).
        let thread = std::thread::spawn(|| {
            fs::write("/proc/thread-self/comm", b"caf\xe9").expect("it is ours");
            let status = read("/proc/thread-self/status").expect("we run");
            (
                status,
                read("/proc/thread-self/comm"),
                read("/proc/thread-self/absent"),
            )
        });
        let (status, name, absent) = thread.join().expect("it ends");
        assert_eq!(name.expect("we run"), "caf\u{fffd}\n");
        assert!(status.contains("\nTgid:\t"), "{status}");
        assert_eq!(absent.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
