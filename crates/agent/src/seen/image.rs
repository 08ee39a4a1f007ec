//! Code images in our own memory: where they end, and what is in them.
//!
//! HIP is given the address of an image and no length. The length comes from the image's own
//! headers, and never reaches beyond the readable mappings that the address lies in.

use strobe_code_object::bundle_len;
use strobe_proto::kernel_text;

const ELF_MAGIC: &[u8; 4] = b"\x7fELF";

/// The bytes of the image at `address`; `None` where there is no image that is understood.
///
/// # Safety
/// Nobody unmaps or writes the image while the result is in use.
pub(crate) unsafe fn at<'a>(address: *const u8) -> Option<&'a [u8]> {
    let start = address as usize;
    let end = readable_end(&kernel_text::read("/proc/self/maps").ok()?, start)?;
    // SAFETY: mapped and readable up to `end`, now and (the caller's promise) later.
    let bytes = unsafe { std::slice::from_raw_parts(address, end - start) };
    let len = if bytes.starts_with(ELF_MAGIC) {
        elf_len(bytes)?
    } else {
        bundle_len(bytes).ok()?
    };
    bytes.get(..len)
}

/// Where the readable mappings that hold `address`, and follow each other without a gap, end.
fn readable_end(maps: &str, address: usize) -> Option<usize> {
    let mut end = None;
    for line in maps.lines() {
        let mut fields = line.split(' ');
        let (from, to) = fields.next()?.split_once('-')?;
        let from = usize::from_str_radix(from, 16).ok()?;
        let to = usize::from_str_radix(to, 16).ok()?;
        let readable = fields.next()?.starts_with('r');
        match end {
            None if (from..to).contains(&address) => end = Some(to).filter(|_| readable),
            Some(known) if from == known && readable => end = Some(to),
            Some(_) => break,
            None => {}
        }
    }
    end
}

/// Bytes of an ELF64 file: the furthest that a segment, a section or a header table reaches.
fn elf_len(bytes: &[u8]) -> Option<usize> {
    let number = |at: usize, size: usize| {
        let mut value = [0; 8];
        value[..size].copy_from_slice(bytes.get(at..at.checked_add(size)?)?);
        usize::try_from(u64::from_le_bytes(value)).ok()
    };
    let (segments, sections) = (number(32, 8)?, number(40, 8)?);
    let (segment_size, segment_count) = (number(54, 2)?, number(56, 2)?);
    let (section_size, section_count) = (number(58, 2)?, number(60, 2)?);
    let mut len = 64;
    len = len.max(segments.checked_add(segment_size * segment_count)?);
    len = len.max(sections.checked_add(section_size * section_count)?);
    for n in 0..segment_count {
        let at = segments.checked_add(n * segment_size)?;
        len = len.max(number(at + 8, 8)?.checked_add(number(at + 32, 8)?)?);
    }
    for n in 0..section_count {
        const NO_BITS: usize = 8;
        let at = sections.checked_add(n * section_size)?;
        if number(at + 4, 4)? != NO_BITS {
            len = len.max(number(at + 24, 8)?.checked_add(number(at + 32, 8)?)?);
        }
    }
    Some(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_end_at_the_first_gap_or_unreadable_one() {
        let maps = "1000-2000 r--p 0 0:0 0\n2000-3000 rw-p 0 0:0 0\n3000-4000 ---p 0 0:0 0\n\
                    5000-6000 r--p 0 0:0 0\n";
        assert_eq!(readable_end(maps, 0x1800), Some(0x3000));
        assert_eq!(readable_end(maps, 0x3800), None);
        assert_eq!(readable_end(maps, 0x4800), None);
        assert_eq!(readable_end(maps, 0x5fff), Some(0x6000));
    }

    #[test]
    fn the_length_of_an_elf_file_is_that_of_the_file() {
        let file = std::fs::read("/proc/self/exe").unwrap();
        assert_eq!(elf_len(&file), Some(file.len()));
        let mut longer = file.clone();
        longer.extend([0; 5000]);
        assert_eq!(elf_len(&longer), Some(file.len()));
        assert_eq!(elf_len(&file[..60]), None);
    }

    #[test]
    fn what_is_no_image_is_none() {
        let bytes = [7u8; 4096];
        // SAFETY: the array outlives the call.
        assert!(unsafe { at(bytes.as_ptr()) }.is_none());
        // SAFETY: nothing is read there.
        assert!(unsafe { at(std::ptr::without_provenance(8)) }.is_none());
    }
}
