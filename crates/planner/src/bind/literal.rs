//! Literals and parameters.

use super::context::Context;
use squall_functions::build::ExprBuilder;
use squall_functions::expr::BoundExpr;
use squall_parser::ast;
use squall_types::temporal::DateRules;
use squall_types::temporal::parse::{parse_date, parse_datetime, parse_time};
use squall_types::{Charset, CollationId, Decimal, ErrorCode, SqlError, SqlResult, Value};

/// Binds a literal.
pub(crate) fn bind_literal(builder: &ExprBuilder<'_>, literal: &ast::Literal) -> SqlResult<BoundExpr> {
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
        ast::Literal::String(literal) => bind_string(builder, literal)?,
        ast::Literal::Hex { introducer, value } | ast::Literal::Bit { introducer, value } => match introducer {
            Some(charset) => bytes_of(builder, value.as_bytes(), charset)?,
            None => builder.literal(Value::Bytes(value.as_bytes().to_vec())),
        },
        ast::Literal::Temporal { kind, text } => bind_temporal(builder, *kind, text)?,
    })
}

fn bind_string(builder: &ExprBuilder<'_>, literal: &ast::StringLiteral) -> SqlResult<BoundExpr> {
    let bytes = literal.value.as_bytes();
    if let Some(charset) = &literal.introducer {
        return bytes_of(builder, bytes, charset);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(builder.string_literal(text, builder.context().settings.collation)),
        // Dumps have the values of binary columns so. A column of text refuses them.
        Err(_) => {
            builder.context().diagnostics.warn(invalid_string("utf8mb4", bytes));
            Ok(builder.literal(Value::Bytes(bytes.to_vec())))
        }
    }
}

/// Bytes of a character set as a string of it.
fn bytes_of(builder: &ExprBuilder<'_>, bytes: &[u8], charset: &str) -> SqlResult<BoundExpr> {
    let collation = Charset::named(charset)?.default_collation();
    if collation == CollationId::BINARY {
        return Ok(builder.literal(Value::Bytes(bytes.to_vec())));
    }
    let decoded = collation.charset().decode_padded(bytes);
    match decoded.invalid_at {
        None => Ok(builder.string_literal(decoded.text, collation)),
        Some(_) => Err(invalid_string(charset, bytes)),
    }
}

fn bind_temporal(builder: &ExprBuilder<'_>, kind: ast::TemporalKind, text: &str) -> SqlResult<BoundExpr> {
    let rules = DateRules::from(builder.context().settings.sql_mode);
    let (name, value) = match kind {
        ast::TemporalKind::Date => {
            ("DATE", parse_date(text, rules).ok().filter(|p| !p.truncated).map(|p| Value::Date(p.value)))
        }
        ast::TemporalKind::Time => {
            ("TIME", parse_time(text).ok().filter(|p| !p.truncated).map(|p| Value::Time(p.value)))
        }
        ast::TemporalKind::Timestamp => {
            ("DATETIME", parse_datetime(text, rules).ok().filter(|p| !p.truncated).map(|p| Value::DateTime(p.value)))
        }
    };
    match value {
        Some(value) => Ok(builder.literal(value)),
        None => Err(SqlError::new(ErrorCode::WrongValue, &[&name, &text])),
    }
}

/// Binds a number behind a minus where it stands.
pub(crate) fn bind_negative(builder: &ExprBuilder<'_>, literal: &ast::Literal) -> SqlResult<BoundExpr> {
    // The least BIGINT, whose digits alone are beyond BIGINT.
    match literal {
        ast::Literal::Integer(digits) if &**digits == "9223372036854775808" => {
            Ok(builder.literal(Value::Int(i64::MIN)))
        }
        literal => builder.negate(bind_literal(builder, literal)?),
    }
}

impl Context<'_> {
    /// A parameter's value; `None` when the statement is only prepared.
    pub fn parameter(&self, number: u32) -> Option<Value> {
        self.binder.params.get(number as usize).cloned()
    }

    /// Binds `?`.
    pub fn bind_parameter(&mut self, number: u32) -> BoundExpr {
        self.binder.bind_parameter(number).unwrap_or_else(|| {
            self.lacks_values = true;
            BoundExpr::null()
        })
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
