//! Host memory of the program: CRIU's images of it lie in the chunk store, where equal memory is stored once, and
//! are put together for a restore.

use std::env;
use std::fs::File;
use std::io::Write;

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
    is_interrupted: impl Fn() -> bool,
) -> anyhow::Result<()> {
    let _phase = tracing::debug_span!("host memory").entered();
    let bar = progress::bytes("host memory", bytes(checkpoint));
    for image in checkpoint.images_in_chunks() {
        let name = name(&image.path)?;
        let path = images.replace(name)?;
        let cannot = || format!("{} cannot be written", path.display());
        let mut file = File::create_new(&path).with_context(cannot)?;
        checkpoint.pass_on(image, |bytes| {
            if is_interrupted() {
                return Err(RunError::Interrupted.into());
            }
            bar.inc(bytes.len() as u64);
            file.write_all(bytes).with_context(cannot)
        })?;
    }
    bar.finish_and_clear();
    Ok(())
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
