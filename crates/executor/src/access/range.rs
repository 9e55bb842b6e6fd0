//! Turns a [`Predicate`] into ranges of index keys.
//!
//! Keys are the store's order-preserving, prefix-free encodings, so a range of the first parts of a key is a half-open
//! range of bytes, and this module only compares bytes.

use super::predicate::{CompareOp, Predicate};
use squall_types::Value;

/// Most ranges that one access path is split into; beyond it, later key parts are left to the filter.
const RANGES_MAX: usize = 4096;

/// A half-open range of encoded keys: `low <= key < high`; `high` is `None` for no end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedRange {
    /// First key that may be in the range.
    pub low: Vec<u8>,
    /// First key after the range.
    pub high: Option<Vec<u8>>,
}

impl EncodedRange {
    /// Every key.
    pub fn all() -> EncodedRange {
        EncodedRange { low: Vec::new(), high: None }
    }

    /// Every key that begins with `prefix`.
    pub fn prefix(prefix: Vec<u8>) -> EncodedRange {
        let high = after_prefix(&prefix);
        EncodedRange { low: prefix, high }
    }

    /// Whether the range holds no key.
    pub fn is_empty(&self) -> bool {
        self.high.as_ref().is_some_and(|high| *high <= self.low)
    }

    fn intersect(&self, other: &EncodedRange) -> Option<EncodedRange> {
        let low = self.low.clone().max(other.low.clone());
        let high = match (&self.high, &other.high) {
            (None, high) | (high, None) => high.clone(),
            (Some(a), Some(b)) => Some(a.min(b).clone()),
        };
        let range = EncodedRange { low, high };
        (!range.is_empty()).then_some(range)
    }
}

/// The first key after all that begin with `prefix`; `None` if there is none.
pub fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut key = prefix.to_vec();
    while let Some(last) = key.last_mut() {
        if *last < u8::MAX {
            *last += 1;
            return Some(key);
        }
        key.pop();
    }
    None
}

/// How an index's parts are encoded.
pub trait KeyParts {
    /// Ordinals of the indexed columns.
    fn columns(&self) -> &[usize];
    /// Whether part `part` is DESC.
    fn is_descending(&self, part: usize) -> bool;
    /// Whether part `part` may be NULL.
    fn is_nullable(&self, part: usize) -> bool;
    /// Whether part `part` keeps only a prefix of its column, so that different values may have one key.
    fn is_prefix(&self, part: usize) -> bool;
    /// The encoding of one part; `None` if the value cannot be one of the column's.
    fn encode(&self, part: usize, value: &Value) -> Option<Vec<u8>>;
    /// The part that has an entry for each element of an array.
    fn elements_part(&self) -> Option<usize> {
        None
    }
    /// The encodings of texts whose sort keys lie in a range (ascending order).
    fn encode_sort_keys(&self, part: usize, from: &[u8], to: Option<&[u8]>) -> Option<EncodedRange>;
}

/// Ranges of an index that hold every row a predicate accepts.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexRanges {
    /// Disjoint, in key order. Empty: no row qualifies.
    pub ranges: Vec<EncodedRange>,
    /// Leading parts that restrict the ranges.
    pub parts_used: usize,
    /// Leading parts that are equal to one constant in all ranges.
    pub parts_constant: usize,
    /// Whether every range is all parts equal to a value each.
    pub points: bool,
    /// Whether they may lead to a row more than once: a row has many entries in an index of terms or elements.
    pub repeats: bool,
}

/// The restriction of one column.
#[derive(Clone, Debug)]
struct ColumnRanges {
    /// Disjoint, in key order of the part.
    ranges: Vec<EncodedRange>,
    /// Whether every range is a single value.
    points: bool,
}

/// Finds the ranges; `None` if the predicate does not restrict the index's first part.
pub fn index_ranges(index: &dyn KeyParts, predicate: &Predicate) -> Option<IndexRanges> {
    if *predicate == Predicate::Never {
        return Some(IndexRanges {
            ranges: Vec::new(),
            parts_used: 1,
            parts_constant: 0,
            points: true,
            repeats: false,
        });
    }
    let conjuncts: &[Predicate] = match predicate {
        Predicate::And(parts) => parts,
        one => std::slice::from_ref(one),
    };
    let direct = by_columns(index, conjuncts);
    // An OR over several columns is tried as a union of ranges, each disjunct together with the other conjuncts.
    let united = conjuncts.iter().enumerate().find_map(|(at, conjunct)| {
        let Predicate::Or(disjuncts) = conjunct else { return None };
        if single_column(conjunct).is_some() {
            return None;
        }
        let rest = || conjuncts.iter().enumerate().filter(move |(other, _)| *other != at).map(|(_, part)| part.clone());
        let mut union: Option<IndexRanges> = None;
        for disjunct in disjuncts {
            let ranges = index_ranges(index, &Predicate::and(rest().chain([disjunct.clone()])))?;
            union = Some(match union {
                None => ranges,
                Some(union) => IndexRanges {
                    ranges: union.ranges.into_iter().chain(ranges.ranges).collect(),
                    parts_used: union.parts_used.max(ranges.parts_used),
                    parts_constant: 0,
                    points: union.points && ranges.points,
                    repeats: index.elements_part().is_some(),
                },
            });
        }
        let mut union = union?;
        normalize(&mut union.ranges);
        (union.ranges.len() <= RANGES_MAX).then_some(union)
    });
    match (direct, united) {
        (Some(direct), Some(united)) if united.parts_used > direct.parts_used => Some(united),
        (Some(direct), _) => Some(direct),
        (None, united) => united,
    }
}

fn by_columns(index: &dyn KeyParts, conjuncts: &[Predicate]) -> Option<IndexRanges> {
    let mut ranges = vec![EncodedRange::all()];
    let mut prefixes = vec![Vec::new()];
    let (mut parts_used, mut parts_constant) = (0, 0);
    let mut points = false;
    let columns = index.columns();
    for (part, &column) in columns.iter().enumerate() {
        let Some(restriction) = column_ranges(index, part, column, conjuncts) else { break };
        if prefixes.len().saturating_mul(restriction.ranges.len()) > RANGES_MAX {
            break;
        }
        ranges = prefixes
            .iter()
            .flat_map(|prefix| restriction.ranges.iter().map(move |range| under_prefix(prefix, range)))
            .collect();
        parts_used = part + 1;
        if !restriction.points {
            break;
        }
        if parts_constant == part && restriction.ranges.len() <= 1 {
            parts_constant = part + 1;
        }
        points = parts_used == columns.len();
        prefixes = ranges.iter().map(|range| range.low.clone()).collect();
        if index.is_prefix(part) {
            points = false;
            break;
        }
    }
    let repeats = match index.elements_part() {
        // A row without elements has no entries.
        Some(part) if parts_used <= part => return None,
        Some(part) => parts_constant <= part,
        None => false,
    };
    (parts_used > 0).then(|| {
        normalize(&mut ranges);
        IndexRanges { ranges, parts_used, parts_constant, points, repeats }
    })
}

/// A part's range, within the keys that begin with `prefix`.
fn under_prefix(prefix: &[u8], range: &EncodedRange) -> EncodedRange {
    let join = |tail: &[u8]| [prefix, tail].concat();
    EncodedRange {
        low: join(&range.low),
        high: match &range.high {
            Some(high) => Some(join(high)),
            None => after_prefix(prefix),
        },
    }
}

/// Sorts ranges, drops empty ones, and joins ranges that touch. Different points that are neighbours stay separate; joined they
/// would read the same rows.
fn normalize(ranges: &mut Vec<EncodedRange>) {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_by(|a, b| a.low.cmp(&b.low));
    let mut joined: Vec<EncodedRange> = Vec::with_capacity(ranges.len());
    for range in ranges.drain(..) {
        if let Some(last) = joined.last_mut() {
            let overlaps = match &last.high {
                None => true,
                Some(high) => range.low < *high,
            };
            if overlaps {
                let extends = match (&last.high, &range.high) {
                    (None, _) => false,
                    (Some(_), None) => true,
                    (Some(a), Some(b)) => b > a,
                };
                if extends {
                    last.high = range.high;
                }
                continue;
            }
        }
        joined.push(range);
    }
    *ranges = joined;
}

fn column_ranges(index: &dyn KeyParts, part: usize, column: usize, conjuncts: &[Predicate]) -> Option<ColumnRanges> {
    if index.elements_part() == Some(part) {
        return element_ranges(index, part, column, conjuncts);
    }
    let mut found: Option<ColumnRanges> = None;
    for conjunct in conjuncts {
        if single_column(conjunct) != Some(column) {
            continue;
        }
        let Some(next) = restriction(index, part, conjunct) else { continue };
        found = Some(match found {
            None => next,
            Some(before) => {
                let points = before.points || next.points;
                let mut ranges: Vec<_> = before
                    .ranges
                    .iter()
                    .flat_map(|left| next.ranges.iter().filter_map(move |right| left.intersect(right)))
                    .collect();
                normalize(&mut ranges);
                ColumnRanges { ranges, points }
            }
        });
    }
    found
}

/// The ranges of the shortest list of elements: several lists do not restrict each other, for a row has many elements.
fn element_ranges(index: &dyn KeyParts, part: usize, column: usize, conjuncts: &[Predicate]) -> Option<ColumnRanges> {
    let lists = conjuncts.iter().filter_map(|conjunct| match conjunct {
        Predicate::Elements { column: of, values } if *of == column => Some(values),
        _ => None,
    });
    let shortest = lists.min_by_key(|values| values.len())?;
    let encode = |value| Some(EncodedRange::prefix(index.encode(part, value)?));
    let mut ranges = shortest.iter().map(encode).collect::<Option<Vec<_>>>()?;
    normalize(&mut ranges);
    Some(ColumnRanges { ranges, points: true })
}

/// The one column that a predicate speaks of.
fn single_column(predicate: &Predicate) -> Option<usize> {
    match predicate {
        Predicate::Compare { column, .. }
        | Predicate::In { column, .. }
        | Predicate::IsNull(column)
        | Predicate::IsNotNull(column)
        | Predicate::SortKeys { column, .. } => Some(*column),
        Predicate::And(parts) | Predicate::Or(parts) => {
            let column = single_column(parts.first()?)?;
            parts[1..].iter().all(|part| single_column(part) == Some(column)).then_some(column)
        }
        Predicate::Terms { .. } | Predicate::Elements { .. } | Predicate::Never | Predicate::Unknown => None,
    }
}

fn restriction(index: &dyn KeyParts, part: usize, predicate: &Predicate) -> Option<ColumnRanges> {
    let descending = index.is_descending(part);
    let null = || index.encode(part, &Value::Null);
    let one = |range: EncodedRange, points: bool| ColumnRanges { ranges: vec![range], points };
    let nullable = index.is_nullable(part);
    // Everything but NULL: NULL is first, or last where the part is DESC.
    let not_null = || {
        Some(if !nullable {
            EncodedRange::all()
        } else if descending {
            EncodedRange { low: Vec::new(), high: Some(null()?) }
        } else {
            EncodedRange { low: after_prefix(&null()?)?, high: None }
        })
    };
    match predicate {
        Predicate::IsNull(_) if !nullable => Some(ColumnRanges { ranges: Vec::new(), points: true }),
        Predicate::IsNull(_) => Some(one(EncodedRange::prefix(null()?), true)),
        Predicate::IsNotNull(_) => nullable.then(not_null).flatten().map(|range| one(range, false)),
        Predicate::In { values, .. } => {
            let mut ranges = Vec::with_capacity(values.len());
            for value in values {
                ranges.push(EncodedRange::prefix(index.encode(part, value)?));
            }
            normalize(&mut ranges);
            Some(ColumnRanges { ranges, points: true })
        }
        Predicate::SortKeys { from, to, .. } if !descending && !index.is_prefix(part) => {
            Some(one(index.encode_sort_keys(part, from, to.as_deref())?, false))
        }
        Predicate::Compare { op, value, .. } => {
            let key = index.encode(part, value)?;
            let last = || not_null().map(|range| range.high);
            let op = match op {
                CompareOp::Equal | CompareOp::NullSafeEqual => return Some(one(EncodedRange::prefix(key), true)),
                // Values that share a stored prefix share a key.
                CompareOp::Less if index.is_prefix(part) => CompareOp::LessOrEqual,
                CompareOp::Greater if index.is_prefix(part) => CompareOp::GreaterOrEqual,
                op if descending && !index.is_prefix(part) => {
                    let range = match op.swapped() {
                        CompareOp::Less => EncodedRange { low: Vec::new(), high: Some(key) },
                        CompareOp::LessOrEqual => EncodedRange { low: Vec::new(), high: after_prefix(&key) },
                        CompareOp::Greater => EncodedRange { low: after_prefix(&key)?, high: last()? },
                        _ => EncodedRange { low: key, high: last()? },
                    };
                    return Some(one(range, false));
                }
                op => *op,
            };
            let first = || not_null().map(|range| range.low);
            let range = match (op, descending) {
                (CompareOp::Less, false) => EncodedRange { low: first()?, high: Some(key) },
                (CompareOp::LessOrEqual, false) => EncodedRange { low: first()?, high: after_prefix(&key) },
                (CompareOp::Greater, false) => EncodedRange { low: after_prefix(&key)?, high: None },
                (CompareOp::GreaterOrEqual, false) => EncodedRange { low: key, high: None },
                // A DESC part that keeps a prefix.
                (CompareOp::LessOrEqual, true) => EncodedRange { low: key, high: last()? },
                (_, true) => EncodedRange { low: Vec::new(), high: after_prefix(&key) },
                _ => return None,
            };
            Some(one(range, false))
        }
        Predicate::Or(parts) => {
            let mut ranges = Vec::new();
            let mut points = true;
            for part_predicate in parts {
                let found = restriction(index, part, part_predicate)?;
                points &= found.points;
                ranges.extend(found.ranges);
            }
            normalize(&mut ranges);
            Some(ColumnRanges { ranges, points })
        }
        Predicate::And(parts) => {
            let column = single_column(predicate)?;
            column_ranges(index, part, column, parts)
        }
        Predicate::SortKeys { .. }
        | Predicate::Terms { .. }
        | Predicate::Elements { .. }
        | Predicate::Never
        | Predicate::Unknown => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two ascending one-byte columns: NULL is 0, a number n is `1 n`.
    struct TwoBytes {
        descending: bool,
    }

    impl KeyParts for TwoBytes {
        fn columns(&self) -> &[usize] {
            &[3, 5]
        }
        fn is_descending(&self, _: usize) -> bool {
            self.descending
        }
        fn is_nullable(&self, _: usize) -> bool {
            true
        }
        fn is_prefix(&self, _: usize) -> bool {
            false
        }
        fn encode(&self, _: usize, value: &Value) -> Option<Vec<u8>> {
            let key = match value {
                Value::Null => vec![0],
                Value::Int(number) => vec![1, u8::try_from(*number).ok()?],
                _ => return None,
            };
            Some(if self.descending { key.into_iter().map(|byte| !byte).collect() } else { key })
        }
        fn encode_sort_keys(&self, _: usize, _: &[u8], _: Option<&[u8]>) -> Option<EncodedRange> {
            None
        }
    }

    fn compare(column: usize, op: CompareOp, number: i64) -> Predicate {
        Predicate::Compare { column, op, value: Value::Int(number) }
    }

    /// Checks the ranges against every pair of values that the index can hold.
    fn check(predicate: &Predicate, accepts: impl Fn(Option<u8>, Option<u8>) -> bool, exact: bool) {
        for descending in [false, true] {
            let index = TwoBytes { descending };
            let found = index_ranges(&index, predicate).expect("restricts the index");
            let values = || (0..12).map(Some).chain([None]);
            for (a, b) in values().flat_map(|a| values().map(move |b| (a, b))) {
                let value = |x: Option<u8>| x.map_or(Value::Null, |x| Value::Int(i64::from(x)));
                let key = [index.encode(0, &value(a)).unwrap(), index.encode(1, &value(b)).unwrap()].concat();
                let inside = found
                    .ranges
                    .iter()
                    .any(|range| range.low <= key && range.high.as_ref().is_none_or(|high| key < *high));
                assert!(!accepts(a, b) || inside, "{predicate:?} {descending} loses {a:?}, {b:?}");
                assert!(!exact || accepts(a, b) || !inside, "{predicate:?} {descending} takes {a:?}, {b:?}");
            }
        }
    }

    #[test]
    fn comparisons() {
        use CompareOp::*;
        check(&compare(3, Equal, 4), |a, _| a == Some(4), true);
        check(&compare(3, Less, 4), |a, _| a.is_some_and(|a| a < 4), true);
        check(&compare(3, LessOrEqual, 4), |a, _| a.is_some_and(|a| a <= 4), true);
        check(&compare(3, Greater, 4), |a, _| a.is_some_and(|a| a > 4), true);
        check(&compare(3, GreaterOrEqual, 4), |a, _| a.is_some_and(|a| a >= 4), true);
        check(&Predicate::IsNull(3), |a, _| a.is_none(), true);
        check(&Predicate::IsNotNull(3), |a, _| a.is_some(), true);
    }

    #[test]
    fn composite_keys() {
        use CompareOp::*;
        let both = Predicate::and([compare(3, Equal, 4), compare(5, Greater, 2), compare(5, LessOrEqual, 9)]);
        check(&both, |a, b| a == Some(4) && b.is_some_and(|b| b > 2 && b <= 9), true);
        let lists = Predicate::and([
            Predicate::In { column: 3, values: vec![Value::Int(7), Value::Int(1), Value::Int(7)] },
            Predicate::or([compare(5, Less, 2), Predicate::IsNull(5)]),
        ]);
        check(&lists, |a, b| matches!(a, Some(1 | 7)) && b.is_none_or(|b| b < 2), true);
        let pairs = Predicate::or([
            Predicate::and([compare(3, Equal, 1), compare(5, Equal, 2)]),
            Predicate::and([compare(3, Equal, 2), compare(5, Equal, 1)]),
        ]);
        check(&pairs, |a, b| matches!((a, b), (Some(1), Some(2)) | (Some(2), Some(1))), true);
        check(
            &Predicate::and([compare(3, Less, 5), compare(5, Equal, 1)]),
            |a, b| a < Some(5) && a.is_some() && b == Some(1),
            false,
        );
    }

    #[test]
    fn contradictions_read_nothing() {
        let index = TwoBytes { descending: false };
        let none = Predicate::and([compare(3, CompareOp::Less, 2), compare(3, CompareOp::Greater, 5)]);
        assert!(index_ranges(&index, &none).expect("restricts").ranges.is_empty());
        assert!(index_ranges(&index, &Predicate::Never).expect("restricts").ranges.is_empty());
        assert!(index_ranges(&index, &compare(5, CompareOp::Equal, 1)).is_none(), "the second part alone is no use");
    }
}
