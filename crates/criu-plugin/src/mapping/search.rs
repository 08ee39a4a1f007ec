//! The search for a mapping: a choice for one GPU after the other, taken back where it leads nowhere.

use std::collections::BTreeMap;

use strobe_proto::amdgpu::KfdDeviceEntry;

use super::{Links, MappingError, difference};
use crate::options::Checks;

/// Choices that are tried at most: eight GPUs that are all alike need a tenth of it.
const TRIES: usize = 1 << 21;

/// The nodes of one machine. All numbers of nodes here are places in this list.
pub(super) struct Side<'n> {
    nodes: &'n [KfdDeviceEntry],
    links: Links,
    pub(super) gpus: Vec<usize>,
}

impl<'n> Side<'n> {
    pub(super) fn new(nodes: &'n [KfdDeviceEntry]) -> Self {
        let is_gpu = |&place: &usize| nodes[place].gpu_id != 0;
        Self {
            nodes,
            links: Links::of(nodes),
            gpus: (0..nodes.len()).filter(is_gpu).collect(),
        }
    }
}

/// What has been chosen: the node here by the node there.
#[derive(Clone, Debug, Default)]
struct Chosen {
    gpus: BTreeMap<usize, usize>,
    cpus: BTreeMap<usize, usize>,
}

impl Chosen {
    fn is_taken(&self, target: usize) -> bool {
        self.gpus.values().any(|taken| *taken == target)
    }

    fn is_taken_cpu(&self, target: usize) -> bool {
        self.cpus.values().any(|taken| *taken == target)
    }
}

/// A set of GPUs there, and those here that they are mapped onto.
type Task = (Vec<usize>, Vec<usize>);

pub(super) struct Search<'s> {
    there: &'s Side<'s>,
    here: &'s Side<'s>,
    checks: Checks,
    tries: usize,
}

impl<'s> Search<'s> {
    pub(super) fn new(there: &'s Side<'s>, here: &'s Side<'s>, checks: Checks) -> Self {
        let tries = 0;
        Self {
            there,
            here,
            checks,
            tries,
        }
    }

    pub(super) fn run(mut self) -> Result<BTreeMap<usize, usize>, MappingError> {
        let used = vec![false; self.here.links.groups.len()];
        match self.groups(0, &used, &Chosen::default()) {
            Some(chosen) => Ok(chosen.gpus),
            None if self.tries > TRIES => Err(MappingError::TooMany),
            None => Err(MappingError::Links),
        }
    }

    /// Maps the groups there from this one on, each into one here that is not `used`, and all other GPUs.
    fn groups(&mut self, group: usize, used: &[bool], chosen: &Chosen) -> Option<Chosen> {
        let Some(sources) = self.there.links.groups.get(group) else {
            return self.gpus(&self.rest(chosen), chosen, &mut |_, chosen| {
                Some(chosen.clone())
            });
        };
        for target in 0..used.len() {
            let targets = &self.here.links.groups[target];
            if used[target] || targets.len() < sources.len() {
                continue;
            }
            let mut used = used.to_vec();
            used[target] = true;
            let task = (sources.clone(), targets.clone());
            let found = self.gpus(&task, chosen, &mut |search, chosen| {
                search.groups(group + 1, &used, chosen)
            });
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// All GPUs that are in no group, and those here that no group has taken.
    fn rest(&self, chosen: &Chosen) -> Task {
        let is_free = |source: &&usize| !chosen.gpus.contains_key(source);
        let sources = self.there.gpus.iter().filter(is_free).copied().collect();
        let is_free = |target: &&usize| !chosen.is_taken(**target);
        let targets = self.here.gpus.iter().filter(is_free).copied().collect();
        (sources, targets)
    }

    /// Maps the GPUs of a task, and what comes `then`.
    fn gpus(
        &mut self,
        task: &Task,
        chosen: &Chosen,
        then: &mut dyn FnMut(&mut Self, &Chosen) -> Option<Chosen>,
    ) -> Option<Chosen> {
        let (sources, targets) = task;
        let next = sources.iter().find(|s| !chosen.gpus.contains_key(s));
        let Some(&source) = next else {
            return then(self, chosen);
        };
        // The same GPU first, if it is still here.
        let is_same =
            |target: usize| self.here.nodes[target].gpu_id == self.there.nodes[source].gpu_id;
        let mut order = targets.clone();
        order.sort_by_key(|&target| !is_same(target));
        for target in order {
            if chosen.is_taken(target) {
                continue;
            }
            self.tries += 1;
            if self.tries > TRIES {
                return None;
            }
            if let Some(chosen) = self.with(source, target, chosen)
                && let Some(found) = self.gpus(task, &chosen, then)
            {
                return Some(found);
            }
        }
        None
    }

    /// Adds one GPU, and the CPUs that it has links to; `None` if it cannot be.
    fn with(&self, source: usize, target: usize, chosen: &Chosen) -> Option<Chosen> {
        let (saved, present) = (&self.there.nodes[source], &self.here.nodes[target]);
        let links = self.there.links.from(source);
        let links_here = self.here.links.from(target);
        if difference(saved, present, self.checks).is_some() || links.len() > links_here.len() {
            return None;
        }
        let mut chosen = chosen.clone();
        chosen.gpus.insert(source, target);
        for link in links.iter().filter(|link| link.is_to_cpu()) {
            let known = chosen.cpus.get(&link.to);
            let found = match known {
                _ if !self.checks.numa => links_here.iter().find(|here| link.can_be(here)),
                Some(cpu) => links_here
                    .iter()
                    .find(|here| here.to == *cpu && link.can_be_alike(here)),
                None => links_here
                    .iter()
                    .find(|here| link.can_be(here) && !chosen.is_taken_cpu(here.to)),
            };
            chosen.cpus.insert(link.to, found?.to);
        }
        Some(chosen)
    }
}
