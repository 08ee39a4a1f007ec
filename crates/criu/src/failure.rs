//! One clear sentence from CRIU's log.
//!
//! CRIU reports a cause and then each consequence of it. The sentence is, in this order: what our
//! plugin says, a known cause put in our words, else CRIU's first error in its own words.

/// How lines of our plugin start, behind CRIU's time stamp.
pub const PLUGIN_PREFIX: &str = "Error (strobe): ";

/// How what our plugin says then goes on where it does not fail but will not do it.
pub const REFUSAL: &str = "refused: ";

/// The same where the next dump may well succeed.
pub const PASSING: &str = "not now: ";

/// Lines that say that something failed, not what; and one that appears on good runs.
const NOISE: [&str; 5] = [
    "RLIMIT_NOFILE",
    "Dumping FAILED",
    "Restoring FAILED",
    "Can't setup",
    "Unable to chroot",
];

/// How the sentence on a program that has ended ends.
pub(crate) const ENDED: &str = " has ended";

/// How the sentence on a number that somebody has taken ends.
pub(crate) const NUMBER_IN_USE: &str = " is in use";

const DISK_FULL: &str = "No space left on the disk of the checkpoint";

type Rewrite = fn(&str) -> Option<String>;

const KNOWN: [Rewrite; 21] = [
    |m| {
        m.contains("Can't splice all pages to pipe").then(|| {
            "this CRIU cannot read the program's stacks, if its C library is glibc 2.42 or newer, which guards them in \
             a new way: take CRIU 4.2 or newer (STROBE_CRIU)"
                .into()
        })
    },
    |m| {
        let map = between(m, "Can't handle non-regular mapping on ", "'s map ")
            .and(after(m, "'s map "))?;
        Some(format!(
            "CRIU cannot save the device mapping at {map} of the program"
        ))
    },
    |m| {
        let pid = between(m, "Can't fork for ", ":").or(between(m, "Pid ", " do not match"))?;
        Some(format!("process number {pid}{NUMBER_IN_USE}"))
    },
    |m| {
        // EEXIST.
        after(m, "Unable to create a thread: -17")?;
        Some(format!("the number of a thread{NUMBER_IN_USE}"))
    },
    |m| {
        let name = after(m, "Missing required plugin: ")?;
        Some(format!("CRIU's plugin {name} is missing"))
    },
    |m| {
        after(m, "External socket is used")?;
        Some("the program has a unix socket connected to a process outside the checkpoint".into())
    },
    |m| {
        after(m, "Don't have tty to inherit")?;
        let terminal =
            "the program has a terminal open that is of a process outside the checkpoint";
        Some(format!(
            "{terminal}: restore it at a terminal, which takes that one's place"
        ))
    },
    |m| {
        let path = between(m, "File ", " has bad size ")?;
        let (now, then) = after(m, " has bad size ")?.split_once(" (expect ")?;
        let then = then.trim_end_matches(')');
        Some(format!(
            "file {} has {now} bytes, at the checkpoint it had {then}",
            rooted(path)
        ))
    },
    |m| {
        let path = between(m, "Can't open file ", " on restore")?;
        Some(format!("file {} cannot be opened", rooted(path)))
    },
    |m| {
        let rest = after(m, "Can't dump file ")?;
        let (fd, kind) = rest.split_once(" of that type ")?;
        let kind = kind.rsplit('(').next()?.trim_end_matches(')');
        Some(format!(
            "CRIU cannot save descriptor {fd} of the program ({kind})"
        ))
    },
    |m| {
        let fd = between(m, " for fd=", " ")?;
        let path = after(m, " path=").filter(|_| m.contains("Can't lookup mount="))?;
        Some(format!(
            "descriptor {fd} of the program ({path}) comes from another mount namespace"
        ))
    },
    |m| {
        after(m, "Some file locks are hold")?;
        Some("the program holds file locks".into())
    },
    |m| {
        let name = after(m, "Corrupted plugin ").unwrap_or_default();
        m.contains("Corrupted plugin")
            .then(|| format!("CRIU does not accept the plugin {name}"))
    },
    |m| {
        let what = after(m, "Unable to open plugin ").or(after(m, "Failed to load plugin "))?;
        Some(format!("CRIU cannot load the plugin {what}"))
    },
    |m| {
        after(m, "Can't bind inet socket").filter(|rest| rest.contains("in use"))?;
        Some(
            "a port that the program had is in use; one of a TCP connection which has ended a moment ago \
             stays so for up to a minute"
                .into(),
        )
    },
    |m| {
        after(m, "In-flight connection")?;
        Some(
            "a TCP connection waits to be accepted by the program, which CRIU does not save: try again when \
             that is done"
                .into(),
        )
    },
    |m| {
        after(m, "Can't chose service_fd_base")?;
        Some(
            "CRIU may open too few files beside the program's: start this command with a larger ulimit -n, or \
             with CAP_SYS_RESOURCE"
                .into(),
        )
    },
    |m| {
        m.contains("io_uring")
            .then(|| "the program uses io_uring, which CRIU cannot save".into())
    },
    |m| {
        // CRIU tries what sockets can do.
        m.contains("Unable to connect a socket: Network is unreachable").then(|| {
            "CRIU needs the loopback interface of the program's network namespace, which is down (ip link \
             set lo up)"
                .into()
        })
    },
    |m| {
        m.contains("No space left on device")
            .then(|| DISK_FULL.into())
    },
    |m| {
        let pid = between(m, "Unable to detach from ", ": No such process").or(between(
            m,
            "task ",
            " is a zombie",
        ))?;
        Some(format!("process {pid}{ENDED}"))
    },
];

/// The cause of a failed run, as far as the log tells.
pub fn explain(log: &str) -> Option<String> {
    let plugin = log.lines().find_map(|line| after(line, PLUGIN_PREFIX));
    if let Some(sentence) = plugin {
        return Some(sentence.to_owned());
    }
    let errors: Vec<&str> = log
        .lines()
        .filter_map(|line| {
            after(line, "Error (")?
                .split_once("): ")
                .map(|(_, text)| text)
        })
        .filter(|text| !NOISE.iter().any(|noise| text.contains(noise)))
        .collect();
    errors
        .iter()
        .find_map(|text| KNOWN.iter().find_map(|rewrite| rewrite(text)))
        // CRIU writes whole lines: a log that ends within one met the end of its disk.
        .or_else(|| {
            let cut_off = !log.is_empty() && !log.ends_with('\n');
            cut_off.then(|| DISK_FULL.into())
        })
        .or_else(|| {
            errors
                .first()
                .map(|text| format!("CRIU says: {}", text.trim_end()))
        })
}

fn after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.split_once(mark).map(|(_, rest)| rest)
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    after(text, start)?
        .split_once(end)
        .map(|(middle, _)| middle)
}

/// CRIU prints paths without the leading slash.
fn rooted(path: &str) -> String {
    if path.starts_with('/') {
        path.into()
    } else {
        format!("/{path}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn explains(line: &str, expected: &str) {
        let noise = "(00.000017) Error (criu/util.c:1533): rlimit: Can't setup RLIMIT_NOFILE for \
                     self: Operation not permitted\n";
        let end = "(00.030000) Error (criu/cr-dump.c:2111): Dumping FAILED.\n";
        assert_eq!(
            explain(&format!("{noise}{line}\n{end}")).as_deref(),
            Some(expected)
        );
    }

    #[test]
    fn known_causes_are_put_in_our_words() {
        explains(
            "(00.017042) Error (criu/cr-restore.c:1216): Can't fork for 21737: File exists",
            "process number 21737 is in use",
        );
        explains(
            "(00.105) pie: 3911: Error (criu/pie/restorer.c:2192): Unable to create a thread: -17",
            "the number of a thread is in use",
        );
        explains(
            "(00.01) Error (criu/servicefd.c:76): sfd: Can't chose service_fd_base: 0 45",
            "CRIU may open too few files beside the program's: start this command with a larger ulimit -n, or \
             with CAP_SYS_RESOURCE",
        );
        explains(
            "(00.01) Error (criu/plugin.c:300): Missing required plugin: amdgpu_plugin",
            "CRIU's plugin amdgpu_plugin is missing",
        );
        explains(
            "(00.01) Error (criu/sk-unix.c:839): unix: External socket is used. Consider using \
             --ext-unix-sk option.",
            "the program has a unix socket connected to a process outside the checkpoint",
        );
        explains(
            "(00.1)  14447: Error (criu/tty.c:995): tty: Don't have tty to inherit session from, aborting",
            "the program has a terminal open that is of a process outside the checkpoint: restore it at a \
             terminal, which takes that one's place",
        );
        explains(
            "(00.1)  14447: Error (criu/files-reg.c:2147): File tmp/run.log has bad size 2085 \
             (expect 1221)",
            "file /tmp/run.log has 2085 bytes, at the checkpoint it had 1221",
        );
        explains(
            "(00.1)  14447: Error (criu/files-reg.c:2141): Can't open file \
             dev/shm/hsakmt_shared_mem on restore: No such file or directory",
            "file /dev/shm/hsakmt_shared_mem cannot be opened",
        );
        explains(
            "(00.01) Error (criu/files.c:445): Can't dump file 3 of that type [20600] (chr 10:232)",
            "CRIU cannot save descriptor 3 of the program (chr 10:232)",
        );
        explains(
            "(00.01) Error (criu/proc_parse.c:632): Can't handle non-regular mapping on 15240's \
             map 7fc18ea00000",
            "CRIU cannot save the device mapping at 7fc18ea00000 of the program",
        );
        explains(
            "(00.01) Error (criu/files-reg.c:1817): Can't lookup mount=24 for fd=10 path=/dev/null",
            "descriptor 10 of the program (/dev/null) comes from another mount namespace",
        );
        explains(
            "(00.01) Error (criu/kerndat.c:1): Unable to connect a socket: Network is unreachable",
            "CRIU needs the loopback interface of the program's network namespace, which is down (ip link \
             set lo up)",
        );
        explains(
            "(00.01) Error (criu/sk-inet.c:1059): inet: Can't bind inet socket (id 26): Address already in use",
            "a port that the program had is in use; one of a TCP connection which has ended a moment ago \
             stays so for up to a minute",
        );
        explains(
            "(00.01) Error (criu/image.c:500): Can't write img: No space left on device",
            "No space left on the disk of the checkpoint",
        );
    }

    #[test]
    fn the_plugin_speaks_first_and_the_unknown_is_quoted() {
        explains(
            "(00.01) Error (criu/plugin.c:1): Can't dump file 3 of that type [1] (chr 1:1)\n\
             (00.02) Error (strobe): the GPU is another",
            "the GPU is another",
        );
        explains(
            "(00.01) Error (criu/mem.c:45): BUG at criu",
            "CRIU says: BUG at criu",
        );
        assert_eq!(explain("(00.0) all well\n"), None);
    }

    #[test]
    fn stacks_that_are_guarded_in_the_new_way_need_a_newer_criu() {
        let log = "pie: 3119: Error (criu/pie/parasite.c:104): Can't splice all pages to pipe (69632/256)";
        let said = explain(log).expect("an error");
        assert!(said.contains("CRIU 4.2 or newer"), "{said}");
    }

    #[test]
    fn a_log_that_is_cut_off_met_a_full_disk() {
        let log = "(00.04) Error (criu/page-xfer.c:120): page-xfe";
        assert_eq!(explain(log).as_deref(), Some(DISK_FULL));
    }
}
