//! The environment that the process was started in.
//!
//! Its own functions may be at work on what has become of that, and a process that has become another user's may not open
//! `/proc/self/environ`: so the bytes are read where the kernel has put them, as that file would read them.

use super::Descriptor;

/// Bytes of the environment that are looked at.
const MOST: usize = 1 << 20;
const PAGE: usize = 4096;
/// The number of a field of proc_pid_stat(5); the next is its end.
const ENV_START: usize = 50;

/// Copies the value of a variable, and says how long it is. `None` where it is not set, is longer than the room, or the
/// program has written something else over it.
pub(crate) fn variable(name: &str, value: &mut [u8]) -> Option<usize> {
    let (start, end) = place()?;
    // How much of `NAME=` has been seen, and then how much of the value is there.
    let (mut seen, mut len) = (Some(0), 0);
    for at in start..end {
        // SAFETY: it is mapped, and nobody unmaps the bottom of the first thread's stack. A byte that is written
        // meanwhile is one or the other.
        let byte = unsafe { std::ptr::read_volatile(at as *const u8) };
        match (seen, byte) {
            (Some(seen), 0) if seen > name.len() => return Some(len),
            (_, 0) => seen = Some(0),
            (Some(seen), _) if seen > name.len() => {
                *value.get_mut(len)? = byte;
                len += 1;
            }
            (Some(at), _) if *name.as_bytes().get(at).unwrap_or(&b'=') == byte => {
                seen = Some(at + 1);
            }
            _ => seen = None,
        }
    }
    None
}

/// Where it begins and ends, as far as that is mapped.
fn place() -> Option<(usize, usize)> {
    let file = Descriptor::open(c"/proc/self/stat", libc::O_RDONLY)?;
    let mut text = [0_u8; 1024];
    // SAFETY: fills our bytes in.
    let got = unsafe { libc::syscall(libc::SYS_read, file.0, text.as_mut_ptr(), text.len()) };
    let text = text.get(..usize::try_from(got).ok()?)?;
    // The second field is a name in parentheses, which may have spaces in it.
    let name = text.iter().rposition(|byte| *byte == b')')?;
    let mut fields = text.get(name + 2..)?.split(|byte| *byte == b' ');
    let mut number = |skipped| {
        let field = std::str::from_utf8(fields.nth(skipped)?).ok()?;
        field.trim_end().parse::<usize>().ok()
    };
    let (start, end) = (number(ENV_START - 3)?, number(0)?);
    let end = end.min(start.checked_add(MOST)?);
    let first = start & !(PAGE - 1);
    let mut resident = [0_u8; MOST / PAGE + 2];
    // SAFETY: fills in a byte for each page, of which there are no more.
    let mapped = unsafe {
        let pages = std::ptr::with_exposed_provenance_mut(first);
        libc::mincore(pages, end.checked_sub(first)?, resident.as_mut_ptr()) == 0
    };
    mapped.then_some((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_what_the_process_was_started_with() {
        let all = std::fs::read("/proc/self/environ").expect("it is our own");
        let mut looked_at = 0;
        for variable_and_value in all.split(|byte| *byte == 0) {
            let text = String::from_utf8_lossy(variable_and_value);
            let Some((name, expected)) = text.split_once('=') else {
                continue;
            };
            let mut value = vec![0; expected.len()];
            let len = variable(name, &mut value).expect("it is set");
            assert_eq!(&value[..len], expected.as_bytes(), "{name}");
            if !expected.is_empty() {
                assert_eq!(variable(name, &mut value[1..]), None, "{name}: no room");
            }
            looked_at += 1;
        }
        assert!(looked_at > 0);
        assert_eq!(variable("NOBODY_SETS_THIS", &mut [0; 8]), None);
    }
}
