//! XA: branches of global transactions, from their beginning until they are committed or rolled back.
//!
//! The writes and locks of a prepared branch are in records of the store, and in the transaction in memory:
//!
//! ```text
//! p number          version | format u64 | global | branch | parts
//! q number part     items: 1 table rows | 2 key value | 3 key (removed) | 4 table key exclusive (locked)
//! ```
//!
//! The record with `p` comes last, and is synced: a branch is prepared when this record exists; parts without it are removed. The commit
//! of a branch removes the record in the batch of the branch's changes. So after a crash a branch is prepared or committed, as a whole.

use crate::batch::Batch;
use crate::bytes::{Malformed, Reader, Writer};
use crate::error::engine_error;
use crate::meta;
use crate::store::RowStore;
use crate::table::Table;
use crate::transaction::{PreparedItem, Transaction};
use parking_lot::Mutex;
use squall_catalog::TableId;
use squall_types::{SqlError, SqlResult};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The version of the records.
const VERSION: u8 = 1;
/// A part gets no further item beyond this.
const PART_BYTES: usize = 256 << 10;
/// Branches that may be under way at once.
const BRANCHES_MAX: usize = 100_000;

const TABLE: u8 = 1;
const WRITTEN: u8 = 2;
const REMOVED: u8 = 3;
const LOCKED: u8 = 4;

/// The name of a branch of a global transaction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Xid {
    /// The form of its parts.
    pub format: u64,
    /// The global transaction.
    pub global: Vec<u8>,
    /// The branch.
    pub branch: Vec<u8>,
}

enum State {
    /// A session runs it.
    Running,
    Prepared(Box<Prepared>),
    /// It is being committed or rolled back.
    Ending,
}

struct Prepared {
    transaction: Transaction,
    /// In the keys of its records.
    number: u64,
    parts: u32,
}

/// All branches of a store that are under way.
#[derive(Clone)]
pub struct Branches(Arc<Inner>);

struct Inner {
    store: RowStore,
    branches: Mutex<BTreeMap<Xid, State>>,
    next_number: Mutex<u64>,
}

/// A branch that a session runs. Dropping it forgets it.
pub struct RunningBranch {
    branches: Branches,
    xid: Xid,
}

impl std::fmt::Debug for RunningBranch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RunningBranch").field(&self.xid).finish()
    }
}

impl RunningBranch {
    /// Its name.
    pub fn xid(&self) -> &Xid {
        &self.xid
    }
}

impl Drop for RunningBranch {
    fn drop(&mut self) {
        let mut branches = self.branches.0.branches.lock();
        if matches!(branches.get(&self.xid), Some(State::Running)) {
            branches.remove(&self.xid);
        }
    }
}

impl std::fmt::Debug for Branches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Branches").field(&self.prepared()).finish()
    }
}

impl Branches {
    /// Brings back the branches that were prepared when the store was closed, or its process ended, with their locks.
    ///
    /// # Errors
    /// That of a record that cannot be read, or is of a table that is gone.
    pub fn recover(store: &RowStore) -> SqlResult<Branches> {
        let meta = &store.0.meta;
        let mut branches = BTreeMap::new();
        let mut numbers = BTreeSet::new();
        for guard in meta.prefix([meta::PREPARED]) {
            let (key, record) = guard.into_inner().map_err(engine_error)?;
            let number = meta::prepared_number(&key).ok_or_else(malformed)?;
            let (xid, parts) = read_record(&record).map_err(|_| malformed())?;
            let mut transaction = Transaction::recovered(store);
            read_parts(store, &mut transaction, number, parts)?;
            transaction.detach();
            branches.insert(xid, State::Prepared(Box::new(Prepared { transaction, number, parts })));
            numbers.insert(number);
        }
        let mut last = numbers.last().copied().unwrap_or(0);
        // Parts of what was never prepared, or has been committed.
        let mut batch = Batch::default();
        for guard in meta.prefix([meta::PREPARED_PART]) {
            let (key, _) = guard.into_inner().map_err(engine_error)?;
            let number = meta::prepared_number(&key).ok_or_else(malformed)?;
            if !numbers.contains(&number) {
                batch.remove(meta, key);
                last = last.max(number);
            }
        }
        store.committer().write(batch, false)?;
        let next_number = Mutex::new(last + 1);
        Ok(Branches(Arc::new(Inner { store: store.clone(), branches: Mutex::new(branches), next_number })))
    }

    /// Begins a branch; `None` if there is one of that name.
    ///
    /// # Errors
    /// 1041 if there are too many.
    pub fn begin(&self, xid: Xid) -> SqlResult<Option<RunningBranch>> {
        let mut branches = self.0.branches.lock();
        if branches.contains_key(&xid) {
            return Ok(None);
        }
        if branches.len() >= BRANCHES_MAX {
            return Err(SqlError::new(squall_types::ErrorCode::OutOfResources, &[]));
        }
        branches.insert(xid.clone(), State::Running);
        Ok(Some(RunningBranch { branches: self.clone(), xid }))
    }

    /// The branches that are prepared.
    pub fn prepared(&self) -> Vec<Xid> {
        let branches = self.0.branches.lock();
        let prepared = branches.iter().filter(|(_, state)| matches!(state, State::Prepared(_)));
        prepared.map(|(xid, _)| xid.clone()).collect()
    }

    /// Prepares a branch: from now on it exists until a session commits it or rolls it back, also after the end of its session and of the
    /// server. Blocks.
    ///
    /// # Errors
    /// Those of [`Transaction`]'s end and of writing. The transaction is rolled back then.
    pub fn prepare(&self, branch: RunningBranch, mut transaction: Transaction) -> SqlResult<()> {
        transaction.ready().map_err(SqlError::from)?;
        let number = {
            let mut next = self.0.next_number.lock();
            *next += 1;
            *next - 1
        };
        let parts = match self.write_parts(&branch.xid, &transaction, number) {
            Ok(parts) => parts,
            Err(error) => {
                // What has been written of it is removed at the next start at the latest.
                let _ = self.remove_parts(number, u32::MAX);
                return Err(error);
            }
        };
        transaction.detach();
        let prepared = State::Prepared(Box::new(Prepared { transaction, number, parts }));
        self.0.branches.lock().insert(branch.xid.clone(), prepared);
        Ok(())
    }

    /// Commits a prepared branch for a session. Blocks. `None` if there is no such branch.
    pub fn commit(&self, xid: &Xid, session: u64) -> Option<SqlResult<()>> {
        let mut prepared = self.take(xid)?;
        let record = meta::prepared_key(prepared.number);
        let mut ended = prepared.transaction.commit_prepared(session, record).wait();
        if let Err(error) = &ended {
            // The record is as it was, unless nothing is written any more: then only a restart tells.
            if self.0.store.write_failure().is_none() {
                prepared.transaction.begin_again_prepared();
                let again = read_parts(&self.0.store, &mut prepared.transaction, prepared.number, prepared.parts);
                ended = Err(again.err().unwrap_or_else(|| error.clone()));
                self.put_back(xid, prepared);
                return Some(ended);
            }
        }
        self.end(xid, prepared);
        Some(ended)
    }

    /// Rolls a prepared branch back. Blocks. `None` if there is no such branch.
    pub fn roll_back(&self, xid: &Xid) -> Option<SqlResult<()>> {
        let prepared = self.take(xid)?;
        let mut batch = Batch::default();
        batch.remove(&self.0.store.0.meta, meta::prepared_key(prepared.number));
        if let Err(error) = self.0.store.committer().write(batch, true) {
            self.put_back(xid, prepared);
            return Some(Err(error));
        }
        self.end(xid, prepared);
        Some(Ok(()))
    }

    fn take(&self, xid: &Xid) -> Option<Box<Prepared>> {
        let mut branches = self.0.branches.lock();
        let state = branches.get_mut(xid).filter(|state| matches!(state, State::Prepared(_)))?;
        match std::mem::replace(state, State::Ending) {
            State::Prepared(prepared) => Some(prepared),
            State::Running | State::Ending => None,
        }
    }

    fn put_back(&self, xid: &Xid, prepared: Box<Prepared>) {
        self.0.branches.lock().insert(xid.clone(), State::Prepared(prepared));
    }

    /// Forgets a branch that has ended, and gives its locks back.
    fn end(&self, xid: &Xid, prepared: Box<Prepared>) {
        let (number, parts) = (prepared.number, prepared.parts);
        drop(prepared);
        self.0.branches.lock().remove(xid);
        // What stays behind is removed at the next start.
        let _ = self.remove_parts(number, parts);
    }

    /// Writes what a transaction has written and locked, and then its record; how many parts it has.
    fn write_parts(&self, xid: &Xid, transaction: &Transaction, number: u64) -> SqlResult<u32> {
        let store = &self.0.store;
        let mut parts =
            Parts { store, number, count: 0, items: Writer::default(), bytes: 0, counters: BTreeSet::new() };
        transaction.for_each_prepared(&mut |item| parts.push(item))?;
        parts.flush()?;
        for table in &parts.counters {
            // Values that its rows have are given to no others after a restart.
            store.committer().save_counter(&store.table_of(*table)?.data)?;
        }
        let mut record = Writer::new(VERSION);
        record.uint(xid.format);
        record.bytes(&xid.global);
        record.bytes(&xid.branch);
        record.uint(u64::from(parts.count));
        let mut batch = Batch::default();
        batch.insert(&store.0.meta, meta::prepared_key(number), record.finish());
        store.committer().write(batch, true)?;
        Ok(parts.count)
    }

    fn remove_parts(&self, number: u64, parts: u32) -> SqlResult<()> {
        let store = &self.0.store;
        let mut batch = Batch::default();
        if parts == u32::MAX {
            for guard in store.0.meta.prefix(meta::prepared_parts(number)) {
                batch.remove(&store.0.meta, guard.into_inner().map_err(engine_error)?.0);
            }
        } else {
            (0..parts).for_each(|part| batch.remove(&store.0.meta, meta::prepared_part_key(number, part)));
        }
        store.committer().write(batch, false)
    }
}

/// Parts on their way to the store's records.
struct Parts<'a> {
    store: &'a RowStore,
    number: u64,
    count: u32,
    items: Writer,
    bytes: usize,
    /// Tables that are written to.
    counters: BTreeSet<TableId>,
}

impl Parts<'_> {
    fn push(&mut self, item: PreparedItem<'_>) -> SqlResult<()> {
        let items = &mut self.items;
        self.bytes += match item {
            PreparedItem::Table(table, rows) => {
                self.counters.insert(table);
                items.u8(TABLE);
                items.uint(u64::from(table.0));
                items.i64(rows);
                16
            }
            PreparedItem::Change(key, Some(value)) => {
                items.u8(WRITTEN);
                items.bytes(key);
                items.bytes(value);
                key.len() + value.len() + 16
            }
            PreparedItem::Change(key, None) => {
                items.u8(REMOVED);
                items.bytes(key);
                key.len() + 16
            }
            PreparedItem::Lock(table, key, exclusive) => {
                items.u8(LOCKED);
                items.uint(u64::from(table.0));
                items.bytes(key);
                items.bool(exclusive);
                key.len() + 16
            }
        };
        if self.bytes >= PART_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> SqlResult<()> {
        if self.bytes == 0 {
            return Ok(());
        }
        self.store.gate().check_commit(self.bytes)?;
        let mut batch = Batch::default();
        let key = meta::prepared_part_key(self.number, self.count);
        batch.insert(&self.store.0.meta, key, std::mem::take(&mut self.items).finish());
        self.store.committer().write(batch, false)?;
        (self.count, self.bytes) = (self.count + 1, 0);
        Ok(())
    }
}

fn malformed() -> SqlError {
    SqlError::internal("the record of a prepared transaction is damaged")
}

fn read_record(record: &[u8]) -> Result<(Xid, u32), Malformed> {
    let mut fields = Reader::new(record);
    if fields.u8()? != VERSION {
        return Err(Malformed);
    }
    let xid = Xid { format: fields.uint()?, global: fields.bytes()?.to_vec(), branch: fields.bytes()?.to_vec() };
    Ok((xid, fields.u32()?))
}

/// Has a transaction lock and write again what the parts say.
fn read_parts(store: &RowStore, transaction: &mut Transaction, number: u64, parts: u32) -> SqlResult<()> {
    let mut into = Rewriting { store, transaction, table: None };
    for part in 0..parts {
        let key = meta::prepared_part_key(number, part);
        let items = store.0.meta.get(key).map_err(engine_error)?.ok_or_else(malformed)?;
        let mut items = Reader::new(&items);
        while !items.is_empty() {
            let item = read_item(&mut items).map_err(|_| malformed())?;
            into.take(item)?;
        }
    }
    Ok(())
}

fn read_item<'a>(items: &mut Reader<'a>) -> Result<PreparedItem<'a>, Malformed> {
    Ok(match items.u8()? {
        TABLE => PreparedItem::Table(TableId(items.u32()?), items.i64()?),
        WRITTEN => PreparedItem::Change(items.bytes()?, Some(items.bytes()?)),
        REMOVED => PreparedItem::Change(items.bytes()?, None),
        LOCKED => PreparedItem::Lock(TableId(items.u32()?), items.bytes()?, items.bool()?),
        _ => return Err(Malformed),
    })
}

struct Rewriting<'a> {
    store: &'a RowStore,
    transaction: &'a mut Transaction,
    /// The table of the next changes, and its rows more or less, until they are said.
    table: Option<(Arc<Table>, i64)>,
}

impl Rewriting<'_> {
    fn take(&mut self, item: PreparedItem<'_>) -> SqlResult<()> {
        match item {
            PreparedItem::Table(table, rows) => {
                self.table = Some((self.store.table_of(table)?, rows));
                Ok(())
            }
            PreparedItem::Change(key, change) => {
                let Some((table, rows)) = &mut self.table else { return Err(malformed()) };
                let rows = std::mem::take(rows);
                self.transaction.write_again(table, (key, change), rows).map_err(SqlError::from)
            }
            PreparedItem::Lock(table, key, exclusive) => {
                let table = self.store.table_of(table)?;
                self.transaction.lock_again(&table, key, exclusive).map_err(SqlError::from)
            }
        }
    }
}
