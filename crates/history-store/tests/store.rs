//! Snapshots come back as they were taken, also after kills and damage of files.

use squall_history_store::{Condition, HistoryStore, SLICE_MICROS_MAX, TableContent, TableRows};
use squall_types::Value;
use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

const SECOND: i64 = 1_000_000;
const START: i64 = 1_423_487_836 * SECOND;

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_string()).collect()
}

/// What two tables hold at a tick: counters of which one changes, and rows that come and go.
fn tables(tick: u64) -> (Vec<Vec<Value>>, Vec<Vec<Value>>) {
    let counter = |at: u64| vec![Value::String(format!("Counter_{at}")), Value::UInt(if at == 7 { tick } else { at })];
    let thread = |at: u64| vec![Value::UInt(at + tick / 100), Value::Null, Value::String("sql/one_connection".into())];
    ((0..200).map(counter).collect(), (0..tick % 5).map(thread).collect())
}

fn append(store: &HistoryStore, ts: i64, tick: u64) -> i64 {
    let (status, threads) = tables(tick);
    let (status_columns, thread_columns) = (names(&["NAME", "VALUE"]), names(&["ID", "HOST", "KIND"]));
    let contents = [
        TableContent { name: "status", columns: &status_columns, rows: status },
        TableContent { name: "threads", columns: &thread_columns, rows: threads },
    ];
    store.append(ts, 1, &mut contents.into_iter()).expect("the snapshot is taken")
}

/// Checks that the snapshots of a range are those of some ticks.
fn check(store: &HistoryStore, from: i64, to: i64, expected: &[(i64, u64)]) {
    let mut reader = store.reader(from, to, false);
    for (ts, tick) in expected {
        let moment = reader.next().expect("a slice").expect("another snapshot");
        assert_eq!(moment.ts_micros, *ts);
        let (status, threads) = tables(*tick);
        let read = reader.table("status", &["value", "NAME"]).expect("a table");
        assert_eq!(read.rows, status.len());
        for (row, values) in status.iter().enumerate() {
            assert_eq!((read.value(row, 1), read.value(row, 0)), (&values[0], &values[1]));
        }
        let read = reader.table("threads", &["ID", "HOST", "KIND", "OTHER"]).expect("a table");
        assert_eq!(read.rows, threads.len());
        for (row, values) in threads.iter().enumerate() {
            (0..3).for_each(|column| assert_eq!(read.value(row, column), &values[column]));
            assert_eq!(read.value(row, 3), &Value::Null);
        }
        assert_eq!(reader.table("none", &["A"]).expect("nothing").rows, 0);
    }
    assert_eq!(reader.next().expect("a slice"), None);
    let mut reader = store.reader(from, to, true);
    for (ts, tick) in expected.iter().rev() {
        assert_eq!(reader.next().expect("a slice").map(|moment| moment.ts_micros), Some(*ts));
        assert_eq!(reader.table("status", &["VALUE"]).expect("a table").value(7, 0), &Value::UInt(*tick));
    }
    assert_eq!(reader.next().expect("a slice"), None);
}

fn slices(directory: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(directory).expect("the directory");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "slice"));
    paths.sort();
    paths
}

/// Checks the rows that meet conditions, in snapshots of some ticks; gives how often the first of them was asked.
fn check_conditions(store: &HistoryStore, ticks: &[u64]) -> usize {
    let asked = Cell::new(0);
    let named = |rows: &Arc<TableRows>| {
        asked.set(asked.get() + 1);
        let is_no_counter = |at: &u32| *rows.value(*at as usize, 1) == Value::from("Nothing");
        (0..rows.rows as u32).filter(is_no_counter).collect()
    };
    let sixes = |rows: &Arc<TableRows>| {
        let is_six = |at: &u32| *rows.value(*at as usize, 0) == Value::UInt(6);
        (0..rows.rows as u32).filter(is_six).collect()
    };
    let odd = |rows: &Arc<TableRows>| {
        let is_odd = |at: &u32| matches!(rows.value(*at as usize, 0), Value::UInt(id) if id % 2 == 1);
        (0..rows.rows as u32).filter(is_odd).collect()
    };
    let mut reader = store.reader(i64::MIN, i64::MAX, false);
    let mut other = store.reader(i64::MIN, i64::MAX, false);
    for tick in ticks {
        for reader in [&mut reader, &mut other] {
            reader.next().expect("a slice").expect("another snapshot");
        }
        let (status, threads) = tables(*tick);
        let none = Condition { columns: &["NAME"], holding: &named };
        assert_eq!(reader.table_where("status", &["VALUE", "NAME"], none).expect("a table").rows, 0);
        assert_eq!(reader.table("status", &["NAME"]).expect("a table").rows, 200);
        let six = Condition { columns: &["VALUE"], holding: &sixes };
        let found = other.table_where("status", &["VALUE", "NAME"], six).expect("a table");
        let expected: Vec<&Value> = status.iter().filter(|row| row[1] == Value::UInt(6)).map(|row| &row[0]).collect();
        assert_eq!((0..found.rows).map(|row| found.value(row, 1)).collect::<Vec<_>>(), expected, "tick {tick}");
        let odd = Condition { columns: &["ID"], holding: &odd };
        let found = other.table_where("threads", &["ID", "KIND"], odd).expect("a table");
        let expected = threads.iter().filter(|row| matches!(row[0], Value::UInt(id) if id % 2 == 1));
        let found: Vec<_> = (0..found.rows).map(|row| (found.value(row, 0), found.value(row, 1))).collect();
        assert_eq!(found, expected.map(|row| (&row[0], &row[2])).collect::<Vec<_>>(), "tick {tick}");
    }
    asked.get()
}

#[test]
fn rows_are_found_by_conditions() {
    let directory = tempfile::tempdir().expect("a folder");
    let store = HistoryStore::open(directory.path()).expect("a store");
    let ticks: Vec<u64> = (0..300).collect();
    for tick in &ticks {
        append(&store, START + *tick as i64 * 30 * SECOND, *tick);
    }
    // Names are those of the first snapshot of each slice: nothing else is looked at.
    assert_eq!(check_conditions(&store, &ticks), store.slice_count());
    drop(store);
    let store = HistoryStore::open(directory.path()).expect("the same store");
    assert_eq!(check_conditions(&store, &ticks), store.slice_count());
}

/// Slices that were written before heads told which columns differ.
#[test]
fn slices_of_before_are_read() {
    let directory = tempfile::tempdir().expect("a folder");
    let name = format!("{START:020}.slice");
    std::fs::write(directory.path().join(name), include_bytes!("before.slice")).expect("a slice");
    let store = HistoryStore::open(directory.path()).expect("a store");
    let ticks: Vec<u64> = (0..20).collect();
    let expected: Vec<_> = ticks.iter().map(|tick| (START + *tick as i64 * 30 * SECOND, *tick)).collect();
    check(&store, i64::MIN, i64::MAX, &expected);
    check_conditions(&store, &ticks);
}

/// A day of the clock's, a snapshot every 30 seconds, six hours of which are kept.
#[test]
fn a_day_with_retention() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = HistoryStore::open(folder.path()).expect("a store");
    let kept = 6 * 3600 * SECOND;
    let mut all = Vec::new();
    for tick in 0..24 * 120u64 {
        let now = START + tick as i64 * 30 * SECOND;
        all.push((append(&store, now, tick), tick));
        store.retain_from(now - kept).expect("old slices go");
        assert!(store.slice_count() <= 8, "{} slices for six hours", store.slice_count());
        if tick % 777 == 776 {
            // The process ends, and another one goes on.
            store = HistoryStore::open(folder.path()).expect("the same store");
            store.retain_from(now - kept).expect("nothing");
        }
    }
    let (last, _) = all[all.len() - 1];
    let seen: Vec<_> = all.iter().copied().filter(|(ts, _)| *ts >= last - kept).collect();
    assert_eq!(seen.len(), 6 * 120 + 1);
    check(&store, i64::MIN, i64::MAX, &seen);
    check(&store, seen[9].0, seen[300].0, &seen[9..=300]);
    check(&store, last, last, &seen[seen.len() - 1..]);
    check(&store, last + 1, i64::MAX, &[]);
    // Counters of which one in two hundred changes cost little.
    let bytes = store.size_bytes() / seen.len() as u64;
    assert!(bytes < 300, "{bytes} bytes a snapshot");
    let first = slices(folder.path()).remove(0);
    let first: i64 = first.file_stem().and_then(|stem| stem.to_str()).expect("a name").parse().expect("a time");
    assert!(first > last - kept - SLICE_MICROS_MAX - 30 * SECOND);
}

#[test]
fn what_was_written_in_part_is_not_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = HistoryStore::open(folder.path()).expect("a store");
    let all: Vec<_> = (0..20).map(|tick| (append(&store, START + tick as i64 * SECOND, tick), tick)).collect();
    drop(store);
    let path = slices(folder.path()).remove(0);
    let whole = std::fs::read(&path).expect("the slice");
    let mut counts = Vec::new();
    for end in 0..=whole.len() {
        std::fs::write(&path, &whole[..end]).expect("a part of it");
        let store = HistoryStore::open(folder.path()).expect("a store");
        let mut reader = store.reader(i64::MIN, i64::MAX, false);
        let mut count = 0;
        while reader.next().expect("readable").is_some() {
            count += 1;
        }
        counts.push(count);
        if end % 97 == 0 || end == whole.len() {
            check(&store, i64::MIN, i64::MAX, &all[..count]);
            // It goes on behind what is there.
            let ts = append(&store, START, 3);
            assert_eq!(ts, if count == 0 { START } else { all[count - 1].0 + 10 });
            let more: Vec<_> = all[..count].iter().copied().chain([(ts, 3)]).collect();
            check(&store, i64::MIN, i64::MAX, &more);
            slices(folder.path()).iter().filter(|other| **other != path).for_each(|other| {
                std::fs::remove_file(other).expect("the other slice");
            });
        }
    }
    assert!(counts.is_sorted() && counts.last() == Some(&20));
}

#[test]
fn bytes_that_the_disk_never_got_are_not_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = HistoryStore::open(folder.path()).expect("a store");
    let all: Vec<_> = (0..5).map(|tick| (append(&store, START + tick as i64 * SECOND, tick), tick)).collect();
    drop(store);
    let path = slices(folder.path()).remove(0);
    let mut bytes = std::fs::read(&path).expect("the slice");
    let end = bytes.len();
    bytes[end - 3..].fill(0);
    std::fs::write(&path, &bytes).expect("a damaged end");
    let store = HistoryStore::open(folder.path()).expect("a store");
    check(&store, i64::MIN, i64::MAX, &all[..4]);
}

#[test]
fn times_go_forward_and_have_five_digits() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = HistoryStore::open(folder.path()).expect("a store");
    let first = append(&store, START + 683_399, 1);
    assert_eq!(first, START + 683_390);
    // A clock that was set back, and two snapshots at once.
    let second = append(&store, START - 7 * SECOND, 2);
    let third = append(&store, second, 3);
    assert_eq!((second, third), (first + 10, first + 20));
    check(&store, i64::MIN, i64::MAX, &[(first, 1), (second, 2), (third, 3)]);
}

#[test]
fn what_is_let_go_of_stays_away() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = HistoryStore::open(folder.path()).expect("a store");
    let all: Vec<_> = (0..10).map(|tick| (append(&store, START + tick as i64 * SECOND, tick), tick)).collect();
    let mut before = store.reader(i64::MIN, i64::MAX, false);
    store.discard_before(all[4].0).expect("it is remembered");
    check(&store, i64::MIN, i64::MAX, &all[4..]);
    // The readers go on reading.
    assert_eq!(before.next().expect("readable").map(|moment| moment.ts_micros), Some(all[0].0));
    drop(store);
    let store = HistoryStore::open(folder.path()).expect("the same store");
    check(&store, i64::MIN, i64::MAX, &all[4..]);
    store.retain_from(START + 3 * SLICE_MICROS_MAX).expect("everything is older");
    assert_eq!(store.slice_count(), 0);
    let later = append(&store, START + 3 * SLICE_MICROS_MAX, 4);
    check(&store, i64::MIN, i64::MAX, &[(later, 4)]);
    store.clear().expect("an empty store");
    assert_eq!((store.slice_count(), slices(folder.path()).len()), (0, 0));
    let again = append(&store, START + 3 * SLICE_MICROS_MAX, 5);
    check(&store, i64::MIN, i64::MAX, &[(again, 5)]);
}
