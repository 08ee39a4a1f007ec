//! Random kernels as HIP source.
//!
//! All kernels have the same parameters and are right programs: whatever the values,
//! each access stays in the buffer that its pointer points into. So whatever they touch must have
//! been predicted.

mod generate;
mod node;
mod print;
mod scene;
mod smaller;
mod taste;

pub use generate::kernel;
pub use node::{Node, NodeKind, Sort};
pub use print::{PRELUDE, source};
pub use scene::scene;
