//! A small memory pool: operators that can spill do so and give correct answers, others give an error, and the server continues.

use super::{connect, run, start, value};
use squall_client::{Client, ClientError};
use squall_test_support::server::TestServer;

const ROWS: u64 = 200_000;

/// A server whose queries share 64 MB, with a table of some 100 MB.
pub(super) fn small_server() -> (TestServer, Client) {
    let server = start();
    let mut client = connect(&server);
    run(&mut client, "SET PERSIST query_memory_limit = 67108864");
    assert_eq!(value(&mut client, "SELECT @@global.query_memory_limit"), "67108864");
    run(&mut client, "CREATE DATABASE d; USE d; SET cte_max_recursion_depth = 1000000");
    run(
        &mut client,
        "CREATE TABLE big (id INT PRIMARY KEY, k INT NOT NULL, filler VARCHAR(600) NOT NULL); \
         CREATE TABLE n (i INT PRIMARY KEY)",
    );
    let numbers: Vec<String> = (0..1000).map(|number| format!("({number})")).collect();
    run(&mut client, &format!("INSERT INTO n VALUES {}", numbers.join(",")));
    run(
        &mut client,
        &format!(
            "INSERT INTO big SELECT id, (id * 7919) % {ROWS}, RPAD(id, 500, 'x') \
             FROM (SELECT a.i * 1000 + b.i AS id FROM n a, n b WHERE a.i < {}) ids",
            ROWS / 1000
        ),
    );
    (server, client)
}

#[test]
fn what_does_not_fit_spills_and_is_right() {
    let (mut server, mut client) = small_server();
    assert_eq!(value(&mut client, "SELECT COUNT(*) FROM big"), ROWS.to_string());

    // A sort of 100 MB: the rows come in order, all of them.
    client.query("SELECT k, filler FROM big ORDER BY k").expect("sent");
    client.next_result().expect("an answer").expect("rows");
    let mut expected = 0_u64;
    while let Some(row) = client.next_row().unwrap_or_else(|error| panic!("{error}")) {
        let key: u64 = String::from_utf8_lossy(row[0].as_deref().expect("a key")).parse().expect("a number");
        assert_eq!(key, expected);
        expected += 1;
    }
    assert_eq!(expected, ROWS);

    // The first rows of an order, as many as do not fit; and few rows, of which the heap would keep too many others.
    for (skipped, wanted) in [(0, 150_000), (100_000, 50_000), (0, ROWS - 1), (0, 3000), (5, 10)] {
        let sql = format!("SELECT k, filler FROM big ORDER BY k DESC LIMIT {skipped}, {wanted}");
        client.query(sql).expect("sent");
        client.next_result().expect("an answer").expect("rows");
        let mut expected = ROWS - skipped;
        while let Some(row) = client.next_row().unwrap_or_else(|error| panic!("LIMIT {skipped}, {wanted}: {error}")) {
            expected -= 1;
            assert_eq!(row[0].as_deref(), Some(expected.to_string().as_bytes()));
        }
        assert_eq!(expected, ROWS - skipped - wanted);
    }
    let within = "SELECT COUNT(*), SUM(LENGTH(filler)) FROM (SELECT filler FROM big ORDER BY k LIMIT 190000) f";
    assert_eq!(value(&mut client, within), "190000");

    // Groups that are as many as the rows.
    let groups = "SELECT COUNT(*), SUM(c), SUM(l) FROM \
                  (SELECT filler, COUNT(*) AS c, MAX(LENGTH(filler)) AS l FROM big GROUP BY filler) g";
    let results = client.run(groups).unwrap_or_else(|error| panic!("{error}"));
    let text = |at: usize| String::from_utf8_lossy(results[0].1[0][at].as_deref().expect("a value")).into_owned();
    assert_eq!([text(0), text(1), text(2)], [ROWS, ROWS, ROWS * 500].map(|number| number.to_string()));

    let distinct = "SELECT COUNT(*) FROM (SELECT DISTINCT filler, k FROM big) d";
    assert_eq!(value(&mut client, distinct), ROWS.to_string());

    let windows = "SELECT SUM(r = k + 1) FROM (SELECT k, ROW_NUMBER() OVER (ORDER BY k) AS r FROM big) w";
    assert_eq!(value(&mut client, windows), ROWS.to_string());
    assert!(server.is_running());
}

#[test]
fn a_join_larger_than_the_pool_spills() {
    let (mut server, mut client) = small_server();
    for sql in [
        "SELECT COUNT(*) FROM big a JOIN big b ON a.filler = b.filler JOIN big c ON b.filler = c.filler",
        "SELECT COUNT(*) FROM big a WHERE a.filler IN (SELECT filler FROM big)",
    ] {
        assert_eq!(value(&mut client, sql), ROWS.to_string(), "{sql}");
        assert!(server.is_running());
    }
    let not_in =
        "SELECT COUNT(*) FROM big a WHERE NOT EXISTS (SELECT 1 FROM big b WHERE b.filler = CONCAT(a.filler, 'y'))";
    assert_eq!(value(&mut client, not_in), ROWS.to_string());
    // The rows of one key.
    let one_key = "SELECT COUNT(*) FROM (SELECT id, filler, id >= 0 AS one FROM big) a \
                   JOIN (SELECT id, id >= 0 AS one FROM big WHERE id < 3) b ON a.one = b.one";
    assert_eq!(value(&mut client, one_key), (ROWS * 3).to_string());
}

#[test]
fn a_value_larger_than_the_pool_is_refused() {
    let (mut server, mut client) = small_server();
    run(&mut client, "SET group_concat_max_len = 4294967295");
    match client.run("SELECT LENGTH(GROUP_CONCAT(filler)) FROM big") {
        Ok(results) => {
            let length = results[0].1[0][0].as_deref().expect("a length");
            assert_eq!(String::from_utf8_lossy(length), (ROWS * 501 - 1).to_string());
        }
        Err(ClientError::Server(error)) => assert_eq!(error.code, 1041, "{error}"),
        Err(error) => panic!("{error}"),
    }
    assert!(server.is_running());
    assert_eq!(value(&mut client, "SELECT LENGTH(GROUP_CONCAT(filler)) FROM big WHERE id < 2"), "1001");
    // More memory for queries, while the server runs.
    run(&mut client, "SET GLOBAL query_memory_limit = DEFAULT");
    // As much as a packet may have.
    let length = value(&mut client, "SELECT @@max_allowed_packet");
    assert_eq!(value(&mut client, "SELECT LENGTH(GROUP_CONCAT(filler)) FROM big"), length);
}
