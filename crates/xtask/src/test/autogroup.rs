//! One scheduling group for all while tests run.
//!
//! Where no control group divides the processors, Linux gives each session a group of its own (sched(7), "The
//! autogroup feature"), and tests start many. Linux 6.18 on two processors has been seen to leave all threads of
//! one such group without a processor for up to 70 s, while another's were woken every 50 us: 14 checkpoints of a
//! small program took 2 to 71 s with it and 2.0 s each without, beside the same load. No limit of a test is made
//! for that.

use std::fs;
use std::io;

const SETTING: &str = "/proc/sys/kernel/sched_autogroup_enabled";

/// Off until it is dropped, if it was on. The setting is the machine's: where the suite is killed, it stays off.
#[derive(Debug)]
pub(super) struct AutogroupOff {
    was_on: bool,
}

impl AutogroupOff {
    pub(super) fn set() -> io::Result<Self> {
        let was_on = fs::read_to_string(SETTING).is_ok_and(|text| text.trim() == "1");
        if was_on {
            fs::write(SETTING, "0")?;
        }
        Ok(Self { was_on })
    }
}

impl Drop for AutogroupOff {
    fn drop(&mut self) {
        if self.was_on
            && let Err(error) = fs::write(SETTING, "1")
        {
            eprintln!("xtask: {SETTING} stays 0: {error}");
        }
    }
}
