//! Values that lie out of their rows.

use crate::fixture::*;
use lsm_tree::AbstractTree as _;
use squall_catalog::{ColumnDef, ColumnId, TableDef};
use squall_row_store::{
    DdlChanges, Direction, IsolationLevel, LockWait, OnDuplicate, RowStore, StoreOptions, Table, Transaction,
};
use squall_test_support::random::Random;
use squall_types::{CollationId, SqlError, SqlType, Value};
use std::sync::Arc;

const RR: IsolationLevel = IsolationLevel::RepeatableRead;

fn large() -> (Fixture, Arc<Table>) {
    Fixture::plain_with(large_value_options())
}

/// A text of several chunks.
fn text(number: i64) -> String {
    format!("{number} ").repeat(100)
}

fn insert(fixture: &Fixture, table: &Table, rows: &[Vec<Value>]) {
    let mut txn = fixture.store.begin(RR, false);
    rows.iter().for_each(|row| drop(txn.insert(table, row).unwrap()));
    txn.commit().unwrap();
}

/// Every chunk is of a row, and every row has its chunks.
fn assert_whole(fixture: &Fixture, table: &Arc<Table>) {
    assert_eq!(fixture.store.check_indexes(table, |_| Ok(())).unwrap(), []);
}

fn written_by(fixture: &Fixture, change: impl FnOnce(&mut Transaction)) -> usize {
    let mut txn = fixture.store.begin(RR, false);
    change(&mut txn);
    let bytes = txn.written_bytes();
    txn.commit().unwrap();
    bytes
}

#[test]
fn a_value_is_written_once() {
    let (fixture, table) = large();
    let long = "x".repeat(1 << 20);
    insert(&fixture, &table, &[row(1, 1, &long, None), row(2, 2, &long, None)]);
    let bytes = written_by(&fixture, |txn| {
        let old = lock(txn, &table, 1);
        txn.update(&table, &old, &row(1, 7, &long, Some(7))).unwrap();
    });
    assert!(bytes < 10_000, "{bytes} bytes for other columns");
    let changed = written_by(&fixture, |txn| {
        let old = lock(txn, &table, 2);
        let mut other = long.clone();
        other.replace_range(5..6, "y");
        txn.update(&table, &old, &row(2, 2, &other, None)).unwrap();
    });
    assert!(changed > 1 << 20, "{changed} bytes for the value");
    let mut txn = fixture.store.begin(RR, true);
    assert_eq!(get(&mut txn, &table, 1), Some(row(1, 7, &long, Some(7))));
    assert_whole(&fixture, &table);
}

#[test]
fn chunks_go_with_their_rows() {
    let (fixture, table) = large();
    insert(&fixture, &table, &[row(1, 1, &text(1), None), row(2, 2, &text(2), None), row(3, 3, &text(3), None)]);
    let mut reader = fixture.store.begin(RR, true);
    assert_eq!(ids(&mut reader, &table), [1, 2, 3]);
    let mut txn = fixture.store.begin(RR, false);
    let old = lock(&mut txn, &table, 1);
    txn.delete(&table, &old).unwrap();
    // A shorter one, and one that stays in its row, at another key.
    let old = lock(&mut txn, &table, 2);
    txn.update(&table, &old, &row(2, 2, &text(5)[..70], None)).unwrap();
    let old = lock(&mut txn, &table, 3);
    txn.update(&table, &old, &row(9, 3, "ab", None)).unwrap();
    txn.commit().unwrap();
    assert_whole(&fixture, &table);
    // Rows of an earlier snapshot have the values that they had.
    assert_eq!(get(&mut reader, &table, 1), Some(row(1, 1, &text(1), None)));
    assert_eq!(all(&mut reader, &table, 1, Direction::Backward)[0], row(3, 3, &text(3), None));
    drop((reader, table));
    let fixture = fixture.reopen();
    let table = fixture.table("t1");
    let mut txn = fixture.store.begin(RR, true);
    assert_eq!(all(&mut txn, &table, 0, Direction::Forward), [row(2, 2, &text(5)[..70], None), row(9, 3, "ab", None)]);
    assert_whole(&fixture, &table);
}

#[test]
fn an_undone_change_leaves_nothing() {
    let (fixture, table) = large();
    insert(&fixture, &table, &[row(1, 1, &text(1), None)]);
    let mut txn = fixture.store.begin(RR, false);
    let place = txn.savepoint();
    let old = lock(&mut txn, &table, 1);
    txn.update(&table, &old, &row(1, 1, &text(4_000_000), None)).unwrap();
    txn.insert(&table, &row(2, 2, &text(2), None)).unwrap();
    let changed = lock(&mut txn, &table, 1);
    txn.rollback_to(place);
    // What has been read stays readable.
    assert_eq!(changed.values(&table).unwrap(), row(1, 1, &text(4_000_000), None));
    assert_eq!(get(&mut txn, &table, 1), Some(row(1, 1, &text(1), None)));
    txn.insert(&table, &row(3, 3, &text(3), None)).unwrap();
    txn.commit().unwrap();
    drop(fixture.store.begin(RR, false).insert(&table, &row(5, 5, &text(5), None)).unwrap());
    assert_whole(&fixture, &table);
    let mut txn = fixture.store.begin(RR, true);
    assert_eq!(ids(&mut txn, &table), [1, 3]);
}

/// The row is locked and changed in its newest version, which is newer than the transaction's snapshot.
#[test]
fn a_row_that_is_newer_than_the_snapshot_has_its_own_values() {
    let (fixture, table) = large();
    insert(&fixture, &table, &[row(1, 1, &text(1), None)]);
    let options = squall_row_store::TransactionOptions {
        snapshot_isolation: false,
        ..squall_row_store::TransactionOptions::new(RR)
    };
    let mut txn = fixture.store.begin_with(options, None);
    assert_eq!(get(&mut txn, &table, 1), Some(row(1, 1, &text(1), None)));
    written_by(&fixture, |other| {
        let old = lock(other, &table, 1);
        other.update(&table, &old, &row(1, 1, &text(2), None)).unwrap();
    });
    assert_eq!(get(&mut txn, &table, 1), Some(row(1, 1, &text(1), None)));
    let newest = lock(&mut txn, &table, 1);
    assert_eq!(newest.values(&table).unwrap(), row(1, 1, &text(2), None));
    txn.update(&table, &newest, &row(1, 8, &text(2), None)).unwrap();
    // Its own row has the chunks that the other one wrote.
    assert_eq!(get(&mut txn, &table, 1), Some(row(1, 8, &text(2), None)));
    assert_eq!(all(&mut txn, &table, 0, Direction::Forward), [row(1, 8, &text(2), None)]);
    assert_eq!(all(&mut txn, &table, 1, Direction::Forward), [row(1, 8, &text(2), None)]);
    txn.commit().unwrap();
    assert_whole(&fixture, &table);
}

/// A row that was read and not looked at, while the same transaction changes it.
#[test]
fn a_row_that_was_read_keeps_its_values() {
    let (fixture, table) = large();
    insert(&fixture, &table, &[row(1, 1, &text(1), None)]);
    let mut txn = fixture.store.begin(RR, false);
    let committed = txn.get(&table, &key(&table, 1)).unwrap().unwrap();
    let locked = lock(&mut txn, &table, 1);
    txn.update(&table, &locked, &row(1, 1, &text(2), None)).unwrap();
    let own = lock(&mut txn, &table, 1);
    txn.update(&table, &own, &row(1, 1, &text(3), None)).unwrap();
    let newest = txn.get(&table, &key(&table, 1)).unwrap().unwrap();
    txn.delete(&table, &newest).unwrap();
    txn.commit().unwrap();
    for (row_read, number) in [(committed, 1), (locked, 1), (own, 2), (newest, 3)] {
        assert_eq!(row_read.values(&table).unwrap(), row(1, 1, &text(number), None));
    }
    let plain = fixture.store.get(&table, &key(&table, 1)).unwrap();
    assert!(plain.is_none());
    assert_whole(&fixture, &table);
}

#[test]
fn loads_leave_out_chunks_with_their_rows() {
    for packed in [false, true] {
        let fixture = Fixture::with(large_value_options());
        let mut def = plain_def(1);
        if packed {
            def.options.push(("COMPRESSION".into(), "'zstd'".into()));
        }
        fixture.store.commit_ddl(&catalog_of(&[&def, &heap_def(5)]), &DdlChanges::default()).unwrap();
        let table = fixture.table("t1");
        insert(&fixture, &table, &[row(100, 0, &text(100), Some(100))]);
        let rows = [
            row(1, 0, &text(1), Some(1)),
            row(2, 0, &text(21), Some(1)),
            row(2, 0, &text(2), Some(3)),
            row(100, 0, &text(101).repeat(2), None),
            row(4, 0, &text(4), Some(100)),
            row(5, 0, "in", None),
            row(5, 0, &text(5), None),
        ];
        let load = || {
            let mut load = fixture.store.bulk_load(&table);
            rows.iter().for_each(|row| load.push(row.clone()).unwrap());
            load
        };
        let error = load().finish(1, LockWait::Nowait, OnDuplicate::Fail).unwrap_err();
        assert_eq!(SqlError::from(error).message, "Duplicate entry '1' for key 't1.u'");
        let outcome = load().finish(1, LockWait::Nowait, OnDuplicate::Skip).unwrap();
        assert_eq!((outcome.loaded, outcome.skipped), (3, vec![1, 3, 4, 6]));
        assert_whole(&fixture, &table);
        let heap = fixture.table("t5");
        let mut load = fixture.store.bulk_load(&heap);
        (0..3000).for_each(|id| load.push(row(id, id % 7, &text(id), None)).unwrap());
        load.finish(1, LockWait::Nowait, OnDuplicate::Fail).unwrap();
        assert_whole(&fixture, &heap);
        drop((table, heap));
        let fixture = fixture.reopen();
        let (table, heap) = (fixture.table("t1"), fixture.table("t5"));
        let mut txn = fixture.store.begin(RR, true);
        let expected = [
            row(1, 0, &text(1), Some(1)),
            row(2, 0, &text(2), Some(3)),
            row(5, 0, "in", None),
            row(100, 0, &text(100), Some(100)),
        ];
        assert_eq!(all(&mut txn, &table, 0, Direction::Forward), expected);
        let loaded = all(&mut txn, &heap, 0, Direction::Forward);
        assert_eq!(loaded.len(), 3000);
        assert!((0..).zip(&loaded).all(|(id, found)| *found == row(id, id % 7, &text(id), None)));
    }
}

/// t (id INT PRIMARY KEY, a TEXT, b JSON-like TEXT, c LONGBLOB)
fn wide_def() -> TableDef {
    let mut def = plain_def(1);
    def.columns[1] = column(2, "k", SqlType::longtext(CollationId::UTF8MB4_BIN), true);
    def.columns[3] = column(4, "u", SqlType::longtext(CollationId::BINARY), true);
    def.indexes.truncate(1);
    def
}

#[test]
fn a_dropped_column_takes_its_chunks_along() {
    let fixture = Fixture::with(large_value_options());
    let def = wide_def();
    fixture.store.commit_ddl(&catalog_of(&[&def]), &DdlChanges::default()).unwrap();
    let table = fixture.table("t1");
    let values = |id: i64, first: &str| {
        vec![Value::Int(id), Value::from(first), Value::String(text(id)), Value::Bytes(text(id).into_bytes())]
    };
    insert(&fixture, &table, &[values(1, "short"), values(2, &text(7)), values(3, &text(9))]);
    let mut txn = fixture.store.begin(RR, true);
    assert_eq!(get(&mut txn, &table, 2), Some(values(2, &text(7))));
    drop(txn);
    let mut less = def.clone();
    less.version = 2;
    less.columns.remove(2);
    let added = ColumnDef {
        value_for_older_rows: Value::from("older"),
        ..column(5, "n", less.columns[1].sql_type.clone(), true)
    };
    less.columns.push(added);
    less.next_column_id = 6;
    fixture.store.commit_ddl(&catalog_of(&[&less]), &DdlChanges::default()).unwrap();
    drop(table);
    let table = fixture.table("t1");
    assert_whole(&fixture, &table);
    let mut txn = fixture.store.begin(RR, false);
    let old = lock(&mut txn, &table, 2);
    let mut found = old.values(&table).unwrap();
    assert_eq!(found[3], Value::from("older"));
    found[3] = Value::String(text(11));
    txn.update(&table, &old, &found).unwrap();
    let old = lock(&mut txn, &table, 3);
    txn.delete(&table, &old).unwrap();
    assert_eq!(get(&mut txn, &table, 2), Some(found));
    txn.commit().unwrap();
    assert_whole(&fixture, &table);
    assert_eq!(table.def().columns[3].id, ColumnId(5));
}

#[test]
fn damage_is_told() {
    let (fixture, table) = large();
    insert(&fixture, &table, &[row(1, 1, &text(1), None), row(2, 2, &text(2), None)]);
    let mut chunk = vec![0xff, 0xff, 0xff, 0xff, 0xfe];
    chunk.extend_from_slice(&key(&table, 1)[1..]);
    chunk.extend_from_slice(&[0, 0, 0, 3, 0, 0, 0, 1]);
    fixture.store.damage(&table, &chunk, Some(b"\x10another chunk")).unwrap();
    let mut txn = fixture.store.begin(RR, true);
    let damaged = txn.get(&table, &key(&table, 1)).unwrap().unwrap();
    // Only the value is damaged.
    assert_eq!(damaged.view(&table).get_value(1).unwrap(), Value::Int(1));
    let error = damaged.view(&table).get_value(2).unwrap_err();
    assert!(error.is(squall_types::ErrorCode::CorruptedRow), "{error}");
    assert_eq!(get(&mut txn, &table, 2), Some(row(2, 2, &text(2), None)));
    assert!(fixture.store.check_indexes(&table, |_| Ok(())).is_err());
    // A chunk that no row has.
    fixture.store.damage(&table, &key(&table, 1), None).unwrap();
    let faults = fixture.store.check_indexes(&table, |_| Ok(())).unwrap();
    let fault = faults.iter().find(|fault| fault.index == "values out of rows").unwrap();
    assert!(fault.entries > fault.expected && fault.surplus.is_some(), "{fault:?}");
}

/// Rows of one limit are rows of another.
#[test]
fn the_limit_may_change() {
    let (fixture, table) = large();
    let mut random = Random::of_run("the_limit_may_change");
    let mut expected = std::collections::BTreeMap::new();
    for step in 0..200 {
        fixture.store.set_inline_values([0, 1, 5, 100, 5000, usize::MAX][random.below(6) as usize]).unwrap();
        let id = random.below(8) as i64;
        let value = text(step)[..random.below(150) as usize].to_string();
        let mut txn = fixture.store.begin(RR, false);
        let values = match txn.get_locked(&table, &key(&table, id), FOR_UPDATE).unwrap() {
            None => {
                let values = row(id, step, &value, None);
                txn.insert(&table, &values).unwrap();
                Some(values)
            }
            Some(old) if random.below(5) == 0 => {
                txn.delete(&table, &old).unwrap();
                None
            }
            Some(old) => {
                let mut values = old.values(&table).unwrap();
                values[1] = Value::Int(step);
                if random.below(2) == 0 {
                    values[2] = Value::String(value);
                }
                txn.update(&table, &old, &values).unwrap();
                Some(values)
            }
        };
        txn.commit().unwrap();
        match values {
            Some(values) => expected.insert(id, values),
            None => expected.remove(&id),
        };
        if step % 20 == 0 {
            assert_whole(&fixture, &table);
        }
    }
    let mut txn = fixture.store.begin(RR, true);
    assert_eq!(all(&mut txn, &table, 0, Direction::Forward), expected.into_values().collect::<Vec<_>>());
    assert_whole(&fixture, &table);
}

/// The format that a server finds in a directory, which reads it before the log.
fn format_of(directory: &std::path::Path) -> Option<Vec<u8>> {
    tree_of(directory, 1).get("f", u64::MAX - 1).unwrap().map(|format| format.to_vec())
}

fn closed(fixture: Fixture) -> tempfile::TempDir {
    fixture.store.close().unwrap();
    let Fixture { directory, store } = fixture;
    drop(store);
    directory
}

/// The format changes with the first limit, before a value lies out of its row, and not with the first opening.
#[test]
fn a_store_of_whole_rows_stays_one_until_a_limit_is_set() {
    let whole = StoreOptions { inline_value_bytes_max: usize::MAX, ..options() };
    let (fixture, table) = Fixture::plain_with(whole.clone());
    insert(&fixture, &table, &[row(1, 1, &text(1), None)]);
    drop(table);
    let directory = closed(fixture);
    assert_eq!(format_of(directory.path()), Some(vec![4]));
    let fixture = Fixture { store: RowStore::open(directory.path(), whole.clone()).unwrap(), directory };
    fixture.store.set_inline_values(usize::MAX).unwrap();
    let directory = closed(fixture);
    assert_eq!(format_of(directory.path()), Some(vec![4]));
    let fixture = Fixture { store: RowStore::open(directory.path(), whole.clone()).unwrap(), directory };
    fixture.store.set_inline_values(2).unwrap();
    // While the store is open, so also after a crash.
    let files = tempfile::tempdir().unwrap();
    copy_folder(fixture.directory.path(), files.path());
    assert_eq!(format_of(files.path()), Some(vec![5]));
    let table = fixture.table("t1");
    insert(&fixture, &table, &[row(2, 2, &text(2), None)]);
    let mut txn = fixture.store.begin(RR, false);
    let old = lock(&mut txn, &table, 1);
    assert_eq!(old.values(&table).unwrap(), row(1, 1, &text(1), None));
    txn.update(&table, &old, &row(1, 9, &text(1), None)).unwrap();
    txn.commit().unwrap();
    assert_whole(&fixture, &table);
    drop(table);
    // Turning it off does not undo it.
    fixture.store.set_inline_values(usize::MAX).unwrap();
    let directory = closed(fixture);
    let fixture = Fixture { store: RowStore::open(directory.path(), whole).unwrap(), directory };
    let table = fixture.table("t1");
    let mut txn = fixture.store.begin(RR, true);
    assert_eq!(all(&mut txn, &table, 0, Direction::Forward), [row(1, 9, &text(1), None), row(2, 2, &text(2), None)]);
    drop((txn, table));
    assert_eq!(format_of(closed(fixture).path()), Some(vec![5]));
}

/// As a persisted limit does.
#[test]
fn a_store_is_opened_with_a_limit() {
    let (fixture, table) = Fixture::plain_with(StoreOptions { inline_value_bytes_max: usize::MAX, ..options() });
    insert(&fixture, &table, &[row(1, 1, &text(1), None)]);
    drop(table);
    let directory = closed(fixture);
    let store = RowStore::open(directory.path(), large_value_options()).unwrap();
    let directory = closed(Fixture { store, directory });
    assert_eq!(format_of(directory.path()), Some(vec![5]));
}

fn copy_folder(from: &std::path::Path, to: &std::path::Path) {
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir(&to).unwrap();
            copy_folder(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// A row of one of the server's own tables, whatever it was before.
#[test]
fn a_damaged_row_is_written_over() {
    let fixture = Fixture::with(large_value_options());
    let mut def = plain_def(1);
    def.indexes.truncate(1);
    fixture.store.commit_ddl(&catalog_of(&[&def]), &DdlChanges::default()).unwrap();
    let table = fixture.table("t1");
    insert(&fixture, &table, &[row(1, 1, &text(1), None)]);
    fixture.store.damage(&table, &key(&table, 1), Some(b"\x01no row")).unwrap();
    let mut txn = fixture.store.begin(RR, false);
    assert!(txn.get(&table, &key(&table, 1)).is_err());
    txn.put(&table, &row(1, 2, &text(3), None), false).unwrap();
    txn.commit().unwrap();
    let mut txn = fixture.store.begin(RR, true);
    assert_eq!(get(&mut txn, &table, 1), Some(row(1, 2, &text(3), None)));
}
