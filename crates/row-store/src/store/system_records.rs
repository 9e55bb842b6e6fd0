//! Records of the server's own, beside tables: accounts, persisted variables, events.

use super::RowStore;
use crate::batch::Batch;
use crate::engine::Keyspace;
use crate::error::engine_error;
use crate::meta;
use crate::ticket::CommitTicket;
use squall_types::SqlResult;
use std::sync::atomic::Ordering;

/// A change of a record that is the server's own: a user, a privilege, a persisted variable.
#[derive(Clone, Debug, PartialEq)]
pub struct SystemChange {
    /// The kind of record, a name of the server's choice.
    pub space: &'static str,
    /// Its key.
    pub key: Vec<u8>,
    /// Its new value, or `None` to remove it.
    pub value: Option<Vec<u8>>,
}

/// The part of a store that keeps records of the server's own. Who keeps accounts, variables or events needs no tables, transactions
/// or locks.
pub trait SystemRecords: Send + Sync {
    /// Changes records durably and as a whole.
    ///
    /// # Errors
    /// Those of [`SystemRecords::commit_system_async`] and of the log.
    fn commit_system(&self, changes: &[SystemChange]) -> SqlResult<()> {
        self.commit_system_async(changes)?.wait()
    }

    /// As [`SystemRecords::commit_system`]; the ticket says when the changes are durable, together with the commits of others.
    ///
    /// # Errors
    /// When the disk is full, or the store takes no writes any more.
    fn commit_system_async(&self, changes: &[SystemChange]) -> SqlResult<CommitTicket>;

    /// Writes a record before all later commits, and gives it to the operating system, so that it survives the end of the process.
    /// Nothing waits for the disk: the record survives a power cut when the next commit does.
    ///
    /// # Errors
    /// When the store takes no writes any more.
    fn note_system(&self, space: &str, key: &[u8], value: &[u8]) -> SqlResult<()>;

    /// A record.
    ///
    /// # Errors
    /// Those of reading files.
    fn system_get(&self, space: &str, key: &[u8]) -> SqlResult<Option<Vec<u8>>>;

    /// All records of a kind, keys and values, in the order of their keys.
    ///
    /// # Errors
    /// Those of reading files.
    fn system_records(&self, space: &str) -> SqlResult<Vec<(Vec<u8>, Vec<u8>)>>;
}

impl SystemRecords for RowStore {
    fn commit_system_async(&self, changes: &[SystemChange]) -> SqlResult<CommitTicket> {
        self.gate().check_definition(false)?;
        let mut batch = Batch::default();
        push_system(&self.0.meta, &mut batch, changes);
        self.0.committer.write_async(batch)
    }

    fn note_system(&self, space: &str, key: &[u8], value: &[u8]) -> SqlResult<()> {
        let mut batch = Batch::default();
        let key = meta::system_key(space, key);
        let bytes = key.len() + value.len();
        batch.insert(&self.0.meta, key, value);
        self.gate().check_commit(bytes)?;
        self.0.committer.write(batch, false)?;
        self.0.committer.written_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.gate().count(bytes as u64);
        self.0.committer.hand_over()
    }

    fn system_get(&self, space: &str, key: &[u8]) -> SqlResult<Option<Vec<u8>>> {
        let value = self.0.meta.get(meta::system_key(space, key)).map_err(engine_error)?;
        Ok(value.map(|value| value.to_vec()))
    }

    fn system_records(&self, space: &str) -> SqlResult<Vec<(Vec<u8>, Vec<u8>)>> {
        let prefix = meta::system_prefix(space);
        let records = self.0.meta.prefix(&prefix).map(|guard| {
            let (key, value) = guard.into_inner().map_err(engine_error)?;
            Ok((key[prefix.len()..].to_vec(), value.to_vec()))
        });
        records.collect()
    }
}

/// Adds changes of records to a batch.
pub(super) fn push_system(meta: &Keyspace, batch: &mut Batch, changes: &[SystemChange]) {
    for change in changes {
        let key = meta::system_key(change.space, &change.key);
        match &change.value {
            Some(value) => batch.insert(meta, key, value.as_slice()),
            None => batch.remove(meta, key),
        }
    }
}
