//! One checkpoint: what is prepared, the cut, and how its content goes out.

mod close;
pub(crate) mod copy_log;
pub(crate) mod course;
mod cut;
mod deliver;
mod drain;
mod end;
mod facts;
mod incarnation;
mod lead;
mod paused;
pub(crate) mod phases;
mod prepare;
mod progress;
pub(crate) mod refusal;
mod rest;
mod rounds;
pub(crate) mod run;
pub(crate) mod saving;
mod set_aside;
pub(crate) mod supervise;
mod unchanged;
mod watch;
