//! The sources of a step.

/// Where a source value comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Src {
    /// The same 64 bits for every lane; operations of 32 bits use the low half.
    Const(u64),
    /// A scalar register (pair) by operand code.
    Scalar(u8),
    /// A vector register (pair); from 256 up accumulation registers, from 512 up the temporaries of `register`.
    Vector(u16),
    #[default]
    None,
}
