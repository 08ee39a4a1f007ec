//! `strobe export`: a checkpoint as plain images of CRIU, for a restore without Strobe.
//!
//! CRIU's images are copied. What our plugin has left to the chunk store is put together with its own
//! part of the contents into the file that CRIU's plugin has them in. What is only ours stays out. Of
//! what a restore needs besides, the saved files lie beside the images, with a script that puts them in
//! place and starts CRIU.

mod page;
mod script;

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use indicatif::ProgressBar;
use serde::Serialize;
use strobe_criu::tcp;
use strobe_program::program_files::is_folder;
use strobe_program::spool::is_spooled;
use strobe_proto::amdgpu::CriuKfd;
use strobe_proto::{FileRecord, Manifest, ProgramFile, files};
use strobe_store::{Checkpoint, CommitError, CreateError, Damage, NewFolder};
use strobe_store::{Pages, PagesError, Part};

use crate::arguments::ExportArguments;
use crate::outcome::{Outcome, Refused};
use crate::output::{notice, tell};
use crate::size::show_size;
use crate::{directory, interrupt, progress};

/// In the export: CRIU's images.
const IMAGES: &str = "images";
/// In the export: files of the program and of its GPU library.
const FILES: &str = files::FILES;
/// In the export.
const SCRIPT: &str = "restore.sh";
const PAGE: &str = "README.md";
/// Bytes of the length in front of contents.
const LENGTH_BYTES: u64 = 8;

#[derive(Debug, thiserror::Error)]
enum ExportError {
    #[error(transparent)]
    Damage(#[from] Damage),
    #[error(transparent)]
    Pages(#[from] PagesError),
    #[error(
        "the program has device memory that its processes share, or that is mapped by handles (HIP's virtual memory \
         management), which plain images have no form for: restore it with `strobe restore`"
    )]
    Shared,
    #[error("image {0} is missing in the checkpoint")]
    NoImage(String),
    #[error("image {0} has {1} bytes of content, the buffer objects {2}")]
    Length(String, u64, u64),
    #[error("the checkpoint has no file {0:?}")]
    NoFile(String),
    #[error(transparent)]
    Create(#[from] CreateError),
    #[error(transparent)]
    Commit(#[from] CommitError),
    #[error("{path} cannot be written: {error}")]
    Write { path: PathBuf, error: io::Error },
}

impl ExportError {
    /// Whether it is the checkpoint or the place that is not as it should be.
    fn is_refusal(&self) -> bool {
        !matches!(
            self,
            Self::Write { .. } | Self::Commit(_) | Self::Create(CreateError::Disk(_))
        )
    }
}

/// What becomes of a file that the program had at the cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    /// It lies in the export, and is put back.
    Saved,
    /// It is in the way of nothing, whatever is in it: the program's output has been passed on.
    Output,
    Folder,
    /// It was too large: it has to be what it was.
    NotSaved,
    /// A program, a library or other data: it has to be what it was.
    Needed,
}

/// A file of the program.
#[derive(Debug, Serialize)]
struct Needed<'a> {
    path: String,
    kind: Kind,
    size: u64,
    /// Relative to the export.
    stored: Option<String>,
    #[serde(skip)]
    record: &'a ProgramFile,
}

/// What was exported.
#[derive(Debug, Serialize)]
struct Report<'a> {
    checkpoint: String,
    directory: String,
    images: usize,
    image_bytes: u64,
    /// Of them, contents of device memory that were put together.
    contents_bytes: u64,
    /// Of its processes and threads, which have to be free.
    numbers: BTreeSet<u32>,
    /// Process numbers with Strobe's library at work.
    agents: Vec<u32>,
    /// What CRIU is told besides where the images are.
    criu_options: Vec<String>,
    files: Vec<Needed<'a>>,
    shared_memory: Vec<String>,
}

pub(crate) fn run(arguments: &ExportArguments) -> Outcome {
    let _whole = tracing::debug_span!("export").entered();
    interrupt::watch("interrupted; nothing was exported")?;
    let checkpoint =
        directory::open(&arguments.directory).map_err(|damage| Refused(damage.to_string()))?;
    let report = export(arguments, &checkpoint).map_err(|error| match error.is_refusal() {
        true => anyhow::Error::from(Refused(error.to_string())),
        false => error.into(),
    })?;
    match arguments.json {
        true => tell(serde_json::to_string_pretty(&report)?),
        false => tell(report.text()),
    }
    Ok(ExitCode::SUCCESS)
}

fn export<'a>(
    arguments: &ExportArguments,
    checkpoint: &'a Checkpoint,
) -> Result<Report<'a>, ExportError> {
    let manifest = checkpoint.manifest();
    if checkpoint.image(files::SHARED_BUFFERS).is_some() {
        return Err(ExportError::Shared);
    }
    directory::clear_beside(&arguments.to);
    let folder = NewFolder::create(&arguments.to)?;
    interrupt::removes(folder.path());
    let mut writer = Writer {
        checkpoint,
        root: folder.path(),
        bar: progress::bytes("exporting", 0),
        images: 0,
        image_bytes: 0,
    };
    for inner in [IMAGES, FILES] {
        writer.make_dir(inner)?;
    }
    writer.images()?;
    let contents_bytes = writer.contents()?;
    let needed = manifest.program_files.iter().enumerate();
    let needed: Vec<Needed<'a>> = needed.map(|(at, file)| Needed::of(at, file)).collect();
    for file in &needed {
        if let Some(stored) = &file.stored {
            let image = &file.record.stored;
            let record = checkpoint.image(image);
            let record = record.ok_or_else(|| ExportError::NoImage(image.clone()))?;
            writer.copy(record, stored)?;
        }
    }
    for memory in &manifest.shared_memory {
        let mut listed = manifest.files.iter();
        let record = listed.find(|file| file.path == memory.stored);
        let record = record.ok_or_else(|| ExportError::NoFile(memory.stored.clone()))?;
        writer.copy(record, &script::stored(memory))?;
    }
    let (images, image_bytes) = (writer.images, writer.image_bytes);
    let report = Report {
        checkpoint: arguments.directory.display().to_string(),
        directory: arguments.to.display().to_string(),
        images,
        image_bytes,
        contents_bytes,
        numbers: checkpoint
            .images()
            .filter_map(|(name, _)| files::thread(name))
            .collect(),
        agents: manifest.processes.iter().map(|p| p.pid).collect(),
        criu_options: options(manifest).map(str::to_owned).collect(),
        shared_memory: manifest.shared_memory.iter().map(script::path).collect(),
        files: needed,
    };
    writer.text(SCRIPT, &script::text(manifest, &report), 0o700)?;
    writer.text(PAGE, page::text(manifest, &report).as_bytes(), 0o600)?;
    writer.bar.finish_and_clear();
    interrupt::commits();
    match folder.commit() {
        Err(CommitError::NotDurable(error)) => notice(error),
        committed => committed?,
    }
    Ok(report)
}

/// What CRIU is told at a restore, as `strobe restore` does.
fn options(manifest: &Manifest) -> impl Iterator<Item = &'static str> {
    let always = ["--shell-job", "--file-locks"];
    always
        .into_iter()
        .chain(tcp::options(manifest.tcp()).iter().copied())
}

impl<'a> Needed<'a> {
    fn of(at: usize, record: &'a ProgramFile) -> Self {
        let kind = match record {
            record if is_folder(record) => Kind::Folder,
            record if is_spooled(record.path()) => Kind::Output,
            record if !record.stored.is_empty() => Kind::Saved,
            record if record.foreign => Kind::Needed,
            _ => Kind::NotSaved,
        };
        Self {
            path: record.path().display().to_string(),
            kind,
            size: record.size,
            stored: (kind == Kind::Saved).then(|| format!("{FILES}/{at}")),
            record,
        }
    }
}

/// What goes into the folder.
struct Writer<'a> {
    checkpoint: &'a Checkpoint,
    root: &'a Path,
    bar: ProgressBar,
    images: usize,
    image_bytes: u64,
}

impl Writer<'_> {
    fn make_dir(&self, name: &str) -> Result<(), ExportError> {
        let path = self.root.join(name);
        let made = fs::DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| ExportError::Write { path, error })
    }

    fn create(&self, name: &str, mode: u32) -> Result<Output, ExportError> {
        let path = self.root.join(name);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(mode);
        match options.open(&path) {
            Ok(file) => Ok(Output { file, path, end: 0 }),
            Err(error) => Err(ExportError::Write { path, error }),
        }
    }

    fn text(&self, name: &str, text: &[u8], mode: u32) -> Result<(), ExportError> {
        let mut output = self.create(name, mode)?;
        output.take(Part::Bytes(text))?;
        output.finish()
    }

    /// Copies a file of the checkpoint, checked.
    fn copy(&self, record: &FileRecord, name: &str) -> Result<(), ExportError> {
        let mut output = self.create(name, 0o600)?;
        self.checkpoint.pass_on(record, |bytes| {
            self.bar.inc(bytes.len() as u64);
            output.take(Part::Bytes(bytes))
        })?;
        output.finish()
    }

    /// Copies those that are not ours alone; reads those of which contents are made.
    fn images(&mut self) -> Result<(), ExportError> {
        let (ours, criu): (Vec<_>, Vec<_>) = self
            .checkpoint
            .images()
            .partition(|(name, _)| files::is_strobe(name));
        let total = criu.iter().map(|(_, len)| len).sum();
        self.bar.set_length(total);
        for (name, len) in criu {
            let record = self.checkpoint.image(name);
            let record = record.ok_or_else(|| ExportError::NoImage(name.to_owned()))?;
            self.copy(record, &format!("{IMAGES}/{name}"))?;
            self.images += 1;
            self.image_bytes += len;
        }
        // What is read of them in any order is checked before.
        for (name, _) in ours.iter().filter(|(name, _)| files::is_residual(name)) {
            let record = self.checkpoint.image(name);
            let record = record.ok_or_else(|| ExportError::NoImage((*name).to_owned()))?;
            self.checkpoint.pass_on(record, |_| Ok::<(), Damage>(()))?;
        }
        Ok(())
    }

    /// Puts contents together, of all GPUs of all processes.
    fn contents(&mut self) -> Result<u64, ExportError> {
        let mut made = 0;
        let checkpoint = self.checkpoint;
        for (name, _) in checkpoint.images() {
            let Some(id) = files::kfd_id(name) else {
                continue;
            };
            let image = checkpoint.open_image(name)?;
            let image = image.ok_or_else(|| ExportError::NoImage(name.to_owned()))?;
            let (kfd, _) = image.message::<CriuKfd>()?;
            for device in kfd.device_entries.iter().filter(|node| node.gpu_id != 0) {
                made += self.contents_of(id, device.gpu_id, &kfd)?;
            }
        }
        Ok(made)
    }

    fn contents_of(&mut self, id: i32, gpu: u32, kfd: &CriuKfd) -> Result<u64, ExportError> {
        let name = files::pages(id, gpu);
        let Some(pages) = Pages::of(self.checkpoint, id, gpu, kfd)? else {
            // Whole in the checkpoint, and copied.
            return whole(self.checkpoint, &name, gpu, kfd).map(|()| 0);
        };
        self.bar.inc_length(pages.len());
        let mut output = self.create(&format!("{IMAGES}/{name}"), 0o600)?;
        output.take(Part::Bytes(&pages.len().to_le_bytes()))?;
        pages.pass_on(|part| {
            self.bar.inc(match part {
                Part::Bytes(bytes) => bytes.len() as u64,
                Part::Zeros(len) => len,
            });
            output.take(part)
        })?;
        output.finish()?;
        self.images += 1;
        self.image_bytes += LENGTH_BYTES + pages.len();
        Ok(pages.len())
    }
}

/// Checks that contents which nobody has divided are there.
fn whole(checkpoint: &Checkpoint, name: &str, gpu: u32, kfd: &CriuKfd) -> Result<(), ExportError> {
    let bytes = strobe_store::contents::bytes_of(kfd, gpu).map_err(|error| {
        let image = name.to_owned();
        PagesError::Contents { image, error }
    })?;
    match checkpoint.image(name) {
        Some(record) if record.len == LENGTH_BYTES + bytes => Ok(()),
        Some(record) => {
            let found = record.len.saturating_sub(LENGTH_BYTES);
            Err(ExportError::Length(name.to_owned(), found, bytes))
        }
        None if bytes == 0 => Ok(()),
        None => Err(ExportError::NoImage(name.to_owned())),
    }
}

/// A file that is being written. Where nothing but zeros is, it takes no room.
struct Output {
    file: File,
    path: PathBuf,
    end: u64,
}

impl Output {
    fn take(&mut self, part: Part<'_>) -> Result<(), ExportError> {
        let written = match part {
            Part::Bytes(bytes) => {
                self.end += bytes.len() as u64;
                self.file.write_all(bytes)
            }
            Part::Zeros(len) => {
                self.end += len;
                self.file.seek(SeekFrom::Start(self.end)).map(drop)
            }
        };
        written.map_err(|error| self.failed(error))
    }

    fn finish(self) -> Result<(), ExportError> {
        let set = self.file.set_len(self.end);
        set.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: io::Error) -> ExportError {
        let path = self.path.clone();
        ExportError::Write { path, error }
    }
}

impl Report<'_> {
    /// For people.
    fn text(&self) -> String {
        let count = |kind| self.files.iter().filter(|file| file.kind == kind).count();
        let path = Path::new(&self.directory);
        let mut lines = vec![
            format!(
                "{} as plain images of CRIU in {}",
                self.checkpoint, self.directory
            ),
            format!(
                "  images         {}, {} of them contents of device memory",
                show_size(self.image_bytes),
                show_size(self.contents_bytes)
            ),
            format!(
                "  files          {} of the program were saved; it needs {} others as they are",
                count(Kind::Saved),
                count(Kind::Needed) + count(Kind::NotSaved)
            ),
        ];
        lines.extend(
            self.files
                .iter()
                .filter(|file| file.kind == Kind::NotSaved)
                .map(|file| format!("  not saved      {} ({})", file.path, show_size(file.size))),
        );
        lines.push(format!(
            "  restore        sh {}    (what it does: {})",
            path.join(SCRIPT).display(),
            path.join(PAGE).display()
        ));
        lines.join("\n")
    }
}
