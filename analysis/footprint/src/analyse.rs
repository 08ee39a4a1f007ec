//! One kernel: its code is walked once, and asked at each launch.

use std::sync::Arc;

use strobe_code_object::{CodeObject, Kernel};
use strobe_extent::{Access, Reason, Side};

use crate::extents::{self, Found};
use crate::indexed::Reaches;
use crate::launch::{Launch, LaunchMemory, Word};
use crate::limits::AnalysisLimits;
use crate::machine::Machine;
use crate::plan::Plan;
use crate::reaches::reaches;
use crate::roots;
use crate::stored::{self, StoredPointers};
use crate::summary::FootprintSummary;
use crate::touch::Touch;
use crate::unseen::{Unseen, unseen};
use crate::walk::Walk;
use crate::walked::Walked;

/// What a kernel may touch, as a function of the launch. Cheap to clone.
#[derive(Clone, Debug)]
pub struct KernelFootprint {
    inner: Arc<Inner>,
}

#[derive(Debug)]
enum Inner {
    Known {
        plan: Box<Plan>,
        kernel: Box<Kernel>,
        unseen: Vec<Unseen>,
        /// [`roots::pointers`].
        pointers: [Option<Vec<u32>>; 2],
    },
    /// Anything, with the instruction at which the walk could not go on, if it could begin.
    Unknown {
        reason: Reason,
        at: Option<u64>,
        access: Arc<Access>,
    },
}

/// Analyses one kernel's machine code.
///
/// Work is bounded by `limits`; beyond them, and where the code cannot be followed, the footprint is
/// unknown.
#[must_use]
pub fn analyse(object: &CodeObject, kernel: &Kernel, limits: &AnalysisLimits) -> KernelFootprint {
    let inner = match walk(object, kernel, limits) {
        Ok(plan) => Inner::of(plan, kernel),
        Err((reason, at)) => Inner::Unknown {
            reason,
            at,
            access: Arc::new(Access::unknown(reason)),
        },
    };
    KernelFootprint {
        inner: Arc::new(inner),
    }
}

impl Inner {
    fn of(plan: Plan, kernel: &Kernel) -> Self {
        Self::Known {
            unseen: unseen(&plan, kernel),
            pointers: roots::pointers(&plan, kernel),
            plan: Box::new(plan),
            kernel: Box::new(kernel.clone()),
        }
    }
}

/// Walks that take less and less for granted of accesses of scratch.
const MAX_WALKS: usize = 8;
/// From then on, who gets further than was thought gets anywhere.
const GROWS_UNTIL: usize = 3;

fn walk(
    object: &CodeObject,
    kernel: &Kernel,
    limits: &AnalysisLimits,
) -> Result<Plan, (Reason, Option<u64>)> {
    let machine = Machine::of(object.target, kernel);
    let machine = machine.map_err(|reason| (reason, None))?;
    let mut steps = 0;
    let mut once = |reaches: &Reaches| {
        let mut walk = Walk::new(object, kernel, machine, limits);
        walk.reaches = reaches.clone();
        // A compiler leaves no instruction of a body that it takes for unreachable: a launch runs on into
        // what comes next, and so does the walk.
        walk.run().map_err(|reason| (reason, Some(walk.pc)))?;
        steps += walk.spent();
        let (walked, indexed) = Walked::of(walk);
        let plan = Plan::new(walked, object, kernel, limits);
        Ok((plan, indexed, steps > limits.steps))
    };
    let mut taken = Reaches::nowhere();
    for walks in 0..MAX_WALKS {
        let (plan, indexed, is_too_much) = match once(&taken) {
            Ok(walked) => walked,
            Err((Reason::Budget, at)) => return Err((Reason::Budget, at)),
            Err(_) => break,
        };
        let Some(found) = reaches(&plan, &indexed) else {
            break;
        };
        if !taken.widen(&found, walks >= GROWS_UNTIL) {
            return Ok(plan);
        }
        if is_too_much {
            break;
        }
    }
    once(&Reaches::anywhere()).map(|(plan, ..)| plan)
}

impl KernelFootprint {
    /// What one launch may touch.
    #[must_use]
    pub fn evaluate(&self, launch: &Launch<'_>, memory: &dyn LaunchMemory) -> Access {
        self.evaluate_noting(launch, memory).0
    }

    /// Likewise, with all that has been looked at of the kernarg segment.
    pub(crate) fn evaluate_noting(
        &self,
        launch: &Launch<'_>,
        memory: &dyn LaunchMemory,
    ) -> (Access, Vec<Word>) {
        match &*self.inner {
            Inner::Unknown { reason, .. } => (Access::unknown(*reason), Vec::new()),
            Inner::Known { plan, unseen, .. } => {
                let mut found = extents::access(plan, unseen, launch, memory);
                let Access { reads, writes } = &found.access;
                if [reads, writes]
                    .map(Side::reason)
                    .contains(&Some(Reason::Budget))
                {
                    self.widen(&mut found, launch, memory);
                }
                (found.access, found.words)
            }
        }
    }

    /// Of a launch that takes too long to evaluate, each side that is not known for that is all that its pointers
    /// point into.
    fn widen(&self, found: &mut Found, launch: &Launch<'_>, memory: &dyn LaunchMemory) {
        let (wide, words) = self.by_pointers_noting(launch, memory);
        found.words.extend(words);
        let Access { reads, writes } = &mut found.access;
        for (side, wide) in [(reads, wide.reads), (writes, wide.writes)] {
            let is_to_be_widened = match side.reason() {
                Some(reason) => reason == Reason::Budget,
                // What memory has told may not be so, now that more is written.
                None => found.consulted,
            };
            if is_to_be_widened {
                *side = wide;
            }
        }
    }

    /// What one launch may touch as far as its pointers tell: all of the allocations that they point into. That is quickly
    /// said, where nothing but pointers among the arguments leads to memory, and wide.
    #[must_use]
    pub fn by_pointers(&self, launch: &Launch<'_>, memory: &dyn LaunchMemory) -> Access {
        self.by_pointers_noting(launch, memory).0
    }

    fn by_pointers_noting(
        &self,
        launch: &Launch<'_>,
        memory: &dyn LaunchMemory,
    ) -> (Access, Vec<Word>) {
        let mut words = Vec::new();
        let (plan, unseen, [reads, writes]) = match &*self.inner {
            Inner::Unknown { reason, .. } => return (Access::unknown(*reason), words),
            Inner::Known {
                plan,
                unseen,
                pointers,
                ..
            } => (plan, unseen, pointers),
        };
        let mut side = |pointers: &Option<Vec<u32>>, touches: fn(&Unseen) -> bool| {
            let unseen = unseen.iter().filter(|unseen| touches(unseen));
            let offsets = pointers.as_ref()?.iter().copied();
            let offsets = offsets.chain(unseen.map(|unseen| unseen.offset));
            extents::of_pointers(plan, launch, memory, offsets, &mut words)
        };
        let [reads, writes] = [
            side(reads, |unseen| unseen.reads),
            side(writes, |unseen| unseen.writes),
        ]
        .map(|side| side.unwrap_or(Side::Unknown(Reason::Budget)));
        (Access { reads, writes }, words)
    }

    /// What was learned of the kernel's code, as [`KernelFootprint::from_bytes`] takes it. `None` where that is not known: it
    /// has to be looked for again.
    #[must_use]
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        match &*self.inner {
            Inner::Known { plan, .. } => postcard::to_extend(&plan.walked(), Vec::new()).ok(),
            Inner::Unknown { .. } => None,
        }
    }

    /// The footprint of a kernel of which this was learned, by an analysis of this version ([`crate::VERSION`]) within the
    /// same limits. `None` where no analysis can have said that. What it says of another kernel, or where somebody else has
    /// made it up, is wrong, but evaluation ends as ever.
    #[must_use]
    pub fn from_bytes(
        bytes: &[u8],
        object: &CodeObject,
        kernel: &Kernel,
        limits: &AnalysisLimits,
    ) -> Option<Self> {
        let (walked, rest) = postcard::take_from_bytes::<Walked>(bytes).ok()?;
        if !rest.is_empty() {
            return None;
        }
        let plan = Plan::new(walked.checked()?, object, kernel, limits);
        Some(Self {
            inner: Arc::new(Inner::of(plan, kernel)),
        })
    }

    /// What any launch may touch, where nothing of it is known.
    pub(crate) fn unknown(&self) -> Option<&Arc<Access>> {
        match &*self.inner {
            Inner::Unknown { access, .. } => Some(access),
            Inner::Known { .. } => None,
        }
    }

    /// Clones have the same, and no other has it while one of them lives.
    pub(crate) fn identity(&self) -> usize {
        Arc::as_ptr(&self.inner).addr()
    }

    /// Whether launches may leave pointers that can be computed.
    #[must_use]
    pub fn stores_pointers(&self) -> bool {
        match &*self.inner {
            Inner::Unknown { .. } => false,
            Inner::Known { plan, .. } => !plan.stores.is_empty(),
        }
    }

    /// Pointers that one launch leaves in device memory, by ascending address: what stands there when it is
    /// over, if nobody else has written there meanwhile. `memory` is that of the launch. Not all of them, but
    /// what is said is so.
    #[must_use]
    pub fn stored(&self, launch: &Launch<'_>, memory: &dyn LaunchMemory) -> Vec<StoredPointers> {
        match &*self.inner {
            Inner::Known { plan, unseen, .. } if !plan.stores.is_empty() => {
                stored::stored(plan, unseen, launch, memory)
            }
            _ => Vec::new(),
        }
    }

    /// What each instruction that touches memory may touch, by ascending address; nothing where the footprint is
    /// unknown as a whole. Reads of the kernel's own arguments are left out. Computed anew by each call.
    #[must_use]
    pub fn touches(&self) -> Vec<Touch> {
        match &*self.inner {
            Inner::Unknown { .. } => Vec::new(),
            Inner::Known { plan, kernel, .. } => roots::touches(plan, kernel),
        }
    }

    /// What any launch may touch, in terms of arguments. Computed anew by each call.
    #[must_use]
    pub fn summary(&self) -> FootprintSummary {
        match &*self.inner {
            Inner::Unknown { reason, at, .. } => FootprintSummary::unknown(*reason, *at),
            Inner::Known { plan, kernel, .. } => roots::summarise(plan, kernel),
        }
    }
}
