//! Tables with `COMPRESSION='zstd'`, whose rows are packed with a dictionary.

use crate::fixture::*;
use squall_catalog::TableDef;
use squall_row_store::{DdlChanges, Direction, IsolationLevel, LockWait, OnDuplicate, Table};
use squall_types::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};

const RR: IsolationLevel = IsolationLevel::RepeatableRead;

fn packed_def(id: u32) -> TableDef {
    let mut def = plain_def(id);
    def.options.push(("COMPRESSION".into(), "'zstd'".into()));
    def
}

fn fixture() -> (Fixture, Arc<Table>) {
    let fixture = Fixture::new();
    fixture.store.commit_ddl(&catalog_of(&[&packed_def(1)]), &DdlChanges::default()).unwrap();
    let table = fixture.table("t1");
    (fixture, table)
}

/// Text of 80 to 100 bytes that repeats what others have.
fn text(id: i64) -> String {
    let words = ["delivered", "returned", "in transit", "lost", "by rail", "by ship", "by truck", "by mail"];
    let mut text = String::new();
    let mut rest = id as usize;
    while text.len() < 80 {
        text.push_str(words[(rest ^ rest >> 3) % words.len()]);
        text.push(' ');
        rest = rest.wrapping_mul(31).wrapping_add(7) % 100_003;
    }
    text
}

fn a_row(id: i64) -> Vec<Value> {
    row(id, id % 10, &text(id), None)
}

fn load(fixture: &Fixture, table: &Arc<Table>, ids: std::ops::Range<i64>) {
    let mut load = fixture.store.bulk_load(table);
    ids.for_each(|id| load.push(a_row(id)).unwrap());
    load.finish(1, LockWait::Nowait, OnDuplicate::Fail).unwrap();
}

fn insert(fixture: &Fixture, table: &Table, ids: std::ops::Range<i64>) {
    let mut txn = fixture.store.begin(RR, false);
    ids.for_each(|id| drop(txn.insert(table, &a_row(id)).unwrap()));
    txn.commit().unwrap();
}

fn assert_rows(fixture: &Fixture, table: &Arc<Table>, ids: std::ops::Range<i64>) {
    let mut txn = fixture.store.begin(RR, true);
    let rows = all(&mut txn, table, 0, Direction::Forward);
    assert_eq!(rows.len() as i64, ids.end - ids.start);
    for (id, row) in ids.zip(rows) {
        assert_eq!(row, a_row(id));
    }
}

#[test]
fn a_load_makes_its_dictionary() {
    let (fixture, table) = fixture();
    load(&fixture, &table, 0..30_000);
    assert_rows(&fixture, &table, 0..30_000);
    // Other rows are packed with it too, and it is there after a restart.
    insert(&fixture, &table, 30_000..30_010);
    drop(table);
    let fixture = fixture.reopen();
    let table = fixture.table("t1");
    assert_rows(&fixture, &table, 0..30_010);
    load(&fixture, &table, 30_010..31_000);
    let mut txn = fixture.store.begin(RR, false);
    let locked = lock(&mut txn, &table, 29_999);
    txn.update(&table, &locked, &row(29_999, 1, "other", None)).unwrap();
    let unlocked = txn.get(&table, &key(&table, 29_998)).unwrap().unwrap();
    txn.update(&table, &unlocked, &row(29_998, 1, "other", None)).unwrap();
    txn.commit().unwrap();
    let mut txn = fixture.store.begin(RR, false);
    for id in [29_998, 29_999] {
        let found = lock(&mut txn, &table, id);
        assert_eq!(found.values(&table).unwrap(), row(id, 1, "other", None));
        txn.update(&table, &found, &a_row(id)).unwrap();
    }
    txn.commit().unwrap();
    drop(table);
    let fixture = fixture.reopen();
    assert_rows(&fixture, &fixture.table("t1"), 0..31_000);
}

#[test]
fn statements_get_a_dictionary_from_the_background() {
    let (fixture, table) = fixture();
    let bytes_of = |ids| {
        let (_, before) = fixture.store.write_buffers();
        insert(&fixture, &table, ids);
        fixture.store.write_buffers().1.saturating_sub(before)
    };
    let unpacked = bytes_of(0..100);
    insert(&fixture, &table, 100..12_000);
    let (start, mut next) = (Instant::now(), 12_000);
    loop {
        let bytes = bytes_of(next..next + 100);
        next += 100;
        // The buffer may have been sent to a file meanwhile.
        if bytes > 0 && bytes < unpacked * 9 / 10 {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "rows are not packed: {bytes} bytes, {unpacked} before");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_rows(&fixture, &table, 0..next);
    drop(table);
    let fixture = fixture.reopen();
    assert_rows(&fixture, &fixture.table("t1"), 0..next);
}

#[test]
fn a_truncated_table_begins_anew() {
    let (fixture, table) = fixture();
    load(&fixture, &table, 0..20_000);
    let mut reader = fixture.store.begin(RR, true);
    assert_eq!(ids(&mut reader, &table).len(), 20_000);
    let mut emptied = packed_def(1);
    emptied.version = 2;
    let changes = DdlChanges { truncated: vec![table.id()], ..DdlChanges::default() };
    fixture.store.commit_ddl(&catalog_of(&[&emptied]), &changes).unwrap();
    let fresh = fixture.table("t1");
    load(&fixture, &fresh, 5..20_005);
    assert_rows(&fixture, &fresh, 5..20_005);
    // A reader at a sequence number before has the old rows, and their dictionary.
    assert_eq!(all(&mut reader, &table, 0, Direction::Forward)[7], a_row(7));
    drop((reader, table, fresh));
    let fixture = fixture.reopen();
    assert_rows(&fixture, &fixture.table("t1"), 5..20_005);
}

#[test]
fn packed_rows_stay_readable_when_others_are_not_packed_any_more() {
    let (fixture, table) = fixture();
    load(&fixture, &table, 0..15_000);
    let mut plain = plain_def(1);
    plain.version = 2;
    fixture.store.commit_ddl(&catalog_of(&[&plain]), &DdlChanges::default()).unwrap();
    drop(table);
    let table = fixture.table("t1");
    insert(&fixture, &table, 15_000..15_100);
    assert_rows(&fixture, &table, 0..15_100);
    drop(table);
    let fixture = fixture.reopen();
    assert_rows(&fixture, &fixture.table("t1"), 0..15_100);
}
