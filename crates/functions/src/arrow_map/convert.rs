//! Converts values to DataFusion scalars and back.

use super::{ValueArrayBuilder, arrow_type, value_at};
use arrow::array::ArrayRef;
use datafusion::common::ScalarValue;
use squall_types::{SqlError, SqlResult, SqlType, Value};

/// The scalar of a value, in the Arrow type of its MySQL type.
pub fn value_to_scalar(value: &Value, sql_type: &SqlType) -> SqlResult<ScalarValue> {
    match value {
        Value::Null => ScalarValue::try_from(&arrow_type(sql_type)).map_err(crate::error::sql_error_from),
        _ => {
            let array = array_of_value(value, sql_type, 1)?;
            ScalarValue::try_from_array(&array, 0).map_err(crate::error::sql_error_from)
        }
    }
}

/// The value of a scalar.
pub fn scalar_to_value(scalar: &ScalarValue, sql_type: &SqlType) -> SqlResult<Value> {
    if scalar.is_null() {
        return Ok(Value::Null);
    }
    match (scalar, sql_type) {
        (ScalarValue::Int64(Some(value)), SqlType::Int { unsigned: false, .. }) => Ok(Value::Int(*value)),
        (ScalarValue::Float64(Some(value)), _) => Ok(Value::Double(*value)),
        _ => {
            let array = scalar.to_array().map_err(|error| SqlError::internal(error.to_string()))?;
            value_at(&array, 0, sql_type)
        }
    }
}

/// An array of `count` times one value.
pub fn array_of_value(value: &Value, sql_type: &SqlType, count: usize) -> SqlResult<ArrayRef> {
    let mut builder = ValueArrayBuilder::new(sql_type, count);
    for _ in 0..count {
        builder.append(value)?;
    }
    Ok(builder.finish())
}
