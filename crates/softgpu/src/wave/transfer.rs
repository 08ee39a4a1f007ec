//! How many bytes a memory instruction moves, and how they fill a register.

/// The shape of a load or store, from its mnemonic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transfer {
    /// Bytes a lane: 1, 2, 4, 8, 12 or 16.
    pub bytes: u8,
    pub signed: bool,
    /// A load fills half a register and keeps the other.
    pub half: bool,
    /// The half is the high one (of a store: the data is in the high half).
    pub high: bool,
}

impl Transfer {
    /// `None` for typed (format) and other transfers.
    pub(super) fn of(name: &str, bytes: u8) -> Option<Self> {
        if bytes == 0 || name.contains("format") || name.contains("lds") {
            return None;
        }
        let signed = ["sbyte", "sshort", "_i8", "_i16"]
            .iter()
            .any(|part| name.contains(part));
        Some(Self {
            bytes,
            signed,
            half: name.contains("_d16") && (name.contains("load") || name.contains("read")),
            high: name.ends_with("_hi"),
        })
    }

    /// As kept in a step.
    pub(super) fn pack(self) -> u8 {
        self.bytes
            | u8::from(self.signed) << 5
            | u8::from(self.half) << 6
            | u8::from(self.high) << 7
    }

    pub(super) fn unpack(bits: u8) -> Self {
        Self {
            bytes: bits & 31,
            signed: bits >> 5 & 1 != 0,
            half: bits >> 6 & 1 != 0,
            high: bits >> 7 != 0,
        }
    }

    /// The register after a load of less than a word that found `value` (zero-extended).
    #[inline(always)]
    pub(super) fn fill(self, old: u32, value: u32) -> u32 {
        let value = match (self.signed, self.bytes) {
            (true, 1) => i32::from(value as i8).cast_unsigned(),
            (true, 2) => i32::from(value as i16).cast_unsigned(),
            _ => value,
        };
        match (self.half, self.high) {
            (false, _) => value,
            (true, false) => old & 0xffff_0000 | value & 0xffff,
            (true, true) => old & 0xffff | value << 16,
        }
    }

    /// The value that a store of less than a word takes from the register.
    #[inline(always)]
    pub(super) fn take(self, register: u32) -> u32 {
        let value = if self.high { register >> 16 } else { register };
        match self.bytes {
            1 => value & 0xff,
            2 => value & 0xffff,
            _ => value,
        }
    }
}

/// The step of a load, store or atomic of global memory: the handlers `load`, `store`, `load_part`,
/// `store_part` and `atomic` of the place where this stands, which know how addresses are made.
macro_rules! translated {
    ($inst:expr, $base:expr, $uses_avx512:expr) => {{
        let (inst, base, uses_avx512): (&Inst, Step, bool) = ($inst, $base, $uses_avx512);
        let info = inst.op.info();
        if info.class == Class::Atomic {
            let (_, name) = info.name.split_once("_atomic_")?;
            let op = Rmw::of_memory(name.strip_suffix("_x2").unwrap_or(name))?;
            // What older ones make of subnormals there nobody says.
            if op == Rmw::AddHalves && inst.generation < Generation::Cdna3 {
                return None;
            }
            let returns = u64::from(inst.dsts[0] != Operand::None && inst.glc);
            return Some(Step {
                run: compiled_twice!(uses_avx512, atomic),
                sel: op.index(),
                aux: base.aux | u64::from(info.bytes) | returns << 8,
                ..base
            });
        }
        let shape = Transfer::of(info.name, info.bytes)?;
        let handler: Handler = match (info.class, info.bytes) {
            (Class::Load, 4) => compiled_twice!(uses_avx512, load::<1>),
            (Class::Load, 8) => compiled_twice!(uses_avx512, load::<2>),
            (Class::Load, 12) => compiled_twice!(uses_avx512, load::<3>),
            (Class::Load, 16) => compiled_twice!(uses_avx512, load::<4>),
            (Class::Store, 4) => compiled_twice!(uses_avx512, store::<1>),
            (Class::Store, 8) => compiled_twice!(uses_avx512, store::<2>),
            (Class::Store, 12) => compiled_twice!(uses_avx512, store::<3>),
            (Class::Store, 16) => compiled_twice!(uses_avx512, store::<4>),
            (Class::Load, 1 | 2) => compiled_twice!(uses_avx512, load_part),
            (Class::Store, 1 | 2) => compiled_twice!(uses_avx512, store_part),
            _ => return None,
        };
        Some(Step {
            run: handler,
            sel: shape.pack(),
            ..base
        })
    }};
}
pub(super) use translated;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mnemonics_give_shapes() {
        let hi = Transfer::of("flat_load_sbyte_d16_hi", 1).expect("a plain load");
        assert_eq!(
            hi,
            Transfer {
                bytes: 1,
                signed: true,
                half: true,
                high: true
            }
        );
        assert_eq!(hi.fill(0x1234_5678, 0x80), 0xff80_5678);
        let store = Transfer::of("global_store_short_d16_hi", 2).expect("a plain store");
        assert_eq!(store.take(0xabcd_0123), 0xabcd);
        assert_eq!(Transfer::unpack(hi.pack()), hi);
        assert_eq!(Transfer::of("buffer_load_format_x", 0), None);
        let wide = Transfer::of("ds_read_b128", 16).expect("a plain read");
        assert_eq!(Transfer::unpack(wide.pack()), wide);
    }
}
