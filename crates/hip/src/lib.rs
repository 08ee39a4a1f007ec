//! HIP as a C interface: its types as far as modelled, the one list of its functions, and the table
//! through which the real ones are called. ROCm 5.2.3 to 7.2.4.

#[macro_use]
pub mod list;

pub mod api;
pub mod hsa;
pub mod next;
pub mod types;

pub use api::{Api, FunctionClass, RELEASES, Signature};
pub use types::*;
