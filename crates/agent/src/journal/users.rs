//! Where a process keeps a journal that may not write that of its `strobe run`: it has become another user's.

use std::io::Write;

use strobe_proto::journal::{OLDER, USERS};

use crate::kernel::Descriptor;

use super::{JOURNAL_BYTES, JournalPath, as_string};

/// The path of the user's, in a folder that is there then, and is nobody else's to write.
pub(super) fn path(journal: &JournalPath) -> Option<JournalPath> {
    // SAFETY: takes nothing, and asks the kernel.
    let user = unsafe { libc::geteuid() };
    let mut path = [0; JOURNAL_BYTES];
    // With room for what may come behind it.
    let room = JOURNAL_BYTES - OLDER.len() - 1;
    let mut rest = &mut path[..room];
    write!(rest, "{USERS}{user}").ok()?;
    let len = room - rest.len();
    make_folder(&path, user)?;
    let name = as_string(journal).to_bytes().rsplit(|byte| *byte == b'/');
    let mut rest = &mut path[len..room];
    rest.write_all(b"/").ok()?;
    rest.write_all(name.into_iter().next()?).ok()?;
    Some(path)
}

/// In `/var/tmp` only its owner gives a folder another name: what it is now, it stays.
fn make_folder(path: &JournalPath, user: libc::uid_t) -> Option<()> {
    let name = as_string(path);
    // SAFETY: a string that ends with a zero. That it is there already is said in the same way as all that is amiss.
    unsafe { libc::syscall(libc::SYS_mkdirat, libc::AT_FDCWD, name.as_ptr(), 0o700) };
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let folder = Descriptor::open(name, flags)?.stat()?;
    (folder.st_uid == user && folder.st_mode & 0o022 == 0).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal(path: &[u8]) -> JournalPath {
        let mut journal = [0; JOURNAL_BYTES];
        journal[..path.len()].copy_from_slice(path);
        journal
    }

    #[test]
    fn it_has_the_same_name_in_a_folder_of_the_user_s() {
        // SAFETY: takes nothing, and asks the kernel.
        let user = unsafe { libc::geteuid() };
        let found = path(&journal(b"/root/journals/AbC")).expect("it can be made");
        let expected = format!("{USERS}{user}/AbC");
        assert_eq!(as_string(&found).to_bytes(), expected.as_bytes());
        assert_eq!(path(&journal(&[b'a'; JOURNAL_BYTES - 1])), None);
    }

    #[test]
    fn a_folder_that_others_may_write_is_none() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().expect("there is room");
        // SAFETY: takes nothing, and asks the kernel.
        let user = unsafe { libc::geteuid() };
        let at = |name: &str| folder.path().join(name);
        let made = |name: &str, user| {
            make_folder(&journal(at(name).as_os_str().as_encoded_bytes()), user).is_some()
        };
        assert!(made("own", user) && made("own", user));
        assert!(!made("own", user + 1));
        symlink(at("own"), at("link")).expect("there is room");
        assert!(!made("link", user));
        std::fs::write(at("file"), "").expect("there is room");
        assert!(!made("file", user));
        let open = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(at("own"), open).expect("it is ours");
        assert!(!made("own", user));
    }
}
