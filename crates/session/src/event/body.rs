//! What an event does: a statement, or statements between BEGIN and END.

use squall_parser::ast::{ProgramStatement, Span, Statement};
use squall_types::{ErrorCode, SqlError, SqlResult};

/// Appends the sources of a body's statements, in the order in which they run. `whole` is the body's own.
///
/// # Errors
/// 1576 for statements about events; 1235 for what only a stored program could do: variables, handlers, IF and loops.
pub(super) fn push_statements(body: &Statement, whole: Span, spans: &mut Vec<Span>) -> SqlResult<()> {
    match body {
        Statement::Program(program) => match &**program {
            ProgramStatement::Block(block) if block.declarations.is_empty() => {
                let mut statements = block.statements.iter().zip(&block.spans);
                statements.try_for_each(|(statement, span)| push_statements(statement, *span, spans))
            }
            _ => {
                let what = "Events with more than statements between BEGIN and END (no variables, IF, CASE, loops and handlers)";
                Err(SqlError::unsupported(what))
            }
        },
        Statement::CreateEvent(_) | Statement::DropEvent(_) => {
            Err(SqlError::new(ErrorCode::EventRecursionForbidden, &[]))
        }
        _ => {
            spans.push(whole);
            Ok(())
        }
    }
}
