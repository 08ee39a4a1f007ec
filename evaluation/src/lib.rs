//! Programs under Strobe on the software GPU, and what is measured of them.
//!
//! The benchmark (`main.rs`), the demo and the end-to-end tests run the same [`Session`]s, so that
//! what is measured is what is tested and shown.

#![expect(missing_docs, reason = "only its own programs and tests use it")]
#![forbid(unsafe_code)]

pub mod compile;
pub mod ending;
pub mod footprints;
pub mod launches;
pub mod rates;
pub mod session;
pub mod soak;
pub mod statistics;
pub mod strobe;
pub mod table;

pub use rates::{MeasuredPace, Rates};
pub use session::Session;
pub use strobe::Strobe;
