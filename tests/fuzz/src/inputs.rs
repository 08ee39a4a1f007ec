//! What is read from files, sockets and other processes, against bytes that nobody wrote on purpose.
//!
//! A [`Format`] is read by a function that must neither panic, nor hang, nor allocate without bound,
//! whatever the bytes are. libFuzzer calls the same functions (`tests/fuzz/cargo-fuzz`); without it,
//! [`watch`] runs them over mutations of valid inputs, in a process of their own.

pub mod code;
pub mod messages;
pub mod mutate;
pub mod store;
pub mod watch;

/// Something that is read.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// As the command line, the file of libFuzzer's target and files of failures call it.
    pub name: &'static str,
    /// Reads it, as production does.
    pub read: fn(&[u8]),
    /// What it takes.
    pub valid: fn() -> Vec<Vec<u8>>,
}

const fn format(name: &'static str, read: fn(&[u8]), valid: fn() -> Vec<Vec<u8>>) -> Format {
    Format { name, read, valid }
}

/// All that is read from outside.
pub const FORMATS: [Format; 9] = [
    format("instructions", code::instructions, code::valid_instructions),
    format("code_objects", code::code_objects, code::valid_code_objects),
    format("footprint", code::footprint, code::valid_footprints),
    format("manifest", store::manifest, store::valid_manifests),
    format("chunk", store::chunk, store::valid_chunks),
    format(
        "amdgpu_images",
        messages::amdgpu_images,
        messages::valid_amdgpu_images,
    ),
    format(
        "criu_lists",
        messages::criu_lists,
        messages::valid_criu_lists,
    ),
    format("control", messages::control, messages::valid_control),
    format("hand_over", messages::hand_over, messages::valid_hand_overs),
];

/// Each breaks one of the rules, after a while: what [`watch`] is tested by.
pub const BROKEN: [Format; 3] = [
    format(
        "panics",
        |bytes| assert!(!is_bad(bytes), "as it should not"),
        some,
    ),
    format("hangs", |bytes| while is_bad(bytes) {}, some),
    format("allocates", allocates, some),
];

/// The format of this name.
pub fn find(name: &str) -> Option<Format> {
    FORMATS
        .iter()
        .chain(&BROKEN)
        .find(|format| format.name == name)
        .copied()
}

fn is_bad(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|&first| first > 0xf0)
}

fn allocates(bytes: &[u8]) {
    if is_bad(bytes) {
        let filled = std::hint::black_box(vec![1_u8; 8 << 30]);
        assert_eq!(filled.last(), Some(&1));
    }
}

fn some() -> Vec<Vec<u8>> {
    vec![vec![0; 8]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_inputs_are_taken_and_each_format_is_found() {
        for format in FORMATS {
            let valid = (format.valid)();
            assert!(!valid.is_empty());
            valid.iter().for_each(|bytes| (format.read)(bytes));
            assert_eq!(find(format.name).map(|found| found.name), Some(format.name));
        }
    }

    /// The layout of cargo-fuzz: a file for each, named in its manifest.
    #[test]
    fn libfuzzer_has_a_target_for_each() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("cargo-fuzz");
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        for format in FORMATS {
            let file = format!("fuzz_targets/{}.rs", format.name);
            let text = std::fs::read_to_string(folder.join(&file)).expect("a target");
            let call = format!("::{}(bytes)", format.name);
            assert!(text.contains(&call), "{file} does not call {call}");
            assert!(manifest.contains(&format!("path = \"{file}\"")), "{file}");
        }
    }
}
