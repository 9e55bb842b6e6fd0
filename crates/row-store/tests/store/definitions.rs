//! Tables that are made and dropped leave nothing behind, and the last definition costs as much as the first.

use crate::fixture::{Fixture, catalog_of, ids, options, plain_def, row};
use crate::torn_log::copy;
use lsm_tree::{AbstractTree, AnyTree, Guard, SeqNo};
use squall_catalog::{Catalog, TableDef};
use squall_row_store::{DdlChanges, IsolationLevel::RepeatableRead as RR, RowStore, Table};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Files and folders under a folder, and the bytes that the disk has of them.
fn disk_use(folder: &Path) -> (u64, u64) {
    let mut sum = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        // Files go while they are counted.
        let Ok(metadata) = entry.metadata() else { continue };
        sum.0 += 1;
        sum.1 += metadata.blocks() * 512;
        if metadata.is_dir() {
            let inner = disk_use(&entry.path());
            sum = (sum.0 + inner.0, sum.1 + inner.1);
        }
    }
    sum
}

/// Of the folder with the tables' files.
fn tables_use(fixture: &Fixture) -> (u64, u64) {
    disk_use(&fixture.directory.path().join("rows"))
}

/// Ids of tables are not given again.
fn catalog(tables: &[&TableDef], next: u32) -> Catalog {
    let mut catalog = catalog_of(tables);
    (catalog.next_table_id, catalog.version) = (next, u64::from(next));
    catalog
}

/// Bytes that this process has had written to disks, and system calls of writing.
fn written() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/self/io").unwrap();
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim_start_matches(':').trim().parse().unwrap()
    };
    (value("write_bytes"), value("syscw"))
}

/// What happens to a table between its making and its end.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Life {
    Empty,
    Filled,
    Emptied,
    Temporary,
}

fn fill(fixture: &Fixture, table: &Arc<Table>) {
    let mut txn = fixture.store.begin(RR, false);
    txn.insert(table, &row(1, 1, "a", None)).unwrap();
    txn.commit().unwrap();
}

/// `count` tables are made and dropped, one after the other, beside a table that stays.
fn pairs(fixture: &Fixture, first: u32, count: u32, life: Life) {
    let kept = plain_def(1);
    for id in first..first + count {
        let mut def = plain_def(id);
        if life == Life::Temporary {
            def.id = fixture.store.allocate_temporary_id();
            def.temporary = true;
            let table = fixture.store.create_data(&Arc::new(def)).unwrap();
            fill(fixture, &table);
            fixture.store.drop_data(table.def()).unwrap();
            continue;
        }
        fixture.store.commit_ddl(&catalog(&[&kept, &def], id + 1), &DdlChanges::default()).unwrap();
        if life != Life::Empty {
            fill(fixture, &fixture.table(&def.name));
        }
        if life == Life::Emptied {
            def.version = 2;
            let changes = DdlChanges { truncated: vec![def.id], ..DdlChanges::default() };
            fixture.store.commit_ddl(&catalog(&[&kept, &def], id + 1), &changes).unwrap();
        }
        fixture.store.commit_ddl(&catalog(&[&kept], id + 1), &DdlChanges::default()).unwrap();
    }
}

/// Whether this is a process in which a test runs alone, as one that counts what its process writes has to. If it is not, the test is run in
/// one.
fn is_alone(test: &str) -> bool {
    const ALONE: &str = "SQUALL_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let itself = std::env::current_exe().unwrap();
    let mut command = std::process::Command::new(itself);
    let output = command.args(["--exact", test, "--nocapture"]).env(ALONE, "1").output().unwrap();
    let (printed, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}{errors}");
    println!("{printed}");
    false
}

#[test]
fn tables_that_come_and_go_leave_nothing() {
    if !is_alone("definitions::tables_that_come_and_go_leave_nothing") {
        return;
    }
    for life in [Life::Empty, Life::Filled, Life::Emptied, Life::Temporary] {
        let (fixture, _) = Fixture::plain();
        pairs(&fixture, 2, 100, life);
        let (before, began, started) = (tables_use(&fixture), written(), Instant::now());
        pairs(&fixture, 102, 100, life);
        let first = (written().0 - began.0, written().1 - began.1);
        println!("{life:?}: {:?} a pair", started.elapsed() / 100);
        let began = written();
        pairs(&fixture, 202, 300, life);
        let later = ((written().0 - began.0) / 3, (written().1 - began.1) / 3);
        let after = tables_use(&fixture);
        println!("files and bytes {before:?}, then {after:?}; bytes and writes of 100 pairs {first:?}, then {later:?}");
        assert!(after.0 <= before.0 + 8 && after.1 <= before.1 + (256 << 10), "{before:?} {after:?}");
        assert!(later.1 <= first.1 * 2 + 100, "{first:?} {later:?}");
        // What is kept in memory of each: its files are watched.
        assert!(fixture.store.file_io().tables.len() <= 8, "{:?}", fixture.store.file_io().tables);
        let stopping = Instant::now();
        let fixture = fixture.reopen();
        println!("closed and opened in {:?}", stopping.elapsed());
        let reopened = tables_use(&fixture);
        assert!(reopened.0 <= before.0 + 8 && reopened.1 <= before.1 + (256 << 10), "{before:?} {reopened:?}");
    }
}

/// A folder in which no file was made is another table's next; what the log has of the first is not taken for that of the second.
#[test]
fn a_crash_does_not_bring_back_what_a_folder_had_before() {
    let (fixture, _) = Fixture::plain();
    let kept = plain_def(1);
    let insert = |id: u32, rows: std::ops::Range<i64>| {
        let table = fixture.table(&format!("t{id}"));
        let mut txn = fixture.store.begin(RR, false);
        for id in rows {
            txn.insert(&table, &row(id, id, "a", None)).unwrap();
        }
        txn.commit().unwrap();
    };
    let folders = || std::fs::read_dir(fixture.directory.path().join("rows/keyspaces")).unwrap().count();
    let mut most = 0;
    for id in 2..8 {
        let def = plain_def(id);
        fixture.store.commit_ddl(&catalog(&[&kept, &def], id + 1), &DdlChanges::default()).unwrap();
        insert(id, 0..i64::from(id) * 10);
        most = most.max(folders());
        if id % 2 == 0 {
            let mut emptied = plain_def(id);
            emptied.version = 2;
            let changes = DdlChanges { truncated: vec![def.id], ..DdlChanges::default() };
            fixture.store.commit_ddl(&catalog(&[&kept, &emptied], id + 1), &changes).unwrap();
            insert(id, 100..100 + i64::from(id));
        }
        let after_crash = tempfile::tempdir().unwrap();
        copy(fixture.directory.path(), after_crash.path());
        let store = RowStore::open(after_crash.path(), options()).unwrap();
        let there = Fixture { store, directory: after_crash };
        let found = ids(&mut there.store.begin(RR, false), &there.table(&def.name));
        let expected = if id % 2 == 0 { 100..100 + i64::from(id) } else { 0..i64::from(id) * 10 };
        assert_eq!(found, expected.collect::<Vec<_>>(), "t{id}");
        fixture.store.commit_ddl(&catalog(&[&kept], id + 1), &DdlChanges::default()).unwrap();
    }
    assert!(most <= 8, "{most} folders for two tables at a time");
}

/// A tree of a store that is closed, or a new one.
fn tree(rows: &Path, folder: u64) -> AnyTree {
    let path = rows.join("keyspaces").join(folder.to_string());
    lsm_tree::Config::new(path, Default::default(), Default::default()).open().unwrap()
}

/// Puts the files of a store that is closed into the form of the engine that was used before (fjall 3.1): a list of keyspaces in a tree of
/// its own, with all that `dropped` tables have left in it, a log of zeros, and no places in the store's own records.
fn to_earlier_form(rows: &Path, dropped: u64) {
    std::fs::remove_dir_all(rows.join("empty")).unwrap();
    std::fs::write(rows.join("version"), b"FJL\x03").unwrap();
    std::fs::write(rows.join("0.jnl"), [0; 4096]).unwrap();
    std::fs::write(rows.join("lock"), b"").unwrap();
    let records = tree(rows, 1);
    let list = tree(rows, 0);
    let name_key = |folder: u64| [&b"n"[..], &folder.to_be_bytes()].concat();
    list.insert(name_key(1), "meta", 1);
    let mut sequence = records.get_highest_persisted_seqno().unwrap();
    let entries: Vec<_> = records.iter(SeqNo::MAX, None).map(|entry| entry.into_inner().unwrap()).collect();
    for (key, value) in entries {
        sequence += 1;
        match key[0] {
            b'f' => records.insert(key, [3], sequence),
            b'k' => {
                let number = |at: usize| u64::from_le_bytes(value[at..at + 8].try_into().unwrap());
                let id = u32::from_be_bytes(key[1..].try_into().unwrap());
                list.insert(name_key(number(8)), format!("t{id}.{}", number(0)), 1);
                records.insert(key, &value[..8], sequence)
            }
            _ => continue,
        };
    }
    records.flush_active_memtable(0).unwrap();
    for number in 0..dropped {
        let folder = 1000 + number;
        list.insert([&b"c"[..], &folder.to_be_bytes()].concat(), vec![b'x'; 2000], 2 * number + 2);
        list.insert(name_key(folder), format!("t{folder}.1"), 2 * number + 2);
        if number % 40 > 0 {
            list.remove(name_key(folder), 2 * number + 3);
        } else {
            // A crash leaves the folders of some.
            let rows = tree(rows, folder);
            rows.insert("k", "v", 1);
            rows.flush_active_memtable(0).unwrap();
        }
    }
    list.flush_active_memtable(0).unwrap();
}

#[test]
fn a_directory_of_the_earlier_form_is_healed() {
    let (fixture, table) = Fixture::plain();
    let mut txn = fixture.store.begin(RR, false);
    for id in 1..=500 {
        txn.insert(&table, &row(id, id % 7, "a", None)).unwrap();
    }
    txn.commit().unwrap();
    drop(table);
    fixture.store.close().unwrap();
    let Fixture { directory, store } = fixture;
    drop(store);
    let before = disk_use(&directory.path().join("rows"));
    to_earlier_form(&directory.path().join("rows"), 400);
    let bloated = disk_use(&directory.path().join("rows"));
    assert!(bloated.1 > before.1 + (512 << 10), "{before:?} {bloated:?}");
    let store = RowStore::open(directory.path(), options()).unwrap();
    let fixture = Fixture { directory, store };
    let after_crash = tempfile::tempdir().unwrap();
    copy(fixture.directory.path(), after_crash.path());
    let store = RowStore::open(after_crash.path(), options()).unwrap();
    let there = Fixture { store, directory: after_crash };
    assert_eq!(ids(&mut there.store.begin(RR, false), &there.table("t1")).len(), 500);
    drop(there);
    let table = fixture.table("t1");
    let mut txn = fixture.store.begin(RR, false);
    assert_eq!(ids(&mut txn, &table).len(), 500);
    txn.insert(&table, &row(501, 1, "a", None)).unwrap();
    txn.commit().unwrap();
    drop(table);
    let fixture = fixture.reopen();
    assert_eq!(ids(&mut fixture.store.begin(RR, false), &fixture.table("t1")).len(), 501);
    // What is not needed goes in the background.
    let started = Instant::now();
    while tables_use(&fixture).1 > before.1 + (256 << 10) {
        assert!(started.elapsed().as_secs() < 20, "{before:?} {:?}", tables_use(&fixture));
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(!fixture.directory.path().join("rows/keyspaces/0").exists());
    pairs(&fixture, 2, 20, Life::Filled);
    // An earlier server looks for its own mark, and does not take the folder for an empty one.
    assert!(!std::fs::read(fixture.directory.path().join("rows/version")).unwrap().starts_with(b"FJL"));
}
