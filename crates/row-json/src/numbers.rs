//! Numbers of JSON: their text is kept, as a floating-point number would lose digits of it.

use serde::de::{Error, MapAccess};
use squall_types::{Decimal, Value};

/// The library's name for a number whose text it keeps.
pub const NUMBER: &str = "$serde_json::private::Number";

/// Takes numbers, however they are given, to the visitor's method `number`.
#[macro_export]
macro_rules! visit_numbers {
    () => {
        fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Self::Value, E> {
            Ok(self.number(&number.to_string()))
        }

        fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Self::Value, E> {
            Ok(self.number(&number.to_string()))
        }

        fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Self::Value, E> {
            Ok(self.number(&number.to_string()))
        }
    };
}

/// The number that is behind the library's name for one. The name may come from a client, too.
///
/// # Errors
/// When it is no number.
pub fn number_behind<'de, A: MapAccess<'de>>(members: &mut A) -> Result<String, A::Error> {
    let text = members.next_value::<String>()?;
    text.parse::<serde_json::Number>().map(|number| number.to_string()).map_err(A::Error::custom)
}

/// A number as SQL reads it: an integer, a DECIMAL with a point, a DOUBLE with an exponent or with more digits than a DECIMAL has; `None` past
/// the greatest DOUBLE.
pub fn number_value(text: &str) -> Option<Value> {
    if let Ok(value) = text.parse::<i64>() {
        return Some(Value::Int(value));
    }
    if let Ok(value) = text.parse::<u64>() {
        return Some(Value::UInt(value));
    }
    let decimal = Decimal::parse(text);
    if !text.contains(['e', 'E']) && !decimal.overflow && !decimal.rounded {
        return Some(Value::Decimal(decimal.value));
    }
    text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::Double)
}
