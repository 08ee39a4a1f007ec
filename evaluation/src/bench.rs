//! The experiments.

mod bar;
mod choice;
mod demand;
mod freeze;
mod interpreter;
mod launches;
mod moving;
pub(crate) mod report;
mod restore;
mod setup;
mod stalls;
mod upstream;
mod validation;
mod workloads;

use serde::Serialize;

use bar::Bar;
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
    /// Of what is restored on demand; ascending.
    pub(crate) restored_mb: Vec<u64>,
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

impl Results {
    /// What is wanted, of what was measured.
    fn bars(&self) -> Vec<Bar> {
        let launches = self.launches.iter().map(launches::Results::bar);
        let stalls = self.stalls.iter().filter(|stalls| stalls.modelled);
        let stalls = stalls.flat_map(stalls::Results::bars);
        let freezes = self.freeze.iter().flat_map(freeze::Results::bars);
        let validation = self.validation.iter().map(validation::Results::bar);
        let demand = self.demand.iter().flat_map(demand::Results::bars);
        let all = launches.chain(stalls).chain(freezes);
        all.chain(validation).chain(demand).collect()
    }
}

impl Bench {
    /// Runs what is wanted, printing each table as it is ready; with all that was printed.
    pub(crate) fn run(&self) -> anyhow::Result<(Results, Vec<String>)> {
        let wanted = |name: &str| self.wanted.iter().any(|wanted| wanted == name);
        let mut results = Results::default();
        let mut printed = Vec::new();
        let mut show = |table: String| {
            print!("{table}");
            printed.push(table);
        };
        if wanted("launches") {
            let launches = self.setup.launches()?;
            show(launches.table());
            results.launches = Some(launches);
        }
        if wanted("stalls") {
            for &state_mb in &self.state_mb {
                for modelled in [true, false] {
                    let stalls = self.setup.stalls(state_mb, modelled)?;
                    show(stalls.table());
                    if modelled {
                        let freeze = self.setup.freeze(&stalls)?;
                        show(freeze.table());
                        results.freeze.push(freeze);
                    }
                    results.stalls.push(stalls);
                }
            }
        }
        if wanted("workloads") {
            for &state_mb in &self.state_mb {
                for workload in self.setup.workloads(state_mb) {
                    let workload = workload?;
                    show(workload.table());
                    results.workloads.push(workload);
                }
            }
        }
        if wanted("choice") {
            for &state_mb in &self.state_mb {
                for (program, modelled) in choice::cases() {
                    let choice = self.setup.choice(program, state_mb, modelled)?;
                    show(choice.table());
                    results.choice.push(choice);
                }
            }
        }
        // With its slow link the larger states would take an hour, for the same ratio.
        if let (true, Some(&state_mb)) = (wanted("validation"), self.state_mb.first()) {
            let validation = self.setup.validation(state_mb)?;
            show(validation.table());
            results.validation = Some(validation);
        }
        if wanted("interpreter") {
            results.interpreter = self.setup.interpreter()?;
        }
        if wanted("restore") {
            let restore = self.setup.restore()?;
            show(restore.table());
            results.restore = Some(restore);
        }
        if wanted("demand") {
            let demand = self.setup.demand(&self.restored_mb)?;
            show(demand.table());
            results.demand = Some(demand);
        }
        if wanted("moving") {
            for &state_mb in &self.state_mb {
                let moving = self.setup.moving(state_mb)?;
                show(moving.table());
                results.moving.push(moving);
            }
        }
        Ok((results, printed))
    }
}
