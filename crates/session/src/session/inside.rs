//! Sessions that run stored programs inside another session's statement.

use super::{CommandState, Identity, PreviousStatement, Session, SessionLog};
use crate::plans::session_cache::SessionPlanCache;
use crate::state::diagnostics::DiagnosticsArea;
use crate::state::prepared_statements::PreparedStatements;
use crate::state::transaction::{OpenTransaction, TransactionState};
use crate::statement_kind::refused_in_function;
use squall_parser::ast::Statement;
use squall_row_store::Transaction;
use squall_statement_context::StatementContext;
use squall_types::{ErrorCode, Level, SqlError, SqlResult, Warning};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Statements inside of each other, at most (1424): each of those inside has a thread.
const DEPTH_MAX: u32 = 32;

/// A table, by database and name.
pub(crate) type UsedTable = (Arc<str>, Arc<str>);

/// The statements that a session is inside of.
#[derive(Debug)]
pub(crate) struct Inside {
    /// When the outermost began: what `NOW()` says.
    pub now_micros: i64,
    /// The tables that they read and change: these may not be changed.
    pub used: Arc<[UsedTable]>,
    /// The kind of program that runs in it, as errors name it: a function or a trigger.
    pub word: &'static str,
    /// Whether that is a trigger, or was called by one.
    pub is_in_trigger: bool,
}

impl Session {
    /// A session for the programs of this one's statement: of the same process, with all that this one has set.
    pub(crate) fn inside_of_statement(&self, context: &StatementContext) -> SqlResult<Session> {
        if self.nesting.session_depth >= DEPTH_MAX {
            return Err(SqlError::new(ErrorCode::SpNoRecursion, &[]));
        }
        let inside = Inside {
            now_micros: context.now_micros,
            used: Arc::default(),
            word: "function",
            is_in_trigger: context.is_in_trigger,
        };
        let mut inner = Session {
            shared: self.shared.clone(),
            process: self.process.clone(),
            identity: Identity { password_expired: false, ..self.identity.clone() },
            nesting: self.nesting.within(inside),
            held_locks: self.held_locks.within(),
            command: CommandState::at(self.command.start_micros),
            previous: PreviousStatement {
                found_rows: context.found_rows,
                row_count: context.row_count,
                last_insert_id: context.last_insert_id.load(Ordering::Relaxed),
            },
            variables: self.variables.clone(),
            settings: self.settings.clone(),
            user_variables: self.user_variables.clone(),
            transaction: TransactionState::default(),
            diagnostics: DiagnosticsArea::default(),
            prepared: PreparedStatements::default(),
            session_plans: SessionPlanCache::default(),
            settings_version: 0,
            temporary_tables: self.temporary_tables.clone(),
            xa: None,
            handlers: Vec::new(),
            random_state: context.random_state.load(Ordering::Relaxed),
            version: self.version.clone(),
            multi_statements: false,
            locals: None,
            log: SessionLog::new(self.log.client.clone()),
            logs_disconnect: false,
            nested: None,
            appends: Arc::default(),
        };
        inner.offer_nested_statements();
        Ok(inner)
    }

    /// A call begins, in the transaction of the statement around.
    pub(crate) fn begin_call(&mut self, transaction: Transaction, used: Arc<[UsedTable]>, is_in_trigger: bool) {
        let options = transaction.options();
        self.transaction.open = Some(OpenTransaction {
            read_only: options.read_only,
            isolation: options.isolation,
            transaction: Some(transaction),
            explicit: true,
            savepoints: Vec::new(),
        });
        self.diagnostics.clear();
        if let Some(inside) = &mut self.nesting.inside {
            inside.used = used;
            inside.is_in_trigger = is_in_trigger;
        }
    }

    /// A call has ended: gives the transaction back, and what a call that succeeded warns of.
    pub(crate) fn end_call(&mut self, has_succeeded: bool) -> (Option<Transaction>, Vec<Warning>) {
        let told = self.diagnostics.rows().iter().filter(|row| has_succeeded && row.level != Level::Error);
        let warnings = told.cloned().collect();
        self.transaction.undo = None;
        self.command.changes.clear();
        (self.transaction.open.take().and_then(|open| open.transaction), warnings)
    }

    /// Whether a statement may run here: inside of another it has neither a transaction nor a result of its own (1336, 1422).
    pub(crate) fn check_inside(&self, statement: &Statement) -> SqlResult<()> {
        if self.nesting.inside.is_none() {
            return Ok(());
        }
        refused_in_function(statement)?;
        match statement {
            Statement::LoadData(_) => Err(SqlError::unsupported("LOAD DATA in stored functions")),
            Statement::Use(_) => Err(SqlError::unsupported("USE in stored functions")),
            _ => Ok(()),
        }
    }

    /// Whether the statement around cannot go on, so that no handler is asked: its transaction is gone.
    pub(crate) fn has_lost_statement(&mut self) -> bool {
        let is_alive = self.transaction.current().is_some_and(|transaction| !transaction.is_aborted());
        self.nesting.inside.is_some() && !is_alive
    }
}
