//! Safe calls of a client of the real driver, as far as the CRIU plugin needs them.

pub mod compute;
pub mod render;
