//! Files of a checkpoint directory. They are read through the disk, as they always are.

use std::fs;

use strobe_proto::frame::Message;
use strobe_proto::{
    ByteRange, ChunkRef, FileRecord, GpuProcess, Manifest, ProgramFile, SharedMemoryFile,
    TrackedExtent,
};
use strobe_store::{Checkpoint, CheckpointWriter, FORMAT};
use tempfile::TempDir;

const MANIFEST: &str = "manifest.pb";
const MANIFEST_HEADER: usize = 56;
/// Bytes of a chunk of the seeds.
const CHUNK: u64 = 64 << 10;

thread_local! {
    static CHECKPOINT: Stored = stored();
}

struct Stored {
    _folder: TempDir,
    checkpoint: Checkpoint,
    /// The file of a compressed chunk, and of one that does not get smaller.
    chunks: [Vec<u8>; 2],
}

/// A checkpoint of two chunks.
fn stored() -> Stored {
    let folder = tempfile::tempdir().expect("a folder");
    let mut writer =
        CheckpointWriter::create(&folder.path().join("one"), None).expect("a checkpoint");
    let alike: Vec<u8> = (0..CHUNK).map(|at| (at / 256) as u8).collect();
    let mut random = crate::random::Random::new(1);
    let different: Vec<u8> = (0..CHUNK).map(|_| random.word() as u8).collect();
    let chunks: Vec<ChunkRef> = [&alike, &different]
        .map(|raw| writer.put(raw).expect("a chunk"))
        .into();
    let checkpoint = writer
        .commit(manifest_of(chunks.clone()))
        .expect("a checkpoint");
    let files = [&chunks[0], &chunks[1]]
        .map(|chunk| fs::read(file_of(&checkpoint, &chunk.blake3)).expect("the chunk's file"));
    Stored {
        _folder: folder,
        checkpoint,
        chunks: files,
    }
}

fn file_of(checkpoint: &Checkpoint, hash: &[u8]) -> std::path::PathBuf {
    let name: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    checkpoint.path().join("chunks").join(&name[..2]).join(name)
}

fn manifest_of(chunks: Vec<ChunkRef>) -> Manifest {
    let len = chunks.iter().map(|chunk| chunk.len).sum();
    Manifest {
        format: FORMAT,
        checkpoint_id: vec![5; 16],
        target: "gfx906".into(),
        chunk_bytes: CHUNK,
        processes: vec![GpuProcess {
            tracked: vec![TrackedExtent {
                extent: Some(ByteRange {
                    start: 1 << 40,
                    len,
                }),
                chunks,
                ..TrackedExtent::default()
            }],
            ..GpuProcess::default()
        }],
        ..Manifest::default()
    }
}

/// Reads a manifest and what it names. The first byte says whether the rest is the file, or the message
/// in it with the header that belongs to it: without its hash, nothing that was changed gets far.
pub fn manifest(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else {
        return;
    };
    let mut file = Vec::new();
    if kind & 1 == 0 {
        file.extend(b"STROBEMF");
        file.extend(FORMAT.to_le_bytes());
        file.extend([0; 4]);
        file.extend((rest.len() as u64).to_le_bytes());
        file.extend(blake3::hash(rest).as_bytes());
        assert_eq!(file.len(), MANIFEST_HEADER);
    }
    file.extend(rest);
    CHECKPOINT.with(|stored| {
        let folder = stored.checkpoint.path().join("files");
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join(MANIFEST), file).expect("a file");
        if let Ok(opened) = Checkpoint::open(&folder) {
            let _ = opened.verify(&mut |progress| assert!(progress.done <= progress.total));
        }
    });
}

/// Reads a chunk's file for somebody who wants as many bytes as it says it holds.
pub fn chunk(bytes: &[u8]) {
    CHECKPOINT.with(|stored| {
        let hash = [0xab; 32];
        let path = file_of(&stored.checkpoint, &hash);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, bytes).expect("a file");
        let len = bytes.get(16..24).map_or(CHUNK, |len| {
            u64::from_le_bytes(len.try_into().expect("8 bytes"))
        });
        let wanted = ChunkRef {
            blake3: hash.to_vec(),
            len,
            ..ChunkRef::default()
        };
        let _ = stored.checkpoint.read_chunk(&wanted);
    });
}

/// Of the checkpoint above: the message, and one that uses every field.
pub fn valid_manifests() -> Vec<Vec<u8>> {
    let zeros = |len| ChunkRef {
        len,
        ..ChunkRef::default()
    };
    let hashed = ChunkRef {
        blake3: vec![0xcd; 32],
        len: CHUNK,
        fingerprint: vec![0xab; 16],
    };
    let record = |path: &str| FileRecord {
        path: path.into(),
        len: 3,
        blake3: vec![1; 32],
        chunks: Vec::new(),
    };
    let pages = FileRecord {
        chunks: vec![zeros(1), hashed.clone(), zeros(CHUNK)],
        len: 1 + 2 * CHUNK,
        ..record("criu/pages-1.img")
    };
    let full = Manifest {
        executable: "/bin/a".into(),
        command_line: vec!["a".into()],
        files: vec![record("criu/core-1.img"), pages, record("files/shm-1")],
        shared_memory: vec![SharedMemoryFile {
            name: "/dev/shm/a".into(),
            stored: "files/shm-1".into(),
            ..SharedMemoryFile::default()
        }],
        program_files: vec![ProgramFile {
            path: "/a".into(),
            ..ProgramFile::default()
        }],
        ..manifest_of(vec![zeros(CHUNK), hashed, zeros(100)])
    };
    let messages = [manifest_of(vec![zeros(CHUNK)]), full];
    messages
        .iter()
        .map(|message| [&[0][..], &message.encode_to_vec()].concat())
        .collect()
}

/// The files of a compressed chunk and of one that is not.
pub fn valid_chunks() -> Vec<Vec<u8>> {
    CHECKPOINT.with(|stored| stored.chunks.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_are_taken() {
        for bytes in valid_manifests() {
            manifest(&bytes);
            CHECKPOINT.with(|stored| {
                let folder = stored.checkpoint.path().join("files");
                Checkpoint::open(&folder).expect("a manifest that is right");
            });
        }
        let [small, large] = CHECKPOINT.with(|stored| stored.chunks.clone());
        assert!(small.len() < CHUNK as usize / 8 && large.len() > CHUNK as usize);
    }
}
