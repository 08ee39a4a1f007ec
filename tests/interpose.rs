//! What programs notice of `libstrobe.so`: they behave as without us, and every way to HIP is covered.

#[path = "interpose/files.rs"]
mod files;
#[path = "interpose/programs.rs"]
mod programs;
