//! Memory of the program that the device reads for us while the program may free it.

use crate::call::gate::{GATE, thread_id};
use crate::seen::registry::Registry;
use crate::wire::page::now_ns;
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use strobe_extent::Extent;
use strobe_proto::HeldBy;

/// How long a free waits: a device that has not read a few megabytes by then reads nothing any more.
const FREE_PATIENCE: Duration = Duration::from_secs(5);

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// Whether there may be any: all that a free looks at. Set before the registry is asked what lives; a free takes
    /// its memory out of the registry first. So, by the registry's lock, either sees the other.
    any: AtomicBool,
    extents: Mutex<Vec<Extent>>,
    changed: Condvar,
}

impl Reading {
    /// The device is about to read this, if it lives: it is not freed until [`Self::end`].
    pub(crate) fn begin(&self, registry: &Registry, extent: Extent) -> bool {
        let mut extents = self.extents.lock();
        self.any.store(true, Ordering::Relaxed);
        let lives = registry
            .find(extent.start())
            .is_some_and(|buffer| buffer.contains(extent));
        if lives {
            extents.push(extent);
        }
        lives
    }

    /// The device has read it.
    pub(crate) fn end(&self, extent: Extent) {
        let mut extents = self.extents.lock();
        if let Some(at) = extents.iter().position(|other| *other == extent) {
            extents.swap_remove(at);
        }
        drop(extents);
        self.changed.notify_all();
    }

    /// Nothing of ours will be read any more before the next [`Self::begin`].
    pub(crate) fn rest(&self) {
        let mut extents = self.extents.lock();
        extents.clear();
        self.any.store(false, Ordering::Relaxed);
        drop(extents);
        self.changed.notify_all();
    }

    /// The program frees this, which is in the registry no longer: waits until the device does not read it.
    #[inline]
    pub(crate) fn before_free(&self, extent: Extent) {
        if self.any.load(Ordering::Relaxed) {
            self.wait_for(extent);
        }
    }

    #[cold]
    fn wait_for(&self, extent: Extent) {
        let (deadline, since_ns) = (Instant::now() + FREE_PATIENCE, now_ns());
        let mut waited = false;
        let mut extents = self.extents.lock();
        while extents.iter().any(|other| other.overlaps(extent)) {
            waited = true;
            if self.changed.wait_until(&mut extents, deadline).timed_out() {
                break;
            }
        }
        drop(extents);
        if waited {
            GATE.held.add(HeldBy::Free, thread_id(), since_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    fn extent(start: u64) -> Extent {
        Extent::with_len(start, 0x100).expect("an extent")
    }

    #[test]
    fn a_free_waits_for_what_is_read_of_it_and_for_nothing_else() {
        let (reading, registry) = (Reading::default(), Registry::default());
        registry.insert(Extent::with_len(0x1000, 0x1000).expect("an extent"));
        registry.insert(Extent::with_len(0x8000, 0x1000).expect("an extent"));
        assert!(reading.begin(&registry, extent(0x1100)));
        assert!(
            !reading.begin(&registry, extent(0x4000)),
            "nothing lives there"
        );
        assert!(
            !reading.begin(&registry, extent(0x1f80)),
            "not all of it does"
        );
        std::thread::scope(|scope| {
            let (freed, was_freed) = channel();
            let (reading, registry) = (&reading, &registry);
            let free = move |start| {
                let buffer = registry.remove(start).expect("it is there");
                reading.before_free(buffer);
                freed.send(start).expect("somebody listens");
            };
            free(0x8000);
            scope.spawn(move || free(0x1000));
            assert_eq!(was_freed.recv(), Ok(0x8000));
            let waits = was_freed.recv_timeout(Duration::from_millis(50));
            assert!(waits.is_err(), "it is read");
            reading.end(extent(0x1100));
            assert_eq!(was_freed.recv(), Ok(0x1000));
        });
        assert!(!reading.begin(&registry, extent(0x1100)), "it is freed");
    }
}
