//! Whether what a kernel did is inside what its footprint said.

use std::panic::{AssertUnwindSafe, catch_unwind};

use strobe_code_object::{CodeObject, Kernel};
use strobe_extent::{Access, ExtentSet, Side};
use strobe_footprint::{AnalysisLimits, KernelFootprint, analyse};

use crate::device::{Device, Module, RunOutcome, predict, predict_by_pointers, predict_stored};
use crate::scene::Scene;

/// The judgement of one launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Everything was foreseen.
    Holds {
        /// What was read was known to the byte (not "anything").
        reads: bool,
        /// So was what was written.
        writes: bool,
        /// Some pointers were known that are in memory afterwards.
        pointers: bool,
    },
    /// Something was touched that was not foreseen.
    Missed(String),
    /// The program is not right: nothing is promised about it.
    Invalid(String),
}

/// What the analysis said when it panicked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the analysis panicked: {0}")]
pub struct Panicked(String);

/// What was touched and not predicted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} {missed} not predicted; predicted {predicted}")]
pub struct NotPredicted {
    /// Reads or writes.
    what: &'static str,
    missed: ExtentSet,
    predicted: ExtentSet,
}

/// The footprint of a kernel.
///
/// # Errors
/// If the analysis panics.
pub fn footprint(object: &CodeObject, kernel: &Kernel) -> Result<KernelFootprint, Panicked> {
    calm(|| analyse(object, kernel, &AnalysisLimits::default()))
}

/// Runs `kernel` in `scene` and compares.
pub fn judge(
    device: &mut Device,
    module: &Module,
    kernel: &Kernel,
    footprint: &KernelFootprint,
    scene: &Scene,
) -> Judgement {
    let seen = match device.run(module, kernel, scene) {
        RunOutcome::Ended(seen) => seen,
        RunOutcome::Invalid(why) => return Judgement::Invalid(why),
    };
    let predicted = calm(|| {
        let stored = predict_stored(footprint, kernel, scene);
        let wide = predict_by_pointers(footprint, kernel, scene);
        (predict(footprint, kernel, scene), wide, stored)
    });
    let (predicted, wide, stored) = match predicted {
        Ok(predicted) => predicted,
        Err(panic) => return Judgement::Missed(panic.to_string()),
    };
    if let Some(different) = device.differing(&stored) {
        return confirmed(device, module, kernel, scene, different);
    }
    match compare(&predicted, &seen).and_then(|()| compare(&wide, &seen)) {
        Ok(()) => Judgement::Holds {
            reads: !predicted.reads.is_unknown(),
            writes: !predicted.writes.is_unknown(),
            pointers: !stored.is_empty(),
        },
        Err(missed) => confirmed(device, module, kernel, scene, missed.to_string()),
    }
}

/// Where buffers lie side by side, a program that leaves one is only seen when they do not.
fn confirmed(
    device: &mut Device,
    module: &Module,
    kernel: &Kernel,
    scene: &Scene,
    missed: String,
) -> Judgement {
    let mut apart = scene.clone();
    for buffer in &mut apart.buffers {
        buffer.gap = buffer.gap.max(1 << 16);
    }
    match device.run(module, kernel, &apart) {
        RunOutcome::Invalid(why) => Judgement::Invalid(why),
        RunOutcome::Ended(_) => Judgement::Missed(missed),
    }
}

/// Whether everything `seen` was `predicted`.
///
/// # Errors
/// If something was not.
pub fn compare(predicted: &Access, seen: &Access) -> Result<(), NotPredicted> {
    for (what, predicted, seen) in [
        ("writes", &predicted.writes, &seen.writes),
        ("reads", &predicted.reads, &seen.reads),
    ] {
        if predicted.contains_side(seen) {
            continue;
        }
        let (predicted, seen) = (known(predicted), known(seen));
        let missed = seen.subtract(&predicted);
        return Err(NotPredicted {
            what,
            missed,
            predicted,
        });
    }
    Ok(())
}

fn known(side: &Side) -> ExtentSet {
    side.known()
        .map(|bytes| bytes.flat(u64::MAX))
        .unwrap_or_default()
}

fn calm<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let said = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied());
        Panicked(said.unwrap_or("without words").to_owned())
    })
}
