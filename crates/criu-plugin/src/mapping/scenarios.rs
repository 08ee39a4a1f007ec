//! Machines of several GPUs, and which of them can take over from which.
//!
//! The GPUs there are 0xa000, 0xa001 and so on, those here 0xb000 and so on. Each has a link to a CPU;
//! where that CPU has one back, it reaches all memory of the GPU.

use super::*;
use strobe_proto::amdgpu::DevIolink;

const PCIE: u32 = 2;
const XGMI: u32 = 11;
const THERE: u32 = 0xa000;
const HERE: u32 = 0xb000;
const ONE: u32 = 0xd000;
const OTHER: u32 = 0xd001;

/// CPUs, then GPUs.
#[derive(Clone)]
struct Machine {
    nodes: Vec<KfdDeviceEntry>,
    cpus: usize,
    side: u32,
}

impl Machine {
    fn new(side: u32, cpus: usize) -> Self {
        let cpu = |node_id| KfdDeviceEntry {
            node_id,
            cpu_cores_count: 1,
            ..Default::default()
        };
        let nodes = (0..cpus as u32).map(cpu).collect();
        Self { nodes, cpus, side }
    }

    /// GPUs of these models, the first at the first CPU, the next at the next and around.
    fn with(side: u32, cpus: usize, models: &[u32]) -> Self {
        let mut machine = Self::new(side, cpus);
        for (number, model) in models.iter().enumerate() {
            let cpu = number % cpus;
            machine.add(*model);
            machine.nodes[cpus + number].iolinks.push(link(PCIE, cpu));
        }
        machine
    }

    fn add(&mut self, device_id: u32) {
        let number = (self.nodes.len() - self.cpus) as u32;
        self.nodes.push(KfdDeviceEntry {
            node_id: self.nodes.len() as u32,
            gpu_id: self.side + number,
            device_id,
            ..Default::default()
        });
    }

    /// A link from one GPU to another.
    fn link(mut self, kind: u32, from: usize, to: usize) -> Self {
        let to = link(kind, self.cpus + to);
        self.nodes[self.cpus + from].iolinks.push(to);
        self
    }

    /// Links from each of these GPUs to each of the others.
    fn links(self, kind: u32, from: &[usize], to: &[usize]) -> Self {
        let pairs = from
            .iter()
            .flat_map(|from| to.iter().map(move |to| (*from, *to)));
        pairs
            .filter(|(from, to)| from != to)
            .fold(self, |machine, (from, to)| machine.link(kind, from, to))
    }

    fn hive(self, gpus: &[usize]) -> Self {
        self.links(XGMI, gpus, gpus)
    }

    /// This CPU reaches all memory of the GPU.
    fn reached(mut self, cpu: usize, gpu: usize) -> Self {
        let to = link(PCIE, self.cpus + gpu);
        self.nodes[cpu].iolinks.push(to);
        self
    }

    /// The CPU that each of these GPUs is at reaches its memory.
    fn all_reached(self, gpus: &[usize]) -> Self {
        let cpus = self.cpus;
        gpus.iter()
            .fold(self, |machine, gpu| machine.reached(gpu % cpus, *gpu))
    }

    fn model(&self, gpu: u32) -> u32 {
        self.nodes[self.cpus + (gpu - self.side) as usize].device_id
    }
}

fn link(r#type: u32, to: usize) -> DevIolink {
    DevIolink {
        r#type,
        node_to_id: to as u32,
    }
}

fn try_map(there: &Machine, here: &Machine) -> Result<Mapping, MappingError> {
    map(&there.nodes, &here.nodes, Checks::ALL)
}

/// All GPUs are mapped, each to one of its own and of its model; what XGMI joins stays together.
#[track_caller]
fn mapped(there: &Machine, here: &Machine) -> Mapping {
    let mapping = try_map(there, here).expect("a mapping");
    let gpus = there.nodes.len() - there.cpus;
    let mut targets: Vec<u32> = mapping.values().copied().collect();
    targets.sort_unstable();
    targets.dedup();
    assert_eq!((mapping.len(), targets.len()), (gpus, gpus));
    for (from, to) in &mapping {
        assert_eq!(there.model(*from), here.model(*to), "{from:#x} to {to:#x}");
    }
    let place = |machine: &Machine, gpu: u32| machine.cpus + (gpu - machine.side) as usize;
    let (groups, groups_here) = (
        Links::of(&there.nodes).groups,
        Links::of(&here.nodes).groups,
    );
    for group in groups {
        let to = |node: &usize| place(here, mapping[&there.nodes[*node].gpu_id]);
        let together = |other: &Vec<usize>| group.iter().map(to).all(|node| other.contains(&node));
        assert!(groups_here.iter().any(together), "{group:?} is torn apart");
    }
    mapping
}

const FIRST: [usize; 4] = [0, 1, 2, 3];
const SECOND: [usize; 4] = [4, 5, 6, 7];
const ALL: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

/// Two hives of four, at two CPUs.
fn hives(side: u32, models: [u32; 2]) -> Machine {
    let [a, b] = models;
    let machine = Machine::with(side, 2, &[a, a, a, a, b, b, b, b]);
    machine.hive(&FIRST).hive(&SECOND)
}

#[test]
fn hives_of_two_models_are_found_where_they_have_changed_places() {
    let machine = |side, models| {
        hives(side, models)
            .all_reached(&ALL)
            .links(PCIE, &FIRST, &SECOND)
            .links(PCIE, &SECOND, &FIRST)
    };
    let mapping = mapped(&machine(THERE, [ONE, OTHER]), &machine(HERE, [OTHER, ONE]));
    assert!((HERE + 4..HERE + 8).contains(&mapping[&THERE]));
}

/// Of the second hive the CPUs reach two GPUs only.
fn partly_reached(side: u32, models: [u32; 2]) -> Machine {
    hives(side, models)
        .all_reached(&ALL[..6])
        .links(PCIE, &FIRST, &[4, 5])
        .links(PCIE, &SECOND, &FIRST)
}

#[test]
fn hives_that_are_reached_in_part_are_mapped_onto_such() {
    let (there, here) = (
        partly_reached(THERE, [ONE; 2]),
        partly_reached(HERE, [ONE; 2]),
    );
    let mapping = mapped(&there, &here);
    assert!(
        (HERE..HERE + 4).contains(&mapping[&THERE]),
        "the one that is reached"
    );
}

#[test]
fn a_hive_that_is_reached_in_part_is_none_for_one_that_was_reached() {
    let there = partly_reached(THERE, [ONE, OTHER]);
    let here = partly_reached(HERE, [OTHER, ONE]);
    assert_eq!(try_map(&there, &here), Err(MappingError::Links));
}

/// One GPU of each hive is reached, by one CPU each.
fn one_reached(side: u32, reached: [(usize, usize); 2]) -> Machine {
    let [first, second] = reached;
    hives(side, [ONE, OTHER])
        .reached(first.0, first.1)
        .reached(second.0, second.1)
}

#[test]
fn the_one_gpu_that_is_reached_is_found_in_its_hive() {
    let there = one_reached(THERE, [(0, 2), (1, 7)]);
    let here = one_reached(HERE, [(0, 0), (1, 5)]);
    let mapping = mapped(&there, &here);
    assert_eq!(
        (mapping[&(THERE + 2)], mapping[&(THERE + 7)]),
        (HERE, HERE + 5)
    );
}

#[test]
fn a_link_one_way_is_none_for_one_both_ways() {
    let there = one_reached(THERE, [(0, 2), (1, 7)]);
    // GPU 4 is at the other CPU: that link has none back.
    let here = one_reached(HERE, [(0, 0), (1, 4)]);
    assert_eq!(try_map(&there, &here), Err(MappingError::Links));
}

#[test]
fn what_was_joined_stays_together_wherever_it_is_here() {
    let there = Machine::with(THERE, 1, &[ONE; 4])
        .hive(&[0, 1])
        .hive(&[2, 3]);
    let here = Machine::with(HERE, 1, &[ONE; 4])
        .hive(&[0, 3])
        .hive(&[1, 2]);
    mapped(&there, &here);
    // As many links, of which none are fast.
    let slow = Machine::with(HERE, 1, &[ONE; 4])
        .links(PCIE, &[0, 1], &[0, 1])
        .links(PCIE, &[2, 3], &[2, 3]);
    assert_eq!(try_map(&there, &slow), Err(MappingError::Links));
}

#[test]
fn gpus_of_no_hive_are_mapped_after_those_of_one() {
    let machine = |side| {
        Machine::with(side, 2, &[ONE; 8])
            .hive(&FIRST)
            .links(PCIE, &SECOND, &SECOND)
            .links(PCIE, &FIRST, &SECOND)
            .links(PCIE, &SECOND, &FIRST)
            .all_reached(&ALL)
    };
    mapped(&machine(THERE), &machine(HERE));
}

#[test]
fn models_at_other_places_are_found_with_as_many_links() {
    // The last has links to all, and nobody to it.
    let machine = |side, models: [u32; 5]| {
        Machine::with(side, 1, &models)
            .links(PCIE, &FIRST, &FIRST)
            .links(PCIE, &[4], &FIRST)
            .all_reached(&ALL[..5])
    };
    let there = machine(THERE, [ONE, ONE, OTHER, ONE, OTHER]);
    let here = machine(HERE, [ONE, OTHER, ONE, ONE, OTHER]);
    let mapping = mapped(&there, &here);
    assert_eq!(
        (mapping[&(THERE + 2)], mapping[&(THERE + 4)]),
        (HERE + 1, HERE + 4)
    );
}

#[test]
fn a_hive_more_than_there_was_is_not_in_the_way() {
    let there = Machine::with(THERE, 2, &[ONE; 8]).hive(&FIRST);
    let here = hives(HERE, [ONE; 2]);
    mapped(&there, &here);
    let (there, here) = (
        hives(THERE, [ONE; 2]),
        Machine::with(HERE, 2, &[ONE; 8]).hive(&FIRST),
    );
    assert_eq!(
        try_map(&there, &here),
        Err(MappingError::Links),
        "and not the other way"
    );
}

#[test]
fn more_links_than_there_were_will_do() {
    let machine = |side, joined: &[usize]| {
        let rest: Vec<usize> = (joined.len()..5).collect();
        Machine::with(side, 1, &[ONE; 5])
            .links(PCIE, joined, joined)
            .links(PCIE, &rest, joined)
            .all_reached(&ALL[..5])
    };
    mapped(&machine(THERE, &FIRST[..3]), &machine(HERE, &FIRST));
    let fewer = try_map(&machine(THERE, &FIRST), &machine(HERE, &FIRST[..3]));
    assert_eq!(fewer, Err(MappingError::Links));
}

#[test]
fn links_to_gpus_that_the_process_may_not_have_do_not_count() {
    let there = Machine::with(THERE, 1, &[ONE; 2]);
    // Of eight GPUs in a hive here, a container has two.
    let mut here = Machine::with(HERE, 1, &[ONE; 8]).hive(&ALL);
    here.nodes.truncate(1 + 2);
    mapped(&there, &here);
    assert_eq!(
        try_map(&here.clone(), &there).expect_err("a hive"),
        MappingError::Links
    );
    let mut alone = Machine::with(THERE, 1, &[ONE; 8]).hive(&ALL);
    alone.nodes.drain(2..);
    mapped(&alone, &Machine::with(HERE, 1, &[ONE]));
}

#[test]
fn near_memory_stays_near_unless_the_user_says_that_it_need_not() {
    let lenient = Checks {
        numa: false,
        ..Checks::ALL
    };
    let at = |side, cpus: [usize; 2]| {
        let mut machine = Machine::new(side, 2);
        for cpu in cpus {
            machine.add(ONE);
            let gpu = machine.nodes.last_mut().expect("just added");
            gpu.iolinks.push(link(PCIE, cpu));
        }
        machine
    };
    let (one, two) = ([0, 0], [0, 1]);
    for (there, here) in [(one, two), (two, one)] {
        let (there, here) = (at(THERE, there), at(HERE, here));
        assert_eq!(try_map(&there, &here), Err(MappingError::Links));
        assert!(map(&there.nodes, &here.nodes, lenient).is_ok());
    }
    mapped(&at(THERE, [0, 1]), &at(HERE, [1, 0]));
    mapped(&at(THERE, [0, 0]), &at(HERE, [1, 1]));
}

#[test]
fn a_search_without_end_ends() {
    // All alike, but that one link is missing here.
    let all: Vec<usize> = (0..16).collect();
    let machine = |side| Machine::with(side, 1, &[ONE; 16]).hive(&all);
    let mut here = machine(HERE);
    here.nodes[16].iolinks.pop();
    assert_eq!(try_map(&machine(THERE), &here), Err(MappingError::TooMany));
}
