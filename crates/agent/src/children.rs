//! Children that the program starts in an environment of their own: they get back what `strobe run` had put into its own,
//! so that they are watched, too.
//!
//! Runs between fork and exec, and in children that share their parent's memory: nothing here waits, allocates or locks.

mod actions;
mod program;

use std::ffi::{CStr, c_char};

use strobe_proto::environment::{GIVEN, LIBRARY, PRELOAD, TREE, UNWATCHED};
use strobe_proto::journal;

use crate::given::{self, Variable};
use crate::kernel::keep_errno;
use crate::readable::Reader;

pub use actions::each_opening;
pub use program::NewProgram;

/// An array of strings that ends with a null.
pub type Strings = *const *const c_char;

/// Variables that a child may get more.
const MORE: usize = GIVEN.len() + 1;
/// Variables of a child's; one that has more is left alone.
const MOST: usize = 1024;
/// A word holds the address of a variable, or eight bytes of text. What needs more than the largest is left alone, too.
const ROOMS: [usize; 3] = [1 << 7, 1 << 9, MOST + (1 << 9)];

/// The variables of an environment, as a program passes them to `execve`: null or what is to be one, and anything in it.
#[derive(Clone, Copy)]
struct Variables(Strings);

impl Variables {
    /// Ends with `None` where it leads to what cannot be read.
    ///
    /// # Safety
    /// Nobody unmaps it while the results are in use.
    unsafe fn each<'a>(self) -> impl Iterator<Item = Option<&'a CStr>> {
        let mut next = self.0;
        let (mut array, mut strings) = (Reader::new(), Reader::new());
        std::iter::from_fn(move || {
            if next.is_null() {
                return None;
            }
            if !array.can_read(next as usize, size_of::<*const c_char>()) {
                next = std::ptr::null();
                return Some(None);
            }
            // SAFETY: the kernel has read it, and the caller's promise.
            let string = unsafe { next.read_unaligned() };
            if string.is_null() {
                return None;
            }
            next = next.wrapping_add(1);
            // SAFETY: the caller's promise.
            let string = unsafe { strings.string(string) };
            if string.is_none() {
                next = std::ptr::null();
            }
            Some(string)
        })
    }
}

fn value<'a>(variable: &'a CStr, name: &str) -> Option<&'a [u8]> {
    let rest = variable.to_bytes().strip_prefix(name.as_bytes())?;
    rest.strip_prefix(b"=")
}

/// Whether our library is in a list of libraries to preload.
fn is_preloaded(list: &[u8]) -> bool {
    let is_ours = |path: &[u8]| {
        let name = path.rsplit(|byte| *byte == b'/').next();
        name == Some(LIBRARY.as_bytes())
    };
    list.split(|byte| matches!(byte, b':' | b' ')).any(is_ours)
}

/// Whether it is another journal than that of this process.
fn is_anothers(journal: &[u8]) -> bool {
    let own = given::variable(journal::VARIABLE);
    let is_same = |own: Variable| own.value_bytes().eq(journal.iter().copied());
    !journal.is_empty() && !own.is_none_or(is_same)
}

/// What is in an environment of that which we give.
#[derive(Default)]
struct Has<'a> {
    library: bool,
    given: [bool; GIVEN.len()],
    /// Its journal is that of another `strobe run`.
    is_anothers: bool,
    may_be_without: bool,
    /// The list of libraries and its place; the last one counts.
    preload: Option<(usize, &'a [u8])>,
    variables: usize,
}

impl<'a> Has<'a> {
    /// `None` where it cannot be read.
    fn look(variables: impl Iterator<Item = Option<&'a CStr>>) -> Option<Self> {
        let mut has = Self::default();
        for (at, variable) in variables.enumerate() {
            let variable = variable?;
            has.variables += 1;
            if let Some(list) = value(variable, PRELOAD) {
                has.preload = Some((at, list));
                has.library = is_preloaded(list);
            }
            has.may_be_without |= value(variable, UNWATCHED).is_some();
            has.is_anothers |= value(variable, journal::VARIABLE).is_some_and(is_anothers);
            for (given, name) in has.given.iter_mut().zip(GIVEN) {
                *given |= value(variable, name).is_some_and(|value| !value.is_empty());
            }
        }
        Some(has)
    }

    /// The log of launches is there only if somebody has asked for one.
    fn is_whole(&self) -> bool {
        let is_watched = self.library && self.given[..2] == [true; 2] && !self.is_anothers;
        self.may_be_without || is_watched
    }

    /// What else is preloaded.
    fn others(&self) -> Option<&'a [u8]> {
        let (_, list) = self.preload?;
        Some(list).filter(|list| !list.is_empty())
    }
}

/// Passes on what a program is about to give a child as its environment, with what it lacks.
///
/// # Safety
/// The program is about to pass both to the C library, or to the kernel.
pub unsafe fn watched<R>(
    program: NewProgram,
    environment: Strings,
    go_on: impl FnOnce(Strings) -> R,
) -> R {
    let variables = Variables(environment);
    let mut has = None;
    keep_errno(|| {
        // SAFETY: the caller's promise.
        has = Some(Has::look(unsafe { variables.each() })?);
        Some(())
    });
    match has {
        Some(has) if !has.is_whole() => {
            // SAFETY: likewise.
            unsafe { with_what_it_lacks(program, variables, &has, go_on) }
        }
        // Of what cannot be read the kernel says `EFAULT`.
        _ => go_on(environment),
    }
}

/// The program is about to give a child an environment in a call that cannot be given another.
///
/// # Safety
/// As of [`watched`].
pub unsafe fn note_unless_watched(program: NewProgram, environment: Strings) {
    keep_errno(|| {
        // SAFETY: the caller's promise.
        let has = Has::look(unsafe { Variables(environment).each() })?;
        if has.is_whole() || given::variable(journal::VARIABLE).is_none() {
            return None;
        }
        // SAFETY: likewise.
        unsafe { program.note() }
    });
}

/// # Safety
/// As of [`watched`].
#[cold]
#[inline(never)]
unsafe fn with_what_it_lacks<R>(
    program: NewProgram,
    variables: Variables,
    has: &Has<'_>,
    go_on: impl FnOnce(Strings) -> R,
) -> R {
    // Nobody watches this process either.
    if given::variable(journal::VARIABLE).is_none() {
        return go_on(variables.0);
    }
    // What another run watches is left to that, and not put back by ours.
    let gift = Gift::find().filter(|_| !has.is_anothers);
    let needs = gift.as_ref().map_or(usize::MAX, |gift| gift.words(has));
    let what = (program, variables, has, gift);
    // SAFETY: likewise.
    unsafe {
        match needs {
            _ if needs <= ROOMS[0] => in_room::<{ ROOMS[0] }, R>(what, go_on),
            _ if needs <= ROOMS[1] => in_room::<{ ROOMS[1] }, R>(what, go_on),
            _ if needs <= ROOMS[2] => in_room::<{ ROOMS[2] }, R>(what, go_on),
            _ => in_room::<0, R>(what, go_on),
        }
    }
}

/// The environment is on the stack, which may be a small one: so it takes no more than it needs.
///
/// # Safety
/// As of [`watched`].
#[inline(never)]
unsafe fn in_room<const WORDS: usize, R>(
    (program, variables, has, gift): (NewProgram, Variables, &Has<'_>, Option<Gift>),
    go_on: impl FnOnce(Strings) -> R,
) -> R {
    let mut room = [std::ptr::null(); WORDS];
    let mut instead = variables.0;
    keep_errno(|| {
        // SAFETY: the caller's promise.
        match unsafe { gift.and_then(|gift| gift.add(&mut room, variables, has)) } {
            Some(()) => instead = room.as_ptr(),
            // SAFETY: likewise.
            None => unsafe { program.note()? },
        }
        Some(())
    });
    go_on(instead)
}

/// What a child gets.
#[derive(Clone, Copy)]
struct Gift {
    library: Variable,
    /// Not all are set.
    others: [Option<Variable>; GIVEN.len()],
}

impl Gift {
    /// `None` where it was written over.
    fn find() -> Option<Self> {
        given::variable(TREE)?;
        Some(Self {
            library: given::variable(PRELOAD)?,
            others: GIVEN.map(given::variable),
        })
    }

    /// How many are needed for all variables and the text.
    fn words(&self, has: &Has<'_>) -> usize {
        let text = match has.others() {
            _ if has.variables > MOST => return usize::MAX,
            Some(others) if !has.library => self.library.bytes().len() + 1 + others.len() + 1,
            _ => 0,
        };
        has.variables + MORE + 1 + text.div_ceil(size_of::<*const c_char>())
    }

    /// Fills a room with the variables and what they lack. `None` without room, or where the library is not there for a
    /// child.
    ///
    /// # Safety
    /// Nobody unmaps the variables meanwhile.
    unsafe fn add(
        &self,
        room: &mut [*const c_char],
        variables: Variables,
        has: &Has<'_>,
    ) -> Option<()> {
        let (names, text) = room.split_at_mut_checked(has.variables + MORE + 1)?;
        for (at, place) in names[..has.variables].iter_mut().enumerate() {
            // SAFETY: it was read before, and the caller's promise.
            *place = unsafe { variables.0.add(at).read_unaligned() };
        }
        let mut count = has.variables;
        let mut put = |at: Option<usize>, string: *const c_char| {
            *names.get_mut(at.unwrap_or(count))? = string;
            count += usize::from(at.is_none());
            Some(())
        };
        if !has.library {
            // The program has become a user who may not read it, or has another root: the linker would complain.
            if !is_readable(self.library.value()) {
                return None;
            }
            let list = match has.others() {
                Some(others) => preloaded(text, self.library, others)?,
                None => self.library.as_ptr(),
            };
            put(has.preload.map(|(at, _)| at), list)?;
        }
        for (variable, has) in self.others.iter().zip(has.given) {
            if let (Some(variable), false) = (variable, has) {
                put(None, variable.as_ptr())?;
            }
        }
        put(None, std::ptr::null())
    }
}

/// The library before others in a list, as a variable.
fn preloaded(
    room: &mut [*const c_char],
    library: Variable,
    others: &[u8],
) -> Option<*const c_char> {
    let (start, len) = (room.as_mut_ptr().cast::<u8>(), size_of_val(room));
    // SAFETY: the same bytes, of which all may be anything.
    let room = unsafe { std::slice::from_raw_parts_mut(start, len) };
    let others = others.iter().copied();
    let all = library.bytes().chain([b':']).chain(others).chain([0]);
    for (at, byte) in all.enumerate() {
        *room.get_mut(at)? = byte;
    }
    Some(start.cast())
}

fn is_readable(path: *const c_char) -> bool {
    // SAFETY: of what is no string the kernel says `EFAULT`.
    unsafe { libc::syscall(libc::SYS_faccessat, libc::AT_FDCWD, path, libc::R_OK) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::sync::atomic::AtomicU8;

    fn strings(all: &[*const c_char]) -> Vec<String> {
        // SAFETY: strings of this test, and a null.
        let all = unsafe { Variables(all.as_ptr()).each() };
        let text = |text: Option<&CStr>| text.expect("it is there").to_string_lossy().into_owned();
        all.map(text).collect()
    }

    fn filled(variables: &[&'static CStr], library: &str, words: usize) -> Option<Vec<String>> {
        let mut all: Vec<_> = variables.iter().map(|text| text.as_ptr()).collect();
        all.push(std::ptr::null());
        let all = Variables(all.as_ptr());
        // SAFETY: strings, and a null.
        let has = Has::look(unsafe { all.each() }).expect("they are there");
        let library = format!("{PRELOAD}={library}\0");
        let text: Vec<_> = library.bytes().map(AtomicU8::new).collect();
        let gift = Gift {
            library: Variable {
                text: text.leak(),
                before: PRELOAD.len() + 1,
            },
            others: [None; _],
        };
        let needs = Some(gift.words(&has)).filter(|needs| *needs < usize::MAX)?;
        let mut room = vec![std::ptr::null(); needs.min(words)];
        // SAFETY: likewise.
        unsafe { gift.add(&mut room, all, &has) }?;
        Some(strings(&room))
    }

    #[test]
    fn the_library_comes_first_whatever_else_is_preloaded() {
        let library = std::env::current_exe().expect("it is there");
        let library = library.to_str().expect("a path of letters");
        let alone = format!("LD_PRELOAD={library}");
        let found = |variables: &[&'static CStr]| {
            filled(variables, library, ROOMS[2]).expect("it has room")
        };
        assert_eq!(found(&[]), [alone.as_str()]);
        assert_eq!(found(&[c"A=b", c"LD_PRELOAD="]), ["A=b", &alone]);
        let both = format!("{alone}:/x.so");
        assert_eq!(found(&[c"LD_PRELOAD=/x.so", c"A=b"]), [&both, "A=b"]);
        let ours = [c"LD_PRELOAD=/x.so:/at/libstrobe.so"];
        assert_eq!(found(&ours), ["LD_PRELOAD=/x.so:/at/libstrobe.so"]);
        assert_eq!(filled(&[], "/nowhere/libstrobe.so", ROOMS[2]), None);
        assert_eq!(found(&[c"A=b"; MOST]).len(), MOST + 1);
        assert_eq!(filled(&[c"A=b"; MOST + 1], library, ROOMS[2]), None);
        assert_eq!(filled(&[c"LD_PRELOAD=/x.so"], library, MORE + 3), None);
    }

    #[test]
    fn what_is_whole_or_wants_nothing_is_left_alone() {
        let is_whole = |all: &[&'static CStr]| {
            let has = Has::look(all.iter().copied().map(Some));
            has.expect("they are there").is_whole()
        };
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
