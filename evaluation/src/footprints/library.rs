//! One library: the files of one package.

use std::collections::HashSet;
use std::path::Path;

use strobe_code_object::{Arg, CodeObject, Kernel};
use strobe_footprint::{AnalysisLimits, FootprintSummary, SideSummary, analyse};

use super::claims::{self, Claims};
use super::demangle::demangle;
use super::tally::{LibraryTally, Slowest, WayTally};
use super::timing::processor_time;
use super::{kernels, memory, signature};

/// What is looked at.
#[derive(Clone, Debug)]
pub struct LibraryOptions {
    /// The processor, by name.
    pub target: String,
    /// Kernels at the most: the first.
    pub limit: usize,
}

/// What is kept of a kernel until the names are read.
#[derive(Debug)]
struct Analysed {
    name: String,
    /// Of the library's.
    file: usize,
    args: Vec<Arg>,
    empty: bool,
    summary: FootprintSummary,
}

/// Analyses the kernels of all files in a folder, one after the other.
///
/// # Errors
/// If the folder, or this process's own figures, cannot be read, or no demangler runs.
pub fn evaluate_library(folder: &Path, options: &LibraryOptions) -> anyhow::Result<LibraryTally> {
    let name = folder.file_name().unwrap_or_default();
    let mut tally = LibraryTally {
        library: name.to_string_lossy().into_owned(),
        ..LibraryTally::default()
    };
    let (mut analysed, mut files) = (Vec::new(), Vec::new());
    for path in kernels::files(folder)? {
        let short = path.strip_prefix(folder).unwrap_or(&path);
        let short = short.to_string_lossy().into_owned();
        let mut refused = Vec::new();
        let file = match kernels::open(&path) {
            Ok(None) => continue,
            Ok(Some(file)) => file,
            Err(error) => {
                tally.refused.push(format!("{short}: {error:#}"));
                continue;
            }
        };
        kernels::objects(&file, &options.target, &mut refused, |object| {
            for kernel in &object.kernels {
                if analysed.len() == options.limit {
                    tally.cut = true;
                    return false;
                }
                analysed.push(analyse_one(object, kernel, files.len(), &short, &mut tally));
                if analysed.len().is_multiple_of(1000) {
                    eprintln!("  {}: {} kernels", tally.library, analysed.len());
                }
            }
            true
        });
        let named = refused.into_iter().map(|error| format!("{short}: {error}"));
        tally.refused.extend(named);
        files.push(short);
        if tally.cut {
            break;
        }
    }
    count(&analysed, &files, &mut tally)?;
    tally.peak_memory = memory::peak()?;
    Ok(tally)
}

fn analyse_one(
    object: &CodeObject,
    kernel: &Kernel,
    file: usize,
    path: &str,
    tally: &mut LibraryTally,
) -> Analysed {
    let start = processor_time();
    let footprint = analyse(object, kernel, &AnalysisLimits::default());
    let seconds = (processor_time() - start).as_secs_f64();
    let summary = footprint.summary();
    if !kernel.code.is_empty() {
        tally.evaluation.add(&footprint, kernel);
        tally.seconds += seconds;
    }
    if seconds > tally.slowest.seconds {
        tally.slowest = Slowest {
            name: kernel.name.clone(),
            file: path.to_owned(),
            seconds,
        };
    }
    Analysed {
        name: kernel.name.clone(),
        file,
        args: kernel.args.clone(),
        empty: kernel.code.is_empty(),
        summary,
    }
}

fn count(analysed: &[Analysed], files: &[String], tally: &mut LibraryTally) -> anyhow::Result<()> {
    let names: Vec<&str> = analysed.iter().map(|kernel| kernel.name.as_str()).collect();
    let demangled = demangle(&names)?;
    tally.kernels = names.len() as u64;
    tally.names = names.into_iter().collect::<HashSet<_>>().len() as u64;
    for (kernel, demangled) in analysed.iter().zip(demangled) {
        let Analysed {
            name,
            args,
            summary,
            ..
        } = kernel;
        if kernel.empty {
            tally.empty += 1;
            continue;
        }
        let file = &files[kernel.file];
        let parameters = demangled.as_deref().and_then(signature::parameters);
        let parameters = parameters.as_deref();
        let machine = claims::of_machine_code(summary, parameters, args);
        let add = |way: &mut WayTally, claims: &Claims, against: Option<&Claims>| {
            let reads = against.map(|machine| &machine.reads);
            let writes = against.map(|machine| &machine.writes);
            way.reads.add(&claims.reads, reads, name, file);
            way.writes.add(&claims.writes, writes, name, file);
        };
        let signature = claims::of_signature(name, parameters, args);
        add(&mut tally.signature, &signature, Some(&machine));
        let metadata = claims::of_metadata(args);
        add(&mut tally.metadata, &metadata, Some(&machine));
        add(&mut tally.machine, &machine, None);
        tally.writes_by_tables += u64::from(matches!(summary.writes, SideSummary::Indirect(_)));
        tally.writes_worded += u64::from(is_worded(&summary.writes));
    }
    Ok(())
}

fn is_worded(side: &SideSummary) -> bool {
    match side {
        SideSummary::None => true,
        SideSummary::Args(slots) => slots.iter().all(|slot| !slot.extents.is_empty()),
        SideSummary::Indirect(_) | SideSummary::Unknown(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_folder_of_files_becomes_counts() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("usr/lib");
        fs::create_dir_all(&deep).unwrap();
        // Strobe's own kernels.
        let object = include_bytes!("../../../crates/agent/kernels/gfx906.co");
        fs::write(deep.join("a.co"), object).unwrap();
        fs::write(deep.join("cut.co"), &object[..4000]).unwrap();
        fs::write(deep.join("text"), "not an ELF file, but of some length").unwrap();
        let mut options = LibraryOptions {
            target: "gfx906".into(),
            limit: usize::MAX,
        };
        let tally = evaluate_library(folder.path(), &options).unwrap();
        assert!(tally.kernels > 1 && tally.kernels == tally.names);
        assert_eq!(tally.refused.len(), 1, "{:?}", tally.refused);
        assert!(tally.refused[0].starts_with("usr/lib/cut.co: "));
        let sides = [
            &tally.machine.reads,
            &tally.machine.writes,
            &tally.metadata.writes,
        ];
        for side in sides {
            let inexact: u64 = side.reasons.values().map(|count| count.kernels).sum();
            assert_eq!(side.exact + inexact, tally.kernels);
        }
        // Their names are C's.
        assert_eq!(tally.signature.writes.exact, 0);
        assert!(tally.seconds > 0.0 && tally.slowest.file == "usr/lib/a.co");

        options.limit = 1;
        let first = evaluate_library(folder.path(), &options).unwrap();
        assert_eq!((first.kernels, first.cut), (1, true));
        options.target = "gfx900".into();
        let other = evaluate_library(folder.path(), &options).unwrap();
        assert_eq!((other.kernels, other.cut), (0, false));
    }
}
