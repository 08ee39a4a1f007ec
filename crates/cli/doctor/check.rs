//! What is found of one thing.

use serde::Serialize;

/// One thing that was looked for.
#[derive(Debug, Serialize)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) ok: bool,
    /// Without it Strobe still works, in part.
    pub(super) optional: bool,
    /// What was found, or why it is not good.
    pub(super) found: String,
    /// What to do about it; empty when all is well.
    pub(super) remedy: &'static str,
}

impl Check {
    pub(super) fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self {
            name,
            ok: true,
            optional: false,
            found: found.into(),
            remedy: "",
        }
    }

    pub(super) fn bad(name: &'static str, found: impl Into<String>, remedy: &'static str) -> Self {
        Self {
            name,
            ok: false,
            optional: false,
            found: found.into(),
            remedy,
        }
    }

    pub(super) fn optional(self) -> Self {
        Self {
            optional: true,
            ..self
        }
    }
}
