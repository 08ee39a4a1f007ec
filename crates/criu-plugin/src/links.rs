//! How the nodes of one machine are linked.
//!
//! The driver lists links to nodes that the process may not have, too: a link counts only if its other
//! end is there. A GPU whose whole memory a CPU or another GPU can reach has a link from there; so a link
//! goes both ways or one way.

use strobe_proto::amdgpu::{DevIolink, KfdDeviceEntry};

const PCIE: u32 = 2;
const XGMI: u32 = 11;

/// One link that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    kind: u32,
    /// The node at its other end, by its place in the list.
    pub(crate) to: usize,
    is_to_gpu: bool,
    goes_both_ways: bool,
}

impl Link {
    /// Whether `other` does as well: over XGMI in place of PCIe, and both ways in place of one.
    pub(crate) fn can_be(&self, other: &Self) -> bool {
        let is_slower = self.kind == XGMI && other.kind == PCIE;
        self.is_to_gpu == other.is_to_gpu
            && !is_slower
            && (other.goes_both_ways || !self.goes_both_ways)
    }

    /// Whether `other` is of the same kind and does as well.
    pub(crate) fn can_be_alike(&self, other: &Self) -> bool {
        self.kind == other.kind && self.can_be(other)
    }

    pub(crate) fn is_to_cpu(&self) -> bool {
        !self.is_to_gpu
    }
}

/// The links of one machine's nodes.
#[derive(Debug)]
pub(crate) struct Links {
    of_nodes: Vec<Vec<Link>>,
    /// GPUs that XGMI joins, both ways: by their places in the list, two or more.
    pub(crate) groups: Vec<Vec<usize>>,
}

impl Links {
    pub(crate) fn of(nodes: &[KfdDeviceEntry]) -> Self {
        let place = |id: u32| nodes.iter().position(|node| node.node_id == id);
        let link = |from: &KfdDeviceEntry, link: &DevIolink| {
            let to = place(link.node_to_id)?;
            let back =
                |back: &DevIolink| back.node_to_id == from.node_id && back.r#type == link.r#type;
            Some(Link {
                kind: link.r#type,
                to,
                is_to_gpu: nodes[to].gpu_id != 0,
                goes_both_ways: nodes[to].iolinks.iter().any(back),
            })
        };
        let of_nodes: Vec<Vec<Link>> = nodes
            .iter()
            .map(|node| node.iolinks.iter().filter_map(|l| link(node, l)).collect())
            .collect();
        let groups = groups(&of_nodes);
        Self { of_nodes, groups }
    }

    /// Those from the node at this place.
    pub(crate) fn from(&self, node: usize) -> &[Link] {
        &self.of_nodes[node]
    }
}

/// Whether a link is to one of these nodes.
pub(crate) fn counts(link: &DevIolink, nodes: &[KfdDeviceEntry]) -> bool {
    nodes.iter().any(|node| node.node_id == link.node_to_id)
}

fn groups(links: &[Vec<Link>]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (node, links) in links.iter().enumerate() {
        let is_joined = |link: &&Link| link.kind == XGMI && link.goes_both_ways && link.is_to_gpu;
        let mut group = vec![node];
        group.extend(links.iter().filter(is_joined).map(|link| link.to));
        // With all groups that it has a node in common with.
        let (joined, apart): (Vec<_>, Vec<_>) = groups
            .into_iter()
            .partition(|other| other.iter().any(|node| group.contains(node)));
        group.extend(joined.into_iter().flatten());
        group.sort_unstable();
        group.dedup();
        groups = apart;
        groups.push(group);
    }
    groups.retain(|group| group.len() > 1);
    groups.sort_unstable();
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(node_id: u32, gpu_id: u32, links: &[(u32, u32)]) -> KfdDeviceEntry {
        let link = |&(r#type, node_to_id)| DevIolink { r#type, node_to_id };
        KfdDeviceEntry {
            node_id,
            gpu_id,
            iolinks: links.iter().map(link).collect(),
            ..Default::default()
        }
    }

    #[test]
    fn links_to_nodes_that_are_not_there_do_not_count() {
        let nodes = [
            node(0, 0, &[(PCIE, 5), (PCIE, 7)]),
            node(5, 50, &[(PCIE, 0), (XGMI, 6)]),
            node(7, 70, &[]),
        ];
        let links = Links::of(&nodes);
        assert_eq!(links.from(0).len(), 2);
        assert_eq!(links.from(1).len(), 1, "node 6 is hidden");
        assert!(links.from(1)[0].goes_both_ways && links.from(1)[0].is_to_cpu());
        assert!(!links.from(0)[1].goes_both_ways);
        assert!(links.groups.is_empty());
    }

    #[test]
    fn groups_are_what_xgmi_joins_both_ways() {
        let nodes = [
            node(1, 10, &[(XGMI, 3)]),
            node(2, 20, &[(XGMI, 4)]),
            node(3, 30, &[(XGMI, 1), (XGMI, 5)]),
            node(4, 40, &[]),
            node(5, 50, &[(XGMI, 3)]),
        ];
        assert_eq!(
            Links::of(&nodes).groups,
            [vec![0, 2, 4]],
            "4 has none back to 2"
        );
    }

    #[test]
    fn a_better_link_will_do_and_a_worse_one_will_not() {
        let link = |kind, goes_both_ways| Link {
            kind,
            to: 0,
            is_to_gpu: false,
            goes_both_ways,
        };
        assert!(link(PCIE, false).can_be(&link(XGMI, true)));
        assert!(!link(PCIE, false).can_be_alike(&link(XGMI, true)));
        assert!(!link(XGMI, false).can_be(&link(PCIE, true)));
        assert!(!link(PCIE, true).can_be(&link(PCIE, false)));
        let to_gpu = Link {
            is_to_gpu: true,
            ..link(PCIE, true)
        };
        assert!(!link(PCIE, true).can_be(&to_gpu));
    }
}
