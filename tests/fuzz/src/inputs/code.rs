//! Machine code and what carries it: read from the program's files and from its memory.

use strobe_code_object::{CodeObject, ObjectLimits, extract};
use strobe_extent::Extent;
use strobe_footprint::{AnalysisLimits, KernelFootprint, Launch, LaunchMemory, analyse};
use strobe_isa::Target;

#[path = "../../../../analysis/code-object/tests/elf/mod.rs"]
mod elf;

/// Bytes that a compressed bundle may grow to here; more than any seed's.
const UNCOMPRESSED: usize = 16 << 20;

/// Decodes and prints for every target.
///
/// # Panics
/// If the tables are wrong: that is what is looked for.
pub fn instructions(bytes: &[u8]) {
    let words: Vec<u32> = bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect();
    for target in Target::ALL {
        for &wave in target.wave_sizes {
            let mut at = 0;
            while at < words.len() {
                at += match target.isa.decode(&words[at..], wave) {
                    Ok(inst) => {
                        let dwords = usize::from(inst.size) / 4;
                        assert!(matches!(dwords, 1 | 2) && at + dwords <= words.len());
                        assert!(!inst.to_string().is_empty());
                        let sources = (0..inst.srcs.len()).map(|i| inst.src_dwords(i));
                        let destinations = (0..inst.dsts.len()).map(|i| inst.dst_dwords(i));
                        assert!(sources.chain(destinations).all(|dwords| dwords <= 32));
                        dwords
                    }
                    Err(error) => {
                        assert!(!error.to_string().is_empty());
                        1
                    }
                };
            }
        }
    }
}

/// Takes a file apart, down to the footprints of its kernels.
pub fn code_objects(bytes: &[u8]) {
    let limits = ObjectLimits {
        uncompressed: UNCOMPRESSED,
        ..ObjectLimits::default()
    };
    for found in extract(bytes, &limits).unwrap_or_default() {
        let Ok(object) = CodeObject::parse(&found.bytes, &limits) else {
            continue;
        };
        for kernel in &object.kernels {
            let footprint = analyse(&object, kernel, &AnalysisLimits::default());
            std::hint::black_box(&footprint);
        }
    }
}

/// The object that footprints are about.
fn object_of_footprints() -> CodeObject {
    let [object, ..] = &valid_code_objects()[..] else {
        unreachable!("there are some");
    };
    CodeObject::parse(object, &ObjectLimits::default()).expect("a code object")
}

/// Takes up a footprint that was written down, and asks it for what one launch touches.
pub fn footprint(bytes: &[u8]) {
    struct Memory;
    impl LaunchMemory for Memory {
        fn allocation(&self, address: u64) -> Option<Extent> {
            Extent::with_len(address & !0xffff, 1 << 16).ok()
        }
        fn is_allocated(&self, _extent: Extent) -> bool {
            true
        }
        fn known_bytes(&self, _address: u64, len: usize) -> Option<Vec<u8>> {
            (len <= 1 << 20).then(|| vec![1; len])
        }
    }
    let object = object_of_footprints();
    let kernel = &object.kernels[0];
    let limits = AnalysisLimits::default();
    let Some(footprint) = KernelFootprint::from_bytes(bytes, &object, kernel, &limits) else {
        return;
    };
    let launch = Launch {
        kernarg: &[0x10; 24],
        grid: [4096, 2, 1],
        block: [256, 1, 1],
        dynamic_lds: 0,
    };
    std::hint::black_box(footprint.evaluate(&launch, &Memory));
    std::hint::black_box(footprint.stored(&launch, &Memory));
    std::hint::black_box((footprint.summary(), footprint.touches()));
}

/// What is written down of kernels.
pub fn valid_footprints() -> Vec<Vec<u8>> {
    let object = object_of_footprints();
    let limits = AnalysisLimits::default();
    let kernels = object.kernels.iter();
    let footprints = kernels.filter_map(|kernel| analyse(&object, kernel, &limits).to_bytes());
    footprints.collect()
}

/// The words of the tables' own tests.
pub fn valid_instructions() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for text in [
        include_str!("../../../filetests/isa/ds.txt"),
        include_str!("../../../filetests/isa/flat.txt"),
        include_str!("../../../filetests/isa/gfx908.txt"),
        include_str!("../../../filetests/isa/mubuf.txt"),
        include_str!("../../../filetests/isa/smem.txt"),
        include_str!("../../../filetests/isa/sop1.txt"),
        include_str!("../../../filetests/isa/sop2.txt"),
        include_str!("../../../filetests/isa/vop2.txt"),
        include_str!("../../../filetests/isa/vop3.txt"),
        include_str!("../../../filetests/isa/vop3p.txt"),
        include_str!("../../../filetests/isa/vopc.txt"),
    ] {
        let words = text.lines().filter_map(|line| {
            let words: Result<Vec<u32>, _> = line
                .split(' ')
                .map(|word| u32::from_str_radix(word, 16))
                .collect();
            words.ok().filter(|_| line.len() >= 8)
        });
        all.push(words.flatten().flat_map(u32::to_le_bytes).collect());
    }
    all
}

/// Kernels with loads, a loop and stores, alone and in a bundle.
pub fn valid_code_objects() -> Vec<Vec<u8>> {
    // s_load_dwordx2 s[4:5], s[0:1], 0x0; s_waitcnt lgkmcnt(0); v_lshlrev_b32 v0, 2, v0;
    // v_mov_b32 v1, 0; global_store_dword v0, v1, s[4:5]; s_add_u32 s6, s6, 1; s_cmp_lt_u32 s6, s7;
    // s_cbranch_scc1 to the store; s_endpgm
    const LOOP: [u32; 11] = [
        0xc006_0100,
        0x0000_0000,
        0xbf8c_c07f,
        0x2400_0082,
        0x7e02_0280,
        0xdc70_8000,
        0x0004_0100,
        0x8006_8106,
        0xbf0a_0706,
        0xbf85_fffb,
        0xbf81_0000,
    ];
    let kernel = |name| {
        elf::KernelSource::new(name, &LOOP).args(&[
            (0, 8, "global_buffer"),
            (8, 4, "by_value"),
            (16, 8, "hidden_global_offset_x"),
        ])
    };
    let one = elf::write(&[kernel("one")], &[1; 16], false);
    let two = elf::write(&[kernel("one"), kernel("two")], &[], true);
    let bundle = bundle(&one);
    vec![one, two, bundle]
}

/// An offload bundle with a host entry and one for gfx906.
fn bundle(object: &[u8]) -> Vec<u8> {
    const OBJECT_AT: u64 = 4096;
    let mut bytes = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    bytes.extend(2_u64.to_le_bytes());
    for (at, len, triple) in [
        (OBJECT_AT, 0, "host-x86_64-unknown-linux--"),
        (OBJECT_AT, object.len(), "hipv4-amdgcn-amd-amdhsa--gfx906"),
    ] {
        for number in [at, len as u64, triple.len() as u64] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(triple.as_bytes());
    }
    bytes.resize(OBJECT_AT as usize, 0);
    bytes.extend(object);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seeds that are refused at the door would find nothing behind it.
    #[test]
    fn the_seeds_are_taken() {
        for bytes in valid_code_objects() {
            let found = extract(&bytes, &ObjectLimits::default()).expect("a file with code");
            let object =
                CodeObject::parse(&found[0].bytes, &ObjectLimits::default()).expect("code");
            assert!(!object.kernels.is_empty());
        }
        assert!(valid_instructions().iter().all(|words| words.len() > 16));
    }
}
