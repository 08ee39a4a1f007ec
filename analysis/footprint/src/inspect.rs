//! What a file's kernels touch: for `strobe inspect`.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use strobe_code_object::{
    CodeObject, ExtractError, Extracted, Kernel, ObjectLimits, TargetName, visit,
};

use crate::analyse::{KernelFootprint, analyse};
use crate::contradiction::{Contradiction, contradictions};
use crate::instructions::{self, Instruction};
use crate::limits::AnalysisLimits;
use crate::summary::{FootprintSummary, Obstacle, SideSummary, Slot, Why};
use crate::touch::Touch;

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
    /// Why: kernels whose reads, and whose writes, are not.
    pub reasons: BTreeMap<Obstacle, [usize; 2]>,
    /// Kernels whose code does what their metadata says that it does not.
    pub contradicted: usize,
    /// Time that the analysis took; not that of reading the file, nor of what is done with its results.
    pub time: Duration,
}

/// Analyses the kernels in a code object, executable, shared library or offload bundle, one after the other, until
/// `each` has seen enough. Of what is packed, one code object is in memory at a time.
///
/// `target` keeps the code objects of one processor (`gfx906`), or those of a generic target that it runs if it has none of
/// its own; `wanted` the kernels of some (mangled) names. Code
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
    let Some(target) = target else {
        return inspect_those(bytes, |_| true, &wanted, &mut each);
    };
    let own = |of: TargetName<'_>| of.processor() == target;
    let report = inspect_those(bytes, own, &wanted, &mut each)?;
    let mut names = report.targets.iter().map(|name| TargetName::new(name));
    if report.objects > 0 || names.clone().any(own) || !names.any(|name| name.includes(target)) {
        return Ok(report);
    }
    inspect_those(bytes, |of| of.includes(target), &wanted, &mut each)
}

/// Likewise, of all targets that are `meant`.
fn inspect_those(
    bytes: &[u8],
    meant: impl Fn(TargetName<'_>) -> bool,
    wanted: &impl Fn(&str) -> bool,
    each: &mut impl FnMut(&InspectedKernel<'_>) -> ControlFlow<()>,
) -> Result<Report, ExtractError> {
    let limits = ObjectLimits::default();
    let mut report = Report::default();
    let mut targets = Vec::new();
    let named = |triple: &str| {
        let name = TargetName::of_triple(triple);
        note(&mut targets, name.to_string());
        meant(name)
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
        let name = object.target.to_string();
        if !meant(TargetName::new(&name)) {
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
        for (side, index) in [(&summary.reads, 0), (&summary.writes, 1)] {
            if let Some(obstacle) = side.obstacle() {
                self.reasons.entry(obstacle).or_default()[index] += 1;
            }
        }
        let kernel = InspectedKernel {
            object,
            kernel,
            footprint,
            summary,
        };
        self.contradicted += usize::from(!kernel.contradictions().is_empty());
        kernel
    }
}

impl InspectedKernel<'_> {
    /// Where the code does what the metadata says that it does not.
    #[must_use]
    pub fn contradictions(&self) -> Vec<Contradiction> {
        contradictions(&self.summary, self.kernel)
    }

    /// What it reads and what it writes, module data too.
    #[must_use]
    pub fn lines(&self) -> (String, String) {
        let summary = &self.summary;
        (
            Line(&summary.reads, &summary.module_reads).to_string(),
            Line(&summary.writes, &summary.module_writes).to_string(),
        )
    }

    /// An instruction that keeps a side from being exact, as text.
    #[must_use]
    pub fn instruction(&self, why: &Why) -> String {
        let at = instructions::at(self.object, self.kernel, why.address);
        let text = at.map_or_else(|| "?".to_owned(), |at| at.text);
        format!("{:#x}: {text}", why.address)
    }

    /// Its code, with what each instruction touches: from its entry to where its symbol ends, at most
    /// [`AnalysisLimits::instructions`].
    #[must_use]
    pub fn code(&self) -> Vec<(Instruction, Vec<Touch>)> {
        let touches = self.footprint.touches();
        let code = instructions::of(self.object, self.kernel).map(|instruction| {
            let first = touches.partition_point(|touch| touch.address < instruction.address);
            let here = touches[first..].iter();
            let here = here.take_while(|touch| touch.address == instruction.address);
            let here = here.cloned().collect();
            (instruction, here)
        });
        code.take(AnalysisLimits::default().instructions).collect()
    }

    /// How many arguments it takes, hidden ones left out.
    #[must_use]
    pub fn arguments(&self) -> usize {
        let args = self.kernel.args.iter();
        args.filter(|arg| !arg.kind.is_hidden()).count()
    }
}

/// Instructions of one reason that are shown; who wants all asks for the code.
const SHOWN: usize = 3;

/// Without its name.
impl fmt::Display for InspectedKernel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (reads, writes) = self.lines();
        let target = self.object.target;
        writeln!(f, "({target}, {} arguments)", self.arguments())?;
        writeln!(f, "  reads:  {reads}")?;
        write!(f, "  writes: {writes}")?;
        for contradiction in self.contradictions() {
            write!(f, "\n  contradiction: {contradiction}")?;
        }
        let mut why = self.summary.why.clone();
        why.sort_by_key(|why| why.obstacle);
        for because in why.chunk_by(|a, b| a.obstacle == b.obstacle) {
            write!(f, "\n  because of {}:", because[0].obstacle)?;
            for why in because.iter().take(SHOWN) {
                write!(f, "\n    {}", self.instruction(why))?;
            }
            if because.len() > SHOWN {
                write!(f, "\n    and {} more", because.len() - SHOWN)?;
            }
        }
        Ok(())
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
        let name = &self.name;
        match (self.arg, self.within, self.offset) {
            (Some(_), 0, _) => f.write_str(name)?,
            (Some(_), within, _) => write!(f, "{name}+{within}")?,
            (None, _, Some(offset)) => write!(f, "kernarg+{offset}")?,
            (None, _, None) => f.write_str("any pointer among the arguments")?,
        }
        if self.extents.is_empty() && !self.indirect {
            f.write_str("[..]")?;
        }
        for (index, extent) in self.extents.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { " " })?;
            f.write_str(extent)?;
        }
        Ok(())
    }
}
