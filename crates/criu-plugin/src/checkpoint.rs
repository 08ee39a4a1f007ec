//! The checkpoint directory around CRIU's images.

use strobe_proto::files;
use strobe_store::Checkpoint;

use crate::images::Images;
use crate::restore_error::RestoreError;

/// The checkpoint directory that the images are of, if there is one.
pub(crate) fn open_checkpoint(images: &Images) -> Result<Option<Checkpoint>, RestoreError> {
    let directory = images.checkpoint().map_err(RestoreError::Folder)?;
    match directory.filter(|directory| directory.join(files::MANIFEST).exists()) {
        Some(directory) => Ok(Some(Checkpoint::open(&directory)?)),
        None => Ok(None),
    }
}
