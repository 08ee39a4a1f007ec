//! Which memory a kernel reads and writes, from its machine code.
//!
//! [`analyse()`] looks at the code once and keeps, for every instruction that touches memory, its
//! address as an expression over kernel arguments, work-group and work-item ids.
//! [`KernelFootprint::evaluate`] puts the bytes of one launch into those expressions and gives the
//! extents that this launch may touch; [`KernelFootprint::stored`], the pointers that it leaves in memory.
//!
//! What must hold: a launch touches nothing outside of the evaluated [`Access`]. What cannot be
//! resolved is unknown, with the reason; precision comes after that.
//!
//! # What is assumed
//!
//! Of programs, where the analysis cannot bound an index:
//!
//! - A pointer plus an index stays inside the allocation that the pointer points into, ends, or stands
//!   just before (an array counted from 1); an index into an argument by value stays in the arguments.
//! - Of a pointer argument plus or less a word loaded from memory, the word is the index (unless another
//!   pointer was subtracted from it).
//! - No pointer is made by multiplication, shifts or other arithmetic than sums, differences and masks.
//! - A pointer to scratch is kept in registers and scratch alone.
//! - What a register holds that nobody has set, nor the kernel's descriptor asks for, does not matter.
//!
//! Of the machine: the inverse of a float is off by less than its last bit, and that of a root of 64 bits by no more than
//! compilers count on.
//!
//! Of the runtime: what it lays out for calls of the host is as its sources say (`host_calls.rs`).
//!
//! A launch that does otherwise may touch more than predicted; nothing here can tell.
//!
//! Only memory that a program allocates counts. Module data (`__device__` variables), kernel
//! arguments, scratch, LDS and the runtime's own memory (host calls, device heap) appear in no
//! [`Access`]: a checkpoint copies them whole while the program stands still.
//!
//! [`Access`]: strobe_extent::Access

#![forbid(unsafe_code)]

mod access;
mod analyse;
mod apart;
mod asked;
mod block;
#[cfg(feature = "broken")]
pub mod broken;
#[cfg(not(feature = "broken"))]
mod broken;
mod buffer;
mod certain;
mod comparison;
mod computed;
mod contradiction;
mod describe;
mod differing;
mod elsewhere;
mod entry;
mod epoch;
mod evaluate;
mod exec_values;
mod expr;
mod extents;
mod facts;
mod float;
mod floats;
mod flow;
mod gathered;
mod going_round;
mod host_calls;
mod indexed;
mod induction;
pub mod inspect;
mod instructions;
mod interner;
mod items;
mod join;
mod launch;
mod levels;
mod limits;
mod live;
mod load;
mod loop_run;
mod machine;
mod masks;
mod memo;
mod merge;
mod narrowing;
mod node;
mod operations;
mod paths;
mod place;
mod plan;
mod preload;
mod premises;
mod questions;
mod quotients;
mod range;
mod reachable;
mod reaches;
mod reducible;
mod registers;
mod returning;
mod roots;
mod rounding;
mod rounds;
mod scalar;
mod scaling;
mod scratch;
mod sides;
mod site;
mod sorted;
mod state;
mod stored;
mod summary;
mod sums;
mod tally;
mod terms;
mod totals;
mod touch;
mod triangles;
mod unseen;
mod value;
mod vector;
mod walk;
mod walked;
mod whole;
mod words;
mod work;

/// What was learned of a kernel by another version is not what this one learns: a hash of the sources.
pub const VERSION: &str = env!("STROBE_ANALYSIS_VERSION");

pub use analyse::{KernelFootprint, analyse};
pub use contradiction::Contradiction;
pub use instructions::Instruction;
pub use launch::{Launch, LaunchMemory};
pub use limits::AnalysisLimits;
pub use memo::LaunchMemo;
pub use stored::StoredPointers;
pub use summary::{FootprintSummary, Obstacle, SideSummary, Slot, Why};
pub use tally::LaunchTally;
pub use touch::Touch;
