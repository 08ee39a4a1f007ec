//! What `strobe run` had put into the environment that the process was started in.
//!
//! The program's own functions may be at work on what has become of that, and a process that has become another user's may
//! not open `/proc/self/environ`: so the bytes are read where the kernel has put them, as that file would read them. A program
//! may write something else over them, as setproctitle(3) does: so it is done at the first call of any that is watched.

use std::ffi::c_char;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use strobe_proto::environment::{GIVEN, LIBRARY, PRELOAD};

use crate::kernel::{Descriptor, keep_errno};

/// Bytes of the environment that are looked at.
const MOST: usize = 1 << 20;
/// Bytes of what is given.
const TEXT: usize = 4096;
const PAGE: usize = 4096;
/// The number of a field of proc_pid_stat(5); the next is its end.
const ENV_START: usize = 50;

/// Of the last only our own library.
const NAMES: [&str; GIVEN.len() + 1] = [GIVEN[0], GIVEN[1], GIVEN[2], PRELOAD];

/// What has been found. Whoever looks meanwhile writes the same: nobody waits, and a fork leaves nothing half done.
struct Found {
    is_known: AtomicBool,
    /// Of each, where it begins in the text, and in the lower half how long it is; or nothing.
    places: [AtomicU64; NAMES.len()],
    text: [AtomicU8; TEXT],
}

static FOUND: Found = Found {
    is_known: AtomicBool::new(false),
    places: [const { AtomicU64::new(0) }; _],
    text: [const { AtomicU8::new(0) }; _],
};

/// A string `NAME=value` with the zero behind it, which stays where it is.
#[derive(Clone, Copy)]
pub(crate) struct Variable {
    pub(crate) text: &'static [AtomicU8],
    /// Bytes before the value.
    pub(crate) before: usize,
}

impl Variable {
    pub(crate) fn as_ptr(self) -> *const c_char {
        self.text.as_ptr().cast()
    }

    /// The value as a string.
    pub(crate) fn value(self) -> *const c_char {
        self.text[self.before..].as_ptr().cast()
    }

    /// Without the zero.
    pub(crate) fn bytes(self) -> impl ExactSizeIterator<Item = u8> {
        let text = &self.text[..self.text.len() - 1];
        text.iter().map(|byte| byte.load(Ordering::Relaxed))
    }

    /// Likewise.
    pub(crate) fn value_bytes(self) -> impl ExactSizeIterator<Item = u8> {
        self.bytes().skip(self.before)
    }
}

/// Looks, unless that was done.
pub fn look_up() {
    if !FOUND.is_known.load(Ordering::Acquire) {
        keep_errno(|| {
            // There may be no descriptor left just now.
            FOUND.fill(&environment()?);
            FOUND.is_known.store(true, Ordering::Release);
            Some(())
        });
    }
}

/// One of [`NAMES`]; `None` where it was not given, or something else had been written over it.
pub(crate) fn variable(name: &str) -> Option<Variable> {
    look_up();
    let at = NAMES.iter().position(|other| *other == name)?;
    let place = FOUND.places[at].load(Ordering::Relaxed);
    let (start, len) = ((place >> 32) as usize, place as u32 as usize);
    (len > 0).then(|| Variable {
        text: &FOUND.text[start..start + len],
        before: name.len() + 1,
    })
}

impl Found {
    #[cold]
    #[inline(never)]
    fn fill(&self, environment: &Bytes) {
        let mut used = 0;
        for (name, place) in NAMES.iter().zip(&self.places) {
            let Some(value) = environment.variable(name) else {
                continue;
            };
            let value = match *name == PRELOAD {
                true => environment.library(value),
                false => value,
            };
            let len = name.len() + 1 + value.len() + 1;
            let Some(text) = self.text.get(used..used + len) else {
                continue;
            };
            if value.is_empty() {
                continue;
            }
            let name = name.bytes().chain([b'=']);
            let all = name.chain(value.map(|at| environment.byte(at))).chain([0]);
            for (to, from) in text.iter().zip(all) {
                to.store(from, Ordering::Relaxed);
            }
            place.store((used as u64) << 32 | len as u64, Ordering::Relaxed);
            used += len;
        }
    }
}

/// Bytes that are mapped, and stay so: nobody unmaps the bottom of the first thread's stack.
struct Bytes(Range<usize>);

impl Bytes {
    /// One that is written meanwhile is one or the other.
    fn byte(&self, at: usize) -> u8 {
        if !self.0.contains(&at) {
            return 0;
        }
        // SAFETY: it is mapped.
        unsafe { std::ptr::read_volatile(at as *const u8) }
    }

    /// Where the value of a variable is.
    fn variable(&self, name: &str) -> Option<Range<usize>> {
        // How much of `NAME=` has been seen, and then where the value begins.
        let (mut seen, mut start) = (Some(0), 0);
        for at in self.0.clone() {
            match (seen, self.byte(at)) {
                (Some(seen), 0) if seen > name.len() => return Some(start..at),
                (_, 0) => seen = Some(0),
                (Some(seen), _) if seen > name.len() => {}
                (Some(place), byte) if *name.as_bytes().get(place).unwrap_or(&b'=') == byte => {
                    seen = Some(place + 1);
                    start = at + 1;
                }
                _ => seen = None,
            }
        }
        None
    }

    /// Where our library is in a list of those to preload; nothing where it is not.
    fn library(&self, list: Range<usize>) -> Range<usize> {
        let mut start = list.start;
        for at in list.clone().chain([list.end]) {
            if at < list.end && !matches!(self.byte(at), b':' | b' ') {
                continue;
            }
            let name = at.saturating_sub(LIBRARY.len());
            let is_name = name == start || name > start && self.byte(name - 1) == b'/';
            if is_name && (name..at).map(|at| self.byte(at)).eq(LIBRARY.bytes()) {
                return start..at;
            }
            start = at + 1;
        }
        list.end..list.end
    }
}

/// What the process was started with, as far as that is mapped.
#[cold]
#[inline(never)]
fn environment() -> Option<Bytes> {
    let file = Descriptor::open(c"/proc/self/stat", libc::O_RDONLY)?;
    let mut text = [0_u8; 1024];
    let got = file.read(&mut text)?;
    let text = text.get(..got)?;
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
    mapped.then_some(Bytes(start..end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_what_the_process_was_started_with() {
        let all = std::fs::read("/proc/self/environ").expect("it is our own");
        let environment = environment().expect("it is mapped");
        let mut looked_at = 0;
        for variable_and_value in all.split(|byte| *byte == 0) {
            let text = String::from_utf8_lossy(variable_and_value);
            let Some((name, expected)) = text.split_once('=') else {
                continue;
            };
            let value = environment.variable(name).expect("it is set");
            let value: Vec<_> = value.map(|at| environment.byte(at)).collect();
            assert_eq!(value, expected.as_bytes(), "{name}");
            looked_at += 1;
        }
        assert!(looked_at > 0);
        assert_eq!(environment.variable("NOBODY_SETS_THIS"), None);
    }

    fn found(environment: &[u8]) -> [String; NAMES.len()] {
        let start = environment.as_ptr() as usize;
        let found = Found {
            is_known: AtomicBool::new(false),
            places: [const { AtomicU64::new(0) }; _],
            text: [const { AtomicU8::new(0) }; _],
        };
        found.fill(&Bytes(start..start + environment.len()));
        found.places.each_ref().map(|place| {
            let place = place.load(Ordering::Relaxed);
            let (start, len) = ((place >> 32) as usize, place as u32 as usize);
            let text = &found.text[start..start + len];
            text.iter()
                .map(|byte| char::from(byte.load(Ordering::Relaxed)))
                .collect()
        })
    }

    #[test]
    fn of_what_is_preloaded_our_library_is_kept() {
        let library = |list: &str| {
            let [.., library] = found(format!("LD_PRELOAD={list}\0").as_bytes());
            library
        };
        let ours = "LD_PRELOAD=/at/libstrobe.so\0";
        assert_eq!(library("/at/libstrobe.so"), ours);
        assert_eq!(library("/x.so /at/libstrobe.so:/y.so"), ours);
        assert_eq!(library("libstrobe.so"), "LD_PRELOAD=libstrobe.so\0");
        for other in ["", "/at/mylibstrobe.so", "/at/libstrobe.so.1", "so", ":"] {
            assert_eq!(library(other), "", "{other}");
        }
    }

    #[test]
    fn what_is_empty_or_too_long_is_not_given() {
        let long = "x".repeat(TEXT);
        let all = format!("STROBE_JOURNAL=\0STROBE_LAUNCH_LOG={long}\0STROBE_TREE=12\0A=b\0");
        let expected = ["", "STROBE_TREE=12\0", "", ""].map(str::to_owned);
        assert_eq!(found(all.as_bytes()), expected);
        assert_eq!(
            found(b"STROBE_TREE=12"),
            [""; 4].map(str::to_owned),
            "no end"
        );
    }
}
