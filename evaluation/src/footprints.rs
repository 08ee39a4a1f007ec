//! Footprints of kernels that nobody here has written: how many are known, three ways. What the fourth way, machine
//! code at a launch, comes to is measured of launches ([`crate::launches`]), and stands in the same report.
//!
//! - By the *signature*, as PhOS does it: `const T *` is read, `T *` is read and written, a structure is unknown.
//! - By the *metadata*, where a compiler says what it has proved of a pointer; a structure is unknown.
//! - By the *machine code*, once for all launches (`strobe_footprint::analyse`).
//!
//! Nothing is executed. Where the machine code resolves all accesses to arguments, the other two ways are held
//! against it, argument by argument.

pub(crate) mod claims;
mod comparison;
pub(crate) mod demangle;
pub(crate) mod family;
mod kernels;
mod library;
mod memory;
pub(crate) mod page;
mod plot;
mod report;
pub(crate) mod signature;
mod tally;

pub use library::{LibraryOptions, evaluate_library};
pub use page::page;
pub use report::FootprintReport;
pub use tally::{LibraryTally, WayTally};
