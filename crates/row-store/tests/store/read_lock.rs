//! The global read lock, while transactions commit all the time.

use crate::fixture::{Fixture, get, row};
use squall_row_store::{Durability, IsolationLevel, LockWait, RowStore, StoreError, Table, TransactionOptions};
use squall_types::{ErrorCode, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const RC: IsolationLevel = IsolationLevel::ReadCommitted;
const WRITERS: i64 = 4;

fn wait() -> LockWait {
    LockWait::Timeout(Duration::from_secs(60))
}

/// What all rows are now.
fn rows(store: &RowStore, table: &Arc<Table>) -> Vec<i64> {
    let mut reader = store.begin(RC, true);
    let number = |value: &Value| if let Value::Int(value) = value { *value } else { panic!("{value:?}") };
    (0..WRITERS).map(|id| get(&mut reader, table, id).map(|row| number(&row[1])).expect("a row")).collect()
}

#[test]
fn nothing_changes_under_the_read_lock() {
    let (fixture, table) = Fixture::plain();
    let store = fixture.store.clone();
    let mut first = store.begin(RC, false);
    for id in 0..WRITERS {
        first.insert(&table, &row(id, 0, "", None)).unwrap();
    }
    first.commit().unwrap();
    let (ended, commits) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for id in 0..WRITERS {
            let (store, table, ended, commits) = (&store, &table, &ended, &commits);
            scope.spawn(move || {
                let durability = [Durability::Full, Durability::Os, Durability::Lazy][id as usize % 3];
                for k in 1.. {
                    if ended.load(Ordering::Relaxed) {
                        return;
                    }
                    let options = TransactionOptions { durability, ..TransactionOptions::new(RC) };
                    let mut txn = store.begin_with(options, Some(100 + id as u64));
                    txn.begin_statement(wait());
                    let request = squall_row_store::LockRequest { wait: wait(), ..crate::fixture::FOR_UPDATE };
                    let old = txn.get_locked(table, &crate::fixture::key(table, id), request).unwrap().unwrap();
                    txn.update(table, &old, &row(id, k, "", None)).unwrap();
                    // As sessions do; without it the commit waits where it meets the log.
                    if k % 2 == 0 && txn.meets_read_lock() {
                        txn.pass_read_lock().unwrap();
                    }
                    txn.commit().unwrap();
                    commits.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for _ in 0..300 {
            let before = commits.load(Ordering::Relaxed);
            let lock = store.global_read_lock(1, wait()).unwrap();
            let seen = rows(&store, &table);
            std::thread::sleep(Duration::from_micros(300));
            assert_eq!(rows(&store, &table), seen);
            drop(lock);
            while commits.load(Ordering::Relaxed) == before {
                std::thread::yield_now();
            }
        }
        ended.store(true, Ordering::Relaxed);
    });
    assert!(store.locks().is_empty());
}

#[test]
fn it_is_waited_for_no_longer_than_told_and_not_by_its_own_session() {
    let (fixture, table) = Fixture::plain();
    let store = &fixture.store;
    let brief = Duration::from_millis(20);
    let mut before = store.begin_with(TransactionOptions::new(RC), Some(2));
    before.insert(&table, &row(1, 1, "", None)).unwrap();
    let lock = store.global_read_lock(1, wait()).unwrap();
    let code = |error: StoreError| squall_types::SqlError::from(error).code;
    let options = TransactionOptions { table_lock_wait: brief, ..TransactionOptions::new(RC) };
    let mut own = store.begin_with(options.clone(), Some(1));
    let mut other = store.begin_with(options, Some(2));
    let conflict = ErrorCode::CantUpdateWithReadLock.number();
    assert_eq!(code(own.insert(&table, &row(2, 1, "", None)).unwrap_err()), conflict);
    assert_eq!(code(other.insert(&table, &row(2, 1, "", None)).unwrap_err()), ErrorCode::LockWaitTimeout.number());
    let definition = |session, wait| store.definition_pass(session, wait).map(drop).map_err(code);
    assert_eq!(definition(1, wait()), Err(conflict));
    assert_eq!(definition(2, LockWait::Timeout(brief)), Err(ErrorCode::LockWaitTimeout.number()));
    let ticket = before.commit_async();
    std::thread::sleep(brief);
    assert!(ticket.poll_done().is_none());
    drop(lock);
    ticket.wait().unwrap();
    other.insert(&table, &row(2, 1, "", None)).unwrap();
    own.rollback();
    other.commit().unwrap();
    assert!(store.locks().is_empty());
}

#[test]
fn commits_that_wait_are_told_when_the_store_closes() {
    let (fixture, table) = Fixture::plain();
    let mut before = fixture.store.begin_with(TransactionOptions::new(RC), Some(2));
    before.insert(&table, &row(1, 1, "", None)).unwrap();
    let lock = fixture.store.global_read_lock(1, wait()).unwrap();
    let ticket = before.commit_async();
    fixture.store.close().unwrap();
    assert!(ticket.wait().is_err());
    drop(lock);
}
