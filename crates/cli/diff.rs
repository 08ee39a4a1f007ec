//! `strobe diff`: what of a program's memory and files has changed between two checkpoints.
//!
//! Of GPU memory what the agents delivered is compared by its addresses, byte for byte where chunks differ. Host memory
//! lies in images whose places move: so it is asked how much of the second's the first has too, in chunks.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use serde::Serialize;
use strobe_proto::{ChunkRef, Manifest, ProgramFile, TrackedExtent};
use strobe_store::{Checkpoint, Damage};

use crate::arguments::DiffArguments;
use crate::outcome::Outcome;
use crate::output::{answer, one_line};
use crate::size::show_size;
use crate::{directory, progress};

/// What counts as changed where a byte in it has: a page of the GPU's.
const PAGE: usize = 4096;
/// Files of the program that are named.
const NAMED: usize = 20;

#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Report {
    gpu: Gpu,
    host: Host,
    /// Names of files of the program that have changed, that came, and that went.
    files: Vec<String>,
}

/// Bytes of GPU memory.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Gpu {
    /// In both checkpoints, at the same addresses.
    both: u64,
    /// Of those, in chunks that are not the same.
    in_changed_chunks: u64,
    /// Of those, in pages of 4 KiB that are not.
    in_changed_pages: u64,
    only_before: u64,
    only_after: u64,
}

/// Bytes of host memory in the second.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Host {
    all: u64,
    /// Of those, in chunks that the first has too.
    shared: u64,
}

pub(crate) fn run(arguments: &DiffArguments) -> Outcome {
    let [before, after] = [&arguments.before, &arguments.after].map(|path| directory::open(path));
    let (before, after) = (before?, after?);
    let report = Report {
        gpu: compare_gpu(&before, &after)?,
        host: compare_host(&before, &after),
        files: compare_files(before.manifest(), after.manifest()),
    };
    let text = match arguments.json {
        true => serde_json::to_string_pretty(&report)?,
        false => text(&report),
    };
    answer(text, ExitCode::SUCCESS)
}

fn text(report: &Report) -> String {
    let Report { gpu, host, files } = report;
    let mut lines = vec![
        format!(
            "GPU    {} of {} in changed pages, {} in changed chunks",
            show_size(gpu.in_changed_pages),
            show_size(gpu.both),
            show_size(gpu.in_changed_chunks)
        ),
        format!(
            "       {} were freed since, {} are new",
            show_size(gpu.only_before),
            show_size(gpu.only_after)
        ),
        format!(
            "host   {} of {} are in no chunk that the first has",
            show_size(host.all - host.shared),
            show_size(host.all)
        ),
        format!("files  {} have changed", files.len()),
    ];
    lines.extend(
        files
            .iter()
            .take(NAMED)
            .map(|name| format!("       {name}")),
    );
    if files.len() > NAMED {
        lines.push(format!("       and {} more", files.len() - NAMED));
    }
    let lines: Vec<_> = lines.into_iter().map(one_line).collect();
    lines.join("\n")
}

/// Chunks by their first addresses.
type Chunks<'a> = BTreeMap<u64, &'a ChunkRef>;

/// Of each process.
fn chunks(manifest: &Manifest) -> BTreeMap<u32, Chunks<'_>> {
    let processes = manifest.processes.iter();
    let chunks = processes.map(|process| {
        let chunks = process.tracked.iter().flat_map(placed);
        (process.pid, chunks.collect())
    });
    chunks.collect()
}

/// The chunks of an extent, which they cover in the order of their addresses.
fn placed(tracked: &TrackedExtent) -> impl Iterator<Item = (u64, &ChunkRef)> {
    let mut start = tracked.extent.as_ref().map_or(0, |extent| extent.start);
    tracked.chunks.iter().map(move |chunk| {
        let at = start;
        start = start.saturating_add(chunk.len);
        (at, chunk)
    })
}

fn bytes<'a>(chunks: impl IntoIterator<Item = &'a &'a ChunkRef>) -> u64 {
    chunks
        .into_iter()
        .map(|chunk| chunk.len)
        .fold(0, u64::saturating_add)
}

fn compare_gpu(before: &Checkpoint, after: &Checkpoint) -> Result<Gpu, Damage> {
    let [old, new] = [before, after].map(|checkpoint| chunks(checkpoint.manifest()));
    let all = new.values().map(|chunks| bytes(chunks.values()));
    let bar = progress::bytes("comparing", all.sum());
    let mut gpu = Gpu::default();
    let none = Chunks::new();
    for pid in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
        let [old, new] = [&old, &new].map(|all| all.get(pid).unwrap_or(&none));
        let before_this = gpu.both;
        for (start, chunk) in new {
            compare_chunk((before, old), (after, *start, chunk), &mut gpu)?;
            bar.inc(chunk.len);
        }
        let both = gpu.both - before_this;
        gpu.only_before += bytes(old.values()) - both;
        gpu.only_after += bytes(new.values()) - both;
    }
    bar.finish_and_clear();
    Ok(gpu)
}

/// Compares a chunk with what was at its addresses.
fn compare_chunk(
    (before, old): (&Checkpoint, &Chunks<'_>),
    (after, start, chunk): (&Checkpoint, u64, &ChunkRef),
    gpu: &mut Gpu,
) -> Result<(), Damage> {
    let end = start.saturating_add(chunk.len);
    let first = old.range(..=start).next_back().map_or(start, |(at, _)| *at);
    let mut now = None;
    for (&at, was) in old.range(first..end) {
        let (from, to) = (at.max(start), at.saturating_add(was.len).min(end));
        let Some(len) = to.checked_sub(from).filter(|len| *len > 0) else {
            continue;
        };
        gpu.both += len;
        let is_same_place = at == start && was.len == chunk.len;
        if is_same_place && was.blake3 == chunk.blake3 {
            continue;
        }
        let now = match &mut now {
            Some(now) => now,
            none => none.insert(after.read_chunk(chunk)?),
        };
        let was = before.read_chunk(was)?;
        let was = &was[(from - at) as usize..(to - at) as usize];
        let now = &now[(from - start) as usize..(to - start) as usize];
        if was != now {
            gpu.in_changed_chunks += len;
            let pages = was.chunks(PAGE).zip(now.chunks(PAGE));
            let changed = pages.filter(|(was, now)| was != now);
            gpu.in_changed_pages += changed.map(|(was, _)| was.len() as u64).sum::<u64>();
        }
    }
    Ok(())
}

fn compare_host(before: &Checkpoint, after: &Checkpoint) -> Host {
    let old = before.images_in_chunks().flat_map(|image| &image.chunks);
    let had: BTreeSet<_> = old.map(|chunk| &chunk.blake3).collect();
    let mut host = Host::default();
    for chunk in after.images_in_chunks().flat_map(|image| &image.chunks) {
        host.all += chunk.len;
        // Zeros are in no file.
        if chunk.blake3.is_empty() || had.contains(&chunk.blake3) {
            host.shared += chunk.len;
        }
    }
    host
}

fn compare_files(before: &Manifest, after: &Manifest) -> Vec<String> {
    let [old, new] = [before, after].map(|manifest| {
        let files = manifest.program_files.iter();
        let file = |file: &ProgramFile| {
            let state = (file.size, file.modified_ns, file.blake3.clone());
            (file.path().display().to_string(), state)
        };
        files.map(file).collect::<BTreeMap<_, _>>()
    });
    let all = old.keys().chain(new.keys()).collect::<BTreeSet<_>>();
    let changed = all
        .into_iter()
        .filter(|name| old.get(*name) != new.get(*name));
    changed.cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use strobe_proto::{ByteRange, GpuProcess};
    use strobe_store::CheckpointWriter;

    const START: u64 = 1 << 32;
    const CHUNK: usize = 2 * PAGE;

    /// A process with one extent that holds these chunks.
    fn checkpoint(path: &Path, start: u64, chunks: &[[u8; CHUNK]]) -> Checkpoint {
        let mut writer = CheckpointWriter::create(path, None).unwrap();
        let chunks: Vec<_> = chunks
            .iter()
            .map(|chunk| writer.put(chunk).unwrap())
            .collect();
        let len = (chunks.len() * CHUNK) as u64;
        let tracked = TrackedExtent {
            extent: Some(ByteRange { start, len }),
            chunks,
            ..TrackedExtent::default()
        };
        let manifest = Manifest {
            chunk_bytes: CHUNK as u64,
            processes: vec![GpuProcess {
                pid: 7,
                tracked: vec![tracked],
                ..GpuProcess::default()
            }],
            ..Manifest::default()
        };
        writer.commit(manifest).unwrap()
    }

    #[test]
    fn what_differs_is_counted_at_its_address() {
        let folder = tempfile::tempdir().unwrap();
        let mut changed = [2; CHUNK];
        changed[PAGE + 5] = 9;
        let chunks = [[1; CHUNK], [2; CHUNK], [3; CHUNK], [0; CHUNK]];
        let before = checkpoint(&folder.path().join("before"), START, &chunks);
        let same = compare_gpu(&before, &before).unwrap();
        let all = (4 * CHUNK) as u64;
        assert_eq!((same.both, same.in_changed_chunks), (all, 0));
        let chunks = [[1; CHUNK], changed, [3; CHUNK], [0; CHUNK], [5; CHUNK]];
        let after = checkpoint(&folder.path().join("after"), START, &chunks);
        let gpu = compare_gpu(&before, &after).unwrap();
        let (chunk, page) = (CHUNK as u64, PAGE as u64);
        let expected = Gpu {
            both: all,
            in_changed_chunks: chunk,
            in_changed_pages: page,
            only_before: 0,
            only_after: chunk,
        };
        assert_eq!(gpu, expected);
        // The same bytes, in chunks that lie elsewhere: only the ends are not in both.
        let shifted = checkpoint(
            &folder.path().join("shifted"),
            START + page,
            &[[7; CHUNK]; 4],
        );
        let gpu = compare_gpu(&before, &shifted).unwrap();
        assert_eq!((gpu.only_before, gpu.only_after), (page, page));
        assert_eq!(gpu.in_changed_pages, all - page);
    }
}
