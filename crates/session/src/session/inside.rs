//! The statements that a session is inside of.

use super::Session;
use crate::statement_kind::refused_in_function;
use squall_parser::ast::Statement;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::Arc;

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
    /// 1424 for statements too deep inside of each other.
    pub(crate) fn check_depth(&self) -> SqlResult<()> {
        match self.nesting.session_depth >= DEPTH_MAX {
            true => Err(SqlError::new(ErrorCode::SpNoRecursion, &[])),
            false => Ok(()),
        }
    }

    /// Whether a trigger runs, or what one has called.
    pub(crate) fn is_in_trigger(&self) -> bool {
        self.nesting.inside.as_ref().is_some_and(|inside| inside.is_in_trigger)
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
