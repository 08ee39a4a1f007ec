//! `libsoftgpu.so`: puts the software GPU under the programs it is preloaded into.
//!
//! Thin on purpose: hooks that decide in one system call whether a file is the software GPU's, and
//! pass everything else on unchanged. Also a CRIU plugin for the emulator's own mappings.

mod criu;
mod hooks;
mod stat;
