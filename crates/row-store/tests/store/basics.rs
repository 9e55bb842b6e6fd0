//! Writing and reading rows, keys, ranges, savepoints, schema changes.

use crate::fixture::*;
use lsm_tree::{AbstractTree, SeqNo};
use squall_catalog::IndexId;
use squall_row_store::{
    DdlChanges, Direction, IsolationLevel, LockWait, StoreError, SystemChange, SystemRecords, TableLock,
    TransactionOptions, ValueRange,
};
use squall_types::json::Document;
use squall_types::{CollationId, Date, DateTime, Decimal, ErrorCode, SqlError, SqlType, Time, Value};
use std::future::Future;
use std::ops::Bound;
use std::sync::Arc;

const RR: IsolationLevel = IsolationLevel::RepeatableRead;

#[test]
fn rows_come_back_after_reopening() {
    let (fixture, table) = Fixture::plain();
    let mut txn = fixture.store.begin(RR, false);
    for id in [5, 3, 9, 1] {
        txn.insert(&table, &row(id, id * 10, &format!("row {id}"), (id != 3).then_some(id))).unwrap();
    }
    assert_eq!(ids(&mut txn, &table), [1, 3, 5, 9]);
    txn.commit().unwrap();
    drop(table);
    let fixture = fixture.reopen();
    let table = fixture.table("t1");
    assert_eq!(fixture.store.table_stats(&table).row_count, 4);
    let mut txn = fixture.store.begin(RR, true);
    assert_eq!(get(&mut txn, &table, 3), Some(row(3, 30, "row 3", None)));
    assert_eq!(get(&mut txn, &table, 4), None);
    let by_k = all(&mut txn, &table, 1, Direction::Backward);
    assert_eq!(by_k.len(), 4);
    assert_eq!(by_k[0], row(9, 90, "row 9", Some(9)));
    let entry = table.unique_key(IndexId(2), &[Value::Int(5)]).unwrap();
    let view = fixture.store.read_view();
    assert_eq!(view.get_by_unique(&table, &entry).unwrap().unwrap().values(&table).unwrap()[0], Value::Int(5));
    let absent = table.unique_key(IndexId(2), &[Value::Int(6)]).unwrap();
    assert!(view.get_by_unique(&table, &absent).unwrap().is_none());
    assert_eq!(fixture.store.get(&table, &key(&table, 9)).unwrap().unwrap().values(&table).unwrap()[1], Value::Int(90));
    assert!(txn.insert(&table, &row(7, 7, "", None)).is_err_and(|error| SqlError::from(error).code == 1792));
}

#[test]
fn own_writes_are_seen_and_rolled_back_step_by_step() {
    let (fixture, table) = Fixture::plain();
    let mut txn = fixture.store.begin(RR, false);
    txn.insert(&table, &row(1, 1, "a", Some(1))).unwrap();
    let savepoint = txn.savepoint();
    txn.insert(&table, &row(2, 2, "b", Some(2))).unwrap();
    let first = lock(&mut txn, &table, 1);
    txn.update(&table, &first, &row(1, 7, "changed", Some(3))).unwrap();
    assert_eq!(get(&mut txn, &table, 1), Some(row(1, 7, "changed", Some(3))));
    assert_eq!(all(&mut txn, &table, 1, Direction::Forward)[0][0], Value::Int(2));
    let second = lock(&mut txn, &table, 2);
    txn.delete(&table, &second).unwrap();
    assert_eq!(ids(&mut txn, &table), [1]);
    txn.rollback_to(savepoint);
    assert_eq!(all(&mut txn, &table, 2, Direction::Forward), [row(1, 1, "a", Some(1))]);
    txn.commit().unwrap();
    let mut txn = fixture.store.begin(RR, true);
    assert_eq!(all(&mut txn, &table, 1, Direction::Forward), [row(1, 1, "a", Some(1))]);
    assert_eq!(fixture.store.table_stats(&table).row_count, 1);
}

#[test]
fn a_scan_does_not_meet_later_writes_of_its_transaction() {
    let (fixture, table) = Fixture::plain();
    let mut txn = fixture.store.begin(RR, false);
    for id in 0..200 {
        txn.insert(&table, &row(id, id, "x", None)).unwrap();
    }
    let range = table.range(IndexId(1), ValueRange::ALL).unwrap();
    let mut cursor = txn.scan(&table, &range, Direction::Forward);
    let mut seen = 0;
    while let Some(old) = cursor.next_row().unwrap() {
        let id = old.view(&table).get_i64(0).unwrap().unwrap();
        txn.update(&table, &old, &row(id, id + 1000, "x", None)).unwrap();
        seen += 1;
    }
    assert_eq!(seen, 200);
    assert_eq!(all(&mut txn, &table, 1, Direction::Backward)[0][1], Value::Int(1199));
}

#[test]
fn duplicates_name_the_key_and_the_row_in_the_way() {
    let (fixture, table) = Fixture::plain();
    let mut txn = fixture.store.begin(RR, false);
    txn.insert(&table, &row(1, 1, "a", Some(10))).unwrap();
    txn.insert(&table, &row(2, 1, "a", None)).unwrap();
    txn.insert(&table, &row(3, 1, "a", None)).unwrap();
    let error = txn.insert(&table, &row(1, 2, "b", None)).unwrap_err();
    assert_eq!(SqlError::from(error).message, "Duplicate entry '1' for key 't1.PRIMARY'");
    let error = txn.insert(&table, &row(4, 2, "b", Some(10))).unwrap_err();
    let StoreError::Duplicate(duplicate) = &error else { panic!("{error}") };
    assert_eq!(duplicate.existing.as_bytes(), key(&table, 1));
    assert_eq!(SqlError::from(error).message, "Duplicate entry '10' for key 't1.u'");
    let second = lock(&mut txn, &table, 2);
    assert!(txn.update(&table, &second, &row(2, 1, "a", Some(10))).is_err());
    assert!(txn.update(&table, &second, &row(3, 1, "a", None)).is_err());
    // The unique value moves from one row to another within the transaction.
    let first = lock(&mut txn, &table, 1);
    txn.update(&table, &first, &row(1, 1, "a", Some(11))).unwrap();
    txn.update(&table, &second, &row(2, 1, "a", Some(10))).unwrap();
    txn.commit().unwrap();
    let mut txn = fixture.store.begin(RR, true);
    let unique: Vec<_> = all(&mut txn, &table, 2, Direction::Forward).into_iter().map(|row| row[0].clone()).collect();
    assert_eq!(unique, [Value::Int(3), Value::Int(2), Value::Int(1)]);
}

#[test]
fn ranges_by_values() {
    let (fixture, table) = Fixture::plain();
    let mut txn = fixture.store.begin(RR, false);
    for id in 0..100 {
        txn.insert(&table, &row(id, id / 10, "x", Some(-id))).unwrap();
    }
    txn.commit().unwrap();
    let mut txn = fixture.store.begin(RR, true);
    let mut count = |index: u32, start: Bound<i64>, end: Bound<i64>| {
        let (start, end) = (start.map(|value| [Value::Int(value)]), end.map(|value| [Value::Int(value)]));
        let bounds =
            ValueRange { start: start.as_ref().map(|values| &values[..]), end: end.as_ref().map(|values| &values[..]) };
        let range = table.range(IndexId(index), bounds).unwrap();
        let mut cursor = txn.scan(&table, &range, Direction::Forward);
        let mut rows = Vec::new();
        cursor.next_batch(1000, &mut rows).unwrap();
        rows.len()
    };
    use Bound::{Excluded, Included, Unbounded};
    assert_eq!(count(0, Included(10), Excluded(20)), 10);
    assert_eq!(count(0, Excluded(10), Included(20)), 10);
    assert_eq!(count(1, Included(3), Included(4)), 20);
    assert_eq!(count(1, Excluded(3), Unbounded), 60);
    assert_eq!(count(1, Unbounded, Excluded(3)), 30);
    assert_eq!(count(2, Included(-5), Included(0)), 6);
    assert_eq!(count(0, Included(20), Excluded(10)), 0);
    assert_eq!(count(0, Included(20), Excluded(20)), 0);
}

/// Types with values in their order.
fn types_with_values() -> Vec<(SqlType, Vec<Value>)> {
    let text = |kind| SqlType::varchar(50, kind);
    vec![
        (SqlType::INT, vec![Value::Int(-5), Value::Int(0), Value::Int(2_000_000_000)]),
        (SqlType::BIGINT_UNSIGNED, vec![Value::UInt(0), Value::UInt(u64::MAX)]),
        (SqlType::DOUBLE, vec![Value::Double(-1.5e300), Value::Double(-0.5), Value::Double(0.0), Value::Double(7.25)]),
        (
            SqlType::Float { unsigned: false, zerofill: false, digits: None },
            vec![Value::Double(-0.5), Value::Double(1.5)],
        ),
        (SqlType::decimal(9, 2), vec![decimal(-100, 2), decimal(5, 2)]),
        (SqlType::decimal(30, 4), vec![decimal(-100_000_000_000_000, 4), decimal(0, 4), decimal(17, 4)]),
        (SqlType::decimal(65, 30), vec![decimal(-1, 30), decimal(1, 30)]),
        (SqlType::Bit { width: 12 }, vec![Value::UInt(1), Value::UInt(4095)]),
        (SqlType::Year, vec![Value::UInt(0), Value::UInt(2026)]),
        (SqlType::Date, vec![Value::Date(Date::ZERO), Value::Date(Date::from_parts(2026, 11, 21).unwrap())]),
        (
            SqlType::DateTime { fsp: 6 },
            vec![Value::DateTime(DateTime::ZERO), Value::DateTime(DateTime::from_packed(1 << 50))],
        ),
        (
            SqlType::Time { fsp: 6 },
            vec![Value::Time(Time::from_micros(-1).unwrap()), Value::Time(Time::from_micros(1).unwrap())],
        ),
        (
            text(CollationId::UTF8MB4_BIN),
            vec![Value::from(""), Value::from("a\0b"), Value::from("a\u{1}"), Value::from("é")],
        ),
        (
            text(CollationId::BINARY),
            vec![Value::Bytes(vec![]), Value::Bytes(vec![0]), Value::Bytes(vec![0, 0]), Value::Bytes(vec![255, 0])],
        ),
        (SqlType::Json, vec![Value::Json(Document::from_stored("{\"a\": 1}"))]),
    ]
}

#[test]
fn every_type_comes_back_from_rows_and_keys() {
    let types = types_with_values();
    let fixture = Fixture::new();
    let mut columns = vec![column(1, "id", SqlType::INT, false)];
    let mut indexes = vec![index(0, "PRIMARY", &[1], false)];
    for (at, (sql_type, _)) in types.iter().enumerate() {
        let id = at as u32 + 2;
        columns.push(column(id, &format!("c{id}"), sql_type.clone(), true));
        if *sql_type == SqlType::Json {
            continue;
        }
        let mut by_column = index(id, &format!("i{id}"), &[id], false);
        by_column.parts[0].descending = at % 2 == 1;
        indexes.push(by_column);
    }
    let def = table_def(1, "t1", columns, indexes);
    fixture.store.commit_ddl(&catalog_of(&[&def]), &DdlChanges::default()).unwrap();
    let table = fixture.table("t1");
    let rows: Vec<Vec<Value>> = (0..5)
        .map(|at| {
            let values = types.iter().map(|(_, values)| values.get(at).cloned().unwrap_or(Value::Null));
            std::iter::once(Value::Int(at as i64)).chain(values).collect()
        })
        .collect();
    let mut txn = fixture.store.begin(RR, false);
    for row in &rows {
        txn.insert(&table, row).unwrap();
    }
    txn.commit().unwrap();
    drop(table);
    let fixture = fixture.reopen();
    let table = fixture.table("t1");
    let mut txn = fixture.store.begin(RR, true);
    assert_eq!(all(&mut txn, &table, 0, Direction::Forward), rows);
    for (at, (sql_type, values)) in types.iter().enumerate().filter(|(_, (sql_type, _))| *sql_type != SqlType::Json) {
        let id = IndexId(at as u32 + 2);
        let range = table.range(id, ValueRange::ALL).unwrap();
        let mut cursor = txn.scan(&table, &range, Direction::Forward);
        let mut from_keys = Vec::new();
        let mut from_rows = Vec::new();
        while let Some(entry) = cursor.next_entry().unwrap() {
            from_keys.extend(table.decode_key(id, entry.key()).unwrap());
            let row_key = entry.row_key(&table).unwrap();
            from_rows.push(txn.get(&table, &row_key).unwrap().unwrap().view(&table).get_value(at + 1).unwrap());
        }
        let mut expected: Vec<Value> = vec![Value::Null; 5 - values.len()];
        expected.extend(values.iter().cloned());
        if at % 2 == 1 {
            expected.reverse();
        }
        assert_eq!(from_rows, expected, "order by {sql_type:?}");
        if table.is_covering(id) {
            let expected: Vec<_> = expected.into_iter().map(Some).collect();
            assert_eq!(from_keys, expected, "keys of {sql_type:?}");
        }
    }
}

fn decimal(unscaled: i128, scale: u8) -> Value {
    Value::Decimal(Decimal::new(arrow_buffer::i256::from_i128(unscaled), scale))
}

#[test]
fn a_column_may_come_and_go_without_rewriting_rows() {
    let (fixture, table) = Fixture::plain();
    let mut txn = fixture.store.begin(RR, false);
    txn.insert(&table, &row(1, 1, "old", Some(1))).unwrap();
    txn.commit().unwrap();
    let mut def = plain_def(1);
    def.version = 2;
    def.columns.remove(2);
    let mut added = column(5, "added", SqlType::varchar(20, CollationId::UTF8MB4_BIN), false);
    added.value_for_older_rows = Value::from("before");
    def.columns.insert(0, added);
    fixture.store.commit_ddl(&catalog_of(&[&def]), &DdlChanges::default()).unwrap();
    let new_table = fixture.table("t1");
    let mut txn = fixture.store.begin(RR, false);
    txn.insert(&new_table, &[Value::from("new"), Value::Int(2), Value::Int(2), Value::Null]).unwrap();
    txn.commit().unwrap();
    // The old definition still reads what the new one wrote.
    let mut txn = fixture.store.begin(RR, true);
    assert_eq!(get(&mut txn, &table, 2).unwrap()[2], Value::Null);
    drop((txn, table, new_table));
    let fixture = fixture.reopen();
    let table = fixture.table("t1");
    let mut txn = fixture.store.begin(RR, true);
    assert_eq!(
        all(&mut txn, &table, 0, Direction::Forward),
        [
            vec![Value::from("before"), Value::Int(1), Value::Int(1), Value::Int(1)],
            vec![Value::from("new"), Value::Int(2), Value::Int(2), Value::Null],
        ]
    );
}

#[test]
fn tables_without_a_primary_key_number_their_rows() {
    let fixture = Fixture::new();
    let def = table_def(1, "t1", vec![column(1, "a", SqlType::INT, true)], vec![index(1, "a", &[1], false)]);
    fixture.store.commit_ddl(&catalog_of(&[&def]), &DdlChanges::default()).unwrap();
    let table = fixture.table("t1");
    let mut txn = fixture.store.begin(RR, false);
    for value in [3, 1, 3] {
        txn.insert(&table, &[Value::Int(value)]).unwrap();
    }
    txn.commit().unwrap();
    drop(table);
    let fixture = fixture.reopen();
    let table = fixture.table("t1");
    let mut txn = fixture.store.begin(RR, false);
    txn.insert(&table, &[Value::Int(2)]).unwrap();
    let column = |rows: Vec<Vec<Value>>| rows.into_iter().map(|row| row[0].clone()).collect::<Vec<_>>();
    assert_eq!(column(all(&mut txn, &table, 0, Direction::Forward)), [3, 1, 3, 2].map(Value::Int));
    assert_eq!(column(all(&mut txn, &table, 1, Direction::Forward)), [1, 2, 3, 3].map(Value::Int));
}

#[test]
fn dropping_and_truncating_let_data_go() {
    let (fixture, table) = Fixture::plain();
    let mut txn = fixture.store.begin(RR, false);
    txn.insert(&table, &row(1, 1, "a", None)).unwrap();
    txn.commit().unwrap();
    let truncated = table.id();
    let mut reader = fixture.store.begin(RR, true);
    reader.take_snapshot();
    let mut def = plain_def(1);
    def.version = 2;
    let changes = DdlChanges { truncated: vec![truncated], ..DdlChanges::default() };
    fixture.store.commit_ddl(&catalog_of(&[&def]), &changes).unwrap();
    assert!(table.is_retired());
    assert_eq!(ids(&mut reader, &table), [1]);
    drop(reader);
    let mut txn = fixture.store.begin(RR, false);
    assert!(txn.insert(&table, &row(2, 1, "a", None)).is_err_and(|error| SqlError::from(error).code == 1412));
    drop((txn, table));
    let table = fixture.table("t1");
    let mut txn = fixture.store.begin(RR, false);
    assert!(ids(&mut txn, &table).is_empty());
    txn.insert(&table, &row(3, 1, "a", None)).unwrap();
    txn.commit().unwrap();
    drop(table);
    let fixture = fixture.reopen();
    let mut txn = fixture.store.begin(RR, false);
    assert_eq!(ids(&mut txn, &fixture.table("t1")), [3]);
    drop(txn);
    fixture.store.commit_ddl(&catalog_of(&[]), &DdlChanges::default()).unwrap();
    let fixture = fixture.reopen();
    assert!(fixture.store.load_catalog().table("d", "t1").is_none());
    // A worker removes what the start has found to belong to no table.
    let begun = std::time::Instant::now();
    while folders_with_rows(&fixture) > 0 {
        assert!(begun.elapsed().as_secs() < 30, "the folder of a dropped table has files");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// Folders of tables that have files.
fn folders_with_rows(fixture: &Fixture) -> usize {
    let folders = std::fs::read_dir(fixture.directory.path().join("rows/keyspaces")).unwrap().flatten();
    let of_tables = folders.filter(|folder| folder.file_name() != "1");
    let has_files = |folder: &std::fs::DirEntry| {
        std::fs::read_dir(folder.path().join("tables")).is_ok_and(|mut files| files.next().is_some())
    };
    of_tables.filter(has_files).count()
}

#[test]
fn data_made_outside_of_the_catalog() {
    let (fixture, _) = Fixture::plain();
    let copy = Arc::new(plain_def(2));
    let failed = fixture.store.create_data(&copy).unwrap();
    let mut txn = fixture.store.begin(RR, false);
    txn.insert(&failed, &row(7, 1, "of an attempt that failed", None)).unwrap();
    txn.commit().unwrap();
    let table = fixture.store.create_data(&copy).unwrap();
    assert!(failed.is_retired());
    drop(failed);
    let mut txn = fixture.store.begin(RR, false);
    txn.insert(&table, &row(1, 1, "kept", None)).unwrap();
    txn.commit().unwrap();
    fixture.store.commit_ddl(&catalog_of(&[&copy]), &DdlChanges::default()).unwrap();
    let mut temporary = plain_def(0);
    temporary.id = fixture.store.allocate_temporary_id();
    temporary.temporary = true;
    let temporary = fixture.store.create_data(&Arc::new(temporary)).unwrap();
    let mut txn = fixture.store.begin(RR, false);
    txn.insert(&temporary, &row(1, 1, "gone", None)).unwrap();
    txn.commit().unwrap();
    drop((table, temporary));
    let fixture = fixture.reopen();
    let mut txn = fixture.store.begin(RR, false);
    assert_eq!(ids(&mut txn, &fixture.table("t2")), [1]);
    // Folders that belong to no table go in the background.
    let started = std::time::Instant::now();
    while folders_with_rows(&fixture) != 1 && started.elapsed() < std::time::Duration::from_secs(10) {
        std::thread::yield_now();
    }
    assert_eq!(folders_with_rows(&fixture), 1);
}

#[test]
fn system_records() {
    let fixture = Fixture::new();
    let put = |key: &str, value: Option<&str>| SystemChange {
        space: "user",
        key: key.into(),
        value: value.map(|value| value.into()),
    };
    fixture.store.commit_system(&[put("b", Some("2")), put("a", Some("1"))]).unwrap();
    fixture.store.commit_system(&[put("b", None), put("c", Some("3"))]).unwrap();
    let fixture = fixture.reopen();
    let records = fixture.store.system_records("user").unwrap();
    assert_eq!(records, [(b"a".to_vec(), b"1".to_vec()), (b"c".to_vec(), b"3".to_vec())]);
    assert_eq!(fixture.store.system_get("user", b"a").unwrap(), Some(b"1".to_vec()));
    assert_eq!(fixture.store.system_get("use", b"ra").unwrap(), None);
}

#[test]
fn auto_increment_never_goes_back() {
    let mut def = plain_def(1);
    def.columns[0].auto_increment = true;
    def.auto_increment_start = 10;
    let fixture = Fixture::new();
    fixture.store.commit_ddl(&catalog_of(&[&def]), &DdlChanges::default()).unwrap();
    let table = fixture.table("t1");
    assert_eq!(fixture.store.next_auto_increment(&table, 3), 10);
    let mut txn = fixture.store.begin(RR, false);
    txn.insert(&table, &row(50, 1, "", None)).unwrap();
    txn.commit().unwrap();
    drop(table);
    let fixture = fixture.reopen();
    assert_eq!(fixture.store.next_auto_increment(&fixture.table("t1"), 1), 51);
}

#[test]
fn ddl_waits_for_open_transactions() {
    let (fixture, table) = Fixture::plain();
    let mut txn = fixture.store.begin_with(TransactionOptions::new(RR), Some(1));
    txn.insert(&table, &row(1, 1, "", None)).unwrap();
    let mut ddl = fixture.store.session_locks(2);
    assert!(ddl.lock(table.id(), TableLock::Exclusive, LockWait::Nowait).is_err());
    let mut same_session = fixture.store.session_locks(1);
    assert!(same_session.lock(table.id(), TableLock::Exclusive, LockWait::Nowait).is_ok());
    drop(same_session);
    txn.commit().unwrap();
    ddl.lock(table.id(), TableLock::Exclusive, LockWait::Nowait).unwrap();
    let mut txn = fixture.store.begin(RR, false);
    txn.begin_statement(LockWait::WouldBlock);
    assert_eq!(txn.insert(&table, &row(2, 1, "", None)).unwrap_err(), StoreError::WouldBlock);
    ddl.release();
    txn.insert(&table, &row(2, 1, "", None)).unwrap();
}

#[test]
fn a_damaged_row_is_an_error_and_never_data() {
    let (fixture, table) = Fixture::plain();
    let mut txn = fixture.store.begin(RR, false);
    txn.insert(&table, &row(1, 1, "a", None)).unwrap();
    txn.commit().unwrap();
    let store_path = fixture.directory.path().to_path_buf();
    let row_key = key(&table, 1);
    drop(table);
    fixture.store.close().unwrap();
    let Fixture { directory, store } = fixture;
    drop(store);
    {
        let tree = tree_of(&store_path, 2);
        let mut value = tree.get(&row_key, SeqNo::MAX).unwrap().unwrap().to_vec();
        *value.last_mut().unwrap() ^= 1;
        put_into_files(&tree, &row_key, &value);
    }
    let store = squall_row_store::RowStore::open(&store_path, options()).unwrap();
    let fixture = Fixture { directory, store };
    let table = fixture.table("t1");
    assert!(fixture.store.get(&table, &row_key).unwrap_err().is(ErrorCode::CorruptedRow));
    let mut cursor =
        fixture.store.read_view().scan(&table, &table.range(IndexId(0), ValueRange::ALL).unwrap(), Direction::Forward);
    assert!(cursor.next_row().unwrap_err().is(ErrorCode::CorruptedRow));
}

#[test]
fn a_directory_is_opened_once() {
    let fixture = Fixture::new();
    let error = squall_row_store::RowStore::open(fixture.directory.path(), options()).unwrap_err();
    let shown = fixture.directory.path().display();
    assert_eq!(error.message, format!("data directory {shown} is in use by another process"));
}

#[test]
fn what_crosses_threads_may() {
    fn send<T: Send>() {}
    fn shared<T: Send + Sync + Clone>() {}
    send::<squall_row_store::Transaction>();
    send::<squall_row_store::Cursor>();
    send::<squall_row_store::LockingScan>();
    send::<squall_row_store::BulkLoad>();
    shared::<squall_row_store::ReadView>();
    shared::<squall_row_store::RowStore>();
    shared::<squall_row_store::CommitTicket>();
}

#[test]
fn statistics_follow_the_rows() {
    let (fixture, table) = Fixture::plain();
    assert_eq!(fixture.store.distinct_prefixes(&table, IndexId(1)), None);
    let mut txn = fixture.store.begin(RR, false);
    for id in 0..1000 {
        txn.insert(&table, &row(id, id % 50, "", None)).unwrap();
    }
    txn.commit().unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while fixture.store.distinct_prefixes(&table, IndexId(1)) != Some(vec![50]) {
        assert!(std::time::Instant::now() < deadline, "tables are sampled in the background");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    fixture.store.analyze(&table).unwrap();
    assert_eq!(fixture.store.distinct_prefixes(&table, IndexId(0)), Some(vec![1000]));
    assert_eq!(fixture.store.distinct_prefixes(&table, IndexId(2)), Some(vec![1]));
}

#[test]
fn a_closed_store_takes_no_commits() {
    let (fixture, table) = Fixture::plain();
    for durability in [squall_row_store::Durability::Full, squall_row_store::Durability::Os] {
        let options = TransactionOptions { durability, ..TransactionOptions::new(RR) };
        let mut txn = fixture.store.begin_with(options, None);
        txn.insert(&table, &row(1, 1, "", None)).unwrap();
        fixture.store.close().unwrap();
        assert!(txn.commit().unwrap_err().is(ErrorCode::ServerShutdown));
    }
}

#[test]
fn a_commit_wakes_who_waits_for_it() {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let (fixture, table) = Fixture::plain();
    let waker = std::task::Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = std::task::Context::from_waker(&waker);
    let mut tickets = Vec::new();
    for id in 0..20 {
        let options =
            TransactionOptions { durability: squall_row_store::Durability::Full, ..TransactionOptions::new(RR) };
        let mut txn = fixture.store.begin_with(options, None);
        txn.insert(&table, &row(id, 1, "", None)).unwrap();
        tickets.push(txn.commit_async());
    }
    for ticket in &mut tickets {
        while std::pin::Pin::new(&mut *ticket).as_mut().poll(&mut context).is_pending() {
            std::thread::park_timeout(std::time::Duration::from_secs(20));
        }
        assert_eq!(ticket.poll_done(), Some(Ok(())));
    }
    let mut txn = fixture.store.begin(RR, true);
    assert_eq!(ids(&mut txn, &table).len(), 20);
}

#[test]
fn many_tables() {
    const TABLES: u32 = 60;
    let fixture = Fixture::new();
    let defs: Vec<_> = (1..=TABLES).map(plain_def).collect();
    fixture.store.commit_ddl(&catalog_of(&defs.iter().collect::<Vec<_>>()), &DdlChanges::default()).unwrap();
    let mut txn = fixture.store.begin(RR, false);
    for id in 1..=TABLES {
        txn.insert(&fixture.table(&format!("t{id}")), &row(i64::from(id), 1, "", None)).unwrap();
    }
    txn.commit().unwrap();
    let fixture = fixture.reopen();
    let mut txn = fixture.store.begin(RR, true);
    for id in 1..=TABLES {
        assert_eq!(ids(&mut txn, &fixture.table(&format!("t{id}"))), [i64::from(id)]);
    }
}

#[test]
fn another_format_is_refused() {
    let fixture = Fixture::new();
    fixture.store.close().unwrap();
    let Fixture { directory, store } = fixture;
    drop(store);
    {
        put_into_files(&tree_of(directory.path(), 1), b"f", &[9]);
    }
    let error = squall_row_store::RowStore::open(directory.path(), options()).unwrap_err();
    assert_eq!(error.message, "the data directory has format [9]; this server reads formats 4 and 5");
}
