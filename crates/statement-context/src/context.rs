//! The context of a running statement: its session's settings at its start, and the state that it writes.

pub mod nested;

use crate::bind_settings::BindSettings;
use crate::context::nested::NestedStatements;
use crate::diagnostics::Diagnostics;
use crate::fulltext::FulltextSlot;
use crate::kill_state::KillState;
use crate::programs::Programs;
use crate::table_uses::TableUses;
use crate::user_locks::UserLocks;
use crate::user_variables::UserVariables;
use parking_lot::Mutex;
use squall_accounting::{PlanCounts, SessionMemory};
use squall_catalog::{AccountKey, ActiveGrants};
use squall_system_variables::{ReadScope, VariableDef, VariableId, VariableValues};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Settings and side effects of one statement. Shared by every operator and function of it, on any thread.
#[derive(Debug)]
pub struct StatementContext {
    /// The settings of its session when it began.
    pub settings: Arc<BindSettings>,
    /// Start of the statement, microseconds since 1970 UTC: what `NOW()` says (or `SET timestamp` said).
    pub now_micros: i64,
    /// `CONNECTION_ID()`.
    pub connection_id: u64,
    /// `USER()`: as the client gave it, with its host.
    pub user: Arc<str>,
    /// `CURRENT_USER()`: the account that matched.
    pub current_user: Arc<str>,
    /// Which grants count beside those of that account, and where.
    pub active_grants: Arc<ActiveGrants>,
    /// `VERSION()`.
    pub version: Arc<str>,
    /// Whether conversions in this statement that lose data are errors (a strict INSERT, UPDATE …) or warnings (SELECT).
    pub strict_write: bool,
    /// `FOUND_ROWS()`, `ROW_COUNT()` of the statement before.
    pub found_rows: u64,
    /// See `found_rows`.
    pub row_count: i64,
    /// `LAST_INSERT_ID()`; `LAST_INSERT_ID(expr)` writes it.
    pub last_insert_id: AtomicU64,
    /// Whether `LAST_INSERT_ID(expr)` has written it in this statement, so that a change tells its client.
    pub insert_id_is_given: AtomicBool,
    /// Warnings and notes.
    pub diagnostics: Diagnostics,
    /// `@variables` of the session, as [`held_by_variable`](crate::held_by_variable) has them.
    pub user_variables: Arc<UserVariables>,
    /// KILL and time-outs.
    pub kill: Arc<KillState>,
    /// State of `RAND()` without a seed.
    pub random_state: AtomicU64,
    /// Locks that users name, of the whole server.
    pub user_locks: Arc<UserLocks>,
    /// System variables as they stood when the statement began.
    pub variables: VariableValues,
    /// Rows read from tables so far; see [`StatementContext::examined`].
    pub rows_examined: AtomicU64,
    /// Its uses of tables so far.
    pub table_uses: TableUses,
    /// How it has read and sorted so far; see [`StatementContext::planned`].
    pub plan_counts: Mutex<PlanCounts>,
    /// The reservations of its session.
    pub memory: Arc<SessionMemory>,
    /// For functions that run statements themselves; `None` where there is no session.
    pub nested: Option<Arc<dyn NestedStatements>>,
    /// Stored programs that it calls and that run statements themselves.
    pub programs: Programs,
    /// The counter of words for MATCH.
    pub fulltext: FulltextSlot,
    /// The server reads for itself, on behalf of no account: no privilege is asked for.
    pub is_of_server: bool,
    /// It is part of a trigger, or of what a trigger has called.
    pub is_in_trigger: bool,
    /// It may change nothing, and what its functions run may not either: its transaction is READ ONLY.
    pub is_read_only: bool,
    /// It binds the body of a stored function in another language. Its creator was allowed to write such a body, and to call it takes
    /// EXECUTE alone.
    pub is_external_body: bool,
}

/// A statement of a new session with MySQL's defaults.
impl Default for StatementContext {
    fn default() -> Self {
        StatementContext {
            settings: Arc::default(),
            now_micros: 0,
            connection_id: 0,
            user: "root@localhost".into(),
            current_user: "root@localhost".into(),
            active_grants: Arc::default(),
            version: "8.4.0".into(),
            strict_write: false,
            found_rows: 0,
            row_count: -1,
            last_insert_id: AtomicU64::new(0),
            insert_id_is_given: AtomicBool::new(false),
            diagnostics: Diagnostics::new(1024),
            user_variables: Arc::default(),
            kill: Arc::default(),
            random_state: AtomicU64::new(1),
            user_locks: Arc::default(),
            variables: VariableValues::default(),
            rows_examined: AtomicU64::new(0),
            table_uses: TableUses::default(),
            plan_counts: Mutex::default(),
            memory: Arc::default(),
            nested: None,
            programs: Programs::default(),
            fulltext: FulltextSlot::default(),
            is_of_server: false,
            is_in_trigger: false,
            is_read_only: false,
            is_external_body: false,
        }
    }
}

impl StatementContext {
    /// Counts rows that were read from tables.
    pub fn examined(&self, rows: usize) {
        self.rows_examined.fetch_add(rows as u64, Ordering::Relaxed);
    }

    /// Adds the counts of a part of the statement. Parts do not count as statements.
    pub fn planned(&self, counts: &PlanCounts) {
        let mut all = self.plan_counts.lock();
        all.merge(counts);
        all.no_index_used = all.no_index_used.min(1);
    }

    /// Takes the counts and the diagnostics of a statement that ran in its place; for their session both are one statement.
    pub fn take_over(&self, inner: &StatementContext) {
        self.diagnostics.absorb(&inner.diagnostics);
        self.last_insert_id.store(inner.last_insert_id.load(Ordering::Relaxed), Ordering::Relaxed);
        self.insert_id_is_given.store(inner.insert_id_is_given.load(Ordering::Relaxed), Ordering::Relaxed);
        self.rows_examined.fetch_add(inner.rows_examined.load(Ordering::Relaxed), Ordering::Relaxed);
        self.plan_counts.lock().merge(&inner.plan_counts.lock());
        for used in inner.table_uses.take() {
            self.table_uses.note(used.table, used.index, used.operation, used.rows, used.time);
        }
    }

    /// Asks for a dynamic privilege, as functions of modules do at each call: `JAVASCRIPT_EXECUTE`, `HTTP_CLIENT`.
    ///
    /// # Errors
    /// 1227 without it, and where no session stands behind the statement.
    pub fn demand_privilege(&self, name: &str) -> SqlResult<()> {
        match &self.nested {
            _ if self.is_of_server => Ok(()),
            Some(session) => session.demand_privilege(name),
            None => Err(SqlError::new(ErrorCode::SpecificAccessDenied, &[&name])),
        }
    }

    /// Whether the account whose privileges count here, or one of its active roles, is among `accounts`: for objects that a module
    /// gives only to some.
    pub fn is_among(&self, accounts: &[AccountKey]) -> bool {
        self.is_of_server || self.nested.as_ref().is_some_and(|session| session.is_among(accounts))
    }

    /// The statement begins again, in the same transaction: what its functions have left to be done at its end is forgotten.
    pub fn begin_again(&self) {
        if let Some(nested) = &self.nested {
            nested.discard_appended();
        }
    }

    /// The same statement for a part of its work on another thread. The part has its own diagnostics until [`Diagnostics::absorb`]
    /// takes them, in the statement's order.
    pub fn fork(&self) -> StatementContext {
        StatementContext {
            settings: self.settings.clone(),
            now_micros: self.now_micros,
            connection_id: self.connection_id,
            user: self.user.clone(),
            current_user: self.current_user.clone(),
            active_grants: self.active_grants.clone(),
            version: self.version.clone(),
            strict_write: self.strict_write,
            found_rows: self.found_rows,
            row_count: self.row_count,
            last_insert_id: AtomicU64::new(self.last_insert_id.load(Ordering::Relaxed)),
            insert_id_is_given: AtomicBool::new(false),
            diagnostics: self.diagnostics.empty(),
            user_variables: self.user_variables.clone(),
            kill: self.kill.clone(),
            random_state: AtomicU64::new(self.random_state.load(Ordering::Relaxed)),
            user_locks: self.user_locks.clone(),
            variables: self.variables.clone(),
            rows_examined: AtomicU64::new(0),
            table_uses: TableUses::default(),
            plan_counts: Mutex::default(),
            memory: self.memory.clone(),
            nested: self.nested.clone(),
            programs: self.programs.clone(),
            fulltext: self.fulltext.clone(),
            is_of_server: self.is_of_server,
            is_in_trigger: self.is_in_trigger,
            is_read_only: self.is_read_only,
            is_external_body: false,
        }
    }

    /// The value of a system variable, pseudo variables included.
    pub fn system_variable(&self, id: VariableId, scope: ReadScope, definition: &VariableDef) -> Value {
        const WARNING_COUNT: VariableId = VariableId::of("warning_count");
        const ERROR_COUNT: VariableId = VariableId::of("error_count");
        const LAST_INSERT_ID: VariableId = VariableId::of("last_insert_id");
        const IDENTITY: VariableId = VariableId::of("identity");
        const TIMESTAMP: VariableId = VariableId::of("timestamp");
        const PSEUDO_THREAD_ID: VariableId = VariableId::of("pseudo_thread_id");
        match id {
            WARNING_COUNT => Value::UInt(self.variables.warning_count),
            ERROR_COUNT => Value::UInt(self.variables.error_count),
            LAST_INSERT_ID | IDENTITY => Value::UInt(self.last_insert_id.load(Ordering::Relaxed)),
            TIMESTAMP => Value::Double(self.now_micros as f64 / 1e6),
            PSEUDO_THREAD_ID => match self.variables.session.get(id) {
                Value::UInt(0) => Value::UInt(self.connection_id),
                set => set.clone(),
            },
            _ => self.variables.get(id, scope, definition.has_session()).clone(),
        }
    }
}
