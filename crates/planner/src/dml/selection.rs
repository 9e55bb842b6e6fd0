//! The condition of an UPDATE or a DELETE on one row.

use super::DmlContext;
use super::plan::Selection;
use squall_functions::expr::ParameterisedRow;
use squall_types::{SqlResult, Value};

/// Whether a row satisfies the condition.
pub(super) fn matches(selection: &Selection, context: &DmlContext<'_>, values: &[Value]) -> SqlResult<bool> {
    match &selection.condition {
        None => Ok(true),
        Some(condition) => {
            let source = ParameterisedRow { row: values, parameters: context.parameters };
            Ok(condition.eval_condition(&source, &context.env.context)? == Some(true))
        }
    }
}
