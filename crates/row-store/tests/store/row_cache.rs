//! Reads by key through the row cache while the rows change.

use crate::fixture::*;
use squall_catalog::IndexId;
use squall_row_store::{Direction, Durability, IsolationLevel, RowStore, Table, TransactionOptions, ValueRange};
use squall_test_support::SetOnDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

const ROWS: i64 = 8;
/// Changes of each writer.
const CHANGES: i64 = 3000;

fn begin(store: &RowStore, isolation: IsolationLevel, durability: Durability) -> squall_row_store::Transaction {
    store.begin_with(TransactionOptions { durability, ..TransactionOptions::new(isolation) }, None)
}

fn newest(store: &RowStore, table: &Table, id: i64) -> i64 {
    let row = store.get(table, &key(table, id)).unwrap().expect("the row is there");
    k_of(&row.values(table).unwrap())
}

/// By the index on `k`, which reads the rows by their keys.
fn by_index(txn: &mut squall_row_store::Transaction, table: &Arc<Table>) -> Vec<i64> {
    all(txn, table, 1, Direction::Forward).iter().map(|row| k_of(row)).collect()
}

/// A change that its writer knows to be committed is seen by every reader from then on; a transaction sees the same rows
/// by key, by the table and by an index for as long as it lives; and no reader sees a row become older.
#[test]
fn readers_by_key_see_every_commit_and_no_later_one() {
    for (durability, changes, options) in [
        (Durability::Full, CHANGES / 20, options()),
        (Durability::Os, CHANGES, options()),
        (Durability::Os, CHANGES / 20, spilling_options()),
    ] {
        let (fixture, table) = Fixture::plain_with(options);
        let store = &fixture.store;
        let mut txn = begin(store, IsolationLevel::RepeatableRead, Durability::Os);
        for id in 0..ROWS {
            txn.insert(&table, &row(id, 0, "", None)).unwrap();
        }
        txn.commit().unwrap();
        let committed: Vec<AtomicI64> = (0..ROWS).map(|_| AtomicI64::new(0)).collect();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let end = SetOnDrop(&done);
            let (committed, done, table) = (&committed, &done, &table);
            let writers: Vec<_> = (0..2)
                .map(|writer| {
                    scope.spawn(move || {
                        for change in 1..=changes {
                            let id = (change * 2 + writer) % ROWS;
                            let k = newest(store, table, id) + 1;
                            let mut txn = begin(store, IsolationLevel::ReadCommitted, durability);
                            let old = lock(&mut txn, table, id);
                            // Now and then the row goes and comes back.
                            if change % 7 == 0 {
                                txn.delete(table, &old).unwrap();
                                txn.insert(table, &row(id, k, "anew", None)).unwrap();
                            } else {
                                txn.update(table, &old, &row(id, k, "", None)).unwrap();
                            }
                            txn.commit().unwrap();
                            committed[id as usize].store(k, Ordering::SeqCst);
                        }
                    })
                })
                .collect();
            for reader in 0..2 {
                scope.spawn(move || {
                    let mut last = [0; ROWS as usize];
                    while !done.load(Ordering::SeqCst) {
                        for id in 0..ROWS {
                            let at_least = committed[id as usize].load(Ordering::SeqCst).max(last[id as usize]);
                            let k = newest(store, table, id);
                            assert!(k >= at_least, "row {id} is {k} after {at_least} was committed");
                            last[id as usize] = k;
                        }
                        if reader == 0 {
                            let mut txn = begin(store, IsolationLevel::RepeatableRead, Durability::Os);
                            let range = table.range(IndexId(0), ValueRange::ALL).unwrap();
                            let mut cursor = txn.scan(table, &range, Direction::Forward);
                            let mut by_table = Vec::new();
                            while let Some(row) = cursor.next_row().unwrap() {
                                by_table.push(k_of(&row.values(table).unwrap()));
                            }
                            let by_key: Vec<i64> = (0..ROWS)
                                .map(|id| k_of(&get(&mut txn, table, id).expect("the row is there")))
                                .collect();
                            assert_eq!(by_key, by_table);
                            by_table.sort_unstable();
                            assert_eq!(by_index(&mut txn, table), by_table);
                        }
                    }
                });
            }
            for writer in writers {
                writer.join().expect("a writer");
            }
            drop(end);
        });
        assert!(store.row_cache_status().hits > 0);
        for id in 0..ROWS {
            assert_eq!(newest(store, &table, id), committed[id as usize].load(Ordering::SeqCst));
        }
    }
}

#[test]
fn what_is_read_twice_is_read_from_the_cache_until_it_changes_or_is_off() {
    let (fixture, table) = Fixture::plain();
    let store = &fixture.store;
    let mut txn = begin(store, IsolationLevel::RepeatableRead, Durability::Os);
    txn.insert(&table, &row(1, 10, "", None)).unwrap();
    txn.commit().unwrap();
    let hits = || store.row_cache_status().hits;
    assert_eq!((newest(store, &table, 1), newest(store, &table, 1), hits()), (10, 10, 1));
    let mut txn = begin(store, IsolationLevel::ReadCommitted, Durability::Os);
    let old = lock(&mut txn, &table, 1);
    txn.delete(&table, &old).unwrap();
    txn.commit().unwrap();
    assert!(store.get(&table, &key(&table, 1)).unwrap().is_none());
    assert_eq!(hits(), 1);
    store.resize_row_cache(0);
    let mut txn = begin(store, IsolationLevel::ReadCommitted, Durability::Os);
    txn.insert(&table, &row(1, 11, "", None)).unwrap();
    txn.commit().unwrap();
    assert_eq!((newest(store, &table, 1), newest(store, &table, 1), hits()), (11, 11, 1));
    assert_eq!(store.row_cache_status().bytes, 0);
}
