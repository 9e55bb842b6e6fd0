//! Explicit CAST: like the implicit conversions, with lengths enforced.

use super::convert::convert_value;
use super::{coerce, report};
use squall_registry::{ScalarKernel, StatementContext};
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, SqlType, StringKind, Value};

/// `CAST(x AS type)`.
#[derive(Debug)]
pub struct CastKernel {
    /// The type of the values.
    pub from: SqlType,
    /// The type of the result.
    pub to: SqlType,
    /// The length that was written, for CHAR(n) and BINARY(n).
    pub length: Option<u32>,
}

impl ScalarKernel for CastKernel {
    fn eval(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        let Some(value) = arguments.first() else { return Ok(Value::Null) };
        if value.is_null() {
            return Ok(Value::Null);
        }
        match &self.to {
            SqlType::Int { unsigned, .. } => self.to_integer(value, *unsigned, context),
            SqlType::String { .. } => self.to_string(value, context),
            SqlType::Date | SqlType::DateTime { .. } => {
                // Without NO_ZERO_DATE a zero date is a date; with it NULL and a warning.
                let result = convert_value(value, &self.from, &self.to, context)?;
                Ok(result)
            }
            _ => convert_value(value, &self.from, &self.to, context),
        }
    }
}

impl CastKernel {
    /// A negative number as UNSIGNED is its two's complement, and a large one as SIGNED likewise, with a warning.
    fn to_integer(&self, value: &Value, unsigned: bool, context: &StatementContext) -> SqlResult<Value> {
        let Some(number) = coerce::to_integer(value, &self.from, context)? else { return Ok(Value::Null) };
        let from_text = matches!(value, Value::String(_) | Value::Bytes(_));
        if unsigned {
            if let Ok(number) = u64::try_from(number) {
                return Ok(Value::UInt(number));
            }
            if let Ok(number) = i64::try_from(number) {
                if from_text {
                    context.diagnostics.warn(SqlError::with_message(
                        ErrorCode::UnknownError,
                        "Cast to unsigned converted negative integer to its positive complement",
                    ));
                }
                if !matches!(value, Value::Decimal(_) | Value::Double(_)) {
                    return Ok(Value::UInt(number as u64));
                }
                if matches!(value, Value::Double(_)) {
                    return Ok(Value::UInt(number as u64));
                }
            }
            self.warn_truncated(value, context)?;
            return Ok(Value::UInt(if number < 0 { 0 } else { u64::MAX }));
        }
        if let Ok(number) = i64::try_from(number) {
            return Ok(Value::Int(number));
        }
        if let (Ok(number), true) = (u64::try_from(number), matches!(value, Value::UInt(_) | Value::String(_))) {
            if from_text {
                context.diagnostics.warn(SqlError::with_message(
                    ErrorCode::UnknownError,
                    "Cast to signed converted positive out-of-range integer to its negative complement",
                ));
            }
            return Ok(Value::Int(number as i64));
        }
        self.warn_truncated(value, context)?;
        Ok(Value::Int(if number < 0 { i64::MIN } else { i64::MAX }))
    }

    fn warn_truncated(&self, value: &Value, context: &StatementContext) -> SqlResult<()> {
        let kind = if matches!(value, Value::Decimal(_)) { "DECIMAL" } else { "INTEGER" };
        let text = coerce::to_text(value, &self.from).unwrap_or_default();
        report(SqlError::new(ErrorCode::TruncatedWrongValue, &[&kind, &text]), context)
    }

    fn to_string(&self, value: &Value, context: &StatementContext) -> SqlResult<Value> {
        let result = match (value, &self.to) {
            // Bytes that are no characters give NULL and a warning, not an error, in an explicit cast.
            (Value::Bytes(_), to) if !to.is_binary_string() => {
                match convert_value(value, &self.from, &self.to, context) {
                    Ok(value) => value,
                    Err(error) => {
                        report(error, context)?;
                        return Ok(Value::Null);
                    }
                }
            }
            _ => convert_value(value, &self.from, &self.to, context)?,
        };
        let Some(length) = self.length else { return Ok(result) };
        match result {
            Value::String(text) => match text.char_indices().nth(length as usize) {
                Some((end, _)) => {
                    self.warn_cut("CHAR", length, &text, context)?;
                    Ok(Value::String(text[..end].to_string()))
                }
                None => Ok(Value::String(text)),
            },
            Value::Bytes(mut bytes) => {
                if bytes.len() > length as usize {
                    self.warn_cut("BINARY", length, &String::from_utf8_lossy(&bytes), context)?;
                    bytes.truncate(length as usize);
                } else if matches!(self.to, SqlType::String { kind: StringKind::Char, collation, .. }
                    if collation == CollationId::BINARY)
                {
                    bytes.resize(length as usize, 0);
                }
                Ok(Value::Bytes(bytes))
            }
            other => Ok(other),
        }
    }

    fn warn_cut(&self, kind: &str, length: u32, text: &str, context: &StatementContext) -> SqlResult<()> {
        let kind = format!("{kind}({length})");
        report(SqlError::new(ErrorCode::TruncatedWrongValue, &[&kind, &text]), context)
    }
}
