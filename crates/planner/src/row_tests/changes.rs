//! INSERT, REPLACE, UPDATE, DELETE.

use super::{TestDatabase, generated, table, text, with_check, with_column, with_index};
use squall_catalog::ColumnDefault;
use squall_types::{SqlMode, SqlType, Value};

/// `t`: id AUTO_INCREMENT, name UNIQUE, n with a default.
fn people() -> TestDatabase {
    let def = table("t", &[("id", SqlType::INT, false), ("name", text(10), true), ("n", SqlType::INT, false)], 1);
    let def = with_column(def, "id", |column| column.auto_increment = true);
    let def = with_column(def, "n", |column| column.default = ColumnDefault::Literal(Value::Int(7)));
    TestDatabase::new(vec![with_index(def, "name", &["name"], true)])
}

#[test]
fn inserts_fill_in_what_is_not_given() {
    let mut db = people();
    let first = db.change("INSERT INTO t (name) VALUES ('ann')").expect("inserts");
    assert_eq!((first.affected_rows, first.generated_id, first.info.as_str()), (1, Some(1), ""));
    let more = db.ok("INSERT INTO t VALUES (10, 'bob', 1), (NULL, 'cy', DEFAULT), (0, 'dee', n + 1)");
    assert_eq!(more, (3, "Records: 3  Duplicates: 0  Warnings: 0".into()));
    assert_eq!(db.rows("SELECT * FROM t ORDER BY id"), ["1|ann|7", "10|bob|1", "11|cy|7", "12|dee|8"]);
    db.ok("INSERT INTO t SET name = 'eve', n = 3");
    db.ok("INSERT INTO t (name, n) SELECT n * 100 + id, n + 1 FROM t WHERE id < 11");
    assert_eq!(db.rows("SELECT name, n FROM t WHERE id > 12 ORDER BY id"), ["eve|3", "701|8", "110|2"]);
}

#[test]
fn bad_values_are_errors_or_warnings() {
    let mut db = people();
    assert!(db.fails("INSERT INTO t VALUES (1, 'a', NULL)").starts_with("1048 "));
    assert_eq!(
        db.fails("INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 'x')"),
        "1366 Incorrect integer value: 'x' for column 'n' at row 2"
    );
    assert!(db.fails("INSERT INTO t VALUES (1, 'much too long a name', 1)").starts_with("1406 "));
    assert!(db.fails("INSERT INTO t VALUES (1, 'a', 3000000000)").starts_with("1264 "));
    assert!(db.fails("INSERT INTO t VALUES (1, 'a')").starts_with("1136 "));
    assert!(db.fails("INSERT INTO t (id, id) VALUES (1, 1)").starts_with("1110 "));
    assert!(db.fails("INSERT INTO t (nope) VALUES (1)").starts_with("1054 "));
    assert!(db.rows("SELECT * FROM t").is_empty(), "a statement that fails leaves nothing behind");
    db.sql_mode = SqlMode::default();
    db.ok("INSERT INTO t VALUES (1, 'much too long a name', 3000000000), (2, 'b', NULL)");
    assert_eq!(db.rows("SELECT * FROM t ORDER BY id"), ["1|much too l|2147483647", "2|b|0"]);
    assert_eq!(db.warnings.len(), 3, "{:?}", db.warnings);
}

#[test]
fn duplicates_are_refused_ignored_replaced_or_updated() {
    let mut db = people();
    db.ok("INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2)");
    assert_eq!(
        db.fails("INSERT INTO t VALUES (3, 'c', 3), (1, 'd', 4)"),
        "1062 Duplicate entry '1' for key 't.PRIMARY'"
    );
    assert_eq!(db.fails("INSERT INTO t VALUES (3, 'A', 3)"), "1062 Duplicate entry 'A' for key 't.name'");
    let ignored = db.ok("INSERT IGNORE INTO t VALUES (1, 'x', 9), (4, 'd', 4)");
    assert_eq!(ignored, (1, "Records: 2  Duplicates: 1  Warnings: 1".into()));
    assert_eq!(db.ok("REPLACE INTO t VALUES (1, 'b', 5)").0, 3, "one row stands in for two");
    assert_eq!(db.rows("SELECT * FROM t ORDER BY id"), ["1|b|5", "4|d|4"]);
    let updated = db.ok("INSERT INTO t VALUES (9, 'b', 6), (5, 'e', 5) ON DUPLICATE KEY UPDATE n = n + VALUES(n)");
    assert_eq!(updated, (3, "Records: 2  Duplicates: 1  Warnings: 0".into()));
    let aliased = db.ok("INSERT INTO t VALUES (4, 'd', 40) AS new ON DUPLICATE KEY UPDATE n = new.n + 1");
    assert_eq!(aliased.0, 2);
    assert_eq!(db.ok("INSERT INTO t VALUES (4, 'd', 41) ON DUPLICATE KEY UPDATE n = 41").0, 0);
    assert_eq!(db.rows("SELECT * FROM t ORDER BY id"), ["1|b|11", "4|d|41", "5|e|5"]);
}

#[test]
fn updates_see_earlier_assignments_and_count_changes() {
    let mut db = people();
    db.ok("INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)");
    assert_eq!(
        db.ok("UPDATE t SET n = n + 1, name = n WHERE id >= 2"),
        (2, "Rows matched: 2  Changed: 2  Warnings: 0".into())
    );
    assert_eq!(db.rows("SELECT name, n FROM t ORDER BY id"), ["a|1", "3|3", "4|4"]);
    assert_eq!(db.ok("UPDATE t SET n = 3 WHERE n <= 3"), (1, "Rows matched: 2  Changed: 1  Warnings: 0".into()));
    db.options.found_rows = true;
    assert_eq!(db.ok("UPDATE t SET n = 3").0, 3);
    assert_eq!(db.ok("UPDATE t SET n = 9 ORDER BY id DESC LIMIT 1").0, 1);
    assert_eq!(db.ok("UPDATE t SET id = id + 10").0, 3, "no row is met twice");
    assert_eq!(db.rows("SELECT id, n FROM t ORDER BY id"), ["11|3", "12|3", "13|9"]);
    assert!(db.fails("UPDATE t SET id = 11 WHERE id = 12").starts_with("1062 "));
    assert!(db.fails("UPDATE t SET n = NULL").starts_with("1048 "));
    assert!(db.fails("UPDATE t SET m = 1").starts_with("1054 "));
}

#[test]
fn changes_by_query() {
    let mut db = TestDatabase::new(vec![
        table("a", &[("id", SqlType::INT, false), ("v", SqlType::INT, true)], 1),
        table("b", &[("id", SqlType::INT, false), ("w", SqlType::INT, true)], 0),
    ]);
    db.ok("INSERT INTO a VALUES (1, 1), (2, 2), (3, 3)");
    db.ok("INSERT INTO b VALUES (2, 20), (3, 30), (3, 31)");
    assert_eq!(db.ok("UPDATE a JOIN b ON a.id = b.id SET a.v = b.w WHERE b.w < 31").0, 2);
    assert_eq!(db.rows("SELECT * FROM a ORDER BY id"), ["1|1", "2|20", "3|30"]);
    assert_eq!(db.ok("UPDATE a SET v = (SELECT w FROM b WHERE w > 30) WHERE id = 1").0, 1);
    assert_eq!(db.ok("DELETE FROM a WHERE id IN (SELECT id FROM b WHERE w = 20)").0, 1);
    assert_eq!(db.rows("SELECT * FROM a ORDER BY id"), ["1|31", "3|30"]);
    assert_eq!(db.ok("DELETE a, b FROM a JOIN b ON a.id = b.id").0, 3, "a row that matches twice is deleted once");
    assert_eq!(db.rows("SELECT * FROM b"), ["2|20"]);
    assert_eq!(db.ok("DELETE FROM b").0, 1);
}

#[test]
fn generated_columns_checks_and_time_stamps() {
    let def = table(
        "g",
        &[
            ("id", SqlType::INT, false),
            ("double_id", SqlType::INT, true),
            ("seen", SqlType::Timestamp { fsp: 0 }, true),
            ("d", SqlType::INT, true),
        ],
        1,
    );
    let def = with_column(def, "double_id", |column| column.generated = generated("id * 2"));
    let def = with_column(def, "seen", |column| {
        column.default = ColumnDefault::Now;
        column.on_update_now = true;
    });
    let def = with_column(def, "d", |column| column.default = ColumnDefault::Expression("id + 100".into()));
    let mut db = TestDatabase::new(vec![with_check(def, "small", "double_id < 100")]);
    db.ok("INSERT INTO g (id) VALUES (4)");
    assert_eq!(db.rows("SELECT * FROM g"), ["4|8|2023-11-15 00:13:20|104"]);
    db.ok("UPDATE g SET seen = '2020-01-01 00:00:00', id = 5");
    assert_eq!(db.rows("SELECT * FROM g"), ["5|10|2020-01-01 00:00:00|104"]);
    assert_eq!(db.rows("SELECT id FROM g WHERE seen = '2020-01-01 00:00:00'"), ["5"]);
    db.ok("UPDATE g SET d = 1");
    assert_eq!(db.rows("SELECT seen, d FROM g"), ["2023-11-15 00:13:20|1"]);
    assert_eq!(db.fails("INSERT INTO g (id) VALUES (50)"), "3819 Check constraint 'small' is violated.");
    assert!(db.fails("INSERT INTO g (id, double_id) VALUES (1, 2)").starts_with("3105 "));
    assert!(db.fails("UPDATE g SET id = 60").starts_with("3819 "));
}

#[test]
fn returning_gives_rows_back() {
    let mut db = people();
    let inserted = db.change("INSERT INTO t (name) VALUES ('a'), ('b') RETURNING id, name").expect("inserts");
    assert_eq!(inserted.returned.len(), 2);
    assert_eq!(inserted.returned[1], vec![Value::Int(2), Value::from("b")]);
    let deleted = db.change("DELETE FROM t WHERE id = 1 RETURNING name").expect("deletes");
    assert_eq!(deleted.returned, vec![vec![Value::from("a")]]);
}
