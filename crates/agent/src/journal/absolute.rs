//! A path as it is from the root, whatever a program has given.

use std::ffi::{CStr, c_char, c_int};
use std::io::Write;

use strobe_proto::journal::PATH_BYTES;

use super::is_refused;
use crate::kernel::{Descriptor, Given};

/// A path that is not too long, with a zero behind it. It is filled where it is: the stack that a handler of a signal has
/// may be a small one.
pub(crate) struct Absolute {
    room: [u8; PATH_BYTES + 1],
    len: usize,
}

impl Absolute {
    pub(crate) const NONE: Self = Self {
        room: [0; PATH_BYTES + 1],
        len: 0,
    };

    /// A name, in the folder that it is in now: links on the way there may lead elsewhere later.
    ///
    /// # Safety
    /// The kernel has read the path, and nobody changes it meanwhile.
    pub(super) unsafe fn set(&mut self, given: Given) -> Option<()> {
        // SAFETY: the caller's promise.
        let path = unsafe { CStr::from_ptr(given.path) }.to_bytes();
        // A folder's own name may end with one.
        let end = path.iter().rposition(|byte| *byte != b'/')? + 1;
        let slash = path[..end].iter().rposition(|byte| *byte == b'/');
        let (folder, name) = path[..end].split_at(slash.map_or(0, |slash| slash + 1));
        if !folder.is_empty() {
            self.len = 0;
            self.push(folder)?;
            let path = self.room.as_ptr().cast();
            let folder = given.folder;
            self.set_opened(Given { folder, path }, libc::O_DIRECTORY)?;
        } else if given.folder == libc::AT_FDCWD {
            self.read_current()?;
        } else {
            self.read_descriptor(given.folder)?;
        }
        if self.bytes() != b"/" {
            self.push(b"/")?;
        }
        self.push(name)
    }

    /// What is there now, by a path without links.
    pub(super) fn set_target(&mut self, given: Given) -> Option<()> {
        self.set_opened(given, 0)
    }

    fn set_opened(&mut self, given: Given, flags: c_int) -> Option<()> {
        let opened = Descriptor::at(given, libc::O_PATH | flags)?;
        self.read_descriptor(opened.0)
    }

    /// Of the calling thread's folder, which may be its own.
    fn read_current(&mut self) -> Option<()> {
        let room = self.room.as_mut_ptr();
        // SAFETY: room for as much as said.
        let found = unsafe { libc::syscall(libc::SYS_getcwd, room, PATH_BYTES) };
        // With a zero.
        self.len = usize::try_from(found).ok()?.checked_sub(1)?;
        Some(())
    }

    /// Of what is open, to the calling thread.
    pub(crate) fn read_descriptor(&mut self, number: c_int) -> Option<()> {
        let mut link = [0_u8; 48];
        write!(&mut link[..47], "/proc/thread-self/fd/{number}").ok()?;
        self.read_link(link.as_ptr().cast())
    }

    /// As a program would pass it.
    pub(crate) fn given(&self) -> Given {
        Given {
            folder: libc::AT_FDCWD,
            path: self.room.as_ptr().cast(),
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.room[..self.len]
    }

    pub(crate) fn push(&mut self, more: &[u8]) -> Option<()> {
        let end = self
            .len
            .checked_add(more.len())
            .filter(|end| *end <= PATH_BYTES)?;
        self.room[self.len..end].copy_from_slice(more);
        self.room[end] = 0;
        self.len = end;
        Some(())
    }

    /// Whether its folder is none in which this process may make or remove names.
    pub(super) fn is_fixed(&mut self) -> bool {
        const ROOT: Given = Given {
            folder: libc::AT_FDCWD,
            path: c"/".as_ptr(),
        };
        let is_refused = |folder| is_refused(folder, libc::W_OK | libc::X_OK);
        match self.bytes().iter().rposition(|byte| *byte == b'/') {
            None => false,
            Some(0) => is_refused(ROOT),
            Some(slash) => {
                self.room[slash] = 0;
                let is_refused = is_refused(self.given());
                self.room[slash] = b'/';
                is_refused
            }
        }
    }

    /// Where a symbolic link leads to, as it says. `path` has a zero behind it.
    fn read_link(&mut self, path: *const c_char) -> Option<()> {
        let room = self.room.as_mut_ptr();
        // SAFETY: a string that ends with a zero, and room for as much as said.
        let found =
            unsafe { libc::syscall(libc::SYS_readlinkat, libc::AT_FDCWD, path, room, PATH_BYTES) };
        // What fills all the room may be longer.
        self.len = usize::try_from(found)
            .ok()
            .filter(|len| *len < PATH_BYTES)?;
        self.room[self.len] = 0;
        Some(())
    }

    /// Where another leads to as a symbolic link; empty if that is none.
    pub(super) fn set_link(&mut self, of: &Self, stat: &libc::stat) {
        let is_link = stat.st_mode & libc::S_IFMT == libc::S_IFLNK;
        if is_link && self.read_link(of.room.as_ptr().cast()).is_none() {
            *self = Self::NONE;
        }
    }

    /// Of a link that leads to nothing yet, the path that the kernel would make. Of one that leads through too many it is
    /// left a link: nothing is made by it.
    #[inline(never)]
    pub(super) fn follow(&mut self) {
        /// path_resolution(7).
        const LINKS: usize = 40;
        let mut link = Self::NONE;
        for _ in 0..LINKS {
            if link.read_link(self.room.as_ptr().cast()).is_none() {
                return;
            }
            let folder = match link.bytes().starts_with(b"/") {
                true => None,
                false => self.bytes().iter().rposition(|byte| *byte == b'/'),
            };
            self.len = folder.map_or(0, |slash| slash + 1);
            // Too long a path is left as it was meant to be: nothing is made by it.
            if self.push(link.bytes()).is_none() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::os::fd::AsRawFd;

    use super::*;

    fn absolute(folder: c_int, path: &str) -> Option<Vec<u8>> {
        let path = CString::new(path).expect("no zero is in it");
        let path = path.as_ptr();
        let mut all = Absolute::NONE;
        // SAFETY: a string, which stays.
        let set = unsafe { all.set(Given { folder, path }) };
        set.map(|()| all.bytes().to_vec())
    }

    #[test]
    fn relative_paths_begin_where_the_program_says() {
        let folder = std::fs::File::open("/usr").expect("it is there");
        let found = absolute(folder.as_raw_fd(), "lib");
        assert_eq!(found.as_deref(), Some(&b"/usr/lib"[..]));
        let here = std::env::current_dir().expect("it is there").join("x");
        let found = absolute(libc::AT_FDCWD, "x");
        assert_eq!(found.as_deref(), Some(here.as_os_str().as_encoded_bytes()));
        assert_eq!(absolute(-1, "x"), None);
        assert_eq!(absolute(0, ""), None);
        let long = |bytes: usize| format!("/{}", "x".repeat(bytes - 1));
        assert_eq!(absolute(0, &long(PATH_BYTES + 1)), None);
        assert!(absolute(0, &long(PATH_BYTES)).is_some());
    }

    #[test]
    fn what_is_made_through_a_link_is_what_it_leads_to() {
        let folder = tempfile::tempdir().expect("there is room");
        let followed = |target: &str| {
            let path = folder.path().join("link");
            let _ = std::fs::remove_file(&path);
            std::os::unix::fs::symlink(target, &path).expect("there is room");
            let mut all = Absolute::NONE;
            all.push(path.as_os_str().as_encoded_bytes())
                .expect("it has room");
            all.follow();
            String::from_utf8_lossy(all.bytes()).into_owned()
        };
        assert_eq!(followed("/nowhere/to"), "/nowhere/to");
        let inside = format!("{}/v9", folder.path().display());
        assert_eq!(followed("v9"), inside);
        let other = folder.path().join("other");
        std::os::unix::fs::symlink("v9", other).expect("there is room");
        assert_eq!(followed("other"), inside);
        assert!(followed("link").ends_with("/link"), "in a circle");
    }
}
