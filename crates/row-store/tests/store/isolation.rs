//! One test for each anomaly and level: the level prevents it, or allows it.

use crate::fixture::*;
use squall_catalog::IndexId;
use squall_row_store::{
    Direction, IsolationLevel, LockMode, LockRequest, LockWait, LockedRow, StoreError, Table, Transaction,
    TransactionOptions, ValueRange,
};
use squall_types::{SqlError, Value};
use std::sync::Arc;
use std::time::Duration;

const RU: IsolationLevel = IsolationLevel::ReadUncommitted;
const RC: IsolationLevel = IsolationLevel::ReadCommitted;
const RR: IsolationLevel = IsolationLevel::RepeatableRead;
const SERIALIZABLE: IsolationLevel = IsolationLevel::Serializable;
const ALL: [IsolationLevel; 4] = [RU, RC, RR, SERIALIZABLE];

/// Two rows, 1 and 2, with `k` = 10 and 20.
fn two_rows() -> (Fixture, Arc<Table>) {
    let (fixture, table) = Fixture::plain();
    let mut txn = fixture.store.begin(RR, false);
    txn.insert(&table, &row(1, 10, "", None)).unwrap();
    txn.insert(&table, &row(2, 20, "", None)).unwrap();
    txn.commit().unwrap();
    (fixture, table)
}

fn k(txn: &mut Transaction, table: &Table, id: i64) -> i64 {
    match get(txn, table, id).unwrap()[1] {
        Value::Int(k) => k,
        _ => panic!("k is an integer"),
    }
}

fn set(txn: &mut Transaction, table: &Table, id: i64, k: i64) -> Result<(), StoreError> {
    let row_now = txn.get_locked(table, &key(table, id), FOR_UPDATE)?.expect("the row is there");
    txn.update(table, &row_now, &row(id, k, "", None)).map(|_| ())
}

fn statement(txn: &mut Transaction) {
    txn.begin_statement(LockWait::Nowait);
}

fn code(error: StoreError) -> u16 {
    SqlError::from(error).code
}

#[test]
fn g0_dirty_writes_are_prevented_at_every_level() {
    for level in ALL {
        let (fixture, table) = two_rows();
        let mut a = fixture.store.begin(level, false);
        let mut b = fixture.store.begin(level, false);
        set(&mut a, &table, 1, 11).unwrap();
        assert_eq!(code(set(&mut b, &table, 1, 12).unwrap_err()), 3572);
        a.commit().unwrap();
    }
}

#[test]
fn g1a_and_g1b_uncommitted_writes_are_not_read() {
    for level in ALL {
        let (fixture, table) = two_rows();
        let mut a = fixture.store.begin(level, false);
        let mut b = fixture.store.begin(level, false);
        set(&mut a, &table, 1, 101).unwrap();
        statement(&mut b);
        assert_eq!(k(&mut b, &table, 1), 10);
        set(&mut a, &table, 1, 11).unwrap();
        a.rollback();
        statement(&mut b);
        assert_eq!(k(&mut b, &table, 1), 10);
    }
}

#[test]
fn fuzzy_reads_are_allowed_below_repeatable_read() {
    for level in ALL {
        let (fixture, table) = two_rows();
        let mut a = fixture.store.begin(level, false);
        statement(&mut a);
        assert_eq!(k(&mut a, &table, 1), 10);
        let mut b = fixture.store.begin(level, false);
        set(&mut b, &table, 1, 11).unwrap();
        b.commit().unwrap();
        statement(&mut a);
        assert_eq!(k(&mut a, &table, 1), if level >= RR { 10 } else { 11 });
    }
}

#[test]
fn phantoms_are_allowed_below_repeatable_read() {
    for level in ALL {
        let (fixture, table) = two_rows();
        let mut a = fixture.store.begin(level, false);
        assert_eq!(ids(&mut a, &table), [1, 2]);
        let mut b = fixture.store.begin(level, false);
        b.insert(&table, &row(3, 30, "", None)).unwrap();
        b.commit().unwrap();
        statement(&mut a);
        assert_eq!(ids(&mut a, &table).len(), if level >= RR { 2 } else { 3 });
        assert_eq!(all(&mut a, &table, 1, Direction::Backward).len(), if level >= RR { 2 } else { 3 });
    }
}

#[test]
fn lost_updates_end_with_1020_at_repeatable_read() {
    for level in ALL {
        let (fixture, table) = two_rows();
        let mut a = fixture.store.begin(level, false);
        assert_eq!(k(&mut a, &table, 1), 10);
        let mut b = fixture.store.begin(level, false);
        assert_eq!(k(&mut b, &table, 1), 10);
        set(&mut a, &table, 1, 11).unwrap();
        a.commit().unwrap();
        statement(&mut b);
        let result = set(&mut b, &table, 1, 12);
        if level >= RR {
            assert_eq!(code(result.unwrap_err()), 1020);
            assert!(b.is_aborted());
            assert!(b.commit().is_err());
        } else {
            result.unwrap();
            b.commit().unwrap();
        }
    }
}

#[test]
fn without_snapshot_isolation_a_write_meets_the_newest_row() {
    let (fixture, table) = two_rows();
    let options = TransactionOptions { snapshot_isolation: false, ..TransactionOptions::new(RR) };
    let mut a = fixture.store.begin_with(options, None);
    assert_eq!(k(&mut a, &table, 1), 10);
    let mut b = fixture.store.begin(RR, false);
    set(&mut b, &table, 1, 11).unwrap();
    b.commit().unwrap();
    assert_eq!(k(&mut a, &table, 1), 10);
    let newest = lock(&mut a, &table, 1);
    assert_eq!(newest.view(&table).get_i64(1).unwrap(), Some(11));
    set(&mut a, &table, 1, 12).unwrap();
    assert_eq!(k(&mut a, &table, 1), 12);
    a.commit().unwrap();
}

#[test]
fn a_first_write_takes_no_snapshot() {
    let (fixture, table) = two_rows();
    let mut a = fixture.store.begin(RR, false);
    let mut b = fixture.store.begin(RR, false);
    set(&mut b, &table, 1, 11).unwrap();
    b.commit().unwrap();
    set(&mut a, &table, 1, 12).unwrap();
    let mut c = fixture.store.begin(RR, false);
    set(&mut c, &table, 2, 21).unwrap();
    c.commit().unwrap();
    assert_eq!((k(&mut a, &table, 1), k(&mut a, &table, 2)), (12, 21));
    a.commit().unwrap();
}

#[test]
fn deletes_and_inserts_after_the_snapshot_are_changes_too() {
    let (fixture, table) = two_rows();
    let reader = || {
        let mut txn = fixture.store.begin(RR, false);
        txn.take_snapshot();
        txn
    };
    let (mut a, mut b) = (reader(), reader());
    let mut c = fixture.store.begin(RR, false);
    let first = lock(&mut c, &table, 1);
    c.delete(&table, &first).unwrap();
    c.insert(&table, &row(3, 30, "", Some(3))).unwrap();
    c.commit().unwrap();
    assert_eq!(code(a.get_locked(&table, &key(&table, 1), FOR_UPDATE).unwrap_err()), 1020);
    assert_eq!(get(&mut b, &table, 3), None);
    assert_eq!(code(b.insert(&table, &row(1, 1, "", None)).unwrap_err()), 1020);
}

#[test]
fn write_skew_is_allowed_at_repeatable_read_and_not_at_serializable() {
    for level in [RR, SERIALIZABLE] {
        let (fixture, table) = two_rows();
        let mut a = fixture.store.begin(level, false);
        let mut b = fixture.store.begin(level, false);
        for txn in [&mut a, &mut b] {
            assert_eq!(k(txn, &table, 1) + k(txn, &table, 2), 30);
        }
        set(&mut a, &table, 1, -10).unwrap();
        set(&mut b, &table, 2, -20).unwrap();
        a.commit().unwrap();
        assert_eq!(b.commit().is_ok(), level == RR);
    }
}

#[test]
fn predicate_write_skew_is_not_allowed_at_serializable() {
    for index in [0, 1] {
        let (fixture, table) = two_rows();
        let mut a = fixture.store.begin(SERIALIZABLE, false);
        let mut b = fixture.store.begin(SERIALIZABLE, false);
        for (txn, id) in [(&mut a, 3), (&mut b, 4)] {
            assert_eq!(all(txn, &table, index, Direction::Forward).len(), 2);
            txn.insert(&table, &row(id, 30, "", None)).unwrap();
        }
        a.commit().unwrap();
        let error = b.commit().unwrap_err();
        assert_eq!((error.code, error.sqlstate_str()), (1213, "40001"));
    }
}

#[test]
fn serializable_transactions_that_do_not_meet_all_commit() {
    let (fixture, table) = two_rows();
    let mut a = fixture.store.begin(SERIALIZABLE, false);
    let mut b = fixture.store.begin(SERIALIZABLE, false);
    let mut reader = fixture.store.begin(SERIALIZABLE, true);
    assert_eq!(k(&mut a, &table, 1), 10);
    assert_eq!(k(&mut b, &table, 2), 20);
    assert_eq!(k(&mut reader, &table, 1), 10);
    set(&mut a, &table, 1, 11).unwrap();
    set(&mut b, &table, 2, 21).unwrap();
    a.commit().unwrap();
    b.commit().unwrap();
    assert_eq!(k(&mut reader, &table, 2), 20);
    reader.commit().unwrap();
}

#[test]
fn an_unread_row_changed_by_another_column_is_seen_through_an_index() {
    // The index entry stays as it is; the row behind it changes.
    let (fixture, table) = two_rows();
    let mut a = fixture.store.begin(SERIALIZABLE, false);
    assert_eq!(all(&mut a, &table, 1, Direction::Forward).len(), 2);
    let mut b = fixture.store.begin(RR, false);
    let first = lock(&mut b, &table, 1);
    b.update(&table, &first, &row(1, 10, "changed", None)).unwrap();
    b.commit().unwrap();
    a.insert(&table, &row(5, 5, "", None)).unwrap();
    assert!(a.commit().is_err());
}

#[test]
fn autocommit_statements_wait_and_go_on_with_the_newest_row() {
    let (fixture, table) = two_rows();
    let mut a = fixture.store.begin(RR, false);
    set(&mut a, &table, 1, 11).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut txn = fixture.store.begin_with(TransactionOptions::autocommit(), Some(7));
            let wait = LockWait::Timeout(Duration::from_secs(20));
            txn.begin_statement(wait);
            let range = table.range(IndexId(1), ValueRange::ALL).unwrap();
            let request = LockRequest { mode: LockMode::Exclusive, wait };
            let mut scan = txn.scan_locked(&table, &range, Direction::Forward, request);
            let mut seen = Vec::new();
            while let Some(LockedRow { row: old, .. }) = scan.next(&mut txn).unwrap() {
                let now = old.view(&table).get_i64(1).unwrap().unwrap();
                seen.push(now);
                let id = old.view(&table).get_i64(0).unwrap().unwrap();
                txn.update(&table, &old, &row(id, now + 100, "", None)).unwrap();
            }
            txn.commit().unwrap();
            seen
        });
        std::thread::sleep(Duration::from_millis(50));
        a.commit().unwrap();
        assert_eq!(waiting.join().unwrap(), [11, 20]);
    });
    let mut txn = fixture.store.begin(RR, true);
    assert_eq!((k(&mut txn, &table, 1), k(&mut txn, &table, 2)), (111, 120));
}

#[test]
fn skip_locked_and_would_block() {
    let (fixture, table) = two_rows();
    let mut a = fixture.store.begin(RR, false);
    lock(&mut a, &table, 1);
    let range = table.range(IndexId(0), ValueRange::ALL).unwrap();
    let mut b = fixture.store.begin(RR, false);
    let skip = LockRequest { mode: LockMode::Exclusive, wait: LockWait::SkipLocked };
    let mut scan = b.scan_locked(&table, &range, Direction::Forward, skip);
    let found = scan.next(&mut b).unwrap().unwrap().row;
    assert_eq!(found.key_bytes(), key(&table, 2));
    assert!(scan.next(&mut b).unwrap().is_none());
    let mut c = fixture.store.begin(RR, false);
    let would_block = LockRequest { mode: LockMode::Shared, wait: LockWait::WouldBlock };
    let mut scan = c.scan_locked(&table, &range, Direction::Forward, would_block);
    assert_eq!(scan.next(&mut c).unwrap_err(), StoreError::WouldBlock);
    a.rollback();
    assert_eq!(scan.next(&mut c).unwrap().unwrap().row.key_bytes(), key(&table, 1));
    assert_eq!(scan.next(&mut c).unwrap_err(), StoreError::WouldBlock);
    b.rollback();
    assert_eq!(scan.next(&mut c).unwrap().unwrap().row.key_bytes(), key(&table, 2));
}

#[test]
fn a_deadlock_rolls_the_younger_back() {
    let (fixture, table) = two_rows();
    let mut older = fixture.store.begin(RC, false);
    let mut younger = fixture.store.begin(RC, false);
    lock(&mut older, &table, 1);
    set(&mut younger, &table, 2, 99).unwrap();
    let wait = LockRequest { mode: LockMode::Exclusive, wait: LockWait::Timeout(Duration::from_secs(20)) };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let error = younger.get_locked(&table, &key(&table, 1), wait).unwrap_err();
            (code(error), younger.is_aborted())
        });
        let row = older.get_locked(&table, &key(&table, 2), wait).unwrap().unwrap();
        assert_eq!(row.view(&table).get_i64(1).unwrap(), Some(20));
        assert_eq!(other.join().unwrap(), (1213, true));
    });
    older.commit().unwrap();
}

#[test]
fn inserts_of_one_unique_value_wait_for_each_other() {
    for commits in [true, false] {
        let (fixture, table) = two_rows();
        let mut a = fixture.store.begin(RR, false);
        a.insert(&table, &row(3, 0, "", Some(7))).unwrap();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let mut txn = fixture.store.begin(RR, false);
                txn.begin_statement(LockWait::Timeout(Duration::from_secs(20)));
                let result = txn.insert(&table, &row(4, 0, "", Some(7))).map(|_| ()).map_err(code);
                txn.commit().unwrap();
                result
            });
            std::thread::sleep(Duration::from_millis(30));
            if commits {
                a.commit().unwrap();
            } else {
                a.rollback();
            }
            assert_eq!(other.join().unwrap(), if commits { Err(1062) } else { Ok(()) });
        });
    }
}

#[test]
fn a_value_being_given_up_is_waited_for() {
    let (fixture, table) = two_rows();
    let mut setup = fixture.store.begin(RR, false);
    setup.insert(&table, &row(3, 0, "", Some(7))).unwrap();
    setup.commit().unwrap();
    let mut a = fixture.store.begin(RR, false);
    let third = lock(&mut a, &table, 3);
    a.delete(&table, &third).unwrap();
    let mut b = fixture.store.begin(RR, false);
    b.begin_statement(LockWait::WouldBlock);
    assert_eq!(b.insert(&table, &row(4, 0, "", Some(7))).unwrap_err(), StoreError::WouldBlock);
    a.commit().unwrap();
    b.insert(&table, &row(4, 0, "", Some(7))).unwrap();
    b.commit().unwrap();
}

/// Transfers between accounts under every level: the sum that a snapshot sees is always the same, and at the levels
/// that promise it no transfer is lost.
#[test]
fn transfers_keep_the_sum() {
    const ACCOUNTS: i64 = 8;
    for level in [RR, SERIALIZABLE] {
        let (fixture, table) = Fixture::plain();
        let mut txn = fixture.store.begin(RR, false);
        for id in 0..ACCOUNTS {
            txn.insert(&table, &row(id, 100, "", None)).unwrap();
        }
        txn.commit().unwrap();
        let transfer = |from: i64, to: i64| -> Result<(), StoreError> {
            let mut txn = fixture.store.begin(level, false);
            txn.begin_statement(LockWait::Timeout(Duration::from_secs(20)));
            // Read first and write later: safe only if a change in between is found out.
            let (from_k, to_k) = (k(&mut txn, &table, from), k(&mut txn, &table, to));
            set_waiting(&mut txn, &table, from, from_k - 1)?;
            set_waiting(&mut txn, &table, to, to_k + 1)?;
            txn.commit()?;
            Ok(())
        };
        let (fixture, table, transfer) = (&fixture, &table, &transfer);
        std::thread::scope(|scope| {
            for worker in 0..4i64 {
                scope.spawn(move || {
                    for number in 0..100 {
                        let from = (worker * 31 + number * 7) % ACCOUNTS;
                        // A failed transfer changes nothing; that is what the sum shows.
                        let _ = transfer(from, (from + 1 + number % 5) % ACCOUNTS);
                    }
                });
            }
            scope.spawn(move || {
                for _ in 0..50 {
                    let mut txn = fixture.store.begin(RR, true);
                    let rows = all(&mut txn, table, 0, Direction::Forward);
                    let sum: i64 = rows.iter().map(|row| if let Value::Int(k) = row[1] { k } else { 0 }).sum();
                    assert_eq!(sum, 100 * ACCOUNTS);
                }
            });
        });
        let mut txn = fixture.store.begin(RR, true);
        let rows = all(&mut txn, table, 1, Direction::Forward);
        let sum: i64 = rows.iter().map(|row| if let Value::Int(k) = row[1] { k } else { 0 }).sum();
        assert_eq!((rows.len() as i64, sum), (ACCOUNTS, 100 * ACCOUNTS));
    }
}

fn set_waiting(txn: &mut Transaction, table: &Table, id: i64, k: i64) -> Result<(), StoreError> {
    let wait = LockRequest { mode: LockMode::Exclusive, wait: LockWait::Timeout(Duration::from_secs(20)) };
    let now = txn.get_locked(table, &key(table, id), wait)?.expect("accounts stay");
    txn.update(table, &now, &row(id, k, "", None)).map(|_| ())
}

/// What is written to files meanwhile has the versions that an open snapshot sees, or is not read for it.
#[test]
fn a_snapshot_stays_as_it_is_while_buffers_become_files() {
    for rounds in 1..4 {
        let (fixture, table) = Fixture::plain();
        let mut expected = Vec::new();
        for id in 0..3 {
            let mut txn = fixture.store.begin(RR, false);
            txn.insert(&table, &row(id, 0, "", None)).unwrap();
            txn.commit().unwrap();
            expected.push(row(id, 0, "", None));
        }
        let mut reader = fixture.store.begin(RR, false);
        reader.take_snapshot();
        for round in 1..=rounds {
            let mut txn = fixture.store.begin(RR, false);
            for id in 0..2 {
                let old = lock(&mut txn, &table, id);
                txn.update(&table, &old, &row(id, round, "", None)).unwrap();
            }
            if round == 2 {
                let old = lock(&mut txn, &table, 2);
                txn.delete(&table, &old).unwrap();
            }
            txn.commit().unwrap();
            fixture.store.flush().unwrap();
            assert_eq!(all(&mut reader, &table, 0, Direction::Forward), expected);
            assert_eq!(all(&mut reader, &table, 1, Direction::Forward), expected);
            assert_eq!(all(&mut reader, &table, 0, Direction::Backward).len(), 3);
        }
    }
}
