//! Rows from all over a table.

use crate::fixture::{Fixture, key, row};
use squall_row_store::{IsolationLevel, SampledRows, Table, key_between};
use std::sync::Arc;

fn filled(ids: impl Iterator<Item = i64>) -> (Fixture, Arc<Table>) {
    let (fixture, table) = Fixture::plain();
    let mut txn = fixture.store.begin(IsolationLevel::RepeatableRead, false);
    for id in ids {
        txn.insert(&table, &row(id, id % 50, "", None)).unwrap();
    }
    txn.commit().unwrap();
    (fixture, table)
}

/// The ids of the rows that are the first of their place.
fn places(table: &Table, sampled: &SampledRows, ids: impl Iterator<Item = i64>) -> Vec<i64> {
    let by_key: std::collections::BTreeMap<Vec<u8>, i64> = ids.map(|id| (key(table, id), id)).collect();
    sampled.places.iter().map(|place| by_key[sampled.rows[*place].key_bytes()]).collect()
}

#[test]
fn small_tables_are_read_whole() {
    for rows in [0, 1, 300] {
        let (fixture, table) = filled(0..rows);
        let sampled = fixture.store.sample_rows(&table).unwrap();
        assert!(sampled.is_whole);
        assert_eq!(sampled.rows.len() as i64, rows);
        assert_eq!(sampled.places, if rows > 0 { vec![0] } else { vec![] });
    }
}

#[test]
fn places_are_spread_over_large_tables() {
    let (fixture, table) = filled(0..20_000);
    let sampled = fixture.store.sample_rows(&table).unwrap();
    assert!(!sampled.is_whole);
    let places = places(&table, &sampled, 0..20_000);
    assert!((200..=260).contains(&places.len()), "{}", places.len());
    assert_eq!(places[0], 0);
    assert!(places.windows(2).all(|pair| (30..160).contains(&(pair[1] - pair[0]))), "{places:?}");
    assert!(sampled.rows.len() <= 4 * places.len());
}

#[test]
fn long_rows_are_not_kept() {
    let (fixture, table) = Fixture::plain();
    let mut txn = fixture.store.begin(IsolationLevel::RepeatableRead, false);
    let long = "x".repeat(40_000);
    for id in 0..500 {
        txn.insert(&table, &row(id, id % 50, if id % 2 == 0 { &long } else { "" }, None)).unwrap();
    }
    txn.commit().unwrap();
    let sampled = fixture.store.sample_rows(&table).unwrap();
    assert!(!sampled.is_whole);
    assert!(sampled.rows.len() > 50, "{}", sampled.rows.len());
    assert!(sampled.rows.iter().all(|row| row.size_bytes() < 40_000));
    assert!(sampled.places.iter().all(|place| *place < sampled.rows.len()));
}

#[test]
fn gaps_are_no_places() {
    // Half of the rows have keys that are far from the others'.
    let ids = || (0..10_000).chain((0..10_000).map(|id| 1_000_000_000 + id));
    let (fixture, table) = filled(ids());
    let sampled = fixture.store.sample_rows(&table).unwrap();
    let places = places(&table, &sampled, ids());
    let (low, high): (Vec<i64>, Vec<i64>) = places.iter().partition(|id| **id < 10_000);
    assert!(low.len() > 40 && high.len() > 40, "{} and {}", low.len(), high.len());
    assert!(places.len() < 600, "{}", places.len());
}

#[test]
fn keys_between_two_lie_between_them() {
    let (first, last) = (b"t1\x10".as_slice(), b"t1\x20\x05".as_slice());
    let between: Vec<Vec<u8>> = (0..=4).map(|part| key_between(first, last, part, 4)).collect();
    assert!(between.is_sorted());
    assert!(between.iter().all(|key| key.starts_with(b"t1")));
    assert_eq!(between[0], first);
    assert_eq!(between[2][2], 0x18);
    assert_eq!(&between[4][..4], last);
    // A key is no further than the last one, and nothing lies between a key and itself.
    assert_eq!(key_between(first, first, 1, 2)[..3], *first);
    assert_eq!(key_between(last, first, 1, 2)[..4], *last);
}
