//! The programs of the soak, and what each expects.

use std::path::Path;

use anyhow::Context;

use super::random::SplitMix64;
use crate::compile;
use crate::strobe::MissedWrite;

/// How a program is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// By hipcc, with this level.
    Hip(&'static str),
    /// By python3, as it is.
    Python,
}

/// A program that writes lines while it works, the same in every run, and ends by itself.
#[derive(Clone, Copy, Debug)]
pub struct SoakProgram {
    pub name: &'static str,
    /// Below `tests/programs`.
    pub source: &'static str,
    pub kind: ProgramKind,
    /// `ROUNDS` stands for their number.
    pub arguments: &'static [&'static str],
    /// How many last two seconds or more on a quiet machine.
    pub rounds: u32,
    /// Words of refusals that are right for it: each entry is one, all its words in the sentence.
    pub refusals: &'static [&'static [&'static str]],
    /// Its CPU stores into device memory, which nobody announces.
    pub stores: bool,
    /// The GPUs that it shares memory on, by handles of the driver; 0 for one, and a driver that has none.
    pub gpus: usize,
}

/// The argument that says how long a program goes on.
const ROUNDS: &str = "ROUNDS";

const fn hip(
    name: &'static str,
    source: &'static str,
    arguments: &'static [&'static str],
    rounds: u32,
) -> SoakProgram {
    SoakProgram {
        name,
        source,
        kind: ProgramKind::Hip("-O2"),
        arguments,
        rounds,
        refusals: &[],
        stores: false,
        gpus: 0,
    }
}

/// In the folder `soak`.
const fn own(name: &'static str, source: &'static str, rounds: u32) -> SoakProgram {
    hip(name, source, &[ROUNDS], rounds)
}

/// Processes that read each other's memory.
const fn ring(
    name: &'static str,
    arguments: &'static [&'static str],
    rounds: u32,
    gpus: usize,
) -> SoakProgram {
    SoakProgram {
        // Before a handle is opened, and when it is closed.
        refusals: &[&["hipIpcGetMemHandle"]],
        gpus,
        ..hip(name, "ring.cpp", arguments, rounds)
    }
}

pub const PROGRAMS: &[SoakProgram] = &[
    hip("mixed", "mixed.cpp", &[ROUNDS], 40),
    hip(
        "train",
        "train/train.cpp",
        &["--state-mb", "4", "--steps", ROUNDS],
        16,
    ),
    hip("prim", "prim.cpp", &[ROUNDS], 12),
    hip("sparse", "sparse.cpp", &[ROUNDS, "77"], 10),
    own("atomics", "soak/atomics.cpp", 80),
    SoakProgram {
        // Where the cut would be while the kernel waits for a call that waits at the gate.
        refusals: &[&["wait_for_host"]],
        ..own("blocked", "soak/blocked.cpp", 60)
    },
    own("callbacks", "soak/callbacks.cpp", 60),
    own("children", "soak/children.cpp", 50),
    own("churn", "soak/churn.cpp", 60),
    own("closed", "soak/closed.cpp", 60),
    own("copies", "soak/copies.cpp", 60),
    own("events", "soak/events.cpp", 60),
    own("files", "soak/files.cpp", 60),
    SoakProgram {
        refusals: &[&["hipIpcGetEventHandle"]],
        ..own("foreign", "soak/foreign.cpp", 60)
    },
    own("globals", "soak/globals.cpp", 80),
    own("graphs", "soak/graphs.cpp", 60),
    own("hostmem", "soak/hostmem.cpp", 80),
    own("indirect", "soak/indirect.cpp", 60),
    own("local", "soak/local.cpp", 80),
    own("meetings", "soak/meetings.cpp", 480),
    own("modules", "soak/modules.cpp", 60),
    own("parts", "soak/parts.cpp", 80),
    SoakProgram {
        kind: ProgramKind::Hip("-O0"),
        ..own("parts-O0", "soak/parts.cpp", 80)
    },
    own("pitched", "soak/pitched.cpp", 80),
    own("pools", "soak/pools.cpp", 80),
    own("renames", "soak/renames.cpp", 40),
    ring("ring", &["4", ROUNDS], 60, 4),
    ring("ring-pair", &["2", ROUNDS], 30, 1),
    own("slivers", "soak/slivers.cpp", 120),
    own("stacks", "soak/stacks.cpp", 50),
    SoakProgram {
        stores: true,
        ..own("stores", "soak/stores.cpp", 80)
    },
    own("streams", "soak/streams.cpp", 60),
    SoakProgram {
        stores: true,
        ..own("tables", "soak/tables.cpp", 60)
    },
    own("timers", "soak/timers.cpp", 60),
    own("visitors", "soak/visitors.cpp", 45),
    own("waiting", "soak/waiting.cpp", 60),
    own("waits", "soak/waits.cpp", 60),
    own("workers", "soak/workers.cpp", 50),
    SoakProgram {
        kind: ProgramKind::Python,
        ..own("ctypes", "soak/ctypes_rounds.py", 80)
    },
    SoakProgram {
        kind: ProgramKind::Python,
        ..hip("loader-fork", "soak/loader.py", &["fork", ROUNDS], 80)
    },
    SoakProgram {
        kind: ProgramKind::Python,
        ..hip("loader-spawn", "soak/loader.py", &["spawn", ROUNDS], 80)
    },
];

impl SoakProgram {
    pub fn find(name: &str) -> Option<&'static Self> {
        PROGRAMS.iter().find(|program| program.name == name)
    }

    /// Compiles it into `folder`, unless it is there; its command line, for so many times its rounds.
    pub fn command(&self, folder: &Path, times: u32) -> anyhow::Result<Vec<String>> {
        let path = |path: &Path| {
            let text = path.to_str().context("a path that is not UTF-8")?;
            anyhow::Ok(text.to_owned())
        };
        let mut command = match self.kind {
            ProgramKind::Hip(level) => vec![path(&compile::hip(self.source, level, folder)?)?],
            ProgramKind::Python => vec![
                "python3".to_owned(),
                path(&compile::sources().join(self.source))?,
            ],
        };
        let rounds = self.rounds.saturating_mul(times).to_string();
        command.extend(self.arguments.iter().map(|&argument| match argument {
            ROUNDS => rounds.clone(),
            other => other.to_owned(),
        }));
        Ok(command)
    }

    /// Options of `strobe softgpu`: GPUs with other numbers each time.
    pub fn device(&self, random: &mut SplitMix64) -> Vec<String> {
        if self.gpus == 0 {
            return Vec::new();
        }
        let ids =
            (1..=self.gpus as u64).map(|gpu| format!("{:#x}", gpu << 12 | random.below(1 << 12)));
        let ids: Vec<String> = ids.collect();
        vec!["--ipc".into(), "--gpu-ids".into(), ids.join(",")]
    }

    /// What a checkpoint says of the program that is not so: none of its kernels writes outside of its
    /// footprint, and every copy of memory is made before the memory is written. Validation would
    /// find it out and take the checkpoint again, and the cycle would end well all the same.
    pub fn wrongly_accused(&self, missed: &[MissedWrite]) -> Option<String> {
        let wrong = |missed: &&MissedWrite| !self.stores || !missed.suspects.is_empty();
        missed
            .iter()
            .find(wrong)
            .map(|missed| match missed.suspects.as_slice() {
                [] => format!("{} bytes are said to be written unannounced", missed.bytes),
                kernels => format!("kernels are said to lie: {}", kernels.join(", ")),
            })
    }

    /// Whether a sentence of a refusal is one that it expects.
    pub fn expects(&self, sentence: &str) -> bool {
        let said = |words: &&[&str]| words.iter().all(|word| sentence.contains(word));
        self.refusals.iter().any(said)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::soak::Plan;

    #[test]
    fn names_are_their_own_and_sources_exist() {
        let names: BTreeSet<&str> = PROGRAMS.iter().map(|program| program.name).collect();
        assert_eq!(names.len(), PROGRAMS.len());
        for program in PROGRAMS {
            let source = compile::sources().join(program.source);
            assert!(source.is_file(), "{}", source.display());
            // An empty list of words would expect every sentence.
            assert!(program.refusals.iter().all(|words| !words.is_empty()));
        }
    }

    #[test]
    fn what_came_too_late_lasts_longer() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = SoakProgram::find("ctypes").expect("it is there");
        let rounds = |seed: u64| {
            let command = program.command(folder.path(), Plan::times(seed));
            let command = command.expect("nothing is compiled");
            command[2].parse::<u32>().expect("a number")
        };
        let first = rounds(7);
        assert_eq!(first, program.rounds);
        assert_eq!(
            [1, 2, 3, 4].map(|late| rounds(late << 32 | 7) / first),
            [2, 4, 8, 8]
        );
        for program in PROGRAMS {
            assert!(program.arguments.contains(&ROUNDS), "{}", program.name);
        }
    }

    #[test]
    fn nobody_is_accused_but_a_cpu_that_stores() {
        let honest = PROGRAMS[0];
        let stores = SoakProgram {
            stores: true,
            ..honest
        };
        let missed = |suspects: &[&str]| MissedWrite {
            bytes: 4096,
            by_cpu: false,
            suspects: suspects.iter().map(|name| (*name).to_owned()).collect(),
        };
        let all = [missed(&[]), missed(&["step"])];
        let nobody = &all[..1];
        assert_eq!(honest.wrongly_accused(&[]), None);
        assert!(honest.wrongly_accused(nobody).is_some());
        assert_eq!(stores.wrongly_accused(nobody), None);
        for program in [honest, stores] {
            let said = program.wrongly_accused(&all);
            assert!(said.is_some_and(|said| said.contains("4096") || said.contains("step")));
        }
    }

    #[test]
    fn a_refusal_is_expected_by_all_its_words() {
        let program = SoakProgram {
            refusals: &[&["hipFoo", "not modelled"]],
            ..PROGRAMS[0]
        };
        assert!(program.expects("strobe: hipFoo is not modelled"));
        assert!(!program.expects("strobe: hipFoo"));
        assert!(!PROGRAMS[0].expects("strobe: anything"));
    }
}
