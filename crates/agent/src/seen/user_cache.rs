//! The user's cache folder as a program may have it: footprints, and the kernels that are not believed. It has no say in what
//! the program does, and a disk that does not answer takes none of its time.

use crate::control::apart::{Apart, is_filtered};
use crate::seen::cache_folder::cache_folder;
use crate::seen::distrusted;
use crate::seen::footprint_folder::{FootprintFolder, Key};
use crossbeam::channel::{Receiver, TryRecvError};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How much longer reading may have taken than it is worth.
const CREDIT: Duration = Duration::from_millis(200);
/// What a footprint is worth that needs no analysis.
const WORTH: Duration = Duration::from_millis(1);

/// See the module's documentation. The default has nothing.
#[derive(Debug, Default)]
pub(crate) struct UserCache {
    /// None where the user has none, or it is used no more.
    folder: Option<FootprintFolder>,
    thread: Apart,
    credit: Duration,
    /// While it is being written; its sender is gone when that is over.
    written: Option<Receiver<()>>,
    /// What is being written is to end.
    is_over: Arc<AtomicBool>,
}

impl UserCache {
    /// That of this user. To be called by a thread of the program: the environment is its own.
    pub(crate) fn of_user() -> UserCache {
        UserCache {
            folder: cache_folder().map(|cache| FootprintFolder { cache }),
            credit: CREDIT,
            ..UserCache::default()
        }
    }

    /// The kernels of a code object that earlier runs have found to write outside of their footprints; none where that is
    /// not known in time.
    pub(crate) fn distrusted(&mut self, code_object: [u8; 16]) -> HashSet<String> {
        let Some(folder) = self.folder.clone() else {
            return HashSet::new();
        };
        // It is not waited for until all is written.
        self.is_over.store(true, Ordering::Relaxed);
        let found = self.ask(move || distrusted::read(&folder.cache, &code_object));
        self.is_over.store(false, Ordering::Relaxed);
        found.flatten().unwrap_or_default()
    }

    /// What was written of a kernel, if that is there in time.
    pub(crate) fn load(&mut self, key: Key) -> Option<Vec<u8>> {
        if !self.is_idle() {
            return None;
        }
        let folder = self.usable()?;
        self.ask(move || folder.load(&key))?
    }

    /// What the disk answers, if it does in time; else it is asked no more.
    fn ask<R: Send + 'static>(&mut self, ask: impl FnOnce() -> R + Send + 'static) -> Option<R> {
        let begun = Instant::now();
        self.credit = CREDIT.min(self.credit + WORTH);
        let deadline = begun + self.credit;
        let answered = self.thread.start(deadline, ask);
        let answer = answered.and_then(|answered| answered.recv_deadline(deadline).ok());
        // It may be a cut that comes next.
        self.thread.is_over_by(deadline);
        self.credit = self.credit.saturating_sub(begun.elapsed());
        if answer.is_none() {
            self.give_up();
        }
        answer
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

    /// Where footprints may be.
    fn usable(&self) -> Option<FootprintFolder> {
        self.folder.clone().filter(|_| !is_filtered())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = Key {
        code_object: [7; 16],
        kernel: 3,
    };

    fn cache() -> (tempfile::TempDir, UserCache) {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = folder.path().join("cache");
        let cache = UserCache {
            folder: Some(FootprintFolder { cache }),
            ..UserCache::of_user()
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
        let folder = cache.folder.clone();
        assert!(cache.distrusted([7; 16]).is_empty(), "it is waited for");
        assert!(cache.folder.is_none(), "once");
        cache.folder = folder;
        assert_eq!(cache.load(KEY), None);
        assert!(cache.folder.is_none(), "it was waited for");
        drop(release);
        while !cache.is_at_rest() {
            std::thread::yield_now();
        }
    }
}
