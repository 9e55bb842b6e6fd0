//! Converts values to the types of columns.

use super::target::{RowMaker, zero_value};
use squall_catalog::ColumnDef;
use squall_column_tables::from_utc;
use squall_types::convert::{ConversionContext, store_value};
use squall_types::{CollationId, SqlResult, SqlType, StringKind, Value};

impl RowMaker<'_> {
    /// A value as the column holds it; a TIMESTAMP in the session's time zone. `row_number` counts from 1, for warnings.
    ///
    /// # Errors
    /// 1048 for NULL, and those of conversions in strict mode.
    pub fn convert(&self, column: &ColumnDef, value: Value, from: &SqlType, row_number: u64) -> SqlResult<Value> {
        if value.is_null() {
            return self.null(column);
        }
        to_column(self, column, value, from, row_number)
    }
}

/// A value that is not NULL as the column holds it.
fn to_column(
    maker: &RowMaker<'_>,
    column: &ColumnDef,
    value: Value,
    from: &SqlType,
    row_number: u64,
) -> SqlResult<Value> {
    if fits(&value, &column.sql_type) {
        return Ok(value);
    }
    if let (SqlType::Int { width, unsigned: true, .. }, Value::Int(number)) = (&column.sql_type, &value)
        && let Ok(number) = u64::try_from(*number)
        && number >> (width.bits() - 1) <= 1
    {
        return Ok(Value::UInt(number));
    }
    let env = maker.env;
    let context = ConversionContext {
        mode: env.context.settings.sql_mode,
        time_zone: &env.context.settings.time_zone,
        current_date: env.current_date,
        table: &maker.target.def().name,
        column: &column.name,
        row: row_number,
    };
    let mut warnings = Vec::new();
    let resolved = store_value(value, from, &column.sql_type, &context).resolve(maker.strict, &mut warnings);
    for warning in warnings {
        env.context.diagnostics.push(warning.level, warning.error);
    }
    Ok(match (resolved?, &column.sql_type) {
        (Value::DateTime(moment), SqlType::Timestamp { .. }) => {
            Value::DateTime(from_utc(&env.context.settings.time_zone, moment))
        }
        // A HEX or UUID that was none.
        (Value::Null, sql_type) if !column.nullable => zero_value(sql_type),
        (value, _) => value,
    })
}

/// Whether a value is one of the type's as it is, for the types that most rows are made of.
fn fits(value: &Value, sql_type: &SqlType) -> bool {
    match (sql_type, value) {
        (SqlType::Int { width, unsigned, .. }, Value::Int(number)) => {
            let bits = width.bits();
            // Unsigned columns hold another kind of value.
            !*unsigned && (bits == 64 || (-(1i64 << (bits - 1))..1i64 << (bits - 1)).contains(number))
        }
        // No text has more characters than bytes.
        (SqlType::String { kind: StringKind::Varchar, length, collation }, Value::String(text)) => {
            *collation == CollationId::UTF8MB4_0900_AI_CI && text.len() <= *length as usize
        }
        _ => false,
    }
}
