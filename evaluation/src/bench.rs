//! The experiments.

mod freeze;
mod interpreter;
mod launches;
mod stalls;
mod validation;

use std::fs;
use std::path::PathBuf;

use serde::Serialize;
use strobe_evaluation::Strobe;

/// What the experiments share.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) strobe: Strobe,
    /// Compiled programs.
    pub(crate) programs: PathBuf,
    /// For everything that is gone afterwards.
    pub(crate) folder: PathBuf,
    pub(crate) repetitions: usize,
    pub(crate) state_mb: Vec<u64>,
}

/// All results.
#[derive(Debug, Serialize)]
pub(crate) struct Results {
    launches: launches::Results,
    stalls: Vec<stalls::Results>,
    freeze: Vec<freeze::Results>,
    validation: Vec<validation::Results>,
    interpreter: Vec<interpreter::Rate>,
}

impl Bench {
    /// Runs all, printing each table as it is ready.
    pub(crate) fn run(&self) -> anyhow::Result<Results> {
        let launches = self.launches()?;
        print!("{}", launches.table());
        let mut all_stalls = Vec::new();
        let mut all_freezes = Vec::new();
        let mut all_validations = Vec::new();
        for &state_mb in &self.state_mb {
            for modelled in [true, false] {
                let stalls = self.stalls(state_mb, modelled)?;
                print!("{}", stalls.table());
                if modelled {
                    let freeze = self.freeze(&stalls)?;
                    print!("{}", freeze.table());
                    all_freezes.push(freeze);
                }
                all_stalls.push(stalls);
            }
            let validation = self.validation(state_mb)?;
            print!("{}", validation.table());
            all_validations.push(validation);
        }
        let interpreter = self.interpreter()?;
        Ok(Results {
            launches,
            stalls: all_stalls,
            freeze: all_freezes,
            validation: all_validations,
            interpreter,
        })
    }

    /// A new folder.
    fn new_folder(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = self.folder.join(name);
        fs::create_dir_all(&path)?;
        Ok(path)
    }
}
