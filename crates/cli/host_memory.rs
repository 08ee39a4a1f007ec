//! Host memory of the program: CRIU's images of it lie in the chunk store, where equal memory is stored once, and
//! are put together for a restore.

use std::env;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, bail};
use strobe_criu::image_folder::ImageFolder;
use strobe_criu::pagemaps;
use strobe_criu::run::RunError;
use strobe_proto::files;
use strobe_store::{Checkpoint, CheckpointWriter};

use crate::size::show_size;
use crate::{progress, room};

/// Moves the images of a finished dump into chunks. The program runs meanwhile.
pub(crate) fn store(writer: &mut CheckpointWriter) -> anyhow::Result<()> {
    let _phase = tracing::debug_span!("host memory").entered();
    for pages in pagemaps::images(&writer.criu_dir())? {
        writer.put_image(&pages.name, pages.pieces.into_iter(), pages.piece_bytes)?;
    }
    Ok(())
}

/// Writes the images for CRIU to read, every byte checked.
pub(crate) fn put_together(
    checkpoint: &Checkpoint,
    images: &ImageFolder,
    is_interrupted: impl Fn() -> bool + Sync,
) -> anyhow::Result<()> {
    let _phase = tracing::debug_span!("host memory").entered();
    let bar = progress::bytes("host memory", bytes(checkpoint));
    for image in checkpoint.images_in_chunks() {
        let path = images.replace(name(&image.path)?)?;
        let cannot = || format!("{} cannot be written", path.display());
        let file = File::create_new(&path).with_context(cannot)?;
        // What no chunk writes is zeros.
        file.set_len(image.len).with_context(cannot)?;
        let mut end = 0;
        let places = image.chunks.iter().map(|chunk| {
            end += chunk.len;
            (chunk, end - chunk.len)
        });
        let places: Vec<_> = places
            .filter(|(chunk, _)| !chunk.blake3.is_empty())
            .collect();
        for_each(&places, |raw, &(chunk, at)| {
            if is_interrupted() {
                return Err(RunError::Interrupted.into());
            }
            checkpoint.read_chunk_into(chunk, raw)?;
            bar.inc(chunk.len);
            file.write_all_at(raw, at).with_context(cannot)
        })?;
    }
    bar.finish_and_clear();
    Ok(())
}

/// Does something with each item on all processors, with a buffer of the thread's own; the first error ends it.
fn for_each<T: Sync>(
    items: &[T],
    act: impl Fn(&mut Vec<u8>, &T) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<()> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut buffer = Vec::new();
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            act(&mut buffer, item).inspect_err(|_| next.store(items.len(), Ordering::Relaxed))?;
        }
        Ok(())
    };
    let others = thread::available_parallelism().map_or(1, usize::from) - 1;
    thread::scope(|scope| {
        let others: Vec<_> = (0..others.min(items.len()))
            .map(|_| scope.spawn(work))
            .collect();
        let mut result = work();
        for other in others {
            let ended = other.join().unwrap_or_else(|_| bail!("an internal error"));
            result = result.and(ended);
        }
        result
    })
}

/// Whether there is room for that, where a restore has its work folder.
pub(crate) fn check_room(checkpoint: &Checkpoint) -> anyhow::Result<()> {
    let folder = env::temp_dir();
    let free = room::left(&folder).with_context(|| folder.display().to_string())?;
    let needed = bytes(checkpoint);
    if free < needed {
        bail!(
            "the program's host memory needs {} in {}, which has {} left; TMPDIR names another folder",
            show_size(needed),
            folder.display(),
            show_size(free)
        );
    }
    Ok(())
}

fn bytes(checkpoint: &Checkpoint) -> u64 {
    let all = checkpoint.images_in_chunks();
    all.fold(0, |sum, image| sum.saturating_add(image.len))
}

/// Of an image, without its folder. No other than CRIU's images lie in chunks, by the manifest's check.
fn name(path: &str) -> anyhow::Result<&str> {
    let name = path
        .strip_prefix(files::CRIU)
        .and_then(|rest| rest.strip_prefix('/'));
    name.filter(|name| !name.contains('/'))
        .with_context(|| format!("{path} is no image"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_done_once_and_an_error_ends_it() {
        let done: Vec<_> = (0..1000).map(|_| AtomicUsize::new(0)).collect();
        for_each(&done, |_, one| {
            one.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
        .expect("nothing fails");
        assert!(done.iter().all(|one| one.load(Ordering::Relaxed) == 1));
        let failed = for_each(&done, |_, _| bail!("damaged"));
        assert_eq!(failed.unwrap_err().to_string(), "damaged");
    }
}
