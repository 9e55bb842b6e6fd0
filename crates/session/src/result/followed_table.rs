//! The changes of a table that a front end follows.

use squall_catalog::TableDef;
use squall_row_store::{Follower, PlaceLost, RowChange, RowChangeKind};
use squall_types::temporal::TimeZone;
use squall_types::{SqlResult, SqlType, Value};
use std::sync::Arc;

/// The changes of a table from some commit on.
#[derive(Debug)]
pub struct FollowedTable {
    follower: Follower,
    /// Types of the primary key's columns.
    key_types: Vec<SqlType>,
    time_zone: Arc<TimeZone>,
}

/// A committed change of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct TableChange {
    /// The position of its commit, which grows from commit to commit.
    pub position: u64,
    /// What has happened.
    pub kind: RowChangeKind,
    /// The values of the row's primary key, in the session's time zone.
    pub key: Vec<Value>,
}

impl FollowedTable {
    /// What a follower of the table of a definition reads, for a session with this time zone.
    pub(crate) fn new(follower: Follower, def: &TableDef, time_zone: Arc<TimeZone>) -> FollowedTable {
        let key = def.primary_key().map(|key| def.index_ordinals(key)).unwrap_or_default();
        let key_types = key.into_iter().map(|ordinal| def.columns[ordinal].sql_type.clone()).collect();
        FollowedTable { follower, key_types, time_zone }
    }

    /// Whether what a reader finds now, and the changes that follow, leave nothing out.
    pub fn has_begun(&self) -> bool {
        self.follower.has_begun()
    }

    /// All changes up to here have been taken.
    pub fn position(&self) -> u64 {
        self.follower.position()
    }

    /// The next visible changes, whole commits: no more of them than have `count` changes, but one if there is any. `None` if the place is
    /// lost: there were changes that are not told, and the table has to be read again.
    ///
    /// # Errors
    /// When a row is damaged.
    pub fn take(&mut self, count: usize) -> SqlResult<Option<Vec<TableChange>>> {
        let changes = match self.follower.take(count) {
            Ok(changes) => changes,
            Err(PlaceLost) => return Ok(None),
        };
        changes.iter().map(|change| self.change(change)).collect::<SqlResult<Vec<_>>>().map(Some)
    }

    fn change(&self, change: &RowChange) -> SqlResult<TableChange> {
        let values = change.key_values()?.into_iter().zip(&self.key_types);
        let key = values.map(|(value, sql_type)| match (value, sql_type) {
            (Value::DateTime(moment), SqlType::Timestamp { .. }) if !moment.is_zero() => {
                Value::DateTime(self.time_zone.from_utc(moment).unwrap_or(moment))
            }
            (value, _) => value,
        });
        Ok(TableChange { position: change.position, kind: change.kind, key: key.collect() })
    }
}
