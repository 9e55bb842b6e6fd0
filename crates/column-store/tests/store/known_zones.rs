//! Zone maps answer some queries without reading a column.

use crate::generate::{Column, write_and_open};
use arrow::array::{ArrayRef, Int64Array, StringViewArray};
use roaring::RoaringBitmap;
use squall_column_store::index::IndexChoice;
use squall_column_store::predicate::{Condition, Predicate, Test};
use squall_column_store::star::{
    Aggregate, Expression, StarAnswer, StarOptions, StarQuery, StarSource, run_star_query,
};
use squall_column_store::{ColumnCache, ColumnType, Datum, SegmentColumns, ZONE_ROWS};
use std::ops::Bound;
use std::sync::Arc;

/// Three whole zones and a part of one.
const ROWS: i64 = 3 * ZONE_ROWS as i64 + 1000;

/// A clustered number, one of which the second zone has only NULLs, a text that is NULL now and then.
fn columns() -> Vec<Column> {
    let zone = |row: i64| row / ZONE_ROWS as i64;
    let scattered = |row: i64| (zone(row) != 1).then_some(row * 7919 % 1000 - 500);
    let texts = (0..ROWS).map(|row| (row % 10 > 0).then(|| format!("text {}", row % 3)));
    let column = |column_type, array| Column { column_type, array, index: IndexChoice::None };
    vec![
        column(ColumnType::Signed(8), Arc::new(Int64Array::from_iter_values(0..ROWS)) as ArrayRef),
        column(ColumnType::Signed(8), Arc::new((0..ROWS).map(scattered).collect::<Int64Array>())),
        column(ColumnType::Text, Arc::new(texts.collect::<StringViewArray>())),
    ]
}

#[test]
fn zones_that_are_known_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let segment = write_and_open(&folder.path().join("s.parquet"), &columns());
    let ask = |condition: Predicate, deleted: &[u32], aggregates: Vec<Aggregate>| -> (StarAnswer, u64) {
        let cache = ColumnCache::new(1 << 30);
        let columns = SegmentColumns { segment: &segment, cache: &cache };
        let deleted: RoaringBitmap = deleted.iter().copied().collect();
        let sources = [StarSource { columns: &columns, deleted: Some(&deleted) }];
        let query = StarQuery { condition: Condition::from(&condition), joins: vec![], groups: vec![], aggregates };
        let options = StarOptions { threads: 2, groups_max: 10, arguments_of_64_bits: true, cancelled: None };
        let answer = run_star_query(&query, &sources, options).unwrap();
        (answer, cache.status().misses)
    };
    let all = || Predicate::Constant(true);
    let column = Expression::Column;
    let plain = || {
        vec![
            Aggregate::CountRows,
            Aggregate::Count(column(1)),
            Aggregate::Count(column(2)),
            Aggregate::Min(column(1)),
            Aggregate::Max(column(0)),
        ]
    };
    let zone = ZONE_ROWS as i128;
    let rows = i128::from(ROWS);
    let texts = |rows: i64| i128::from(rows - (rows + 9) / 10);
    let expected = [rows, rows - zone, texts(ROWS), -500, rows - 1].map(Some);
    // Everything: no column is loaded.
    let (answer, loads) = ask(all(), &[], plain());
    assert_eq!((&answer.groups[0].values[..], answer.zones_known, answer.zones_read, loads), (&expected[..], 4, 0, 0));
    // A sum has to be computed.
    let (answer, loads) = ask(all(), &[], vec![Aggregate::Sum(column(0))]);
    assert_eq!((answer.groups[0].values[0], answer.zones_known, loads), (Some(rows * (rows - 1) / 2), 0, 1));
    // A deleted row makes its zone one to be read, unless only rows are counted.
    let (answer, loads) = ask(all(), &[5], plain());
    let expected = [rows - 1, rows - zone - 1, texts(ROWS) - 1, -500, rows - 1].map(Some);
    assert_eq!((&answer.groups[0].values[..], answer.zones_known, answer.zones_read, loads), (&expected[..], 3, 1, 3));
    let (answer, loads) = ask(all(), &[5, 70_000], vec![Aggregate::CountRows, Aggregate::Count(column(0))]);
    assert_eq!((&answer.groups[0].values[..], answer.zones_known, loads), (&[Some(rows - 2); 2][..], 4, 0));
    // A range of the clustered column decides two zones, cuts one and leaves one.
    let low = Predicate::test(0, Test::Range { low: Bound::Included(Datum::Integer(70_000)), high: Bound::Unbounded });
    let (answer, _) = ask(low, &[], plain());
    let expected = [rows - 70_000, rows - 2 * zone, texts(ROWS - 70_000), -500, rows - 1].map(Some);
    assert_eq!((&answer.groups[0].values[..], answer.zones_known, answer.zones_read), (&expected[..], 3, 1));
    // Nothing matches, which zone maps know, too; then counts are 0 and the others NULL.
    let none = Predicate::test(0, Test::equal(Datum::Integer(-1)));
    let (answer, loads) = ask(none, &[], plain());
    let expected = [Some(0), Some(0), Some(0), None, None];
    assert_eq!((&answer.groups[0].values[..], answer.zones_known, answer.zones_read, loads), (&expected[..], 4, 0, 0));
    // All values of the rows are NULL.
    let second = Test::Range {
        low: Bound::Included(Datum::Integer(ZONE_ROWS as i128)),
        high: Bound::Excluded(Datum::Integer(2 * ZONE_ROWS as i128)),
    };
    let (answer, loads) =
        ask(Predicate::test(0, second), &[], vec![Aggregate::Count(column(1)), Aggregate::Max(column(1))]);
    assert_eq!((&answer.groups[0].values[..], loads), (&[Some(0), None][..], 0));
}
