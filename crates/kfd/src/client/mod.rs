//! Safe calls of a client of the real driver, as far as checkpoints need them.

pub mod compute;
pub mod copier;
pub mod gem;
pub mod render;
