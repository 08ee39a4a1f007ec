//! What a measurement is held against.

/// Something that is wanted, and what was measured of it.
#[derive(Debug)]
pub(super) struct Bar {
    pub(super) what: String,
    pub(super) wanted: String,
    pub(super) measured: String,
    pub(super) is_met: bool,
}
