//! What `strobe run` puts into the environment of what it starts, and each of these processes into that of its children.

use crate::journal;

/// Libraries that are loaded before all others.
pub const PRELOAD: &str = "LD_PRELOAD";
/// The name of ours among them.
pub const LIBRARY: &str = "libstrobe.so";
/// The number of the first process.
pub const TREE: &str = "STROBE_TREE";
/// Where launches are logged, if they are.
pub const LAUNCH_LOG: &str = "STROBE_LAUNCH_LOG";
/// All that is given beside the library.
pub const GIVEN: [&str; 3] = [journal::VARIABLE, TREE, LAUNCH_LOG];
/// In the environment of what is to be without all that.
pub const UNWATCHED: &str = "STROBE_UNWATCHED";
/// Tells CRIU's plugin that a restored program may run before all its memory is filled.
pub const ON_DEMAND: &str = "STROBE_ON_DEMAND";
