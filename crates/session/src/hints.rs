//! Optimizer hints. MAX_EXECUTION_TIME limits the time of a statement; the others only guide its plan.

use squall_parser::ast::{Query, QueryBody};

/// The milliseconds of `/*+ MAX_EXECUTION_TIME(n) */` in a query's first SELECT. MySQL forgives hints that it does not
/// understand; so is a number here that is none.
pub(crate) fn max_execution_millis(query: &Query) -> Option<u64> {
    const NAME: &str = "MAX_EXECUTION_TIME";
    let mut body = &query.body;
    let select = loop {
        match body {
            QueryBody::Select(select) => break select,
            QueryBody::SetOperation(operation) => body = &operation.left,
            QueryBody::Nested(query) => body = &query.body,
            QueryBody::Values(_) | QueryBody::Table(_) => return None,
        }
    };
    let hints = select.hints.as_deref()?.to_ascii_uppercase();
    let argument = hints[hints.find(NAME)? + NAME.len()..].trim_start().strip_prefix('(')?;
    argument[..argument.find(')')?].trim().parse().ok()
}
