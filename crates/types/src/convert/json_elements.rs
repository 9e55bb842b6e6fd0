//! Converts documents to arrays of values of one type: `CAST(document AS type ARRAY)` for multi-valued keys.

use super::{ConversionContext, store_value};
use crate::json::Json;
use crate::temporal::TimeZone;
use crate::{CollationId, Date, ErrorCode, Level, SqlError, SqlMode, SqlType, Value};

/// Why a value is none of the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementError {
    /// It is of another kind: text that is no number, `null`.
    Invalid,
    /// A number beyond the type's.
    OutOfRange,
    /// A text of more characters than the type has.
    TooLong,
    /// An array or object where one value is wanted.
    NotScalar,
}

impl ElementError {
    /// As a change of rows reports it: of the key.
    pub fn of_index(self, index: &str) -> SqlError {
        let code = match self {
            ElementError::Invalid => ErrorCode::InvalidJsonValueForFunctionalIndex,
            ElementError::OutOfRange => ErrorCode::JsonValueOutOfRangeForFunctionalIndex,
            ElementError::TooLong => ErrorCode::FunctionalIndexDataTooLong,
            ElementError::NotScalar => ErrorCode::WrongMultiValuedValue,
        };
        SqlError::new(code, &[&index])
    }
}

/// The elements of a document as values of a type: those of an array, or a scalar as the only one. The document `null` is the same
/// NULL as a missing document.
///
/// Equal JSON values become equal values of the type, so that a key finds all equal values.
pub fn elements(document: &Json, element_type: &SqlType) -> Result<Vec<Value>, ElementError> {
    match document {
        Json::Null => Ok(vec![Value::Null]),
        Json::Array(all) => all.iter().map(|value| element(value, element_type)).collect(),
        one => Ok(vec![element(one, element_type)?]),
    }
}

/// One value as one of the type.
pub fn element(value: &Json, element_type: &SqlType) -> Result<Value, ElementError> {
    let scalar = match value {
        Json::Array(_) | Json::Object(_) => return Err(ElementError::NotScalar),
        Json::Null => return Err(ElementError::Invalid),
        // Numbers and truths as texts are what they print as.
        scalar if element_type.is_string() => Value::String(scalar.unquoted()),
        scalar => {
            let value = if element_type.is_temporal() { scalar.to_temporal_value() } else { None };
            value.or_else(|| scalar.to_number_value()).ok_or(ElementError::Invalid)?
        }
    };
    let from = match &scalar {
        Value::Int(_) => SqlType::BIGINT,
        Value::UInt(_) => SqlType::BIGINT_UNSIGNED,
        Value::Double(_) => SqlType::DOUBLE,
        Value::Decimal(number) => SqlType::decimal(65, number.scale()),
        Value::Date(_) => SqlType::Date,
        Value::Time(_) => SqlType::Time { fsp: 6 },
        Value::DateTime(_) => SqlType::DateTime { fsp: 6 },
        _ => SqlType::longtext(CollationId::UTF8MB4_0900_BIN),
    };
    let context = ConversionContext {
        mode: SqlMode::default(),
        time_zone: &TimeZone::utc(),
        current_date: Date::ZERO,
        table: "",
        column: "",
        row: 1,
    };
    let mut warnings = Vec::new();
    match store_value(scalar, &from, element_type, &context).resolve(true, &mut warnings) {
        Ok(Value::Null) => Err(ElementError::Invalid),
        Ok(value) if warnings.iter().all(|warning| warning.level == Level::Note) => Ok(value),
        Ok(_) => Err(ElementError::Invalid),
        Err(error) if error.is(ErrorCode::DataOutOfRange) => Err(ElementError::OutOfRange),
        Err(error) if error.is(ErrorCode::DataTooLong) => Err(ElementError::TooLong),
        Err(_) => Err(ElementError::Invalid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StringKind;

    fn of(text: &str, element_type: &SqlType) -> Result<Vec<Value>, ElementError> {
        elements(&Json::parse(text).unwrap(), element_type)
    }

    #[test]
    fn arrays_scalars_and_null() {
        let unsigned = SqlType::BIGINT_UNSIGNED;
        assert_eq!(
            of("[1, 2, 18446744073709551615]", &unsigned),
            Ok(vec![1u64, 2, u64::MAX].into_iter().map(Value::UInt).collect())
        );
        assert_eq!(of("7", &unsigned), Ok(vec![Value::UInt(7)]));
        assert_eq!(of("[]", &unsigned), Ok(Vec::new()));
        assert_eq!(of("null", &unsigned), Ok(vec![Value::Null]));
        assert_eq!(of("[1.0, \"2\"]", &unsigned), Ok(vec![Value::UInt(1), Value::UInt(2)]));
    }

    #[test]
    fn what_is_no_element() {
        let unsigned = SqlType::BIGINT_UNSIGNED;
        assert_eq!(of("[-1]", &unsigned), Err(ElementError::OutOfRange));
        assert_eq!(of("[\"a\"]", &unsigned), Err(ElementError::Invalid));
        assert_eq!(of("[null]", &unsigned), Err(ElementError::Invalid));
        assert_eq!(of("[[1]]", &unsigned), Err(ElementError::NotScalar));
        assert_eq!(of("{\"a\": 1}", &unsigned), Err(ElementError::NotScalar));
        let text = SqlType::String { kind: StringKind::Varchar, length: 2, collation: CollationId::UTF8MB4_0900_BIN };
        assert_eq!(of("[\"äß\", 5]", &text), Ok(vec![Value::String("äß".into()), Value::String("5".into())]));
        assert_eq!(of("[\"abc\"]", &text), Err(ElementError::TooLong));
        assert_eq!(of("[\"2020-02-30\"]", &SqlType::Date), Err(ElementError::Invalid));
    }
}
