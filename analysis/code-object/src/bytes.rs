//! Numbers in files: little-endian, and cut off anywhere.

/// Little-endian reads that fail instead of panicking.
pub(crate) trait Bytes {
    fn array<const N: usize>(&self, at: usize) -> Option<[u8; N]>;
    fn u16_at(&self, at: usize) -> Option<u16> {
        self.array(at).map(u16::from_le_bytes)
    }
    fn u32_at(&self, at: usize) -> Option<u32> {
        self.array(at).map(u32::from_le_bytes)
    }
    fn u64_at(&self, at: usize) -> Option<u64> {
        self.array(at).map(u64::from_le_bytes)
    }
}

impl Bytes for [u8] {
    fn array<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.get(at..)?.first_chunk::<N>().copied()
    }
}
