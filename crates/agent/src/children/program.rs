//! A program that is about to be started and will not be watched: it is named in the journal, unless it is none.

use std::ffi::{CStr, c_char};

use crate::journal::{Absolute, Given, is_refused, note_unwatched};
use crate::readable::Reader;

use super::{Strings, Variables, value};

/// What a program is about to start.
#[derive(Clone, Copy, Debug)]
pub enum NewProgram {
    /// A file; with an empty path the one that is open as `folder`, which is -1 where a relative path begins elsewhere.
    File(Given),
    /// One of this name, in a folder of `PATH` in this environment unless it has a slash.
    Searched(Given, Strings),
    /// What a shell is told.
    Command(*const c_char),
}

impl NewProgram {
    /// # Safety
    /// Nobody changes it meanwhile.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn note(self) -> Option<()> {
        let name = match self {
            Self::File(given) | Self::Searched(given, _) => given.path,
            Self::Command(text) => text,
        };
        // SAFETY: the caller's promise.
        let name = unsafe { Reader::new().string(name) }?;
        match self {
            Self::File(given) if name.is_empty() => {
                let mut file = Absolute::NONE;
                file.read_descriptor(given.folder)?;
                note_unwatched(file.bytes());
                return Some(());
            }
            Self::File(given) if is_refused(given, libc::X_OK) => return None,
            Self::Searched(given, _) if name.to_bytes().contains(&b'/') => {
                if is_refused(given, libc::X_OK) {
                    return None;
                }
            }
            // SAFETY: the caller's promise.
            Self::Searched(_, environment) if !unsafe { is_found(name, environment) } => {
                return None;
            }
            Self::File(_) | Self::Searched(..) | Self::Command(_) => {}
        }
        note_unwatched(name.to_bytes());
        Some(())
    }
}

/// As execvp(3) looks.
///
/// # Safety
/// Nobody changes them meanwhile.
unsafe fn is_found(name: &CStr, environment: Strings) -> bool {
    let variables = Variables(environment);
    // SAFETY: the caller's promise.
    let all = unsafe { variables.each() }.flatten();
    let folders = all.filter_map(|variable| value(variable, "PATH")).next();
    let folders = folders.unwrap_or(b"/bin:/usr/bin");
    folders.split(|byte| *byte == b':').any(|folder| {
        let folder = match folder.is_empty() {
            true => b".",
            false => folder,
        };
        let mut path = Absolute::NONE;
        let parts = [folder, b"/", name.to_bytes()];
        // What is too long is not there.
        parts.iter().all(|part| path.push(part).is_some()) && !is_refused(path.given(), libc::X_OK)
    })
}
