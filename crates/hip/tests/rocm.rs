//! The list against the installed ROCm 5.2.3: the library's exports and the headers' declarations; and against the exports
//! of the other releases, which `cargo xtask setup --tests` unpacks.

use goblin::elf::Elf;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use strobe_hip::{Api, RELEASES, hsa};

/// Where a release's libraries are.
fn libraries(release: &str) -> PathBuf {
    let root = match release {
        "5.2" => PathBuf::from("/"),
        other => strobe_data().join(format!("rocm-{other}")),
    };
    root.join("usr/lib/x86_64-linux-gnu")
}

/// As `cargo xtask setup` finds it.
fn strobe_data() -> PathBuf {
    let data = match std::env::var_os("XDG_DATA_HOME").map(PathBuf::from) {
        Some(data) if data.is_absolute() => data,
        _ => std::env::home_dir().expect("a home").join(".local/share"),
    };
    data.join("strobe")
}

fn hip_of(release: &str) -> PathBuf {
    let major = release.split('.').next().expect("a number");
    libraries(release).join(format!("libamdhip64.so.{major}"))
}

/// Functions of HIP that the library exports, with their symbol versions.
fn exports(release: &str) -> BTreeMap<String, String> {
    let library = hip_of(release);
    let bytes = std::fs::read(&library).unwrap_or_else(|error| {
        panic!("{}: {error}; cargo xtask setup --tests", library.display())
    });
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
fn the_list_is_what_the_library_of_each_release_exports() {
    for release in RELEASES {
        let listed: BTreeMap<String, String> = Api::ALL
            .iter()
            .filter(|api| api.is_in(release))
            .map(|api| (format!("{api:?}"), api.since().to_owned()))
            .collect();
        let exported = exports(release);
        let names = |map: &BTreeMap<String, String>| map.keys().cloned().collect::<BTreeSet<_>>();
        let (ours, its) = (names(&listed), names(&exported));
        let missing: Vec<_> = its.difference(&ours).collect();
        assert!(
            missing.is_empty(),
            "{release} exports what is not listed: {missing:?}"
        );
        let extra: Vec<_> = ours.difference(&its).collect();
        assert!(
            extra.is_empty(),
            "{release} does not export what is listed: {extra:?}"
        );
        assert_eq!(listed, exported, "symbol versions of {release} differ");
    }
    let c = exports("5.2")
        .into_keys()
        .filter(|name| !name.starts_with("_Z"));
    assert_eq!(c.count(), 399);
}

#[test]
fn the_list_of_the_runtime_below_is_what_that_library_exports() {
    let mut exported = BTreeSet::new();
    for release in ["5.2", "7.2"] {
        let library = libraries(release).join("libhsa-runtime64.so.1");
        let bytes = std::fs::read(library).expect("it is there: cargo xtask setup --tests");
        let elf = Elf::parse(&bytes).expect("an ELF file");
        let functions = elf
            .dynsyms
            .iter()
            .filter(|symbol| symbol.is_function() && !symbol.is_import())
            .filter_map(|symbol| elf.dynstrtab.get_at(symbol.st_name))
            .filter(|name| name.starts_with("hsa_"));
        exported.extend(functions.map(str::to_owned));
    }
    let listed = hsa::REFUSED.iter().chain(hsa::PURE);
    let names: BTreeSet<String> = listed
        .map(|name| name.to_str().expect("ASCII").to_owned())
        .collect();
    assert_eq!(names, exported);
    assert_eq!(
        names.len(),
        hsa::REFUSED.len() + hsa::PURE.len(),
        "named twice"
    );
    assert!(hsa::is_listed(c"hsa_init") && !hsa::is_listed(c"hsa_tomorrow"));
}

/// The headers' declarations as the C preprocessor leaves them: result and parameter types.
fn declarations(release: &str) -> BTreeMap<String, (String, Vec<String>)> {
    let libraries = libraries(release);
    let headers = libraries.ancestors().nth(2).expect("usr").join("include");
    let output = Command::new("cc")
        .args([
            "-E",
            "-P",
            "-x",
            "c",
            "-D__HIP_PLATFORM_AMD__=1",
            "-D__attribute__(x)=",
            "-isystem",
        ])
        .arg(&headers)
        .arg("-include")
        .arg(headers.join("hip/hiprtc.h"))
        .arg(headers.join("hip/hip_runtime_api.h"))
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
        || has("hipHostFn_t")
        || has("hipCtx_t")
        || has("hipLinkState_t")
        || has("hiprtcLinkState")
        || has("hipMemGenericAllocationHandle_t")
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
        ("hipMemLocation", "MemLocation"),
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
        "Dim3" | "Extent3" | "PitchedPtr" | "IpcMemHandle" | "MemLocation" => Passed::Struct(ty),
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
    let declared = ["5.2", "7.2"].map(declarations);
    let mut missing = Vec::new();
    for api in Api::ALL {
        let Some(signature) = api.signature() else {
            continue;
        };
        let name = format!("{api:?}");
        let known: Vec<_> = declared.iter().filter_map(|d| d.get(&name)).collect();
        if known.is_empty() {
            missing.push(api);
        }
        for (result, parameters) in known {
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
        }
    }
    // C since 6.4, and C++ before: what they take is what those took.
    missing.retain(|api| {
        let same = |other: &&Api| other.name() == api.name() && **other != **api;
        let is_c = !format!("{api:?}").starts_with("_Z");
        let before = if is_c {
            Api::ALL.iter().find(same)
        } else {
            None
        };
        before.is_none_or(|before| {
            let parameters = |api: Api| api.signature().map(|signature| signature.parameters);
            assert_eq!(parameters(**api), parameters(*before), "{api:?}");
            false
        })
    });
    // Not in these headers: three C++ functions and hipcc's registration functions.
    assert!(missing.len() <= 7, "not found: {missing:?}");
}
