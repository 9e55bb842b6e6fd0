//! Converts values of variables and arguments as columns convert theirs.

pub(crate) use squall_planner::converted;
use squall_statement_context::StatementContext;
use squall_types::{SqlResult, SqlType, Value};

/// [`converted`] of a value from a language that gives texts for numbers: for a BIT, a text is the number that it spells. As a text of SQL it would be its
/// bytes.
///
/// # Errors
/// When it does not fit, in strict mode.
pub(crate) fn converted_from_script(
    value: Value,
    from: &SqlType,
    sql_type: &SqlType,
    name: &str,
    context: &StatementContext,
) -> SqlResult<Value> {
    match (value, sql_type) {
        (text @ Value::String(_), SqlType::Bit { .. }) => {
            let number = converted(text, from, &SqlType::BIGINT_UNSIGNED, name, context)?;
            converted(number, &SqlType::BIGINT_UNSIGNED, sql_type, name, context)
        }
        (value, _) => converted(value, from, sql_type, name, context),
    }
}
