//! Where memory is touched: extents of GPU virtual addresses, sets of them, chunks of them, the one type
//! that travels between the analysis and the engine, [`Access`], and the stream that does it.
//!
//! An [`Extent`] is never empty. An [`ExtentSet`] is sorted, disjoint and without adjacent members, so
//! two sets of the same bytes are equal. A [`ChunkMap`] never lets a chunk cross the border of a
//! region, so a chunk belongs to exactly one allocation.

#![forbid(unsafe_code)]

mod access;
mod byte_set;
mod chunk_map;
mod chunk_set;
mod extent;
mod map;
mod set;
mod stream;
mod strided;

pub use access::{Access, Reason, Side};
pub use byte_set::ByteSet;
pub use chunk_map::{ChunkIndex, ChunkMap, ChunkMapError};
pub use chunk_set::ChunkSet;
pub use extent::{Extent, ExtentError};
pub use map::ExtentMap;
pub use set::ExtentSet;
pub use stream::StreamId;
pub use strided::{Cover, Strided};

/// Content that is put beside other content in a pool on the device begins on this boundary, in bytes: a
/// cache line of every target, twice.
pub const CONTENT_ALIGN: u64 = 256;
