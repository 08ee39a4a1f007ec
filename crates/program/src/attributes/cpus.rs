//! CPUs that a thread may run on, and those of a cpuset.

use std::collections::BTreeSet;
use std::io;
use std::path::{Component, Path};

use nix::errno::Errno;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use crate::attributes::text;

/// Numbers of CPUs, less than [`Cpus::LIMIT`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cpus(BTreeSet<usize>);

impl FromIterator<usize> for Cpus {
    fn from_iter<T: IntoIterator<Item = usize>>(cpus: T) -> Self {
        let cpus = cpus.into_iter().filter(|cpu| *cpu < Self::LIMIT);
        Self(cpus.collect())
    }
}

impl Cpus {
    /// As many as the C library's calls know.
    const LIMIT: usize = CpuSet::count();

    /// Those that a thread may run on.
    pub(crate) fn of_thread(thread: u32) -> io::Result<Self> {
        let set = sched_getaffinity(Pid::from_raw(thread.cast_signed()))?;
        let cpus = (0..Self::LIMIT).filter(|cpu| set.is_set(*cpu).unwrap_or(false));
        Ok(cpus.collect())
    }

    /// All that the threads of a process can be bound to: its cpuset's, be it of the first or the second version of
    /// control groups (cpuset(7)); where nobody lists those, the machine's.
    pub(crate) fn of_cpuset(pid: u32) -> Self {
        let groups = text(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        let of_cpuset = cpuset(&groups).and_then(|(root, group, file)| {
            // A group may have no list of its own; seen from a container it may have another name.
            let mut folders = group.ancestors();
            folders.find_map(|group| Self::listed_in(&Path::new(root).join(group).join(file)))
        });
        of_cpuset
            .or_else(|| Self::listed_in(Path::new("/sys/devices/system/cpu/online")))
            .unwrap_or_default()
    }

    fn listed_in(path: &Path) -> Option<Self> {
        Self::parse(&text(path).ok()?).filter(|cpus| !cpus.0.is_empty())
    }

    /// A list like `0-3,8`, as the kernel writes it.
    fn parse(text: &str) -> Option<Self> {
        let mut cpus = BTreeSet::new();
        for part in text.trim().split(',').filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
            cpus.extend(first..=last.min(Self::LIMIT - 1));
        }
        Some(Self(cpus))
    }

    fn list(&self) -> String {
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for cpu in self.iter() {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == cpu => *last = cpu,
                _ => ranges.push((cpu, cpu)),
            }
        }
        let ranges = ranges.iter().map(|(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        });
        ranges.collect::<Vec<_>>().join(",")
    }

    /// Ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().copied()
    }

    pub(crate) fn are_all_of(&self, others: &Self) -> bool {
        self.0.is_superset(&others.0)
    }

    /// A bit each, the first of the first byte the lowest.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for cpu in self.iter() {
            bytes.resize(cpu / 8 + 1, 0);
            bytes[cpu / 8] |= 1 << (cpu % 8);
        }
        bytes
    }

    /// The same back; what is above the limit is nobody's.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let bits = 0..bytes.len().saturating_mul(8).min(Self::LIMIT);
        bits.filter(|bit| bytes[bit / 8] & 1 << (bit % 8) != 0)
            .collect()
    }

    /// Binds a thread to those that there are; which there are not, in words.
    pub(crate) fn bind(&self, thread: u32) -> Result<(), String> {
        let now = || Self::of_thread(thread);
        if now().is_ok_and(|now| now == *self) {
            return Ok(());
        }
        let listed = self.list();
        let failed = |error: io::Error| format!("{listed}: {error}");
        let mut set = CpuSet::new();
        for cpu in self.iter() {
            set.set(cpu).map_err(|error| failed(error.into()))?;
        }
        match sched_setaffinity(Pid::from_raw(thread.cast_signed()), &set) {
            Ok(()) => {}
            Err(Errno::EINVAL) => return Err(format!("{listed}: none of them is here")),
            Err(error) => return Err(failed(error.into())),
        }
        let absent = Self(&self.0 - &now().map_err(failed)?.0);
        match absent.0.is_empty() {
            true => Ok(()),
            false => Err(format!("{listed}: not here are {}", absent.list())),
        }
    }
}

/// Where the cpusets are, which a process is in, and the file that lists its CPUs.
fn cpuset(groups: &str) -> Option<(&'static str, &Path, &'static str)> {
    let mut second = None;
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, Path::new(fields.next()?));
        // Of what is above a container's own there is nothing to see.
        let is_above = path.components().any(|part| part == Component::ParentDir);
        let inside = path.strip_prefix("/").ok().filter(|_| !is_above);
        let group = inside.unwrap_or(Path::new(""));
        if controllers.split(',').any(|name| name == "cpuset") {
            return Some(("/sys/fs/cgroup/cpuset", group, "cpuset.effective_cpus"));
        }
        if controllers.is_empty() {
            second = Some(("/sys/fs/cgroup", group, "cpuset.cpus.effective"));
        }
    }
    second
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_bytes_are_of_the_same_cpus() {
        let cpus = Cpus::parse("0-3,8,1000-5000\n").expect("a list");
        assert_eq!(
            cpus.list(),
            "0-3,8,1000-1023",
            "as far as the calls know them"
        );
        assert_eq!(Cpus::from_bytes(&cpus.bytes()), cpus);
        assert_eq!(cpus.bytes().len(), 128);
        assert_eq!(Cpus::from_bytes(&[0xff; 1000]).0.len(), Cpus::LIMIT);
        assert_eq!(Cpus::parse("0-x"), None);
        assert_eq!(Cpus::parse("7-3"), Some(Cpus::default()));
        assert!(cpus.are_all_of(&Cpus::from_iter([2, 8])));
        assert!(!cpus.are_all_of(&Cpus::from_iter([2, 9])));
    }

    #[test]
    fn a_cpuset_is_found_in_either_version_of_control_groups() {
        let both = "9:name=systemd:/a\n3:cpuset:/b/c\n0::/d\n";
        let first = ("/sys/fs/cgroup/cpuset", "cpuset.effective_cpus");
        let second = ("/sys/fs/cgroup", "cpuset.cpus.effective");
        let of = |groups, group, (root, file)| {
            assert_eq!(cpuset(groups), Some((root, Path::new(group), file)));
        };
        of(both, "b/c", first);
        of("0::/d/e\n", "d/e", second);
        of("0::/../f\n", "", second);
        assert_eq!(cpuset("no groups"), None);
    }
}
