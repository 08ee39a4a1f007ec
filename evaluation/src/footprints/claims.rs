//! What each way says of a kernel, in terms of its arguments.

use std::collections::BTreeSet;

use strobe_code_object::{Arg, ArgAccess, ArgKind};
use strobe_footprint::{FootprintSummary, SideSummary, Slot};

use super::signature::Parameter;

/// Bytes of a pointer: what is smaller holds none.
const POINTER: u32 = 8;

/// One side of what a way says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Just what these arguments (by index) lead to.
    Arguments(BTreeSet<usize>),
    /// More may be touched, because of that.
    Inexact(String),
}

/// Both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claims {
    pub(crate) reads: Claim,
    pub(crate) writes: Claim,
}

impl Claims {
    fn inexact(reason: &str) -> Self {
        Self {
            reads: Claim::Inexact(reason.to_owned()),
            writes: Claim::Inexact(reason.to_owned()),
        }
    }
}

const STRUCTURE: &str = "structure by value";

/// The parameters are those of the demangled name, if it could be read.
pub(crate) fn of_signature(name: &str, parameters: Option<&[Parameter]>, args: &[Arg]) -> Claims {
    if !name.starts_with("_Z") {
        return Claims::inexact("not a C++ name");
    }
    let Some(parameters) = parameters else {
        return Claims::inexact("name that no demangler reads");
    };
    let own: Vec<(usize, &Arg)> = explicit(args).collect();
    if parameters.len() != own.len() {
        return Claims::inexact("parameters that are not those of the metadata");
    }
    let (mut reads, mut writes) = (BTreeSet::new(), BTreeSet::new());
    for (parameter, (index, arg)) in parameters.iter().zip(own) {
        match parameter {
            Parameter::Pointer { constant, .. } => {
                reads.insert(index);
                if !constant {
                    writes.insert(index);
                }
            }
            // An enumeration, or a number with a name.
            Parameter::Class if arg.size < POINTER => {}
            Parameter::Class => return Claims::inexact(STRUCTURE),
            Parameter::Number => {}
        }
    }
    Claims {
        reads: Claim::Arguments(reads),
        writes: Claim::Arguments(writes),
    }
}

/// A value of eight bytes is taken for a number, as a signature says it of `long`.
pub(crate) fn of_metadata(args: &[Arg]) -> Claims {
    let (mut reads, mut writes) = (BTreeSet::new(), BTreeSet::new());
    for (index, arg) in explicit(args) {
        match arg.kind {
            ArgKind::GlobalBuffer => {
                if arg.access != Some(ArgAccess::WriteOnly) {
                    reads.insert(index);
                }
                if arg.access != Some(ArgAccess::ReadOnly) {
                    writes.insert(index);
                }
            }
            ArgKind::ByValue if arg.size > POINTER => return Claims::inexact(STRUCTURE),
            ArgKind::Opaque | ArgKind::Unknown => return Claims::inexact("opaque argument"),
            _ => {}
        }
    }
    Claims {
        reads: Claim::Arguments(reads),
        writes: Claim::Arguments(writes),
    }
}

/// The parameters make reasons more exact, where there are any.
pub(crate) fn of_machine_code(
    summary: &FootprintSummary,
    parameters: Option<&[Parameter]>,
    args: &[Arg],
) -> Claims {
    let claim = |side: &SideSummary| match side {
        SideSummary::None => Claim::Arguments(BTreeSet::new()),
        SideSummary::Args(slots) => {
            Claim::Arguments(slots.iter().filter_map(|slot| slot.arg).collect())
        }
        SideSummary::Indirect(slots) => Claim::Inexact(through_memory(slots, parameters, args)),
        SideSummary::Unknown(reason) => Claim::Inexact(reason.to_string()),
    };
    Claims {
        reads: claim(&summary.reads),
        writes: claim(&summary.writes),
    }
}

pub(crate) const THROUGH_MEMORY: &str = "pointers in memory";

/// Where the first table is that pointers are loaded from.
fn through_memory(slots: &[Slot], parameters: Option<&[Parameter]>, args: &[Arg]) -> String {
    let place = slots.iter().find(|slot| slot.indirect).map(|slot| {
        let arg = slot.arg.and_then(|index| Some((index, args.get(index)?)));
        let Some((index, arg)) = arg else {
            return "of an argument chosen at run time";
        };
        // Hidden arguments are the last.
        let parameters = parameters.filter(|list| list.len() == explicit(args).count());
        match (parameters.and_then(|list| list.get(index)), arg.kind) {
            (Some(Parameter::Pointer { table: true, .. }), _) => "of an argument T **",
            (Some(Parameter::Pointer { .. }), _) => "of an argument T *",
            (_, ArgKind::GlobalBuffer) => "of an argument, a pointer",
            (_, ArgKind::ByValue) if arg.size > POINTER => "of a structure by value",
            (_, ArgKind::ByValue) => "of an argument, a number by its metadata",
            _ => "of a hidden argument",
        }
    });
    format!("{THROUGH_MEMORY}: {}", place.unwrap_or("elsewhere"))
}

fn explicit(args: &[Arg]) -> impl Iterator<Item = (usize, &Arg)> {
    let own = |(_, arg): &(usize, &Arg)| !arg.kind.is_hidden();
    args.iter().enumerate().filter(own)
}

#[cfg(test)]
mod tests {
    use strobe_extent::Reason;

    use super::super::signature::parameters;
    use super::*;

    fn arg(size: u32, kind: ArgKind, access: Option<ArgAccess>) -> Arg {
        Arg {
            offset: 0,
            size,
            kind,
            access,
            is_const: false,
            name: None,
        }
    }

    fn arguments(indices: &[usize]) -> Claim {
        Claim::Arguments(indices.iter().copied().collect())
    }

    #[test]
    fn a_signature_says_what_const_says() {
        let args = [
            arg(8, ArgKind::GlobalBuffer, None),
            arg(8, ArgKind::GlobalBuffer, None),
            arg(4, ArgKind::ByValue, None),
            arg(8, ArgKind::HiddenHostcallBuffer, None),
        ];
        let list = parameters("f(float*, float const*, rocsparse_operation_)");
        let claims = of_signature("_Z1f", list.as_deref(), &args);
        assert_eq!(claims.reads, arguments(&[0, 1]));
        assert_eq!(claims.writes, arguments(&[0]));
        let inexact = |name: &str, text: &str, args: &[Arg]| match of_signature(
            name,
            parameters(text).as_deref(),
            args,
        )
        .writes
        {
            Claim::Inexact(reason) => reason,
            Claim::Arguments(_) => String::new(),
        };
        assert_eq!(inexact("Cijk", "f(int)", &args), "not a C++ name");
        let fewer = inexact("_Z1f", "f(int)", &args);
        assert_eq!(fewer, "parameters that are not those of the metadata");
        let structure = [arg(24, ArgKind::ByValue, None)];
        assert_eq!(inexact("_Z1f", "f(view)", &structure), STRUCTURE);
    }

    #[test]
    fn metadata_say_what_a_compiler_has_proved() {
        let args = [
            arg(8, ArgKind::GlobalBuffer, Some(ArgAccess::ReadOnly)),
            arg(8, ArgKind::GlobalBuffer, Some(ArgAccess::WriteOnly)),
            arg(8, ArgKind::GlobalBuffer, None),
            arg(8, ArgKind::ByValue, None),
        ];
        let claims = of_metadata(&args);
        assert_eq!(claims.reads, arguments(&[0, 2]));
        assert_eq!(claims.writes, arguments(&[1, 2]));
        let structure = of_metadata(&[arg(12, ArgKind::ByValue, None)]);
        assert_eq!(structure, Claims::inexact(STRUCTURE));
    }

    #[test]
    fn machine_code_says_where_the_pointers_lie() {
        let slot = |arg, indirect| Slot {
            offset: Some(0),
            arg: Some(arg),
            name: format!("arg{arg}"),
            within: 0,
            extents: Vec::new(),
            indirect,
        };
        let args = [
            arg(8, ArgKind::GlobalBuffer, None),
            arg(8, ArgKind::GlobalBuffer, None),
        ];
        let summary = FootprintSummary {
            reads: SideSummary::Unknown(Reason::Budget),
            writes: SideSummary::Indirect(vec![slot(0, false), slot(1, true)]),
            module_writes: Vec::new(),
            module_reads: Vec::new(),
            why: Vec::new(),
        };
        let list = parameters("f(float*, float**)");
        let claims = of_machine_code(&summary, list.as_deref(), &args);
        let reason = |text: &str| Claim::Inexact(text.to_owned());
        assert_eq!(
            claims.writes,
            reason("pointers in memory: of an argument T **")
        );
        assert_eq!(claims.reads, reason("analysis budget exceeded"));
        let nameless = of_machine_code(&summary, None, &args);
        let expected = "pointers in memory: of an argument, a pointer";
        assert_eq!(nameless.writes, reason(expected));
    }
}
