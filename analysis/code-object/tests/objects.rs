//! What comes out of whole code objects, and what hostile ones cannot do.

mod elf;

use elf::{CODE, DATA, KernelSource};
use strobe_code_object::{
    ArgKind, CodeObject, ExtractError, ObjectLimits, SymbolKind, bundle_len, extract,
};
use strobe_isa::Target;

const ENDPGM: u32 = 0xbf81_0000;

fn two_kernels() -> Vec<KernelSource> {
    vec![
        KernelSource::new("first", &[0xbf80_0000, ENDPGM]).args(&[
            (0, 8, "global_buffer"),
            (8, 4, "by_value"),
            (16, 8, "hidden_heap_v1"),
        ]),
        KernelSource::new("second", &[ENDPGM]).args(&[(0, 8, "kind_of_tomorrow")]),
    ]
}

fn bundle(object: &[u8]) -> Vec<u8> {
    let host = "host-x86_64-unknown-linux--";
    let device = "hipv4-amdgcn-amd-amdhsa--gfx906";
    let spirv = "hip-spirv64-amd-amdhsa--";
    let mut bytes = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    bytes.extend(3_u64.to_le_bytes());
    for (triple, offset, size) in [
        (host, 4096, 0),
        (device, 4096, object.len()),
        (spirv, 0, 24),
    ] {
        bytes.extend((offset as u64).to_le_bytes());
        bytes.extend((size as u64).to_le_bytes());
        bytes.extend((triple.len() as u64).to_le_bytes());
        bytes.extend(triple.as_bytes());
    }
    bytes.resize(4096, 0);
    bytes.extend(object);
    bytes
}

#[test]
fn kernels_come_with_descriptor_arguments_and_code() {
    for one_note_each in [false, true] {
        let bytes = elf::write(&two_kernels(), &[1, 2, 3, 4], one_note_each);
        let object = CodeObject::parse(&bytes, &ObjectLimits::default()).expect("a valid object");
        assert_eq!(object.target.target(), Some(&Target::GFX906));
        assert_eq!(object.target.to_string(), "gfx906");
        assert_eq!(object.abi, 2);
        let [first, second] = &object.kernels[..] else {
            panic!(
                "with one_note_each {one_note_each}: {} kernels",
                object.kernels.len()
            );
        };
        assert_eq!(
            (first.name.as_str(), first.symbol.as_str()),
            ("first", "first.kd")
        );
        assert_eq!(first.code, CODE..CODE + 8);
        assert_eq!(second.code, CODE + 8..CODE + 12);
        assert_eq!(first.args[0].kind, ArgKind::GlobalBuffer);
        assert_eq!(first.args[2].kind, ArgKind::HiddenHeap);
        assert_eq!(second.args[0].kind, ArgKind::Unknown);
        assert_eq!(first.arg_at(11).map(|(index, _)| index), Some(1));
        assert_eq!(first.arg_at(12), None);
        assert_eq!(first.descriptor.user_sgprs(), 2);
        assert!(first.descriptor.kernarg_segment_ptr() && first.descriptor.workgroup_id(0));
        assert!(!first.descriptor.workgroup_id(1));
        assert_eq!(object.constant_dword(CODE + 4), Some(ENDPGM));
        assert_eq!(object.constant_dword(DATA), None, "a kernel may change it");
        let global = object.symbol_at(DATA + 3).expect("the data has a symbol");
        assert_eq!(
            (global.name.as_str(), global.kind),
            ("global", SymbolKind::Object)
        );
        assert_eq!(object.symbol_at(DATA + 4), None);
    }
}

#[test]
fn an_empty_function_at_the_start_of_another_is_a_stub() {
    let mut kernels = two_kernels();
    kernels[0].code.clear();
    let bytes = elf::write(&kernels, &[0], false);
    let object = CodeObject::parse(&bytes, &ObjectLimits::default()).expect("a valid object");
    assert!(
        object.kernels[0].code.is_empty(),
        "it has no body on this target"
    );
    assert_eq!(object.kernels[1].code, CODE..CODE + 4);
}

#[test]
fn a_function_without_size_reaches_to_the_next() {
    let mut kernels = two_kernels();
    for kernel in &mut kernels {
        kernel.symbol_size = Some(0);
    }
    let bytes = elf::write(&kernels, &[0], true);
    let object = CodeObject::parse(&bytes, &ObjectLimits::default()).expect("a valid object");
    assert_eq!(object.kernels[0].code, CODE..CODE + 8);
    assert_eq!(object.kernels[1].code, CODE + 8..CODE + 12);
}

#[test]
fn bundles_back_to_back_give_device_code_only() {
    let object = elf::write(&two_kernels(), &[0], false);
    let mut bytes = bundle(&object);
    assert_eq!(bundle_len(&bytes[..256]), Ok(bytes.len()));
    bytes.resize(bytes.len().next_multiple_of(4096), 0);
    let second = bytes.len();
    bytes.extend(bundle(&object));
    let found = extract(&bytes, &ObjectLimits::default()).expect("two bundles");
    assert_eq!(found.len(), 2);
    assert_eq!(found[1].at, second);
    for entry in &found {
        assert_eq!(entry.triple, "hipv4-amdgcn-amd-amdhsa--gfx906");
        assert_eq!(&entry.bytes[..], &object[..]);
    }
    bytes.truncate(bytes.len() - 1);
    assert!(matches!(
        extract(&bytes, &ObjectLimits::default()),
        Err(ExtractError::Entry { .. })
    ));
}

#[test]
fn files_without_device_code_say_so() {
    let limits = ObjectLimits::default();
    assert_eq!(extract(b"text", &limits).unwrap_err(), ExtractError::Format);
    assert_eq!(extract(b"", &limits).unwrap_err(), ExtractError::Format);
    let own = std::fs::read(std::env::current_exe().expect("a running test")).expect("readable");
    assert_eq!(
        extract(&own, &limits).unwrap_err(),
        ExtractError::NoDeviceCode
    );
}

/// Flips, cuts and overwrites: every result is an object or an error.
#[test]
fn mutated_objects_never_panic() {
    let object = elf::write(&two_kernels(), &[1, 2, 3, 4], true);
    let original = bundle(&object);
    let limits = ObjectLimits {
        uncompressed: 1 << 20,
        ..ObjectLimits::default()
    };
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    // The header, the notes and the symbols are where lengths and offsets are.
    let interesting = [
        0..400,
        4096..4096 + 512,
        4096 + 0x1000..4096 + 0x1600,
        original.len() - 300..original.len(),
    ];
    let (mut parsed, mut refused) = (0, 0);
    for _ in 0..20_000 {
        let mut bytes = original.clone();
        for _ in 0..1 + random() % 4 {
            let range = interesting[(random() % 4) as usize].clone();
            let at = range.start + (random() as usize) % range.len();
            match random() % 3 {
                0 => bytes[at] ^= 1 << (random() % 8),
                1 => bytes[at] = random() as u8,
                _ => {
                    let end = (at + 8).min(bytes.len());
                    bytes[at..end].fill(if random() % 2 == 0 { 0xff } else { 0x7f });
                }
            }
        }
        if random() % 8 == 0 {
            bytes.truncate((random() as usize) % bytes.len());
        }
        let _ = bundle_len(&bytes);
        for entry in extract(&bytes, &limits).into_iter().flatten() {
            match CodeObject::parse(&entry.bytes, &limits) {
                Ok(object) => {
                    parsed += 1;
                    for kernel in &object.kernels {
                        assert!(kernel.code.start <= kernel.code.end);
                        let _ = object.symbol_at(kernel.code.end);
                        let _ = object.constant_dword(kernel.code.end);
                    }
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(
        parsed > 1000 && refused > 1000,
        "parsed {parsed}, refused {refused}: too tame"
    );
}
