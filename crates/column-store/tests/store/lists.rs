//! Lists and look-ups by key against a look at every row.

use crate::generate::{Column, column, write_and_open};
use arrow::array::{ArrayRef, Int64Array, StringViewArray};
use proptest::prelude::*;
use roaring::RoaringBitmap;
use squall_column_store::index::IndexChoice;
use squall_column_store::predicate::{ColumnSource, Condition, Predicate, Test};
use squall_column_store::{
    ColumnCache, ColumnType, Datum, Error, ListOptions, SegmentColumns, append_list, rows_of_key,
};
use std::ops::Bound;
use std::sync::Arc;

fn text(datum: &Datum) -> Vec<u8> {
    match datum {
        Datum::Integer(value) => value.to_string().into_bytes(),
        Datum::Float(value) => panic!("{value} in a list"),
        Datum::Bytes(value) => value.to_vec(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn lists(
        columns in (1..300usize).prop_flat_map(|rows| prop::collection::vec(column(rows), 2)),
        separator in prop_oneof![Just(","), Just(", "), Just("")],
        inverted in any::<bool>(),
        threads in 1..3usize,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let segment = write_and_open(&folder.path().join("s.parquet"), &columns);
        let cache = ColumnCache::new(1 << 20);
        let source = SegmentColumns { segment: &segment, cache: &cache };
        let deleted: RoaringBitmap = (0..source.rows() as u32).step_by(5).collect();
        let is_null = Predicate::test(0, Test::IsNull);
        let condition = Condition::from(&if inverted { !is_null } else { is_null });
        let (tested, listed) = (source.column(0).unwrap(), source.column(1).unwrap());
        let mut list = b"(".to_vec();
        let options = ListOptions { separator: separator.as_bytes(), threads };
        let found = append_list(&source, &condition, Some(&deleted), 1, options, &mut list);
        if matches!(columns[1].column_type, ColumnType::Float | ColumnType::Double) {
            prop_assert!(matches!(found, Err(Error::Invalid(_))));
            return Ok(());
        }
        let rows = (0..source.rows()).filter(|row| row % 5 > 0 && tested.is_null(*row) != inverted);
        let values: Vec<Vec<u8>> = rows.filter_map(|row| listed.datum(row)).map(|datum| text(&datum)).collect();
        prop_assert_eq!(found.unwrap(), values.len() as u64);
        prop_assert_eq!(list, [b"(", &values.join(separator.as_bytes())[..]].concat());
    }
}

#[test]
fn keys_in_order() {
    // Two columns of a key, the first with gaps and runs, over three zones.
    let rows = 150_000i64;
    let key = |row: i64| (row / 7 * 3, row % 7);
    let integers = |value: &dyn Fn(i64) -> i64| {
        let array: ArrayRef = Arc::new(Int64Array::from_iter_values((0..rows).map(value)));
        Column { column_type: ColumnType::Signed(8), array, index: IndexChoice::None }
    };
    let names: ArrayRef =
        Arc::new(StringViewArray::from_iter_values((0..rows).map(|row| format!("{:06}", row / 3 * 2))));
    let columns = [
        integers(&|row| key(row).0),
        integers(&|row| key(row).1),
        Column { column_type: ColumnType::Text, array: names, index: IndexChoice::None },
    ];
    let folder = tempfile::tempdir().unwrap();
    let segment = write_and_open(&folder.path().join("s.parquet"), &columns);
    let cache = ColumnCache::new(64 << 20);
    let source = SegmentColumns { segment: &segment, cache: &cache };
    let number = |column, value: i64| (column, Datum::Integer(value.into()));
    assert!(rows_of_key(&source, &[number(0, -1)]).unwrap().is_empty());
    assert!(rows_of_key(&source, &[number(0, i64::MAX)]).unwrap().is_empty());
    assert_eq!(cache.status().entries, 0, "zone maps have answered");
    for row in (0..rows).step_by(617).chain([rows - 1]) {
        let (first, second) = key(row);
        let start = row as usize / 7 * 7;
        assert_eq!(rows_of_key(&source, &[number(0, first)]).unwrap(), start..(start + 7).min(rows as usize));
        let whole = rows_of_key(&source, &[number(0, first), number(1, second)]).unwrap();
        assert_eq!(whole, row as usize..row as usize + 1);
        assert!(rows_of_key(&source, &[number(0, first + 1)]).unwrap().is_empty());
        let name = |value: i64| [(2, Datum::Bytes(format!("{value:06}").into_bytes().into()))];
        let start = row as usize / 3 * 3;
        assert_eq!(rows_of_key(&source, &name(row / 3 * 2)).unwrap(), start..(start + 3).min(rows as usize));
        assert!(rows_of_key(&source, &name(row / 3 * 2 + 1)).unwrap().is_empty());
    }
    // A list of some of them.
    let low = Test::Range { low: Bound::Included(Datum::Integer(30)), high: Bound::Excluded(Datum::Integer(36)) };
    let condition = Condition::from(&Predicate::test(0, low));
    let mut list = Vec::new();
    let options = ListOptions { separator: b",", threads: 2 };
    assert_eq!(append_list(&source, &condition, None, 1, options, &mut list).unwrap(), 14);
    assert_eq!(list, b"0,1,2,3,4,5,6,0,1,2,3,4,5,6");
}
