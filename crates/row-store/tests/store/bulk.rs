//! Bulk loads and index builds.

use crate::fixture::*;
use squall_catalog::IndexId;
use squall_row_store::{
    DdlChanges, Direction, IsolationLevel, LockWait, OnDuplicate, RowStore, StoreError, StoreOptions, ValueRange,
};
use squall_types::{SqlError, Value};

const RR: IsolationLevel = IsolationLevel::RepeatableRead;

fn small_buffers() -> StoreOptions {
    StoreOptions { sort_buffer_bytes: 4096, ..options() }
}

#[test]
fn a_load_becomes_visible_all_at_once() {
    let (fixture, table) = Fixture::plain();
    let Fixture { directory, store } = fixture;
    drop(table);
    store.close().unwrap();
    drop(store);
    let store = RowStore::open(directory.path(), small_buffers()).unwrap();
    let fixture = Fixture { directory, store };
    let table = fixture.table("t1");
    let mut txn = fixture.store.begin(RR, false);
    txn.insert(&table, &row(-1, 0, "before", None)).unwrap();
    txn.commit().unwrap();
    let mut load = fixture.store.bulk_load(&table);
    for id in 0..2000 {
        let id = id * 7919 % 2000;
        load.push(row(id, id % 10, "loaded", Some(id))).unwrap();
    }
    let mut reader = fixture.store.begin(RR, true);
    assert_eq!(ids(&mut reader, &table), [-1]);
    let outcome = load.finish(1, LockWait::Nowait, OnDuplicate::Fail).unwrap();
    assert_eq!((outcome.loaded, outcome.skipped.len()), (2000, 0));
    assert_eq!(ids(&mut reader, &table), [-1]);
    drop((reader, table));
    let fixture = fixture.reopen();
    let table = fixture.table("t1");
    let mut txn = fixture.store.begin(RR, false);
    assert_eq!(ids(&mut txn, &table), (-1..2000).collect::<Vec<_>>());
    assert_eq!(all(&mut txn, &table, 2, Direction::Forward).len(), 2001);
    assert_eq!(fixture.store.table_stats(&table).row_count, 2001);
    // Rows of a load are rows like others.
    let loaded = lock(&mut txn, &table, 7);
    txn.update(&table, &loaded, &row(7, 7, "updated", None)).unwrap();
    assert!(txn.insert(&table, &row(8, 0, "", None)).is_err());
    txn.commit().unwrap();
}

#[test]
fn a_load_treats_duplicates_as_single_inserts_would() {
    let (fixture, table) = Fixture::plain();
    let mut txn = fixture.store.begin(RR, false);
    txn.insert(&table, &row(100, 0, "there", Some(100))).unwrap();
    txn.commit().unwrap();
    let rows = [
        row(1, 0, "in", Some(1)),
        row(2, 0, "out by u", Some(1)),
        row(2, 0, "in, as the other is out", Some(3)),
        row(3, 0, "out by u", Some(3)),
        row(100, 0, "out by a row that is there", None),
        row(4, 0, "out by a row that is there", Some(100)),
        row(5, 0, "in", None),
        row(5, 0, "out", None),
    ];
    let load = || {
        let mut load = fixture.store.bulk_load(&table);
        rows.iter().for_each(|row| load.push(row.clone()).unwrap());
        load
    };
    let error = load().finish(1, LockWait::Nowait, OnDuplicate::Fail).unwrap_err();
    assert_eq!(SqlError::from(error).message, "Duplicate entry '1' for key 't1.u'");
    let outcome = load().finish(1, LockWait::Nowait, OnDuplicate::Skip).unwrap();
    assert_eq!((outcome.loaded, outcome.skipped), (3, vec![1, 3, 4, 5, 7]));
    let mut txn = fixture.store.begin(RR, true);
    assert_eq!(ids(&mut txn, &table), [1, 2, 5, 100]);
    let by_k = all(&mut txn, &table, 1, Direction::Forward);
    assert_eq!(by_k[1], row(2, 0, "in, as the other is out", Some(3)));
    assert_eq!(by_k.len(), 4);
}

/// Files of rows. The first keyspace is the catalog's, whose files come and go.
fn files(fixture: &Fixture) -> usize {
    let keyspaces = std::fs::read_dir(fixture.directory.path().join("rows/keyspaces")).unwrap().flatten();
    let of_tables = keyspaces.filter(|keyspace| keyspace.file_name() != "1");
    of_tables.map(|keyspace| std::fs::read_dir(keyspace.path().join("tables")).map_or(0, Iterator::count)).sum()
}

fn wait_until(otherwise: &str, is_so: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !is_so() {
        assert!(std::time::Instant::now() < deadline, "{otherwise}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn a_load_that_is_given_up_leaves_no_files() {
    let fixture = Fixture::new();
    fixture.store.commit_ddl(&catalog_of(&[&heap_def(1)]), &DdlChanges::default()).unwrap();
    let table = fixture.table("t1");
    let mut load = fixture.store.bulk_load(&table);
    // More than a file's worth.
    let text = "x".repeat(90);
    (0..3000).for_each(|id| load.push(row(id, id, &text, None)).unwrap());
    // A thread makes them.
    wait_until("a load has made no files", || files(&fixture) > 0);
    drop(load);
    wait_until("files of a load stay", || files(&fixture) == 0);
    let mut load = fixture.store.bulk_load(&table);
    load.push(row(1, 1, "stays", None)).unwrap();
    load.finish(1, LockWait::Nowait, OnDuplicate::Fail).unwrap();
    let mut txn = fixture.store.begin(RR, true);
    assert_eq!(all(&mut txn, &table, 0, Direction::Forward), [row(1, 1, "stays", None)]);
}

#[test]
fn files_of_several_threads_are_seen_and_recovered_as_one() {
    // Each of two threads has four megabytes and more, in the wrong order.
    const ROWS: i64 = 60_000;
    let (fixture, table) = Fixture::plain();
    let mut txn = fixture.store.begin(RR, false);
    // In the buffer, with a key among those of the files.
    txn.insert(&table, &row(ROWS / 2, 0, "there", Some(-1))).unwrap();
    txn.commit().unwrap();
    let mut before = fixture.store.begin(RR, true);
    assert_eq!(ids(&mut before, &table), [ROWS / 2]);
    let mut load = fixture.store.bulk_load(&table);
    let text = "x".repeat(90);
    for id in (0..ROWS).rev() {
        load.push(row(id, id % 100, &text, Some(id))).unwrap();
    }
    let outcome = load.finish(1, LockWait::Nowait, OnDuplicate::Skip).unwrap();
    assert_eq!((outcome.loaded, outcome.skipped), (ROWS as u64 - 1, vec![(ROWS - ROWS / 2 - 1) as u64]));
    assert!(ids(&mut before, &table) == [ROWS / 2]);
    drop((before, table));
    let check = |fixture: &Fixture| {
        let table = fixture.table("t1");
        let mut txn = fixture.store.begin(RR, false);
        assert!(ids(&mut txn, &table).into_iter().eq(0..ROWS));
        assert_eq!(all(&mut txn, &table, 1, Direction::Forward).len() as i64, ROWS);
        assert_eq!(all(&mut txn, &table, 2, Direction::Backward).len() as i64, ROWS);
        for id in [0, 1, ROWS / 2, ROWS - 1] {
            assert!(txn.insert(&table, &row(id, 0, "", None)).is_err());
            assert!(txn.insert(&table, &row(ROWS + 1, 0, "", Some(if id == ROWS / 2 { -1 } else { id }))).is_err());
        }
    };
    check(&fixture);
    let fixture = fixture.reopen();
    check(&fixture);
    let table = fixture.table("t1");
    let mut txn = fixture.store.begin(RR, false);
    let loaded = lock(&mut txn, &table, 7);
    txn.update(&table, &loaded, &row(7, 7, "updated", None)).unwrap();
    txn.commit().unwrap();
}

#[test]
fn rows_of_several_threads_are_one_load() {
    for heap in [true, false] {
        let fixture = Fixture::new();
        let def = if heap { heap_def(1) } else { plain_def(1) };
        fixture.store.commit_ddl(&catalog_of(&[&def]), &DdlChanges::default()).unwrap();
        let table = fixture.table("t1");
        let mut writer = fixture.store.bulk_writer(&table, 3);
        let mut encoders: Vec<_> = (0..3).map(|_| writer.encoder()).collect();
        let mut number = 0;
        for block in 0..60 {
            let first = writer.ids().take(40).unwrap();
            let encoder = &mut encoders[block % 3];
            for at in 0..40 {
                let values = row(number, number % 7, &format!("row {number}"), Some(number));
                let values: Vec<_> = values.iter().map(squall_row_store::ValueRef::from).collect();
                encoder.push(&values, number as u64, first + at).unwrap();
                number += 1;
            }
            let rows = encoder.take_rows();
            writer.write(rows).unwrap();
        }
        let outcome = writer.finish(encoders, 1, LockWait::Nowait, OnDuplicate::Fail).unwrap();
        assert_eq!(outcome.loaded, 2400);
        let mut txn = fixture.store.begin(RR, false);
        assert_eq!(ids(&mut txn, &table), (0..2400).collect::<Vec<_>>());
        let by_k = all(&mut txn, &table, 1, Direction::Forward);
        assert_eq!((by_k.len(), &by_k[0], &by_k[2399][1]), (2400, &row(0, 0, "row 0", Some(0)), &Value::Int(6)));
        txn.insert(&table, &row(9999, 0, "later", None)).unwrap();
    }
}

#[test]
fn a_load_waits_for_writers() {
    let (fixture, table) = Fixture::plain();
    let mut writer = fixture.store.begin(RR, false);
    writer.insert(&table, &row(1, 1, "", None)).unwrap();
    let mut load = fixture.store.bulk_load(&table);
    load.push(row(2, 2, "", None)).unwrap();
    let error = load.finish(1, LockWait::Nowait, OnDuplicate::Fail).unwrap_err();
    assert!(matches!(error, StoreError::Sql(_)));
}

#[test]
fn an_index_is_built_over_rows_and_dropped_with_its_entries() {
    let (fixture, table) = Fixture::plain();
    let mut txn = fixture.store.begin(RR, false);
    for id in 0..500 {
        txn.insert(&table, &row(id, 7, &format!("v{:03}", 499 - id), None)).unwrap();
    }
    txn.commit().unwrap();
    let mut def = plain_def(1);
    def.version = 2;
    def.indexes.push(index(3, "v", &[3], true));
    let next = catalog_of(&[&def]);
    let new_table = fixture.store.table(next.table("d", "t1").unwrap()).unwrap();
    fixture.store.build_indexes(&new_table, &[IndexId(3)], &|_| Ok(())).unwrap();
    fixture.store.commit_ddl(&next, &DdlChanges::default()).unwrap();
    drop(table);
    let table = fixture.table("t1");
    let mut txn = fixture.store.begin(RR, false);
    let by_v = all(&mut txn, &table, 3, Direction::Forward);
    assert_eq!((by_v.len(), &by_v[0][0]), (500, &Value::Int(499)));
    assert!(txn.insert(&table, &row(1000, 7, "v003", None)).is_err());
    drop(txn);

    let mut def = plain_def(1);
    def.version = 3;
    def.indexes.push(index(4, "k_unique", &[2], true));
    let next = catalog_of(&[&def]);
    let broken = fixture.store.table(next.table("d", "t1").unwrap()).unwrap();
    let error = fixture.store.build_indexes(&broken, &[IndexId(4)], &|_| Ok(())).unwrap_err();
    assert_eq!(SqlError::from(error).message, "Duplicate entry '7' for key 't1.k_unique'");
    drop(broken);

    def.indexes.pop();
    fixture.store.commit_ddl(&catalog_of(&[&def]), &DdlChanges::default()).unwrap();
    drop((new_table, table));
    let fixture = fixture.reopen();
    let mut with_index = plain_def(1);
    with_index.version = 4;
    with_index.indexes.push(index(3, "v", &[3], true));
    let old_eyes = fixture.store.table(&std::sync::Arc::new(with_index)).unwrap();
    let range = old_eyes.range(IndexId(3), ValueRange::ALL).unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while fixture.store.read_view().scan(&old_eyes, &range, Direction::Forward).next_entry().unwrap().is_some() {
        assert!(std::time::Instant::now() < deadline, "entries of a dropped index stay");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}
