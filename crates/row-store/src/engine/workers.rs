//! Threads that write buffers to files, merge files, and remove folders.

use super::{AbstractTree, Keyspace, Result, Shared};
use lsm_tree::compaction::Leveled;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The queue of tasks.
#[derive(Default)]
pub(super) struct Queue {
    jobs: Mutex<Jobs>,
    added: Condvar,
}

#[derive(Default)]
struct Jobs {
    flushes: VecDeque<Keyspace>,
    merges: VecDeque<Keyspace>,
    removals: VecDeque<PathBuf>,
    is_closing: bool,
}

enum Job {
    Flush(Keyspace),
    Merge(Keyspace),
    Remove(PathBuf),
}

impl Queue {
    /// Buffers of a keyspace that are full become files.
    pub fn flush(&self, keyspace: Keyspace) {
        self.add(|jobs| jobs.flushes.push_back(keyspace));
    }

    /// Files of a keyspace are merged if there is need.
    pub fn merge(&self, keyspace: Keyspace) {
        self.add(|jobs| jobs.merges.push_back(keyspace));
    }

    /// Removes a folder that no table has. Where the engine is closed before, that is done when it is opened.
    pub fn remove(&self, folder: PathBuf) {
        self.add(|jobs| jobs.removals.push_back(folder));
    }

    fn add(&self, add: impl FnOnce(&mut Jobs)) {
        add(&mut self.jobs.lock());
        // Not one: it might be the one that does not merge.
        self.added.notify_all();
    }

    /// Threads end when they have done what they are at.
    pub fn close(&self) {
        self.jobs.lock().is_closing = true;
        self.added.notify_all();
    }

    /// Forgets what was not done.
    pub fn clear(&self) {
        let jobs = std::mem::take(&mut *self.jobs.lock());
        // Not within the lock: the last to have a keyspace may have its folder removed.
        drop(jobs);
    }

    /// Waits for something to do; `None` if there is nothing any more.
    fn take(&self, flushes_only: bool) -> Option<Job> {
        let mut jobs = self.jobs.lock();
        loop {
            if jobs.is_closing {
                return None;
            }
            let job = jobs.flushes.pop_front().map(Job::Flush);
            let job = match job {
                None if !flushes_only => {
                    jobs.merges.pop_front().map(Job::Merge).or_else(|| jobs.removals.pop_front().map(Job::Remove))
                }
                job => job,
            };
            if job.is_some() {
                return job;
            }
            self.added.wait(&mut jobs);
        }
    }
}

/// A thread's life.
pub(super) fn run(shared: &Arc<Shared>, flushes_only: bool) {
    while let Some(job) = shared.queue.take(flushes_only) {
        let done = match job {
            Job::Flush(keyspace) => flush(shared, &keyspace),
            Job::Merge(keyspace) => merge(shared, keyspace),
            Job::Remove(folder) => {
                // What stays is removed when the engine is opened.
                let _ = std::fs::remove_dir_all(folder);
                Ok(())
            }
        };
        if let Err(error) = done {
            tracing::error!("a file of rows could not be made in the background: {error}");
            shared.has_failed.store(true, Ordering::Release);
            return;
        }
    }
}

fn flush(shared: &Shared, keyspace: &Keyspace) -> Result<()> {
    // The file of a dropped keyspace is not needed; readers that are still at it read the buffer.
    if keyspace.is_dropped() {
        return Ok(());
    }
    let no_other = keyspace.tree.get_flush_lock();
    keyspace.tree.flush(&no_other, shared.snapshots.unneeded_before())?;
    drop(no_other);
    keyspace.drop_old_lists();
    keyspace.merge_files();
    Ok(())
}

fn merge(shared: &Shared, keyspace: Keyspace) -> Result<()> {
    if keyspace.is_dropped() {
        return Ok(());
    }
    let before = keyspace.tree.current_version().id();
    shared.merges.fetch_add(1, Ordering::AcqRel);
    let merged = keyspace.tree.compact(Arc::new(Leveled::default()), shared.snapshots.unneeded_before());
    shared.merges.fetch_sub(1, Ordering::AcqRel);
    merged?;
    if keyspace.tree.current_version().id() != before {
        keyspace.drop_old_lists();
        // There may be more to be done.
        shared.queue.merge(keyspace);
    }
    Ok(())
}
