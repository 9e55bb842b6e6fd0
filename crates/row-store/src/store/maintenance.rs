//! The background thread: syncs lazy commits, keeps the write buffer within its bound, saves statistics.

use crate::batch::Batch;
use crate::engine::AbstractTree;
use crate::error::engine_error;
use crate::meta;
use crate::store::{RowStore, StoreInner, malformed};
use parking_lot::{Condvar, Mutex};
use squall_types::SqlResult;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

const PERIOD: Duration = Duration::from_millis(250);
/// Lazy commits are synced, and statistics looked at, every this many periods.
const PERIODS_PER_SYNC: u32 = 4;
const PERIODS_PER_SAMPLE: u32 = 8;
const PERIODS_PER_SAVE: u32 = 8;

/// Changes of existing rows after which a table's buffer goes to a file, if ranges of the table are read. The buffer keeps
/// every version of a row, and a range steps over all of them; in the file only those stay that a reader still sees. A
/// thousand rows that take most of the changes have a handful of versions each by then.
const OVERWRITES_MAX: u64 = 4096;

/// Full segments of the log that small buffers may keep alive.
const SEGMENTS_KEPT: usize = 3;

/// The engine's merges are smaller than this, unless levels have fallen far behind.
const MERGE_BYTES_MAX: u64 = 512 << 20;

/// Tells the background thread to end.
#[derive(Default)]
pub(crate) struct Maintenance(Arc<(Mutex<bool>, Condvar)>);

impl Maintenance {
    pub fn spawn(&self, store: Weak<StoreInner>) -> std::io::Result<JoinHandle<()>> {
        let signal = self.0.clone();
        std::thread::Builder::new().name("squall-store".into()).spawn(move || {
            for period in 1u32.. {
                let mut closed = signal.0.lock();
                if !*closed {
                    signal.1.wait_for(&mut closed, PERIOD);
                }
                if *closed {
                    return;
                }
                drop(closed);
                let Some(store) = store.upgrade().map(RowStore) else { return };
                store.0.maintain(period);
                if period.is_multiple_of(PERIODS_PER_SAMPLE) {
                    // Statistics are estimates: a failure leaves the last ones.
                    let _ = store.sample_changed();
                }
            }
        })
    }

    pub fn close(&self) {
        *self.0.0.lock() = true;
        self.0.1.notify_all();
    }
}

impl StoreInner {
    fn maintain(&self, period: u32) {
        self.committer.advance_to_newest();
        self.bound_write_buffer();
        self.drop_old_versions();
        self.db.drop_old_lists();
        self.reserve_space();
        // What could not be written in the background is found out by asking.
        if !self.committer.gate.is_stopped()
            && let Err(error) = self.db.check()
        {
            self.committer.gate.stop(error);
        }
        if period.is_multiple_of(PERIODS_PER_SYNC) && self.committer.unsynced.swap(false, Ordering::AcqRel) {
            // A failed sync stops the engine; the next commit reports it to a client.
            if self.committer.sync().is_err() {
                self.committer.unsynced.store(true, Ordering::Release);
            }
        }
        // A segment that could not be made ready is made by the commit that needs it, which reports an error.
        let (unneeded, is_stated) = {
            let _log = self.committer.log.lock();
            (self.committer.redo.take_unneeded(&self.db), self.committer.redo.state_durable())
        };
        if matches!(is_stated, Ok(true)) {
            // A log that has failed is reported by the next commit.
            let _ = self.committer.sync();
        }
        let _ = self.committer.redo.maintain(unneeded);
        self.forget_dropped();
        self.remove_unused_files();
        self.make_dictionaries();
        if self.dropped_indexes.swap(false, Ordering::AcqRel) && self.remove_dropped_entries().is_err() {
            self.dropped_indexes.store(true, Ordering::Release);
        }
        if period.is_multiple_of(PERIODS_PER_SAVE) {
            // Statistics are estimates: what could not be saved now is saved later.
            let _ = self.save_statistics();
        }
    }

    /// Tells the gate the space that the engine may still need: for buffers that become files, and for the largest merge of files.
    /// A merge keeps its sources until it is done; it is at most as large as its table.
    pub fn reserve_space(&self) {
        let written = self.committer.written_bytes.load(Ordering::Relaxed);
        let segment_bytes_max = self.options.table_buffer_bytes_max.min(self.options.write_buffer_bytes_max);
        let (mut buffers, mut largest) = (0, 0);
        for data in self.data.read().values() {
            let sealed = data.keyspace.sealed_memtable_count() as u64 * segment_bytes_max;
            buffers += data.keyspace.tree.active_memtable().size() + sealed;
            largest = largest.max(data.keyspace.disk_space());
        }
        let gate = &self.committer.gate;
        gate.reserve(buffers.max(written), largest.min(MERGE_BYTES_MAX));
        gate.look();
    }

    /// Removes the entries of dropped indexes. Readers of an older snapshot still see them.
    fn remove_dropped_entries(&self) -> SqlResult<()> {
        for guard in self.meta.prefix([meta::DROPPED_INDEX]) {
            let key = guard.key().map_err(engine_error)?;
            let (table, index) = meta::split_dropped_index_key(&key).ok_or_else(|| malformed("dropped index"))?;
            if let Ok(data) = self.stored_data(table) {
                self.clear_range(&data, &crate::index_key::index_range(index))?;
            }
            let mut batch = Batch::default();
            batch.remove(&self.meta, key);
            self.committer.write(batch, false)?;
        }
        Ok(())
    }

    /// Removes the remaining files of loads that were given up, if their removal had to wait.
    fn remove_unused_files(&self) {
        let tables: Vec<_> = self.data.read().values().cloned().collect();
        for data in tables {
            data.unused_files.lock().remove(&self.db, &data.keyspace);
        }
    }

    /// Sends the buffers to files in which ranges step over many old versions.
    fn drop_old_versions(&self) {
        let full: Vec<_> = {
            let tables = self.data.read();
            let full = tables.values().filter(|data| {
                data.overwrites.load(Ordering::Relaxed) >= OVERWRITES_MAX && data.scanned.load(Ordering::Relaxed)
            });
            full.cloned().collect()
        };
        for data in full {
            data.overwrites.store(0, Ordering::Relaxed);
            data.scanned.store(false, Ordering::Relaxed);
            // An error here has stopped the engine, and the next commit reports it to a client.
            if self.committer.send_to_file(&data.keyspace).is_err() {
                return;
            }
        }
    }

    /// Writes buffers to files so that the log stays short: changes in files are not replayed after a crash, and the engine drops
    /// log files that no buffer needs. Left to itself it looks at each table alone.
    fn bound_write_buffer(&self) {
        let written = self.committer.written_bytes.load(Ordering::Relaxed);
        if written < self.options.write_buffer_bytes_max {
            return;
        }
        self.committer.written_bytes.fetch_sub(written, Ordering::Relaxed);
        let mut buffers: Vec<_> = self
            .data
            .read()
            .values()
            .map(|data| (data.keyspace.tree.active_memtable().size(), data.clone()))
            .filter(|(size, _)| *size > 0)
            .collect();
        buffers.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
        // Many small buffers are many small files: they go only when they keep log files alive.
        let everything = self.committer.redo.full_segments() > SEGMENTS_KEPT;
        let total: u64 = buffers.iter().map(|(size, _)| size).sum();
        let mut sent = 0;
        for (size, data) in buffers {
            // An error here has stopped the engine, and the next commit reports it to a client.
            if (!everything && sent > total / 4 * 3) || self.committer.send_to_file(&data.keyspace).is_err() {
                return;
            }
            sent += size;
        }
        let _ = self.committer.send_to_file(&self.meta);
    }
}
