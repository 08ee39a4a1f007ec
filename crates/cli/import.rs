//! `strobe import`: plain images of CRIU become a checkpoint directory.
//!
//! They are looked at twice: before they are copied, and the copies, which are what is kept.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::{Context, anyhow};
use indicatif::ProgressBar;
use serde::Serialize;
use strobe_criu::plain::{self, Plain};
use strobe_criu::{tcp, timers};
use strobe_proto::{CheckpointMode, Manifest, TcpConnections};
use strobe_store::{CheckpointWriter, CommitError, CreateError};

use crate::arguments::{ImportArguments, Tcp};
use crate::checkpoint::random_id;
use crate::outcome::{Outcome, Refused};
use crate::output::{notice, tell};
use crate::size::show_size;
use crate::{directory, host_memory, interrupt, progress};

#[derive(Debug, Serialize)]
struct Report {
    images: String,
    directory: String,
    /// Of the first process.
    pid: u32,
    processes: usize,
    gpu_processes: usize,
    executable: Option<String>,
    image_bytes: u64,
    contents_bytes: u64,
    /// Whether Strobe's library is in the program.
    has_library: bool,
    /// What a checkpoint has that was taken by Strobe, and this has not.
    lacks: [&'static str; 2],
}

const LACKS: [&str; 2] = [
    "no agent is recorded in it: all contents of device memory are in the images",
    "no files of the program are in it: they have to be what they were at the dump",
];

pub(crate) fn run(arguments: &ImportArguments) -> Outcome {
    let _whole = tracing::debug_span!("import").entered();
    interrupt::watch("interrupted; nothing was imported")?;
    let found = plain::look(&arguments.images).map_err(refused)?;
    directory::clear_beside(&arguments.directory);
    let mut writer = CheckpointWriter::create(&arguments.directory, None).map_err(|e| match e {
        CreateError::Disk(error) => anyhow!(error),
        other => refused(other),
    })?;
    let folder = writer.criu_dir();
    interrupt::removes(folder.parent().unwrap_or(&folder));
    copy(&arguments.images, &folder, &found)?;
    let found = plain::look(&folder).map_err(refused)?;
    if arguments.tcp == Tcp::Refuse && tcp::has_connection(&folder)? {
        return Err(refused(
            "the program has TCP connections; --tcp says what shall become of them",
        ));
    }
    timers::start_again(&folder).context("the program's timers cannot be saved")?;
    host_memory::store(&mut writer)?;
    let executable = found.executable.as_ref();
    let executable = executable.map(|path| path.display().to_string());
    let manifest = Manifest {
        checkpoint_id: random_id().context("no random numbers")?,
        created_unix_ns: SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos() as u64),
        mode: CheckpointMode::Stop.into(),
        pid: found.root,
        executable: executable.clone().unwrap_or_default(),
        tcp: TcpConnections::from(arguments.tcp).into(),
        ..Manifest::default()
    };
    interrupt::commits();
    match writer.commit(manifest) {
        Err(CommitError::NotDurable(error)) => notice(error),
        committed => drop(committed?),
    }
    let report = Report {
        images: arguments.images.display().to_string(),
        directory: arguments.directory.display().to_string(),
        pid: found.root,
        processes: found.processes,
        gpu_processes: found.gpu_processes,
        executable,
        image_bytes: found.images.iter().map(|(_, len)| len).sum(),
        contents_bytes: found.contents_bytes,
        has_library: found.has_library,
        lacks: LACKS,
    };
    match arguments.json {
        true => tell(serde_json::to_string_pretty(&report)?),
        false => tell(report.text()),
    }
    Ok(ExitCode::SUCCESS)
}

fn refused(error: impl std::fmt::Display) -> anyhow::Error {
    Refused(error.to_string()).into()
}

fn copy(from: &Path, to: &Path, found: &Plain) -> anyhow::Result<()> {
    let total = found.images.iter().map(|(_, len)| len).sum();
    let bar: ProgressBar = progress::bytes("importing", total);
    for (name, len) in &found.images {
        let source = from.join(name);
        let copy = || {
            let mut from = File::open(&source)?;
            let mut to = fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(to.join(name))?;
            io::copy(&mut from, &mut to)
        };
        copy().with_context(|| format!("cannot copy {}", source.display()))?;
        bar.inc(*len);
    }
    bar.finish_and_clear();
    Ok(())
}

impl Report {
    /// For people.
    fn text(&self) -> String {
        let name = self.executable.as_deref().unwrap_or("of no known name");
        let mut lines = vec![
            format!("{} is a checkpoint of {}", self.directory, self.images),
            format!(
                "  process        {} ({name}), {} in all, {} with a GPU",
                self.pid, self.processes, self.gpu_processes
            ),
            format!(
                "  images         {}, {} of them contents of device memory",
                show_size(self.image_bytes),
                show_size(self.contents_bytes)
            ),
        ];
        lines.extend(
            self.lacks
                .map(|sentence| format!("  lacks          {sentence}")),
        );
        lines.push(match self.has_library {
            true => "  afterwards     Strobe's library is in the program: it can be checkpointed again".into(),
            false => "  afterwards     the program was not started by strobe run: Strobe takes no checkpoint of it".into(),
        });
        lines.join("\n")
    }
}
