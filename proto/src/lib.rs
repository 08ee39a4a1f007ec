//! Message and image formats: checkpoint manifest, control protocol, CRIU's amdgpu images and
//! statistics, and the agent page.
//!
//! The Rust types are generated from the `.proto` files beside this crate and committed, so that
//! building needs neither protoc nor a code generator; a test compares them.
#![forbid(unsafe_code)]

pub mod distrust;
pub mod frame;
pub mod page;
pub mod start_time;

#[rustfmt::skip]
pub mod amdgpu;
#[rustfmt::skip]
pub mod stats;
#[rustfmt::skip]
mod strobe;
pub use strobe::*;
