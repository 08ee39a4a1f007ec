//! `libstrobe.so`: what is preloaded into a program, and nothing but the way in.
//!
//! It exports a wrapper for every modelled function of HIP, a thunk for every refused one, and
//! `dlsym`, `dlvsym` and `dlopen`, so that a program that looks HIP up gets the wrappers too. What
//! the wrappers do is the agent's. There is no constructor: until the program's first call of HIP
//! nothing happens. `exports.txt` is the exact list of exports, `API.md` the table for people.

mod dynamic;
mod glibc;
mod lookup;
mod real;
mod refused;
mod wrappers;
