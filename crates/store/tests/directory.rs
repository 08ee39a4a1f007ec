//! Checkpoint directories: what is written comes back, and what is damaged is named.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use strobe_proto::files::MANIFEST;
use strobe_proto::{ByteRange, ChunkRef, GpuProcess, Manifest, TrackedExtent};
use strobe_store::{Checkpoint, CheckpointWriter, CommitError, CreateError, Damage, Defect};

const CHUNK: usize = 1 << 16;

/// Bytes that do not compress.
fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut step = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..len).map(|_| step()).collect()
}

/// Noise, text, zeros, the same noise again, and a short end.
fn chunks() -> Vec<Vec<u8>> {
    let text = b"to be or not to be "
        .iter()
        .copied()
        .cycle()
        .take(CHUNK)
        .collect();
    vec![
        noise(1, CHUNK),
        text,
        vec![0; CHUNK],
        noise(1, CHUNK),
        noise(2, 100),
    ]
}

/// An image that goes into chunks, of which one is a chunk of memory too.
fn pages() -> Vec<u8> {
    [noise(4, 10_000), noise(1, CHUNK), noise(5, 7000)].concat()
}

fn manifest(chunks: Vec<ChunkRef>) -> Manifest {
    let extent = ByteRange {
        start: 0x7000_0000,
        len: chunks.iter().map(|c| c.len).sum(),
    };
    Manifest {
        chunk_bytes: CHUNK as u64,
        processes: vec![GpuProcess {
            tracked: vec![TrackedExtent {
                extent: Some(extent),
                chunks,
                ..TrackedExtent::default()
            }],
            ..GpuProcess::default()
        }],
        ..Manifest::default()
    }
}

fn write(target: &Path, base: Option<&Path>) -> Checkpoint {
    let mut writer = CheckpointWriter::create(target, base).unwrap();
    fs::write(writer.criu_dir().join("core-1.img"), noise(3, 5000)).unwrap();
    fs::write(writer.criu_dir().join("pages-1.img"), pages()).unwrap();
    let lengths = [10_000, CHUNK as u64].into_iter();
    writer.put_image("pages-1.img", lengths, 5000).unwrap();
    fs::create_dir(writer.files_dir().join("shm")).unwrap();
    fs::write(writer.files_dir().join("shm/hsakmt"), b"x").unwrap();
    let refs = chunks()
        .iter()
        .map(|raw| writer.put(raw).unwrap())
        .collect();
    writer.commit(manifest(refs)).unwrap()
}

fn verify(target: &Path) -> Result<(), String> {
    let checkpoint = Checkpoint::open(target).map_err(|damage| damage.to_string())?;
    checkpoint
        .verify(&mut |_| {})
        .map(|_| ())
        .map_err(|damage| damage.to_string())
}

/// Every regular file below `root`.
fn files(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = entries
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect();
    found.sort();
    found
}

#[test]
fn what_is_written_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("cp");
    write(&target, None);
    let checkpoint = Checkpoint::open(&target).unwrap();
    let tracked = &checkpoint.manifest().processes[0].tracked[0];
    for (chunk, raw) in tracked.chunks.iter().zip(chunks()) {
        assert_eq!(checkpoint.read_chunk(chunk).unwrap(), raw);
    }
    let mut last = None;
    let summary = checkpoint
        .verify(&mut |progress| last = Some(progress))
        .unwrap();
    let last = last.expect("progress is reported");
    assert_eq!(last.done, last.total);
    let plain = 5001;
    assert_eq!(
        (summary.files, summary.file_bytes),
        (3, plain + pages().len() as u64)
    );
    assert_eq!(checkpoint.plain_bytes(), plain);
    assert_eq!(
        (summary.chunks, summary.tracked_bytes),
        (6, 4 * CHUNK as u64 + 100)
    );
    let image = checkpoint.images_in_chunks().next().expect("there is one");
    let mut whole = Vec::new();
    let take = |bytes: &[u8]| {
        whole.extend_from_slice(bytes);
        Ok::<(), Damage>(())
    };
    checkpoint.pass_on(image, take).unwrap();
    assert_eq!((whole.len() as u64, whole), (image.len, pages()));
    let paths: Vec<&str> = checkpoint
        .manifest()
        .files
        .iter()
        .map(|f| f.path.as_str())
        .collect();
    assert_eq!(
        paths,
        ["criu/core-1.img", "criu/pages-1.img", "files/shm/hsakmt"]
    );
    assert!(!target.join("criu/pages-1.img").exists());
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "no staging directory is left"
    );
}

#[test]
fn zeros_and_repetitions_take_no_room() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("cp");
    let mut writer = CheckpointWriter::create(&target, None).unwrap();
    let refs = chunks()
        .iter()
        .map(|raw| writer.put(raw).unwrap())
        .collect();
    let statistics = writer.statistics();
    assert_eq!(
        (statistics.zero, statistics.repeated),
        (CHUNK as u64, CHUNK as u64)
    );
    assert!(
        statistics.written < 2 * CHUNK as u64,
        "the text is compressed: {statistics:?}"
    );
    writer.commit(manifest(refs)).unwrap();
    assert_eq!(files(&target.join("chunks")).len(), 3);
}

#[test]
fn what_was_put_in_vain_is_gone_and_what_is_put_again_takes_no_room() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("a"), folder.path().join("b"));
    let base = write(&first, None);
    let mut writer = CheckpointWriter::create(&second, Some(&first)).unwrap();
    // The first chunk becomes another, and another again.
    for seed in 10..13 {
        writer.put(&noise(seed, CHUNK)).unwrap();
    }
    let mut refs = base.manifest().processes[0].tracked[0].chunks.clone();
    refs[0] = writer.put(&noise(13, CHUNK)).unwrap();
    for chunk in &refs {
        assert!(writer.put_again(chunk).unwrap(), "{chunk:?}");
    }
    let unknown = ChunkRef {
        blake3: vec![7; 32],
        len: CHUNK as u64,
        ..ChunkRef::default()
    };
    let impossible = ChunkRef {
        blake3: vec![7; 31],
        ..unknown.clone()
    };
    for nowhere in [unknown, impossible, ChunkRef::default()] {
        assert!(!writer.put_again(&nowhere).unwrap(), "{nowhere:?}");
    }
    writer.commit(manifest(refs)).unwrap();
    assert_eq!(
        files(&second.join("chunks")).len(),
        4,
        "no more than is named"
    );
    fs::remove_dir_all(&first).unwrap();
    verify(&second).unwrap();
}

#[test]
fn a_base_is_shared_by_hard_links() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("a"), folder.path().join("b"));
    write(&first, None);
    write(&second, Some(&first));
    for chunk in files(&second.join("chunks")) {
        assert_eq!(
            fs::metadata(&chunk).unwrap().nlink(),
            2,
            "{chunk:?} is shared"
        );
    }
    fs::remove_dir_all(&first).unwrap();
    verify(&second).expect("the second checkpoint stands alone");
}

#[test]
fn a_damaged_base_is_not_shared() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("a"), folder.path().join("b"));
    write(&first, None);
    for chunk in files(&first.join("chunks")) {
        let mut bytes = fs::read(&chunk).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&chunk, bytes).unwrap();
    }
    write(&second, Some(&first));
    verify(&second).expect("nothing of the damaged base is used");
    let error =
        CheckpointWriter::create(&folder.path().join("c"), Some(folder.path())).unwrap_err();
    assert!(matches!(error, CreateError::Base(_)), "{error}");
}

/// Every file but the owner mark: each of some bytes flipped, the file cut short, grown, and gone.
#[test]
fn every_damage_is_found_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("cp");
    write(&target, None);
    for path in files(&target)
        .iter()
        .filter(|path| !path.ends_with("owner"))
    {
        let good = fs::read(path).unwrap();
        let checkpoint = Checkpoint::open(&target).unwrap();
        let name = path.to_str().unwrap();
        let expect_named = |what: &str| {
            let found = verify(&target).expect_err(&format!("{name} {what}"));
            assert!(found.contains(name), "{name} {what}: {found}");
        };
        let len = good.len();
        let places = (0..len.min(64)).chain([len / 2, len - 1]);
        for at in places {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            fs::write(path, bad).unwrap();
            expect_named(&format!("flipped at {at}"));
        }
        // By a look at their lengths, too.
        let expect_named = |what: &str| {
            expect_named(what);
            if path.file_name().is_none_or(|file| file != MANIFEST) {
                let found = checkpoint.look();
                let found = found.expect_err(&format!("{name} {what}")).to_string();
                assert!(found.contains(name), "{name} {what}: {found}");
            }
        };
        for shorter in [0, len / 2, len - 1] {
            fs::write(path, &good[..shorter]).unwrap();
            expect_named(&format!("cut to {shorter}"));
        }
        fs::write(path, [good.as_slice(), &[0]].concat()).unwrap();
        expect_named("grown");
        fs::remove_file(path).unwrap();
        expect_named("gone");
        fs::create_dir(path).unwrap();
        expect_named("replaced by a folder");
        fs::remove_dir(path).unwrap();
        // Who opens that waits for a writer; who reads the other finds no end.
        nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        expect_named("replaced by a pipe");
        fs::remove_file(path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", path).unwrap();
        expect_named("replaced by a link to a device");
        fs::remove_file(path).unwrap();
        fs::write(path, good).unwrap();
        verify(&target).unwrap();
        checkpoint.look().unwrap();
    }
}

#[test]
fn only_listed_files_may_be_among_the_images() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("cp");
    write(&target, None);
    fs::write(target.join("notes.txt"), b"mine").unwrap();
    verify(&target).expect("files beside the images are nobody's business");
    // Of the second the manifest has the content, but no file.
    for name in ["core-2.img", "pages-1.img"] {
        let planted = target.join("criu").join(name);
        fs::write(&planted, b"planted").unwrap();
        let found = verify(&target).unwrap_err();
        assert!(
            found.contains(name) && found.contains("does not list"),
            "{found}"
        );
        fs::remove_file(planted).unwrap();
    }
}

#[test]
fn what_is_there_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("cp");
    fs::create_dir(&target).unwrap();
    assert!(matches!(
        CheckpointWriter::create(&target, None),
        Err(CreateError::Exists(_))
    ));
    fs::remove_dir(&target).unwrap();
    // It appears while the checkpoint is being written: even an empty directory stays.
    let mut writer = CheckpointWriter::create(&target, None).unwrap();
    let chunk = writer.put(&[1]).unwrap();
    fs::create_dir(&target).unwrap();
    let error = writer.commit(manifest(vec![chunk])).unwrap_err();
    assert!(matches!(error, CommitError::Exists(_)), "{error}");
    assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "the staging directory is gone"
    );
    let nowhere = folder.path().join("no/such/folder");
    assert!(matches!(
        CheckpointWriter::create(&nowhere, None),
        Err(CreateError::Disk(_))
    ));
    assert!(matches!(
        CheckpointWriter::create(Path::new("/"), None),
        Err(CreateError::NoName(_))
    ));
}

#[test]
fn an_abandoned_checkpoint_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = CheckpointWriter::create(&folder.path().join("cp"), None).unwrap();
    writer.put(&[1]).unwrap();
    drop(writer);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn only_dead_staging_directories_of_ours_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("cp");
    let of = |name: &str, owner: Option<&str>| {
        let path = folder.path().join(name);
        fs::create_dir(&path).unwrap();
        if let Some(owner) = owner {
            fs::write(path.join("owner"), owner).unwrap();
        }
        path
    };
    let mark = "strobe checkpoint\npid 1\n";
    let dead = of(".cp.staging-0123456789abcdef", Some(mark));
    let kept = [
        of(".cp.staging-0123456789abcde0", None),
        of(".cp.staging-0123456789abcde1", Some("")),
        of(
            ".cp.staging-0123456789abcde2",
            Some("somebody else's\npid 1\n"),
        ),
        of(".cp.staging-notes", Some(mark)),
    ];
    let other = of(".other.staging-0123456789abcdef", Some(mark));
    let live = CheckpointWriter::create(&target, None).unwrap();
    assert!(!dead.exists(), "its writer is dead");
    assert!(!other.exists(), "another checkpoint's, and dead too");
    let second = CheckpointWriter::create(&target, None).unwrap();
    assert!(live.criu_dir().exists(), "its writer lives");
    assert!(kept.iter().all(|path| path.exists()), "these are not ours");
    drop(second);
    let dead = of(".cp.staging-0123456789abcdef", Some(mark));
    strobe_store::remove_dead(folder.path()).unwrap();
    assert!(!dead.exists(), "without a checkpoint, too");
    assert!(live.criu_dir().exists());
    live.commit(Manifest::default()).unwrap();
}

#[test]
fn an_impossible_manifest_is_refused() {
    type Change = fn(&mut Manifest);
    let folder = tempfile::tempdir().unwrap();
    let refused = |change: Change| {
        let mut writer = CheckpointWriter::create(&folder.path().join("cp"), None).unwrap();
        let chunk = writer.put(&[7; 100]).unwrap();
        let mut manifest = manifest(vec![chunk]);
        change(&mut manifest);
        writer.commit(manifest).unwrap_err().to_string()
    };
    let cases: [(Change, &str); 8] = [
        (
            |m| m.processes[0].tracked[0].chunks[0].blake3[0] ^= 1,
            "not stored",
        ),
        (
            |m| m.processes[0].tracked[0].chunks[0].blake3.truncate(31),
            "32 bytes",
        ),
        (|m| m.processes[0].tracked[0].chunks.clear(), "are not cut"),
        (|m| m.processes[0].tracked[0].extent = None, "no extent"),
        (
            |m| {
                let first = m.processes[0].tracked[0].clone();
                m.processes[0].tracked.push(first)
            },
            "overlap",
        ),
        (|m| m.chunk_bytes = 64, "are not cut"),
        (|m| m.chunk_bytes = 1000, "no power of two"),
        (|m| m.shared_memory.push(Default::default()), "not stored"),
    ];
    for (change, word) in cases {
        let error = refused(change);
        assert!(error.contains(word), "{error:?} does not say {word:?}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn odd_files_among_the_images_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let writer = CheckpointWriter::create(&folder.path().join("cp"), None).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", writer.criu_dir().join("parent")).unwrap();
    let error = writer.commit(Manifest::default()).unwrap_err();
    let CommitError::File(damage) = &error else {
        panic!("{error}")
    };
    assert!(damage.path.ends_with("criu/parent") && matches!(damage.defect, Defect::NotAFile));
}
