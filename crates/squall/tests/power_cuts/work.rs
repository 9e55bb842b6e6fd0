//! The work of clients during a recording, and their answers.

use mysql::prelude::Queryable;
use mysql::{Conn, Error};
use squall_test_support::power_cuts::Recorder;
use squall_test_support::random::Random;
use squall_test_support::server::{self, TestServer};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Clients that commit transactions.
pub(crate) const WRITERS: u64 = 3;
/// Rows of the table that others are made of.
pub(crate) const SOURCE_ROWS: u64 = 1500;

/// What was acknowledged, by the moment before which it was.
#[derive(Debug, Default)]
pub(crate) struct Acknowledged {
    /// Transactions: writer, number.
    pub transactions: Vec<(u64, (u64, u64))>,
    /// Definitions of one table, by its name: which one it is.
    pub definitions: Vec<(u64, (&'static str, u64))>,
    /// Tables and events that were made, and that were dropped: since when the client had asked for it, and since when it was done.
    pub made: BTreeMap<String, u64>,
    pub dropped: BTreeMap<String, (u64, Option<u64>)>,
    /// Jobs, by number.
    pub jobs: Vec<(u64, u64)>,
    /// Times of snapshots.
    pub snapshots: Vec<(u64, String)>,
}

impl Acknowledged {
    /// A moment just behind something that was acknowledged.
    pub(crate) fn moment(&self, random: &mut Random) -> Option<u64> {
        let moments: Vec<u64> = self
            .transactions
            .iter()
            .map(|(moment, _)| *moment)
            .chain(self.definitions.iter().map(|(moment, _)| *moment))
            .chain(self.made.values().copied())
            .chain(self.jobs.iter().map(|(moment, _)| *moment))
            .chain(self.snapshots.iter().map(|(moment, _)| *moment))
            .collect();
        (!moments.is_empty()).then(|| moments[random.below(moments.len() as u64) as usize])
    }

    pub(crate) fn add(&mut self, other: Acknowledged) {
        self.transactions.extend(other.transactions);
        self.definitions.extend(other.definitions);
        self.made.extend(other.made);
        self.dropped.extend(other.dropped);
        self.jobs.extend(other.jobs);
        self.snapshots.extend(other.snapshots);
    }

    pub(crate) fn description(&self) -> String {
        format!(
            "{} transactions, {} definitions, {} tables and events made, {} dropped, {} jobs, {} snapshots",
            self.transactions.len(),
            self.definitions.len(),
            self.made.len(),
            self.dropped.len(),
            self.jobs.len(),
            self.snapshots.len()
        )
    }

    pub(crate) fn assert_not_nothing(&self) {
        let Acknowledged { transactions, definitions, made, dropped, jobs, snapshots } = self;
        let least = [transactions.len(), definitions.len(), made.len(), dropped.len(), jobs.len(), snapshots.len()];
        assert!(least.iter().all(|count| *count > 0), "the run means nothing: {}", self.description());
    }
}

pub(crate) fn set_up(server: &TestServer) {
    let mut conn = server.connect();
    for sql in [
        "CREATE DATABASE p",
        "CREATE TABLE p.journal (writer INT, seq BIGINT, n INT, PRIMARY KEY (writer, seq))",
        "CREATE TABLE p.parts (id BIGINT AUTO_INCREMENT PRIMARY KEY, writer INT, seq BIGINT, pad TEXT, KEY (writer, seq))",
        "CREATE TABLE p.sealed (writer INT, seq BIGINT, n INT, PRIMARY KEY (writer, seq)) ENGINE=COLUMN",
        "CREATE TABLE p.last (writer INT, seq BIGINT)",
        "CREATE TABLE p.source (v INT)",
        "SET SESSION cte_max_recursion_depth = 1000000",
    ] {
        conn.query_drop(sql).expect(sql);
    }
    let numbers =
        format!("WITH RECURSIVE n AS (SELECT 1 AS v UNION ALL SELECT v + 1 FROM n WHERE v < {SOURCE_ROWS}) SELECT v");
    conn.query_drop(format!("INSERT INTO p.source {numbers} FROM n")).expect("rows");
    for (table, engine) in [("rows_defined", ""), ("columns_defined", " ENGINE=COLUMN")] {
        let sql = format!(
            "CREATE TABLE p.{table} (id INT PRIMARY KEY, v VARCHAR(50) NOT NULL DEFAULT 'd0', KEY k0 (v)){engine}"
        );
        conn.query_drop(sql).expect("a table");
        conn.query_drop(format!("INSERT INTO p.{table} SELECT v, CONCAT('v', v) FROM p.source")).expect("rows");
    }
}

/// What a client does until the server is gone.
type Work = fn(&mut Conn, &Recorder, Random) -> (Acknowledged, Error);

/// Lets clients work for a while and ends the server; adds what they were told.
pub(crate) fn work_until_killed(
    server: &mut TestServer,
    recorder: &Arc<Recorder>,
    acknowledged: &mut Acknowledged,
    random: &mut Random,
    end: impl FnOnce(&mut TestServer, &mut Random),
) {
    let works: [Work; 8] =
        [write::<1>, write::<2>, write::<3>, define_rows, define_columns, make_tables, queue, collect];
    let port = server.port();
    let threads: Vec<JoinHandle<Acknowledged>> = works
        .into_iter()
        .map(|work| {
            let (recorder, random) = (recorder.clone(), Random::new(random.number()));
            std::thread::spawn(move || {
                let mut conn = server::connect("127.0.0.1", port, Duration::from_secs(20)).expect("a connection");
                let (acknowledged, error) = work(&mut conn, &recorder, random);
                // The server has been killed, or is shutting down.
                let is_gone = !matches!(&error, Error::MySqlError(error) if ![1053, 1317, 1927].contains(&error.code));
                assert!(is_gone, "{error}");
                acknowledged
            })
        })
        .collect();
    std::thread::sleep(Duration::from_millis(400 + random.below(800)));
    end(server, random);
    for thread in threads {
        acknowledged.add(thread.join().expect("a client's thread"));
    }
}

/// Does the same over and over until it fails.
fn repeat(mut step: impl FnMut(&mut Acknowledged) -> mysql::Result<()>) -> (Acknowledged, Error) {
    let mut acknowledged = Acknowledged::default();
    loop {
        if let Err(error) = step(&mut acknowledged) {
            return (acknowledged, error);
        }
    }
}

fn number(conn: &mut Conn, sql: &str) -> mysql::Result<u64> {
    Ok(conn.query_first::<Option<u64>, _>(sql)?.flatten().unwrap_or(0))
}

/// Transactions in several tables; some take several segments of the log, or are committed as files.
fn write<const WRITER: u64>(conn: &mut Conn, recorder: &Recorder, mut random: Random) -> (Acknowledged, Error) {
    assert!(WRITER <= WRITERS);
    let mut next = None;
    repeat(|acknowledged| {
        let seq = match next {
            Some(next) => next,
            None => number(conn, &format!("SELECT MAX(seq) FROM p.journal WHERE writer = {WRITER}"))? + 1,
        };
        let many = random.below(12) == 0;
        if many {
            let buffer = if random.below(2) == 0 { 16 << 10 } else { 64 << 20 };
            conn.query_drop(format!("SET GLOBAL transaction_buffer_size = {buffer}"))?;
            // Longer values lie out of their rows.
            let limit = if random.below(2) == 0 { 16 } else { 2048 };
            conn.query_drop(format!("SET GLOBAL blob_inline_limit = {limit}"))?;
        }
        let n = if many { SOURCE_ROWS } else { 1 + random.below(8) };
        let length = if many { 900 } else { random.below(300) };
        // By itself: it locks a range that others insert into.
        let (earlier, changed) = (seq - seq.min(1 + random.below(5)), random.below(3000));
        conn.query_drop(format!(
            "UPDATE p.parts SET pad = REPEAT('y', {changed}) WHERE writer = {WRITER} AND seq = {earlier} LIMIT 20"
        ))?;
        conn.query_drop("BEGIN")?;
        conn.query_drop(format!("INSERT INTO p.journal VALUES ({WRITER}, {seq}, {n})"))?;
        conn.query_drop(format!(
            "INSERT INTO p.parts (writer, seq, pad) SELECT {WRITER}, {seq}, REPEAT('x', {length}) FROM p.source LIMIT {n}"
        ))?;
        conn.query_drop(format!("INSERT INTO p.sealed VALUES ({WRITER}, {seq}, {n})"))?;
        conn.query_drop(format!("INSERT INTO p.last VALUES ({WRITER}, {seq})"))?;
        conn.query_drop("COMMIT")?;
        acknowledged.transactions.push((recorder.now(), (WRITER, seq)));
        next = Some(seq + 1);
        Ok(())
    })
}

fn define_rows(conn: &mut Conn, recorder: &Recorder, _: Random) -> (Acknowledged, Error) {
    define(conn, recorder, "rows_defined")
}

fn define_columns(conn: &mut Conn, recorder: &Recorder, _: Random) -> (Acknowledged, Error) {
    define(conn, recorder, "columns_defined")
}

/// The same table again and again: the number is in its column's type, its default and its key's name.
fn define(conn: &mut Conn, recorder: &Recorder, table: &'static str) -> (Acknowledged, Error) {
    repeat(|acknowledged| {
        let before: String = conn
            .query_first(format!(
                "SELECT index_name FROM information_schema.statistics WHERE table_schema = 'p' AND table_name = '{table}' AND column_name = 'v'"
            ))?
            .expect("a key");
        let number = before[1..].parse::<u64>().expect("its number") + 1;
        conn.query_drop(format!(
            "ALTER TABLE p.{table} MODIFY v VARCHAR({}) NOT NULL DEFAULT 'd{number}', DROP KEY {before}, ADD KEY k{number} (v)",
            50 + number
        ))?;
        acknowledged.definitions.push((recorder.now(), (table, number)));
        Ok(())
    })
}

/// Tables that are loaded as they are made, and events; old ones are dropped.
fn make_tables(conn: &mut Conn, recorder: &Recorder, mut random: Random) -> (Acknowledged, Error) {
    let mut kept = Vec::new();
    repeat(|acknowledged| {
        let name = format!("m{}", random.number());
        let (make, drop) = match random.below(3) {
            0 => (format!("CREATE EVENT p.{name} ON SCHEDULE EVERY 1 YEAR STARTS '2099-01-01' DO DO 1"), "DROP EVENT"),
            kind => {
                let engine = if kind == 1 { "" } else { " ENGINE=COLUMN" };
                let columns = "(id BIGINT AUTO_INCREMENT PRIMARY KEY, KEY (v))";
                (format!("CREATE TABLE p.{name} {columns}{engine} AS SELECT v FROM p.source"), "DROP TABLE")
            }
        };
        conn.query_drop(make)?;
        acknowledged.made.insert(name.clone(), recorder.now());
        kept.push((drop, name));
        if kept.len() > 3 {
            let (drop, name) = kept.remove(0);
            // Dropped from here on, perhaps.
            acknowledged.dropped.insert(name.clone(), (recorder.now(), None));
            conn.query_drop(format!("{drop} p.{name}"))?;
            let (asked, _) = acknowledged.dropped[&name];
            acknowledged.dropped.insert(name, (asked, Some(recorder.now())));
        }
        Ok(())
    })
}

fn queue(conn: &mut Conn, recorder: &Recorder, mut random: Random) -> (Acknowledged, Error) {
    repeat(|acknowledged| {
        std::thread::sleep(Duration::from_millis(random.below(30)));
        let number: Option<u64> = conn.query_first("CALL async.queue('DO 1')")?;
        acknowledged.jobs.push((recorder.now(), number.expect("a number")));
        Ok(())
    })
}

fn collect(conn: &mut Conn, recorder: &Recorder, mut random: Random) -> (Acknowledged, Error) {
    repeat(|acknowledged| {
        std::thread::sleep(Duration::from_millis(100 + random.below(200)));
        conn.query_drop("CALL ps_history.collect()")?;
        let last: Option<String> = conn.query_first("SELECT ts FROM ps_history.hosts ORDER BY ts DESC LIMIT 1")?;
        acknowledged.snapshots.push((recorder.now(), last.expect("a snapshot")));
        Ok(())
    })
}
