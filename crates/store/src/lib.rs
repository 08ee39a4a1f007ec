//! A checkpoint on disk: a directory that is complete and verifiable, or absent.
//!
//! ```text
//! DIR/
//!   manifest.pb           what the checkpoint consists of; written last      (manifest.rs)
//!   owner                 who wrote it; marks a staging directory as ours    (staging.rs)
//!   criu/...              images of CRIU and of our plugin, listed with their hashes; some lie in chunks
//!   files/...             small files of the program, listed with their hashes
//!   chunks/ab/ab12...ef   one file for each different chunk                  (chunk.rs)
//! ```
//!
//! A chunk is named by the blake3 hash of its raw bytes, in 64 lower-case hexadecimal digits, in a
//! folder named by the first two. A chunk of zeros has no file. Equal chunks share one file, and
//! share it with the base checkpoint by a hard link. All numbers on disk are little-endian.
//!
//! What holds:
//! - Everything is built in `.NAME.staging-RANDOM` beside `DIR`, made durable, and then renamed to
//!   `DIR` in one step. Whatever fails or ends before that step leaves no `DIR`.
//! - `DIR` is never overwritten: if it exists, nothing starts, and the rename refuses to replace.
//! - Nothing is deleted but staging directories that are marked as ours and whose writer is gone.
//! - Every byte that is read is checked against a hash, and every length against a limit, first.

#![forbid(unsafe_code)]

mod checkpoint;
mod chunk;
pub mod contents;
mod damage;
mod disk;
mod gpu_memory;
mod image;
mod manifest;
mod new_folder;
mod pages;
mod series;
mod staging;
mod tree;
mod writer;

pub use checkpoint::{Checkpoint, Progress, VerifiedSummary};
pub use damage::{Damage, Defect, read as read_file};
pub use disk::{Disk, DiskError, LocalDisk};
pub use gpu_memory::{GpuMemory, PlacedMemory, Stored};
pub use image::StoredImage;
pub use manifest::FORMAT;
pub use new_folder::NewFolder;
pub use pages::{Pages, PagesError, Part};
pub use series::Series;
pub use staging::{dead, remove_dead};
pub use writer::{CheckpointWriter, CommitError, CreateError, WriterStatistics};
