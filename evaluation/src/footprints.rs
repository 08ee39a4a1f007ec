//! Footprints of kernels that nobody here has written: how many are known, three ways.
//!
//! - By the *signature*, as PhOS does it: `const T *` is read, `T *` is read and written, a structure is unknown.
//! - By the *metadata*, where a compiler says what it has proved of a pointer; a structure is unknown.
//! - By the *machine code*, once for all launches (`strobe_footprint::analyse`).
//!
//! Nothing is executed. Where the machine code resolves all accesses to arguments, the other two ways are held
//! against it, argument by argument.

mod claims;
mod comparison;
mod demangle;
mod family;
mod kernels;
mod library;
mod memory;
mod page;
mod plot;
mod report;
mod signature;
mod tally;
mod timing;

pub use library::{LibraryOptions, evaluate_library};
pub use page::page;
pub use report::FootprintReport;
pub use tally::{LibraryTally, WayTally};
pub use timing::{EvaluationTimes, Times};
