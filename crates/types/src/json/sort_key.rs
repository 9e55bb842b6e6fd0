//! Sort keys: bytes that have the order of documents, and are equal for equal documents.

use super::stored::{elements, members, root};
use super::{DEPTH_MAX, Json, JsonError};
use crate::Decimal;

/// Behind a string, and behind the elements of an array: smaller than anything that can follow in a longer one.
const END: u8 = 0;
/// A zero byte inside of a string is followed by this.
const ESCAPED: u8 = 0xFF;
/// Before the digits of a decimal that its double leaves out: greater than all that may follow a number.
const MORE: u8 = 0xFF;

/// Appends the sort key of a stored document. Text that is no document has one behind those of all documents.
pub fn sort_key(text: &str, key: &mut Vec<u8>) {
    let start = key.len();
    if push(text, DEPTH_MAX, key).is_err() {
        key.truncate(start);
        key.push(u8::MAX);
        key.extend_from_slice(text.as_bytes());
    }
}

fn push(text: &str, levels: usize, key: &mut Vec<u8>) -> Result<(), JsonError> {
    let value = root(text)?;
    let inner = levels.checked_sub(1).ok_or(JsonError::TooDeep);
    key.push(value.rank() + 1);
    match value {
        Json::Null => {}
        Json::Bool(truth) => key.push(u8::from(truth)),
        Json::Int(number) => push_integer(i128::from(number), key),
        Json::UInt(number) => push_integer(i128::from(number), key),
        Json::Double(number) => push_number(number, 0, key),
        Json::Decimal(number) => push_decimal(*number, key),
        Json::String(text) => push_text(text.as_bytes(), key),
        Json::Date(date) => key.extend_from_slice(&date.to_packed().to_be_bytes()),
        Json::Time(time) => key.extend_from_slice(&(time.to_micros().cast_unsigned() ^ 1 << 63).to_be_bytes()),
        Json::DateTime(moment) => {
            key.extend_from_slice(&(moment.to_packed().cast_unsigned() ^ 1 << 63).to_be_bytes());
        }
        Json::Opaque(_, bytes) => push_text(&bytes, key),
        Json::Array(_) => {
            let inner = inner?;
            elements(text).try_for_each(|element| push(element, inner, key))?;
            key.push(END);
        }
        Json::Object(_) => push_members(text, inner?, key)?,
    }
    Ok(())
}

fn push_members(object: &str, levels: usize, key: &mut Vec<u8>) -> Result<(), JsonError> {
    // How many there are stands before them.
    let count_at = key.len();
    push_length(0, key);
    let mut count = 0;
    for member in members(object) {
        count += 1;
        push_length(member.name.len(), key);
        key.extend_from_slice(member.name.as_bytes());
        push(member.value, levels, key)?;
    }
    let mut written = Vec::with_capacity(size_of::<u32>());
    push_length(count, &mut written);
    key[count_at..count_at + written.len()].copy_from_slice(&written);
    Ok(())
}

/// Integers beyond 2^53 are told apart by what their double leaves out.
fn push_integer(number: i128, key: &mut Vec<u8>) {
    let double = number as f64;
    let rest = number - double as i128;
    push_number(double, i64::try_from(rest).unwrap_or_default(), key);
}

/// A decimal that differs from its nearest double has its integer part and the digits of its fraction after that.
fn push_decimal(number: Decimal, key: &mut Vec<u8>) {
    let whole = number.normalized();
    if let (0, Some(integer)) = (whole.scale(), whole.to_i128()) {
        return push_integer(integer, key);
    }
    let double = number.to_f64();
    let rest = Decimal::from_f64(double).and_then(|nearest| number.checked_sub(nearest)).unwrap_or(Decimal::ZERO);
    let floor = rest.floor().unwrap_or(Decimal::ZERO);
    push_number(double, floor.to_i64().0, key);
    let fraction = rest.checked_sub(floor).unwrap_or(Decimal::ZERO).normalized();
    if !fraction.is_zero() {
        // Behind a number without one whatever follows that.
        key.push(MORE);
        fraction.write_text(key);
        key.push(END);
    }
}

fn push_number(double: f64, rest: i64, key: &mut Vec<u8>) {
    // There are two zeros.
    let bits = (double + 0.0).to_bits();
    let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    key.extend_from_slice(&ordered.to_be_bytes());
    key.extend_from_slice(&(rest.cast_unsigned() ^ 1 << 63).to_be_bytes());
}

fn push_text(text: &[u8], key: &mut Vec<u8>) {
    for byte in text {
        key.push(*byte);
        if *byte == END {
            key.push(ESCAPED);
        }
    }
    key.extend_from_slice(&[END, END]);
}

fn push_length(length: usize, key: &mut Vec<u8>) {
    key.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DateTime, Decimal, Time};
    use proptest::prelude::*;

    fn key(text: &str) -> Vec<u8> {
        let mut key = Vec::new();
        sort_key(text, &mut key);
        key
    }

    #[test]
    fn equal_documents_have_one_key() {
        for (left, right) in
            [("1", "1.0"), ("0.0", "-0.0"), ("[1, 2]", "[1.0,2]"), (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#)]
        {
            let key = |text| super::super::normalize(text).map(|stored| key(&stored));
            assert_eq!(key(left), key(right), "{left} {right}");
        }
        assert_ne!(key("9007199254740993"), key("9007199254740992"));
        assert!(key("9007199254740993") > key("9007199254740992.0"));
        assert!(key("{") > key("true"));
        assert!(key("[0]") > key("[-1.5e-232]"));
    }

    fn document() -> impl Strategy<Value = Json> {
        let scalar = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::Bool),
            any::<i64>().prop_map(Json::Int),
            (-3_i64..4).prop_map(Json::Int),
            (i64::MAX as u64 + 1..).prop_map(Json::UInt),
            any::<f64>().prop_filter("a number", |number| number.is_finite()).prop_map(Json::Double),
            prop_oneof![
                Just(-1e-232),
                Just(-0.0),
                Just(1e-300),
                Just(1e-31),
                Just(1e64),
                Just(9.007_199_254_740_992e15)
            ]
            .prop_map(Json::Double),
            (-6_i32..7).prop_map(|number| Json::Double(f64::from(number) / 2.0)),
            "[a-c\u{0}é]{0,3}".prop_map(Json::String),
            (-60..70i64).prop_map(|digits| Json::Decimal(Box::new(Decimal::from_i128(digits.into(), 1)))),
            (-3..3i64).prop_filter_map("a time", Time::from_micros).prop_map(Json::Time),
            (-3..3i64)
                .prop_filter_map("a moment", |micros| DateTime::from_micros(63_000_000_000_000_000 + micros))
                .prop_map(Json::DateTime),
            (14..17u8, prop::collection::vec(0..2u8, 0..3)).prop_map(|(number, bytes)| Json::Opaque(number, bytes)),
        ];
        scalar.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Json::Array),
                prop::collection::vec(("[ab]{0,2}", inner), 0..3)
                    .prop_map(|members| Json::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn keys_order_as_documents_do(left in document(), right in document()) {
            let order = left.compare(&right);
            let (left, right) = (left.to_stored(), right.to_stored());
            prop_assert_eq!(key(&left).cmp(&key(&right)), order, "{} {}", left, right);
        }
    }
}
