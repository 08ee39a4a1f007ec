//! Some hundreds of random kernels, the failures of earlier ones, and lies that must be found out.

use std::fs;
use std::path::Path;

use strobe_fuzz::campaign::{Bench, Tallies, Tally};
use strobe_fuzz::compile::Language;
use strobe_fuzz::device::Device;
use strobe_fuzz::judge::{Judgement, footprint, judge};
use strobe_fuzz::program::{Program, file};
use strobe_fuzz::random::Random;
use strobe_fuzz::{compile, hip, machine, saved};

/// Files of kernels, one a seed.
fn hold(language: Language, seeds: impl Iterator<Item = u64>) -> Tallies {
    let mut bench = Bench::new().expect("a compiler");
    for seed in seeds {
        let failures = bench.round(language, seed, 1).expect("the compiler runs");
        assert!(failures.is_empty(), "seed {seed}:\n{}", failures.concat());
    }
    println!("{:?}", bench.tallies);
    bench.tallies
}

/// Kernels that nothing is said of, or that are not run, show nothing.
fn assert_worth(tally: &Tally, kernels: u64) {
    assert!(tally.kernels >= kernels, "{tally:?}");
    assert_eq!(tally.refused, 0, "the compiler takes all kernels");
    assert!(tally.launches > 4 * tally.kernels, "{tally:?}");
    assert!(tally.writes_known * 10 > tally.launches * 7, "{tally:?}");
}

#[test]
fn kernels_of_machine_code_touch_what_was_predicted() {
    assert_worth(&hold(Language::Assembly, 1..4).machine, 1000);
}

/// At several levels of optimisation.
#[test]
fn kernels_of_hip_source_touch_what_was_predicted() {
    assert_worth(&hold(Language::Hip, 0..8).hip, 300);
}

#[test]
fn what_failed_once_is_predicted_now() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../filetests/footprint/fuzz");
    let mut bench = Bench::new().expect("a compiler");
    let mut cases = 0;
    for entry in fs::read_dir(&folder).expect("the folder of cases") {
        let path = entry.expect("a file").path();
        let language = match path.extension().and_then(|extension| extension.to_str()) {
            Some("s") => Language::Assembly,
            _ => Language::Hip,
        };
        let text = fs::read_to_string(&path).expect("a case");
        let verdict = saved::replay(&mut bench, language, &text);
        let verdict = verdict.unwrap_or_else(|error| panic!("{}: {error:#}", path.display()));
        let holds = matches!(verdict, Judgement::Holds { .. });
        assert!(holds, "{}: {verdict:?}", path.display());
        cases += 1;
    }
    assert!(cases > 0, "no case in {}", folder.display());
}

/// Kernels are run whole and judged by the footprint of what is left without their last store: how many
/// of a hundred are found out.
fn found_out<P: Program>(
    mut draw: impl FnMut(&mut Random) -> (P, P),
    scene: fn(&mut Random) -> strobe_fuzz::scene::Scene,
    flags: &str,
    kernels: usize,
) -> usize {
    let mut random = Random::new(7);
    let (whole, less): (Vec<P>, Vec<P>) = (0..kernels).map(|_| draw(&mut random)).unzip();
    let compiler = compile::Compiler::new().expect("a compiler");
    let compiled = |programs: &[P]| {
        let elf = compiler.compile(P::LANGUAGE, &file(programs), flags);
        elf.expect("kernels that compile")
    };
    let (whole, less) = (compiled(&whole), compiled(&less));
    let mut device = Device::new();
    let lies = device.load(&less).expect("a code object").object;
    let module = device.load(&whole).expect("a code object");
    let mut found = 0;
    for kernel in &module.object.kernels {
        let lie = lies.kernels.iter().find(|lie| lie.name == kernel.name);
        let lie = footprint(&lies, lie.expect("the same names")).expect("a footprint");
        let missed = (0..5).any(|_| {
            let scene = scene(&mut random);
            let verdict = judge(&mut device, &module, kernel, &lie, &scene);
            matches!(verdict, Judgement::Missed(_))
        });
        found += usize::from(missed);
    }
    100 * found / kernels
}

#[test]
fn a_footprint_that_lacks_a_store_is_found_out() {
    let found = found_out(
        |random| {
            let whole = hip::kernel(random);
            let mut less = whole.clone();
            let block = less.children.last_mut().expect("a block");
            block.children.pop();
            (whole, less)
        },
        hip::scene,
        "-O2",
        50,
    );
    println!("HIP source: {found} %");
    assert!(found >= 60, "only {found} % of lies were found out");
    let found = found_out(
        |random| {
            let whole = machine::kernel(random);
            let less = whole.without_last_store();
            (whole, less)
        },
        machine::scene,
        "",
        400,
    );
    println!("machine code: {found} %");
    assert!(found >= 40, "only {found} % of lies were found out");
}
