//! A software AMD GPU at the level of the kernel driver.
//!
//! The real, unmodified ROCm user stack runs on it, and real CRIU dumps and restores programs that
//! use it. [`environment`] makes a device and a namespace in which programs find it as /dev/kfd,
//! /dev/dri/renderD128 and sysfs files; the preload library answers those programs' driver calls
//! through [`preload`] and runs their queues on threads inside them; [`wave`] executes the kernels.

mod clock;
mod device;
mod driver;
pub mod environment;
mod faults;
mod futex;
mod gpus;
pub mod options;
mod precedence;
pub mod preload;
mod report;
mod sdma;
mod space;
mod target;
mod time_model;
pub mod wave;
mod worker;

pub use faults::{FaultPlan, PlanError};
pub use options::{Options, TimeModel};
pub use target::{Model, UnknownModel};
