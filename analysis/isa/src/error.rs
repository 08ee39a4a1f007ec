//! Why words are not an instruction.

use core::fmt;

use crate::inst::Encoding;

/// Refusal of [`crate::Isa::decode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are what was read")]
pub enum DecodeError {
    /// Fewer words were given than the instruction has.
    Truncated { encoding: Option<Encoding> },
    /// The encoding has no such operation on this target.
    UnknownOpcode { encoding: Encoding, opcode: u16 },
    /// An image, export or interpolation instruction, which this crate does not decode.
    Graphics { encoding: Encoding, opcode: u16 },
    /// A field holds a value that the operation does not allow.
    Field {
        encoding: Encoding,
        opcode: u16,
        field: &'static str,
    },
    /// The top bits of the word name no encoding.
    UnknownEncoding { word: u32 },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Truncated { encoding: None } => write!(f, "no words"),
            Self::Truncated {
                encoding: Some(encoding),
            } => {
                write!(f, "the words end inside a {encoding:?} instruction")
            }
            Self::UnknownOpcode { encoding, opcode } => {
                write!(f, "{encoding:?} has no opcode {opcode:#x}")
            }
            Self::Graphics { encoding, opcode } => {
                write!(
                    f,
                    "{encoding:?} opcode {opcode:#x} is a graphics instruction"
                )
            }
            Self::Field {
                encoding,
                opcode,
                field,
            } => {
                write!(
                    f,
                    "{encoding:?} opcode {opcode:#x} does not allow this value of {field}"
                )
            }
            Self::UnknownEncoding { word } => write!(f, "{word:#010x} starts no instruction"),
        }
    }
}

impl core::error::Error for DecodeError {}
