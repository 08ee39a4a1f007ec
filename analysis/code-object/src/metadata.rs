//! `NT_AMDGPU_METADATA`: kernels and their arguments, in msgpack.
//!
//! LLVM's AMDGPU guide, "Code Object Metadata". Unknown keys are passed over: compilers add some.

use rmpv::ValueRef;

use crate::kernel::{Arg, ArgAccess, ArgKind};
use crate::limits::ObjectLimits;

/// Deep enough for what compilers write (4 levels), shallow enough for any stack.
const MAX_DEPTH: usize = 16;
/// More arguments than any kernarg segment holds.
const MAX_ARGS: usize = 4096;

/// Why a metadata note cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum MetadataError {
    #[error("not msgpack: {0}")]
    Msgpack(String),
    #[error("the note of {0} bytes is too large")]
    Size(usize),
    #[error("`{0}` is missing or has the wrong type")]
    Key(&'static str),
    #[error("more kernels or arguments than the limit")]
    TooMany,
}

/// What one note says about one kernel.
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) symbol: String,
    pub(crate) kernarg_size: u32,
    pub(crate) args: Vec<Arg>,
}

/// The kernels of one note.
pub(crate) fn parse(mut note: &[u8], limits: &ObjectLimits) -> Result<Vec<Entry>, MetadataError> {
    if note.len() > limits.metadata {
        return Err(MetadataError::Size(note.len()));
    }
    let root = rmpv::decode::read_value_ref_with_max_depth(&mut note, MAX_DEPTH)
        .map_err(|error| MetadataError::Msgpack(error.to_string()))?;
    let kernels = match get(&root, "amdhsa.kernels") {
        None => return Ok(Vec::new()),
        Some(ValueRef::Array(kernels)) => kernels,
        Some(_) => return Err(MetadataError::Key("amdhsa.kernels")),
    };
    if kernels.len() > limits.kernels {
        return Err(MetadataError::TooMany);
    }
    kernels.iter().map(kernel).collect()
}

fn kernel(value: &ValueRef<'_>) -> Result<Entry, MetadataError> {
    let symbol = string(value, ".symbol").ok_or(MetadataError::Key(".symbol"))?;
    let name = string(value, ".name")
        .unwrap_or_else(|| symbol.strip_suffix(".kd").unwrap_or(&symbol).to_owned());
    let mut args = match get(value, ".args") {
        None => Vec::new(),
        Some(ValueRef::Array(args)) if args.len() <= MAX_ARGS => {
            args.iter().map(arg).collect::<Result<_, _>>()?
        }
        Some(ValueRef::Array(_)) => return Err(MetadataError::TooMany),
        Some(_) => return Err(MetadataError::Key(".args")),
    };
    args.sort_by_key(|arg: &Arg| arg.offset);
    Ok(Entry {
        name,
        symbol,
        kernarg_size: number(value, ".kernarg_segment_size")
            .ok_or(MetadataError::Key(".kernarg_segment_size"))?,
        args,
    })
}

fn arg(value: &ValueRef<'_>) -> Result<Arg, MetadataError> {
    let access = string(value, ".actual_access").or_else(|| string(value, ".access"));
    Ok(Arg {
        offset: number(value, ".offset").ok_or(MetadataError::Key(".offset"))?,
        size: number(value, ".size").ok_or(MetadataError::Key(".size"))?,
        kind: ArgKind::from_name(
            &string(value, ".value_kind").ok_or(MetadataError::Key(".value_kind"))?,
        ),
        access: access.and_then(|access| match access.as_str() {
            "read_only" => Some(ArgAccess::ReadOnly),
            "write_only" => Some(ArgAccess::WriteOnly),
            "read_write" => Some(ArgAccess::ReadWrite),
            _ => None,
        }),
        is_const: matches!(get(value, ".is_const"), Some(ValueRef::Boolean(true))),
        name: string(value, ".name"),
    })
}

fn get<'a, 'v>(map: &'a ValueRef<'v>, key: &str) -> Option<&'a ValueRef<'v>> {
    let ValueRef::Map(pairs) = map else {
        return None;
    };
    pairs
        .iter()
        .find(|(k, _)| matches!(k, ValueRef::String(k) if k.as_str() == Some(key)))
        .map(|(_, v)| v)
}

fn string(map: &ValueRef<'_>, key: &str) -> Option<String> {
    match get(map, key)? {
        ValueRef::String(value) => value.as_str().map(str::to_owned),
        _ => None,
    }
}

fn number(map: &ValueRef<'_>, key: &str) -> Option<u32> {
    match get(map, key)? {
        ValueRef::Integer(value) => value.as_u64().and_then(|value| u32::try_from(value).ok()),
        _ => None,
    }
}
