//! Indexes that are built while rows change.

use crate::fixture::*;
use parking_lot::Mutex;
use squall_catalog::{Catalog, IndexId, TableDef};
use squall_row_store::{
    DdlChanges, Direction, IsolationLevel, OnlineIndexBuild, Row, StoreError, StoreOptions, Table, ValueRange,
};
use squall_test_support::random::Random;
use squall_types::SqlError;
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROWS: i64 = 10_000;
const RUNS: usize = 6;
const RR: IsolationLevel = IsolationLevel::RepeatableRead;
/// The new indexes: of `v`, whose values are unique, and of two columns.
const NEW: [IndexId; 2] = [IndexId(3), IndexId(4)];

/// A table whose rows have values of `v` that no two have.
fn filled(options: StoreOptions) -> (Fixture, Arc<Table>) {
    let (fixture, table) = Fixture::plain_with(options);
    for first in (0..ROWS).step_by(1000) {
        let mut txn = fixture.store.begin(RR, false);
        for id in first..first + 1000 {
            txn.insert(&table, &row(id, id % 7, &format!("v{id}"), None)).unwrap();
        }
        txn.commit().unwrap();
    }
    (fixture, table)
}

fn next_definition() -> (Catalog, Arc<TableDef>) {
    let mut def = plain_def(1);
    def.version = 2;
    def.indexes.extend([index(3, "v", &[3], true), index(4, "kv", &[2, 3], false)]);
    let next = catalog_of(&[&def]);
    let def = next.table("d", "t1").unwrap().clone();
    (next, def)
}

/// Makes the indexes the table's, and compares them with its rows.
fn define_and_check(fixture: &Fixture, next: &Catalog) {
    fixture.store.commit_ddl(next, &DdlChanges::default()).unwrap();
    let table = fixture.table("t1");
    assert_eq!(fixture.store.check_indexes(&table, |_| Ok(())).unwrap(), []);
}

/// Rows of a table, with `v` unique through all changes.
struct Changer<'f> {
    fixture: &'f Fixture,
    table: Arc<Table>,
    random: Random,
    next_value: u64,
}

impl Changer<'_> {
    fn row(&mut self, txn: &mut squall_row_store::Transaction) -> Option<(i64, Row)> {
        let id = self.random.below(ROWS as u64 + 200) as i64;
        let found = txn.get_locked(&self.table, &key(&self.table, id), FOR_UPDATE).unwrap();
        found.map(|row| (id, row))
    }

    /// One transaction of a few changes.
    fn change(&mut self) {
        let mut txn = self.fixture.store.begin(RR, false);
        for _ in 0..1 + self.random.below(8) {
            self.next_value += 1;
            let fresh = format!("w{}", self.next_value);
            let k = self.random.below(5) as i64;
            let fresh_id = 2 * ROWS + self.next_value as i64;
            let Some((id, old)) = self.row(&mut txn) else {
                txn.insert(&self.table, &row(fresh_id, k, &fresh, None)).unwrap();
                continue;
            };
            let values = old.values(&self.table).unwrap();
            match self.random.below(5) {
                0 => txn.delete(&self.table, &old).unwrap(),
                1 => _ = txn.update(&self.table, &old, &row(id, k, &fresh, None)).unwrap(),
                2 => _ = txn.update(&self.table, &old, &row(fresh_id, k, &fresh, None)).unwrap(),
                3 => {
                    // Another row takes the value over.
                    txn.delete(&self.table, &old).unwrap();
                    if let Some((id, other)) = self.row(&mut txn) {
                        let mut taken = other.values(&self.table).unwrap();
                        taken[2] = values[2].clone();
                        assert_eq!(taken[0], squall_types::Value::Int(id));
                        txn.update(&self.table, &other, &taken).unwrap();
                    }
                }
                _ => {
                    let mut same = values.clone();
                    same[1] = squall_types::Value::Int(k);
                    txn.update(&self.table, &old, &same).unwrap();
                }
            }
        }
        if self.random.below(9) > 0 {
            txn.commit().unwrap();
        }
    }
}

fn build(
    fixture: &Fixture,
    def: &Arc<TableDef>,
    mut meanwhile: impl FnMut() + Send,
) -> Result<OnlineIndexBuild, StoreError> {
    let meanwhile = Mutex::new(&mut meanwhile);
    fixture.store.build_indexes_online(def, &NEW, &|_| {
        (meanwhile.lock())();
        Ok(())
    })
}

#[test]
fn indexes_are_those_of_the_rows_in_the_end() {
    let mut random = Random::of_run("indexes_are_those_of_the_rows_in_the_end");
    for _ in 0..RUNS {
        let (fixture, table) = filled(options());
        let (next, def) = next_definition();
        let mut changer = Changer { fixture: &fixture, table, random: random.clone(), next_value: 0 };
        random.number();
        let mut building = build(&fixture, &def, || (0..60).for_each(|_| changer.change())).unwrap();
        for _ in 0..3 {
            (0..20).for_each(|_| changer.change());
            assert!(building.catch_up(&|_| Ok(())).unwrap().is_some());
        }
        (0..20).for_each(|_| changer.change());
        assert!(building.finish(&|_| Ok(())).unwrap());
        drop(changer);
        define_and_check(&fixture, &next);
        let fixture = fixture.reopen();
        assert_eq!(fixture.store.check_indexes(&fixture.table("t1"), |_| Ok(())).unwrap(), []);
    }
}

fn entries(fixture: &Fixture, def: &Arc<TableDef>) -> usize {
    let table = fixture.store.table(def).unwrap();
    let count = |index: &IndexId| {
        let range = table.range(*index, ValueRange::ALL).unwrap();
        let mut cursor = fixture.store.read_view().scan(&table, &range, Direction::Forward);
        std::iter::from_fn(|| cursor.next_entry().unwrap().map(|_| ())).count()
    };
    NEW.iter().map(count).sum()
}

/// Readers see what has been written without a sync after a while.
fn wait_for_no_entries(fixture: &Fixture, def: &Arc<TableDef>) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while entries(fixture, def) > 0 {
        assert!(Instant::now() < deadline, "entries stay");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_duplicate_that_comes_meanwhile_ends_the_build_and_leaves_nothing() {
    let (fixture, table) = filled(options());
    let (next, def) = next_definition();
    let mut building = build(&fixture, &def, || ()).unwrap();
    let mut txn = fixture.store.begin(RR, false);
    txn.insert(&table, &row(200_000, 1, "v17", None)).unwrap();
    txn.commit().unwrap();
    let error = building.catch_up(&|_| Ok(())).unwrap_err();
    assert_eq!(SqlError::from(error).message, "Duplicate entry 'v17' for key 't1.v'");
    drop(building);
    wait_for_no_entries(&fixture, &def);

    let mut txn = fixture.store.begin(RR, false);
    let first = lock(&mut txn, &table, 17);
    txn.delete(&table, &first).unwrap();
    txn.commit().unwrap();
    let building = build(&fixture, &def, || ()).unwrap();
    // Two new rows of one round.
    let mut txn = fixture.store.begin(RR, false);
    txn.insert(&table, &row(200_001, 1, "same", None)).unwrap();
    txn.insert(&table, &row(200_002, 1, "same", None)).unwrap();
    txn.commit().unwrap();
    let error = building.finish(&|_| Ok(())).unwrap_err();
    assert_eq!(SqlError::from(error).message, "Duplicate entry 'same' for key 't1.v'");
    wait_for_no_entries(&fixture, &def);

    let mut txn = fixture.store.begin(RR, false);
    let second = lock(&mut txn, &table, 200_002);
    txn.delete(&table, &second).unwrap();
    txn.commit().unwrap();
    assert!(build(&fixture, &def, || ()).unwrap().finish(&|_| Ok(())).unwrap());
    define_and_check(&fixture, &next);
}

#[test]
fn a_build_that_is_given_up_leaves_nothing() {
    let (fixture, _table) = filled(options());
    let (next, def) = next_definition();
    let interrupted = SqlError::internal("enough");
    let checks = Mutex::new(0);
    let error = fixture.store.build_indexes_online(&def, &NEW, &|_| {
        *checks.lock() += 1;
        if *checks.lock() < 3 { Ok(()) } else { Err(interrupted.clone()) }
    });
    assert!(error.is_err());
    wait_for_no_entries(&fixture, &def);
    drop(build(&fixture, &def, || ()).unwrap());
    wait_for_no_entries(&fixture, &def);
    // The files of one that the process has not survived are found by the next.
    std::mem::forget(build(&fixture, &def, || ()).unwrap());
    assert!(entries(&fixture, &def) > 0);
    assert!(build(&fixture, &def, || ()).unwrap().finish(&|_| Ok(())).unwrap());
    define_and_check(&fixture, &next);
}

#[test]
fn changes_that_are_too_many_to_be_told_are_noticed() {
    let (fixture, table) = filled(spilling_options());
    let (next, def) = next_definition();
    let mut building = build(&fixture, &def, || ()).unwrap();
    let mut txn = fixture.store.begin(RR, false);
    for id in 0..500 {
        txn.insert(&table, &row(300_000 + id, 1, &format!("x{id}"), None)).unwrap();
    }
    txn.commit().unwrap();
    assert_eq!(building.catch_up(&|_| Ok(())).unwrap(), None);
    assert!(!building.finish(&|_| Ok(())).unwrap());
    wait_for_no_entries(&fixture, &def);
    let indexed = fixture.store.table(&def).unwrap();
    fixture.store.build_indexes(&indexed, &NEW, &|_| Ok(())).unwrap();
    define_and_check(&fixture, &next);
}
