//! Directories of checkpoints, as the commands find them.

use std::path::Path;

use strobe_store::{Checkpoint, Damage};

use crate::release;

/// Opens a checkpoint. What commands that were killed have left beside it goes.
pub(crate) fn open(path: &Path) -> Result<Checkpoint, Damage> {
    clear_beside(path);
    Checkpoint::open(path)
}

/// Removes what commands that were killed have left where this is, or will be.
pub(crate) fn clear_beside(path: &Path) {
    let absolute = std::path::absolute(path);
    if let Some(folder) = absolute.ok().as_deref().and_then(Path::parent) {
        clear(folder);
    }
}

/// Removes what commands that were killed have left in this folder.
pub(crate) fn clear(folder: &Path) {
    release::unlock_all(folder);
    if let Err(error) = strobe_store::remove_dead(folder) {
        // It takes room, and nothing else.
        tracing::debug!("{error}");
    }
}
