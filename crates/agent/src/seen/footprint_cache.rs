//! The cache of footprints as a program may have it: it has no say in what the program does, and takes none of its time.

use crate::control::apart::Apart;
use crate::seen::cache_folder::cache_folder;
use crate::seen::footprint_folder::{FootprintFolder, Key};
use crossbeam::channel::{Receiver, TryRecvError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How much longer reading may have taken than it is worth.
const CREDIT: Duration = Duration::from_millis(200);
/// What a footprint is worth that needs no analysis.
const WORTH: Duration = Duration::from_millis(1);

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct FootprintCache {
    /// None where the user has none, or it is used no more.
    folder: Option<FootprintFolder>,
    thread: Apart,
    credit: Duration,
    /// While it is being written; its sender is gone when that is over.
    written: Option<Receiver<()>>,
    /// What is being written is to end.
    is_over: Arc<AtomicBool>,
}

impl FootprintCache {
    /// That of this user. To be called by a thread of the program: the environment is its own.
    pub(crate) fn of_user() -> FootprintCache {
        FootprintCache {
            folder: cache_folder().map(|cache| FootprintFolder { cache }),
            thread: Apart::default(),
            credit: CREDIT,
            written: None,
            is_over: Arc::default(),
        }
    }

    /// What was written of a kernel, if that is there in time.
    pub(crate) fn load(&mut self, key: Key) -> Option<Vec<u8>> {
        if !self.is_idle() {
            return None;
        }
        let folder = self.usable()?;
        let begun = Instant::now();
        self.credit = CREDIT.min(self.credit + WORTH);
        let deadline = begun + self.credit;
        let answered = self.thread.start(deadline, move || folder.load(&key));
        let found = answered.and_then(|answered| answered.recv_deadline(deadline).ok());
        // It may be a cut that comes next.
        self.thread.is_over_by(deadline);
        self.credit = self.credit.saturating_sub(begun.elapsed());
        if found.is_none() {
            self.give_up();
        }
        found?
    }

    /// Whether nothing is being written.
    pub(crate) fn is_idle(&mut self) -> bool {
        let written = self.written.take();
        self.written = written.filter(|written| written.try_recv() == Err(TryRecvError::Empty));
        self.written.is_none()
    }

    /// Begins to write what was learned. Not while something is being written.
    pub(crate) fn store(&mut self, some: Vec<(Key, Vec<u8>)>) {
        let Some(folder) = self.usable() else {
            return;
        };
        let is_over = Arc::clone(&self.is_over);
        self.written = self.thread.start(Instant::now() + CREDIT, move || {
            let stored = folder.store(some, || is_over.load(Ordering::Relaxed));
            if let Err(error) = stored {
                tracing::debug!("footprints are not kept: {error}");
            }
        });
    }

    /// Ends what is being written; whether nothing of ours is at it any more.
    pub(crate) fn is_at_rest(&mut self) -> bool {
        self.is_over.store(true, Ordering::Relaxed);
        let is_at_rest = self.thread.is_over_by(Instant::now());
        if is_at_rest {
            self.written = None;
            self.is_over.store(false, Ordering::Relaxed);
        }
        is_at_rest
    }

    /// It is not used any more.
    pub(crate) fn give_up(&mut self) {
        self.folder = None;
    }

    fn usable(&mut self) -> Option<FootprintFolder> {
        // A filter of the program's knows nothing of what we would ask the kernel for, and may kill.
        // SAFETY: asks for a number.
        if unsafe { libc::prctl(libc::PR_GET_SECCOMP) } != 0 {
            self.give_up();
        }
        self.folder.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = Key {
        code_object: [7; 16],
        kernel: 3,
    };

    fn cache() -> (tempfile::TempDir, FootprintCache) {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = folder.path().join("cache");
        let cache = FootprintCache {
            folder: Some(FootprintFolder { cache }),
            ..FootprintCache::of_user()
        };
        (folder, cache)
    }

    #[test]
    fn what_is_stored_is_there_once_it_is_at_rest() {
        let (_folder, mut cache) = cache();
        assert_eq!(cache.load(KEY), None);
        cache.store(vec![(KEY, b"a footprint".to_vec())]);
        while !cache.is_idle() {
            std::thread::yield_now();
        }
        assert_eq!(cache.load(KEY).as_deref(), Some(&b"a footprint"[..]));
        cache.give_up();
        assert_eq!(cache.load(KEY), None);
    }

    #[test]
    fn a_disk_that_does_not_answer_is_waited_for_once() {
        let (_folder, mut cache) = cache();
        let (release, released) = crossbeam::channel::bounded::<()>(0);
        let hangs = move || {
            let _ = released.recv();
        };
        let soon = Instant::now() + Duration::from_secs(60);
        cache.written = Some(cache.thread.start(soon, hangs).expect("it starts"));
        assert_eq!(
            cache.load(KEY),
            None,
            "nobody waits for what is being written"
        );
        assert!(!cache.is_at_rest() && cache.folder.is_some());
        cache.written = None;
        assert_eq!(cache.load(KEY), None);
        assert!(cache.folder.is_none(), "it was waited for");
        drop(release);
        while !cache.is_at_rest() {
            std::thread::yield_now();
        }
    }
}
