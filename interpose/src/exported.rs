//! What tables of exported functions are made of.

/// The address of a wrapper or a thunk.
#[derive(Debug)]
pub(crate) struct Exported(pub(crate) *const ());

// SAFETY: the address of a function.
unsafe impl Sync for Exported {}
