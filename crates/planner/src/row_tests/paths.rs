//! Access paths of tables: the chosen one is named, and all give the same rows.

use super::{TestDatabase, table, text, with_index};
use squall_row_store::{LockWait, OnDuplicate};
use squall_types::{SqlType, Value};

/// `t`: id, a (indexed), b, s (indexed); 2,000 rows with a = id / 10 and every hundredth s NULL.
fn numbers() -> TestDatabase {
    let def = table(
        "t",
        &[("id", SqlType::INT, false), ("a", SqlType::INT, true), ("b", SqlType::INT, true), ("s", text(20), true)],
        1,
    );
    let def = with_index(with_index(def, "ab", &["a", "b"], false), "s", &["s"], false);
    let mut db = TestDatabase::new(vec![def]);
    for chunk in 0..4 {
        let rows: Vec<String> = (chunk * 500..(chunk + 1) * 500)
            .map(|id| {
                let s = if id % 100 == 0 { "NULL".to_string() } else { format!("'Name{:04}'", id) };
                format!("({id}, {}, {}, {s})", id / 10, id % 10)
            })
            .collect();
        db.ok(&format!("INSERT INTO t VALUES {}", rows.join(", ")));
    }
    db
}

#[test]
fn paths_are_chosen_by_cost() {
    let db = numbers();
    let explain = |sql: &str| db.explain(sql).join(" / ");
    assert_eq!(explain("SELECT * FROM t"), "t:ALL::");
    assert_eq!(explain("SELECT * FROM t WHERE id = 5"), "t:const:PRIMARY:");
    assert_eq!(explain("SELECT * FROM t WHERE id BETWEEN 5 AND 9"), "t:range:PRIMARY:Using where");
    assert_eq!(explain("SELECT * FROM t WHERE id IN (3, 7, 11)"), "t:range:PRIMARY:Using where");
    assert_eq!(explain("SELECT * FROM t WHERE a = 7"), "t:ref:ab:");
    assert_eq!(explain("SELECT a, b FROM t WHERE a = 7 AND b > 3"), "t:range:ab:Using where; Using index");
    assert_eq!(explain("SELECT * FROM t WHERE s = 'name0007'"), "t:ref:s:");
    assert_eq!(explain("SELECT * FROM t WHERE s LIKE 'name000%'"), "t:range:s:Using index condition");
    assert_eq!(explain("SELECT * FROM t IGNORE INDEX (ab) WHERE a = 7"), "t:ALL::Using where");
    assert_eq!(explain("SELECT 1 FROM t"), "t:index:ab:Using index");
}

#[test]
fn every_path_gives_the_same_rows() {
    let db = numbers();
    for (condition, count) in [
        ("id = 5", 1),
        ("id = 5.5", 0),
        ("id = '5'", 1),
        ("id < 10", 10),
        ("id >= 1990.5", 9),
        ("id IN (1, 2, 2, 5000)", 3 - 1),
        ("id = 3 OR id = 4 OR a = 9", 12),
        ("a = 7", 10),
        ("a = 7 AND b IN (1, 3)", 2),
        ("a = 7 AND b > 3 AND b <= 6", 3),
        ("(a = 1 AND b = 1) OR (a = 2 AND b = 2)", 2),
        ("a IS NULL", 0),
        ("s IS NULL", 20),
        ("s <=> NULL", 20),
        ("s = 'NAME0007'", 1),
        ("s LIKE 'name000%'", 9),
        ("s LIKE 'name____' AND id < 50", 49),
        ("s > 'name1990'", 9),
        ("s BETWEEN 'name0001' AND 'name0003'", 3),
        ("a = NULL", 0),
        ("id < 10 AND id > 20", 0),
        ("id = 3 AND id = 4", 0),
    ] {
        let mut with = db.rows(&format!("SELECT id FROM t WHERE {condition}"));
        let mut without = db.rows(&format!("SELECT id FROM t USE INDEX () WHERE {condition}"));
        with.sort();
        without.sort();
        assert_eq!(with, without, "{condition}");
        assert_eq!(with.len(), count, "{condition}");
    }
}

#[test]
fn index_order_saves_sorting() {
    let db = numbers();
    assert_eq!(db.explain("SELECT * FROM t ORDER BY id DESC LIMIT 3"), ["t:ALL::Backward index scan"]);
    assert_eq!(db.rows("SELECT id FROM t ORDER BY id DESC LIMIT 3"), ["1999", "1998", "1997"]);
    assert_eq!(db.explain("SELECT a, b FROM t WHERE a = 7 ORDER BY b"), ["t:ref:ab:Using index"]);
    assert_eq!(db.rows("SELECT b FROM t WHERE a = 7 AND b < 3 ORDER BY b DESC"), ["2", "1", "0"]);
    assert_eq!(db.rows("SELECT s FROM t WHERE s LIKE 'name000%' ORDER BY s LIMIT 2"), ["Name0001", "Name0002"]);
}

#[test]
fn a_limit_makes_an_index_worth_its_order() {
    let db = numbers();
    assert_eq!(db.explain("SELECT * FROM t ORDER BY a, b LIMIT 3"), ["t:index:ab:"]);
    assert_eq!(db.rows("SELECT id FROM t ORDER BY a, b LIMIT 3"), ["0", "1", "2"]);
    assert_eq!(db.explain("SELECT * FROM t ORDER BY s DESC LIMIT 2"), ["t:index:s:Backward index scan"]);
    assert_eq!(db.rows("SELECT s FROM t ORDER BY s DESC LIMIT 2"), ["Name1999", "Name1998"]);
    assert_eq!(db.rows("SELECT s FROM t ORDER BY s LIMIT 1"), ["NULL"]);
    assert_eq!(db.explain("SELECT * FROM t ORDER BY a, id LIMIT 3"), ["t:ALL::Using filesort"]);
    assert_eq!(db.explain("SELECT * FROM t ORDER BY a"), ["t:ALL::Using filesort"]);
    let (with, without) = (
        db.rows("SELECT id FROM t WHERE b > 7 ORDER BY a DESC, b DESC LIMIT 4, 3"),
        db.rows("SELECT id FROM t USE INDEX () WHERE b > 7 ORDER BY a DESC, b DESC LIMIT 4, 3"),
    );
    assert_eq!(with, without);
}

#[test]
fn the_least_and_the_greatest_are_the_first_row_of_an_index() {
    let db = numbers();
    assert_eq!(db.rows("SELECT MIN(a) FROM t"), ["0"]);
    assert_eq!(db.rows("SELECT MAX(a) FROM t"), ["199"]);
    assert_eq!(db.rows("SELECT MIN(s) FROM t"), ["Name0001"]);
    assert_eq!(db.rows("SELECT MAX(id) FROM t"), ["1999"]);
    assert_eq!(db.rows("SELECT COUNT(*), MIN(b), MAX(b) FROM t WHERE a = 3"), ["10|0|9"]);
    let plan = db.tree("SELECT MAX(a) FROM t");
    assert!(plan.contains("rows=1)"), "{plan}");
}

#[test]
fn big_scans_are_split_among_threads() {
    let db = TestDatabase::new(vec![table("big", &[("id", SqlType::INT, false), ("n", SqlType::INT, false)], 1)]);
    let def = db.catalog.table("test", "big").expect("a table");
    let mut load = db.store.bulk_load(&db.store.table(def).expect("a table"));
    for id in 0..60_000 {
        load.push(vec![Value::Int(id * 3), Value::Int(id % 10)]).expect("takes the row");
    }
    load.finish(1, LockWait::default(), OnDuplicate::Fail).expect("loads");
    assert_eq!(db.rows("SELECT COUNT(*), SUM(id), MIN(n), MAX(n) FROM big"), ["60000|5399910000|0|9"]);
    let ids: Vec<i64> =
        db.rows("SELECT id FROM big ORDER BY id").iter().map(|id| id.parse().expect("a number")).collect();
    assert!(ids.len() == 60_000 && ids.is_sorted());
    assert_eq!(db.rows("SELECT id FROM big WHERE n = 3 ORDER BY id DESC LIMIT 2"), ["179979", "179949"]);
}
