//! What the pieces of a launch are.

use super::fingerprint::Fingerprints;
use super::rows::Rows;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Move(Rows),
    Fingerprint(Fingerprints),
}
