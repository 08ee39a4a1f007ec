//! The list against the installed ROCm 5.2.3: the library's exports and the headers' declarations.

use goblin::elf::Elf;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use strobe_hip::{Api, hsa};

const LIBRARY: &str = "/usr/lib/x86_64-linux-gnu/libamdhip64.so.5";

/// Functions of HIP that the library exports, with their symbol versions.
fn exports() -> BTreeMap<String, String> {
    let bytes = std::fs::read(LIBRARY).expect("ROCm 5.2.3 is installed");
    let elf = Elf::parse(&bytes).expect("an ELF file");
    let definitions = elf.verdef.as_ref().expect("versioned symbols");
    let names: BTreeMap<u16, &str> = definitions
        .iter()
        .filter_map(|definition| {
            let name = definition.iter().next()?.vda_name;
            Some((definition.vd_ndx, elf.dynstrtab.get_at(name)?))
        })
        .collect();
    let versions = elf.versym.as_ref().expect("versioned symbols");
    elf.dynsyms
        .iter()
        .zip(versions.iter())
        .filter(|(symbol, _)| symbol.is_function() && !symbol.is_import())
        .filter_map(|(symbol, version)| {
            let name = elf.dynstrtab.get_at(symbol.st_name)?;
            let mangled = name
                .strip_prefix("_Z")
                .is_some_and(|rest| rest.contains("hip"));
            let ours = name.starts_with("hip") || name.starts_with("__hip") || mangled;
            let since = names.get(&version.version())?.trim_start_matches("hip_");
            ours.then(|| (name.to_owned(), since.to_owned()))
        })
        .collect()
}

#[test]
fn the_list_is_what_the_library_exports() {
    let listed: BTreeMap<String, String> = Api::ALL
        .iter()
        .map(|api| (format!("{api:?}"), api.since().to_owned()))
        .collect();
    let exported = exports();
    let names = |map: &BTreeMap<String, String>| map.keys().cloned().collect::<BTreeSet<_>>();
    let missing: Vec<_> = names(&exported)
        .difference(&names(&listed))
        .cloned()
        .collect();
    assert!(missing.is_empty(), "exported but not listed: {missing:?}");
    let extra: Vec<_> = names(&listed)
        .difference(&names(&exported))
        .cloned()
        .collect();
    assert!(extra.is_empty(), "listed but not exported: {extra:?}");
    assert_eq!(listed, exported, "symbol versions differ");
    let c = exported
        .keys()
        .filter(|name| !name.starts_with("_Z"))
        .count();
    assert_eq!(c, 399);
}

#[test]
fn the_list_of_the_runtime_below_is_what_that_library_exports() {
    const LIBRARY: &str = "/usr/lib/x86_64-linux-gnu/libhsa-runtime64.so.1";
    let bytes = std::fs::read(LIBRARY).expect("ROCm 5.2.3 is installed");
    let elf = Elf::parse(&bytes).expect("an ELF file");
    let exported: BTreeSet<&str> = elf
        .dynsyms
        .iter()
        .filter(|symbol| symbol.is_function() && !symbol.is_import())
        .filter_map(|symbol| elf.dynstrtab.get_at(symbol.st_name))
        .filter(|name| name.starts_with("hsa_"))
        .collect();
    let listed = hsa::REFUSED.iter().chain(hsa::PURE);
    let names: BTreeSet<&str> = listed.map(|name| name.to_str().expect("ASCII")).collect();
    assert_eq!(names, exported);
    assert_eq!(
        names.len(),
        hsa::REFUSED.len() + hsa::PURE.len(),
        "named twice"
    );
    assert!(hsa::is_listed(c"hsa_init") && !hsa::is_listed(c"hsa_tomorrow"));
}

/// The headers' declarations as the C preprocessor leaves them: result and parameter types.
fn declarations() -> BTreeMap<String, (String, Vec<String>)> {
    let output = Command::new("cc")
        .args([
            "-E",
            "-P",
            "-x",
            "c",
            "-D__HIP_PLATFORM_AMD__=1",
            "-D__attribute__(x)=",
            "-include",
            "/usr/include/hip/hiprtc.h",
        ])
        .arg("/usr/include/hip/hip_runtime_api.h")
        .output()
        .expect("a C compiler");
    let text = String::from_utf8_lossy(&output.stdout).replace(['\n', '\t'], " ");
    text.split(';')
        .filter_map(|statement| {
            let (head, rest) = statement.split_once('(')?;
            let name = head.split([' ', '*']).next_back()?;
            let result = head
                .strip_suffix(name)?
                .split(['{', '}'])
                .next_back()?
                .trim();
            let parameters = rest
                .strip_suffix(')')
                .or_else(|| rest.trim_end().strip_suffix(')'))?;
            let ours = name.starts_with("hip") || name.starts_with("__hip");
            let parameters: Vec<String> = match parameters.trim() {
                "" | "void" => Vec::new(),
                some => some.split(',').map(|p| p.trim().to_owned()).collect(),
            };
            ours.then(|| (name.to_owned(), (result.to_owned(), parameters)))
        })
        .collect()
}

/// How a parameter is passed: what must agree for a call to be right.
#[derive(Debug, PartialEq, Eq)]
enum Passed {
    Pointer,
    Eight,
    Four,
    Two,
    One,
    Struct(&'static str),
}

fn passed_in_c(parameter: &str) -> Passed {
    let words: Vec<&str> = parameter
        .split([' ', '*'])
        .filter(|w| !w.is_empty())
        .collect();
    let has = |word: &str| words.contains(&word);
    if parameter.contains('*')
        || has("hiprtcProgram")
        || has("hipDeviceptr_t")
        || has("hipStreamCallback_t")
    {
        return Passed::Pointer;
    }
    for handle in [
        "Stream",
        "Event",
        "Module",
        "Function",
        "Graph",
        "GraphExec",
        "GraphNode",
        "MemPool",
    ] {
        if has(&format!("hip{handle}_t")) {
            return Passed::Pointer;
        }
    }
    for (c, rust) in [
        ("dim3", "Dim3"),
        ("hipExtent", "Extent3"),
        ("hipPitchedPtr", "PitchedPtr"),
        ("hipIpcMemHandle_t", "IpcMemHandle"),
    ] {
        if has(c) {
            return Passed::Struct(rust);
        }
    }
    if has("size_t") || has("uint64_t") || has("long") {
        Passed::Eight
    } else if has("short") {
        Passed::Two
    } else if has("char") {
        Passed::One
    } else {
        // int, unsigned, uint32_t, enums
        Passed::Four
    }
}

fn passed_in_rust(ty: &'static str) -> Passed {
    match ty {
        "Stream" | "Event" | "Module" | "Kernel" | "Graph" | "GraphExec" | "GraphNode"
        | "MemPool" | "Ptr" | "ConstPtr" | "StreamCallback" => Passed::Pointer,
        "Dim3" | "Extent3" | "PitchedPtr" | "IpcMemHandle" => Passed::Struct(ty),
        "usize" | "u64" => Passed::Eight,
        "c_ushort" => Passed::Two,
        "c_uchar" => Passed::One,
        "c_int" | "c_uint" | "u32" | "CopyKind" | "CaptureMode" | "Status" => Passed::Four,
        pointer if pointer.starts_with('*') => Passed::Pointer,
        other => panic!("a type that this test does not know: {other}"),
    }
}

#[test]
fn signatures_are_those_of_the_headers() {
    let declared = declarations();
    let mut checked = 0;
    let mut missing = Vec::new();
    for api in Api::ALL {
        let Some(signature) = api.signature() else {
            continue;
        };
        let Some((result, parameters)) = declared.get(&format!("{api:?}")) else {
            missing.push(api);
            continue;
        };
        let want: Vec<Passed> = parameters.iter().map(|p| passed_in_c(p)).collect();
        let have: Vec<Passed> = signature
            .parameters
            .iter()
            .map(|(_, ty)| passed_in_rust(ty))
            .collect();
        assert_eq!(have, want, "{api:?}({parameters:?})");
        if result.ends_with("hipError_t") {
            assert_eq!(signature.result, "Status", "{api:?}");
        }
        checked += 1;
    }
    // Not in this header: three C++ functions and hipcc's registration functions.
    assert!(
        missing.len() <= 7,
        "{checked} checked; not found: {missing:?}"
    );
}
