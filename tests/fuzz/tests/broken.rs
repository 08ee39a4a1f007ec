//! The fuzzer can fail: each rule of the analysis that is broken on purpose is found out.

use strobe_footprint::broken::{Rule, without};
use strobe_fuzz::compile::Compiler;
use strobe_fuzz::device::{Device, Module, RunOutcome, predict, predict_stored};
use strobe_fuzz::judge::{Judgement, compare, footprint, judge};
use strobe_fuzz::machine;
use strobe_fuzz::program::{Program, file};
use strobe_fuzz::random::Random;
use strobe_fuzz::scene::Scene;

/// Kernels of machine code after which every rule must have been found out.
const KERNELS: usize = 5000;
/// Kernels of one run of the assembler.
const FILE: usize = 200;
/// Launches of each kernel.
const LAUNCHES: usize = 5;

/// The launches of one kernel, and what it did in them.
struct Trial<'a> {
    device: &'a mut Device,
    module: &'a Module,
    kernel: &'a strobe_code_object::Kernel,
    launches: Vec<(Scene, RunOutcome)>,
}

impl Trial<'_> {
    /// What the kernel touched that was not foreseen without the rule.
    fn missed(&mut self, rule: Rule) -> Option<String> {
        without(Some(rule), || {
            let lie = footprint(&self.module.object, self.kernel).expect("a footprint");
            self.launches.iter().find_map(|(scene, outcome)| {
                let RunOutcome::Ended(seen) = outcome else {
                    return None;
                };
                let accesses = compare(&predict(&lie, self.kernel, scene), seen);
                let stored = predict_stored(&lie, self.kernel, scene);
                if accesses.is_ok() && stored.is_empty() {
                    return None;
                }
                match judge(self.device, self.module, self.kernel, &lie, scene) {
                    Judgement::Missed(missed) => Some(missed),
                    _ => None,
                }
            })
        })
    }
}

#[test]
fn every_broken_rule_is_found() {
    let mut random = Random::new(1);
    let compiler = Compiler::new().expect("a compiler");
    let mut device = Device::new();
    let mut hidden = Rule::ALL.to_vec();
    let mut kernels = 0;
    while !hidden.is_empty() && kernels < KERNELS {
        let programs: Vec<_> = (0..FILE).map(|_| machine::kernel(&mut random)).collect();
        let elf = compiler.compile(machine::Machine::LANGUAGE, &file(&programs), "");
        let elf = elf.expect("kernels that the assembler takes");
        let module = device.load(&elf).expect("a code object");
        for kernel in &module.object.kernels {
            kernels += 1;
            let scenes = (0..LAUNCHES).map(|_| machine::scene(&mut random));
            let launches = scenes.map(|scene| {
                let outcome = device.run(&module, kernel, &scene);
                (scene, outcome)
            });
            let launches = launches.collect();
            let mut trial = Trial {
                device: &mut device,
                module: &module,
                kernel,
                launches,
            };
            hidden.retain(|&rule| match trial.missed(rule) {
                Some(missed) => {
                    println!("{rule:?} is found by kernel {kernels}: {missed}");
                    false
                }
                None => true,
            });
        }
    }
    assert!(
        hidden.is_empty(),
        "{hidden:?} went unnoticed by {kernels} kernels"
    );
}
