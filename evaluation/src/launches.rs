//! Footprints of launches that have really been made, held against what they have touched.
//!
//! Other people's programs run on the software GPU, which logs of each dispatch what it was given and what it has
//! touched (`strobe softgpu --access-log FILE --log-launches`). That is all there is: no agent is in the program, so it
//! may use any HIP. Each kernel is found in the code as it was loaded, and asked in five [`Way`]s which memory the
//! launch may touch.
//!
//! What is allocated is what the driver has allocated: buffer objects. HIP asks for one for each `hipMalloc` where
//! the runtime below it keeps no blocks of its own (`HSA_DISABLE_FRAGMENT_ALLOCATOR=1`), and the driver makes it
//! a multiple of 4 KiB. So a footprint that is a whole allocation is up to a page wider here than with the sizes
//! that an agent sees.

mod code;
mod draw;
mod judge;
mod log;
mod mapped;
mod page;
mod report;
mod run;
mod shape;
mod suites;
mod way;

pub use judge::{Judged, judge};
pub(crate) use page::section;
pub use report::{LaunchReport, RunReport, WayReport};
pub use run::{RunOptions, make};
pub use way::Way;
