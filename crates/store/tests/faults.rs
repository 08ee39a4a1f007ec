//! Every operation on disk may fail, or be the last one before the process or the machine dies.
//! Whatever happens, the checkpoint is afterwards absent or complete.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use strobe_proto::{ByteRange, GpuProcess, Manifest, TrackedExtent};
use strobe_store::{Checkpoint, CheckpointWriter, CommitError, Disk, LocalDisk};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// One operation finds the disk full.
    Full,
    /// The process is killed in an operation.
    Kill,
    /// The machine loses power in it: what was not made durable is lost.
    Power,
    /// As `Power`, but the file system got round to the rename before everything else.
    PowerAfterRename,
}

/// What would be lost if the power failed now.
#[derive(Debug, Default)]
struct Volatile {
    operations: u64,
    dead: bool,
    files: BTreeSet<PathBuf>,
    entries: BTreeSet<PathBuf>,
    renamed: Option<(PathBuf, PathBuf)>,
}

/// A local disk on which operation number `at`, from 0, is struck by `fault`.
#[derive(Debug)]
struct FaultyDisk {
    at: u64,
    fault: Fault,
    /// A broken store: claims durability that it never asked for.
    never_syncs: bool,
    /// Its file system can be made durable as a whole.
    at_once: bool,
    volatile: Mutex<Volatile>,
}

impl FaultyDisk {
    fn new(at: u64, fault: Fault, at_once: bool) -> FaultyDisk {
        FaultyDisk {
            at,
            fault,
            never_syncs: false,
            at_once,
            volatile: Mutex::default(),
        }
    }

    /// Counts an operation; an error if it does not happen.
    fn operation(&self) -> io::Result<()> {
        let mut volatile = self.volatile.lock().unwrap();
        let hit = volatile.operations == self.at;
        volatile.operations += 1;
        if hit && self.fault == Fault::Full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        volatile.dead |= hit;
        if volatile.dead {
            Err(io::Error::other("dead"))
        } else {
            Ok(())
        }
    }

    fn made(&self, path: &Path, has_content: bool) {
        let mut volatile = self.volatile.lock().unwrap();
        volatile.entries.insert(path.to_owned());
        if has_content {
            volatile.files.insert(path.to_owned());
        }
    }

    /// A file that CRIU wrote.
    fn foreign_file(&self, path: &Path, content: &[u8]) {
        if fs::write(path, content).is_ok() {
            self.made(path, true);
        }
    }

    /// What the next boot finds.
    fn reboot(&self) {
        let volatile = self.volatile.lock().unwrap();
        if !matches!(self.fault, Fault::Power | Fault::PowerAfterRename) {
            return;
        }
        let now = |path: &Path| match &volatile.renamed {
            Some((from, to)) => path
                .strip_prefix(from)
                .map_or(path.to_owned(), |p| to.join(p)),
            None => path.to_owned(),
        };
        for file in &volatile.files {
            if let Ok(file) = File::options().write(true).open(now(file)) {
                file.set_len(file.metadata().unwrap().len() / 2).unwrap();
            }
        }
        for entry in volatile.entries.iter().rev() {
            let entry = now(entry);
            let renamed = volatile
                .renamed
                .as_ref()
                .is_some_and(|(_, to)| *to == entry);
            if !renamed && entry.is_dir() {
                fs::remove_dir_all(entry).unwrap();
            } else if entry.is_file() {
                fs::remove_file(entry).unwrap();
            }
        }
        if let (Some((from, to)), Fault::Power) = (&volatile.renamed, self.fault) {
            fs::rename(to, from).unwrap();
        }
    }
}

impl Disk for FaultyDisk {
    fn make_dir(&self, path: &Path) -> io::Result<()> {
        self.operation()?;
        self.made(path, false);
        LocalDisk.make_dir(path)
    }

    fn write_locked(&self, path: &Path, content: &[u8]) -> io::Result<File> {
        self.operation()?;
        self.made(path, true);
        LocalDisk.write_locked(path, content)
    }

    fn write(&self, path: &Path, parts: &[&[u8]]) -> io::Result<()> {
        let whole = parts.concat();
        self.made(path, true);
        let outcome = self.operation();
        let len = if outcome.is_ok() {
            whole.len()
        } else {
            whole.len() / 2
        };
        LocalDisk.write(path, &[&whole[..len]])?;
        outcome
    }

    fn link(&self, existing: &Path, path: &Path) -> io::Result<()> {
        self.operation()?;
        self.made(path, false);
        LocalDisk.link(existing, path)
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        self.operation()?;
        if self.never_syncs {
            return Ok(());
        }
        let mut volatile = self.volatile.lock().unwrap();
        volatile.files.remove(path);
        volatile
            .entries
            .retain(|entry| entry.parent() != Some(path));
        if volatile
            .renamed
            .as_ref()
            .is_some_and(|(_, to)| to.parent() == Some(path))
        {
            volatile.renamed = None;
        }
        LocalDisk.sync(path)
    }

    fn sync_file_system(&self, folder: &Path) -> io::Result<bool> {
        if !self.at_once {
            return Ok(false);
        }
        self.operation()?;
        if !self.never_syncs {
            let mut volatile = self.volatile.lock().unwrap();
            volatile.files.clear();
            volatile.entries.clear();
            LocalDisk.sync_file_system(folder)?;
        }
        Ok(true)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.operation()?;
        LocalDisk.remove_file(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.operation()?;
        LocalDisk.rename(from, to)?;
        let mut volatile = self.volatile.lock().unwrap();
        volatile.entries.remove(from);
        volatile.renamed = Some((from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.operation()?;
        LocalDisk.remove(path)
    }
}

/// Writes a small checkpoint with a base; the error says where it ended.
fn attempt(disk: &Arc<FaultyDisk>, target: &Path, base: &Path) -> Result<(), String> {
    let mut writer = CheckpointWriter::create_on(disk.clone(), target, Some(base))
        .map_err(|error| format!("create: {error}"))?;
    let raw: [&[u8]; 4] = [&[1; 4096], &[2; 4096], &[0; 4096], b"the quick brown fox"];
    let put = |raw: &&[u8]| writer.put(raw).map_err(|error| format!("put: {error}"));
    let chunks = raw.iter().map(put).collect::<Result<_, _>>()?;
    disk.foreign_file(&writer.criu_dir().join("core-1.img"), &[9; 999]);
    disk.foreign_file(&writer.criu_dir().join("pages-1.img"), &[8; 9999]);
    writer
        .put_image("pages-1.img", [4096, 100].into_iter(), 4096)
        .map_err(|error| format!("put: {error}"))?;
    let extent = ByteRange {
        start: 4096,
        len: raw.iter().map(|raw| raw.len() as u64).sum(),
    };
    let manifest = Manifest {
        chunk_bytes: 4096,
        processes: vec![GpuProcess {
            tracked: vec![TrackedExtent {
                extent: Some(extent),
                chunks,
                ..TrackedExtent::default()
            }],
            ..GpuProcess::default()
        }],
        ..Manifest::default()
    };
    match writer.commit(manifest) {
        Ok(_) => Ok(()),
        Err(error @ CommitError::NotDurable(_)) => Err(format!("not durable: {error}")),
        Err(error) => Err(format!("commit: {error}")),
    }
}

/// Whether there is a complete checkpoint; an incomplete one is a failure.
fn is_complete(target: &Path, when: &str) -> bool {
    if !target.exists() {
        return false;
    }
    let checkpoint = Checkpoint::open(target).unwrap_or_else(|damage| panic!("{when}: {damage}"));
    checkpoint
        .verify(&mut |_| {})
        .unwrap_or_else(|damage| panic!("{when}: {damage}"));
    true
}

/// How much lies in staging directories.
fn leftovers(folder: &Path) -> usize {
    let names = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let staging = names.filter(|path| path.to_str().unwrap().contains(".staging-"));
    staging
        .map(|path| fs::read_dir(path).unwrap().count())
        .sum()
}

fn make_base(folder: &Path) -> PathBuf {
    let base = folder.join("base");
    let mut writer = CheckpointWriter::create(&base, None).unwrap();
    let chunk = writer.put(&[1; 4096]).unwrap();
    let tracked = TrackedExtent {
        extent: Some(ByteRange {
            start: 0,
            len: 4096,
        }),
        chunks: vec![chunk],
        ..TrackedExtent::default()
    };
    let manifest = Manifest {
        chunk_bytes: 4096,
        processes: vec![GpuProcess {
            tracked: vec![tracked],
            ..GpuProcess::default()
        }],
        ..Manifest::default()
    };
    writer.commit(manifest).unwrap();
    base
}

fn operations_of_a_whole_run(at_once: bool) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let disk = Arc::new(FaultyDisk::new(u64::MAX, Fault::Kill, at_once));
    attempt(&disk, &folder.path().join("cp"), &make_base(folder.path())).unwrap();
    let operations = disk.volatile.lock().unwrap().operations;
    assert!(
        operations > 20,
        "{operations} operations cannot be a whole run"
    );
    operations
}

#[test]
fn a_full_disk_is_reported_and_leaves_nothing() {
    let cases = [false, true].map(|at_once| (at_once, operations_of_a_whole_run(at_once)));
    let all = cases.map(|(at_once, count)| (0..count).map(move |at| (at_once, at)));
    for (at_once, at) in all.into_iter().flatten() {
        let folder = tempfile::tempdir().unwrap();
        let (base, target) = (make_base(folder.path()), folder.path().join("cp"));
        let disk = Arc::new(FaultyDisk::new(at, Fault::Full, at_once));
        let outcome = attempt(&disk, &target, &base);
        let complete = is_complete(&target, &format!("disk full at operation {at}"));
        match outcome {
            // Only a failed link is made good.
            Ok(()) => assert!(complete, "operation {at}"),
            Err(error) => {
                assert!(
                    error.contains("the disk is full"),
                    "operation {at}: {error}"
                );
                assert_eq!(
                    complete,
                    error.starts_with("not durable"),
                    "operation {at}: {error}"
                );
            }
        }
        assert_eq!(leftovers(folder.path()), 0, "operation {at}");
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            1 + usize::from(complete)
        );
    }
}

#[test]
fn whatever_operation_is_the_last_the_checkpoint_is_absent_or_complete() {
    let faults = [Fault::Kill, Fault::Power, Fault::PowerAfterRename];
    let cases = faults.map(|fault| [false, true].map(|at_once| (fault, at_once)));
    for (fault, at_once) in cases.into_iter().flatten() {
        let operations = operations_of_a_whole_run(at_once);
        let mut completed = 0;
        for at in 0..=operations {
            let when = format!("{fault:?} at operation {at}");
            let folder = tempfile::tempdir().unwrap();
            let (base, target) = (make_base(folder.path()), folder.path().join("cp"));
            let disk = Arc::new(FaultyDisk::new(at, fault, at_once));
            let outcome = attempt(&disk, &target, &base);
            assert_eq!(outcome.is_err(), at < operations, "{when}: {outcome:?}");
            disk.reboot();
            let complete = is_complete(&target, &when);
            assert!(complete || outcome.is_err(), "{when}: committed and lost");
            completed += u64::from(complete);
            is_complete(&base, &when);
            if !complete {
                attempt(
                    &Arc::new(FaultyDisk::new(u64::MAX, fault, at_once)),
                    &target,
                    &base,
                )
                .unwrap();
                assert!(is_complete(&target, &when), "{when}: the next attempt");
                let rest = leftovers(folder.path());
                assert!(
                    rest <= 1,
                    "{when}: {rest} files of a dead staging directory are left"
                );
            }
        }
        assert!(
            (1..=2).contains(&completed),
            "{fault:?}: complete after {completed} prefixes"
        );
    }
}

/// The test above can fail: without fsync, a loss of power leaves a checkpoint that is not complete.
#[test]
fn a_store_that_never_syncs_is_found() {
    for at_once in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let (base, target) = (make_base(folder.path()), folder.path().join("cp"));
        let mut disk = FaultyDisk::new(u64::MAX, Fault::PowerAfterRename, at_once);
        disk.never_syncs = true;
        let disk = Arc::new(disk);
        attempt(&disk, &target, &base).unwrap();
        disk.reboot();
        let sound = Checkpoint::open(&target).and_then(|cp| cp.verify(&mut |_| {}));
        assert!(sound.is_err(), "lost files were not noticed");
    }
}
