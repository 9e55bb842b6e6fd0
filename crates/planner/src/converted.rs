//! Converts values that no table stores as columns convert theirs.

use squall_column_tables::from_utc;
use squall_statement_context::StatementContext;
use squall_types::convert::{ConversionContext, store_value};
use squall_types::{Date, SqlResult, SqlType, Value};

/// A value as a column of some type and name would hold it.
///
/// # Errors
/// When it does not fit, in strict mode.
pub fn converted(
    value: Value,
    from: &SqlType,
    sql_type: &SqlType,
    name: &str,
    context: &StatementContext,
) -> SqlResult<Value> {
    let today = context.settings.time_zone.from_unix_micros(context.now_micros).map_or(Date::ZERO, |now| now.date());
    let conversion = ConversionContext {
        mode: context.settings.sql_mode,
        time_zone: &context.settings.time_zone,
        current_date: today,
        table: "",
        column: name,
        row: 1,
    };
    let mut warnings = Vec::new();
    let stored = store_value(value, from, sql_type, &conversion);
    let stored = stored.resolve(context.settings.sql_mode.is_strict(), &mut warnings)?;
    for warning in warnings {
        context.diagnostics.push(warning.level, warning.error);
    }
    Ok(match (stored, sql_type) {
        // As statements see it, not as it is stored.
        (Value::DateTime(moment), SqlType::Timestamp { .. }) => {
            Value::DateTime(from_utc(&context.settings.time_zone, moment))
        }
        (stored, _) => stored,
    })
}
