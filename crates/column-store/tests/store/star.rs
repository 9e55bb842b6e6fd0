//! Star queries against a loop over rows.

use crate::generate::{Column, write_and_open};
use arrow::array::{ArrayRef, Int64Array, StringViewArray};
use proptest::prelude::*;
use roaring::RoaringBitmap;
use squall_column_store::index::IndexChoice;
use squall_column_store::predicate::{ColumnSource, Condition, DeltaColumns, Predicate, Test};
use squall_column_store::star::{
    Aggregate, Expression, Group, GroupBy, GroupKey, KeyMap, StarJoin, StarOptions, StarQuery, StarSource, dimension,
    run_star_query,
};
use squall_column_store::{CodedColumn, ColumnCache, ColumnType, Datum, Error, SegmentColumns};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// A fact row: two keys, a word, a small number, a large one.
type Row = (Option<i64>, Option<i64>, Option<u8>, Option<i64>, i64);

const WORDS: [&str; 5] = ["", "aa", "b", "cc", "d"];

fn row() -> impl Strategy<Value = Row> {
    let key = |span: i64| prop::option::weighted(0.95, -3..span);
    (key(20), key(3000), prop::option::weighted(0.9, 0..5u8), prop::option::weighted(0.9, -50..50i64), any::<i64>())
}

fn columns(rows: &[Row], index: IndexChoice) -> Vec<Column> {
    let integers = |values: Vec<Option<i64>>| Arc::new(Int64Array::from(values)) as ArrayRef;
    let word = |row: &Row| row.2.map(|word| WORDS[usize::from(word)]);
    let words = StringViewArray::from(rows.iter().map(word).collect::<Vec<_>>());
    let column = |column_type, array, index| Column { column_type, array, index };
    vec![
        column(ColumnType::Signed(8), integers(rows.iter().map(|row| row.0).collect()), IndexChoice::None),
        column(ColumnType::Signed(8), integers(rows.iter().map(|row| row.1).collect()), IndexChoice::None),
        column(ColumnType::Text, Arc::new(words), index.clone()),
        column(ColumnType::Signed(8), integers(rows.iter().map(|row| row.3).collect()), index),
        column(ColumnType::Signed(8), integers(rows.iter().map(|row| Some(row.4)).collect()), IndexChoice::None),
    ]
}

fn delta(columns: &[Column]) -> DeltaColumns {
    let coded = |column: &Column| {
        Arc::new(CodedColumn::from_arrays(column.column_type, std::slice::from_ref(&column.array)).unwrap())
    };
    DeltaColumns::new(columns.iter().map(coded).collect()).unwrap()
}

/// The keys of the first dimension are 0..20, those of the second every fifth up to 3,000 or, `far`, one beyond an array.
fn query(condition: &Predicate, far: bool, groups: Vec<GroupBy>) -> StarQuery {
    let near: Vec<(i64, u32)> = (0..20).filter(|key| key % 3 > 0).map(|key| (key, key as u32 % 4)).collect();
    let mut sparse: Vec<(i64, u32)> = (0..3000).step_by(5).map(|key| (key, key as u32 % 7)).collect();
    if far {
        sparse.push((i64::MAX, 0));
    }
    let join =
        |column, pairs: &[(i64, u32)], groups| StarJoin { column, keys: Arc::new(KeyMap::new(pairs, groups).unwrap()) };
    let product = Expression::Multiply(Box::new(Expression::Column(3)), Box::new(Expression::Column(4)));
    let difference = Expression::Subtract(Box::new(Expression::Literal(7)), Box::new(Expression::Column(3)));
    StarQuery {
        condition: Condition::from(condition),
        joins: vec![join(0, &near, 4), join(1, &sparse, 7)],
        groups,
        aggregates: vec![
            Aggregate::CountRows,
            Aggregate::Count(Expression::Column(3)),
            Aggregate::Sum(product.clone()),
            Aggregate::Sum(Expression::Column(4)),
            Aggregate::Min(difference),
            Aggregate::Max(product),
            Aggregate::Min(Expression::Column(4)),
            Aggregate::Max(Expression::Column(3)),
        ],
    }
}

/// What SQL says.
fn naive(query: &StarQuery, rows: &[Row], matches: impl Fn(&Row) -> bool) -> Vec<Group> {
    let mut groups: BTreeMap<String, (Vec<GroupKey>, Vec<&Row>)> = BTreeMap::new();
    for row in rows.iter().filter(|row| matches(row)) {
        let code = |join: usize| match query.joins.get(join) {
            Some(found) => found.keys.get(if join == 0 { row.0? } else { row.1? }),
            // Nothing to join with: every row stays.
            None => Some(0),
        };
        let (Some(first), Some(second)) = (code(0), code(1)) else { continue };
        let key = |group: &GroupBy| match group {
            GroupBy::Join(0) => GroupKey::Code(first),
            GroupBy::Join(_) => GroupKey::Code(second),
            GroupBy::Column(2) => {
                GroupKey::Value(row.2.map(|word| Datum::Bytes(WORDS[usize::from(word)].as_bytes().into())))
            }
            GroupBy::Column(_) => GroupKey::Value(row.3.map(|value| Datum::Integer(value.into()))),
        };
        let keys: Vec<GroupKey> = query.groups.iter().map(key).collect();
        groups.entry(format!("{keys:?}")).or_insert_with(|| (keys, Vec::new())).1.push(row);
    }
    if groups.is_empty() && query.groups.is_empty() {
        groups.insert(String::new(), (Vec::new(), Vec::new()));
    }
    let group = |(keys, rows): (Vec<GroupKey>, Vec<&Row>)| {
        let small = || rows.iter().filter_map(|row| row.3.map(i128::from));
        let product = || rows.iter().filter_map(|row| Some(i128::from(row.3?) * i128::from(row.4)));
        let sum = |values: Vec<i128>| (!values.is_empty()).then(|| values.iter().sum());
        Group {
            keys,
            values: vec![
                Some(rows.len() as i128),
                Some(small().count() as i128),
                sum(product().collect()),
                sum(rows.iter().map(|row| i128::from(row.4)).collect()),
                small().map(|value| 7 - value).min(),
                product().max(),
                rows.iter().map(|row| i128::from(row.4)).min(),
                small().max(),
            ],
        }
    };
    groups.into_values().map(group).collect()
}

fn run(query: &StarQuery, sources: &[StarSource<'_>], threads: usize) -> Result<Vec<Group>, Error> {
    run_star_query(
        query,
        sources,
        StarOptions { threads, groups_max: usize::MAX, arguments_of_64_bits: false, cancelled: None },
    )
    .map(|answer| answer.groups)
}

fn sorted(mut groups: Vec<Group>) -> Vec<Group> {
    groups.sort_by_key(|group| format!("{:?}", group.keys));
    groups
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn segment_and_delta_rows(
        sealed in prop::collection::vec(row(), 1..400),
        unsealed in prop::collection::vec(row(), 0..100),
        indexed in any::<bool>(),
        far in any::<bool>(),
        condition in 0..4u8,
        group_by in prop::sample::subsequence(vec![GroupBy::Join(0), GroupBy::Join(1), GroupBy::Column(2), GroupBy::Column(3)], 0..=4),
        threads in 1..4usize,
        joined in any::<bool>(),
        with_deletes in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let index = if indexed { IndexChoice::Bitmap } else { IndexChoice::None };
        let segment = write_and_open(&folder.path().join("s.parquet"), &columns(&sealed, index));
        let cache = ColumnCache::new(1 << 20);
        let segment = SegmentColumns { segment: &segment, cache: &cache };
        let delta = delta(&columns(&unsealed, IndexChoice::None));
        let deleted: RoaringBitmap = (0..sealed.len() as u32).step_by(6).collect();
        let sources = [
            StarSource { columns: &segment, deleted: with_deletes.then_some(&deleted) },
            StarSource { columns: &delta, deleted: None },
        ];
        let small = Test::Range { low: Bound::Included(Datum::Integer(-20)), high: Bound::Excluded(Datum::Integer(20)) };
        let word = !Predicate::test(2, Test::equal(Datum::Bytes(b"aa"[..].into())));
        let predicate = match condition {
            0 => Predicate::Constant(true),
            1 => Predicate::test(3, small),
            2 => Predicate::And(vec![word, Predicate::test(3, small)]),
            _ => Predicate::Or(vec![Predicate::test(3, Test::IsNull), word]),
        };
        let is_small = |row: &Row| row.3.is_some_and(|value| (-20..20).contains(&value));
        let is_word = |row: &Row| row.2.is_some_and(|word| WORDS[usize::from(word)] != "aa");
        let matches = |row: &Row| match condition {
            0 => true,
            1 => is_small(row),
            2 => is_word(row) && is_small(row),
            _ => row.3.is_none() || is_word(row),
        };
        let mut query = query(&predicate, far, group_by);
        if !joined {
            query.joins.clear();
            query.groups.retain(|group| matches!(group, GroupBy::Column(_)));
        }
        let live = sealed.iter().enumerate().filter(|(at, _)| !with_deletes || at % 6 > 0).map(|(_, row)| *row).chain(unsealed);
        let expected = naive(&query, &live.collect::<Vec<_>>(), matches);
        prop_assert_eq!(sorted(run(&query, &sources, threads).unwrap()), expected);
    }
}

/// More rows than a zone, and more possible groups than an array has.
#[test]
fn many_zones_and_groups() {
    let rows: Vec<Row> = (0..200_000)
        .map(|row: i64| (Some(row % 23), Some(row * 7919 % 3001), Some((row % 5) as u8), Some(row % 997 * 37), row))
        .collect();
    let delta = delta(&columns(&rows, IndexChoice::None));
    let source = [StarSource { columns: &delta, deleted: None }];
    let groups = vec![GroupBy::Join(1), GroupBy::Column(3), GroupBy::Column(2)];
    let query = query(&Predicate::Constant(true), false, groups);
    let expected = naive(&query, &rows, |_| true);
    assert_eq!(sorted(run(&query, &source, 2).unwrap()), expected);
    let options = StarOptions { threads: 2, groups_max: 1000, arguments_of_64_bits: false, cancelled: None };
    let limited = |groups_max| run_star_query(&query, &source, StarOptions { groups_max, ..options });
    assert_eq!(limited(expected.len()).unwrap().groups.len(), expected.len());
    assert!(matches!(limited(1000), Err(Error::Invalid(_))));
    let cancelled = StarOptions { cancelled: Some(&|| true), ..options };
    assert!(matches!(run_star_query(&query, &source, cancelled), Err(Error::Cancelled)));
}

/// Sources whose key columns begin with the same key and end with different ones.
#[test]
fn sources_of_different_spans() {
    let rows =
        |keys: std::ops::Range<i64>| -> Vec<Row> { keys.map(|key| (Some(1), Some(key), None, Some(key), 1)).collect() };
    let (short, long) = (rows(0..33), rows(0..61));
    let sources = [delta(&columns(&short, IndexChoice::None)), delta(&columns(&long, IndexChoice::None))];
    let sources = sources.each_ref().map(|columns| StarSource { columns, deleted: None });
    for far in [false, true] {
        let query = query(&Predicate::Constant(true), far, vec![GroupBy::Join(1)]);
        let expected = naive(&query, &[&short[..], &long[..]].concat(), |_| true);
        assert_eq!(sorted(run(&query, &sources, 1).unwrap()), expected);
    }
}

/// Values whose codes leave low zero bits out, over more than one block, with no condition, join or group.
#[test]
fn totals_of_multiples() {
    let rows: Vec<Row> = (0..20_000).map(|row| (None, None, None, Some(-row), (row - 7000) * 1024)).collect();
    let delta = delta(&columns(&rows, IndexChoice::None));
    let source = [StarSource { columns: &delta, deleted: None }];
    let mut query = query(&Predicate::Constant(true), false, vec![]);
    query.joins.clear();
    assert_eq!(run(&query, &source, 2).unwrap(), naive(&query, &rows, |_| true));
}

#[test]
fn what_does_not_fit_is_refused() {
    let rows: Vec<Row> = vec![(Some(1), Some(5), None, Some(1), i64::MAX)];
    let delta = delta(&columns(&rows, IndexChoice::None));
    let source = [StarSource { columns: &delta, deleted: None }];
    let square = |expression: Expression| Expression::Multiply(Box::new(expression.clone()), Box::new(expression));
    let mut query = query(&Predicate::Constant(true), false, vec![]);
    query.aggregates = vec![Aggregate::Sum(square(Expression::Column(4)))];
    let squared = i128::from(i64::MAX) * i128::from(i64::MAX);
    assert_eq!(run(&query, &source, 1).unwrap()[0].values, [Some(squared)]);
    query.aggregates = vec![Aggregate::Sum(square(square(Expression::Column(4))))];
    assert!(matches!(run(&query, &source, 1), Err(Error::Invalid(_))));
    query.aggregates = vec![Aggregate::Sum(Expression::Column(2))];
    assert!(matches!(run(&query, &source, 1), Err(Error::Invalid(_))));
    assert!(KeyMap::new(&[(1, 3)], 3).is_err());
}

#[test]
fn a_dimension_becomes_a_map() {
    let rows: Vec<Row> = (0..100)
        .map(|row| (Some(row), Some(row), Some((row % 5) as u8), (row % 7 > 0).then_some(row % 3), row))
        .collect();
    let source = delta(&columns(&rows, IndexChoice::None));
    let condition = Condition::from(&Predicate::test(2, Test::prefix(b"a")));
    let found = dimension(&source, &condition, None, 0, &[2, 3]).unwrap();
    let pairs = |key: i64| found.keys.get(key).map(|code| found.groups[code as usize].clone());
    for row in &rows {
        let values = vec![Some(Datum::Bytes(b"aa"[..].into())), row.3.map(|value| Datum::Integer(value.into()))];
        assert_eq!(pairs(row.4), (row.2 == Some(1)).then_some(values), "{row:?}");
    }
    assert_eq!(found.groups.len(), 4);
    assert_eq!(source.rows(), 100);
}
