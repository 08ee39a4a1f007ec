//! What a file's kernels touch: for `strobe inspect`.

use std::fmt;
use std::time::Instant;

use strobe_code_object::{CodeObject, ExtractError, Kernel, TargetName, extract};

use crate::analyse::analyse;
use crate::limits::AnalysisLimits;
use crate::summary::{FootprintSummary, SideSummary, Slot};

/// What one kernel touches.
#[derive(Clone, Debug)]
pub struct InspectedKernel {
    /// As in the file, mangled.
    pub name: String,
    /// The processor.
    pub target: String,
    /// How many, hidden ones included.
    pub arguments: usize,
    /// What it touches.
    pub summary: FootprintSummary,
}

/// A code object that could not be read.
#[derive(Clone, Debug)]
pub struct RefusedKernel {
    /// Where its bundle starts in the file, in bytes.
    pub at: usize,
    /// The bundle's name for it.
    pub triple: String,
    /// Why.
    pub error: String,
}

/// What a file's kernels touch.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// In the order of the file.
    pub rows: Vec<InspectedKernel>,
    /// In the order of the file.
    pub refused: Vec<RefusedKernel>,
    /// Kernels looked at.
    pub kernels: usize,
    /// Kernels whose writes are resolved to arguments.
    pub writes_exact: usize,
    /// Kernels whose reads are.
    pub reads_exact: usize,
    /// Kernels of which a side is not.
    pub conservative: usize,
    /// Time taken by the analysis, reading the file left out.
    pub seconds: f64,
}

/// Analyses every kernel in a code object, executable, shared library or offload bundle.
///
/// `target` keeps the code objects of one processor (`gfx906`). Code objects that cannot be read are
/// listed, not fatal.
///
/// # Errors
/// If the file is none of these or carries no device code.
pub fn report(bytes: &[u8], target: Option<&str>) -> Result<Report, ExtractError> {
    let limits = strobe_code_object::ObjectLimits::default();
    let mut report = Report::default();
    for extracted in extract(bytes, &limits)? {
        // A bundle names its target: no need to parse the others.
        let wanted = |name: &str| target.is_none_or(|target| name == target);
        let named = TargetName::of_triple(&extracted.triple).processor();
        if !extracted.triple.is_empty() && !wanted(named) {
            continue;
        }
        match CodeObject::parse(&extracted.bytes, &limits) {
            Ok(object) if wanted(object.target.name().unwrap_or_default()) => {
                let start = Instant::now();
                for kernel in &object.kernels {
                    report.add(&object, kernel);
                }
                report.seconds += start.elapsed().as_secs_f64();
            }
            Ok(_) => {}
            Err(error) => report.refused.push(RefusedKernel {
                at: extracted.at,
                triple: extracted.triple,
                error: error.to_string(),
            }),
        }
    }
    Ok(report)
}

impl Report {
    fn add(&mut self, object: &CodeObject, kernel: &Kernel) {
        let summary = analyse(object, kernel, &AnalysisLimits::default()).summary();
        let (reads, writes) = (summary.reads.is_exact(), summary.writes.is_exact());
        self.kernels += 1;
        self.writes_exact += usize::from(writes);
        self.reads_exact += usize::from(reads);
        self.conservative += usize::from(!(reads && writes));
        self.rows.push(InspectedKernel {
            name: kernel.name.clone(),
            target: object.target.to_string(),
            arguments: kernel
                .args
                .iter()
                .filter(|arg| !arg.kind.is_hidden())
                .count(),
            summary,
        });
    }
}

impl fmt::Display for InspectedKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} ({}, {} arguments)",
            self.name, self.target, self.arguments
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
