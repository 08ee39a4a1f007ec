//! What a checkpoint is of, in short.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use serde::Serialize;
use strobe_proto::Manifest;
use strobe_store::Checkpoint;

use crate::figures::mode_name;

/// Sizes in bytes, times in milliseconds.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Summary {
    pub(crate) directory: String,
    /// When, in UTC.
    pub(crate) taken: String,
    pub(crate) pid: u32,
    pub(crate) command: String,
    /// "cow", "stop" or "recopy".
    pub(crate) mode: &'static str,
    /// The program was ended by it.
    pub(crate) killed: bool,
    pub(crate) target: String,
    pub(crate) gpu_processes: usize,
    /// Of GPU memory.
    pub(crate) device_bytes: u64,
    /// Of CRIU's images that lie in chunks: host memory.
    pub(crate) host_bytes: u64,
    /// Of all else: other images, and files of the program.
    pub(crate) file_bytes: u64,
    /// What it takes on disk, and what of that no other checkpoint has.
    pub(crate) disk_bytes: u64,
    pub(crate) own_bytes: u64,
    /// How long the program was held back; nothing where none of it went on.
    pub(crate) stall_ms: Option<f64>,
    pub(crate) criu_version: String,
}

impl Summary {
    pub(crate) fn of(checkpoint: &Checkpoint) -> Self {
        let manifest = checkpoint.manifest();
        let (disk_bytes, own_bytes) = on_disk(checkpoint.path());
        let host = checkpoint.images_in_chunks().map(|image| image.len);
        Self {
            directory: checkpoint.path().display().to_string(),
            taken: taken(manifest),
            pid: manifest.pid,
            command: manifest.command_line.join(" "),
            mode: mode_name(manifest.mode()),
            killed: manifest.killed,
            target: manifest.target.clone(),
            gpu_processes: manifest.processes.len(),
            device_bytes: device_bytes(manifest),
            host_bytes: host.fold(0, u64::saturating_add),
            file_bytes: checkpoint.plain_bytes(),
            disk_bytes,
            own_bytes,
            stall_ms: stall_ms(manifest),
            criu_version: manifest.criu_version.clone(),
        }
    }
}

fn taken(manifest: &Manifest) -> String {
    let taken = UNIX_EPOCH.checked_add(Duration::from_nanos(manifest.created_unix_ns));
    // Of a moment that has no date, as only a damaged file has.
    taken.map_or_else(String::new, |taken| {
        humantime::format_rfc3339_seconds(taken).to_string()
    })
}

fn device_bytes(manifest: &Manifest) -> u64 {
    let tracked = manifest
        .processes
        .iter()
        .flat_map(|process| &process.tracked);
    let chunks = tracked.flat_map(|tracked| &tracked.chunks);
    let residual = manifest
        .plugin
        .as_ref()
        .map_or(0, |plugin| plugin.residual_bytes);
    chunks.fold(residual, |sum, chunk| sum.saturating_add(chunk.len))
}

fn stall_ms(manifest: &Manifest) -> Option<f64> {
    let figures = manifest.statistics.as_ref()?;
    let closed = figures.opened_ns.checked_sub(figures.gate_closed_ns)?;
    (!manifest.killed && figures.opened_ns > 0)
        .then(|| closed.saturating_add(figures.launch_wait_ns) as f64 / 1e6)
}

/// Bytes of all files below, and of those with one name. What cannot be read is not counted.
fn on_disk(folder: &Path) -> (u64, u64) {
    let (mut all, mut own) = (0, 0);
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            // Of the entry itself, not of what a link leads to.
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if metadata.is_dir() {
                folders.push(entry.path());
            }
            let bytes = metadata.blocks() * 512;
            all += bytes;
            if metadata.is_dir() || metadata.nlink() == 1 {
                own += bytes;
            }
        }
    }
    (all, own)
}
