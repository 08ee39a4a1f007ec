//! How long the phases of our plugin took, in its own lines of CRIU's log.

use std::fs;
use std::path::Path;

/// How those lines start, behind CRIU's time stamp.
pub const PREFIX: &str = "(strobe phase): ";

/// The lines, as the plugin has formatted them.
pub(crate) fn of(log: &Path) -> Vec<String> {
    let log = fs::read(log).unwrap_or_default();
    lines(&String::from_utf8_lossy(&log))
}

fn lines(log: &str) -> Vec<String> {
    let said = log.lines().filter_map(|line| line.split_once(PREFIX));
    said.map(|(_, phase)| phase.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn they_are_told_from_what_else_is_in_the_log() {
        let log = "(00.000001) Running\n(00.000002) (strobe): the agent is at the cut\n\
                   (00.000003) (strobe phase): DEBUG cut{pid=7}: close\n";
        assert_eq!(lines(log), ["DEBUG cut{pid=7}: close"]);
    }
}
