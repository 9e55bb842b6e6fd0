//! Kinds of parameter values. A cached plan depends on them, not on the values.

use squall_registry::{Coercibility, ExprType};
use squall_types::{CollationId, IntWidth, SqlType, Value};

/// Characters of a string parameter, as far as its type says: as many as a VARCHAR may have.
const STRING_LENGTH: u32 = 65_535;

/// The kind of a parameter's value. Values of one kind are bound alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// NULL.
    Null,
    /// A signed integer.
    Int,
    /// A signed integer that is not negative: beside an unsigned column it is as good as unsigned.
    NonNegative,
    /// An unsigned integer.
    UInt,
    /// A DOUBLE.
    Double,
    /// A character string.
    String,
    /// A byte string.
    Bytes,
}

impl ParameterKind {
    /// The kind of a value; `None` for those whose types have digits that differ from value to value.
    pub fn of(value: &Value) -> Option<ParameterKind> {
        Some(match value {
            Value::Null => ParameterKind::Null,
            Value::Int(0..) => ParameterKind::NonNegative,
            Value::Int(_) => ParameterKind::Int,
            Value::UInt(_) => ParameterKind::UInt,
            Value::Double(_) => ParameterKind::Double,
            Value::String(_) => ParameterKind::String,
            Value::Bytes(_) => ParameterKind::Bytes,
            Value::Decimal(_) | Value::Date(_) | Value::DateTime(_) | Value::Time(_) | Value::Json(_) => return None,
        })
    }

    /// Whether a plan for parameters of this kind holds for a value.
    pub fn holds_for(self, value: &Value) -> bool {
        match (self, ParameterKind::of(value)) {
            (ParameterKind::Int, Some(ParameterKind::NonNegative)) => true,
            (kind, of_value) => of_value == Some(kind),
        }
    }

    /// The type that such parameters are bound with; `None` for NULL, which is bound as what it is.
    pub fn expr_type(self, collation: CollationId) -> Option<ExprType> {
        let big = |unsigned| SqlType::Int { width: IntWidth::Big, unsigned, zerofill: false, display_width: None };
        let (sql_type, coercibility) = match self {
            ParameterKind::Null => return None,
            ParameterKind::Int | ParameterKind::NonNegative => (big(false), Coercibility::Numeric),
            ParameterKind::UInt => (big(true), Coercibility::Numeric),
            ParameterKind::Double => (SqlType::DOUBLE, Coercibility::Numeric),
            ParameterKind::String => (SqlType::varchar(STRING_LENGTH, collation), Coercibility::Literal),
            ParameterKind::Bytes => (SqlType::varchar(STRING_LENGTH, CollationId::BINARY), Coercibility::Literal),
        };
        Some(ExprType { sql_type, nullable: false, coercibility })
    }
}
