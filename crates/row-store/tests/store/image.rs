//! Images of a store that works: a store that is opened on a copy has whole transactions, and all that were acknowledged before.

use crate::fixture::*;
use crate::segment_level::RowsInTheList;
use squall_row_store::{
    DdlChanges, Direction, ImageContent, IsolationLevel, LockWait, OnDuplicate, RowStore, StoreImage, StoreOptions,
    Table,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

/// Rows of one transaction, and of one load.
const ROWS: i64 = 20;
const WRITERS: usize = 3;

/// What writers are told.
#[derive(Default)]
struct Turn {
    is_over: AtomicBool,
    /// They wait while a copy is checked: else each check takes longer than the one before.
    is_paused: AtomicBool,
}

impl Turn {
    /// Whether they go on, once that is known.
    fn goes_on(&self) -> bool {
        while self.is_paused.load(Ordering::Relaxed) && !self.is_over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
        !self.is_over.load(Ordering::Relaxed)
    }
}

/// Ends the writers, also when an assertion fails.
struct Ends<'a>(&'a Turn);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

/// Copies an image of the store in a directory to another one.
fn copy(image: &StoreImage, from: &Path, to: &Path) {
    for file in &image.files {
        let content = match &file.content {
            ImageContent::Bytes(bytes) => bytes.clone(),
            ImageContent::Beginning(bytes) => {
                let content = std::fs::read(&file.path).unwrap();
                content[..*bytes as usize].to_vec()
            }
            ImageContent::Table { bytes, .. } => {
                let content = std::fs::read(&file.path).unwrap();
                assert_eq!(content.len() as u64, *bytes);
                content
            }
            ImageContent::Level(_) => panic!("a file of a level that has none"),
        };
        let path = to.join(file.path.strip_prefix(from).unwrap());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

/// Transaction `n` of a writer inserts some rows with `k` = `n`, whose ids and texts say whose they are.
fn write(store: &RowStore, table: &Arc<Table>, writer: usize, acknowledged: &AtomicI64, turn: &Turn) {
    for number in 1.. {
        if !turn.goes_on() {
            return;
        }
        let mut txn = store.begin(IsolationLevel::RepeatableRead, false);
        for id in 0..ROWS {
            let id = (writer as i64 * 100_000 + number) * ROWS + id;
            txn.insert(table, &row(id, number, &format!("{writer} ").repeat(200), Some(id))).unwrap();
        }
        txn.commit().unwrap();
        acknowledged.store(number, Ordering::SeqCst);
    }
}

fn load(store: &RowStore, table: &Arc<Table>, turn: &Turn) {
    for number in 0.. {
        if !turn.goes_on() {
            return;
        }
        let mut load = store.bulk_load(table);
        (0..ROWS).for_each(|id| load.push(row(number * ROWS + id, number, "loaded", None)).unwrap());
        load.finish(99, LockWait::default(), OnDuplicate::Fail).unwrap();
        if number % 3 == 0 {
            store.flush().unwrap();
        }
    }
}

/// Each number of `k` has all of its rows.
fn check(store: &RowStore, name: &str) -> Vec<i64> {
    let table = store.table(store.load_catalog().table("d", name).unwrap()).unwrap();
    assert_eq!(store.check_indexes(&table, |_| Ok(())).unwrap(), []);
    let mut txn = store.begin(IsolationLevel::RepeatableRead, true);
    let mut numbers: Vec<i64> = all(&mut txn, &table, 1, Direction::Forward).iter().map(|row| k_of(row)).collect();
    numbers.sort_unstable();
    for group in numbers.chunk_by(|a, b| a == b) {
        assert_eq!(group.len() as i64, ROWS, "{name}: {} is there in part", group[0]);
    }
    numbers.dedup();
    numbers
}

fn run(options: StoreOptions) {
    let directory = tempfile::tempdir().unwrap();
    let engines = || -> Vec<Arc<dyn squall_row_store::TableEngine>> { vec![Arc::new(RowsInTheList)] };
    let store = RowStore::open_with(directory.path(), options.clone(), engines()).unwrap();
    let defs: Vec<_> = (1..=WRITERS as u32 + 1).map(plain_def).collect();
    store.commit_ddl(&catalog_of(&defs.iter().collect::<Vec<_>>()), &DdlChanges::default()).unwrap();
    let tables: Vec<_> =
        defs.iter().map(|def| store.table(store.load_catalog().table("d", &def.name).unwrap()).unwrap()).collect();
    let acknowledged: Vec<AtomicI64> = (0..WRITERS).map(|_| AtomicI64::new(0)).collect();
    let turn = Turn::default();
    std::thread::scope(|scope| {
        let (store, turn) = (&store, &turn);
        for (writer, acknowledged) in acknowledged.iter().enumerate() {
            let table = &tables[writer];
            scope.spawn(move || write(store, table, writer, acknowledged, turn));
        }
        let loaded = &tables[WRITERS];
        scope.spawn(move || load(store, loaded, turn));
        let _ends = Ends(turn);
        for _ in 0..12 {
            let before: Vec<i64> = acknowledged.iter().map(|number| number.load(Ordering::SeqCst)).collect();
            let image = store.image().unwrap();
            // What comes behind the image changes nothing of it.
            std::thread::sleep(Duration::from_millis(10));
            let copied = tempfile::tempdir().unwrap();
            copy(&image, directory.path(), copied.path());
            drop(image);
            turn.is_paused.store(true, Ordering::Relaxed);
            let copied = RowStore::open_with(copied.path(), options.clone(), engines()).unwrap();
            for (writer, before) in before.iter().enumerate() {
                let numbers = check(&copied, &defs[writer].name);
                let count = numbers.len() as i64;
                assert_eq!(numbers, (1..=count).collect::<Vec<_>>(), "a transaction is missing");
                assert!(count >= *before, "writer {writer}: {count} of {before}");
            }
            check(&copied, &defs[WRITERS].name);
            copied.close().unwrap();
            turn.is_paused.store(false, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    // The log is let go again.
    store.flush().unwrap();
    store.close().unwrap();
}

#[test]
fn images_are_of_one_commit() {
    run(options());
}

#[test]
fn images_of_transactions_that_are_files() {
    run(spilling_options());
}

#[test]
fn images_of_large_values() {
    run(large_value_options());
}

#[test]
fn images_of_small_buffers() {
    run(StoreOptions { write_buffer_bytes_max: 64 << 10, table_buffer_bytes_max: 64 << 10, ..options() });
}
