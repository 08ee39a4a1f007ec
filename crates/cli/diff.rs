//! `strobe diff`: what of a program's memory and files has changed between two checkpoints.
//!
//! GPU memory is compared by its addresses, whichever way it came, byte for byte where chunks differ or are none. Host memory
//! lies in images whose places move: so it is asked how much of the second's the first has too, in chunks.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use serde::Serialize;
use strobe_proto::{ChunkRef, Manifest, ProgramFile};
use strobe_store::{Checkpoint, Damage, GpuMemory, PagesError, PlacedMemory, Stored};

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
    /// Of those, in chunks or pieces that are not the same.
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

fn bytes(placed: &PlacedMemory<'_>) -> u64 {
    let lengths = placed.values().map(|stored| stored.len);
    lengths.fold(0, u64::saturating_add)
}

fn compare_gpu(before: &Checkpoint, after: &Checkpoint) -> Result<Gpu, PagesError> {
    let (before, after) = (GpuMemory::of(before)?, GpuMemory::of(after)?);
    let [old, new] = [before.processes(), after.processes()];
    let all = new.values().map(bytes).fold(0, u64::saturating_add);
    let bar = progress::bytes("comparing", all);
    let mut gpu = Gpu::default();
    let none = PlacedMemory::new();
    for pid in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
        let [old, new] = [old, new].map(|all| all.get(pid).unwrap_or(&none));
        let before_this = gpu.both;
        let mut was = Last::of(&before);
        for (start, stored) in new {
            compare_piece((&mut was, old), (&after, *start, stored), &mut gpu)?;
            bar.inc(stored.len);
        }
        let both = gpu.both - before_this;
        gpu.only_before += bytes(old).saturating_sub(both);
        gpu.only_after += bytes(new).saturating_sub(both);
    }
    bar.finish_and_clear();
    Ok(gpu)
}

/// What was read last: a long piece may be compared with many short ones.
struct Last<'a> {
    memory: &'a GpuMemory<'a>,
    last: Option<(u64, Vec<u8>)>,
}

impl<'a> Last<'a> {
    fn of(memory: &'a GpuMemory<'a>) -> Self {
        Self { memory, last: None }
    }

    fn read(&mut self, start: u64, stored: &Stored<'_>) -> Result<&[u8], Damage> {
        let last = self.last.take().filter(|(at, _)| *at == start);
        let bytes = match last {
            Some((_, bytes)) => bytes,
            None => self.memory.read(stored)?,
        };
        Ok(&self.last.insert((start, bytes)).1)
    }
}

/// Compares a piece with what was at its addresses.
fn compare_piece(
    (before, old): (&mut Last<'_>, &PlacedMemory<'_>),
    (after, start, piece): (&GpuMemory<'_>, u64, &Stored<'_>),
    gpu: &mut Gpu,
) -> Result<(), Damage> {
    let end = start.saturating_add(piece.len);
    let first = old.range(..=start).next_back().map_or(start, |(at, _)| *at);
    let mut now = None;
    for (&at, was) in old.range(first..end) {
        let (from, to) = (at.max(start), at.saturating_add(was.len).min(end));
        let Some(len) = to.checked_sub(from).filter(|len| *len > 0) else {
            continue;
        };
        gpu.both += len;
        let is_same =
            |(was, now): (&ChunkRef, &ChunkRef)| was.len == now.len && was.blake3 == now.blake3;
        if at == start && was.chunk.zip(piece.chunk).is_some_and(is_same) {
            continue;
        }
        let now = match &mut now {
            Some(now) => now,
            none => none.insert(after.read(piece)?),
        };
        let was = before.read(at, was)?;
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
    use strobe_kfd::memory::VRAM;
    use strobe_proto::amdgpu::{CriuKfd, KfdBoEntry, KfdDeviceEntry};
    use strobe_proto::{
        ByteRange, GpuProcess, Residual, ResidualRange, TrackedExtent, files, frame,
    };
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

    /// The same process, of which the plugin has saved all: as a residual, or as CRIU's own does.
    fn saved_by_the_plugin(path: &Path, chunks: &[[u8; CHUNK]], is_residual: bool) -> Checkpoint {
        const GPU: u32 = 0x1234;
        let writer = CheckpointWriter::create(path, None).unwrap();
        let len = (chunks.len() * CHUNK) as u64;
        let bo = |addr, size| KfdBoEntry {
            addr,
            size,
            alloc_flags: VRAM,
            gpu_id: GPU,
            ..KfdBoEntry::default()
        };
        let kfd = CriuKfd {
            pid: 7,
            device_entries: vec![KfdDeviceEntry {
                gpu_id: GPU,
                ..KfdDeviceEntry::default()
            }],
            bo_entries: vec![bo(START, len)],
            ..CriuKfd::default()
        };
        let mut image = Vec::new();
        frame::write_image(&mut image, &kfd).unwrap();
        std::fs::write(writer.criu_dir().join(files::kfd(1)), &image).unwrap();
        image.clear();
        let half = len / 2;
        // The halves lie the other way round.
        let mut contents = chunks.concat();
        if is_residual {
            let range = |bo_offset, file_offset| ResidualRange {
                bo_index: 0,
                bo_offset,
                len: half,
                file_offset,
            };
            let residual = Residual {
                ranges: vec![range(0, half), range(half, 0)],
                ..Residual::default()
            };
            frame::write_image(&mut image, &residual).unwrap();
            contents.rotate_left(half as usize);
        } else {
            image.extend(len.to_le_bytes());
        }
        image.extend(contents);
        let name = match is_residual {
            true => files::residual(1, GPU),
            false => files::pages(1, GPU),
        };
        std::fs::write(writer.criu_dir().join(name), &image).unwrap();
        let manifest = Manifest {
            chunk_bytes: CHUNK as u64,
            ..Manifest::default()
        };
        writer.commit(manifest).unwrap()
    }

    #[test]
    fn memory_is_the_same_whichever_way_it_came() {
        let folder = tempfile::tempdir().unwrap();
        let chunks = [[1; CHUNK], [2; CHUNK], [3; CHUNK], [4; CHUNK]];
        let mut other = chunks;
        other[2][PAGE] = 9;
        let delivered = checkpoint(&folder.path().join("delivered"), START, &chunks);
        let saved = saved_by_the_plugin(&folder.path().join("saved"), &other, true);
        let whole = saved_by_the_plugin(&folder.path().join("whole"), &other, false);
        let all = (4 * CHUNK) as u64;
        for (before, after) in [
            (&delivered, &saved),
            (&saved, &delivered),
            (&delivered, &whole),
        ] {
            let gpu = compare_gpu(before, after).unwrap();
            assert_eq!(gpu.in_changed_pages, PAGE as u64);
            assert_eq!((gpu.both, gpu.only_before, gpu.only_after), (all, 0, 0));
        }
        let same = compare_gpu(&saved, &whole).unwrap();
        assert_eq!((same.both, same.in_changed_chunks), (all, 0));
    }
}
