//! The software GPU: real programs on it, and its driver's requests one by one.
//!
//! | module | what must hold |
//! |---|---|
//! | `programs` | the unmodified user stack runs and computes right, with both kinds of VRAM |
//! | `driver` | memory, events and copies answer as the kernel's driver does |
//! | `copies` | HIP's own copies and fills are known, and do as their instructions do |
//! | `queues` | a queue that goes away takes its waves with it |
//! | `exceptions` | what is wrong on every GPU comes to the runtime as from hardware, and what only this one cannot do ends the program |
//! | `several` | several GPUs compute right alone and together, and reach what they may reach |
//! | `targets` | the same on either processor, and what one has alone |
//! | `neighbours` | programs on one device compute right, and cannot reach each other |
//! | `stdio` | standard files are what they are without it |
//! | `lifetime` | who outlives `strobe softgpu`, and who does not |
//! | `criu` | what CHECKPOINT reports, RESTORE makes again in another process |

#[path = "harness/mod.rs"]
mod harness;

#[path = "softgpu/copies.rs"]
mod copies;
#[path = "softgpu/criu.rs"]
mod criu;
#[path = "softgpu/device.rs"]
mod device;
#[path = "softgpu/driver.rs"]
mod driver;
#[path = "softgpu/exceptions.rs"]
mod exceptions;
#[path = "softgpu/lifetime.rs"]
mod lifetime;
#[path = "softgpu/neighbours.rs"]
mod neighbours;
#[path = "softgpu/programs.rs"]
mod programs;
#[path = "softgpu/queues.rs"]
mod queues;
#[path = "softgpu/several.rs"]
mod several;
#[path = "softgpu/stdio.rs"]
mod stdio;
#[path = "softgpu/targets.rs"]
mod targets;
