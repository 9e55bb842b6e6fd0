//! Change feeds: the committed changes of a table's rows, for those who follow it.
//!
//! A table has a feed while a [`Follower`](crate::Follower) reads it, and for a while after the last one has left, so that a client that comes back misses
//! nothing. A commit adds its rows under the lock of the log, in the order of commits; a follower gets them when they are visible, as durable
//! as their commit has promised. A feed is bounded: it drops its oldest changes, and a follower that has not read them by then is told that
//! it has lost its place. It loses it too when rows change in a way that is not told row by row: by files, manifests or definitions.

use super::row::Row;
use super::segment_level::DELETED;
use super::{Table, TableData};
use crate::batch::Batch;
use crate::engine::{SeqNo, Slice};
use crate::index_key::is_row_key;
use parking_lot::Mutex;
use squall_types::{SqlResult, Value};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Changes that a feed keeps.
const CHANGES_MAX: usize = 1 << 16;

/// Changes of a commit that are told, of rows and entries of indexes.
const CHANGES_PER_COMMIT_MAX: usize = 1 << 14;

/// Memory that the rows in all feeds of a store may take, bytes.
const BYTES_MAX: usize = 64 << 20;

/// Memory of a change beside its key and row, bytes.
const OVERHEAD_BYTES: usize = 96;

/// How long a feed goes on without followers.
const KEPT_TIME: Duration = Duration::from_secs(300);

/// What has happened to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowChangeKind {
    /// It is there now.
    Inserted,
    /// It has other values now.
    Updated,
    /// It is gone.
    Deleted,
}

/// A committed change of a row.
#[derive(Clone, Debug)]
pub struct RowChange {
    /// The position of its commit, which grows from commit to commit: that of all changes of the commit.
    pub position: u64,
    /// What has happened.
    pub kind: RowChangeKind,
    table: Arc<Table>,
    key: Slice,
    /// The new row, or the deleted one.
    row: Slice,
}

impl RowChange {
    /// The values of the row's primary key; none if the table has no such key.
    ///
    /// # Errors
    /// When the row is damaged.
    pub fn key_values(&self) -> SqlResult<Vec<Value>> {
        let def = self.table.def();
        let Some(key) = def.primary_key() else { return Ok(Vec::new()) };
        let row = Row::check(&self.table, self.key.clone(), self.row.clone())?;
        let view = row.view(&self.table);
        def.index_ordinals(key).into_iter().map(|ordinal| view.get_value(ordinal)).collect()
    }

    fn bytes(&self) -> usize {
        self.key.len() + self.row.len() + OVERHEAD_BYTES
    }
}

/// A follower has lost its place: there were changes that it has not been told. It has to read the table again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaceLost;

/// Called when there may be something new for a follower, from any thread; it must not wait.
pub type OnChanges = Arc<dyn Fn() + Send + Sync>;

/// The feed of a table, if it has one.
#[derive(Default)]
pub(crate) struct ChangeFeed {
    /// Whether commits have to tell it of their rows.
    is_on: AtomicBool,
    feed: Mutex<Option<Feed>>,
}

struct Feed {
    signals: Arc<FeedSignals>,
    /// The storages of the table as it was when the feed began.
    storages: Vec<Arc<Table>>,
    changes: VecDeque<RowChange>,
    bytes: usize,
    /// Changes of later positions are all here.
    floor: SeqNo,
    followers: usize,
    /// When the last one left.
    left: Instant,
}

/// Rows of a commit as they were before it, on their way into a feed.
pub(crate) struct RowsBefore {
    data: Arc<TableData>,
    /// What happens to each; their position is not known yet.
    changes: SqlResult<Vec<RowChange>>,
}

impl ChangeFeed {
    /// What a commit is about to change of a table; `None` if there is no follower. The caller holds the lock of the log, and applies the
    /// batch then.
    pub fn look(data: &Arc<TableData>, batch: &Batch) -> Option<RowsBefore> {
        let feed = &data.logical.feed;
        if !feed.is_on.load(Ordering::Acquire) {
            return None;
        }
        let mut state = feed.feed.lock();
        let current = state.as_mut()?;
        if current.followers == 0 && current.left.elapsed() > KEPT_TIME {
            feed.end(&mut state);
            return None;
        }
        let storage = current.storages.iter().find(|storage| Arc::ptr_eq(&storage.data, data)).cloned();
        let is_told = |table: &Arc<Table>| {
            let keyspace = table.data.keyspace.id();
            let mut parts = batch.parts().iter().filter(|part| part.keyspace.id() == keyspace);
            // Reading many old rows would hold all commits up.
            parts.all(|part| part.changes.len() <= CHANGES_PER_COMMIT_MAX)
                && batch.files().iter().all(|files| files.keyspace().id() != keyspace)
        };
        let Some(table) = storage.filter(is_told) else {
            feed.end(&mut state);
            return None;
        };
        drop(state);
        Some(RowsBefore { data: data.clone(), changes: changes_of(&table, batch) })
    }

    /// The rows of a commit have changed; `seqno` is the first that has them.
    pub fn note(before: RowsBefore, seqno: SeqNo) {
        let feed = &before.data.logical.feed;
        let Ok(changes) = before.changes else { return feed.reset() };
        let mut state = feed.feed.lock();
        let Some(current) = state.as_mut() else { return };
        for change in changes {
            current.push(RowChange { position: seqno, ..change });
        }
        while current.changes.len() > CHANGES_MAX || current.signals.bytes.load(Ordering::Relaxed) > BYTES_MAX {
            if !current.drop_oldest() {
                break;
            }
        }
    }

    /// Somebody follows the table: from a position, or from what is visible or applied already. Gives the position. The caller holds the
    /// lock of the log; `visible` is what readers see, `newest` what has been applied.
    pub fn begin(
        &self,
        signals: &Arc<FeedSignals>,
        table: &Arc<Table>,
        from: Option<u64>,
        (visible, newest): (SeqNo, SeqNo),
    ) -> Result<u64, PlaceLost> {
        let mut state = self.feed.lock();
        let is_known = |feed: &Feed, position: u64| position >= feed.floor && position <= visible;
        match (from, state.as_ref()) {
            (Some(position), Some(feed)) if !is_known(feed, position) => return Err(PlaceLost),
            (Some(_), None) => return Err(PlaceLost),
            _ => {}
        }
        let feed = state.get_or_insert_with(|| Feed {
            signals: signals.clone(),
            storages: table.storages(),
            changes: VecDeque::new(),
            bytes: 0,
            floor: newest,
            followers: 0,
            left: Instant::now(),
        });
        feed.followers += 1;
        self.is_on.store(true, Ordering::Release);
        // What is applied and not visible yet is told only to those who were there before: the others wait until it is visible.
        Ok(from.unwrap_or(visible.max(newest)))
    }

    /// The next changes behind a position that are visible, whole commits, and the position behind them: no more of them than have `count`
    /// changes, but one if there is any.
    pub fn take(&self, position: u64, visible: SeqNo, count: usize) -> Result<(Vec<RowChange>, u64), PlaceLost> {
        let state = self.feed.lock();
        let Some(feed) = state.as_ref().filter(|feed| position >= feed.floor) else { return Err(PlaceLost) };
        let first = feed.changes.partition_point(|change| change.position <= position);
        let mut taken: Vec<RowChange> = Vec::new();
        for change in feed.changes.iter().skip(first).take_while(|change| change.position <= visible) {
            if let Some(last) = taken.last().filter(|last| taken.len() >= count && last.position != change.position) {
                let position = last.position;
                return Ok((taken, position));
            }
            taken.push(change.clone());
        }
        Ok((taken, position.max(visible)))
    }

    /// A follower leaves.
    pub fn leave(&self) {
        if let Some(feed) = self.feed.lock().as_mut() {
            feed.followers = feed.followers.saturating_sub(1);
            feed.left = Instant::now();
        }
    }

    /// Rows have changed that nobody is told of one by one: whoever follows the table has to read it again.
    pub fn reset(&self) {
        if self.is_on.load(Ordering::Acquire) {
            self.end(&mut self.feed.lock());
        }
    }

    fn end(&self, state: &mut Option<Feed>) {
        self.is_on.store(false, Ordering::Release);
        if let Some(feed) = state.take() {
            feed.signals.bytes.fetch_sub(feed.bytes, Ordering::Relaxed);
            feed.signals.tell();
        }
    }
}

impl Feed {
    fn push(&mut self, change: RowChange) {
        let bytes = change.bytes();
        self.bytes += bytes;
        self.signals.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.changes.push_back(change);
    }

    /// Drops the oldest commit; `false` if there is none.
    fn drop_oldest(&mut self) -> bool {
        let Some(position) = self.changes.front().map(|change| change.position) else { return false };
        self.floor = position;
        while let Some(change) = self.changes.pop_front_if(|change| change.position == position) {
            self.bytes -= change.bytes();
            self.signals.bytes.fetch_sub(change.bytes(), Ordering::Relaxed);
        }
        true
    }
}

/// The changes of rows of a storage that a batch makes.
fn changes_of(table: &Arc<Table>, batch: &Batch) -> SqlResult<Vec<RowChange>> {
    let mut rows = Vec::new();
    let parts = batch.parts().iter().filter(|part| part.keyspace.id() == table.data.keyspace.id());
    for (key, change) in parts.flat_map(|part| &part.changes) {
        if !is_row_key(key) {
            continue;
        }
        let new = change.as_ref().filter(|row| ***row != DELETED);
        let (old, _) = table.newest(key)?;
        let (kind, row) = match (old, new) {
            (None, None) => continue,
            (None, Some(new)) => (RowChangeKind::Inserted, new.clone()),
            (Some(_), Some(new)) => (RowChangeKind::Updated, new.clone()),
            (Some(old), None) => (RowChangeKind::Deleted, old),
        };
        rows.push(RowChange { position: 0, kind, table: table.clone(), key: key.clone(), row });
    }
    Ok(rows)
}

/// Tells followers that more is visible.
#[derive(Default)]
pub(crate) struct FeedSignals {
    /// Memory that all feeds take.
    bytes: AtomicUsize,
    count: AtomicUsize,
    followers: Mutex<Vec<(u64, OnChanges)>>,
    next: AtomicU64,
}

impl FeedSignals {
    /// Readers see more than before.
    pub fn tell(&self) {
        if self.count.load(Ordering::Relaxed) > 0 {
            self.followers.lock().iter().for_each(|(_, on_changes)| on_changes());
        }
    }

    /// Has a function called from now on; its number.
    pub fn add(&self, on_changes: OnChanges) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.followers.lock().push((number, on_changes));
        self.count.fetch_add(1, Ordering::Relaxed);
        number
    }

    /// A function is called no more.
    pub fn remove(&self, number: u64) {
        self.followers.lock().retain(|(other, _)| *other != number);
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}
