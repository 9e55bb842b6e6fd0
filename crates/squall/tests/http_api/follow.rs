//! Changes of tables as they happen: `?follow=1`.

use super::Served;
use super::client::{Web, read_head};
use mysql::prelude::Queryable;
use squall_test_support::wait_until;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpStream;
use std::time::Duration;

/// An event, as a browser has it.
#[derive(Debug, Default, PartialEq)]
struct Event {
    name: String,
    data: String,
}

/// A client that follows a table.
struct Events {
    reader: BufReader<TcpStream>,
    /// What has come of the body and is not read yet.
    text: String,
    /// The id that it would come back with.
    last_id: String,
}

impl Events {
    fn open(web: &Web, path: &str) -> Events {
        let mut reader = BufReader::new(web.connect());
        reader.get_ref().set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        web.send(reader.get_mut(), "GET", path, None);
        let (status, headers) = read_head(&mut reader).expect("a head");
        assert_eq!(status, 200, "{path}");
        let media_type = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        assert_eq!(media_type.map(|(_, value)| value.as_str()), Some("text/event-stream"));
        Events { reader, text: String::new(), last_id: String::new() }
    }

    /// The next event; `None` at the end.
    fn next(&mut self) -> Option<Event> {
        loop {
            while let Some(end) = self.text.find("\n\n") {
                let block: String = self.text.drain(..end + 2).collect();
                let mut event = Event::default();
                for line in block.lines() {
                    match line.split_once(": ") {
                        Some(("event", name)) => event.name = name.to_owned(),
                        Some(("data", data)) => event.data = data.to_owned(),
                        Some(("id", id)) => self.last_id = id.to_owned(),
                        _ => {}
                    }
                }
                if !event.data.is_empty() {
                    return Some(event);
                }
            }
            let mut size = String::new();
            self.reader.read_line(&mut size).expect("a chunk's size");
            let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
            if size == 0 {
                return None;
            }
            let mut chunk = vec![0; size + 2];
            self.reader.read_exact(&mut chunk).expect("a chunk");
            self.text.push_str(std::str::from_utf8(&chunk[..size]).expect("UTF-8"));
        }
    }

    /// The next event without the position in it.
    fn told(&mut self) -> String {
        let Event { name, data } = self.next().expect("an event");
        let data = match data.split_once(',') {
            Some((position, rest)) if position.starts_with("{\"position\":") => format!("{{{rest}"),
            _ => data,
        };
        format!("{name} {data}")
    }
}

const TABLE: &str = "CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(20), secret INT)";

#[test]
fn changes_come_in_the_order_of_commits() {
    let mut served = Served::start();
    served.run(TABLE);
    served.run("INSERT INTO d.t VALUES (1, 'one', 0)");
    let mut events = Events::open(&served.web(), "/1.0/db/d/t?follow=1&fields=id,v");
    assert_eq!(events.told(), "begin {}");
    served.run("INSERT INTO d.t VALUES (2, 'two', 0), (3, 'three', 0)");
    assert_eq!(events.told(), r#"insert {"key":{"id":2},"row":{"id":2,"v":"two"}}"#);
    assert_eq!(events.told(), r#"insert {"key":{"id":3},"row":{"id":3,"v":"three"}}"#);
    served.run("UPDATE d.t SET v = 'eins' WHERE id = 1");
    assert_eq!(events.told(), r#"update {"key":{"id":1},"row":{"id":1,"v":"eins"}}"#);
    // What is taken back is not told; a key that changes is a row that goes and one that comes.
    served.run("BEGIN");
    served.run("DELETE FROM d.t");
    served.run("ROLLBACK");
    served.run("UPDATE d.t SET id = 4 WHERE id = 2");
    let mut both = [events.told(), events.told()];
    both.sort();
    assert_eq!(both, [r#"delete {"key":{"id":2}}"#, r#"insert {"key":{"id":4},"row":{"id":4,"v":"two"}}"#]);
    served.run("REPLACE INTO d.t VALUES (4, 'vier', 1)");
    assert_eq!(events.told(), r#"update {"key":{"id":4},"row":{"id":4,"v":"vier"}}"#);
    served.run("DELETE FROM d.t WHERE id = 3");
    assert_eq!(events.told(), r#"delete {"key":{"id":3}}"#);
}

#[test]
fn a_client_that_comes_back_misses_nothing() {
    let mut served = Served::start();
    served.run(TABLE);
    let mut events = Events::open(&served.web(), "/1.0/db/d/t?follow=1");
    assert_eq!(events.told(), "begin {}");
    served.run("INSERT INTO d.t VALUES (1, 'one', 0)");
    assert!(events.told().starts_with("insert"));
    let last_id = events.last_id.clone();
    drop(events);
    served.run("INSERT INTO d.t VALUES (2, 'two', 0)");
    served.run("DELETE FROM d.t WHERE id = 1");
    let mut events = Events::open(&served.web().with("Last-Event-ID", &last_id), "/1.0/db/d/t?follow=1");
    assert_eq!(events.told(), "begin {}");
    assert_eq!(events.told(), r#"insert {"key":{"id":2},"row":{"id":2,"v":"two","secret":0}}"#);
    assert_eq!(events.told(), r#"delete {"key":{"id":1}}"#);
    // A position that no server of this life has given.
    let mut events = Events::open(&served.web(), "/1.0/db/d/t?follow=1&since=99999999999");
    assert!(events.told().starts_with("reset"));
    assert!(events.next().is_none());
}

#[test]
fn who_reads_and_follows_has_the_table() {
    let mut served = Served::start();
    served.run(TABLE);
    let writers: Vec<_> = (0..3)
        .map(|writer| {
            let mut conn = served.server.connect();
            std::thread::spawn(move || {
                for round in 0..120 {
                    let id = (writer * 7 + round * 5) % 31;
                    let sql = match (round + writer) % 4 {
                        0 => format!("DELETE FROM d.t WHERE id = {id}"),
                        1 => format!("UPDATE d.t SET v = 'u{round}' WHERE id >= {id}"),
                        _ => format!("REPLACE INTO d.t VALUES ({id}, 'r{round}', {writer})"),
                    };
                    // Deadlocks are part of it.
                    let _ = conn.query_drop(sql);
                }
            })
        })
        .collect();
    std::thread::sleep(Duration::from_millis(50));
    let mut events = Events::open(&served.web(), "/1.0/db/d/t?follow=1&fields=v");
    assert_eq!(events.told(), "begin {}");
    let mut rows: BTreeMap<i32, String> =
        served.root.query_map("SELECT id, v FROM d.t", |(id, v)| (id, v)).expect("rows").into_iter().collect();
    writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
    served.run("INSERT INTO d.t VALUES (1000, 'end', 0)");
    loop {
        let event = events.told();
        let (name, data) = event.split_once(' ').expect("a name");
        let key = data.trim_start_matches(r#"{"key":{"id":"#);
        let (key, rest) = key.split_once('}').expect("a key");
        let key: i32 = key.parse().expect("a number");
        if key == 1000 {
            break;
        }
        match name {
            "delete" => _ = rows.remove(&key),
            _ => {
                let value = rest.trim_start_matches(r#","row":{"v":""#).trim_end_matches("\"}}");
                rows.insert(key, value.to_owned());
            }
        }
    }
    served.run("DELETE FROM d.t WHERE id = 1000");
    let expected: Vec<(i32, String)> = served.root.query("SELECT id, v FROM d.t ORDER BY id").expect("rows");
    assert_eq!(rows.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn definitions_and_loads_end_it() {
    let mut served = Served::start();
    for (sql, last) in [
        ("TRUNCATE TABLE d.t", "reset"),
        ("ALTER TABLE d.t ADD COLUMN w INT", "reset"),
        ("DROP TABLE d.t", "reset"),
        ("RENAME TABLE d.t TO d.u", "reset"),
    ] {
        served.run("DROP TABLE IF EXISTS d.t");
        served.run(TABLE);
        let mut events = Events::open(&served.web(), "/1.0/db/d/t?follow=1");
        assert_eq!(events.told(), "begin {}");
        served.run(sql);
        let told = events.told();
        assert!(told.starts_with(last), "{sql}: {told}");
        assert!(events.next().is_none(), "{sql}");
    }
}

#[test]
fn partitions_and_column_tables_are_followed() {
    let mut served = Served::start();
    for options in
        ["PARTITION BY HASH (id) PARTITIONS 3", "ENGINE=COLUMN", "ENGINE=COLUMN PARTITION BY HASH (id) PARTITIONS 3"]
    {
        served.run("DROP TABLE IF EXISTS d.t");
        served.run(&format!("{TABLE} {options}"));
        served.run("INSERT INTO d.t VALUES (1, 'one', 0), (2, 'two', 0)");
        served.run("OPTIMIZE TABLE d.t");
        let mut events = Events::open(&served.web(), "/1.0/db/d/t?follow=1&fields=v");
        assert_eq!(events.told(), "begin {}", "{options}");
        served.run("UPDATE d.t SET v = 'eins' WHERE id = 1");
        assert_eq!(events.told(), r#"update {"key":{"id":1},"row":{"v":"eins"}}"#, "{options}");
        served.run("OPTIMIZE TABLE d.t");
        served.run("DELETE FROM d.t WHERE id = 2");
        assert_eq!(events.told(), r#"delete {"key":{"id":2}}"#, "{options}");
    }
}

#[test]
fn rights_are_asked_for_again() {
    let mut served = Served::start();
    served.run(TABLE);
    served.run("CREATE USER few IDENTIFIED BY 'pw'");
    served.run("GRANT JSON_API ON *.* TO few");
    let few = || Web::new(served.port).user("few", "pw");
    assert_eq!(few().get("/1.0/db/d/t?follow=1").status, 403);
    served.root.query_drop("GRANT SELECT (id, v) ON d.t TO few").expect("a grant");
    assert_eq!(few().get("/1.0/db/d/t?follow=1&fields=secret").status, 400);
    let mut events = Events::open(&few(), "/1.0/db/d/t?follow=1");
    assert_eq!(events.told(), "begin {}");
    served.root.query_drop("INSERT INTO d.t VALUES (1, 'one', 5)").expect("an insert");
    assert_eq!(events.told(), r#"insert {"key":{"id":1},"row":{"id":1,"v":"one"}}"#);
    for (revoke, grant) in [
        ("REVOKE SELECT (v) ON d.t FROM few", "GRANT SELECT (v) ON d.t TO few"),
        ("REVOKE JSON_API ON *.* FROM few", "GRANT JSON_API ON *.* TO few"),
    ] {
        served.root.query_drop(revoke).expect(revoke);
        served.root.query_drop("UPDATE d.t SET secret = secret + 1").expect("an update");
        assert!(events.told().starts_with("error"), "{revoke}");
        assert!(events.next().is_none(), "{revoke}");
        served.root.query_drop(grant).expect(grant);
        events = Events::open(&few(), "/1.0/db/d/t?follow=1");
        assert_eq!(events.told(), "begin {}");
    }
}

#[test]
fn what_cannot_be_followed_says_so() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.keyless (a INT)");
    served.run("CREATE VIEW d.v AS SELECT a FROM d.keyless");
    let web = served.web();
    for (path, status) in [
        ("/1.0/db/d/keyless?follow=1", 400),
        ("/1.0/db/d/v?follow=1", 400),
        ("/1.0/db/d/nothing?follow=1", 404),
        ("/1.0/db/d/keyless?follow=2", 400),
        ("/1.0/db/d/keyless?follow=1&limit=3", 400),
        ("/1.0/db/d/keyless?follow=1&since=x", 400),
    ] {
        assert_eq!(web.get(path).status, status, "{path}");
    }
}

#[test]
fn followers_are_killed_and_leave() {
    let mut served = Served::start();
    served.run(TABLE);
    let mut events = Events::open(&served.web(), "/1.0/db/d/t?follow=1");
    assert_eq!(events.told(), "begin {}");
    let followers = "SELECT id FROM information_schema.processlist WHERE user = 'web'";
    let id: u64 = served.root.query_first(followers).expect("a list").expect("a follower");
    served.run(&format!("KILL {id}"));
    let gone = |served: &mut Served| served.root.query_first::<u64, _>(followers).expect("a list").is_none();
    wait_until("the end of the session", || gone(&mut served));
    let events = Events::open(&served.web(), "/1.0/db/d/t?follow=1");
    drop(events);
    wait_until("the end of the session", || gone(&mut served));
}

#[test]
fn a_token_that_ends_ends_what_follows_by_it() {
    let mut served = Served::start();
    served.run(TABLE);
    let port = served.port;
    let by = |token: &str| Web::new(port).with("Authorization", &format!("Bearer {token}"));
    for options in ["", "SCHEMAS (d)", "READ ONLY SCHEMAS (d)"] {
        let (id, token) = served.token(&format!("CREATE API TOKEN FOR web {options}"));
        let mut events = Events::open(&by(&token), "/1.0/db/d/t?follow=1&fields=id");
        assert_eq!(events.told(), "begin {}", "{options}");
        served.run("REPLACE INTO d.t VALUES (1, 'one', 0)");
        assert!(events.told().ends_with(r#"{"key":{"id":1},"row":{"id":1}}"#), "{options}");
        served.run(&format!("DROP API TOKEN '{id}'"));
        served.run("REPLACE INTO d.t VALUES (1, 'eins', 0)");
        assert!(events.told().starts_with("error"), "{options}");
        assert!(events.next().is_none(), "{options}");
    }
    // Another password ends what the old one has begun.
    let mut events = Events::open(&served.web(), "/1.0/db/d/t?follow=1");
    assert_eq!(events.told(), "begin {}");
    served.run("ALTER USER web IDENTIFIED BY 'another'");
    served.run("REPLACE INTO d.t VALUES (1, 'uno', 0)");
    assert!(events.told().starts_with("error"));
}

#[test]
fn large_rows_come_whole_and_are_not_kept_for_who_does_not_read() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.large (id INT PRIMARY KEY, v LONGTEXT)");
    let mut events = Events::open(&served.web(), "/1.0/db/d/large?follow=1");
    assert_eq!(events.told(), "begin {}");
    served.run("INSERT INTO d.large VALUES (1, REPEAT('x', 3000000)), (2, REPEAT('y', 300000)), (3, 'short')");
    let lengths: Vec<usize> = (0..3).map(|_| events.told().len()).collect();
    assert!(lengths[0] > 3_000_000 && lengths[1] > 300_000 && lengths[2] < 100, "{lengths:?}");
    // Forty clients of three megabytes each, none of whom reads.
    let asleep: Vec<Events> = (0..40).map(|_| Events::open(&served.web(), "/1.0/db/d/large?follow=1")).collect();
    let reserved = "SELECT CURRENT_NUMBER_OF_BYTES_USED FROM performance_schema.memory_summary_global_by_event_name \
        WHERE EVENT_NAME = 'memory/squall/queries'";
    let before: u64 = served.root.query_first(reserved).expect("a summary").unwrap_or_default();
    served.run("UPDATE d.large SET v = CONCAT(v, 'z') WHERE id = 1");
    assert_eq!(events.told().len(), lengths[0] + 1);
    // What waits for them is in the account of queries' memory, and goes with them.
    drop(asleep);
    wait_until("the end of the sessions", || {
        let now: u64 = served.root.query_first(reserved).expect("a summary").unwrap_or_default();
        now <= before
    });
}
