//! A disk that fills up: an error instead of a death, and nothing acknowledged is lost. Needs a small file system of its
//! own: `SQUALL_SMALL_DISK=/path cargo test -p squall-row-store full_disk`.

use crate::fixture::*;
use squall_row_store::{DdlChanges, Durability, IsolationLevel, RowStore, TransactionOptions};
use squall_types::ErrorCode;

#[test]
fn a_full_disk_is_an_error() {
    let Some(disk) = std::env::var_os("SQUALL_SMALL_DISK") else {
        eprintln!("skipped: a_full_disk_is_an_error (mount a tmpfs of 120 MB and set SQUALL_SMALL_DISK to it)");
        return;
    };
    let directory = tempfile::tempdir_in(disk).unwrap();
    let store = RowStore::open(directory.path(), options()).unwrap();
    store.commit_ddl(&catalog_of(&[&plain_def(1)]), &DdlChanges::default()).unwrap();
    let fixture = Fixture { directory, store };
    let table = fixture.table("t1");
    let text = "x".repeat(2000);
    let mut committed = 0;
    let error = loop {
        let options = TransactionOptions {
            durability: Durability::Full,
            ..TransactionOptions::new(IsolationLevel::RepeatableRead)
        };
        let mut txn = fixture.store.begin_with(options, None);
        for at in 0..100 {
            txn.insert(&table, &row(committed * 100 + at, at, &text, None)).unwrap();
        }
        match txn.commit() {
            Ok(()) => committed += 1,
            Err(error) => break error,
        }
    };
    assert!(error.is(ErrorCode::DiskFull) || error.is(ErrorCode::UnknownError), "{error}");
    // What is there can still be read.
    let mut txn = fixture.store.begin(IsolationLevel::RepeatableRead, true);
    assert!(ids(&mut txn, &table).len() as i64 >= committed * 100);
    drop((txn, table));
    let Fixture { directory, store } = fixture;
    let _ = store.close();
    drop(store);
    // With room again, everything acknowledged is there.
    let larger = tempfile::tempdir().unwrap();
    crate::torn_log::copy(directory.path(), larger.path());
    let store = RowStore::open(larger.path(), options()).unwrap();
    let fixture = Fixture { directory: larger, store };
    let table = fixture.table("t1");
    let mut txn = fixture.store.begin(IsolationLevel::RepeatableRead, true);
    assert!(ids(&mut txn, &table).len() as i64 >= committed * 100);
    eprintln!("{committed} commits, then: {error}");
}
