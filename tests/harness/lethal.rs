//! A CRIU that dies, or stops, at a chosen point of its work (`tests/programs/lethal.c`).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use strobe_criu::locate::{CRIU_VARIABLE, Criu};
use strobe_evaluation::compile;

use super::Folder;

/// Stands in for CRIU.
pub(crate) struct Lethal {
    path: PathBuf,
}

impl Lethal {
    /// One that does as `plan` says: `POINT,WHEN,NUMBER,SIGNAL`. What is to wait waits for the file `go` in the
    /// folder.
    pub(crate) fn new(folder: &Folder, plan: &str) -> Self {
        static COMPILER: Mutex<()> = Mutex::new(());
        let turn = COMPILER.lock().unwrap_or_else(PoisonError::into_inner);
        let library =
            compile::shared("lethal.c", &super::programs()).expect("cc compiles the library");
        drop(turn);
        let criu = Criu::find(None).expect("CRIU is installed");
        let script = format!(
            "#!/bin/sh\n\
             case \"$1\" in dump|restore)\n\
             export LETHAL='{plan}' LETHAL_UNTIL='{}' LD_PRELOAD=\"{}:$LD_PRELOAD\";;\n\
             esac\n\
             exec '{}' \"$@\"\n",
            folder.join("go").display(),
            library.display(),
            criu.path.display()
        );
        let path = folder.join(&format!("criu-{}", plan.replace(',', "-")));
        fs::write(&path, script).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("made executable");
        Self { path }
    }

    /// Makes a command use it.
    pub(crate) fn is_used_by(&self, command: &mut Command) {
        command.env(CRIU_VARIABLE, &self.path);
    }

    /// The same for `env`.
    pub(crate) fn variable(&self) -> String {
        format!("{CRIU_VARIABLE}={}", self.path.display())
    }

    /// As CRIU is found.
    pub(crate) fn criu(&self) -> Criu {
        Criu::find(Some(&self.path)).expect("it is CRIU")
    }
}
