//! Compares the state of a server after a power cut with the acknowledged work.

use crate::work::{Acknowledged, SOURCE_ROWS, WRITERS};
use mysql::Conn;
use mysql::prelude::Queryable;
use squall_test_support::server::TestServer;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) fn check(server: &TestServer, acknowledged: &Acknowledged, moment: u64) {
    let mut conn = server.connect();
    check_transactions(&mut conn, acknowledged, moment);
    for table in ["rows_defined", "columns_defined"] {
        check_definition(&mut conn, table, acknowledged, moment);
    }
    check_made(&mut conn, acknowledged, moment);
    let jobs: BTreeSet<u64> = conn.query("SELECT q_id FROM async.q").expect("jobs").into_iter().collect();
    for (told, job) in &acknowledged.jobs {
        assert!(*told > moment || jobs.contains(job), "moment {moment}: job {job} of moment {told} is lost");
    }
    for table in ["hosts", "global_status", "threads"] {
        let stamps: Vec<String> = conn.query(format!("SELECT DISTINCT ts FROM ps_history.{table}")).expect("snapshots");
        for (told, stamp) in &acknowledged.snapshots {
            assert!(*told > moment || stamps.contains(stamp), "moment {moment}: {table} has lost {stamp} of {told}");
        }
    }
    let tables: Vec<String> =
        conn.query("SELECT table_name FROM information_schema.tables WHERE table_schema = 'p'").expect("tables");
    for table in tables {
        let checked: Vec<(String, String, String, String)> =
            conn.query(format!("CHECK TABLE p.{table}")).expect("a check");
        assert!(checked.iter().all(|(.., text)| text == "OK"), "moment {moment}: {checked:?}");
    }
}

/// Writer and number of a transaction, and rows of it.
type Counts = BTreeMap<(u64, u64), u64>;

fn counts(conn: &mut Conn, sql: &str) -> Counts {
    let rows: Vec<(u64, u64, u64)> = conn.query(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    rows.into_iter().map(|(writer, seq, count)| ((writer, seq), count)).collect()
}

fn check_transactions(conn: &mut Conn, acknowledged: &Acknowledged, moment: u64) {
    let journal = counts(conn, "SELECT writer, seq, n FROM p.journal");
    let ones: Counts = journal.keys().map(|key| (*key, 1)).collect();
    for (sql, expected) in [
        ("SELECT writer, seq, COUNT(*) FROM p.parts GROUP BY writer, seq", &journal),
        ("SELECT writer, seq, n FROM p.sealed", &journal),
        ("SELECT writer, seq, COUNT(*) FROM p.last GROUP BY writer, seq", &ones),
    ] {
        let found = counts(conn, sql);
        assert!(found == *expected, "moment {moment}: {sql}: {found:?}, the journal has {journal:?}");
    }
    for (told, key) in &acknowledged.transactions {
        assert!(*told > moment || journal.contains_key(key), "moment {moment}: {key:?} of moment {told} is lost");
    }
    for writer in 1..=WRITERS {
        let numbers: Vec<u64> = journal.keys().filter(|(of, _)| *of == writer).map(|(_, seq)| *seq).collect();
        assert!(numbers.iter().copied().eq(1..=numbers.len() as u64), "moment {moment}: writer {writer}: a gap");
    }
    let mixed = "SELECT COUNT(*) FROM p.parts WHERE pad <> REPEAT(LEFT(pad, 1), CHAR_LENGTH(pad))";
    let mixed: Option<u64> = conn.query_first(mixed).expect("parts");
    assert_eq!(mixed, Some(0), "moment {moment}: values of several versions");
    check_counter(conn, "parts", "(writer, seq) VALUES (0, 0)", moment);
}

/// The next AUTO_INCREMENT value is past every key.
fn check_counter(conn: &mut Conn, table: &str, values: &str, moment: u64) {
    let last: Option<Option<u64>> = conn.query_first(format!("SELECT MAX(id) FROM p.{table}")).expect("the last key");
    if let Err(error) = conn.query_drop(format!("INSERT INTO p.{table} {values}")) {
        panic!("moment {moment}: {table} behind {last:?}: {error}");
    }
    assert!(Some(conn.last_insert_id()) > last.flatten(), "moment {moment}: {table} behind {last:?}");
}

fn check_definition(conn: &mut Conn, table: &str, acknowledged: &Acknowledged, moment: u64) {
    let (length, default): (u64, String) = conn
        .query_first(format!(
            "SELECT character_maximum_length, column_default FROM information_schema.columns WHERE table_schema = 'p' AND table_name = '{table}' AND column_name = 'v'"
        ))
        .expect("the column")
        .unwrap_or_else(|| panic!("moment {moment}: {table} is gone"));
    let keys: Vec<String> = conn
        .query(format!(
            "SELECT index_name FROM information_schema.statistics WHERE table_schema = 'p' AND table_name = '{table}' AND column_name = 'v'"
        ))
        .expect("the keys");
    let number = length - 50;
    let found = format!("moment {moment}: {table} has VARCHAR({length}), default {default}, keys {keys:?}");
    assert!(default == format!("d{number}") && keys == [format!("k{number}")], "{found}");
    let told = acknowledged.definitions.iter().filter(|(told, (of, _))| *told <= moment && *of == table);
    let last = told.map(|(_, (_, number))| *number).max().unwrap_or(0);
    assert!(number >= last, "{found}: definition {last} was acknowledged");
    let by_key: Option<(u64, u64)> = conn
        .query_first(format!("SELECT COUNT(*), SUM(id) FROM p.{table} FORCE INDEX (k{number}) WHERE v LIKE 'v%'"))
        .expect("rows by the key");
    assert_eq!(by_key, Some((SOURCE_ROWS, SOURCE_ROWS * (SOURCE_ROWS + 1) / 2)), "{found}");
}

fn check_made(conn: &mut Conn, acknowledged: &Acknowledged, moment: u64) {
    let tables: Vec<String> = conn
        .query(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'p' AND table_name REGEXP '^m[0-9]'",
        )
        .expect("tables");
    let events: Vec<String> =
        conn.query("SELECT event_name FROM information_schema.events WHERE event_schema = 'p'").expect("events");
    for (name, told) in &acknowledged.made {
        let is_there = tables.contains(name) || events.contains(name);
        let dropped = acknowledged.dropped.get(name);
        if *told <= moment && dropped.is_none_or(|(asked, _)| *asked > moment) {
            assert!(is_there, "moment {moment}: {name} of moment {told} is lost");
        }
        if let Some((_, Some(done))) = dropped {
            assert!(*done > moment || !is_there, "moment {moment}: {name} is there, dropped at {done}");
        }
    }
    for table in tables {
        let rows: Option<(u64, u64)> =
            conn.query_first(format!("SELECT COUNT(*), SUM(v) FROM p.{table}")).expect("rows");
        assert_eq!(rows, Some((SOURCE_ROWS, SOURCE_ROWS * (SOURCE_ROWS + 1) / 2)), "moment {moment}: {table}");
        check_counter(conn, &table, "(v) VALUES (0)", moment);
    }
}
