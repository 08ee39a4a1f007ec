//! What is said of the kernels of whole files.

#[path = "words/code.rs"]
mod code;
#[path = "../../code-object/tests/elf/mod.rs"]
mod elf;

use std::ops::ControlFlow;

use code::{CALL, STORE, TABLE};
use elf::KernelSource;
use strobe_extent::Reason;
use strobe_footprint::Obstacle;
use strobe_footprint::inspect::{InspectedKernel, Report, inspect};

fn pointer(name: &'static str, code: &[u32]) -> KernelSource {
    KernelSource::new(name, code).args(&[(0, 8, "global_buffer")])
}

/// The text of each kernel, and the report.
fn all(file: &[u8], target: Option<&str>, wanted: &str) -> (Vec<String>, Report) {
    let mut texts = Vec::new();
    let named = |name: &str| name.contains(wanted);
    let report = inspect(file, target, named, |kernel: &InspectedKernel<'_>| {
        texts.push(format!("{} {kernel}", kernel.kernel.name));
        ControlFlow::Continue(())
    });
    (texts, report.expect("a report"))
}

fn three_kernels() -> Vec<u8> {
    let kernels = [
        pointer("store", STORE),
        pointer("call", CALL),
        KernelSource::new("table", TABLE).args(&[(0, 16, "by_value")]),
    ];
    elf::write(&kernels, &[0; 64], false)
}

#[test]
fn a_report_says_it_in_words() {
    let (texts, report) = all(&three_kernels(), Some("gfx906"), "");
    let counts = (
        report.kernels,
        report.writes_exact,
        report.reads_exact,
        report.conservative,
    );
    assert_eq!(counts, (3, 1, 2, 2));
    let reasons = [
        (Obstacle::Indirect, [0, 1]),
        (Obstacle::Unknown(Reason::UnresolvedCall), [1, 1]),
    ];
    assert_eq!(report.reasons, reasons.into());
    assert_eq!(report.contradicted, 0);
    assert_eq!(
        texts,
        [
            "store (gfx906, 1 arguments)\n  reads:  nothing\n  writes: arg0[4*tid.x .. +4)",
            "call (gfx906, 1 arguments)\n  reads:  unknown: unresolved call\n  \
             writes: unknown: unresolved call\n  because of unresolved call:\n    0x10030: s_swappc_b64 s[30:31], s[4:5]",
            "table (gfx906, 1 arguments)\n  reads:  arg0[8 .. +8)\n  \
             writes: pointers loaded from memory at arg0, arg0+8[0 .. +4)\n  \
             because of through pointers in memory:\n    0x1004c: global_store_dword v1, v0, s[8:9]",
        ]
    );
}

#[test]
fn arguments_have_the_names_of_the_metadata_and_what_it_denies_is_a_contradiction() {
    let kernel = |access, is_const| {
        let mut kernel = pointer("store", STORE);
        kernel.names = vec!["out"];
        kernel.access = access;
        kernel.is_const = is_const;
        elf::write(&[kernel], &[0; 64], false)
    };
    let said = "store (gfx906, 1 arguments)\n  reads:  nothing\n  writes: out[4*tid.x .. +4)";
    for (access, is_const, contradiction) in [
        (vec![], false, ""),
        (vec!["read_write"], false, ""),
        (vec!["write_only"], true, ""),
        (
            vec!["read_only"],
            false,
            "\n  contradiction: out is read_only by the metadata, and may be written by the code",
        ),
        (
            vec![],
            true,
            "\n  contradiction: out is const by the metadata, and may be written by the code",
        ),
    ] {
        let (texts, report) = all(&kernel(access, is_const), None, "");
        assert_eq!(texts, [format!("{said}{contradiction}")]);
        assert_eq!(report.contradicted, usize::from(!contradiction.is_empty()));
    }
    let mut hostile = pointer("store", STORE);
    hostile.names = vec!["\x1b[31mout"];
    let (texts, _) = all(&elf::write(&[hostile], &[0; 64], false), None, "");
    assert!(
        texts[0].ends_with("writes: arg0[4*tid.x .. +4)"),
        "{texts:?}"
    );
}

#[test]
fn code_comes_with_what_each_instruction_touches() {
    let mut code = Vec::new();
    let wanted = |name: &str| name == "store";
    let report = inspect(&three_kernels(), None, wanted, |kernel| {
        for (instruction, touches) in kernel.code() {
            let touches = touches
                .iter()
                .map(|touch| format!("; {} {}", touch.deed(), touch.what));
            code.push(instruction.text + &touches.collect::<String>());
        }
        ControlFlow::Continue(())
    });
    assert_eq!(report.expect("a report").kernels, 1);
    assert_eq!(code.len(), 8);
    assert_eq!(
        code[6],
        "global_store_dword v[1:2], v0, off; writes arg0[4*tid.x .. +4)"
    );
    assert_eq!(code[7], "s_endpgm");
    assert!(
        code.iter().take(6).all(|text| !text.contains(';')),
        "{code:?}"
    );
}

#[test]
fn code_of_another_target_is_left_out_and_its_target_named() {
    let (texts, report) = all(&three_kernels(), Some("gfx90a"), "");
    assert!(texts.is_empty());
    assert_eq!((report.objects, report.kernels), (0, 0));
    assert_eq!(report.targets, ["gfx906"]);
}

/// A raw bundle.
fn bundle(objects: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    bytes.extend((objects.len() as u64).to_le_bytes());
    let mut at = 4096;
    for (triple, object) in objects {
        for word in [at, object.len(), triple.len()] {
            bytes.extend((word as u64).to_le_bytes());
        }
        bytes.extend(triple.as_bytes());
        at += object.len();
    }
    bytes.resize(4096, 0);
    for (_, object) in objects {
        bytes.extend(object);
    }
    bytes
}

const GFX906: &str = "hipv4-amdgcn-amd-amdhsa--gfx906:xnack-";
const GENERIC: &str = "hipv4-amdgcn-amd-amdhsa--gfx9-generic";

/// Code for gfx906 that says it was for two targets.
fn two_targets() -> Vec<u8> {
    let gfx1030 = "hipv4-amdgcn-amd-amdhsa--gfx1030";
    bundle(&[(GFX906, three_kernels()), (gfx1030, three_kernels())])
}

/// Code of version 6 for the generic target.
fn three_generic_kernels() -> Vec<u8> {
    const ABI_VERSION: usize = 8;
    const FLAGS: usize = 48;
    let mut object = three_kernels();
    object[ABI_VERSION] = 4;
    object[FLAGS..FLAGS + 4].copy_from_slice(&0x0100_0151_u32.to_le_bytes());
    object
}

#[test]
fn code_for_a_generic_target_is_taken_where_there_is_no_other() {
    let generic = bundle(&[(GENERIC, three_generic_kernels())]);
    for (file, target) in [
        (&generic, Some("gfx906")),
        (&generic, Some("gfx9-generic")),
        (&generic, None),
        (&three_generic_kernels(), Some("gfx906")),
    ] {
        let (texts, report) = all(file, target, "store");
        assert_eq!((report.objects, report.kernels), (1, 1), "{target:?}");
        assert_eq!(report.targets, ["gfx9-generic"]);
        assert!(
            texts[0].contains("(gfx9-generic, 1 arguments)"),
            "{texts:?}"
        );
        assert_eq!(report.writes_exact, 1);
    }
    let (_, report) = all(&generic, Some("gfx908"), "");
    assert_eq!(report.objects, 0, "gfx908 is none of those that it is for");
    let both = bundle(&[
        (GENERIC, three_generic_kernels()),
        (GFX906, three_kernels()),
    ]);
    let (texts, report) = all(&both, Some("gfx906"), "store");
    assert_eq!(report.objects, 1);
    assert!(texts[0].contains("(gfx906, 1 arguments)"), "{texts:?}");
}

#[test]
fn all_targets_of_a_bundle_are_named_and_looked_at_unless_one_is_asked_for() {
    let file = two_targets();
    let (_, report) = all(&file, None, "");
    assert_eq!((report.objects, report.kernels), (2, 6));
    assert_eq!(report.targets, ["gfx906:xnack-", "gfx1030"]);
    let (_, report) = all(&file, Some("gfx906"), "store");
    assert_eq!((report.objects, report.kernels), (1, 1));
    assert_eq!(report.targets, ["gfx906:xnack-", "gfx1030"]);
}

#[test]
fn who_has_seen_enough_is_shown_no_more() {
    let mut seen = 0;
    let report = inspect(
        &two_targets(),
        None,
        |_| true,
        |_| {
            seen += 1;
            ControlFlow::Break(())
        },
    );
    assert_eq!((seen, report.expect("a report").kernels), (1, 1));
}
