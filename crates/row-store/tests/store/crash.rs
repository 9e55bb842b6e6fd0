//! Kills a process full of writers at random times, repeatedly on one directory. Checks that each acknowledged transaction is there,
//! and that no transaction is there in part. `SQUALL_CRASH_ROUNDS` sets the number of rounds (20).

use crate::fixture::*;
use squall_catalog::{Catalog, TableEntry};
use squall_row_store::{
    DdlChanges, Direction, Durability, IsolationLevel, LockWait, OnDuplicate, RowStore, Table, TransactionOptions,
};
use squall_types::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const DIRECTORY: &str = "SQUALL_CRASH_DIRECTORY";
/// Commits go by files if it is set.
const SPILLS: &str = "SQUALL_CRASH_SPILLS";
/// Texts lie out of their rows if it is set.
const LARGE: &str = "SQUALL_CRASH_LARGE";
const WRITERS: i64 = 4;
/// Rows that a writer keeps: transaction `n` inserts row `n` and deletes row `n - KEPT`.
const KEPT: i64 = 20;
const LOAD_ROWS: i64 = 50;

fn base_catalog() -> Catalog {
    let mut numbered = plain_def(4);
    numbered.columns[0].auto_increment = true;
    catalog_of(&[&plain_def(1), &plain_def(2), &plain_def(3), &numbered, &heap_def(5)])
}

fn table(store: &RowStore, name: &str) -> Arc<Table> {
    store.table(store.load_catalog().table("d", name).unwrap()).unwrap()
}

fn row_id(writer: i64, number: i64) -> i64 {
    writer * 1_000_000 + number
}

fn text(writer: i64, number: i64) -> String {
    format!("{writer}/{number} ").repeat(1 + (number % 10) as usize).chars().take(100).collect()
}

/// The process that is killed. Does nothing unless [`DIRECTORY`] is set, so it is a test that always passes.
#[test]
fn writers() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let spills = std::env::var_os(SPILLS).is_some();
    let mut options = if spills { spilling_options() } else { options() };
    if std::env::var_os(LARGE).is_some() {
        options.inline_value_bytes_max = large_value_options().inline_value_bytes_max;
    }
    let store = RowStore::open(directory, options).unwrap();
    if store.load_catalog().databases().is_empty() {
        store.commit_ddl(&base_catalog(), &DdlChanges::default()).unwrap();
    }
    acknowledge("ready", 0, 0);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let store = &store;
            scope.spawn(move || write(store, writer));
        }
        scope.spawn(|| load(&store));
        scope.spawn(|| define(&store));
    });
}

fn acknowledge(what: &str, who: i64, number: i64) {
    let mut out = std::io::stdout().lock();
    // The parent may be gone; then so are we.
    writeln!(out, "ack {what} {who} {number}").unwrap();
    out.flush().unwrap();
}

fn write(store: &RowStore, writer: i64) {
    let (rows, counters, numbered) = (table(store, "t1"), table(store, "t2"), table(store, "t4"));
    let mut txn = store.begin(IsolationLevel::RepeatableRead, true);
    let mut number = get(&mut txn, &counters, writer).map_or(0, |row| int(&row[1]));
    drop(txn);
    loop {
        number += 1;
        let durability = if writer % 2 == 0 { Durability::Full } else { Durability::Os };
        let options = TransactionOptions { durability, ..TransactionOptions::new(IsolationLevel::RepeatableRead) };
        let mut txn = store.begin_with(options, None);
        txn.begin_statement(LockWait::default());
        let id = row_id(writer, number);
        txn.insert(&rows, &row(id, number, &text(writer, number), Some(id))).unwrap();
        if number > KEPT {
            let old = lock(&mut txn, &rows, row_id(writer, number - KEPT));
            txn.delete(&rows, &old).unwrap();
        }
        match txn.get_locked(&counters, &key(&counters, writer), FOR_UPDATE).unwrap() {
            Some(old) => {
                txn.update(&counters, &old, &row(writer, number, "", None)).unwrap();
            }
            None => {
                txn.insert(&counters, &row(writer, number, "", None)).unwrap();
            }
        }
        let taken = store.next_auto_increment(&numbered, 1) as i64;
        txn.insert(&numbered, &row(taken, writer, "", None)).unwrap();
        txn.commit().unwrap();
        acknowledge("number", 0, taken);
        acknowledge("write", writer, number);
    }
}

/// Loads of [`LOAD_ROWS`] rows, each of which is there as a whole or not at all.
fn load(store: &RowStore) {
    let targets = [table(store, "t3"), table(store, "t5")];
    let mut txn = store.begin(IsolationLevel::RepeatableRead, true);
    let mut numbers = [0, 1].map(|at| ids(&mut txn, &targets[at]).len() as i64 / LOAD_ROWS);
    drop(txn);
    loop {
        for (who, (target, number)) in targets.iter().zip(&mut numbers).enumerate() {
            let mut bulk = store.bulk_load(target);
            for at in 0..LOAD_ROWS {
                bulk.push(row(*number * LOAD_ROWS + at, *number, "loaded", None)).unwrap();
            }
            // A load that is given up leaves nothing, before a crash and after one.
            if *number % 5 == 4 && who == 1 {
                let mut given_up = store.bulk_load(target);
                (0..LOAD_ROWS).for_each(|at| given_up.push(row(at, at, "given up", None)).unwrap());
            }
            bulk.finish(1, LockWait::default(), OnDuplicate::Fail).unwrap();
            *number += 1;
            acknowledge("load", who as i64, *number);
        }
    }
}

/// Tables come with a row in them, and go.
fn define(store: &RowStore) {
    loop {
        let mut catalog = store.load_catalog();
        let id = catalog.next_table_id;
        catalog.next_table_id += 1;
        let def = Arc::new(plain_def(id));
        let made = store.create_data(&def).unwrap();
        let options = TransactionOptions { durability: Durability::Os, ..TransactionOptions::autocommit() };
        let mut txn = store.begin_with(options, None);
        txn.insert(&made, &row(1, 1, "made", None)).unwrap();
        txn.commit().unwrap();
        drop(made);
        assert!(catalog.put_entry("d", TableEntry::Table(def.clone())));
        store.commit_ddl(&catalog, &DdlChanges::default()).unwrap();
        acknowledge("define", 0, i64::from(id));
        if id.is_multiple_of(3) {
            let made: Vec<String> = catalog.databases()["d"].tables.keys().cloned().collect();
            for name in made.iter().filter(|name| name.len() >= 3 && **name != def.name) {
                catalog.remove_entry("d", name);
            }
            store.commit_ddl(&catalog, &DdlChanges::default()).unwrap();
        }
    }
}

fn int(value: &Value) -> i64 {
    match value {
        Value::Int(number) => *number,
        _ => panic!("an integer"),
    }
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_is_there_by_half() {
    let rounds: u64 = std::env::var("SQUALL_CRASH_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(20);
    let directory = tempfile::tempdir().unwrap();
    let mut acknowledged: BTreeMap<(String, i64), i64> = BTreeMap::new();
    for round in 0..rounds {
        let mut command = Command::new(std::env::current_exe().unwrap());
        if round % 2 == 1 {
            command.env(SPILLS, "1");
        }
        if round % 4 < 2 {
            command.env(LARGE, "1");
        }
        let mut child = command
            .args(["--exact", "crash::writers", "--nocapture", "--test-threads=1"])
            .env(DIRECTORY, directory.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (first, started) = std::sync::mpsc::channel::<()>();
        let reader = std::thread::spawn(move || {
            let mut acknowledged = BTreeMap::new();
            let mut first = Some(first);
            // The last line may be cut off, and then it does not parse.
            for line in out.lines().map_while(Result::ok) {
                if line.contains("ack") {
                    // The parent hears of it by the sender's end.
                    first.take();
                }
                let parts: Vec<&str> = line.split(' ').collect();
                if let ["ack", what, who, number] = parts[..]
                    && let (Ok(who), Ok(number)) = (who.parse(), number.parse::<i64>())
                {
                    let newest = acknowledged.entry((what.to_string(), who)).or_insert(number);
                    *newest = number.max(*newest);
                }
            }
            acknowledged
        });
        // Every fourth round dies while it opens; the others some time after that.
        if round % 4 != 0 {
            let _: Result<(), _> = started.recv_timeout(Duration::from_secs(60));
        }
        std::thread::sleep(Duration::from_millis(round * 7919 % 300));
        child.kill().unwrap();
        child.wait().unwrap();
        for (at, number) in reader.join().unwrap() {
            let newest = acknowledged.entry(at).or_insert(number);
            *newest = number.max(*newest);
        }
        // Checking opens and closes the store; often the next writers recover what the last ones left.
        if round % 3 == 2 || round == rounds - 1 {
            check(directory.path(), &acknowledged, round);
        }
    }
    assert!(acknowledged.len() > 4, "the writers have written: {acknowledged:?}");
}

fn check(directory: &std::path::Path, acknowledged: &BTreeMap<(String, i64), i64>, round: u64) {
    let started = Instant::now();
    let store = RowStore::open(directory, options()).unwrap();
    let opened = started.elapsed();
    assert!(opened < Duration::from_secs(5), "round {round}: ready after {opened:?}");
    let catalog = store.load_catalog();
    if catalog.databases().is_empty() {
        assert!(acknowledged.is_empty());
        return;
    }
    let newest = |what: &str, who: i64| acknowledged.get(&(what.to_string(), who)).copied().unwrap_or(0);
    let mut txn = store.begin(IsolationLevel::RepeatableRead, true);
    let (rows, counters) = (table(&store, "t1"), table(&store, "t2"));
    let mut found: BTreeMap<i64, Vec<Value>> =
        all(&mut txn, &rows, 0, Direction::Forward).into_iter().map(|row| (int(&row[0]), row)).collect();
    for index in [1, 2] {
        let through_index = all(&mut txn, &rows, index, Direction::Forward);
        assert_eq!(through_index.len(), found.len());
        assert!(through_index.iter().all(|row| found.get(&int(&row[0])) == Some(row)));
    }
    for writer in 0..WRITERS {
        let counter = get(&mut txn, &counters, writer).map_or(0, |row| int(&row[1]));
        assert!(counter >= newest("write", writer), "round {round}: writer {writer} is at {counter}");
        for number in (counter - KEPT + 1).max(1)..=counter {
            let id = row_id(writer, number);
            assert_eq!(found.remove(&id), Some(row(id, number, &text(writer, number), Some(id))), "round {round}");
        }
    }
    assert!(found.is_empty(), "round {round}: half of a transaction: {found:?}");
    for name in ["t1", "t2", "t3", "t5"] {
        assert_eq!(store.check_indexes(&table(&store, name), |_| Ok(())).unwrap(), [], "round {round}: {name}");
    }
    for (who, name) in ["t3", "t5"].into_iter().enumerate() {
        let loaded = table(&store, name);
        let ids = ids(&mut txn, &loaded);
        assert_eq!(ids, (0..ids.len() as i64).collect::<Vec<_>>());
        assert_eq!(ids.len() as i64 % LOAD_ROWS, 0, "round {round}: half of a load");
        assert!(ids.len() as i64 / LOAD_ROWS >= newest("load", who as i64), "round {round}: a load is lost");
        assert_eq!(all(&mut txn, &loaded, 1, Direction::Forward).len(), ids.len());
    }
    let next = store.next_auto_increment(&table(&store, "t4"), 1) as i64;
    assert!(next > newest("number", 0), "round {round}: AUTO_INCREMENT went back to {next}");
    assert!(i64::from(catalog.next_table_id) > newest("define", 0), "round {round}: a definition is lost");
    for entry in catalog.databases()["d"].tables.values() {
        let TableEntry::Table(def) = entry else { continue };
        if def.id.0 >= 100 {
            let made = store.table(def).unwrap();
            assert_eq!(get(&mut txn, &made, 1), Some(row(1, 1, "made", None)), "round {round}: {}", def.name);
        }
    }
}
