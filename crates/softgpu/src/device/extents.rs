//! Objects in the memory devices: finding a place, and giving it back.

use nix::errno::Errno;

use super::open::Device;
use super::tables::{Object, Tables, place};

const PAGE: u64 = 4096;

/// Makes an object with one reference in the memory of a GPU. VRAM is accounted against its size; content is zero.
///
/// # Errors
/// `ENOMEM` when VRAM, the memory device or the table is full.
pub(crate) fn allocate(
    device: &Device,
    tables: &mut Tables,
    (gpu, kind): (usize, u32),
    size: u64,
    flags: u32,
) -> Result<usize, Errno> {
    let header = device.header();
    let size = size
        .checked_next_multiple_of(PAGE)
        .filter(|size| *size > 0)
        .ok_or(Errno::EINVAL)?;
    if kind == place::VRAM && size > header.vram_bytes.saturating_sub(tables.vram_used[gpu]) {
        return Err(Errno::ENOMEM);
    }
    let alignment = if size >= 2 << 20 { 2 << 20 } else { PAGE };
    // Offsets differ between generations, so that nothing can depend on them by accident.
    let base = (header.generation % 61) << 21;
    let mut used: Vec<(u64, u64)> = tables
        .objects
        .iter()
        .filter(|(_, object)| object.gpu as usize == gpu)
        .filter(|(_, object)| matches!(object.place, place::VRAM | place::GTT))
        .map(|(_, object)| (object.offset, object.offset + object.size))
        .collect();
    used.sort_unstable();
    let offset =
        first_fit(&used, base, header.memory_bytes, size, alignment).ok_or(Errno::ENOMEM)?;
    let object = insert(
        tables,
        Object {
            place: kind,
            references: 1,
            offset,
            size,
            flags,
            gpu: gpu as u32,
            ..Object::default()
        },
    )?;
    if kind == place::VRAM {
        tables.vram_used[gpu] += size;
    }
    Ok(object)
}

/// Makes an object of memory that is in no memory device.
pub(crate) fn allocate_elsewhere(
    tables: &mut Tables,
    (gpu, kind): (usize, u32),
    offset: u64,
    size: u64,
    flags: u32,
) -> Result<usize, Errno> {
    insert(
        tables,
        Object {
            place: kind,
            references: 1,
            offset,
            size,
            flags,
            gpu: gpu as u32,
            ..Object::default()
        },
    )
}

fn insert(tables: &mut Tables, object: Object) -> Result<usize, Errno> {
    tables.next_serial = tables.next_serial.wrapping_add(1);
    let serial = tables.next_serial;
    tables
        .objects
        .insert(Object { serial, ..object })
        .ok_or(Errno::ENOMEM)
}

/// Drops one reference; the last one frees the memory.
pub(crate) fn release(device: &Device, tables: &mut Tables, index: usize) {
    let Some(object) = tables.objects.get_mut(index) else {
        return;
    };
    object.references = object.references.saturating_sub(1);
    if object.references > 0 {
        return;
    }
    let object = *object;
    if matches!(object.place, place::VRAM | place::GTT) {
        device.discard(object.gpu as usize, object.offset, object.size);
    }
    if object.place == place::VRAM {
        let used = &mut tables.vram_used[object.gpu as usize];
        *used = used.saturating_sub(object.size);
    }
    tables.objects.remove(index);
}

/// The lowest aligned offset in base..end that no used range overlaps; `used` is sorted.
fn first_fit(used: &[(u64, u64)], base: u64, end: u64, size: u64, alignment: u64) -> Option<u64> {
    let mut candidate = base.next_multiple_of(alignment);
    for (start, stop) in used {
        if candidate.checked_add(size)? <= *start {
            break;
        }
        candidate = candidate.max(stop.checked_next_multiple_of(alignment)?);
    }
    (candidate.checked_add(size)? <= end).then_some(candidate)
}

#[cfg(test)]
mod tests {
    use super::first_fit;

    #[test]
    fn holes_are_used_and_overlap_is_impossible() {
        let used = [(0x1000, 0x3000), (0x5000, 0x6000)];
        assert_eq!(first_fit(&used, 0, 0x10000, 0x1000, 0x1000), Some(0));
        assert_eq!(
            first_fit(&used, 0x1000, 0x10000, 0x2000, 0x1000),
            Some(0x3000)
        );
        assert_eq!(
            first_fit(&used, 0x1000, 0x10000, 0x3000, 0x1000),
            Some(0x6000)
        );
        assert_eq!(first_fit(&used, 0, 0x8000, 0x3000, 0x1000), None);
    }

    #[test]
    fn alignment_holds_after_a_used_range() {
        let used = [(0, 0x1000)];
        assert_eq!(first_fit(&used, 0, 1 << 30, 0x1000, 2 << 20), Some(2 << 20));
    }
}
