//! What our plugin says in lines of its own in CRIU's log, for the command: how long its phases took, and what a
//! restored program does not get.

use std::fs;
use std::path::Path;

/// How lines of phases start, behind CRIU's time stamp.
pub const PHASE: &str = "(strobe phase): ";
/// How those start that say what a restored program does not get.
pub const REMARK: &str = "(strobe remark): ";

/// The lines of one kind, as the plugin has formatted them.
pub(crate) fn of(log: &Path, kind: &str) -> Vec<String> {
    let log = fs::read(log).unwrap_or_default();
    lines(&String::from_utf8_lossy(&log), kind)
}

fn lines(log: &str, kind: &str) -> Vec<String> {
    let said = log.lines().filter_map(|line| line.split_once(kind));
    said.map(|(_, line)| line.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::{PHASE, REMARK, lines};

    #[test]
    fn they_are_told_from_what_else_is_in_the_log() {
        let log = "(00.000001) Running\n(00.000002) (strobe): the agent is at the cut\n\
                   (00.000003) (strobe phase): DEBUG cut{pid=7}: close\n\
                   (00.000004) (strobe remark): not put back: all\n";
        assert_eq!(lines(log, PHASE), ["DEBUG cut{pid=7}: close"]);
        assert_eq!(lines(log, REMARK), ["not put back: all"]);
    }
}
