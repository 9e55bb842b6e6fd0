//! Explicit CAST.

use super::coerce;
use squall_registry::ScalarKernel;
use squall_statement_context::StatementContext;
use squall_types::convert::cast::{CastTarget, cast_value, json_of_text};
use squall_types::convert::context::ConversionContext;
use squall_types::{CollationId, SqlResult, SqlType, StringKind, Value};

/// `CAST(x AS type)`.
#[derive(Debug)]
pub struct CastKernel {
    /// The type of the values.
    pub from: SqlType,
    /// What errors call the operand: a column's name or a function's.
    pub column: Box<str>,
    /// What was asked for.
    pub target: CastTarget,
    /// The type of the result.
    pub to: SqlType,
}

impl ScalarKernel for CastKernel {
    fn eval(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        let Some(value) = arguments.first() else { return Ok(Value::Null) };
        match (value, &self.target) {
            // The common ones have nothing to convert.
            (Value::Null, _) => return Ok(Value::Null),
            (Value::Int(_), CastTarget::Signed) | (Value::UInt(_), CastTarget::Unsigned) if self.from.is_integer() => {
                return Ok(value.clone());
            }
            // It may be long, and is not needed.
            (Value::String(text), CastTarget::Json) => return json_of_text(text),
            _ => {}
        }
        let current_date = match value {
            Value::Time(_) => coerce::now(context).date(),
            _ => squall_types::Date::ZERO,
        };
        let conversion = ConversionContext {
            mode: context.settings.sql_mode,
            time_zone: &context.settings.time_zone,
            current_date,
            table: "",
            column: &self.column,
            row: 1,
        };
        let cast = cast_value(value.clone(), &self.from, &self.target, &conversion)?;
        if let Some(warning) = cast.warning {
            if context.strict_write && warning.level == squall_types::Level::Warning {
                return Err(warning.error);
            }
            context.diagnostics.push(warning.level, warning.error);
        }
        Ok(self.padded(cast.value))
    }
}

impl CastKernel {
    /// BINARY(n) has n bytes.
    fn padded(&self, value: Value) -> Value {
        match (value, &self.to) {
            (Value::Bytes(mut bytes), SqlType::String { kind: StringKind::Char, length, collation })
                if *collation == CollationId::BINARY && bytes.len() < *length as usize =>
            {
                bytes.resize(*length as usize, 0);
                Value::Bytes(bytes)
            }
            (value, _) => value,
        }
    }
}
