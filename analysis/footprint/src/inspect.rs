//! What a file's kernels touch: for `strobe inspect`.

use std::fmt;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use strobe_code_object::{
    CodeObject, ExtractError, Extracted, Kernel, ObjectLimits, TargetName, visit,
};

use crate::analyse::{KernelFootprint, analyse};
use crate::limits::AnalysisLimits;
use crate::summary::{FootprintSummary, SideSummary, Slot};

/// One kernel, and what it touches.
#[derive(Debug)]
pub struct InspectedKernel<'a> {
    /// What it is in.
    pub object: &'a CodeObject,
    /// As the object has it.
    pub kernel: &'a Kernel,
    /// For launches of it.
    pub footprint: KernelFootprint,
    /// What any launch touches.
    pub summary: FootprintSummary,
}

/// A code object that could not be read.
#[derive(Clone, Debug)]
pub struct RefusedObject {
    /// Where its bundle starts in the file, in bytes.
    pub at: usize,
    /// The bundle's name for it.
    pub triple: String,
    /// Why.
    pub error: String,
}

/// How the kernels of a file came out.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Targets that the file has code for, with their features, in the order of the file.
    pub targets: Vec<String>,
    /// In the order of the file.
    pub refused: Vec<RefusedObject>,
    /// Code objects that were wanted and read.
    pub objects: usize,
    /// Kernels looked at.
    pub kernels: usize,
    /// Kernels whose writes are resolved to arguments.
    pub writes_exact: usize,
    /// Kernels whose reads are.
    pub reads_exact: usize,
    /// Kernels of which a side is not.
    pub conservative: usize,
    /// Time that the analysis took; not that of reading the file, nor of what is done with its results.
    pub time: Duration,
}

/// Analyses the kernels in a code object, executable, shared library or offload bundle, one after the other, until
/// `each` has seen enough. Of what is packed, one code object is in memory at a time.
///
/// `target` keeps the code objects of one processor (`gfx906`), `wanted` the kernels of some (mangled) names. Code
/// objects that cannot be read are listed, not fatal.
///
/// # Errors
/// If the file is none of these or carries no device code.
pub fn inspect(
    bytes: &[u8],
    target: Option<&str>,
    wanted: impl Fn(&str) -> bool,
    mut each: impl FnMut(&InspectedKernel<'_>) -> ControlFlow<()>,
) -> Result<Report, ExtractError> {
    let limits = ObjectLimits::default();
    let mut report = Report::default();
    let mut targets = Vec::new();
    let named = |triple: &str| {
        let name = TargetName::of_triple(triple);
        if !triple.is_empty() {
            note(&mut targets, name.to_string());
        }
        // That of a bare ELF file stands inside.
        triple.is_empty() || target.is_none_or(|target| target == name.processor())
    };
    visit(bytes, &limits, named, |extracted| {
        let Extracted { triple, at, bytes } = extracted;
        let object = match CodeObject::parse(&bytes, &limits) {
            Ok(object) => object,
            Err(error) => {
                let error = error.to_string();
                report.refused.push(RefusedObject { at, triple, error });
                return ControlFlow::Continue(());
            }
        };
        if triple.is_empty() {
            report.targets.push(object.target.to_string());
        }
        if target.is_some_and(|target| object.target.name() != Some(target)) {
            return ControlFlow::Continue(());
        }
        report.objects += 1;
        let kernels = object.kernels.iter();
        kernels
            .filter(|kernel| wanted(&kernel.name))
            .try_for_each(|kernel| each(&report.add(&object, kernel)))
    })?;
    report.targets.extend(targets);
    Ok(report)
}

fn note(targets: &mut Vec<String>, target: String) {
    if !targets.contains(&target) {
        targets.push(target);
    }
}

impl Report {
    fn add<'a>(&mut self, object: &'a CodeObject, kernel: &'a Kernel) -> InspectedKernel<'a> {
        let start = Instant::now();
        let footprint = analyse(object, kernel, &AnalysisLimits::default());
        let summary = footprint.summary();
        self.time += start.elapsed();
        let (reads, writes) = (summary.reads.is_exact(), summary.writes.is_exact());
        self.kernels += 1;
        self.writes_exact += usize::from(writes);
        self.reads_exact += usize::from(reads);
        self.conservative += usize::from(!(reads && writes));
        InspectedKernel {
            object,
            kernel,
            footprint,
            summary,
        }
    }
}

impl InspectedKernel<'_> {
    /// How many arguments it takes, hidden ones left out.
    #[must_use]
    pub fn arguments(&self) -> usize {
        let args = self.kernel.args.iter();
        args.filter(|arg| !arg.kind.is_hidden()).count()
    }
}

/// Without its name.
impl fmt::Display for InspectedKernel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "({}, {} arguments)",
            self.object.target,
            self.arguments()
        )?;
        writeln!(
            f,
            "  reads:  {}",
            Line(&self.summary.reads, &self.summary.module_reads)
        )?;
        write!(
            f,
            "  writes: {}",
            Line(&self.summary.writes, &self.summary.module_writes)
        )
    }
}

struct Line<'a>(&'a SideSummary, &'a [String]);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(side, module) = self;
        let only_module = matches!(side, SideSummary::None) && !module.is_empty();
        if !only_module {
            write!(f, "{side}")?;
        }
        for (index, symbol) in module.iter().enumerate() {
            let comma = if index == 0 && only_module { "" } else { ", " };
            write!(f, "{comma}module data {symbol}")?;
        }
        Ok(())
    }
}

impl fmt::Display for SideSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("nothing"),
            Self::Unknown(reason) => write!(f, "unknown: {reason}"),
            Self::Args(slots) | Self::Indirect(slots) => {
                for (index, slot) in slots.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{slot}")?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.indirect {
            f.write_str("pointers loaded from memory at ")?;
        }
        match (self.arg, self.within, self.offset) {
            (Some(arg), 0, _) => write!(f, "arg{arg}")?,
            (Some(arg), within, _) => write!(f, "arg{arg}+{within}")?,
            (None, _, Some(offset)) => write!(f, "kernarg+{offset}")?,
            (None, _, None) => f.write_str("any pointer among the arguments")?,
        }
        if self.extents.is_empty() && !self.indirect {
            f.write_str(" (whole allocation)")?;
        }
        for (index, extent) in self.extents.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { " " })?;
            f.write_str(extent)?;
        }
        Ok(())
    }
}
