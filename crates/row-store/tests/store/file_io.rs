//! The counts of reads and writes of tables' files.

use crate::fixture::*;
use squall_accounting::file_use::FileTotals;
use squall_catalog::{IndexId, TableId};
use squall_row_store::{
    DdlChanges, Direction, IsolationLevel, LockWait, OnDuplicate, RowStore, TableFileIo, ValueRange,
};
use std::path::Path;
use std::time::{Duration, Instant};

const RR: IsolationLevel = IsolationLevel::RepeatableRead;
const ROWS: i64 = 2000;
const COMMIT_DELAY: Duration = Duration::from_secs(30);

fn of_table(store: &RowStore) -> TableFileIo {
    store.file_io().tables.into_iter().find(|io| io.table == Some(TableId(1))).expect("the table's files are watched")
}

fn read(store: &RowStore) -> (u64, u64) {
    let read = of_table(store).totals.read;
    (read.count, read.bytes)
}

/// Bytes of the table's files as they lie on disk.
fn bytes_on_disk(folder: &Path) -> u64 {
    std::fs::read_dir(folder.join("tables")).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

/// Waits for files to be merged and done with.
fn wait_for(store: &RowStore, is_so: impl Fn(&TableFileIo) -> bool) -> TableFileIo {
    let deadline = Instant::now() + COMMIT_DELAY;
    loop {
        let io = of_table(store);
        if is_so(&io) {
            return io;
        }
        assert!(Instant::now() < deadline, "{io:?}, {} bytes on disk", bytes_on_disk(&io.folder));
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn reads_of_files_are_counted_and_reads_of_caches_are_not() {
    let (fixture, table) = Fixture::plain();
    let mut txn = fixture.store.begin(RR, false);
    for id in 0..ROWS {
        txn.insert(&table, &row(id, id % 10, "some text", None)).unwrap();
    }
    txn.commit().unwrap();
    assert_eq!(of_table(&fixture.store).totals, FileTotals::default());
    fixture.store.flush().unwrap();
    let written = of_table(&fixture.store);
    assert_eq!(written.totals.written.bytes, bytes_on_disk(&written.folder));
    assert!(written.totals.written.count > 2, "{written:?}");
    assert_eq!(written.totals.read, Default::default());
    drop(table);

    // Nothing has been written since it was opened, and the caches are cold.
    let fixture = fixture.reopen();
    let table = fixture.table("t1");
    assert_eq!(of_table(&fixture.store).totals.written, Default::default());
    let cold = read(&fixture.store);
    let mut txn = fixture.store.begin(RR, true);
    assert!(get(&mut txn, &table, 700).is_some());
    let first = read(&fixture.store);
    assert!(first.0 > cold.0 && first.1 > cold.1, "{cold:?} {first:?}");
    // The row cache has it, and the engine's cache has the block with its neighbours.
    assert!(get(&mut txn, &table, 700).is_some());
    assert!(get(&mut txn, &table, 701).is_some());
    assert_eq!(read(&fixture.store), first);
    // A scan reads what is in no cache, once.
    assert_eq!(ids(&mut txn, &table).len() as i64, ROWS);
    let scanned = read(&fixture.store);
    assert!(scanned.0 > first.0, "{first:?} {scanned:?}");
    assert_eq!(ids(&mut txn, &table).len() as i64, ROWS);
    let range = table.range(IndexId(0), ValueRange::ALL).unwrap();
    let mut backward = txn.scan(&table, &range, Direction::Backward);
    while backward.next_row().unwrap().is_some() {}
    assert_eq!(read(&fixture.store), scanned);

    fixture.store.clear_file_io();
    assert_eq!(of_table(&fixture.store).totals, FileTotals::default());
}

#[test]
fn merges_are_counted_with_what_they_read_and_write() {
    // Without keys that rows are looked up by when they are inserted.
    let fixture = Fixture::new();
    fixture.store.commit_ddl(&catalog_of(&[&heap_def(1)]), &DdlChanges::default()).unwrap();
    let table = fixture.table("t1");
    for part in 0..8 {
        let mut txn = fixture.store.begin(RR, false);
        for id in 0..ROWS {
            txn.insert(&table, &row(id * 8 + part, id % 10, "some text that is merged", None)).unwrap();
        }
        txn.commit().unwrap();
        fixture.store.flush().unwrap();
    }
    let is_done = |io: &TableFileIo| {
        let on_disk = bytes_on_disk(&io.folder);
        let (read, written) = (io.totals.read.bytes, io.totals.written.bytes);
        // A merge reads the rows of its files, and not what is behind them.
        read > 0 && written >= on_disk + read && written < on_disk + read * 3 / 2
    };
    let merged = wait_for(&fixture.store, is_done).totals;
    assert!(merged.read.count > 0 && merged.read.count < merged.written.count, "{merged:?}");
    fixture.store.clear_file_io();
    assert_eq!(of_table(&fixture.store).totals, FileTotals::default());
}

#[test]
fn files_of_loads_are_counted_and_those_of_tables_that_are_gone_are_kept() {
    let (fixture, table) = Fixture::plain();
    let mut load = fixture.store.bulk_load(&table);
    (0..ROWS).for_each(|id| load.push(row(id, id % 10, "loaded", None)).unwrap());
    load.finish(1, LockWait::Nowait, OnDuplicate::Fail).unwrap();
    let loaded = of_table(&fixture.store);
    assert_eq!(loaded.totals.written.bytes, bytes_on_disk(&loaded.folder));
    let mut txn = fixture.store.begin(RR, true);
    assert_eq!(ids(&mut txn, &table).len() as i64, ROWS);
    let totals = of_table(&fixture.store).totals;
    assert!(totals.read.count > 0);
    drop(txn);
    drop(table);
    fixture.store.commit_ddl(&catalog_of(&[]), &DdlChanges::default()).unwrap();
    let deadline = Instant::now() + COMMIT_DELAY;
    while fixture.store.file_io().tables.iter().any(|io| io.table.is_some()) {
        assert!(Instant::now() < deadline, "the files of a dropped table stay");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(fixture.store.file_io().gone, totals);
    fixture.store.clear_file_io();
    assert_eq!(fixture.store.file_io().gone, FileTotals::default());
}
