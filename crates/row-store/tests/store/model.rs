//! Random operations on the store and on a map, which must agree, through savepoints, rollbacks and reopening.

use crate::fixture::*;
use proptest::prelude::*;
use squall_row_store::{Direction, IsolationLevel, StoreError, Table, Transaction};
use squall_types::Value;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
enum Operation {
    Insert {
        id: i64,
        k: i64,
        u: Option<i64>,
        text: String,
    },
    /// The text stays as it is without a new one.
    Update {
        id: i64,
        new_id: i64,
        k: i64,
        u: Option<i64>,
        text: Option<String>,
    },
    Delete {
        id: i64,
    },
    Get {
        id: i64,
    },
    Scan {
        index: u32,
        backward: bool,
    },
    Savepoint,
    RollbackToSavepoint,
    Commit,
    Rollback,
    Flush,
    Reopen,
}

fn operation() -> impl Strategy<Value = Operation> {
    let id = || 0..30i64;
    let unique = || prop::option::of(0..15i64);
    prop_oneof![
        8 => (id(), 0..5i64, unique(), prop_oneof!["[a-z\\x00]{0,8}", "[a-c]{50,200}"])
            .prop_map(|(id, k, u, text)| Operation::Insert { id, k, u, text }),
        6 => (id(), id(), 0..5i64, unique(), any::<bool>(), prop::option::of(prop_oneof!["[a-z]{0,8}", "[d-f]{50,200}"]))
            .prop_map(|(id, other, k, u, moves, text)| {
                Operation::Update { id, new_id: if moves { other } else { id }, k, u, text }
            }),
        4 => id().prop_map(|id| Operation::Delete { id }),
        4 => id().prop_map(|id| Operation::Get { id }),
        4 => (0..3u32, any::<bool>()).prop_map(|(index, backward)| Operation::Scan { index, backward }),
        2 => Just(Operation::Savepoint),
        2 => Just(Operation::RollbackToSavepoint),
        3 => Just(Operation::Commit),
        1 => Just(Operation::Rollback),
        1 => Just(Operation::Flush),
        1 => Just(Operation::Reopen),
    ]
}

type Model = BTreeMap<i64, Vec<Value>>;

fn unique_taken(model: &Model, u: Option<i64>, but: Option<i64>) -> bool {
    u.is_some_and(|u| model.iter().any(|(id, row)| Some(*id) != but && row[3] == Value::Int(u)))
}

fn is_duplicate<T: std::fmt::Debug>(result: Result<T, StoreError>) -> bool {
    match result {
        Ok(_) => false,
        Err(StoreError::Duplicate(_)) => true,
        Err(error) => panic!("{error}"),
    }
}

/// Runs an operation within the transaction on both and compares.
fn step(txn: &mut Transaction, table: &std::sync::Arc<Table>, model: &mut Model, operation: &Operation) {
    match operation {
        Operation::Insert { id, k, u, text } => {
            let values = row(*id, *k, text, *u);
            let before = txn.savepoint();
            let duplicate = is_duplicate(txn.insert(table, &values));
            assert_eq!(duplicate, model.contains_key(id) || unique_taken(model, *u, None));
            if duplicate {
                txn.rollback_to(before);
            } else {
                model.insert(*id, values);
            }
        }
        Operation::Update { id, new_id, k, u, text } => {
            let old = txn.get_locked(table, &key(table, *id), FOR_UPDATE).unwrap();
            assert_eq!(old.is_some(), model.contains_key(id));
            let Some(old) = old else { return };
            let mut values = row(*new_id, *k, "", *u);
            values[2] = match text {
                Some(text) => Value::from(text.as_str()),
                None => model[id][2].clone(),
            };
            let duplicate = is_duplicate(txn.update(table, &old, &values));
            let expected = (new_id != id && model.contains_key(new_id)) || unique_taken(model, *u, Some(*id));
            assert_eq!(duplicate, expected);
            if !duplicate {
                model.remove(id);
                model.insert(*new_id, values);
            }
        }
        Operation::Delete { id } => {
            if let Some(old) = txn.get_locked(table, &key(table, *id), FOR_UPDATE).unwrap() {
                txn.delete(table, &old).unwrap();
                assert!(model.remove(id).is_some());
            } else {
                assert!(!model.contains_key(id));
            }
        }
        Operation::Get { id } => assert_eq!(get(txn, table, *id).as_ref(), model.get(id)),
        Operation::Scan { index, backward } => {
            let direction = if *backward { Direction::Backward } else { Direction::Forward };
            let mut found = all(txn, table, *index, direction);
            if *backward {
                found.reverse();
            }
            let mut expected: Vec<Vec<Value>> = model.values().cloned().collect();
            let column = [0, 1, 3][*index as usize];
            let order = |value: &Value| if let Value::Int(number) = value { Some(*number) } else { None };
            expected.sort_by_key(|row| (order(&row[column]), order(&row[0])));
            assert_eq!(found, expected);
        }
        _ => {}
    }
}

fn run(operations: &[Operation], spills: bool, large: bool) {
    let mut store_options = if spills { spilling_options() } else { options() };
    if large {
        store_options.inline_value_bytes_max = large_value_options().inline_value_bytes_max;
    }
    let (mut fixture, mut table) = Fixture::plain_with(store_options);
    let mut committed = Model::new();
    let mut model = Model::new();
    let mut txn = fixture.store.begin(IsolationLevel::RepeatableRead, false);
    let mut savepoint = None;
    for operation in operations {
        match operation {
            Operation::Savepoint => savepoint = Some((txn.savepoint(), model.clone())),
            Operation::RollbackToSavepoint => {
                if let Some((place, then)) = &savepoint {
                    txn.rollback_to(*place);
                    model = then.clone();
                }
            }
            Operation::Commit | Operation::Rollback | Operation::Flush | Operation::Reopen => {
                if matches!(operation, Operation::Commit) {
                    txn.commit().unwrap();
                    committed = model;
                } else {
                    drop(txn);
                }
                model = committed.clone();
                savepoint = None;
                if matches!(operation, Operation::Flush) {
                    fixture.store.flush().unwrap();
                }
                if matches!(operation, Operation::Reopen) {
                    drop(table);
                    fixture = fixture.reopen();
                    table = fixture.table("t1");
                    assert_eq!(fixture.store.table_stats(&table).row_count, committed.len() as u64);
                }
                txn = fixture.store.begin(IsolationLevel::RepeatableRead, false);
            }
            operation => step(&mut txn, &table, &mut model, operation),
        }
    }
    for index in 0..3 {
        step(&mut txn, &table, &mut model, &Operation::Scan { index, backward: index == 1 });
    }
    txn.commit().unwrap();
    assert_eq!(fixture.store.check_indexes(&table, |_| Ok(())).unwrap(), []);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, max_shrink_iters: 200, ..ProptestConfig::default() })]
    #[test]
    fn the_store_agrees_with_a_map(
        operations in prop::collection::vec(operation(), 1..120),
        spills in any::<bool>(),
        large in any::<bool>(),
    ) {
        run(&operations, spills, large);
    }
}
