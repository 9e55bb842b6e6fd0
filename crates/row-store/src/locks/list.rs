//! The list of all locks, for tables that show waits.

use super::{LockTable, OWN_FAMILY, Owner};
use crate::index_key::KeyRange;
use crate::locks::modes::Mode;
use crate::locks::queue::Outcome;
use crate::locks::ranges::range_of;
use squall_catalog::TableId;

/// A lock that an owner holds or waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockInfo {
    /// The table.
    pub table: TableId,
    /// The storage key of a row or of a unique entry; empty for a lock of the table. For the lock of a range it tells it from
    /// those of others.
    pub key: Vec<u8>,
    /// The range that has been searched, or that its owner puts something into.
    pub range: Option<KeyRange>,
    /// Its owner: a transaction, or a session's LOCK TABLES or definition. Counts up.
    pub owner: u64,
    /// The session that it belongs to; `None` for work of the server's own.
    pub session: Option<u64>,
    /// Its strength.
    pub strength: LockStrength,
    /// It is waited for and not held yet.
    pub is_waiting: bool,
    /// The owners that it waits for: holders of an incompatible lock, and owners before it in the queue.
    pub blocked_by: Vec<u64>,
}

/// How strong a lock is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockStrength {
    /// A row FOR SHARE, or a table that is read.
    Shared,
    /// A table whose rows are written.
    Write,
    /// A table that no session may write.
    ReadOnly,
    /// A table whose next definition is prepared.
    Definition,
    /// No other session.
    Exclusive,
}

impl From<Mode> for LockStrength {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Shared => LockStrength::Shared,
            Mode::Write => LockStrength::Write,
            Mode::ReadOnly => LockStrength::ReadOnly,
            Mode::Definition => LockStrength::Definition,
            Mode::Exclusive => LockStrength::Exclusive,
        }
    }
}

impl LockTable {
    /// All locks, shard by shard: those of one key are consistent.
    pub fn list(&self) -> Vec<LockInfo> {
        let session = |owner: Owner| (owner.family & OWN_FAMILY == 0).then_some(owner.family);
        let mut found = Vec::new();
        for shard in &self.shards {
            for (key, entry) in shard.lock().iter() {
                let info = |owner: Owner, mode: Mode| LockInfo {
                    table: key.table,
                    key: key.key.to_vec(),
                    range: range_of(&key.key),
                    owner: owner.id,
                    session: session(owner),
                    strength: mode.into(),
                    is_waiting: false,
                    blocked_by: Vec::new(),
                };
                found.extend(entry.holders().map(|holder| info(holder.owner, holder.mode)));
                for waiter in entry.waiters().filter(|waiter| waiter.outcome() == Outcome::Waiting) {
                    let blocked_by = entry.blocking(waiter).map(|other| other.owner.id).collect();
                    let wants = &waiter.wants;
                    found.push(LockInfo { is_waiting: true, blocked_by, ..info(wants.owner, wants.mode) });
                }
            }
        }
        found
    }
}
