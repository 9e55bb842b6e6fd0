//! Following a table: its committed changes, as they become visible.

use crate::store::RowStore;
use crate::table::Table;
use crate::table::change_feed::{OnChanges, PlaceLost, RowChange};
use std::sync::Arc;

/// Reads the changes of a table as they become visible.
pub struct Follower {
    store: RowStore,
    table: Arc<Table>,
    /// Among those who are told of changes.
    number: u64,
    /// All changes up to here have been taken.
    position: u64,
}

impl std::fmt::Debug for Follower {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follower").field("table", &self.table.id()).field("position", &self.position).finish()
    }
}

impl RowStore {
    /// Follows a table from what readers see now, or from a position on that a follower of it has had. `on_changes` is called when there may
    /// be something new.
    ///
    /// # Errors
    /// [`PlaceLost`] if changes since that position are not known any more.
    pub fn follow(&self, table: &Arc<Table>, from: Option<u64>, on_changes: OnChanges) -> Result<Follower, PlaceLost> {
        let committer = &self.0.committer;
        let position = {
            // Nothing is applied meanwhile.
            let _log = committer.log.lock();
            let seqnos = (committer.visible.seqno(), self.0.db.seqno.get());
            table.data.logical.feed.begin(&committer.feed_signals, table, from, seqnos)?
        };
        let number = committer.feed_signals.add(on_changes);
        let follower = Follower { store: self.clone(), table: table.clone(), number, position };
        // What no commit waits for has not been made visible yet.
        committer.advance_to_newest();
        Ok(follower)
    }
}

impl Follower {
    /// All changes up to here have been taken, and are visible.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Whether readers of the table see all changes up to the position: what they read then, and the changes that follow, leave nothing out.
    pub fn has_begun(&self) -> bool {
        self.store.0.committer.visible.seqno() >= self.position
    }

    /// The next changes that are visible: whole commits, no more of them than have `count` changes, but one if there is any.
    ///
    /// # Errors
    /// [`PlaceLost`].
    pub fn take(&mut self, count: usize) -> Result<Vec<RowChange>, PlaceLost> {
        if self.table.is_retired() || self.table.is_outdated() {
            return Err(PlaceLost);
        }
        // Before the feed is read: what is visible now is in it.
        let visible = self.store.0.committer.visible.seqno();
        let (changes, position) = self.table.data.logical.feed.take(self.position, visible, count)?;
        self.position = position;
        Ok(changes)
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.store.0.committer.feed_signals.remove(self.number);
        self.table.data.logical.feed.leave();
    }
}
