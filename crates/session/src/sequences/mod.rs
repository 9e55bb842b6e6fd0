//! Sequences: NEXTVAL, LASTVAL, SETVAL, and the row that they go on from.
//!
//! Values are reserved `CACHE` at a time by a transaction of their own, which changes the sequence's row and is durable before the first of
//! them is handed out. So a value is never handed out twice, whatever becomes of the statement that asked for it. All values of a
//! sequence are handed out under one lock.

mod reserved;

use parking_lot::{Mutex, MutexGuard};
use reserved::Reserved;
use rustc_hash::FxHashMap;
use squall_catalog::{AccessMap, Catalog, IndexId, Privileges, SequenceRow, TableDef, TableEntry, TableId};
use squall_row_store::{
    Direction, LockWait, ReadView, Row, Table, TableLock, Transaction, TransactionOptions, ValueRange,
};
use squall_server_state::ServerState;
use squall_statement_context::{SequenceCall, StatementContext};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::sync::Arc;
use std::time::Duration;

/// How often a call that waits for others looks whether it was killed.
const KILL_CHECK: Duration = Duration::from_millis(50);

/// The last value that a session got of each sequence.
pub(crate) type LastValues = Mutex<FxHashMap<TableId, i64>>;

/// The sequences that have been used since the server's start.
#[derive(Debug, Default)]
pub(crate) struct Sequences {
    used: Mutex<FxHashMap<TableId, Arc<Sequence>>>,
}

/// `None` until its row has been read, and again when the row was changed.
#[derive(Debug, Default)]
struct Sequence(Mutex<Option<Reserved>>);

impl Sequence {
    /// Its lock.
    ///
    /// # Errors
    /// 1317 and 3024 when the statement is to end.
    fn lock(&self, context: &StatementContext) -> SqlResult<MutexGuard<'_, Option<Reserved>>> {
        loop {
            if let Some(guard) = self.0.try_lock_for(KILL_CHECK) {
                return Ok(guard);
            }
            context.kill.check()?;
        }
    }
}

/// A sequence as its name was found.
#[derive(Clone, Debug)]
pub(crate) struct FoundSequence {
    pub database: String,
    pub table: Arc<TableDef>,
}

impl FoundSequence {
    fn error(&self, code: ErrorCode) -> SqlError {
        SqlError::new(code, &[&self.database, &self.table.name])
    }
}

/// The sequence of a name.
///
/// # Errors
/// 4091 if there is nothing, 4089 for what is no sequence.
pub(crate) fn find_sequence(catalog: &Catalog, database: &str, name: &str) -> SqlResult<FoundSequence> {
    match catalog.entry(database, name) {
        Some(TableEntry::Table(table)) if table.is_sequence() => {
            Ok(FoundSequence { database: database.to_string(), table: table.clone() })
        }
        Some(_) => Err(SqlError::new(ErrorCode::NotSequence, &[&database, &name])),
        None => Err(SqlError::new(ErrorCode::UnknownSequence, &[&format_args!("{database}.{name}")])),
    }
}

/// Who asks for a value.
pub(crate) struct SequenceUse<'a> {
    pub state: &'a ServerState,
    pub context: &'a StatementContext,
    pub lock_wait: Duration,
}

impl Sequences {
    fn get(&self, state: &ServerState, table: &TableDef) -> Arc<Sequence> {
        let mut used = self.used.lock();
        if let Some(known) = used.get(&table.id) {
            return known.clone();
        }
        // Each time that it would grow those are forgotten that were dropped.
        if used.len() == used.capacity() {
            let catalog = state.catalog.load();
            used.retain(|id, _| catalog.table_by_id(*id).is_some());
        }
        used.entry(table.id).or_default().clone()
    }

    /// ALTER SEQUENCE: what was reserved and not handed out is lost.
    ///
    /// # Errors
    /// Those of `alter`, of waiting for the table, and of the log.
    pub fn alter(
        &self,
        found: &FoundSequence,
        by: &SequenceUse<'_>,
        alter: impl FnOnce(&SequenceRow) -> SqlResult<SequenceRow>,
    ) -> SqlResult<()> {
        let sequence = self.get(by.state, &found.table);
        let mut reserved = sequence.lock(by.context)?;
        let row = by.change(found, |row| alter(row).map(Some))?;
        *reserved = Some(Reserved::nothing(row));
        Ok(())
    }
}

/// Most that are kept. A statement that uses more of them looks them up again.
const KNOWN_MAX: usize = 8;

/// A sequence, and what the session may do with it. Both hold for one version of the catalog and of the accounts: definitions and REVOKE
/// make others.
#[derive(Debug)]
pub(crate) struct KnownSequence {
    pub found: FoundSequence,
    pub access: Arc<AccessMap>,
    /// Those on its table.
    pub privileges: Privileges,
    sequence: Arc<Sequence>,
    catalog: u64,
    accounts: u64,
}

/// The last ones of a session with one account.
#[derive(Debug, Default)]
pub(crate) struct KnownSequences(Mutex<Vec<Arc<KnownSequence>>>);

impl KnownSequences {
    /// The sequence of a name. `access` gives what the account may do now; `refuse` says why these privileges on the table are not enough.
    ///
    /// # Errors
    /// That of `refuse`, and those of [`find_sequence`].
    pub fn find(
        &self,
        (sequences, state): (&Sequences, &ServerState),
        (database, name): (&str, &str),
        access: impl FnOnce() -> Arc<AccessMap>,
        refuse: impl Fn(Privileges) -> SqlResult<()>,
    ) -> SqlResult<Arc<KnownSequence>> {
        // Before anything is looked up: what changes meanwhile is looked up again.
        let (catalog, accounts) = (state.catalog.version(), state.accounts.load_now().version);
        let mut known = self.0.lock();
        let is_it = |known: &Arc<KnownSequence>| known.found.table.name == name && known.found.database == database;
        let place = known.iter().position(is_it);
        if let Some(place) = place {
            let kept = &known[place];
            if kept.catalog == catalog && kept.accounts == accounts {
                refuse(kept.privileges)?;
                return Ok(kept.clone());
            }
            known.remove(place);
        }
        let access = access();
        let privileges = access.on_table(database, name);
        refuse(privileges)?;
        let found = find_sequence(&state.catalog.load(), database, name)?;
        let sequence = sequences.get(state, &found.table);
        let made = Arc::new(KnownSequence { found, access, privileges, sequence, catalog, accounts });
        if known.len() == KNOWN_MAX {
            known.remove(0);
        }
        known.push(made.clone());
        Ok(made)
    }
}

impl KnownSequence {
    /// Carries out a call.
    ///
    /// # Errors
    /// Those of `NestedStatements::sequence_value`, beside the ones of [`KnownSequences::find`].
    pub fn call(&self, call: SequenceCall, last: &LastValues, by: &SequenceUse<'_>) -> SqlResult<Option<i64>> {
        let found = &self.found;
        let id = found.table.id;
        if call == SequenceCall::Previous {
            return Ok(last.lock().get(&id).copied());
        }
        match call {
            SequenceCall::Set { value, is_used, round } => {
                let mut reserved = self.sequence.lock(by.context)?;
                let known = by.known(found, &mut reserved)?;
                let Some(set) = known.set_to(value, is_used, round) else { return Ok(None) };
                by.change(found, |_| Ok(Some(set.row.clone())))?;
                *known = set;
                Ok(Some(value))
            }
            SequenceCall::Next | SequenceCall::Previous => {
                let mut next = None;
                self.next_values(1, last, by, &mut |value| next = Some(value))?;
                Ok(next)
            }
        }
    }

    /// Hands out the next values. Other sessions wait until all of them are handed out.
    ///
    /// # Errors
    /// Those of [`KnownSequence::call`]; values that were handed out before are lost.
    pub fn next_values(
        &self,
        count: usize,
        last: &LastValues,
        by: &SequenceUse<'_>,
        take: &mut dyn FnMut(i64),
    ) -> SqlResult<()> {
        let mut reserved = self.sequence.lock(by.context)?;
        let known = by.known(&self.found, &mut reserved)?;
        let mut newest = None;
        let taken = (0..count).try_for_each(|_| {
            let value = match known.take() {
                Some(value) => value,
                None => by.next_reserved(&self.found, known)?,
            };
            newest = Some(value);
            take(value);
            Ok(())
        });
        if let Some(value) = newest {
            last.lock().insert(self.found.table.id, value);
        }
        taken
    }
}

impl SequenceUse<'_> {
    fn begin(&self) -> Transaction {
        let options = TransactionOptions { durability: self.state.durability(), ..TransactionOptions::autocommit() };
        // As one of the session's own it does not wait for what the session has locked, and KILL ends its waiting.
        self.state.store.begin_with(options, Some(self.context.connection_id))
    }

    /// What is reserved; its row is read if that is not known.
    fn known<'r>(&self, found: &FoundSequence, reserved: &'r mut Option<Reserved>) -> SqlResult<&'r mut Reserved> {
        Ok(match reserved {
            Some(known) => known,
            unknown => unknown.insert(Reserved::nothing(self.change(found, |_| Ok(None))?)),
        })
    }

    /// Reserves more values; the first of them.
    fn next_reserved(&self, found: &FoundSequence, known: &mut Reserved) -> SqlResult<i64> {
        self.context.kill.check()?;
        let run_out = || found.error(ErrorCode::SequenceRunOut);
        let mut more = known.more().ok_or_else(run_out)?;
        self.change(found, |_| Ok(Some(more.row.clone())))?;
        let first = more.take().ok_or_else(run_out)?;
        *known = more;
        Ok(first)
    }

    /// Reads the row, and gives it the values that `change` says; what it has then. The change is durable.
    fn change(
        &self,
        found: &FoundSequence,
        change: impl FnOnce(&SequenceRow) -> SqlResult<Option<SequenceRow>>,
    ) -> SqlResult<SequenceRow> {
        let table = self.state.store.table(&found.table)?;
        let mut transaction = self.begin();
        let wait = LockWait::Timeout(self.lock_wait);
        transaction.begin_statement(wait);
        // Keeps the table from being dropped meanwhile.
        transaction.lock_table(&table, TableLock::Write, wait)?;
        let (stored, row) = read_row(&transaction.newest_view(), &found.database, &table)?;
        let Some(changed) = change(&row)? else {
            transaction.rollback();
            return Ok(row);
        };
        transaction.update(&table, &stored, &changed.values())?;
        transaction.pass_read_lock()?;
        transaction.commit()?;
        Ok(changed)
    }
}

/// The row as it is stored.
///
/// # Errors
/// Those of the store.
pub(crate) fn stored_row(state: &ServerState, database: &str, definition: &Arc<TableDef>) -> SqlResult<SequenceRow> {
    let table = state.store.table(definition)?;
    read_row(&state.store.read_view(), database, &table).map(|(_, row)| row)
}

/// The row in a view.
fn read_row(view: &ReadView, database: &str, table: &Arc<Table>) -> SqlResult<(Row, SequenceRow)> {
    let invalid = || SqlError::new(ErrorCode::SequenceInvalidTable, &[&database, &table.def().name, &"its row"]);
    let range = table.range(IndexId(0), ValueRange::ALL)?;
    let mut rows = view.scan(table, &range, Direction::Forward);
    let stored = rows.next_row()?.ok_or_else(invalid)?;
    let row = SequenceRow::of_values(&stored.values(table)?).ok_or_else(invalid)?;
    Ok((stored, row))
}

/// Writes the row of a new sequence, durably.
///
/// # Errors
/// Those of the store.
pub(crate) fn write_first_row(state: &ServerState, table: &Arc<TableDef>, values: &[Value]) -> SqlResult<()> {
    let table = state.store.table(table)?;
    let options = TransactionOptions { durability: state.durability(), ..TransactionOptions::autocommit() };
    let mut transaction = state.store.begin_with(options, None);
    transaction.insert(&table, values)?;
    transaction.commit()
}
