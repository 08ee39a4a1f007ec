//! What the waves of a workgroup share while they run.

use super::host::Host;
use super::lds::Lds;
use super::memory::Memory;

pub(super) struct Group<'a> {
    pub memory: Memory<'a>,
    pub lds: &'a mut Lds,
    pub host: &'a dyn Host,
    /// A wave does not believe what is known of code any more.
    pub code_has_changed: bool,
}
