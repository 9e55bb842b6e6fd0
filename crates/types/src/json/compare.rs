//! The order of JSON values.

use super::stored::{elements, members, root};
use super::typed::bytes_type_name;
use super::{DEPTH_MAX, Json, Object};
use crate::Decimal;
use std::cmp::Ordering;

impl Json {
    /// Values of different kinds order by kind.
    pub(super) fn rank(&self) -> u8 {
        match self {
            Json::Null => 0,
            Json::Int(_) | Json::UInt(_) | Json::Double(_) | Json::Decimal(_) => 1,
            Json::String(_) => 2,
            Json::Object(_) => 3,
            Json::Array(_) => 4,
            Json::Bool(_) => 5,
            Json::Date(_) => 6,
            Json::Time(_) => 7,
            Json::DateTime(_) => 8,
            Json::Opaque(type_number, _) => match bytes_type_name(*type_number) {
                "OPAQUE" => 9,
                "BIT" => 10,
                _ => 11,
            },
        }
    }

    /// Compares as MySQL orders JSON: null, numbers, strings, objects, arrays, booleans, dates, times, moments, bytes of no
    /// known type, bits, byte strings.
    pub fn compare(&self, other: &Json) -> Ordering {
        match (self, other) {
            (Json::Bool(left), Json::Bool(right)) => left.cmp(right),
            (Json::String(left), Json::String(right)) => left.as_bytes().cmp(right.as_bytes()),
            (Json::Array(left), Json::Array(right)) => {
                let pairs = left.iter().zip(right).map(|(left, right)| left.compare(right));
                pairs.into_iter().find(|order| order.is_ne()).unwrap_or_else(|| left.len().cmp(&right.len()))
            }
            (Json::Object(left), Json::Object(right)) => compare_objects(left, right),
            (Json::Date(left), Json::Date(right)) => left.cmp(right),
            (Json::Time(left), Json::Time(right)) => left.cmp(right),
            (Json::DateTime(left), Json::DateTime(right)) => left.cmp(right),
            (Json::Opaque(_, left), Json::Opaque(_, right)) if self.rank() == other.rank() => left.cmp(right),
            _ if self.rank() == 1 && other.rank() == 1 => compare_numbers(self, other),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

/// Compares documents in their stored form as [`Json::compare`] compares their trees, of which it makes none but of numbers and the like.
pub fn compare_stored(left: &str, right: &str) -> Ordering {
    compare_at(left, right, DEPTH_MAX)
}

/// The same down to this many levels, which only a damaged document has more of.
fn compare_at(left: &str, right: &str, levels: usize) -> Ordering {
    if left == right || levels == 0 {
        return left.cmp(right);
    }
    match (left.as_bytes().first(), right.as_bytes().first()) {
        (Some(b'['), Some(b'[')) => {
            let (mut left, mut right) = (elements(left), elements(right));
            loop {
                match (left.next(), right.next()) {
                    (Some(left), Some(right)) => match compare_at(left, right, levels - 1) {
                        Ordering::Equal => {}
                        order => return order,
                    },
                    (left, right) => return left.is_some().cmp(&right.is_some()),
                }
            }
        }
        (Some(b'{'), Some(b'{')) => members(left).count().cmp(&members(right).count()).then_with(|| {
            let pairs = members(left).zip(members(right)).map(|(left, right)| {
                let names = super::compare_names(&left.name, &right.name);
                names.then_with(|| compare_at(left.value, right.value, levels - 1))
            });
            pairs.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        }),
        _ => {
            // What is no document compares as `null`.
            let root = |stored| root(stored).unwrap_or(Json::Null);
            root(left).compare(&root(right))
        }
    }
}

/// Objects with fewer members come first; then the first name or value that differs decides.
fn compare_objects(left: &Object, right: &Object) -> Ordering {
    left.len().cmp(&right.len()).then_with(|| {
        let pairs = left.iter().zip(right.iter()).map(|((left_name, left), (right_name, right))| {
            super::compare_names(left_name, right_name).then_with(|| left.compare(right))
        });
        pairs.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    })
}

fn integer(json: &Json) -> Option<i128> {
    match json {
        Json::Int(number) => Some(i128::from(*number)),
        Json::UInt(number) => Some(i128::from(*number)),
        _ => None,
    }
}

fn compare_numbers(left: &Json, right: &Json) -> Ordering {
    if let (Some(left), Some(right)) = (integer(left), integer(right)) {
        return left.cmp(&right);
    }
    // Only what has one nearest double may need the digits that this leaves out. Decimals alone would not order: one has
    // no room for the fraction of a small double, which would then equal zero, and zero another small double.
    let doubles = double(left).partial_cmp(&double(right)).unwrap_or(Ordering::Equal);
    doubles.then_with(|| match (left, right) {
        (Json::Double(_), Json::Double(_)) => Ordering::Equal,
        _ => match (decimal(left), decimal(right)) {
            (Some(left), Some(right)) => left.cmp(&right),
            _ => Ordering::Equal,
        },
    })
}

fn decimal(json: &Json) -> Option<Decimal> {
    match json {
        Json::Int(number) => Some(Decimal::from(*number)),
        Json::UInt(number) => Some(Decimal::from(*number)),
        Json::Decimal(number) => Some(**number),
        Json::Double(number) => Decimal::from_f64(*number),
        _ => None,
    }
}

fn double(json: &Json) -> f64 {
    match json {
        Json::Int(number) => *number as f64,
        Json::UInt(number) => *number as f64,
        Json::Double(number) => *number,
        Json::Decimal(number) => number.to_f64(),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::stored::tests::document;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn stored_documents_compare_as_their_trees(left in document(), right in document()) {
            let order = compare_stored(&left.to_stored(), &right.to_stored());
            prop_assert_eq!(order, left.compare(&right), "{} {}", left, right);
        }
    }

    #[test]
    fn kinds_and_values_order() {
        let ordered = [
            "null",
            "-1e300",
            "-1",
            "-1e-232",
            "0",
            "1e-300",
            "1e-232",
            "0.5",
            "1",
            "9007199254740993",
            "18446744073709551615",
            "1e300",
            "\"\"",
            "\"a\"",
            "\"aa\"",
            "\"b\"",
            "{}",
            "{\"a\": 1}",
            "{\"a\": 2}",
            "{\"b\": 1}",
            "{\"a\": 1, \"b\": 1}",
            "[]",
            "[1]",
            "[1, 2]",
            "[2]",
            "[true]",
            "false",
            "true",
        ];
        let values: Vec<Json> = ordered.iter().map(|text| Json::parse(text).unwrap()).collect();
        for (at, left) in values.iter().enumerate() {
            for (other_at, right) in values.iter().enumerate() {
                assert_eq!(left.compare(right), at.cmp(&other_at), "{left} {right}");
                let order = compare_stored(&left.to_stored(), &right.to_stored());
                assert_eq!(order, at.cmp(&other_at), "{left} {right}");
            }
        }
        assert_eq!(Json::Int(1).compare(&Json::Double(1.0)), Ordering::Equal);
        assert_eq!(Json::Decimal(Box::new(Decimal::parse("0.10").value)).compare(&Json::Double(0.1)), Ordering::Equal);
    }
}
