//! Errors and warnings for values that do not fit an operation.

use squall_statement_context::StatementContext;
use squall_types::{ErrorCode, SqlError, SqlMode, SqlResult};

/// What functions warn of that is an error in a statement that writes in strict mode (MySQL's `Strict_error_handler`). The rest stays a
/// warning there.
const STRICT_ERRORS: [ErrorCode; 9] = [
    ErrorCode::TruncatedWrongValue,
    ErrorCode::WrongValueForType,
    ErrorCode::DivisionByZero,
    ErrorCode::WarnCutValueGroupConcat,
    ErrorCode::DatetimeFunctionOverflow,
    ErrorCode::InvalidArgumentForLogarithm,
    ErrorCode::NumericJsonValueOutOfRange,
    ErrorCode::InvalidJsonValueForCast,
    ErrorCode::WarnAllowedPacketOverflowed,
];

fn is_strict_error(error: &SqlError, context: &StatementContext) -> bool {
    context.strict_write && STRICT_ERRORS.iter().any(|code| error.is(*code))
}

/// A warning in a query; in a statement that writes in strict mode an error, if its code is one of those.
pub fn report(error: SqlError, context: &StatementContext) -> SqlResult<()> {
    if is_strict_error(&error, context) {
        return Err(error);
    }
    context.diagnostics.warn(error);
    Ok(())
}

/// The same; of a constant that is converted for each row there is one warning.
pub fn report_once(error: SqlError, context: &StatementContext) -> SqlResult<()> {
    if is_strict_error(&error, context) {
        return Err(error);
    }
    context.diagnostics.warn_unless_last(error);
    Ok(())
}

/// A division by zero gave NULL: with `ERROR_FOR_DIVISION_BY_ZERO` a warning, or in a strict write an error.
pub fn division_by_zero(context: &StatementContext) -> SqlResult<()> {
    if context.settings.sql_mode.contains(SqlMode::ERROR_FOR_DIVISION_BY_ZERO) {
        return report(SqlError::new(ErrorCode::DivisionByZero, &[]), context);
    }
    Ok(())
}

/// The end of a message of 1690 that names no expression.
const EMPTY_PLACE: &str = " in ''";

/// A result is outside of its type. The place of the expression's text stays empty: the evaluation of the call fills
/// it, since a kernel does not know its own text.
pub fn out_of_range(type_name: &str) -> SqlError {
    SqlError::new(ErrorCode::DataOutOfRangeExpr, &[&type_name, &""])
}

/// Whether this is an error of [`out_of_range`] whose place is still empty.
pub fn lacks_expression(error: &SqlError) -> bool {
    error.is(ErrorCode::DataOutOfRangeExpr) && error.message.ends_with(EMPTY_PLACE)
}

/// The error of [`out_of_range`] with the expression's text in its place.
pub fn with_expression(mut error: SqlError, text: &str) -> SqlError {
    error.message.truncate(error.message.len().saturating_sub(1));
    error.message.push_str(text);
    error.message.push('\'');
    error
}
