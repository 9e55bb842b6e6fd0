//! Statements that a function runs while a statement of its session runs.

use crate::context::StatementContext;
use squall_catalog::AccountKey;
use squall_types::{SqlResult, SqlType, Value};
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;

/// The way from a function into SQL, which is [`StatementContext::nested`].
///
/// The statements run on a session of their own that begins as a copy of the caller's: its account with the active roles, default
/// database, session variables (`sql_mode`, `time_zone` …) and user variables. Their settings stay in that session, but they share
/// the caller's user variables. They run in their own transactions: they do not see the caller's uncommitted changes, they wait for
/// its row locks (1205), and their commits stay when the caller rolls back. KILL of the caller ends them.
///
/// They are waited for, so a kernel that uses this must say so with `ScalarKernel::waits`, and its function is `Volatility::Volatile`.
pub trait NestedStatements: Debug + Send + Sync {
    /// Runs a text of one or more statements, with all that they answer.
    ///
    /// # Errors
    /// The first statement's that fails; those before it have been run. 1424 when functions run statements that run
    /// functions beyond a few levels.
    fn run(&self, sql: &str, context: &StatementContext) -> SqlResult<Vec<NestedResult>>;

    /// Runs a list of statements in a child session and waits for it: a session of the account that has logged in, never a
    /// routine's definer, with the caller's `sql_mode`, time zone, character sets and default database. The list is one transaction
    /// unless it says otherwise. Tells how many statements there were.
    ///
    /// # Errors
    /// 1227 without the privilege DYNAMIC_EXECUTE; 1210 within a child, and for more statements than `execute_max_statements`; 1336 inside of
    /// a stored function or a trigger; 1203 beyond `max_user_connections`; the error of the failed statement, with a further condition for its
    /// number. 1213 as soon as it needs a lock that the caller holds.
    fn run_list(&self, text: &str, context: &StatementContext) -> SqlResult<u64>;

    /// The same in the background: the list is queued, durably, when this returns.
    ///
    /// # Errors
    /// 1227, 1210 and 1336 as [`NestedStatements::run_list`]; when it cannot be queued.
    fn queue_list(&self, text: &str, context: &StatementContext) -> SqlResult<()>;

    /// The columns for the values of [`NestedStatements::append`] in this statement: all that are not generated; `None` if there is
    /// no such base table. From the second time on in a statement this costs next to nothing.
    ///
    /// # Errors
    /// 1142 without INSERT on the table.
    fn append_columns(&self, database: &str, table: &str) -> SqlResult<Option<Arc<[AppendColumn]>>>;

    /// Adds a row to a table at the end of the statement: when everything else of it has succeeded, its rows are inserted by
    /// one INSERT per table within the caller's transaction, as if the caller's statement had done so itself. A statement
    /// that fails leaves none.
    ///
    /// # Errors
    /// When the rows do not fit into memory; 1105 for values that are not of the columns' types, or of columns that were
    /// not asked for.
    fn append(&self, database: &str, table: &str, row: &[Value]) -> SqlResult<()>;

    /// Forgets the rows that the statement has appended: it begins again, and its functions are called again.
    fn discard_appended(&self);

    /// A value of a sequence, by itself durable and never given back; `None` where there is no value to tell.
    ///
    /// # Errors
    /// 4091 and 4089 if there is no such sequence, 1142 without INSERT (SELECT for the last value), 1792 and 1290 where nothing may be changed, 4084
    /// when it has run out; those of waiting for its table, and of the log.
    fn sequence_value(
        &self,
        database: &str,
        name: &str,
        call: SequenceCall,
        context: &StatementContext,
    ) -> SqlResult<Option<i64>>;

    /// The next values of a sequence, as many as are asked for, each as [`NestedStatements::sequence_value`] gives it. `take` gets one after the
    /// other, also those before an error.
    ///
    /// # Errors
    /// Those of [`NestedStatements::sequence_value`].
    fn next_sequence_values(
        &self,
        database: &str,
        name: &str,
        count: usize,
        context: &StatementContext,
        take: &mut dyn FnMut(i64),
    ) -> SqlResult<()>;

    /// Whether the caller has a privilege on a table, so that messages may name it.
    fn sees_table(&self, database: &str, table: &str) -> bool;

    /// Asks for a dynamic privilege of the account whose rights count here: a routine's definer inside of it.
    ///
    /// # Errors
    /// 1227 without it.
    fn demand_privilege(&self, name: &str) -> SqlResult<()>;

    /// Whether the account whose rights count here, or a role that is active or granted to one, is among `accounts`.
    fn is_among(&self, accounts: &[AccountKey]) -> bool;

    /// The same for functions that are called in the name of another account: a routine's definer.
    fn as_account(&self, account: &AccountKey) -> Option<Arc<dyn NestedStatements>>;

    /// Ends another session, as KILL does.
    ///
    /// # Errors
    /// 1094 if there is none with this number; 1095 and 1227 without the privileges that KILL needs.
    fn kill(&self, id: u64, context: &StatementContext) -> SqlResult<()>;

    /// Whether a session holds the lock of FLUSH TABLES WITH READ LOCK.
    fn holds_read_lock(&self, id: u64) -> bool;

    /// A file of the server that the caller may read and write.
    ///
    /// # Errors
    /// 1045 without the privilege FILE, 1290 outside of `secure_file_priv`.
    fn server_file(&self, path: &str) -> SqlResult<PathBuf>;
}

/// What a statement asks of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceCall {
    /// NEXT VALUE FOR: the next value.
    Next,
    /// PREVIOUS VALUE FOR: the last value that this session got, `None` if it got none.
    Previous,
    /// SETVAL: `value` is the last one that was used, or the next one. `None` if the sequence is already beyond it.
    Set {
        /// The value.
        value: i64,
        /// Whether it counts as used.
        is_used: bool,
        /// How often the sequence began again before this value.
        round: i64,
    },
}

/// A column that rows are appended to.
#[derive(Clone, Debug, PartialEq)]
pub struct AppendColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub sql_type: SqlType,
    /// Whether it takes NULL.
    pub nullable: bool,
}

/// The answer of one statement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NestedResult {
    /// Names and types of the columns; empty for a statement without rows.
    pub columns: Vec<(String, SqlType)>,
    /// Rows, a value for each column.
    pub rows: Vec<Vec<Value>>,
    /// Rows changed.
    pub affected_rows: u64,
    /// First AUTO_INCREMENT value made by the statement, or 0.
    pub last_insert_id: u64,
}
