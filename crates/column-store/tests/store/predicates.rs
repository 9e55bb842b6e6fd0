//! Conditions against SQL's three-valued logic, row by row.

use crate::generate::{Column, column, write_and_open};
use proptest::prelude::*;
use roaring::RoaringBitmap;
use squall_column_store::predicate::{
    ColumnSource, Condition, DeltaColumns, KeySet, Predicate, Test, ZoneRows, indexed_rows, matching_rows,
    matching_zones,
};
use squall_column_store::{CodedColumn, ColumnCache, Datum, SegmentColumns};
use std::ops::Bound;
use std::sync::Arc;

/// A predicate whose values are taken from rows of its columns.
#[derive(Clone, Debug)]
enum Shape {
    Constant(bool),
    Unknown,
    Test { column: usize, kind: u8, rows: Vec<(usize, i8)> },
    And(Vec<Shape>),
    Or(Vec<Shape>),
    Not(Box<Shape>),
}

fn shape() -> impl Strategy<Value = Shape> {
    let values = prop::collection::vec((0..300usize, -1..2i8), 1..5);
    let test = (0..3usize, 0..10u8, values).prop_map(|(column, kind, rows)| Shape::Test { column, kind, rows });
    let leaf = prop_oneof![12 => test, 1 => any::<bool>().prop_map(Shape::Constant), 1 => Just(Shape::Unknown)];
    leaf.prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Shape::And),
            prop::collection::vec(inner.clone(), 1..4).prop_map(Shape::Or),
            inner.prop_map(|inner| Shape::Not(Box::new(inner))),
        ]
    })
}

fn datum(column: &CodedColumn, (row, beside): (usize, i8)) -> Datum {
    match column.datum(row % column.rows()) {
        Some(Datum::Integer(value)) => Datum::Integer(value + i128::from(beside)),
        Some(Datum::Float(value)) => Datum::Float(value + f64::from(beside)),
        Some(Datum::Bytes(value)) if beside > 0 => Datum::Bytes([&value[..], b"!"].concat().into()),
        Some(Datum::Bytes(value)) => Datum::Bytes(value),
        // Of another domain, for most columns.
        None => Datum::Integer(i128::from(beside)),
    }
}

fn predicate(shape: &Shape, columns: &[Arc<CodedColumn>]) -> Predicate {
    let parts = |parts: &[Shape]| parts.iter().map(|part| predicate(part, columns)).collect();
    match shape {
        Shape::Constant(value) => Predicate::Constant(*value),
        Shape::Unknown => Predicate::Unknown,
        Shape::And(all) => Predicate::And(parts(all)),
        Shape::Or(any) => Predicate::Or(parts(any)),
        Shape::Not(inner) => !predicate(inner, columns),
        Shape::Test { column, kind, rows } => {
            let column = column % columns.len();
            let value = |ordinal: usize| datum(&columns[column], rows[ordinal % rows.len()]);
            let range = |low, high| Test::Range { low, high };
            let test = match kind {
                0 => Test::IsNull,
                1 => Test::equal(value(0)),
                2 => range(Bound::Unbounded, Bound::Excluded(value(0))),
                3 => range(Bound::Included(value(0)), Bound::Unbounded),
                4 => range(Bound::Included(value(0)), Bound::Included(value(1))),
                5 => range(Bound::Excluded(value(0)), Bound::Excluded(value(1))),
                6 => Test::AnyOf((0..rows.len()).map(value).collect()),
                7 => match value(0) {
                    Datum::Bytes(bytes) => Test::prefix(&bytes[..bytes.len() / 2]),
                    other => Test::equal(other),
                },
                8 => {
                    let integer = |ordinal| match value(ordinal) {
                        Datum::Integer(value) => i64::try_from(value).ok(),
                        _ => None,
                    };
                    let keys = KeySet::new((0..rows.len()).filter_map(integer).collect());
                    keys.map_or(Test::AnyOf(Vec::new()), |keys| Test::Keys(Arc::new(keys)))
                }
                _ => Test::Matches(Arc::new(|value: &[u8]| value.len().is_multiple_of(2))),
            };
            Predicate::test(column, test)
        }
    }
}

/// True, false, or unknown.
fn naive(predicate: &Predicate, columns: &[Arc<CodedColumn>], row: usize) -> Option<bool> {
    match predicate {
        Predicate::Constant(value) => Some(*value),
        Predicate::Unknown => None,
        Predicate::Not(inner) => naive(inner, columns, row).map(|value| !value),
        Predicate::And(all) => {
            let values: Vec<Option<bool>> = all.iter().map(|part| naive(part, columns, row)).collect();
            if values.contains(&Some(false)) { Some(false) } else { (!values.contains(&None)).then_some(true) }
        }
        Predicate::Or(any) => {
            let values: Vec<Option<bool>> = any.iter().map(|part| naive(part, columns, row)).collect();
            if values.contains(&Some(true)) { Some(true) } else { (!values.contains(&None)).then_some(false) }
        }
        Predicate::Test { column, test } => {
            let value = columns[*column].datum(row);
            if matches!(test, Test::IsNull) {
                return Some(value.is_none());
            }
            let value = value?;
            let same = |other: &Datum| value.domain() == other.domain();
            Some(match test {
                Test::IsNull => unreachable!("answered above"),
                Test::Range { low, high } => {
                    (match low {
                        Bound::Unbounded => true,
                        Bound::Included(low) => same(low) && value.order(low).is_ge(),
                        Bound::Excluded(low) => same(low) && value.order(low).is_gt(),
                    }) && (match high {
                        Bound::Unbounded => true,
                        Bound::Included(high) => same(high) && value.order(high).is_le(),
                        Bound::Excluded(high) => same(high) && value.order(high).is_lt(),
                    })
                }
                Test::AnyOf(any) => any.iter().any(|other| same(other) && value.order(other).is_eq()),
                Test::Keys(keys) => matches!(value, Datum::Integer(value) if keys.contains(value)),
                Test::Elements(_) => unreachable!("is not generated"),
                Test::Matches(matches) => matches!(&value, Datum::Bytes(bytes) if matches(bytes)),
            })
        }
    }
}

fn check(source: &dyn ColumnSource, columns: &[Arc<CodedColumn>], shapes: &[Shape]) -> Result<(), TestCaseError> {
    let deleted: RoaringBitmap = (0..source.rows() as u32).step_by(7).collect();
    for shape in shapes {
        let predicate = predicate(shape, columns);
        let expected: RoaringBitmap =
            (0..source.rows() as u32).filter(|row| naive(&predicate, columns, *row as usize) == Some(true)).collect();
        let condition = Condition::from(&predicate);
        let indexed = indexed_rows(&condition, source).unwrap();
        prop_assert!(indexed.sure.is_subset(&expected), "{:?}", predicate);
        prop_assert!(expected.is_subset(&indexed.possible()), "{:?}", predicate);
        prop_assert!(indexed.sure.is_disjoint(&indexed.candidates), "{:?}", predicate);
        prop_assert_eq!(&matching_rows(&condition, source, None).unwrap(), &expected, "{:?}", &predicate);
        let left = expected - &deleted;
        prop_assert_eq!(&matching_rows(&condition, source, Some(&deleted)).unwrap(), &left);
        let (zones, skipped) = matching_zones(&condition, source, Some(&deleted)).unwrap();
        prop_assert!(zones.iter().all(|rows| !rows.is_empty()));
        prop_assert!(skipped.total() <= source.rows() as u64 - left.len());
        let rows = zones.into_iter().flat_map(|rows| match rows {
            ZoneRows::Range(range) => range.collect(),
            ZoneRows::Positions(positions) => positions,
        });
        prop_assert_eq!(rows.collect::<Vec<u32>>(), left.iter().collect::<Vec<u32>>());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]

    #[test]
    fn segment_and_delta(
        columns in (1..300usize).prop_flat_map(|rows| prop::collection::vec(column(rows), 1..4)),
        shapes in prop::collection::vec(shape(), 20),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let segment = write_and_open(&folder.path().join("s.parquet"), &columns);
        let cache = ColumnCache::new(1 << 20);
        let sealed = SegmentColumns { segment: &segment, cache: &cache };
        let coded: Vec<Arc<CodedColumn>> = (0..columns.len()).map(|column| sealed.column(column).unwrap()).collect();
        check(&sealed, &coded, &shapes)?;
        check(&DeltaColumns::new(coded.clone()).unwrap(), &coded, &shapes)?;
    }
}

/// Several zones, some of which zone maps decide, and masks that are dense, sparse and empty.
#[test]
fn many_zones() {
    use arrow::array::{ArrayRef, Int64Array};
    use squall_column_store::ColumnType;
    use squall_column_store::index::IndexChoice;
    let rows = 150_000;
    let column = |values: Vec<Option<i64>>, index| {
        let array: ArrayRef = Arc::new(Int64Array::from(values));
        Column { column_type: ColumnType::Signed(8), array, index }
    };
    let columns = [
        column((0..rows).map(Some).collect(), IndexChoice::None),
        column((0..rows).map(|row| (row % 5 > 0).then_some(row * 7919 % 100)).collect(), IndexChoice::Bitmap),
        column((0..rows).map(|row| Some(row * 104_729 % 1_000_003)).collect(), IndexChoice::Binned),
    ];
    let folder = tempfile::tempdir().unwrap();
    let segment = write_and_open(&folder.path().join("s.parquet"), &columns);
    let cache = ColumnCache::new(64 << 20);
    let source = SegmentColumns { segment: &segment, cache: &cache };
    let coded: Vec<Arc<CodedColumn>> = (0..3).map(|column| source.column(column).unwrap()).collect();
    let test = |column, kind, rows: &[(usize, i8)]| Shape::Test { column, kind, rows: rows.to_vec() };
    let shapes = [
        test(0, 4, &[(60_000, 0), (70_000, 0)]),
        test(0, 3, &[(149_990, 0)]),
        Shape::And(vec![test(1, 2, &[(1, 0)]), test(2, 4, &[(5, 0), (6, 0)]), test(0, 2, &[(140_000, 0)])]),
        Shape::Not(Box::new(Shape::Or(vec![test(1, 6, &[(1, 0), (3, 0), (9, 0)]), test(2, 2, &[(77, 1)])]))),
        Shape::And(vec![test(0, 1, &[(66_000, 0)]), test(2, 3, &[(0, 0)])]),
    ];
    check(&source, &coded, &shapes).unwrap();
}
