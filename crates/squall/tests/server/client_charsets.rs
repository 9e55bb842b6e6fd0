//! Clients that write in other character sets than UTF-8.

use super::{connect, run, start};
use squall_client::{Client, QueryResult};

/// Runs a text of any bytes; the values of all rows of all results, joined by `|`, behind the names of columns if there are any.
fn answer(client: &mut Client, sql: &[u8]) -> Vec<Vec<u8>> {
    client.query(sql).expect("a query");
    let mut lines = Vec::new();
    while let Some(result) = client.next_result().unwrap_or_else(|error| panic!("{}: {error}", sql.escape_ascii())) {
        if let QueryResult::Rows(_) = result {
            while let Some(row) = client.next_row().expect("a row") {
                lines.push(row.into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>().join(&b'|'));
            }
        }
    }
    lines
}

#[test]
fn statements_are_read_in_the_clients_character_set() {
    let server = start();
    let mut client = connect(&server);
    run(
        &mut client,
        "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(20), l VARCHAR(20) CHARACTER SET latin1, b BLOB)",
    );
    for (id, names, word) in [
        (1, "latin1", &b"M\xFCller"[..]),
        (2, "cp1251", b"\xCF\xF0\xE8"),
        (3, "gbk", b"\x95\x5C\xC4\xE3"),
        (4, "utf8mb4", "Mü".as_bytes()),
    ] {
        run(&mut client, &format!("SET NAMES {names}"));
        // A text of its own, and one whose normalized statement is known.
        for offset in [0, 10] {
            let values = [format!("INSERT INTO t (id, s) VALUES ({}, '", id + offset).as_bytes(), word, b"')"].concat();
            answer(&mut client, &values);
            let found =
                [b"SELECT s, HEX(CONVERT(s USING utf8mb4)), CHAR_LENGTH(s) FROM t WHERE s = '", word, b"'"].concat();
            let hex = if id == 1 {
                "4DC3BC6C6C6572|6"
            } else if id == 2 {
                "D09FD180D0B8|3"
            } else if id == 3 {
                "E6989EE4BDA0|2"
            } else {
                "4DC3BC|2"
            };
            let line = [word, b"|", hex.as_bytes()].concat();
            assert_eq!(answer(&mut client, &found), vec![line; if offset == 0 { 1 } else { 2 }], "{names}");
        }
    }
    run(&mut client, "SET NAMES latin1");
    // Names, in definitions and in what is shown.
    answer(&mut client, b"CREATE TABLE `t\xFC` (`\xE4` INT COMMENT '\xDF')");
    answer(&mut client, b"INSERT INTO `t\xFC` (`\xE4`) VALUES (7)");
    assert_eq!(answer(&mut client, b"SELECT `\xE4` FROM `t\xFC`"), [b"7"]);
    assert_eq!(answer(&mut client, b"SHOW TABLES LIKE 't_'"), [b"t\xFC"]);
    // Statements that are prepared, and texts in variables.
    answer(&mut client, b"SET @s = '\xE4'; PREPARE p FROM 'SELECT HEX(''\xE4''), @s, ?'; SET @t = '\xFC'");
    assert_eq!(answer(&mut client, b"EXECUTE p USING @t"), [b"E4|\xE4|\xFC"]);
    // Bytes are no text: as they are behind _binary, and those of the client's character set in a column of bytes.
    answer(&mut client, b"INSERT INTO t (id, l, b) VALUES (20, '\xE4\xFF', _binary'\xFF\x00\xD8\\'\xE4'), (21, _latin1'\xE4', '\xFF\xD8')");
    assert_eq!(
        answer(&mut client, b"SELECT HEX(l), HEX(b) FROM t WHERE id >= 20 ORDER BY id"),
        [&b"E4FF|FF00D827E4"[..], b"E4|FFD8"]
    );
    answer(&mut client, b"CREATE VIEW v AS SELECT _binary'\xFC\xFF' AS b, _latin1'\xFC' AS l");
    assert_eq!(answer(&mut client, b"SELECT HEX(b), l FROM v"), [b"FCFF|\xFC"]);
    // Results as they are stored.
    run(&mut client, "SET character_set_results = NULL");
    assert_eq!(
        answer(&mut client, b"SELECT s, l FROM t WHERE id IN (1, 20) ORDER BY id"),
        [&b"M\xC3\xBCller|"[..], b"|\xE4\xFF"]
    );
    run(&mut client, "SET NAMES latin1");
    // A long text.
    let long =
        [b"SELECT CHAR_LENGTH('", &b"\xE4".repeat(300_000)[..], b"'), '\xDF'; SET NAMES utf8mb4; SELECT 'ok'"].concat();
    assert_eq!(answer(&mut client, &long), [&b"300000|\xDF"[..], b"ok"]);
    run(&mut client, "SET NAMES latin1");
    // One packet, several statements, each in the character set that those before have left.
    let texts = b"SELECT '\xE4', _binary'\xE4'; SET NAMES utf8mb4; SELECT '\xC3\xA4', _binary'\xC3'; SET NAMES latin1; SELECT '\xE4'";
    assert_eq!(answer(&mut client, texts), [&b"\xE4|\xE4"[..], b"\xC3\xA4|\xC3", b"\xE4"]);
    // What cannot be written in the client's character set, and what is none of it.
    run(&mut client, "SET NAMES gbk");
    let mut refused =
        |sql: &[u8]| client.query(sql).and_then(|()| client.next_result()).expect_err("no such text").to_string();
    assert!(refused(b"INSERT INTO t (id, s) VALUES (30, '\xFF\xFF')").contains("Incorrect string value"));
}
