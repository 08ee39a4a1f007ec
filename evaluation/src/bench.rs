//! The experiments.

mod choice;
mod demand;
mod freeze;
mod interpreter;
mod launches;
mod moving;
mod restore;
mod setup;
mod stalls;
mod upstream;
mod validation;
mod workloads;

use serde::Serialize;

pub(crate) use setup::Setup;

/// What can be measured, by the names that the command line has for it.
pub(crate) const EXPERIMENTS: [&str; 9] = [
    "launches",
    "stalls",
    "choice",
    "workloads",
    "validation",
    "interpreter",
    "restore",
    "demand",
    "moving",
];

/// What is to be measured.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) setup: Setup,
    /// Ascending.
    pub(crate) state_mb: Vec<u64>,
    /// Of [`EXPERIMENTS`].
    pub(crate) wanted: Vec<String>,
}

/// All results; of what was not wanted there are none.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Results {
    launches: Option<launches::Results>,
    stalls: Vec<stalls::Results>,
    choice: Vec<choice::Results>,
    workloads: Vec<workloads::Results>,
    freeze: Vec<freeze::Results>,
    validation: Option<validation::Results>,
    interpreter: Vec<interpreter::Rate>,
    restore: Option<restore::Results>,
    demand: Option<demand::Results>,
    moving: Vec<moving::Results>,
}

impl Bench {
    /// Runs what is wanted, printing each table as it is ready.
    pub(crate) fn run(&self) -> anyhow::Result<Results> {
        let wanted = |name: &str| self.wanted.iter().any(|wanted| wanted == name);
        let mut results = Results::default();
        if wanted("launches") {
            let launches = self.setup.launches()?;
            print!("{}", launches.table());
            results.launches = Some(launches);
        }
        if wanted("stalls") {
            for &state_mb in &self.state_mb {
                for modelled in [true, false] {
                    let stalls = self.setup.stalls(state_mb, modelled)?;
                    print!("{}", stalls.table());
                    if modelled {
                        let freeze = self.setup.freeze(&stalls)?;
                        print!("{}", freeze.table());
                        results.freeze.push(freeze);
                    }
                    results.stalls.push(stalls);
                }
            }
        }
        if wanted("choice") {
            for &state_mb in &self.state_mb {
                for (program, modelled) in choice::cases() {
                    let choice = self.setup.choice(program, state_mb, modelled)?;
                    print!("{}", choice.table());
                    results.choice.push(choice);
                }
            }
        }
        if wanted("workloads") {
            for &state_mb in &self.state_mb {
                let workloads = self.setup.workloads(state_mb)?;
                for workload in &workloads {
                    print!("{}", workload.table());
                }
                results.workloads.extend(workloads);
            }
        }
        // With its slow link the larger states would take an hour, for the same ratio.
        if let (true, Some(&state_mb)) = (wanted("validation"), self.state_mb.first()) {
            let validation = self.setup.validation(state_mb)?;
            print!("{}", validation.table());
            results.validation = Some(validation);
        }
        if wanted("interpreter") {
            results.interpreter = self.setup.interpreter()?;
        }
        if wanted("restore") {
            let restore = self.setup.restore()?;
            print!("{}", restore.table());
            results.restore = Some(restore);
        }
        if wanted("demand") {
            let demand = self.setup.demand()?;
            print!("{}", demand.table());
            results.demand = Some(demand);
        }
        if wanted("moving") {
            for &state_mb in &self.state_mb {
                let moving = self.setup.moving(state_mb)?;
                print!("{}", moving.table());
                results.moving.push(moving);
            }
        }
        Ok(results)
    }
}
