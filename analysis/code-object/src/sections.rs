//! Where the sections of an ELF file lie, from the parts of it that say so.

use std::ops::Range;

use crate::bytes::Bytes;
use crate::container::ExtractError;
use crate::input::Input;

/// The file header of 64-bit ELF.
const HEADER: usize = 64;
/// One entry of its table of sections.
const ENTRY: usize = 64;
/// After the magic: 64 bits, little-endian.
const CLASS: [u8; 2] = [2, 1];
/// A section without content in the file.
const NOBITS: u32 = 8;
/// A table of names that is longer is none.
const NAMES: usize = 64 << 20;

/// Where the content of each section of that name lies; none for a file of another class.
pub(crate) fn named<'a>(
    input: &impl Input<'a>,
    name: &str,
) -> Result<Vec<Range<usize>>, ExtractError> {
    let cut_off = || ExtractError::Elf("the table of sections is cut off".into());
    let header = input.part(0, HEADER)?;
    if header.get(4..6) != Some(&CLASS) {
        return Ok(Vec::new());
    }
    let table = header.u64_at(40).ok_or_else(cut_off)?;
    let [size, count, names] = [58, 60, 62].map(|at| header.u16_at(at));
    let (Some(size), Some(count), Some(names)) = (size, count, names) else {
        return Err(cut_off());
    };
    // Or more than 65,279, which no compiler of kernels makes.
    if count == 0 {
        return Ok(Vec::new());
    }
    let size = usize::from(size);
    let len = usize::from(count) * size;
    let table = usize::try_from(table).map_err(|_| cut_off())?;
    let table = input.part(table, len)?;
    if size < ENTRY || table.len() < len {
        return Err(cut_off());
    }
    let sections: Vec<&[u8]> = table.chunks_exact(size).collect();
    let names = sections.get(usize::from(names)).ok_or_else(cut_off)?;
    let names = content(names).filter(|names| names.len() <= NAMES);
    let names = names.ok_or_else(cut_off)?;
    let names = input.part(names.start, names.len())?;
    let is_named = |section: &&&[u8]| {
        let at = section.u32_at(0).map(|at| at as usize);
        let found = at.and_then(|at| names.get(at..));
        let found = found.and_then(|found| found.strip_prefix(name.as_bytes()));
        found.is_some_and(|rest| rest.first() == Some(&0))
    };
    let found = sections.iter().filter(is_named);
    found
        .map(|section| content(section).ok_or_else(cut_off))
        .collect()
}

fn content(section: &[u8]) -> Option<Range<usize>> {
    if section.u32_at(4)? == NOBITS {
        return Some(0..0);
    }
    let start = usize::try_from(section.u64_at(24)?).ok()?;
    let len = usize::try_from(section.u64_at(32)?).ok()?;
    Some(start..start.checked_add(len)?)
}
