//! The file system that the tests work on: ext4 with a journal, in memory.
//!
//! What a machine for tests has is another matter. On an ext4 without a journal, which virtual machines of a day
//! often have, a file is made after a look at every inode that was freed in the last minute (`find_inode_bit` in
//! fs/ext4/ialloc.c). The suite makes and removes files by the thousand: 2000 files, made and removed three times, took
//! 1.0, 2.2 and 2.6 s to make there, and 0.2 s or less in memory, on the same busy machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};

use crate::shell;

/// Bytes that tests may have in files; only what is used takes memory.
const SIZE: u64 = 8 << 30;

/// Mounted where only this process and those that it starts see it: it goes with them.
#[derive(Debug)]
pub(super) struct Disk {
    path: PathBuf,
}

impl Disk {
    pub(super) fn mount() -> anyhow::Result<Self> {
        unshare(CloneFlags::CLONE_NEWNS).context("a mount namespace for the tests' disk")?;
        let none = None::<&str>;
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)
            .context("keep mounts to ourselves")?;
        let disk = Self {
            path: std::env::temp_dir().join(format!("t{}", std::process::id())),
        };
        let memory = disk.memory();
        for folder in [memory.as_path(), disk.path()] {
            std::fs::create_dir_all(folder)?;
        }
        let size = format!("size={SIZE}");
        mount(
            Some("tmpfs"),
            &memory,
            Some("tmpfs"),
            MsFlags::empty(),
            Some(size.as_str()),
        )
        .context("memory for the tests' disk")?;
        let image = memory.join("ext4");
        std::fs::File::create(&image)?.set_len(SIZE)?;
        let make = ["-q", "-F", "-O", "has_journal"];
        shell::run(Command::new("mkfs.ext4").args(make).arg(&image))?;
        let mut command = Command::new("mount");
        command.args(["-t", "ext4", "-o", "loop"]);
        shell::run(command.arg(&image).arg(disk.path()))?;
        // As /tmp: tests run programs of other users.
        shell::run(Command::new("chmod").arg("1777").arg(disk.path()))?;
        Ok(disk)
    }

    /// For `TMPDIR`: short, for sockets lie there, whose names may have 107 bytes.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn memory(&self) -> PathBuf {
        self.path.with_extension("memory")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let unmount = |path: &Path| umount2(path, MntFlags::MNT_DETACH);
        // What is not removed now is an empty folder.
        let memory = self.memory();
        for path in [self.path(), &memory] {
            let _ = unmount(path);
            let _ = std::fs::remove_dir(path);
        }
    }
}
