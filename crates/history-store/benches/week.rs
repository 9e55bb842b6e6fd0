//! A week of a busy server: the cost of a snapshot, the size of the week, and the time of queries.
//!
//! `cargo bench -p squall-history-store -- [FOLDER]` leaves the week in a folder, where `squall serve` finds it as `history` of its data
//! directory; a week of `SQUALL_WEEK_SNAPSHOTS` snapshots (default 20160; a few in test runs).

use squall_history_store::{HistoryStore, TableContent};
use squall_types::{DateTime, Value};
use std::path::Path;
use std::time::Instant;

const SECOND: i64 = 1_000_000;
const WEEK_SNAPSHOTS: u64 = 7 * 24 * 120;

/// A table: name, columns, rows at a tick.
struct Table {
    name: &'static str,
    columns: Vec<String>,
    rows: fn(&[String], u64) -> Vec<Vec<Value>>,
}

fn table(name: &'static str, columns: &str, rows: fn(&[String], u64) -> Vec<Vec<Value>>) -> Table {
    Table { name, columns: columns.split_ascii_whitespace().map(str::to_string).collect(), rows }
}

fn text(text: String) -> Value {
    Value::String(text)
}

/// How often something was done until a tick: the busier the smaller its number is, and many things are done rarely.
fn count(number: u64, tick: u64) -> u64 {
    match number % 4 {
        0 => tick * 3000 / (number + 1),
        1 => tick / (number + 1),
        _ => number,
    }
}

fn digests(columns: &[String], tick: u64) -> Vec<Vec<Value>> {
    let seen = |tick: u64| {
        Value::DateTime(DateTime::from_unix_micros(start() + tick as i64 * 30 * SECOND).unwrap_or(DateTime::ZERO))
    };
    let cell = |number: u64, column: &str| match column {
        "SCHEMA_NAME" => text("shop".into()),
        "DIGEST" => text(format!("{number:032x}")),
        "DIGEST_TEXT" => {
            text(format!("SELECT `c{number}` , `name` FROM `table_{number}` WHERE `id` = ? AND `size` > ?"))
        }
        "QUERY_SAMPLE_TEXT" => text(format!("SELECT c{number}, name FROM table_{number} WHERE id = 4711 AND size > 5")),
        "FIRST_SEEN" | "QUERY_SAMPLE_SEEN" => seen(0),
        "LAST_SEEN" => seen(if number.is_multiple_of(4) { tick } else { 0 }),
        "SUM_TIMER_WAIT" => Value::UInt(count(number, tick) * 123_456_789),
        "AVG_TIMER_WAIT" => Value::UInt(123_456_789),
        "SUM_ROWS_SENT" | "SUM_ROWS_EXAMINED" | "COUNT_STAR" => Value::UInt(count(number, tick)),
        _ => Value::UInt(0),
    };
    (0..200).map(|number| columns.iter().map(|column| cell(number, column)).collect()).collect()
}

fn threads(columns: &[String], tick: u64) -> Vec<Vec<Value>> {
    let cell = |number: u64, column: &str| match column {
        "THREAD_ID" | "PROCESSLIST_ID" => Value::UInt(number + 1),
        "NAME" => text("thread/sql/one_connection".into()),
        "PROCESSLIST_USER" => text(format!("app{}", number % 5)),
        "PROCESSLIST_HOST" => text(format!("10.0.0.{}", number % 7)),
        "PROCESSLIST_TIME" => Value::Int((tick * 7 + number) as i64 % 60),
        _ => Value::Null,
    };
    (0..50).map(|number| columns.iter().map(|column| cell(number, column)).collect()).collect()
}

fn waits(columns: &[String], tick: u64) -> Vec<Vec<Value>> {
    let cell = |number: u64, column: &str| match column {
        "THREAD_ID" => Value::UInt(number / 20 + 1),
        "EVENT_NAME" => text(format!("wait/io/file/innodb/file_{}", number % 20)),
        "SUM_TIMER_WAIT" => Value::UInt(count(number % 20, tick) * 66_980),
        "COUNT_STAR" => Value::UInt(count(number % 20, tick)),
        _ => Value::UInt(66_980),
    };
    (0..1000).map(|number| columns.iter().map(|column| cell(number, column)).collect()).collect()
}

fn status(_: &[String], tick: u64) -> Vec<Vec<Value>> {
    let mut rows: Vec<Vec<Value>> = (0..420)
        .map(|number| vec![text(format!("Status_variable_{number}")), text(count(number, tick).to_string())])
        .collect();
    rows.push(vec![text("Questions".into()), text((tick * 30_000).to_string())]);
    rows
}

fn variables(_: &[String], _: u64) -> Vec<Vec<Value>> {
    (0..600).map(|number| vec![text(format!("variable_{number}")), text("a value of some length".into())]).collect()
}

fn tables() -> Vec<Table> {
    let sums = "COUNT_STAR SUM_TIMER_WAIT MIN_TIMER_WAIT AVG_TIMER_WAIT MAX_TIMER_WAIT SUM_LOCK_TIME SUM_ERRORS SUM_WARNINGS \
        SUM_ROWS_AFFECTED SUM_ROWS_SENT SUM_ROWS_EXAMINED SUM_CREATED_TMP_DISK_TABLES SUM_CREATED_TMP_TABLES SUM_SORT_ROWS \
        SUM_SORT_MERGE_PASSES SUM_NO_INDEX_USED SUM_NO_GOOD_INDEX_USED SUM_CPU_TIME MAX_CONTROLLED_MEMORY MAX_TOTAL_MEMORY";
    vec![
        table(
            "events_statements_summary_by_digest",
            &format!(
                "SCHEMA_NAME DIGEST DIGEST_TEXT {sums} FIRST_SEEN LAST_SEEN QUANTILE_95 QUERY_SAMPLE_TEXT QUERY_SAMPLE_SEEN"
            ),
            digests,
        ),
        table(
            "threads",
            "THREAD_ID NAME PROCESSLIST_ID PROCESSLIST_USER PROCESSLIST_HOST PROCESSLIST_TIME PROCESSLIST_INFO",
            threads,
        ),
        table(
            "events_waits_summary_by_thread_by_event_name",
            "THREAD_ID EVENT_NAME COUNT_STAR SUM_TIMER_WAIT MIN_TIMER_WAIT AVG_TIMER_WAIT MAX_TIMER_WAIT",
            waits,
        ),
        table("global_status", "VARIABLE_NAME VARIABLE_VALUE", status),
        table("global_variables", "VARIABLE_NAME VARIABLE_VALUE", variables),
    ]
}

/// The week ends now.
fn start() -> i64 {
    static START: std::sync::OnceLock<i64> = std::sync::OnceLock::new();
    *START.get_or_init(|| squall_types::clock::now_micros() - WEEK_SNAPSHOTS as i64 * 30 * SECOND)
}

fn main() {
    // Test runs call it with --test and without --bench.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let wanted = std::env::var("SQUALL_WEEK_SNAPSHOTS").ok().and_then(|count| count.parse().ok());
    let snapshots = wanted.unwrap_or(if is_bench { WEEK_SNAPSHOTS } else { 5 });
    let folder = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = folder.map_or_else(|| temporary.path().to_path_buf(), |folder| Path::new(&folder).to_path_buf());
    let store = HistoryStore::open(&folder).expect("a store");
    let tables = tables();
    let (mut made, mut appended) = (0.0, 0.0);
    for tick in 0..snapshots {
        let began = Instant::now();
        let contents: Vec<TableContent<'_>> = tables
            .iter()
            .map(|table| TableContent {
                name: table.name,
                columns: &table.columns,
                rows: (table.rows)(&table.columns, tick),
            })
            .collect();
        let between = Instant::now();
        store.append(start() + tick as i64 * 30 * SECOND, 1, &mut contents.into_iter()).expect("a snapshot");
        made += (between - began).as_secs_f64();
        appended += between.elapsed().as_secs_f64();
    }
    println!("{snapshots} snapshots of 2,271 rows: rows made in {made:.1} s, appended in {appended:.1} s");
    println!(
        "{:.2} ms a snapshot, synced; {} bytes a snapshot",
        appended * 1e3 / snapshots as f64,
        store.size_bytes() / snapshots
    );
    drop(store);
    let began = Instant::now();
    let store = HistoryStore::open(&folder).expect("the same store");
    let mut reader = store.reader(i64::MIN, i64::MAX, true);
    reader.next().expect("readable").expect("a snapshot");
    let rows = reader.table("events_statements_summary_by_digest", &["DIGEST_TEXT", "COUNT_STAR"]).expect("a table");
    println!("opened, and the last snapshot's {} digests: {:.2} ms", rows.rows, began.elapsed().as_secs_f64() * 1e3);
    for (name, columns) in [
        ("global_status", &["VARIABLE_NAME", "VARIABLE_VALUE"][..]),
        ("events_statements_summary_by_digest", &["DIGEST", "COUNT_STAR", "SUM_TIMER_WAIT"]),
        ("events_waits_summary_by_thread_by_event_name", &["THREAD_ID", "COUNT_STAR", "SUM_TIMER_WAIT"]),
        ("global_variables", &["VARIABLE_NAME", "VARIABLE_VALUE"]),
    ] {
        let began = Instant::now();
        let mut reader = store.reader(i64::MIN, i64::MAX, false);
        let mut rows = 0;
        while reader.next().expect("readable").is_some() {
            rows += reader.table(name, columns).expect("a table").rows;
        }
        println!("{name}: {rows} rows of the whole time in {:.0} ms", began.elapsed().as_secs_f64() * 1e3);
    }
}
