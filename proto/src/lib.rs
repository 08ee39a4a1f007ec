//! Message and image formats: checkpoint manifest, control protocol, CRIU's amdgpu images and
//! statistics, and the agent page.
//!
//! The Rust types are generated from the `.proto` files beside this crate and committed, so that
//! building needs neither protoc nor a code generator; a test compares them.
#![forbid(unsafe_code)]

mod byte_range;
pub mod distrust;
pub mod environment;
pub mod files;
pub mod frame;
pub mod image;
pub mod journal;
pub mod kernel_text;
pub mod page;
mod program_file;
mod spans;
pub mod start_time;

#[rustfmt::skip]
#[expect(missing_docs, reason = "generated: what is to be said of a field stands in the .proto file")]
pub mod amdgpu;
#[rustfmt::skip]
#[expect(missing_docs, reason = "generated: what is to be said of a field stands in the .proto file")]
pub mod stats;
#[rustfmt::skip]
#[expect(missing_docs, reason = "generated: what is to be said of a field stands in the .proto file")]
mod strobe;
pub use spans::Spans;
pub use strobe::*;
