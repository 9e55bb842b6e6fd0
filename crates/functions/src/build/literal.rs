//! Literals and their types.

use super::ExprBuilder;
use crate::expr::{BoundExpr, boolean_type};
use crate::typing::length::count_chars;
use squall_registry::{Coercibility, ExprType};
use squall_types::{CollationId, IntWidth, SqlType, Value};

impl ExprBuilder<'_> {
    /// A literal of the type that MySQL gives it; strings have the connection's collation.
    pub fn literal(&self, value: Value) -> BoundExpr {
        let ty = literal_type(&value, self.context.settings.collation);
        BoundExpr::Literal(value, ty)
    }

    /// A string literal with an introducer's collation.
    pub fn string_literal(&self, text: impl Into<String>, collation: CollationId) -> BoundExpr {
        let value = Value::String(text.into());
        let ty = literal_type(&value, collation);
        BoundExpr::Literal(value, ty)
    }

    /// TRUE or FALSE.
    pub fn boolean(&self, value: bool) -> BoundExpr {
        BoundExpr::Literal(Value::from(value), boolean_type(false))
    }
}

/// The type of a literal.
pub fn literal_type(value: &Value, collation: CollationId) -> ExprType {
    let numeric = |sql_type| ExprType::numeric(sql_type, false);
    let string = |sql_type| ExprType { sql_type, nullable: false, coercibility: Coercibility::Literal };
    match value {
        Value::Null => ExprType { sql_type: SqlType::Null, nullable: true, coercibility: Coercibility::Ignorable },
        Value::Int(value) => numeric(integer_type(i32::try_from(*value).is_ok(), false)),
        Value::UInt(value) => numeric(integer_type(u32::try_from(*value).is_ok(), true)),
        Value::Double(_) => numeric(SqlType::DOUBLE),
        Value::Decimal(value) => {
            // A zero before the point is a digit of a literal.
            numeric(SqlType::decimal(value.precision().max(value.scale() + 1), value.scale()))
        }
        Value::String(text) => string(SqlType::varchar(count_chars(text), collation)),
        Value::Bytes(bytes) => {
            string(SqlType::varchar(u32::try_from(bytes.len()).unwrap_or(u32::MAX), CollationId::BINARY))
        }
        Value::Date(_) => numeric(SqlType::Date),
        Value::DateTime(value) => numeric(SqlType::DateTime { fsp: fsp_of(value.microsecond()) }),
        Value::Time(value) => numeric(SqlType::Time { fsp: fsp_of(value.microsecond()) }),
        Value::Json(_) => string(SqlType::Json),
    }
}

fn integer_type(fits_int: bool, unsigned: bool) -> SqlType {
    let width = if fits_int { IntWidth::Int } else { IntWidth::Big };
    SqlType::Int { width, unsigned, zerofill: false, display_width: None }
}

/// Digits after the point that microseconds need.
fn fsp_of(micros: u32) -> u8 {
    let mut rest = micros;
    let mut fsp = 6;
    while fsp > 0 && rest.is_multiple_of(10) {
        rest /= 10;
        fsp -= 1;
    }
    fsp
}
