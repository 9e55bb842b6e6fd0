//! What may stand in a function or trigger, which run inside of another statement.

use crate::statement_kind::ends_transaction;
use squall_parser::ast::Statement;
use squall_types::{ErrorCode, SqlError, SqlResult};

/// Whether a statement may stand in a `function` or `trigger`: its result and transaction are not its own (1336, 1415, 1422).
pub(crate) fn check_inside(statement: &Statement, of: &str) -> SqlResult<()> {
    let gives_rows = match statement {
        Statement::Query(query) => query.into.is_none(),
        Statement::Show(_) | Statement::Explain(_) | Statement::DescribeTable(_) | Statement::TableMaintenance(_) => {
            true
        }
        _ => false,
    };
    if gives_rows {
        return Err(SqlError::new(ErrorCode::SpNoResultSet, &[&of]));
    }
    let refused = |what: &str| Err(SqlError::new(ErrorCode::NotAllowedInFunctionOrTrigger, &[&what]));
    match statement {
        Statement::Prepare(_) | Statement::Execute(_) | Statement::ExecuteImmediate(_) | Statement::Deallocate(_) => {
            refused("Dynamic SQL")
        }
        Statement::Flush(_) => refused("FLUSH"),
        Statement::Reset(_) => refused("RESET"),
        statement if ends_transaction(statement) => {
            Err(SqlError::new(ErrorCode::CommitNotAllowedInFunctionOrTrigger, &[]))
        }
        _ => Ok(()),
    }
}
