//! Locks that a read has just taken, and may release.

use super::modes::Mode;
use super::{Acquired, LockKey, LockTable, Owner};

/// A lock as the read that found a row had it. A caller that does not want the row releases this, which undoes only this read: a
/// lock that its transaction had before stays, with its former mode.
#[derive(Debug, Default)]
pub struct RowLock(Option<FreshLock>);

/// A lock that is new, or stronger than it was.
#[derive(Debug)]
struct FreshLock {
    key: LockKey,
    /// The lock that the owner had before.
    before: Option<Mode>,
}

impl RowLock {
    /// The lock of a key, had in one of the ways.
    pub(crate) fn of(acquired: Acquired, key: &LockKey) -> RowLock {
        let before = match acquired {
            Acquired::Held => return RowLock::default(),
            Acquired::New => None,
            Acquired::Raised(before) => Some(before),
        };
        RowLock(Some(FreshLock { key: key.clone(), before }))
    }

    /// The object, if it was not locked as strongly before.
    pub(crate) fn key(&self) -> Option<&LockKey> {
        self.0.as_ref().map(|lock| &lock.key)
    }
}

impl LockTable {
    /// Undoes what taking a lock did; tells the key that the owner has no lock of any more.
    pub fn give_back(&self, owner: Owner, lock: RowLock) -> Option<LockKey> {
        let FreshLock { key, before } = lock.0?;
        self.set_mode(owner, &key, before);
        before.is_none().then_some(key)
    }
}
