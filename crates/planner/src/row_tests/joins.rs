//! Joins by look-up.

use super::{TestDatabase, table, text, with_index};
use squall_types::SqlType;

fn orders() -> TestDatabase {
    let customers = table("customers", &[("id", SqlType::INT, false), ("name", text(20), true)], 1);
    let orders =
        table("orders", &[("id", SqlType::INT, false), ("customer", SqlType::INT, true), ("who", text(20), true)], 1);
    let orders = with_index(with_index(orders, "customer", &["customer"], false), "who", &["who"], false);
    let mut db = TestDatabase::new(vec![customers, orders]);
    db.ok("INSERT INTO customers VALUES (1, 'ann'), (2, 'bob'), (3, 'cy')");
    for chunk in 0..4 {
        let rows: Vec<String> = (chunk * 1000..(chunk + 1) * 1000)
            .map(|id| {
                format!(
                    "({id}, {}, '{}')",
                    if id % 7 == 0 { "NULL".into() } else { (id % 500).to_string() },
                    ["Ann", "BOB", "x"][(id % 3) as usize]
                )
            })
            .collect();
        db.ok(&format!("INSERT INTO orders VALUES {}", rows.join(", ")));
    }
    db
}

#[test]
fn a_small_side_looks_up_in_a_big_one() {
    let db = orders();
    let plan = db.explain("SELECT * FROM customers c JOIN orders o ON o.customer = c.id");
    assert_eq!(plan, ["c:ALL::", "o:ref:customer:"]);
    let plan = db.explain("SELECT * FROM orders o JOIN orders p ON p.id = o.customer WHERE o.id = 8");
    assert_eq!(plan, ["o:const:PRIMARY:", "p:eq_ref:PRIMARY:"]);
}

#[test]
fn look_ups_join_as_hash_joins_do() {
    let db = orders();
    let same = |with: &str, without: &str| {
        let (mut with, mut without) = (db.rows(with), db.rows(without));
        with.sort();
        without.sort();
        assert_eq!(with, without);
        with.len()
    };
    let hint = "orders o USE INDEX ()";
    for (on, filter) in [
        ("o.customer = c.id", ""),
        ("o.customer = c.id AND o.id > 2000", ""),
        ("o.customer = c.id", "WHERE o.id % 2 = 0"),
        ("o.who = c.name", "WHERE c.id < 3 AND o.id < 100"),
        ("o.customer = c.id AND o.who < c.name", ""),
    ] {
        for join in ["JOIN", "LEFT JOIN"] {
            let rows = same(
                &format!("SELECT c.id, o.id FROM customers c {join} orders o ON {on} {filter}"),
                &format!("SELECT c.id, o.id FROM customers c {join} {hint} ON {on} {filter}"),
            );
            assert!(rows > 0, "{join} {on} {filter}");
        }
    }
    same(
        "SELECT c.id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id AND o.id < 2)",
        "SELECT c.id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o USE INDEX () WHERE o.customer = c.id AND o.id < 2)",
    );
    same(
        "SELECT c.id FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id AND o.id < 2)",
        "SELECT c.id FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o USE INDEX () WHERE o.customer = c.id AND o.id < 2)",
    );
}

/// The lines of a tree without costs and times.
fn lines(db: &TestDatabase, sql: &str) -> Vec<String> {
    db.tree(sql).lines().map(|line| line.split("  (").next().unwrap_or(line).to_string()).collect()
}

#[test]
fn trees_are_readable() {
    let db = orders();
    assert_eq!(
        lines(
            &db,
            "SELECT c.id FROM customers c JOIN orders o ON o.customer = c.id WHERE o.who > 'b' ORDER BY c.id LIMIT 3"
        ),
        [
            "-> Sort: id ASC, limit input to 3 row(s) per chunk",
            "    -> Nested loop inner join",
            "        -> Table scan on c",
            "        -> Filter: (who > b)",
            "            -> Index lookup on o using customer (customer=id)",
        ]
    );
    assert_eq!(
        lines(&db, "SELECT * FROM customers WHERE id < 3 AND name = 'ann'"),
        ["-> Filter: (id < 3 AND name = ann)", "    -> Table scan on customers"]
    );
}
