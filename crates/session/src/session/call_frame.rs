//! Calls of stored programs inside of a statement, in the state of its session.

use super::command::{CommandState, PreviousStatement};
use super::inside::{Inside, UsedTable};
use super::{Session, SessionLog, SessionState};
use crate::state::appended_rows::Appends;
use crate::state::diagnostics::DiagnosticsArea;
use crate::state::locals::SharedLocals;
use crate::state::transaction::{OpenTransaction, TransactionState};
use squall_row_store::Transaction;
use squall_statement_context::{NestedStatements, StatementContext};
use squall_types::{Level, Warning};
use std::mem::swap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What the calls of a statement have of their own, in place of what belongs to the statement around. It is in the state during a
/// call; between calls the frame has it.
pub(crate) struct CallFrame {
    inside: Option<Inside>,
    session_depth: u32,
    command: CommandState,
    previous: PreviousStatement,
    transaction: TransactionState,
    diagnostics: DiagnosticsArea,
    locals: Option<SharedLocals>,
    log: SessionLog,
    nested: Option<Arc<dyn NestedStatements>>,
    appends: Arc<Appends>,
}

impl CallFrame {
    /// The frame of the calls of a session's statement, which uses these tables.
    pub fn new(session: &Session, context: &StatementContext, used: Arc<[UsedTable]>) -> CallFrame {
        let inside =
            Inside { now_micros: context.now_micros, used, word: "function", is_in_trigger: context.is_in_trigger };
        CallFrame {
            inside: Some(inside),
            session_depth: session.nesting.session_depth + 1,
            command: CommandState::at(session.command.start_micros),
            previous: PreviousStatement::default(),
            transaction: TransactionState::default(),
            diagnostics: DiagnosticsArea::default(),
            locals: None,
            log: SessionLog::new(session.log.client.clone()),
            nested: None,
            appends: Arc::default(),
        }
    }

    /// A call begins, in the transaction of the statement around.
    pub fn enter(&mut self, state: &mut SessionState, transaction: Transaction, context: &StatementContext) {
        let options = transaction.options();
        self.transaction.open = Some(OpenTransaction {
            read_only: options.read_only,
            isolation: options.isolation,
            transaction: Some(transaction),
            explicit: true,
            savepoints: Vec::new(),
            shown: None,
        });
        self.diagnostics.clear();
        self.previous = PreviousStatement {
            found_rows: context.found_rows,
            row_count: context.row_count,
            last_insert_id: context.last_insert_id.load(Ordering::Relaxed),
        };
        if let Some(inside) = &mut self.inside {
            inside.is_in_trigger = context.is_in_trigger;
        }
        self.exchange(state);
    }

    /// A call has ended: gives the transaction back, and what a call that succeeded warns of.
    pub fn leave(&mut self, state: &mut SessionState, has_succeeded: bool) -> (Option<Transaction>, Vec<Warning>) {
        self.exchange(state);
        let transaction = std::mem::take(&mut self.transaction).open.and_then(|open| open.transaction);
        self.command.changes.clear();
        let told = self.diagnostics.rows().iter().filter(|row| has_succeeded && row.level != Level::Error);
        (transaction, told.cloned().collect())
    }

    fn exchange(&mut self, state: &mut SessionState) {
        swap(&mut self.inside, &mut state.nesting.inside);
        swap(&mut self.session_depth, &mut state.nesting.session_depth);
        swap(&mut self.command, &mut state.command);
        swap(&mut self.previous, &mut state.previous);
        swap(&mut self.transaction, &mut state.transaction);
        swap(&mut self.diagnostics, &mut state.diagnostics);
        swap(&mut self.locals, &mut state.locals);
        swap(&mut self.log, &mut state.log);
        swap(&mut self.nested, &mut state.nested);
        swap(&mut self.appends, &mut state.appends);
    }
}
