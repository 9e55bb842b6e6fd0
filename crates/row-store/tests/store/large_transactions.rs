//! Transactions that write more than they may have in memory.

use crate::fixture::*;
use squall_row_store::{DdlChanges, Direction, IsolationLevel, StoreOptions, Table, Transaction};
use squall_test_support::SetOnDrop;
use squall_types::{SqlError, Value};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const ROWS: i64 = 4000;
const BUFFER: usize = 64 << 10;

fn fixture() -> (Fixture, Arc<Table>) {
    Fixture::plain_with(StoreOptions { transaction_buffer_bytes: BUFFER, ..options() })
}

fn begin(fixture: &Fixture) -> Transaction {
    fixture.store.begin(IsolationLevel::RepeatableRead, false)
}

fn text(id: i64) -> String {
    format!("row {id} ").repeat(5)
}

fn insert(txn: &mut Transaction, table: &Table, ids: std::ops::Range<i64>) {
    for id in ids {
        txn.insert(table, &row(id, id % 7, &text(id), Some(id))).unwrap();
        assert!(txn.written_bytes() < 2 * BUFFER, "{} bytes in memory", txn.written_bytes());
    }
}

fn files_in(folder: &Path) -> usize {
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

fn check(fixture: &Fixture, table: &Arc<Table>, expected: impl Fn(i64) -> Option<Vec<Value>>) {
    let mut txn = begin(fixture);
    let expected: Vec<Vec<Value>> = (0..2 * ROWS).filter_map(expected).collect();
    for index in 0..3 {
        let mut found = all(&mut txn, table, index, Direction::Forward);
        found.sort_by_key(|row| if let Value::Int(id) = row[0] { id } else { 0 });
        assert_eq!(found, expected, "by index {index}");
    }
    assert_eq!(fixture.store.table_stats(table).row_count, expected.len() as u64);
    assert_eq!(files_in(&fixture.directory.path().join("temporary")), 0, "temporary files");
    assert_eq!(files_in(&fixture.directory.path().join("rows/pending")), 0, "pending files");
}

#[test]
fn a_transaction_may_be_larger_than_memory() {
    let (mut fixture, mut table) = fixture();
    let mut txn = begin(&fixture);
    insert(&mut txn, &table, 0..ROWS);
    // It sees what it has written, row by row and by an index, and what it takes back is gone.
    assert_eq!(get(&mut txn, &table, 17), Some(row(17, 3, &text(17), Some(17))));
    assert_eq!(all(&mut txn, &table, 1, Direction::Backward).len() as i64, ROWS);
    let savepoint = txn.savepoint();
    for id in 0..ROWS {
        let old = lock(&mut txn, &table, id);
        txn.update(&table, &old, &row(id, 1000, "changed", None)).unwrap();
    }
    insert(&mut txn, &table, ROWS..ROWS + 500);
    txn.rollback_to(savepoint);
    assert_eq!(ids(&mut txn, &table), (0..ROWS).collect::<Vec<_>>());
    for id in (0..ROWS).step_by(3) {
        let old = lock(&mut txn, &table, id);
        txn.delete(&table, &old).unwrap();
    }
    txn.commit().unwrap();
    let expected = |id: i64| (id < ROWS && id % 3 != 0).then(|| row(id, id % 7, &text(id), Some(id)));
    check(&fixture, &table, expected);
    drop(table);
    fixture = fixture.reopen();
    table = fixture.table("t1");
    check(&fixture, &table, expected);
    // Rows that are there are changed, and others see them as they were until it is committed.
    let mut reader = begin(&fixture);
    assert_eq!(get(&mut reader, &table, 4), Some(row(4, 4, &text(4), Some(4))));
    let mut txn = begin(&fixture);
    for id in (0..ROWS).filter(|id| id % 3 != 0) {
        let old = lock(&mut txn, &table, id);
        txn.update(&table, &old, &row(id, 5, "new", Some(-id))).unwrap();
    }
    txn.commit().unwrap();
    assert_eq!(get(&mut reader, &table, 4), Some(row(4, 4, &text(4), Some(4))));
    assert_eq!(all(&mut reader, &table, 1, Direction::Forward).len() as i64, ROWS - ROWS / 3 - 1);
    drop(reader);
    check(&fixture, &table, |id| (id < ROWS && id % 3 != 0).then(|| row(id, 5, "new", Some(-id))));
}

#[test]
fn one_that_is_rolled_back_leaves_nothing() {
    let (fixture, table) = fixture();
    let mut txn = begin(&fixture);
    insert(&mut txn, &table, 0..ROWS);
    assert!(files_in(&fixture.directory.path().join("temporary")) > 0, "nothing has left memory");
    drop(txn);
    check(&fixture, &table, |_| None);
}

#[test]
fn the_other_of_two_fails_where_both_are_serializable() {
    let (fixture, table) = fixture();
    let mut small = fixture.store.begin(IsolationLevel::Serializable, false);
    assert!(ids(&mut small, &table).is_empty());
    let mut large = begin(&fixture);
    insert(&mut large, &table, 0..ROWS);
    large.commit().unwrap();
    small.insert(&table, &row(ROWS, 1, "", None)).unwrap();
    assert!(small.commit().unwrap_err().is(squall_types::ErrorCode::Deadlock));
    // And of those that read what a large one changes, the large one.
    let mut large = fixture.store.begin(IsolationLevel::Serializable, false);
    assert_eq!(ids(&mut large, &table).len() as i64, ROWS);
    let mut small = begin(&fixture);
    small.insert(&table, &row(2 * ROWS, 1, "", None)).unwrap();
    small.commit().unwrap();
    for id in 0..ROWS {
        match large.get_locked(&table, &key(&table, id), FOR_UPDATE) {
            Ok(old) => large.delete(&table, &old.unwrap()).unwrap(),
            Err(error) => panic!("{}", SqlError::from(error)),
        }
    }
    assert!(large.commit().unwrap_err().is(squall_types::ErrorCode::Deadlock));
    let expected = |id: i64| match id {
        0..ROWS => Some(row(id, id % 7, &text(id), Some(id))),
        _ => None,
    };
    let mut txn = begin(&fixture);
    let mut small = lock(&mut txn, &table, 2 * ROWS);
    small = txn.get_locked(&table, small.key_bytes(), FOR_UPDATE).unwrap().unwrap();
    txn.delete(&table, &small).unwrap();
    txn.commit().unwrap();
    check(&fixture, &table, expected);
}

#[test]
fn where_nothing_can_be_written_a_statement_fails_and_the_rest_stays() {
    let (fixture, table) = fixture();
    let mut txn = begin(&fixture);
    insert(&mut txn, &table, 0..100);
    let savepoint = txn.savepoint();
    let folder = fixture.directory.path().join("temporary");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::write(&folder, "in the way").unwrap();
    let failed = (100..ROWS).find_map(|id| txn.insert(&table, &row(id, 1, &text(id), Some(id))).err());
    assert!(failed.is_some(), "it was written all the same");
    txn.rollback_to(savepoint);
    std::fs::remove_file(&folder).unwrap();
    insert(&mut txn, &table, 100..ROWS);
    txn.commit().unwrap();
    check(&fixture, &table, |id| (id < ROWS).then(|| row(id, id % 7, &text(id), Some(id))));
}

#[test]
fn rows_of_a_very_large_transaction_are_locked_by_what_it_has_written() {
    const MANY: i64 = 150_000;
    let (fixture, table) = Fixture::plain();
    let mut txn = begin(&fixture);
    txn.insert(&table, &row(-1, 1, "", Some(-1))).unwrap();
    txn.commit().unwrap();
    let mut large = begin(&fixture);
    let old = lock(&mut large, &table, -1);
    for id in 0..MANY {
        large.insert(&table, &row(id, 1, "", Some(id))).unwrap();
    }
    assert!(fixture.store.locks().len() < 100_000, "{} locks are kept", fixture.store.locks().len());
    let nowait = |error: squall_row_store::StoreError| SqlError::from(error).is(squall_types::ErrorCode::LockNowait);
    let mut other = begin(&fixture);
    other.begin_statement(squall_row_store::LockWait::Nowait);
    // A row that it has inserted, a unique value, and one that it has locked and not written.
    assert!(nowait(other.get_locked(&table, &key(&table, 5), FOR_UPDATE).unwrap_err()));
    assert!(nowait(other.insert(&table, &row(6, 1, "", None)).unwrap_err()));
    assert!(nowait(other.insert(&table, &row(MANY + 1, 1, "", Some(7))).unwrap_err()));
    assert!(nowait(other.get_locked(&table, &key(&table, -1), FOR_UPDATE).unwrap_err()));
    other.insert(&table, &row(MANY + 2, 1, "", None)).unwrap();
    other.commit().unwrap();
    // A waiter gets what was committed, and a deadlock with it is seen.
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let mut other = begin(&fixture);
            let wait = squall_row_store::LockWait::Timeout(std::time::Duration::from_secs(60));
            let request = squall_row_store::LockRequest { wait, ..FOR_UPDATE };
            let row = other.get_locked(&table, &key(&table, 9), request).unwrap();
            (row.is_some(), other.get_locked(&table, &key(&table, 10), request).unwrap().is_some())
        });
        while fixture.store.lock_waiter_count() == 0 {
            std::thread::yield_now();
        }
        large.delete(&table, &old).unwrap();
        let old = lock(&mut large, &table, 10);
        large.delete(&table, &old).unwrap();
        large.commit().unwrap();
        assert_eq!(waiter.join().unwrap(), (true, false));
    });
    assert!(fixture.store.locks().is_empty());
    let mut txn = begin(&fixture);
    assert_eq!(ids(&mut txn, &table).len() as i64, MANY);
}

#[test]
fn a_commit_whose_files_cannot_be_made_leaves_nothing() {
    let (fixture, table) = fixture();
    let pending = fixture.directory.path().join("rows/pending");
    let _ = std::fs::remove_dir_all(&pending);
    std::fs::write(&pending, "in the way").unwrap();
    let mut txn = begin(&fixture);
    insert(&mut txn, &table, 0..ROWS);
    assert!(txn.commit().is_err());
    assert!(fixture.store.locks().is_empty());
    std::fs::remove_file(&pending).unwrap();
    check(&fixture, &table, |_| None);
    let mut txn = begin(&fixture);
    insert(&mut txn, &table, 0..ROWS);
    txn.commit().unwrap();
    check(&fixture, &table, |id| (id < ROWS).then(|| row(id, id % 7, &text(id), Some(id))));
}

#[test]
fn a_row_that_was_locked_before_it_was_written_stays_locked_when_that_is_rolled_back() {
    const MANY: i64 = 150_000;
    let (fixture, table) = Fixture::plain();
    let mut txn = begin(&fixture);
    txn.insert(&table, &row(-1, 1, "", None)).unwrap();
    txn.commit().unwrap();
    let wait = squall_row_store::LockWait::Nowait;
    let mut large = begin(&fixture);
    large.begin_statement(wait);
    let old = lock(&mut large, &table, -1);
    let savepoint = large.savepoint();
    large.begin_statement(wait);
    large.update(&table, &old, &row(-1, 2, "", None)).unwrap();
    for id in 0..MANY {
        large.insert(&table, &row(id, 1, "", None)).unwrap();
    }
    assert!(fixture.store.locks().len() < 100_000, "{} locks are kept", fixture.store.locks().len());
    large.rollback_to(savepoint);
    let mut other = begin(&fixture);
    other.begin_statement(wait);
    let error = SqlError::from(other.get_locked(&table, &key(&table, -1), FOR_UPDATE).unwrap_err());
    assert!(error.is(squall_types::ErrorCode::LockNowait), "{error}");
    // What was inserted and taken back belongs to no table.
    assert!(other.get_locked(&table, &key(&table, 5), FOR_UPDATE).unwrap().is_none());
}

#[test]
fn loads_that_are_given_up_leave_files_of_commits_alone() {
    const COMMITS: i64 = 60;
    let fixture = Fixture::with(spilling_options());
    fixture.store.commit_ddl(&catalog_of(&[&heap_def(1)]), &DdlChanges::default()).unwrap();
    let table = fixture.table("t1");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let end = SetOnDrop(&done);
        scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                let mut given_up = fixture.store.bulk_load(&table);
                (0..2000).for_each(|at| given_up.push(row(at, at, "given up", None)).unwrap());
            }
        });
        for commit in 0..COMMITS {
            let mut txn = begin(&fixture);
            for at in 0..10 {
                txn.insert(&table, &row(10 * commit + at, 1, "committed", None)).unwrap();
            }
            txn.commit().unwrap();
        }
        drop(end);
    });
    let mut txn = begin(&fixture);
    let mut found = all(&mut txn, &table, 2, Direction::Forward);
    found.sort_by_key(|row| if let Value::Int(id) = row[0] { id } else { 0 });
    assert_eq!(found, (0..10 * COMMITS).map(|id| row(id, 1, "committed", None)).collect::<Vec<_>>());
}
