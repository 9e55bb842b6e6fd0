//! Rows that leave the store for a level below it: all answers stay the same.

use crate::fixture::*;
use proptest::prelude::*;
use squall_catalog::{EngineName, IndexId, TableDef};
use squall_row_store::{
    BlockKeys, Direction, Durability, EngineTraits, IsolationLevel, KeyRange, LevelFile, LevelPlace, LevelStore,
    LockMode, LockRequest, LockWait, ManifestEntry, Row, Sealing, SegmentBlock, SegmentRowWriter, SegmentScan,
    SegmentSnapshot, SegmentSource, StoreError, Table, TableEngine, TablePart, Transaction, TransactionOptions,
    ValueRange,
};
use squall_test_support::SetOnDrop;
use squall_types::{ErrorCode, SqlResult, Value};
use std::any::Any;
use std::collections::BTreeMap;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Keys with their rows.
type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// A source whose list has the rows themselves: each entry's rows and deletes, by length, over those of the entries
/// before it.
pub struct RowsInTheList;

struct Rows(Arc<BTreeMap<Vec<u8>, Vec<u8>>>);

struct Scan(std::vec::IntoIter<(Vec<u8>, Vec<u8>)>);

impl TableEngine for RowsInTheList {
    fn name(&self) -> &'static str {
        "LIST"
    }

    fn comment(&self) -> &'static str {
        "Rows in the manifest"
    }

    fn traits(&self) -> EngineTraits {
        EngineTraits { seals_rows: true, keeps_copies: true, ..EngineTraits::ROWS }
    }

    fn open(&self, _: &TableDef, _: LevelPlace) -> SqlResult<Arc<dyn SegmentSource>> {
        Ok(Arc::new(RowsInTheList))
    }
}

impl SegmentSource for RowsInTheList {
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn writer(self: Arc<Self>, table: &Arc<Table>) -> Box<dyn SegmentRowWriter> {
        Box::new(Loaded(table.clone(), Vec::new()))
    }

    fn block(&self, _: &Arc<Table>) -> Option<Box<dyn SegmentBlock>> {
        None
    }

    fn note_changes(&self, _: u64) {}

    fn discard(&self) {}

    fn open(&self, list: Vec<ManifestEntry>) -> SqlResult<Arc<dyn SegmentSnapshot>> {
        let mut rows = BTreeMap::new();
        for entry in list {
            for (key, row) in decode(&entry.content) {
                match row.is_empty() {
                    true => rows.remove(&key),
                    false => rows.insert(key, row),
                };
            }
        }
        Ok(Arc::new(Rows(Arc::new(rows))))
    }
}

/// Rows of a load.
struct Loaded(Arc<Table>, Pairs);

impl SegmentRowWriter for Loaded {
    fn push(&mut self, row: Row) -> SqlResult<()> {
        let encoded = self.0.encode_row(row.key_bytes(), &row.values(&self.0)?)?;
        self.1.push((row.key_bytes().to_vec(), encoded));
        Ok(())
    }

    fn push_block(&mut self, _: Box<dyn SegmentBlock>, _: &BlockKeys) -> SqlResult<()> {
        unreachable!("the source makes no blocks")
    }

    fn finish(&mut self) -> SqlResult<Vec<ManifestEntry>> {
        Ok(vec![ManifestEntry { name: b"loaded".to_vec(), content: encode(&self.1) }])
    }

    fn leave_out(&mut self, keys: &[Vec<u8>]) -> SqlResult<Vec<u64>> {
        let rows = self.1.iter().enumerate().filter(|(_, (key, _))| keys.contains(key));
        let found = rows.map(|(at, _)| at as u64).collect();
        self.1.retain(|(key, _)| !keys.contains(key));
        Ok(found)
    }

    fn keep(self: Box<Self>) {}
}

impl SegmentSnapshot for Rows {
    fn get(&self, _: &Table, key: &[u8]) -> SqlResult<Option<Vec<u8>>> {
        Ok(self.0.get(key).cloned())
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn last_key(&self, _: &Table) -> SqlResult<Option<Vec<u8>>> {
        Ok(self.0.last_key_value().map(|(key, _)| key.clone()))
    }

    fn files(&self) -> Vec<LevelFile> {
        Vec::new()
    }

    fn scan(&self, _: &Arc<Table>, range: &KeyRange, direction: Direction) -> SqlResult<Box<dyn SegmentScan>> {
        let bounds = (range.start.clone(), range.end.clone());
        let within =
            self.0.iter().filter(|(key, _)| bounds.contains(*key)).map(|(key, row)| (key.clone(), row.clone()));
        let mut rows: Vec<_> = within.collect();
        if direction == Direction::Backward {
            rows.reverse();
        }
        Ok(Box::new(Scan(rows.into_iter())))
    }
}

impl SegmentScan for Scan {
    fn next(&mut self) -> SqlResult<Option<(Vec<u8>, Vec<u8>)>> {
        Ok(self.0.next())
    }
}

fn encode(rows: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let parts = rows.iter().flat_map(|(key, row)| [key, row]);
    parts.flat_map(|part| (part.len() as u32).to_le_bytes().into_iter().chain(part.iter().copied())).collect()
}

fn decode(mut content: &[u8]) -> Pairs {
    let mut part = || {
        let (length, rest) = content.split_first_chunk::<4>()?;
        let (part, rest) = rest.split_at(u32::from_le_bytes(*length) as usize);
        content = rest;
        Some(part.to_vec())
    };
    std::iter::from_fn(|| Some((part()?, part()?))).collect()
}

/// Reads all rows of the store into what an entry of the list has.
fn read(sealing: &mut Sealing, table: &Table) -> Pairs {
    let mut rows = Vec::new();
    while let Some(delta) = sealing.next_row().unwrap() {
        let values = delta.row(table).unwrap().map(|row| row.values(table).unwrap());
        let row = values.map_or_else(Vec::new, |values| table.encode_row(delta.key(), &values).unwrap());
        rows.push((delta.key().to_vec(), row));
    }
    rows
}

/// Ends a sealing with one more entry of the manifest, or with one that stands for all.
fn end(sealing: Sealing, rows: Pairs, merge: bool) {
    let manifest = sealing.manifest().unwrap();
    let mut changes = Vec::new();
    let mut content = encode(&rows);
    let number = manifest.len() as u32;
    if merge {
        content = manifest.iter().flat_map(|entry| entry.content.clone()).chain(content).collect();
        changes.extend(manifest.into_iter().map(|entry| (entry.name, None)));
    }
    changes.retain(|(name, _): &(Vec<u8>, _)| *name != number.to_be_bytes());
    changes.push((if merge { 0 } else { number }.to_be_bytes().to_vec(), Some(content)));
    // The last change of a name counts.
    let changes: BTreeMap<_, _> = changes.into_iter().collect();
    sealing.commit(changes.into_iter().collect()).unwrap();
}

fn begin_sealing(fixture: &Fixture, table: &Arc<Table>) -> Sealing {
    loop {
        // While the store writes to a file there is none.
        if let Some(sealing) = fixture.store.begin_sealing(table, TablePart::Rows).unwrap() {
            return sealing;
        }
        std::thread::yield_now();
    }
}

fn seal(fixture: &Fixture, table: &Arc<Table>, merge: bool) {
    let mut sealing = begin_sealing(fixture, table);
    let rows = read(&mut sealing, table);
    end(sealing, rows, merge);
}

/// `t1 (id INT PRIMARY KEY, k INT, v VARCHAR(100), u INT NULL)`, or without its key.
fn def(keyed: bool) -> TableDef {
    let mut def = plain_def(1);
    def.indexes.truncate(usize::from(keyed));
    def.engine = EngineName::new("LIST");
    def
}

fn fixture(keyed: bool) -> (Fixture, Arc<Table>) {
    let fixture = Fixture::new();
    fixture.store.commit_ddl(&catalog_of(&[&def(keyed)]), &Default::default()).unwrap();
    let table = fixture.table("t1");
    (fixture, table)
}

fn begin(fixture: &Fixture, isolation: IsolationLevel) -> Transaction {
    fixture.store.begin(isolation, false)
}

fn rows(txn: &mut Transaction, table: &Arc<Table>, direction: Direction) -> Vec<Vec<Value>> {
    all(txn, table, 0, direction)
}

type Model = BTreeMap<i64, Vec<Value>>;

/// Readers by column find all rows: those of the segments with the delta rows over them.
fn assert_same_by_column(txn: &mut Transaction, table: &Arc<Table>) {
    let view = txn.read_view();
    let whole = KeyRange { start: Bound::Unbounded, end: Bound::Unbounded };
    let encoded = |row: Row| {
        let key = row.key();
        (key.as_bytes().to_vec(), table.encode_row(key.as_bytes(), &row.values(table).unwrap()).unwrap())
    };
    let mut found = BTreeMap::new();
    let segments = view.segment_rows(table).unwrap().unwrap();
    let mut scan = segments.scan(table, &whole, Direction::Forward).unwrap();
    while let Some((key, row)) = scan.next().unwrap() {
        found.insert(key, row);
    }
    let mut delta = view.delta_rows(table).unwrap();
    while let Some(change) = delta.next_row().unwrap() {
        found.remove(change.key());
        found.extend(change.row(table).unwrap().map(encoded));
    }
    let mut expected = BTreeMap::new();
    let mut rows = view.scan(table, &table.range(IndexId(0), ValueRange::ALL).unwrap(), Direction::Forward);
    while let Some(row) = rows.next_row().unwrap() {
        expected.extend([encoded(row)]);
    }
    assert_eq!(found, expected);
}

fn assert_same(txn: &mut Transaction, table: &Arc<Table>, model: &Model) {
    let mut expected: Vec<Vec<Value>> = model.values().cloned().collect();
    assert_eq!(rows(txn, table, Direction::Forward), expected);
    assert_same_by_column(txn, table);
    expected.reverse();
    assert_eq!(rows(txn, table, Direction::Backward), expected);
    for id in 0..20 {
        assert_eq!(get(txn, table, id).as_ref(), model.get(&id));
    }
}

fn put(txn: &mut Transaction, table: &Table, model: &mut Model, id: i64, k: i64) {
    let values = row(id, k, "some text", None);
    match model.contains_key(&id) {
        true => {
            let old = lock(txn, table, id);
            txn.update(table, &old, &values).unwrap();
        }
        false => _ = txn.insert(table, &values).unwrap(),
    }
    model.insert(id, values);
}

fn delete(txn: &mut Transaction, table: &Table, model: &mut Model, id: i64) {
    if model.remove(&id).is_some() {
        let old = lock(txn, table, id);
        txn.delete(table, &old).unwrap();
    }
}

#[derive(Clone, Debug)]
enum Step {
    Put(i64, i64),
    Delete(i64),
    /// A reader begins; one that was there compares what it sees with what was there when it began.
    Reader,
    Seal {
        merge: bool,
    },
    BeginSealing,
    EndSealing {
        merge: bool,
    },
    Flush,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..20i64, any::<u8>()).prop_map(|(id, k)| Step::Put(id, i64::from(k))),
        4 => (0..20i64).prop_map(Step::Delete),
        2 => Just(Step::Reader),
        2 => any::<bool>().prop_map(|merge| Step::Seal { merge }),
        1 => Just(Step::BeginSealing),
        1 => any::<bool>().prop_map(|merge| Step::EndSealing { merge }),
        1 => Just(Step::Flush),
        1 => Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn segment_rows_are_rows(steps in prop::collection::vec(step(), 1..60)) {
        let (mut fixture, mut table) = fixture(true);
        let mut model = Model::new();
        let mut reader: Option<(Transaction, Model)> = None;
        let mut sealing: Option<(Sealing, Pairs)> = None;
        for step in steps {
            match step {
                Step::Put(..) | Step::Delete(_) => {
                    let mut txn = begin(&fixture, IsolationLevel::RepeatableRead);
                    match step {
                        Step::Put(id, k) => put(&mut txn, &table, &mut model, id, k),
                        Step::Delete(id) => delete(&mut txn, &table, &mut model, id),
                        _ => unreachable!(),
                    }
                    // The transaction sees its own change, too.
                    assert_same(&mut txn, &table, &model);
                    txn.commit().unwrap();
                }
                Step::Reader => {
                    if let Some((mut txn, then)) = reader.take() {
                        assert_same(&mut txn, &table, &then);
                    }
                    let mut txn = begin(&fixture, IsolationLevel::RepeatableRead);
                    txn.take_snapshot();
                    reader = Some((txn, model.clone()));
                }
                Step::Seal { merge } if sealing.is_none() => seal(&fixture, &table, merge),
                Step::BeginSealing if sealing.is_none() => {
                    let mut begun = begin_sealing(&fixture, &table);
                    let rows = read(&mut begun, &table);
                    sealing = Some((begun, rows));
                }
                Step::EndSealing { merge } => {
                    if let Some((sealing, rows)) = sealing.take() {
                        end(sealing, rows, merge);
                    }
                }
                Step::Flush => fixture.store.flush().unwrap(),
                Step::Reopen => {
                    reader = None;
                    sealing = None;
                    drop(table);
                    fixture = fixture.reopen();
                    table = fixture.table("t1");
                }
                _ => {}
            }
            if let Some((txn, then)) = &mut reader {
                assert_same(txn, &table, then);
            }
            assert_same(&mut begin(&fixture, IsolationLevel::RepeatableRead), &table, &model);
        }
    }
}

#[test]
fn a_key_that_is_sealed_is_taken() {
    let (fixture, table) = fixture(true);
    let mut txn = begin(&fixture, IsolationLevel::RepeatableRead);
    txn.insert(&table, &row(1, 1, "", None)).unwrap();
    txn.commit().unwrap();
    seal(&fixture, &table, false);
    let mut txn = begin(&fixture, IsolationLevel::RepeatableRead);
    assert!(matches!(txn.insert(&table, &row(1, 2, "", None)), Err(StoreError::Duplicate(_))));
    let old = lock(&mut txn, &table, 1);
    txn.delete(&table, &old).unwrap();
    txn.insert(&table, &row(1, 3, "", None)).unwrap();
    txn.commit().unwrap();
    seal(&fixture, &table, false);
    let mut txn = begin(&fixture, IsolationLevel::RepeatableRead);
    assert_eq!(rows(&mut txn, &table, Direction::Forward), [row(1, 3, "", None)]);
}

/// A row that was changed after a snapshot, and sealed since, is still a changed row.
#[test]
fn a_lost_update_is_found_below_the_store() {
    for changed in [false, true] {
        let (fixture, table) = fixture(true);
        let mut txn = begin(&fixture, IsolationLevel::RepeatableRead);
        txn.insert(&table, &row(1, 1, "", None)).unwrap();
        txn.commit().unwrap();
        let mut late = begin(&fixture, IsolationLevel::RepeatableRead);
        late.take_snapshot();
        if changed {
            let mut txn = begin(&fixture, IsolationLevel::RepeatableRead);
            let old = lock(&mut txn, &table, 1);
            txn.update(&table, &old, &row(1, 2, "", None)).unwrap();
            txn.commit().unwrap();
        }
        seal(&fixture, &table, false);
        match late.get_locked(&table, &key(&table, 1), FOR_UPDATE) {
            Ok(found) => assert!(!changed && found.is_some()),
            Err(StoreError::Sql(error)) => assert!(changed && error.code == ErrorCode::RecordChanged.number()),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn hidden_row_numbers_go_on_behind_the_sealed_ones() {
    let (mut fixture, mut table) = fixture(false);
    for round in 0..3 {
        let mut txn = begin(&fixture, IsolationLevel::RepeatableRead);
        for k in 0..3 {
            txn.insert(&table, &row(round, k, "", None)).unwrap();
        }
        txn.commit().unwrap();
        seal(&fixture, &table, round == 1);
        drop(table);
        fixture = fixture.reopen();
        table = fixture.table("t1");
    }
    let expected: Vec<_> = (0..3).flat_map(|round| (0..3).map(move |k| row(round, k, "", None))).collect();
    assert_eq!(rows(&mut begin(&fixture, IsolationLevel::RepeatableRead), &table, Direction::Forward), expected);
}

#[test]
fn there_is_one_sealing_of_a_table_at_a_time() {
    let (fixture, table) = fixture(true);
    let first = begin_sealing(&fixture, &table);
    assert!(fixture.store.begin_sealing(&table, TablePart::Rows).unwrap().is_none());
    drop(first);
    assert!(fixture.store.begin_sealing(&table, TablePart::Rows).unwrap().is_some());
}

/// Rows are counted up while several sealings follow one another: whatever is on its way to be seen when one begins, and
/// whatever is changed until it ends, stays.
#[test]
fn no_change_is_lost_while_rows_are_sealed() {
    const ROWS: i64 = 4;
    const CHANGES: i64 = 60;
    let (fixture, table) = fixture(true);
    let mut txn = begin(&fixture, IsolationLevel::RepeatableRead);
    for id in 0..ROWS {
        txn.insert(&table, &row(id, 0, "", None)).unwrap();
    }
    txn.commit().unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let is_done = SetOnDrop(&done);
        let (fixture, table, done) = (&fixture, &table, &done);
        let writers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(move || {
                    for change in 0..CHANGES {
                        let options = TransactionOptions {
                            durability: Durability::Full,
                            ..TransactionOptions::new(IsolationLevel::ReadCommitted)
                        };
                        let mut txn = fixture.store.begin_with(options, None);
                        let key = key(table, change % ROWS);
                        let request = LockRequest { mode: LockMode::Exclusive, wait: LockWait::default() };
                        let old = txn.get_locked(table, &key, request).unwrap().expect("the row is there");
                        let k = k_of(&old.values(table).unwrap()) + 1;
                        txn.update(table, &old, &row(change % ROWS, k, "", None)).unwrap();
                        txn.commit().unwrap();
                    }
                })
            })
            .collect();
        for _ in 0..2 {
            scope.spawn(move || {
                while !done.load(Ordering::SeqCst) {
                    if let Some(mut sealing) = fixture.store.begin_sealing(table, TablePart::Rows).unwrap() {
                        let rows = read(&mut sealing, table);
                        end(sealing, rows, true);
                    }
                }
            });
        }
        let results: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        drop(is_done);
        results.into_iter().for_each(|result| result.unwrap());
    });
    let sum: i64 = rows(&mut begin(&fixture, IsolationLevel::RepeatableRead), &table, Direction::Forward)
        .iter()
        .map(|row| k_of(row))
        .sum();
    assert_eq!(sum, 4 * CHANGES);
}
