//! CHECK TABLE finds missing and surplus entries of indexes.

use crate::fixture::*;
use squall_catalog::IndexId;
use squall_row_store::{Direction, IndexFault, IsolationLevel, Table, ValueRange};
use squall_types::Value;
use std::sync::Arc;

/// Keys of an index's entries, in their order.
fn entries(fixture: &Fixture, table: &Arc<Table>, index: u32) -> Vec<Vec<u8>> {
    let range = table.range(IndexId(index), ValueRange::ALL).unwrap();
    let mut cursor = fixture.store.read_view().scan(table, &range, Direction::Forward);
    std::iter::from_fn(|| cursor.next_entry().unwrap().map(|entry| entry.key().to_vec())).collect()
}

fn faults(fixture: &Fixture, table: &Arc<Table>) -> Vec<IndexFault> {
    fixture.store.check_indexes(table, |_| Ok(())).unwrap()
}

fn filled() -> (Fixture, Arc<Table>) {
    let (fixture, table) = Fixture::plain();
    let mut txn = fixture.store.begin(IsolationLevel::RepeatableRead, false);
    for id in 0..50 {
        txn.insert(&table, &row(id, id % 7, "x", (id % 3 > 0).then_some(id))).unwrap();
    }
    txn.commit().unwrap();
    (fixture, table)
}

#[test]
fn an_index_that_is_as_its_rows_has_no_fault() {
    let (fixture, table) = filled();
    assert_eq!(faults(&fixture, &table), []);
}

#[test]
fn an_entry_that_is_gone_is_missed() {
    let (fixture, table) = filled();
    for index in [1, 2] {
        let key = entries(&fixture, &table, index).remove(11);
        fixture.store.damage(&table, &key, None).unwrap();
    }
    let found = faults(&fixture, &table);
    let counts: Vec<_> = found.iter().map(|fault| (fault.index.as_str(), fault.entries, fault.expected)).collect();
    assert_eq!(counts, [("k", 49, 50), ("u", 49, 50)]);
    assert!(found.iter().all(|fault| fault.missing.is_some() && fault.surplus.is_none()), "{found:?}");
}

#[test]
fn an_entry_of_a_row_that_is_gone_is_found() {
    let (fixture, table) = filled();
    fixture.store.damage(&table, &key(&table, 20), None).unwrap();
    let found = faults(&fixture, &table);
    let counts: Vec<_> = found.iter().map(|fault| (fault.index.as_str(), fault.entries, fault.expected)).collect();
    assert_eq!(counts, [("k", 50, 49), ("u", 50, 49)]);
    assert!(found.iter().all(|fault| fault.missing.is_none() && fault.surplus.is_some()), "{found:?}");
}

#[test]
fn a_unique_entry_that_names_another_row_is_found() {
    let (fixture, table) = filled();
    let key = table.unique_key(IndexId(2), &[Value::Int(20)]).unwrap();
    fixture.store.damage(&table, &key, Some(b"another row")).unwrap();
    let found = faults(&fixture, &table);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].entries, found[0].expected), (50, 50));
    assert!(found[0].missing.is_some());
}
