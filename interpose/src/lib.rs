//! `libstrobe.so`: what is preloaded into a program, and nothing but the way in.
//!
//! It exports a wrapper for every modelled function of HIP, a thunk for every refused one, and
//! `dlsym`, `dlvsym` and `dlopen`, so that a program that looks HIP up gets the wrappers too. The HSA
//! runtime below HIP is watched in the same way (`beside`), and functions that no list names are not
//! passed over in silence (`unlisted`). Calls of the C library that change which files there are, or open one to write, leave the
//! path behind (`files`), and those that start programs pass on what these are watched by (`children`). What the runtime asks the driver for
//! of hardware queues is noted (`driver`); handlers of SIGSEGV are kept for the program while ours stands there (`signals`). What the wrappers do is the agent's. There is no constructor: until the program's first
//! call of HIP nothing else happens, and its end is met where it begins (`ending`). `exports.txt` is the exact list of exports, `API.md` the table for people.

mod beside;
mod children;
mod driver;
mod dynamic;
mod ending;
mod exported;
mod files;
mod glibc;
mod lookup;
mod next;
mod objects;
mod real;
mod refused;
mod signals;
mod unlisted;
mod wrappers;
