//! The targets of this machine's GPUs, as the driver tells them.

use std::path::Path;
use std::{fs, io};

const NODES: &str = "/sys/class/kfd/kfd/topology/nodes";
const DEVICE: &str = "/dev/kfd";

/// Whether there is a GPU driver.
pub(crate) fn has_driver() -> bool {
    Path::new(DEVICE).exists()
}

/// The targets, for example `gfx906`, one a GPU.
pub(crate) fn targets() -> io::Result<Vec<String>> {
    let mut targets = Vec::new();
    for node in fs::read_dir(NODES)? {
        let properties = fs::read_to_string(node?.path().join("properties"))?;
        let number = |line: &str| {
            line.strip_prefix("gfx_target_version ")?
                .trim()
                .parse()
                .ok()
        };
        targets.extend(properties.lines().find_map(number).and_then(name));
    }
    Ok(targets)
}

/// The driver writes 9.0.10 as 90010, compilers as gfx90a; a CPU has 0.
fn name(version: u32) -> Option<String> {
    let (major, minor, step) = (version / 10000, version / 100 % 100, version % 100);
    (version != 0).then(|| format!("gfx{major}{minor:x}{step:x}"))
}

/// Whether code for `wanted` (perhaps with features, `gfx906:xnack-`) runs on one of these.
pub(crate) fn is_among(wanted: &str, targets: &[String]) -> bool {
    let processor = wanted.split(':').next().unwrap_or(wanted);
    targets.iter().any(|target| target == processor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_become_the_names_compilers_use() {
        let names = [90006, 90010, 90402, 100_300, 0].map(name);
        let expected = ["gfx906", "gfx90a", "gfx942", "gfx1030"].map(|n| Some(n.to_owned()));
        assert_eq!(names[..4], expected);
        assert_eq!(names[4], None);
        assert!(is_among("gfx906:sramecc+:xnack-", &["gfx906".to_owned()]));
        assert!(!is_among("gfx90a", &["gfx906".to_owned()]));
    }
}
