//! The row id in the answer to a change.

use super::start;
use mysql::prelude::Queryable as _;

#[test]
fn a_change_tells_the_id() {
    let server = start();
    let mut conn = server.connect();
    let mut run = |sql: &str| {
        conn.query_drop(sql).expect(sql);
        conn.last_insert_id()
    };
    run("CREATE DATABASE d");
    run("CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, k INT UNIQUE, a INT)");
    for (sql, expected) in [
        // The first of those that were generated.
        ("INSERT INTO d.t (k, a) VALUES (1, 1), (2, 2)", 1),
        // The last, where none was.
        ("INSERT INTO d.t VALUES (20, 3, 3), (10, 4, 4)", 10),
        ("INSERT INTO d.t VALUES (30, 5, 5), (NULL, 6, 6), (NULL, 7, 7)", 31),
        // Of rows some of which are there, the first new one; where there is none, the one that was changed.
        ("INSERT INTO d.t VALUES (1, 1, 1), (50, 8, 8), (NULL, 9, 9) ON DUPLICATE KEY UPDATE a = 0", 51),
        ("INSERT INTO d.t (k) VALUES (3) ON DUPLICATE KEY UPDATE a = 1", 20),
        ("INSERT IGNORE INTO d.t VALUES (1, 1, 1)", 0),
        // What the statement says is its id; not that of rows that it takes away.
        ("UPDATE d.t SET a = LAST_INSERT_ID(77) WHERE k = 1", 77),
        ("UPDATE d.t SET a = 3 WHERE k = 1", 0),
        ("UPDATE d.t JOIN (SELECT 1 AS k) q ON q.k = d.t.k SET a = LAST_INSERT_ID(78)", 78),
        ("INSERT INTO d.t (k) VALUES (3) ON DUPLICATE KEY UPDATE a = LAST_INSERT_ID(79)", 79),
        ("DELETE FROM d.t WHERE k = LAST_INSERT_ID(1)", 0),
        ("CREATE TABLE d.u (id INT PRIMARY KEY AUTO_INCREMENT, a INT) SELECT a FROM d.t", 1),
    ] {
        assert_eq!(run(sql), expected, "{sql}");
    }
}
