//! Code objects as they stand in memory.

const MAGIC: &[u8] = b"\x7fELF\x02\x01";
/// Of an ELF header: where program headers begin, how long one is, how many there are.
const PROGRAM_HEADERS: usize = 32;
const PROGRAM_HEADER_SIZE: usize = 54;
const PROGRAM_HEADER_COUNT: usize = 56;
/// Of an ELF header: where section headers begin, and how many there are.
const SECTION_HEADERS: usize = 40;
const SECTION_HEADER_COUNT: usize = 60;
/// Of a program header.
const OFFSET: usize = 8;
const ADDRESS: usize = 16;

/// A file that [`CodeObject::parse`] reads, of a code object as a loader has laid it out, from its first byte on: each
/// byte stands at its address, so that is where the file has it. Section headers, and symbols that only linkers need,
/// are not loaded. `None` if it does not begin with an ELF header.
///
/// [`CodeObject::parse`]: crate::CodeObject::parse
#[must_use]
pub fn file_of_image(image: &[u8]) -> Option<Vec<u8>> {
    let mut file = image.to_vec();
    if !file.starts_with(MAGIC) {
        return None;
    }
    let half = |at: usize| {
        Some(usize::from(u16::from_le_bytes(
            *image.get(at..)?.first_chunk()?,
        )))
    };
    let long = |at: usize| Some(*image.get(at..)?.first_chunk::<8>()?);
    let first = usize::try_from(u64::from_le_bytes(long(PROGRAM_HEADERS)?)).ok()?;
    let size = half(PROGRAM_HEADER_SIZE)?;
    for index in 0..half(PROGRAM_HEADER_COUNT)? {
        let header = first.checked_add(index.checked_mul(size)?)?;
        let address = long(header.checked_add(ADDRESS)?)?;
        let offset = header.checked_add(OFFSET)?;
        file.get_mut(offset..)?
            .first_chunk_mut::<8>()?
            .copy_from_slice(&address);
    }
    file.get_mut(SECTION_HEADERS..)?
        .first_chunk_mut::<8>()?
        .fill(0);
    // And the index of their names.
    file.get_mut(SECTION_HEADER_COUNT..)?
        .first_chunk_mut::<4>()?
        .fill(0);
    Some(file)
}
