//! The targets of this machine's GPUs, as the driver tells them.

use std::path::Path;
use std::{fs, io};

use strobe_code_object::TargetName;
use strobe_isa::GfxVersion;

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
        let version = properties.lines().find_map(number);
        targets.extend(
            version
                .and_then(GfxVersion::from_kfd)
                .map(|v| v.to_string()),
        );
    }
    Ok(targets)
}

/// Whether code for `wanted` (perhaps with features, `gfx906:xnack-`) runs on one of these.
pub(crate) fn is_among(wanted: &str, targets: &[String]) -> bool {
    let processor = TargetName::new(wanted).processor();
    targets.iter().any(|target| target == processor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_do_not_keep_a_program_from_its_processor() {
        assert!(is_among("gfx906:sramecc+:xnack-", &["gfx906".to_owned()]));
        assert!(!is_among("gfx90a", &["gfx906".to_owned()]));
    }
}
