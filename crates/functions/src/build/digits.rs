//! HEX and UUID values: their order is that of their bytes, which is also that of their texts.
//!
//! A constant text that is compared by `<` or LIKE need not be a complete value: `h >= '0a' AND h < '0b'` asks for values that begin
//! with `0a`. It becomes a value of the type, so that an index can be used.

use super::ExprBuilder;
use crate::expr::{BoundExpr, CompareOp};
use squall_registry::ExprType;
use squall_types::hex::{parse_hex, uuid_digits, write_hex};
use squall_types::{SqlError, SqlResult, SqlType, Value};

/// Where a constant lies among the values of a type.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// At a value.
    At(Vec<u8>),
    /// Before a value, and behind the one before that.
    Before(Vec<u8>),
    /// Behind a value, and before the next one.
    Behind(Vec<u8>),
}

impl Place {
    /// The place of digits of any case among values of `bytes` bytes; `None` if they are none.
    fn of(digits: &str, bytes: usize) -> Option<Place> {
        let count = 2 * bytes;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let first = digits.get(..count).unwrap_or(digits);
        let value = parse_hex(format!("{first:0<count$}").as_bytes())?;
        Some(match digits.len().cmp(&count) {
            std::cmp::Ordering::Less => Place::Before(value),
            std::cmp::Ordering::Equal => Place::At(value),
            std::cmp::Ordering::Greater => Place::Behind(value),
        })
    }

    /// A comparison of a value with the place, as one with a value.
    fn compared(self, op: CompareOp) -> (CompareOp, Vec<u8>) {
        let is_less = matches!(op, CompareOp::Less | CompareOp::LessOrEqual);
        match self {
            Place::At(value) => (op, value),
            Place::Before(value) => (if is_less { CompareOp::Less } else { CompareOp::GreaterOrEqual }, value),
            Place::Behind(value) => (if is_less { CompareOp::LessOrEqual } else { CompareOp::Greater }, value),
        }
    }
}

fn hex_of(bytes: &[u8]) -> String {
    let mut digits = Vec::with_capacity(2 * bytes.len());
    write_hex(bytes, &mut digits);
    String::from_utf8_lossy(&digits).into_owned()
}

/// The digits that a constant has, if it begins like a text of the type.
fn digits_of(value: &Value, ty: &SqlType) -> Option<String> {
    match (value, ty) {
        (Value::Bytes(bytes), _) => Some(hex_of(bytes)),
        (Value::String(text), SqlType::Uuid) => Some(uuid_digits(text).into_owned()),
        (Value::String(text), _) => {
            Some(text.strip_prefix("0x").or(text.strip_prefix("0X")).unwrap_or(text).to_string())
        }
        _ => None,
    }
}

impl ExprBuilder<'_> {
    /// `left op right` where one side is a HEX or UUID and the other a string; `None` if it is not.
    pub(super) fn compare_digits_in_order(
        &self,
        op: CompareOp,
        left: &BoundExpr,
        right: &BoundExpr,
    ) -> SqlResult<Option<BoundExpr>> {
        use CompareOp::{Greater, GreaterOrEqual, Less, LessOrEqual};
        if !matches!(op, Less | LessOrEqual | Greater | GreaterOrEqual) {
            return Ok(None);
        }
        let (digits, op, other) = match (left.sql_type().digit_bytes(), right.sql_type().digit_bytes()) {
            (Some(_), None) => (left, op, right),
            (None, Some(_)) => (right, op.swapped(), left),
            _ => return Ok(None),
        };
        let (ty, other_type) = (digits.sql_type(), other.sql_type());
        let Some(bytes) = ty.digit_bytes().filter(|_| other_type.is_string()) else { return Ok(None) };
        if let Some(constant) = other.as_literal() {
            // What is no value of the type matches nothing, with a warning.
            let Some(place) = digits_of(constant, &ty).and_then(|text| Place::of(&text, bytes)) else {
                return Ok(None);
            };
            let (op, value) = place.compared(op);
            let right = Box::new(digits_literal(value, &ty));
            let compare = BoundExpr::Compare { op, left: Box::new(digits.clone()), right, collation: None };
            return Ok(Some(self.fold(compare)));
        }
        if other_type.is_binary_string() {
            return Ok(None);
        }
        // Where it lies among the digits depends on its value: no plan is kept for others.
        if let BoundExpr::Parameter { .. } = other {
            return Err(SqlError::unsupported("a parameter in the order of HEX or UUID"));
        }
        let pair = self.compared_as_strings(digits.clone(), other.clone(), op.symbol())?;
        Ok(Some(self.fold(pair.compared_by(op))))
    }

    /// What `column LIKE pattern` says of the column's order, beside itself, if the column is a HEX or UUID; `None` if nothing.
    pub(super) fn like_digits(&self, column: &BoundExpr, pattern: &BoundExpr) -> SqlResult<Option<BoundExpr>> {
        let (BoundExpr::Column(_), Some(Value::String(pattern))) = (column, pattern.as_literal()) else {
            return Ok(None);
        };
        let ty = column.sql_type();
        let Some(bytes) = ty.digit_bytes() else { return Ok(None) };
        let is_start = |character: &char| character.is_ascii_hexdigit() || (*character == '-' && ty == SqlType::Uuid);
        let start: String = pattern.chars().take_while(is_start).collect();
        let digits = digits_of(&Value::String(start), &ty).unwrap_or_default();
        let count = 2 * bytes;
        let ends = [format!("{digits:0<count$}"), format!("{digits:f<count$}")];
        let [Some(least), Some(most)] = ends.map(|end| end.get(..count).and_then(|end| parse_hex(end.as_bytes())))
        else {
            return Ok(None);
        };
        if digits.is_empty() {
            return Ok(None);
        }
        let bound = |op, value| BoundExpr::Compare {
            op,
            left: Box::new(column.clone()),
            right: Box::new(digits_literal(value, &ty)),
            collation: None,
        };
        Ok(Some(self.and(vec![bound(CompareOp::GreaterOrEqual, least), bound(CompareOp::LessOrEqual, most)])))
    }
}

fn digits_literal(value: Vec<u8>, ty: &SqlType) -> BoundExpr {
    let ty = ExprType::numeric(ty.clone(), false);
    BoundExpr::Literal(Value::Bytes(value), ty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_in_the_order_of_texts() {
        let texts = [
            "", "0", "00", "000", "0000", "00000", "00a", "00a0", "00Af", "0a", "0a00", "f", "ff", "fff", "FFFF",
            "ffff0",
        ];
        let values = [
            [0, 0],
            [0, 0x9F],
            [0, 0xA0],
            [0, 0xAF],
            [0, 0xB0],
            [0x0A, 0],
            [0xEF, 0xFF],
            [0xF0, 0],
            [0xFF, 0xFE],
            [0xFF, 0xFF],
        ];
        for text in texts {
            for value in values {
                let own = hex_of(&value);
                for op in [CompareOp::Less, CompareOp::LessOrEqual, CompareOp::Greater, CompareOp::GreaterOrEqual] {
                    let (found, bound) = Place::of(text, 2).unwrap().compared(op);
                    let expected = op.accepts(own.as_str().cmp(&text.to_ascii_lowercase()));
                    assert_eq!(found.accepts(value.as_slice().cmp(bound.as_slice())), expected, "{own} {op:?} {text}");
                }
            }
        }
        assert_eq!(Place::of("0g", 2), None);
    }
}
