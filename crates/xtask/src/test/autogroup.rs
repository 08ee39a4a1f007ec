//! One scheduling group for all while tests run.
//!
//! Where no control group divides the processors, Linux gives each session a group of its own (sched(7), "The
//! autogroup feature"), and tests start many. Linux 6.18 on two processors has been seen to leave all threads of
//! one such group without a processor for up to 70 s, while another's were woken every 50 us: 14 checkpoints of a
//! small program took 2 to 71 s with it and 2.0 s each without, beside the same load. No limit of a test is made
//! for that.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

const SETTING: &str = "/proc/sys/kernel/sched_autogroup_enabled";

/// Off until it is dropped, if it was on; also where the suite is killed, for the setting is the machine's.
#[derive(Debug)]
pub(super) struct AutogroupOff(Option<Child>);

impl AutogroupOff {
    pub(super) fn set() -> io::Result<Self> {
        if !fs::read_to_string(SETTING).is_ok_and(|text| text.trim() == "1") {
            return Ok(Self(None));
        }
        // Reads until our end of the pipe is gone, whatever becomes of us. No Ctrl-C reaches it.
        let mut after = Command::new("sh");
        after.args(["-c", &format!("read -r _; echo 1 > {SETTING}")]);
        after.stdin(Stdio::piped()).process_group(0);
        let after = Self(Some(after.spawn()?));
        fs::write(SETTING, "0")?;
        Ok(after)
    }
}

impl Drop for AutogroupOff {
    fn drop(&mut self) {
        // Waiting closes the pipe before.
        let ended = self.0.as_mut().map(Child::wait);
        if ended.is_some_and(|ended| !ended.is_ok_and(|status| status.success())) {
            eprintln!("xtask: {SETTING} stays 0");
        }
    }
}
