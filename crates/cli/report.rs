//! `strobe report`: a page about a checkpoint, or a series of them, that needs nothing else.

mod chunks;
mod launches;
mod order;
mod page;
mod series;
mod stall;
mod timeline;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use strobe_proto::files::MANIFEST;
use strobe_store::{Checkpoint, Series};

use crate::arguments::ReportArguments;
use crate::directory;
use crate::outcome::Outcome;
use crate::output::{answer, one_line};
use crate::size::show_size;

pub(crate) fn run(arguments: &ReportArguments) -> Outcome {
    let directory = &arguments.directory;
    let series = || Series::of(directory).checkpoints().unwrap_or_default();
    let html = match directory.join(MANIFEST).exists() {
        true => page::of(&directory::open(directory)?),
        false => match series() {
            none if none.is_empty() => {
                let no_series = || {
                    format!(
                        "{} is no checkpoint, and no series of them",
                        directory.display()
                    )
                };
                page::of(&directory::open(directory).with_context(no_series)?)
            }
            of_series => {
                let opened = of_series.iter().map(|path| Checkpoint::open(path));
                series::of(directory, &opened.collect::<Result<Vec<_>, _>>()?)
            }
        },
    };
    let output = match &arguments.output {
        Some(output) => output.clone(),
        None => beside(arguments)?,
    };
    let cannot = || format!("cannot write {}", output.display());
    fs::write(&output, &html).with_context(cannot)?;
    let size = show_size(html.len() as u64);
    let told = format!("{}: {size}", output.display());
    answer(one_line(told), ExitCode::SUCCESS)
}

/// Never in the checkpoint, which holds what was written for it and nothing else.
fn beside(arguments: &ReportArguments) -> anyhow::Result<PathBuf> {
    let directory = std::path::absolute(&arguments.directory)?;
    let name = directory.file_name().context("the root is no checkpoint")?;
    let mut name = name.to_owned();
    name.push(".html");
    Ok(arguments.directory.with_file_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_proto::{Course, GpuProcess, Manifest, ProcessCourse, Statistics};
    use strobe_store::CheckpointWriter;

    fn checkpoint(folder: &std::path::Path, manifest: Manifest) -> Checkpoint {
        let writer = CheckpointWriter::create(folder, None).expect("a writer");
        writer.commit(manifest).expect("a checkpoint")
    }

    fn manifest() -> Manifest {
        Manifest {
            chunk_bytes: 4096,
            command_line: vec!["<script>".into()],
            ..Manifest::default()
        }
    }

    #[test]
    fn what_is_no_checkpoint_is_named_with_what_is_missing() {
        let folder = tempfile::tempdir().expect("a folder");
        let arguments = ReportArguments {
            directory: folder.path().to_owned(),
            output: None,
        };
        let error = run(&arguments).expect_err("nothing is there");
        let sentence = crate::output::sentence(&error);
        assert!(sentence.contains(MANIFEST), "{sentence}");
        assert!(sentence.contains("no series"), "{sentence}");
    }

    #[test]
    fn what_was_not_recorded_is_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let imported = checkpoint(&folder.path().join("imported"), manifest());
        let older = checkpoint(
            &folder.path().join("older"),
            Manifest {
                statistics: Some(Statistics::default()),
                processes: vec![GpuProcess {
                    pid: 7,
                    ..GpuProcess::default()
                }],
                ..manifest()
            },
        );
        for (checkpoint, words) in [
            (&imported, &["it was imported", "older than the record"][..]),
            (
                &older,
                &["older than the record", "is not recorded", "Not there"],
            ),
        ] {
            let page = page::of(checkpoint);
            for word in words {
                assert!(page.contains(word), "no {word:?} in {page}");
            }
            assert!(!page.contains("<script"), "{page}");
        }
        let page = series::of(folder.path(), &[imported, older]);
        assert!(
            page.contains("older</td>") || page.contains("/older<td>"),
            "{page}"
        );
    }

    #[test]
    fn what_agents_have_said_is_nothing_but_text() {
        let folder = tempfile::tempdir().expect("a folder");
        let span = |name: &str| strobe_proto::Span {
            name: name.into(),
            start_ns: 3,
            end_ns: 2,
        };
        let course = Course {
            spans: vec![span("<b>"), span("copy")],
            processes: vec![ProcessCourse {
                spans: vec![span("\"><i>")],
                held: vec![strobe_proto::HeldBack {
                    cause: 99,
                    calls: u64::MAX,
                    ns: u64::MAX,
                    longest_ns: u64::MAX,
                }],
                ..ProcessCourse::default()
            }],
            ..Course::default()
        };
        let page = page::of(&checkpoint(
            &folder.path().join("a"),
            Manifest {
                course: Some(course),
                statistics: Some(Statistics::default()),
                ..manifest()
            },
        ));
        assert!(!page.contains("<b>") && !page.contains("<i>"), "{page}");
    }
}
