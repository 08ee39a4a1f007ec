//! What comes out of whole code objects, and what hostile ones cannot do.

mod elf;

use std::io::Write;
use std::ops::ControlFlow;

use elf::{CODE, DATA, KernelSource};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use strobe_code_object::{
    ArgKind, BundleError, CodeObject, Constant, ExtractError, ObjectLimits, SymbolKind, TargetId,
    bundle_len, extract, file_of_image, visit, visit_file,
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
        assert_eq!(TargetId::of_elf(&bytes), Some(object.target));
        assert_eq!(TargetId::of_elf(&bytes[..51]), None);
        assert_eq!(TargetId::of_elf(&bytes[1..]), None);
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
        assert_eq!(object.constant_at(CODE + 4), Some(Constant::Dword(ENDPGM)));
        assert_eq!(object.constant_at(DATA), None, "a kernel may change it");
        let global = object.symbol_at(DATA + 3).expect("the data has a symbol");
        assert_eq!(
            (global.name.as_str(), global.kind),
            ("global", SymbolKind::Object)
        );
        assert_eq!(object.symbol_at(DATA + 4), None);
    }
}

/// As a loader lays them out, each byte at its address, and no more than is loaded.
#[test]
fn code_in_memory_is_what_it_was_in_the_file() {
    let file = include_bytes!("../../../crates/agent/kernels/gfx906.co");
    let limits = ObjectLimits::default();
    let object = CodeObject::parse(file, &limits).expect("a valid object");
    let end = object.segments.iter().map(|s| s.addresses.end).max();
    let mut image = vec![0; end.expect("segments") as usize];
    for segment in &object.segments {
        let content = &file[segment.file.clone()];
        image[segment.addresses.start as usize..][..content.len()].copy_from_slice(content);
    }
    let loaded = file_of_image(&image).expect("an image");
    let loaded = CodeObject::parse(&loaded, &limits).expect("a valid object");
    assert_eq!(loaded.kernels.len(), object.kernels.len());
    for (loaded, kernel) in loaded.kernels.iter().zip(&object.kernels) {
        assert_eq!((&loaded.name, &loaded.args), (&kernel.name, &kernel.args));
        assert_eq!(loaded.code, kernel.code);
        assert_eq!(loaded.descriptor_address, kernel.descriptor_address);
    }
    for length in [0, 4, 40, 63, 100] {
        let cut = file_of_image(&image[..length]);
        assert!(cut.is_none_or(|cut| CodeObject::parse(&cut, &limits).is_err()));
    }
    assert!(file_of_image(&[0; 4096]).is_none());
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
    assert_eq!(of_file(&bytes), of_memory(&bytes));
    bytes.truncate(bytes.len() - 1);
    assert!(matches!(
        extract(&bytes, &ObjectLimits::default()),
        Err(ExtractError::Entry { .. })
    ));
    assert_eq!(of_file(&bytes), of_memory(&bytes));
}

type Objects = Result<Vec<(String, usize, Vec<u8>)>, ExtractError>;

fn of_memory(bytes: &[u8]) -> Objects {
    let found = extract(bytes, &ObjectLimits::default())?;
    let owned = found.into_iter();
    Ok(owned
        .map(|object| (object.triple, object.at, object.bytes.into_owned()))
        .collect())
}

fn of_file(bytes: &[u8]) -> Objects {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(bytes).expect("room");
    let mut found = Vec::new();
    let limits = ObjectLimits::default();
    visit_file(
        &file,
        &limits,
        |_| true,
        |object| {
            found.push((object.triple, object.at, object.bytes.into_owned()));
            ControlFlow::Continue(())
        },
    )?;
    Ok(found)
}

/// A host's ELF file with this in its section for device code.
fn host(content: &[u8]) -> Vec<u8> {
    let names = b"\0.hip_fatbin\0";
    let at = |offset: usize| (offset as u64).to_le_bytes();
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(64, 0);
    bytes[16..20].copy_from_slice(&[3, 0, 62, 0]);
    let start = bytes.len();
    bytes.extend(content);
    let names_at = bytes.len();
    bytes.extend(names);
    let table = bytes.len();
    for (name, kind, offset, len) in [
        (0_u32, 0_u32, 0, 0),
        (1, 1, start, content.len()),
        (0, 3, names_at, names.len()),
    ] {
        let from = bytes.len();
        bytes.resize(from + 64, 0);
        bytes[from..from + 4].copy_from_slice(&name.to_le_bytes());
        bytes[from + 4..from + 8].copy_from_slice(&kind.to_le_bytes());
        bytes[from + 24..from + 32].copy_from_slice(&at(offset));
        bytes[from + 32..from + 40].copy_from_slice(&at(len));
    }
    bytes[40..48].copy_from_slice(&at(table));
    bytes[58..64].copy_from_slice(&[64, 0, 3, 0, 2, 0]);
    bytes
}

#[test]
fn of_a_library_the_section_for_device_code_is_looked_at() {
    let object = elf::write(&two_kernels(), &[0], false);
    // With padding that is longer than what is looked at in one go.
    let mut content = vec![0; 9000 * 8];
    content.extend(bundle(&object));
    content.resize(content.len().next_multiple_of(8), 0);
    content.extend(packed(&[("a--gfx906", 4096, &object)]));
    let library = host(&content);
    let found = of_memory(&library).expect("two bundles");
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|(_, _, bytes)| *bytes == object));
    assert_eq!(found[0].1, 64 + 9000 * 8);
    assert_eq!(of_file(&library), Ok(found));
    for len in (0..library.len()).step_by(97) {
        let cut = &library[..len];
        assert_eq!(of_file(cut), of_memory(cut));
        assert!(of_memory(cut).is_err(), "cut at {len}");
    }
}

/// A compressed bundle of version 2 with these entries after a header of 4096 bytes.
fn packed(entries: &[(&str, usize, &[u8])]) -> Vec<u8> {
    let mut raw = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    raw.extend((entries.len() as u64).to_le_bytes());
    for (triple, offset, content) in entries {
        for word in [*offset, content.len(), triple.len()] {
            raw.extend((word as u64).to_le_bytes());
        }
        raw.extend(triple.as_bytes());
    }
    for (_, offset, content) in entries {
        raw.resize(raw.len().max(offset + content.len()), 0);
        raw[*offset..][..content.len()].copy_from_slice(content);
    }
    let frame = compress_to_vec(&raw[..], CompressionLevel::Uncompressed);
    let mut bytes = b"CCOB\x02\0\x01\0".to_vec();
    bytes.extend((24 + frame.len() as u32).to_le_bytes());
    bytes.extend((raw.len() as u32).to_le_bytes());
    bytes.extend([0; 8]);
    bytes.extend(frame);
    bytes
}

#[test]
fn of_a_packed_bundle_only_what_is_wanted_comes_out_and_as_long_as_it_is() {
    let object = elf::write(&two_kernels(), &[0], false);
    let place = |index: usize| 4096 + index * object.len().next_multiple_of(4096);
    let triples = ["a--gfx900", "a--gfx906", "a--gfx908"];
    // Not in the order of their places, and one that is no device code.
    let bytes = packed(&[
        (triples[2], place(3), &object),
        (triples[0], place(0), &object),
        ("host", place(2), b"text"),
        (triples[1], place(1), &object),
    ]);
    let see = |wanted: &str, most: usize| {
        let (mut named, mut seen) = (Vec::new(), Vec::new());
        let visited = visit(
            &bytes,
            &ObjectLimits::default(),
            |triple| {
                named.push(triple.to_owned());
                triple.contains(wanted)
            },
            |found| {
                assert_eq!(&found.bytes[..], &object[..]);
                seen.push(found.triple);
                match seen.len() < most {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            },
        );
        assert_eq!(visited, Ok(()));
        (named, seen)
    };
    assert_eq!(
        see("gfx906", 9),
        (triples.map(Into::into).into(), vec![triples[1].to_owned()])
    );
    assert_eq!(see("", 2).1, triples[..2]);
    assert_eq!(
        see("", 2).0,
        triples[..2],
        "the third is not unpacked any more"
    );
    assert_eq!(see("", 9).1, triples);
    let at_once = extract(&bytes, &ObjectLimits::default()).expect("a bundle");
    assert_eq!(at_once.len(), 3);
}

#[test]
fn a_packed_bundle_whose_entries_lie_on_one_another_is_refused() {
    let object = elf::write(&two_kernels(), &[0], false);
    for second in [4096, 4096 + object.len() - 1] {
        let bytes = packed(&[("a--gfx900", 4096, &object), ("a--gfx906", second, &object)]);
        let refused = extract(&bytes, &ObjectLimits::default()).expect_err("overlapping entries");
        let ExtractError::Bundle { error, .. } = refused else {
            panic!("{refused}");
        };
        assert_eq!(error, BundleError::Overlap("a--gfx906".to_owned()));
    }
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
                        let _ = object.constant_at(kernel.code.end);
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
