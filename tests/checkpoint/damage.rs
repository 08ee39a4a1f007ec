//! Checkpoints that are not what was written.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use prost::Message;
use strobe_proto::Manifest;
use strobe_store::Checkpoint;

use crate::harness::{Folder, LIMIT, checkpoint, hip_program, restore, start, verify};

/// Takes a checkpoint of a small program, which is gone afterwards.
fn images(folder: &Folder) -> PathBuf {
    let program = hip_program("mixed.cpp");
    let mut session = start(folder, &[&program, "100000", "log"]);
    session
        .wait_for("log", "round 1 ", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    checkpoint(&session, &images, &[]).well();
    session.kill().expect("it dies");
    verify(&images).well();
    images
}

fn some_file(folder: &Path) -> PathBuf {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the checkpoint") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path)
            } else {
                files.push(path)
            }
        }
    }
    files.sort();
    files
        .into_iter()
        .max_by_key(|f| fs::metadata(f).map_or(0, |m| m.len()))
        .expect("a file")
}

/// Writes the manifest anew, with the header that `crates/store/src/manifest.rs` draws.
pub(crate) fn rewrite_manifest(images: &Path, change: impl FnOnce(&mut Manifest)) {
    const HEADER: usize = 56;
    let path = images.join("manifest.pb");
    let mut bytes = fs::read(&path).expect("the manifest");
    let mut manifest = Manifest::decode(&bytes[HEADER..]).expect("the manifest's message");
    change(&mut manifest);
    let message = manifest.encode_to_vec();
    bytes.truncate(HEADER);
    bytes[16..24].copy_from_slice(&(message.len() as u64).to_le_bytes());
    bytes[24..HEADER].copy_from_slice(blake3::hash(&message).as_bytes());
    bytes.extend(message);
    fs::write(&path, bytes).expect("the manifest");
}

fn is_found(test: &str, part: &str, code: i32, harm: impl FnOnce(&Path)) {
    let folder = Folder::new(test);
    let images = images(&folder);
    let file = some_file(&images.join(part));
    harm(&file);
    let name = file
        .file_name()
        .and_then(|name| name.to_str())
        .expect("a name");
    verify(&images).badly(&[name]);
    let ended = restore(&images);
    assert_eq!(ended.code, Some(code), "{}", ended.stderr);
    ended.badly(&[name]);
}

fn flip(file: &Path) {
    let mut bytes = fs::read(file).expect("the file");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::write(file, bytes).expect("the file");
}

fn truncate(file: &Path) {
    let bytes = fs::read(file).expect("the file");
    fs::write(file, &bytes[..bytes.len() - 1]).expect("the file");
}

#[test]
fn a_chunk_with_a_flipped_bit_is_named() {
    is_found("flipped", "chunks", 1, flip);
}

#[test]
fn a_truncated_chunk_is_named() {
    is_found("truncated", "chunks", 3, truncate);
}

#[test]
fn a_missing_chunk_is_named() {
    is_found("missing", "chunks", 3, |file| {
        fs::remove_file(file).expect("the file")
    });
}

#[test]
fn a_changed_image_of_criu_is_named() {
    is_found("criu-image", "criu", 3, flip);
}

/// Of each piece of host memory there is a chunk, and a second checkpoint shares what is still the same.
#[test]
fn host_memory_lies_in_chunks_that_checkpoints_share_and_a_damaged_one_is_named() {
    let folder = Folder::new("host-memory");
    let program = hip_program("mixed.cpp");
    let mut session = start(&folder, &[&program, "100000", "log"]);
    session
        .wait_for("log", "round 1 ", LIMIT)
        .expect("it works");
    let (first, second) = (folder.join("first"), folder.join("second"));
    checkpoint(&session, &first, &[]).well();
    let base = first.to_str().expect("a path");
    checkpoint(&session, &second, &["--base", base]).well();
    session.kill().expect("it dies");
    folder.rounds_enough();
    let memory = |images: &Path| {
        let checkpoint = Checkpoint::open(images).expect("a checkpoint");
        let pages: Vec<_> = checkpoint.images_in_chunks().cloned().collect();
        assert!(
            pages.iter().all(|image| !images.join(&image.path).exists()),
            "no file beside the chunks"
        );
        let bytes: u64 = pages.iter().map(|image| image.len).sum();
        assert!(bytes > 16 << 20, "{bytes} bytes are not all of it");
        let chunks = pages.into_iter().flat_map(|image| image.chunks);
        chunks.filter(|chunk| !chunk.blake3.is_empty())
    };
    let stored: BTreeSet<_> = memory(&first).map(|chunk| chunk.blake3).collect();
    let (mut shared, mut all) = (0, 0);
    for chunk in memory(&second) {
        all += chunk.len;
        shared += u64::from(stored.contains(&chunk.blake3)) * chunk.len;
    }
    assert!(shared > all / 2, "{shared} of {all} bytes are shared");
    let name: String = memory(&second)
        .max_by_key(|chunk| chunk.len)
        .expect("a chunk")
        .blake3
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    restore(&second).well();
    flip(&second.join("chunks").join(&name[..2]).join(&name));
    verify(&second).badly(&[&name]);
    restore(&second).badly(&[&name]);
}
