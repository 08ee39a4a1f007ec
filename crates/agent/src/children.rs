//! Children that the program starts in an environment of their own: they get back what `strobe run` had put into its own,
//! so that they are watched, too.
//!
//! Runs between fork and exec, and in children that share their parent's memory: nothing here waits, allocates or locks.

use std::ffi::{CStr, c_char};

use strobe_proto::environment::{GIVEN, LIBRARY, PRELOAD, TREE, UNWATCHED};

use crate::journal::{given, keep_errno, note_unwatched};

/// Variables of a child's; one that has more is left alone.
const MOST: usize = 1024;
/// Bytes of what it gets.
const TEXT: usize = 4096;

/// The variables of an environment, as a program passes them to `execve`.
#[derive(Clone, Copy)]
struct Variables(*const *const c_char);

impl Variables {
    /// # Safety
    /// It is null, or leads to strings and a null behind them.
    unsafe fn each(self) -> impl Iterator<Item = &'static CStr> {
        let mut next = self.0;
        std::iter::from_fn(move || {
            // SAFETY: the caller's promise; the null is not passed.
            let string = unsafe { if next.is_null() { next.cast() } else { *next } };
            if string.is_null() {
                return None;
            }
            // SAFETY: likewise.
            unsafe {
                next = next.add(1);
                Some(CStr::from_ptr(string))
            }
        })
    }
}

fn value<'a>(variable: &'a CStr, name: &str) -> Option<&'a [u8]> {
    let rest = variable.to_bytes().strip_prefix(name.as_bytes())?;
    rest.strip_prefix(b"=")
}

/// Our library in a list of libraries to preload.
fn ours(list: &[u8]) -> Option<&[u8]> {
    let is_ours = |path: &&[u8]| {
        let name = path.rsplit(|byte| *byte == b'/').next();
        name == Some(LIBRARY.as_bytes())
    };
    list.split(|byte| matches!(byte, b':' | b' ')).find(is_ours)
}

/// What is in an environment of that which we give.
#[derive(Default)]
struct Has {
    library: bool,
    given: [bool; GIVEN.len()],
    may_be_without: bool,
    /// The place of the list of libraries, of which the last counts.
    preload: Option<usize>,
    variables: usize,
}

impl Has {
    fn look(variables: impl Iterator<Item = &'static CStr>) -> Self {
        let mut has = Self::default();
        for (at, variable) in variables.enumerate() {
            has.variables += 1;
            if let Some(list) = value(variable, PRELOAD) {
                has.preload = Some(at);
                has.library = ours(list).is_some();
            }
            has.may_be_without |= value(variable, UNWATCHED).is_some();
            for (given, name) in has.given.iter_mut().zip(GIVEN) {
                *given |= value(variable, name).is_some_and(|value| !value.is_empty());
            }
        }
        has
    }

    /// The log of launches is there only if somebody has asked for one.
    fn is_whole(&self) -> bool {
        self.may_be_without || self.library && self.given[..2] == [true; 2]
    }
}

/// Passes on what a program is about to give a child as its environment, with what it lacks.
///
/// # Safety
/// The program is about to pass both to the C library.
pub unsafe fn watched<R>(
    program: *const c_char,
    environment: *const *const c_char,
    go_on: impl FnOnce(*const *const c_char) -> R,
) -> R {
    let variables = Variables(environment);
    // SAFETY: the caller's promise.
    let has = Has::look(unsafe { variables.each() });
    if has.is_whole() {
        return go_on(environment);
    }
    let mut room = Room::EMPTY;
    let mut instead = environment;
    keep_errno(|| {
        // SAFETY: likewise.
        match unsafe { room.fill(variables, &has) } {
            Filled::Watched => instead = room.variables.as_ptr(),
            // SAFETY: likewise.
            Filled::Unwatched => unsafe { note_unwatched(program) },
            Filled::NotOurs => {}
        }
        Some(())
    });
    go_on(instead)
}

/// The program is about to give a child an environment in a call that cannot be given another.
///
/// # Safety
/// As of [`watched`].
pub unsafe fn note_unless_watched(program: *const c_char, environment: *const *const c_char) {
    // SAFETY: the caller's promise.
    let has = Has::look(unsafe { Variables(environment).each() });
    if !has.is_whole() {
        keep_errno(|| {
            let mut value = [0; TEXT];
            given::variable(TREE, &mut value)?;
            // SAFETY: the caller's promise.
            unsafe { note_unwatched(program) };
            Some(())
        });
    }
}

/// What has become of a child's environment.
enum Filled {
    Watched,
    /// It has no room, or the library is not there for it.
    Unwatched,
    /// Nobody watches this process either.
    NotOurs,
}

/// An environment on the stack.
struct Room {
    variables: [*const c_char; MOST + GIVEN.len() + 2],
    text: [u8; TEXT],
    used: usize,
}

impl Room {
    const EMPTY: Self = Self {
        variables: [std::ptr::null(); _],
        text: [0; TEXT],
        used: 0,
    };

    /// # Safety
    /// As of [`watched`].
    unsafe fn fill(&mut self, variables: Variables, has: &Has) -> Filled {
        let mut list = [0; TEXT];
        if given::variable(TREE, &mut list).is_none() {
            return Filled::NotOurs;
        }
        let Some(len) = given::variable(PRELOAD, &mut list) else {
            return Filled::NotOurs;
        };
        let Some(library) = ours(&list[..len]) else {
            return Filled::NotOurs;
        };
        // SAFETY: the caller's promise.
        match unsafe { self.add(variables, has, library) } {
            Some(()) => Filled::Watched,
            None => Filled::Unwatched,
        }
    }

    /// # Safety
    /// As of [`watched`].
    unsafe fn add(&mut self, variables: Variables, has: &Has, library: &[u8]) -> Option<()> {
        if has.variables > MOST {
            return None;
        }
        // SAFETY: the caller's promise.
        let all = || unsafe { variables.each() };
        let mut count = 0;
        for (place, variable) in self.variables.iter_mut().zip(all()) {
            *place = variable.as_ptr();
            count += 1;
        }
        if !has.library {
            let before = has.preload.and_then(|at| value(all().nth(at)?, PRELOAD));
            let before = before.filter(|list| !list.is_empty());
            let place = self.used + PRELOAD.len() + 1;
            let text = self.push(&[PRELOAD.as_bytes(), b"=", library])?;
            // The program has become a user who may not read it, or has another root: the linker would complain.
            if !is_readable(&self.text[place..self.used]) {
                return None;
            }
            if let Some(before) = before {
                self.used -= 1;
                self.push(&[b":", before])?;
            }
            // Another thread may have added some since they were counted.
            *self.variables.get_mut(has.preload.unwrap_or(count))? = text;
            count += usize::from(has.preload.is_none());
        }
        for (name, _) in GIVEN.iter().zip(has.given).filter(|(_, has)| !has) {
            let mut value = [0; TEXT];
            // Not all are set.
            if let Some(len) = given::variable(name, &mut value) {
                let text = self.push(&[name.as_bytes(), b"=", &value[..len]])?;
                *self.variables.get_mut(count)? = text;
                count += 1;
            }
        }
        Some(())
    }

    /// Adds a string.
    fn push(&mut self, parts: &[&[u8]]) -> Option<*const c_char> {
        let start = self.used;
        for part in parts.iter().chain([&&b"\0"[..]]) {
            let end = self.used + part.len();
            self.text.get_mut(self.used..end)?.copy_from_slice(part);
            self.used = end;
        }
        Some(self.text[start..].as_ptr().cast())
    }
}

/// `path` has a zero behind it.
fn is_readable(path: &[u8]) -> bool {
    let path = CStr::from_bytes_until_nul(path).unwrap_or_default();
    let (folder, path) = (libc::AT_FDCWD, path.as_ptr());
    // SAFETY: a string that ends with a zero.
    unsafe { libc::syscall(libc::SYS_faccessat, folder, path, libc::R_OK) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(all: &[*const c_char]) -> Vec<String> {
        // SAFETY: strings of this test, and a null.
        let all = unsafe { Variables(all.as_ptr()).each() };
        all.map(|text| text.to_string_lossy().into_owned())
            .collect()
    }

    fn filled(variables: &[&'static CStr], library: &str) -> Option<Vec<String>> {
        let mut all: Vec<_> = variables.iter().map(|text| text.as_ptr()).collect();
        all.push(std::ptr::null());
        let all = Variables(all.as_ptr());
        // SAFETY: strings, and a null.
        let has = Has::look(unsafe { all.each() });
        let mut room = Room::EMPTY;
        // SAFETY: likewise.
        unsafe { room.add(all, &has, library.as_bytes()) }?;
        Some(strings(&room.variables))
    }

    #[test]
    fn the_library_comes_first_whatever_else_is_preloaded() {
        let library = std::env::current_exe().expect("it is there");
        let library = library.to_str().expect("a path of letters");
        let alone = format!("LD_PRELOAD={library}");
        let found = |variables: &[&'static CStr]| filled(variables, library).expect("it has room");
        assert_eq!(found(&[]), [alone.as_str()]);
        assert_eq!(found(&[c"A=b", c"LD_PRELOAD="]), ["A=b", &alone]);
        let both = format!("{alone}:/x.so");
        assert_eq!(found(&[c"LD_PRELOAD=/x.so", c"A=b"]), [&both, "A=b"]);
        let ours = [c"LD_PRELOAD=/x.so:/at/libstrobe.so"];
        assert_eq!(found(&ours), ["LD_PRELOAD=/x.so:/at/libstrobe.so"]);
        assert_eq!(filled(&[], "/nowhere/libstrobe.so"), None);
        assert_eq!(found(&[c"A=b"; MOST]).len(), MOST + 1);
        assert_eq!(filled(&[c"A=b"; MOST + 1], library), None);
        assert_eq!(filled(&[], &"/".repeat(TEXT)), None);
    }

    #[test]
    fn what_is_whole_or_wants_nothing_is_left_alone() {
        let is_whole = |all: &[&'static CStr]| Has::look(all.iter().copied()).is_whole();
        let given = [
            c"LD_PRELOAD=/x.so /at/libstrobe.so",
            c"STROBE_JOURNAL=/j",
            c"STROBE_TREE=1",
        ];
        assert!(is_whole(&given));
        assert!(!is_whole(&given[1..]) && !is_whole(&given[..2]) && !is_whole(&[]));
        assert!(!is_whole(&[
            c"LD_PRELOAD=/at/libstrobe.so.1",
            given[1],
            given[2]
        ]));
        assert!(is_whole(&[c"STROBE_UNWATCHED=1"]));
    }
}
