//! Column tables through the row store's interface: readers and writers see the same rows, sealed or not.

use proptest::prelude::*;
use squall_catalog::{
    Catalog, ColumnDef, ColumnDefault, ColumnId, Database, DatabaseId, IndexDef, IndexId, IndexPart, IndexType,
    TableDef, TableEntry, TableId,
};
use squall_column_store::ColumnCache;
use squall_column_tables::{BulkChange, ColumnSnapshot, ColumnTable, ColumnTables, TableColumns};
use squall_functions::arrow_map::{ValueArrayBuilder, value_at};
use squall_row_store::{
    BACKGROUND_FAMILY, Direction, Durability, HeldTable, IsolationLevel, LockMode, LockRequest, LockWait, OnDuplicate,
    RowStore, StoreError, StoreOptions, Table, Transaction, ValueRange, ValueRef,
};
use squall_types::{CollationId, Date, Decimal, ErrorCode, SqlType, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

const FOR_UPDATE: LockRequest = LockRequest { mode: LockMode::Exclusive, wait: LockWait::Nowait };

fn column(id: u32, name: &str, sql_type: SqlType, nullable: bool) -> ColumnDef {
    ColumnDef {
        id: ColumnId(id),
        name: name.into(),
        sql_type,
        nullable,
        default: ColumnDefault::None,
        on_update_now: false,
        auto_increment: false,
        generated: None,
        invisible: false,
        comment: String::new(),
        value_for_older_rows: Value::Null,
    }
}

/// `t (name VARCHAR(20), id INT, amount DECIMAL(9,2) NULL, day DATE NULL, PRIMARY KEY (name, id))`, or without its key. Names
/// compare without case.
fn def(keyed: bool) -> TableDef {
    let part = |column| IndexPart::of(ColumnId(column));
    let primary = IndexDef::primary(IndexId(1), vec![part(1), part(2)]);
    TableDef {
        id: TableId(1),
        name: "t".into(),
        version: 1,
        next_column_id: 5,
        next_index_id: 2,
        columns: vec![
            column(1, "name", SqlType::varchar(20, CollationId::UTF8MB4_0900_AI_CI), false),
            column(2, "id", SqlType::INT, false),
            column(3, "amount", SqlType::Decimal { precision: 9, scale: 2, unsigned: false, zerofill: false }, true),
            column(4, "day", SqlType::Date, true),
        ],
        indexes: if keyed { vec![primary] } else { vec![] },
        checks: vec![],
        foreign_keys: vec![],
        triggers: Vec::new(),
        partitioning: None,
        collation: CollationId::UTF8MB4_0900_AI_CI,
        comment: String::new(),
        engine: squall_catalog::EngineName::new(squall_column_tables::COLUMN_ENGINE),
        auto_increment_start: 1,
        options: vec![],
        created_micros: 0,
        temporary: false,
    }
}

struct Fixture {
    store: RowStore,
    table: Arc<Table>,
    column_table: Arc<ColumnTable>,
    directory: tempfile::TempDir,
}

impl Fixture {
    fn new(keyed: bool) -> Fixture {
        let (store, directory) = Self::store_with(def(keyed));
        Self::with(store, directory)
    }

    fn store_with(def: TableDef) -> (RowStore, tempfile::TempDir) {
        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path());
        let tables = BTreeMap::from([("t".to_string(), TableEntry::Table(Arc::new(def)))]);
        let collation = CollationId::UTF8MB4_0900_AI_CI;
        let database = Database { tables, ..Database::new(DatabaseId(1), "d", collation) };
        let mut catalog = Catalog::new(1, 2, 100);
        catalog.put_database(database);
        store.commit_ddl(&catalog, &Default::default()).unwrap();
        (store, directory)
    }

    fn with(store: RowStore, directory: tempfile::TempDir) -> Fixture {
        let catalog = store.load_catalog();
        let table = store.table(catalog.table("d", "t").unwrap()).unwrap();
        let column_table = ColumnTable::of(&table).or_else(|| ColumnTable::of_copy(&table)).unwrap();
        Fixture { store, table, column_table, directory }
    }

    fn reopen(self) -> Fixture {
        let Fixture { store, table, column_table, directory } = self;
        store.close().unwrap();
        drop((store, table, column_table));
        Self::with(open(directory.path()), directory)
    }

    fn begin(&self) -> Transaction {
        self.store.begin(IsolationLevel::RepeatableRead, false)
    }

    fn held(&self) -> HeldTable {
        let wait = LockWait::Nowait;
        self.store.hold_table(BACKGROUND_FAMILY, self.table.id(), wait).unwrap().unwrap()
    }

    fn seal(&self) {
        let outcome = self.column_table.seal(&self.store, &self.held(), 1).unwrap();
        assert!(outcome.is_some_and(|outcome| outcome.complete));
    }

    fn merge(&self) {
        assert!(self.column_table.optimize(&self.store, &self.held(), 1, &|| Ok(())).unwrap().complete);
        let list = ColumnTable::manifest_at(&self.store.read_view(), &self.table).unwrap().unwrap();
        assert!(list.segments().len() <= 1);
        assert!(list.segments().iter().all(|segment| segment.deleted().is_empty()));
    }

    fn rows(&self, txn: &mut Transaction, direction: Direction) -> Vec<Vec<Value>> {
        let range = self.table.range(IndexId(0), ValueRange::ALL).unwrap();
        let mut cursor = txn.scan(&self.table, &range, direction);
        std::iter::from_fn(|| cursor.next_row().unwrap().map(|row| row.values(&self.table).unwrap())).collect()
    }
}

fn open(directory: &Path) -> RowStore {
    let options = StoreOptions { durability: Durability::Os, cache_bytes: 8 << 20, ..StoreOptions::default() };
    let cache = Arc::new(ColumnCache::new(1 << 20));
    let tables = ColumnTables::new(directory.join("columns"), cache);
    RowStore::open_with(directory, options, vec![Arc::new(tables)]).unwrap()
}

type Key = (&'static str, i64);

/// In the order of the collation.
const NAMES: [&str; 3] = ["ada", "Bob", "émile"];

fn row((name, id): Key, amount: Option<i64>) -> Vec<Value> {
    let decimal = |amount: i64| Value::Decimal(Decimal::new(amount.into(), 2));
    let day =
        amount.map_or(Value::Null, |amount| Value::Date(Date::from_parts(2024, 1 + (amount % 12) as u8, 0).unwrap()));
    vec![Value::from(name), Value::Int(id), amount.map_or(Value::Null, decimal), day]
}

fn key(table: &Table, (name, id): Key) -> Vec<u8> {
    // Case does not matter.
    table.row_key(&[Value::from(name.to_uppercase().as_str()), Value::Int(id)]).unwrap()
}

#[derive(Clone, Debug)]
enum Step {
    Put(Key, Option<i64>),
    Delete(Key),
    /// Rows with an even or odd number are deleted, or get an amount, many at a time; and perhaps all of that is undone.
    Bulk {
        odd: bool,
        amount: Option<i64>,
        undone: bool,
    },
    Seal,
    Merge,
    Reader,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let key = || (0..3usize, 0..6i64).prop_map(|(name, id)| (NAMES[name], id));
    prop_oneof![
        6 => (key(), prop::option::of(0..1000i64)).prop_map(|(key, amount)| Step::Put(key, amount)),
        3 => key().prop_map(Step::Delete),
        3 => (any::<bool>(), prop::option::of(0..1000i64), any::<bool>())
            .prop_map(|(odd, amount, undone)| Step::Bulk { odd, amount, undone }),
        3 => Just(Step::Seal),
        1 => Just(Step::Merge),
        1 => Just(Step::Reader),
        1 => Just(Step::Reopen),
    ]
}

type Model = BTreeMap<(usize, i64), Vec<Value>>;

fn at((name, id): Key) -> (usize, i64) {
    (NAMES.iter().position(|other| *other == name).unwrap(), id)
}

fn assert_same(fixture: &Fixture, txn: &mut Transaction, model: &Model) {
    let mut expected: Vec<_> = model.values().cloned().collect();
    assert_eq!(fixture.rows(txn, Direction::Forward), expected);
    expected.reverse();
    assert_eq!(fixture.rows(txn, Direction::Backward), expected);
    assert_eq!(by_column(fixture, txn), expected.iter().rev().map(|row| format!("{row:?}")).collect());
    for name in NAMES {
        for id in 0..16 {
            let found = txn.get(&fixture.table, &key(&fixture.table, (name, id))).unwrap();
            let found = found.map(|row| row.values(&fixture.table).unwrap());
            assert_eq!(found.as_ref(), model.get(&at((name, id))));
        }
    }
}

/// All rows as an analytic scan reads them, in no order.
fn by_column(fixture: &Fixture, txn: &mut Transaction) -> BTreeSet<String> {
    let snapshot = ColumnSnapshot::of(&txn.read_view(), &fixture.table).unwrap().unwrap();
    let delta = snapshot.delta.iter().map(|row| row.values(&fixture.table).unwrap());
    let mut rows: Vec<Vec<Value>> = delta.collect();
    for visible in &snapshot.segments {
        let segment = visible.segment.segment();
        let positions = (0..segment.rows() as u32).filter(|position| !visible.hidden.contains(*position));
        assert_eq!(positions.clone().count() as u64, visible.visible_rows());
        let columns: Vec<_> = (0..4)
            .map(|ordinal| {
                let column = snapshot.cache.column(segment, ordinal).unwrap();
                column.to_array(segment.column_type(ordinal), positions.clone()).unwrap()
            })
            .collect();
        for at in 0..positions.count() {
            let columns = columns.iter().zip(&fixture.table.def().columns);
            rows.push(columns.map(|(array, column)| value_at(array, at, &column.sql_type).unwrap()).collect());
        }
    }
    let count = rows.len();
    let rows: BTreeSet<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    assert_eq!(rows.len(), count, "a row is there twice");
    rows
}

/// Deletes the rows with even or odd numbers, or gives them an amount: sealed ones many at a time, the others one by one.
fn change_many(fixture: &Fixture, txn: &mut Transaction, odd: bool, amount: Option<i64>) {
    let table = &fixture.table;
    let chosen = |values: &[Value]| matches!(values[1], Value::Int(id) if (id % 2 == 1) == odd);
    let view = txn.begin_bulk_change(table).unwrap().expect("no other session has the table");
    let snapshot = ColumnSnapshot::of(&view, table).unwrap().unwrap();
    let mut change = BulkChange::new(table, 1).unwrap();
    for visible in &snapshot.segments {
        let columns = TableColumns::new(table, &visible.segment, &snapshot.cache);
        let seen = (0..visible.segment.segment().rows() as u32).filter(|position| !visible.hidden.contains(*position));
        let ids = columns.array(1, seen.clone()).unwrap();
        let id = |at| value_at(&ids, at, &SqlType::INT).unwrap();
        let positions: Vec<u32> =
            seen.enumerate().filter(|(at, _)| chosen(&[Value::Null, id(*at)])).map(|(_, position)| position).collect();
        if amount.is_none() {
            change.delete(&visible.segment, &positions.iter().copied().collect()).unwrap();
            continue;
        }
        let values = row(("", 0), amount);
        let column = |ordinal: usize| {
            let mut builder = ValueArrayBuilder::new(&table.def().columns[ordinal].sql_type, positions.len());
            positions.iter().for_each(|_| builder.append(&values[ordinal]).unwrap());
            (ordinal, builder.finish())
        };
        change.replace(&snapshot, &visible.segment, &positions, vec![column(2), column(3)]).unwrap();
    }
    change.finish(txn).unwrap();
    for delta in &snapshot.delta {
        let old = txn.get_locked(table, delta.key_bytes(), FOR_UPDATE).unwrap().unwrap();
        let values = old.values(table).unwrap();
        match (chosen(&values), amount) {
            (false, _) => {}
            (true, None) => txn.delete(table, &old).unwrap(),
            (true, Some(_)) => {
                let new = row(("", 0), amount);
                txn.update(table, &old, &[values[0].clone(), values[1].clone(), new[2].clone(), new[3].clone()])
                    .map(|_| ())
                    .unwrap();
            }
        }
    }
}

/// A table with ten segment rows.
fn segment_rows() -> Fixture {
    let fixture = Fixture::new(true);
    let mut txn = fixture.begin();
    (0..10).for_each(|id| _ = txn.insert(&fixture.table, &row(("ada", id), Some(1))).unwrap());
    txn.commit().unwrap();
    fixture.seal();
    fixture
}

fn segment_files(fixture: &Fixture) -> usize {
    let levels = std::fs::read_dir(fixture.directory.path().join("columns")).unwrap();
    levels.map(|level| std::fs::read_dir(level.unwrap().path()).unwrap().count()).sum()
}

#[test]
fn a_change_of_many_rows_that_is_rolled_back_leaves_nothing() {
    let fixture = segment_rows();
    let before = fixture.rows(&mut fixture.begin(), Direction::Forward);
    let mut txn = fixture.begin();
    change_many(&fixture, &mut txn, true, Some(9));
    change_many(&fixture, &mut txn, false, None);
    assert_eq!((segment_files(&fixture), fixture.rows(&mut txn, Direction::Forward).len()), (2, 5));
    drop(txn);
    assert_eq!((segment_files(&fixture), fixture.rows(&mut fixture.begin(), Direction::Forward)), (1, before));
}

#[test]
fn many_rows_are_changed_only_by_who_has_the_table_alone() {
    let fixture = segment_rows();
    let mut other = fixture.begin();
    other.get_locked(&fixture.table, &key(&fixture.table, ("ada", 3)), FOR_UPDATE).unwrap().unwrap();
    assert!(fixture.begin().begin_bulk_change(&fixture.table).unwrap().is_none(), "a row is locked");
    other.rollback();
    let mut late = fixture.begin();
    late.take_snapshot();
    let mut txn = fixture.begin();
    assert!(txn.begin_bulk_change(&fixture.table).unwrap().is_some());
    change_many(&fixture, &mut txn, true, None);
    let locked = other_locks(&fixture);
    assert!(matches!(locked, Err(StoreError::Sql(error)) if error.is(ErrorCode::LockNowait)));
    txn.commit().unwrap();
    // The snapshot still has all of them, and its transaction may not change rows that are gone.
    assert_eq!(fixture.rows(&mut late, Direction::Forward).len(), 10);
    assert!(late.begin_bulk_change(&fixture.table).unwrap().is_none(), "it has changed since");
    let gone = late.get_locked(&fixture.table, &key(&fixture.table, ("ada", 3)), FOR_UPDATE);
    assert!(matches!(gone, Err(StoreError::Sql(error)) if error.is(ErrorCode::RecordChanged)));
    assert_eq!(fixture.rows(&mut fixture.begin(), Direction::Forward).len(), 5);
}

fn other_locks(fixture: &Fixture) -> Result<bool, StoreError> {
    let mut txn = fixture.begin();
    txn.get_locked(&fixture.table, &key(&fixture.table, ("ada", 2)), FOR_UPDATE).map(|row| row.is_some())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]
    #[test]
    fn what_is_sealed_is_as_it_was(steps in prop::collection::vec(step(), 1..40)) {
        let mut fixture = Fixture::new(true);
        let mut model = Model::new();
        let mut reader: Option<(Transaction, Model)> = None;
        for step in steps {
            let mut txn = fixture.begin();
            match step {
                Step::Put(of, amount) => {
                    let values = row(of, amount);
                    match txn.get_locked(&fixture.table, &key(&fixture.table, of), FOR_UPDATE).unwrap() {
                        Some(old) => _ = txn.update(&fixture.table, &old, &values).unwrap(),
                        None => _ = txn.insert(&fixture.table, &values).unwrap(),
                    }
                    model.insert(at(of), values);
                }
                Step::Delete(of) => {
                    let old = txn.get_locked(&fixture.table, &key(&fixture.table, of), FOR_UPDATE).unwrap();
                    assert_eq!(old.is_some(), model.remove(&at(of)).is_some());
                    old.iter().for_each(|old| txn.delete(&fixture.table, old).unwrap());
                }
                Step::Bulk { odd, amount, undone } => {
                    let (savepoint, before) = (txn.savepoint(), model.clone());
                    change_many(&fixture, &mut txn, odd, amount);
                    for (key, values) in std::mem::take(&mut model) {
                        if (key.1 % 2 == 1) != odd {
                            model.insert(key, values);
                        } else if amount.is_some() {
                            model.insert(key, row((NAMES[key.0], key.1), amount));
                        }
                    }
                    assert_same(&fixture, &mut txn, &model);
                    if undone {
                        txn.rollback_to(savepoint);
                        model = before;
                    }
                }
                Step::Seal => fixture.seal(),
                Step::Merge => fixture.merge(),
                Step::Reader => {
                    let mut txn = fixture.begin();
                    txn.take_snapshot();
                    reader = Some((txn, model.clone()));
                }
                Step::Reopen => {
                    reader = None;
                    drop(txn);
                    fixture = fixture.reopen();
                    txn = fixture.begin();
                }
            }
            // The transaction's own changes are among the delta rows.
            assert_same(&fixture, &mut txn, &model);
            txn.commit().unwrap();
            if let Some((txn, then)) = &mut reader {
                assert_same(&fixture, txn, then);
            }
            assert_same(&fixture, &mut fixture.begin(), &model);
        }
    }
}

/// Keys of a load: runs in order, each beginning anywhere.
fn runs() -> impl Strategy<Value = Vec<(usize, i64)>> {
    let run = (0..3usize, 0..8i64, 1..8i64)
        .prop_map(|(name, first, count)| (first..first + count).map(move |id| (name, id)).collect::<Vec<_>>());
    prop::collection::vec(run, 1..4).prop_map(|runs| runs.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    /// Rows of a load that come in the order of the key are made segments as they come, and the rest is sorted.
    #[test]
    fn loads_keep_keys_unique(before in runs(), sealed: bool, loaded in runs(), block in 1..5usize, skip: bool) {
        let fixture = Fixture::new(true);
        let mut model = Model::new();
        let mut txn = fixture.begin();
        for key in &before {
            let values = row((NAMES[key.0], key.1), Some(1));
            if model.insert(*key, values.clone()).is_none() {
                txn.insert(&fixture.table, &values).unwrap();
            }
        }
        txn.commit().unwrap();
        if sealed {
            fixture.seal();
        }
        let (unloaded, mut duplicates) = (model.clone(), Vec::new());
        let mut writer = fixture.store.bulk_writer(&fixture.table, 1);
        let mut encoder = writer.encoder();
        for (at, keys) in loaded.chunks(block).enumerate() {
            for (number, key) in keys.iter().enumerate().map(|(number, key)| (at * block + number, key)) {
                let values = row((NAMES[key.0], key.1), Some(2));
                let refs: Vec<ValueRef<'_>> = values.iter().map(ValueRef::from).collect();
                encoder.push(&refs, number as u64, 0).unwrap();
                match model.entry(*key) {
                    std::collections::btree_map::Entry::Occupied(_) => duplicates.push(number as u64),
                    std::collections::btree_map::Entry::Vacant(place) => _ = place.insert(values),
                }
            }
            writer.write(encoder.take_rows()).unwrap();
        }
        let on_duplicate = if skip { OnDuplicate::Skip } else { OnDuplicate::Fail };
        let outcome = writer.finish(vec![encoder], 1, LockWait::Nowait, on_duplicate);
        if skip || duplicates.is_empty() {
            let outcome = outcome.unwrap();
            prop_assert_eq!(outcome.loaded as usize, loaded.len() - duplicates.len());
            prop_assert_eq!(outcome.skipped, duplicates);
        } else {
            prop_assert!(matches!(outcome, Err(StoreError::Duplicate(_))));
            model = unloaded;
        }
        assert_same(&fixture, &mut fixture.begin(), &model);
        let fixture = fixture.reopen();
        assert_same(&fixture, &mut fixture.begin(), &model);
    }
}

/// Others may put rows behind the first one of a load while it makes segments: only those with the key of one of its rows are in its way, and
/// it may leave those rows out.
#[test]
fn rows_that_come_while_a_load_makes_segments() {
    use OnDuplicate::{Fail, Skip, SkipAtMost};
    for (others, duplicate, left_out) in [
        (vec![2, 9], Fail, Some(vec![])),
        (vec![2, 3], Fail, None),
        (vec![2, 9], Skip, Some(vec![])),
        (vec![3], Skip, Some(vec![3])),
        (vec![1, 2, 5], Skip, Some(vec![1, 5])),
        (vec![1, 3, 5], SkipAtMost(3), Some(vec![1, 3, 5])),
        (vec![1, 2, 5], SkipAtMost(1), None),
    ] {
        let fixture = Fixture::new(true);
        let mut writer = fixture.store.bulk_writer(&fixture.table, 1);
        let mut encoder = writer.encoder();
        for id in [1, 3, 5] {
            let values = row(("ada", id), Some(2));
            let refs: Vec<ValueRef<'_>> = values.iter().map(ValueRef::from).collect();
            encoder.push(&refs, 10 * id as u64, 0).unwrap();
            writer.write(encoder.take_rows()).unwrap();
        }
        let mut txn = fixture.begin();
        let mut model = Model::new();
        for id in &others {
            let values = row(("ada", *id), Some(1));
            txn.insert(&fixture.table, &values).unwrap();
            model.insert((0, *id), values);
        }
        txn.commit().unwrap();
        let outcome = writer.finish(vec![encoder], 1, LockWait::Nowait, duplicate);
        match &left_out {
            Some(left_out) => {
                let outcome = outcome.unwrap();
                assert_eq!(outcome.loaded, 3 - left_out.len() as u64);
                assert_eq!(outcome.skipped, left_out.iter().map(|id| 10 * *id as u64).collect::<Vec<_>>());
                let loaded = [1, 3, 5].into_iter().filter(|id| !left_out.contains(id));
                model.extend(loaded.map(|id| ((0, id), row(("ada", id), Some(2)))));
            }
            None => assert!(matches!(outcome, Err(StoreError::Duplicate(_)))),
        }
        assert_same(&fixture, &mut fixture.begin(), &model);
        fixture.seal();
        assert_same(&fixture, &mut fixture.begin(), &model);
        assert_eq!(segment_files(&fixture), if left_out.is_none() { 1 } else { 2 });
    }
}

#[test]
fn tables_without_a_key_keep_the_order_of_insertion() {
    let mut fixture = Fixture::new(false);
    let mut expected = Vec::new();
    for round in 0..4 {
        let mut txn = fixture.begin();
        for id in 0..5 {
            let values = row(("ada", id), Some(round));
            txn.insert(&fixture.table, &values).unwrap();
            expected.push(values);
        }
        txn.commit().unwrap();
        fixture.seal();
        fixture = fixture.reopen();
    }
    assert_eq!(fixture.rows(&mut fixture.begin(), Direction::Forward), expected);
}

#[test]
fn a_segment_whose_rows_are_all_gone_is_gone_from_the_list() {
    let fixture = Fixture::new(true);
    let mut txn = fixture.begin();
    txn.insert(&fixture.table, &row(("ada", 1), None)).unwrap();
    txn.commit().unwrap();
    fixture.seal();
    let mut txn = fixture.begin();
    let old = txn.get_locked(&fixture.table, &key(&fixture.table, ("ada", 1)), FOR_UPDATE).unwrap().unwrap();
    txn.delete(&fixture.table, &old).unwrap();
    txn.commit().unwrap();
    let outcome = fixture.column_table.seal(&fixture.store, &fixture.held(), 1).unwrap().unwrap();
    assert_eq!((outcome.rows, outcome.replaced), (0, 1));
    let fixture = fixture.reopen();
    assert!(fixture.rows(&mut fixture.begin(), Direction::Forward).is_empty());
}

#[test]
fn a_damaged_segment_is_an_error_and_never_rows() {
    let fixture = Fixture::new(true);
    let mut txn = fixture.begin();
    txn.insert(&fixture.table, &row(("ada", 1), Some(7))).unwrap();
    txn.commit().unwrap();
    fixture.seal();
    let path = fixture.directory.path().join("columns/1.1/1.parquet");
    let whole = std::fs::read(&path).unwrap();
    let mut bytes = whole.clone();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let fixture = fixture.reopen();
    let mut txn = fixture.begin();
    let error = txn.get(&fixture.table, &key(&fixture.table, ("ada", 1))).unwrap_err();
    assert_eq!(error.code, ErrorCode::CorruptedRow.number());
    assert!(error.message.contains("1.parquet"), "{}", error.message);
    assert!(matches!(txn.insert(&fixture.table, &row(("ada", 1), None)), Err(StoreError::Sql(_))));
    std::fs::write(&path, whole).unwrap();
    assert_eq!(fixture.rows(&mut fixture.begin(), Direction::Forward).len(), 1);
}

/// Which sessions optimize a table between the definition of a copy and its making.
#[test]
fn a_copy_that_has_not_been_made_is_made_and_not_sealed() {
    let mut def = def(true);
    def.engine = squall_catalog::EngineName::ROWS;
    let parts = vec![IndexPart::of(ColumnId(3))];
    let copy = IndexDef { index_type: IndexType::Columnar, ..IndexDef::new(IndexId(2), "copy", parts) };
    def.indexes.push(copy);
    def.next_index_id = 3;
    let (store, directory) = Fixture::store_with(def);
    let fixture = Fixture::with(store, directory);
    let mut txn = fixture.begin();
    for id in 0..3 {
        txn.insert(&fixture.table, &row(("ada", id), Some(id))).unwrap();
    }
    txn.commit().unwrap();
    let count = |fixture: &Fixture| {
        let counted = ColumnTable::count_copy(&fixture.store.read_view(), &fixture.table, &|| Ok(())).unwrap();
        counted.map(|(copied, rows)| {
            assert_eq!(copied, rows);
            rows
        })
    };
    let rows = || count(&fixture);
    assert_eq!(rows(), None);
    // Rows that were sealed already are not there twice, either.
    fixture.seal();
    assert_eq!((rows(), segment_files(&fixture)), (None, 1));
    let merged = fixture.column_table.optimize(&fixture.store, &fixture.held(), 1, &|| Ok(())).unwrap();
    assert!(merged.complete);
    assert_eq!((rows(), segment_files(&fixture)), (Some(3), 1));
    fixture.column_table.make_copy(&fixture.store, &fixture.held(), &|| Ok(())).unwrap();
    let mut txn = fixture.begin();
    let old = txn.get_locked(&fixture.table, &key(&fixture.table, ("ada", 1)), FOR_UPDATE).unwrap().unwrap();
    txn.delete(&fixture.table, &old).unwrap();
    txn.commit().unwrap();
    assert_eq!((rows(), segment_files(&fixture)), (Some(2), 1));
    let fixture = fixture.reopen();
    assert_eq!(count(&fixture), Some(2));
}
