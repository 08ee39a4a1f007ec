//! The floating-point constants that have operand codes of their own.

/// One of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct InlineFloat(u8);

/// Operand code of the first.
const FIRST: u32 = 240;

/// As text, and as bits of each width.
const VALUES: [(&str, u16, u32, u64); 9] = [
    ("0.5", 0x3800, 0x3f00_0000, 0x3fe0 << 48),
    ("-0.5", 0xb800, 0xbf00_0000, 0xbfe0 << 48),
    ("1.0", 0x3c00, 0x3f80_0000, 0x3ff0 << 48),
    ("-1.0", 0xbc00, 0xbf80_0000, 0xbff0 << 48),
    ("2.0", 0x4000, 0x4000_0000, 0x4000 << 48),
    ("-2.0", 0xc000, 0xc000_0000, 0xc000 << 48),
    ("4.0", 0x4400, 0x4080_0000, 0x4010 << 48),
    ("-4.0", 0xc400, 0xc080_0000, 0xc010 << 48),
    // 1 / 2 pi
    ("0.15915494", 0x3118, 0x3e22_f983, 0x3fc4_5f30_6dc9_c882),
];

impl InlineFloat {
    pub(crate) fn from_code(code: u32) -> Option<Self> {
        let index = code.checked_sub(FIRST)?;
        ((index as usize) < VALUES.len()).then_some(Self(index as u8))
    }

    /// The constant of these bits.
    pub(crate) fn from_half(bits: u16) -> Option<Self> {
        let index = VALUES.iter().position(|value| value.1 == bits)?;
        Some(Self(index as u8))
    }

    /// The constant of these bits.
    pub(crate) fn from_single(bits: u32) -> Option<Self> {
        let index = VALUES.iter().position(|value| value.2 == bits)?;
        Some(Self(index as u8))
    }

    /// The constant of these bits.
    pub(crate) fn from_double(bits: u64) -> Option<Self> {
        let index = VALUES.iter().position(|value| value.3 == bits)?;
        Some(Self(index as u8))
    }

    fn value(self) -> &'static (&'static str, u16, u32, u64) {
        &VALUES[usize::from(self.0)]
    }

    /// As LLVM writes it; with 64 bits it knows 1 / 2 pi better.
    pub(crate) fn text(self, dwords: u8) -> &'static str {
        match (self.value(), dwords) {
            ((_, 0x3118, ..), 2) => "0.15915494309189532",
            ((text, ..), _) => text,
        }
    }

    /// Its bits in a 16-bit operation.
    pub fn half(self) -> u16 {
        self.value().1
    }

    /// Its bits in a 32-bit operation.
    pub fn single(self) -> u32 {
        self.value().2
    }

    /// Its bits in a 64-bit operation.
    pub fn double(self) -> u64 {
        self.value().3
    }
}

impl core::fmt::Debug for InlineFloat {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.text(1))
    }
}
