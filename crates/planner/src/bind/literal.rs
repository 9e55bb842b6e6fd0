//! Literals and parameters.

use super::context::Context;
use super::types::charset_collation;
use squall_functions::expr::BoundExpr;
use squall_parser::ast;
use squall_types::temporal::DateRules;
use squall_types::temporal::parse::{parse_date, parse_datetime, parse_time};
use squall_types::{Charset, CollationId, Decimal, ErrorCode, SqlError, SqlResult, Value};

impl Context<'_> {
    /// Binds a literal.
    pub fn bind_literal(&self, literal: &ast::Literal) -> SqlResult<BoundExpr> {
        let builder = self.binder.builder();
        Ok(match literal {
            ast::Literal::Null => BoundExpr::null(),
            ast::Literal::Boolean(value) => builder.boolean(*value),
            ast::Literal::Integer(digits) => builder.literal(integer(digits)),
            ast::Literal::Decimal(digits) => {
                let parsed = Decimal::parse(digits);
                if parsed.overflow {
                    builder.literal(Value::Double(digits.parse().unwrap_or(f64::MAX)))
                } else {
                    builder.literal(Value::Decimal(parsed.value))
                }
            }
            ast::Literal::Float(digits) => match digits.parse::<f64>() {
                Ok(number) if number.is_finite() => builder.literal(Value::Double(number)),
                _ => return Err(SqlError::new(ErrorCode::IllegalValueForType, &[&"double", digits])),
            },
            ast::Literal::String(literal) => self.bind_string(literal)?,
            ast::Literal::Hex { introducer, value } | ast::Literal::Bit { introducer, value } => match introducer {
                Some(charset) => self.bytes_of(value.as_bytes(), charset)?,
                None => builder.literal(Value::Bytes(value.as_bytes().to_vec())),
            },
            ast::Literal::Temporal { kind, text } => self.bind_temporal(*kind, text)?,
        })
    }

    fn bind_string(&self, literal: &ast::StringLiteral) -> SqlResult<BoundExpr> {
        let bytes = literal.value.as_bytes();
        if let Some(charset) = &literal.introducer {
            return self.bytes_of(bytes, charset);
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(self.binder.builder().string_literal(text, self.binder.context.collation)),
            // Dumps have the values of binary columns so. A column of text refuses them.
            Err(_) => {
                self.binder.context.diagnostics.warn(invalid_string("utf8mb4", bytes));
                Ok(self.binder.builder().literal(Value::Bytes(bytes.to_vec())))
            }
        }
    }

    /// Bytes of a character set as a string of it.
    fn bytes_of(&self, bytes: &[u8], charset: &str) -> SqlResult<BoundExpr> {
        let collation = charset_collation(charset)?;
        if collation == CollationId::BINARY {
            return Ok(self.binder.builder().literal(Value::Bytes(bytes.to_vec())));
        }
        // Digits of a part of a character stand for its end.
        let unit = match collation.charset() {
            Charset::Ucs2 | Charset::Utf16 | Charset::Utf16le => 2,
            Charset::Utf32 => 4,
            _ => 1,
        };
        let mut padded = vec![0; bytes.len().next_multiple_of(unit) - bytes.len()];
        padded.extend_from_slice(bytes);
        let decoded = collation.charset().decode(&padded);
        match decoded.invalid_at {
            None => Ok(self.binder.builder().string_literal(decoded.text, collation)),
            Some(_) => Err(invalid_string(charset, bytes)),
        }
    }

    fn bind_temporal(&self, kind: ast::TemporalKind, text: &str) -> SqlResult<BoundExpr> {
        let rules = DateRules::from(self.binder.context.sql_mode);
        let (name, value) = match kind {
            ast::TemporalKind::Date => {
                ("DATE", parse_date(text, rules).ok().filter(|p| !p.truncated).map(|p| Value::Date(p.value)))
            }
            ast::TemporalKind::Time => {
                ("TIME", parse_time(text).ok().filter(|p| !p.truncated).map(|p| Value::Time(p.value)))
            }
            ast::TemporalKind::Timestamp => (
                "DATETIME",
                parse_datetime(text, rules).ok().filter(|p| !p.truncated).map(|p| Value::DateTime(p.value)),
            ),
        };
        match value {
            Some(value) => Ok(self.binder.builder().literal(value)),
            None => Err(SqlError::new(ErrorCode::WrongValue, &[&name, &text])),
        }
    }

    /// A parameter's value; `None` when the statement is only prepared.
    pub fn parameter(&self, number: u32) -> Option<Value> {
        self.binder.params.get(number as usize).cloned()
    }

    /// Binds `?`.
    pub fn bind_parameter(&self, number: u32) -> BoundExpr {
        self.binder.bind_parameter(number).unwrap_or_else(BoundExpr::null)
    }
}

fn integer(digits: &str) -> Value {
    if let Ok(number) = digits.parse::<i64>() {
        return Value::Int(number);
    }
    if let Ok(number) = digits.parse::<u64>() {
        return Value::UInt(number);
    }
    let parsed = Decimal::parse(digits);
    if parsed.overflow { Value::Double(digits.parse().unwrap_or(f64::MAX)) } else { Value::Decimal(parsed.value) }
}

fn invalid_string(charset: &str, bytes: &[u8]) -> SqlError {
    let shown: String = bytes.iter().take(6).map(|byte| format!("{byte:02X}")).collect();
    SqlError::new(ErrorCode::InvalidCharacterString, &[&charset, &shown])
}
