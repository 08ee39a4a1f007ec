//! Which expressions can be computed for each work-item by itself.

use crate::expr::{Id, Map, Node, children};
use crate::plan::Plan;

/// Loads inside each other.
pub(crate) const MAX_LOADS: u32 = 4;

/// Which expressions may have a word of their own for each work-item.
#[derive(Debug, Default)]
pub(crate) struct Computed {
    known: Map<Id, bool>,
    /// Loads inside each other, where it is.
    loads: u32,
}

impl Computed {
    pub(crate) fn has(&mut self, plan: &Plan, id: Id) -> bool {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let found = self.look(plan, id);
        self.known.insert(id, found);
        found
    }

    fn look(&mut self, plan: &Plan, id: Id) -> bool {
        match plan.arena.node(id) {
            Node::Const(_)
            | Node::Const64(_)
            | Node::True
            | Node::False
            | Node::Kernarg(_)
            | Node::Kernarg64(_)
            | Node::Packet(_)
            | Node::Vacant
            | Node::Item(_)
            | Node::Items(_)
            | Node::Group(_) => true,
            Node::Load { load, .. } | Node::Load64 { load, .. } => {
                let load = plan.loads[load as usize];
                if load.bytes != 4 || self.loads == MAX_LOADS {
                    return false;
                }
                self.loads += 1;
                let found = self.has(plan, load.address);
                self.loads -= 1;
                found
            }
            Node::Inverse(..) | Node::Root(..) => false,
            Node::Lane(..) | Node::Lane64(..) | Node::Mask(..) | Node::Any(_) | Node::Lanes(..) => {
                false
            }
            node => {
                let mut parts = children(&node).into_iter().flatten().peekable();
                parts.peek().is_some() && parts.all(|part| self.has(plan, part))
            }
        }
    }
}
