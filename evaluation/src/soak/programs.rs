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
    pub arguments: &'static [&'static str],
    /// Words of refusals that are right for it: each entry is one, all its words in the sentence.
    pub refusals: &'static [&'static [&'static str]],
    /// Its CPU stores into device memory, which nobody announces.
    pub stores: bool,
    /// The GPUs that it shares memory on, by handles of the driver; 0 for one, and a driver that has none.
    pub gpus: usize,
}

const fn hip(
    name: &'static str,
    source: &'static str,
    arguments: &'static [&'static str],
) -> SoakProgram {
    SoakProgram {
        name,
        source,
        kind: ProgramKind::Hip("-O2"),
        arguments,
        refusals: &[],
        stores: false,
        gpus: 0,
    }
}

/// In the folder `soak`, as long as it chooses to be.
const fn own(name: &'static str, source: &'static str) -> SoakProgram {
    hip(name, source, &[])
}

/// Processes that read each other's memory.
const fn ring(name: &'static str, arguments: &'static [&'static str], gpus: usize) -> SoakProgram {
    SoakProgram {
        // Before a handle is opened, and when it is closed.
        refusals: &[&["hipIpcGetMemHandle"]],
        gpus,
        ..hip(name, "ring.cpp", arguments)
    }
}

pub const PROGRAMS: &[SoakProgram] = &[
    hip("mixed", "mixed.cpp", &["40"]),
    hip(
        "train",
        "train/train.cpp",
        &["--state-mb", "4", "--steps", "16"],
    ),
    hip("prim", "prim.cpp", &["12"]),
    hip("sparse", "sparse.cpp", &["10", "77"]),
    own("atomics", "soak/atomics.cpp"),
    SoakProgram {
        // Where the cut would be while the kernel waits for a call that waits at the gate.
        refusals: &[&["wait_for_host"]],
        ..own("blocked", "soak/blocked.cpp")
    },
    own("callbacks", "soak/callbacks.cpp"),
    own("children", "soak/children.cpp"),
    own("churn", "soak/churn.cpp"),
    own("closed", "soak/closed.cpp"),
    own("copies", "soak/copies.cpp"),
    own("events", "soak/events.cpp"),
    own("files", "soak/files.cpp"),
    SoakProgram {
        refusals: &[&["hipIpcGetEventHandle"]],
        ..own("foreign", "soak/foreign.cpp")
    },
    own("globals", "soak/globals.cpp"),
    own("graphs", "soak/graphs.cpp"),
    own("hostmem", "soak/hostmem.cpp"),
    own("indirect", "soak/indirect.cpp"),
    own("local", "soak/local.cpp"),
    own("meetings", "soak/meetings.cpp"),
    own("modules", "soak/modules.cpp"),
    own("parts", "soak/parts.cpp"),
    SoakProgram {
        kind: ProgramKind::Hip("-O0"),
        ..own("parts-O0", "soak/parts.cpp")
    },
    own("pitched", "soak/pitched.cpp"),
    own("pools", "soak/pools.cpp"),
    own("renames", "soak/renames.cpp"),
    ring("ring", &["4", "30"], 4),
    ring("ring-pair", &["2", "30"], 1),
    own("slivers", "soak/slivers.cpp"),
    own("stacks", "soak/stacks.cpp"),
    SoakProgram {
        stores: true,
        ..own("stores", "soak/stores.cpp")
    },
    own("streams", "soak/streams.cpp"),
    SoakProgram {
        stores: true,
        ..own("tables", "soak/tables.cpp")
    },
    own("timers", "soak/timers.cpp"),
    own("visitors", "soak/visitors.cpp"),
    own("waiting", "soak/waiting.cpp"),
    own("waits", "soak/waits.cpp"),
    own("workers", "soak/workers.cpp"),
    SoakProgram {
        kind: ProgramKind::Python,
        ..own("ctypes", "soak/ctypes_rounds.py")
    },
    SoakProgram {
        kind: ProgramKind::Python,
        ..hip("loader-fork", "soak/loader.py", &["fork"])
    },
    SoakProgram {
        kind: ProgramKind::Python,
        ..hip("loader-spawn", "soak/loader.py", &["spawn"])
    },
];

impl SoakProgram {
    pub fn find(name: &str) -> Option<&'static Self> {
        PROGRAMS.iter().find(|program| program.name == name)
    }

    /// Compiles it into `folder`, unless it is there; its command line.
    pub fn command(&self, folder: &Path) -> anyhow::Result<Vec<String>> {
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
        command.extend(self.arguments.iter().map(|&argument| argument.to_owned()));
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
