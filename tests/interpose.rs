//! `libstrobe.so` from outside: what it exports, and what programs notice of it.
//!
//! | module | what must hold |
//! |---|---|
//! | `exports` | exactly the symbols of `interpose/exports.txt` |
//! | `programs` | programs behave as without us, and every way to HIP is covered |

#[path = "interpose/exports.rs"]
mod exports;
#[path = "interpose/programs.rs"]
mod programs;
