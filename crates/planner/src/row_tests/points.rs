//! Point plans.

use super::{TestDatabase, parse, table, text, with_index};
use crate::point::{PointSelect, PointSource, recognize};
use squall_parser::ast;
use squall_test_support::privileges::authorized;
use squall_types::temporal::TimeZone;
use squall_types::{Date, DateTime, Decimal, RowWriter, SqlType, Time, Value};

/// Rows as text.
#[derive(Default)]
struct Rows(Vec<String>);

impl Rows {
    fn put(&mut self, text: impl std::fmt::Display) {
        let row = self.0.last_mut().expect("a row was begun");
        if !row.is_empty() {
            row.push('|');
        }
        row.push_str(&text.to_string());
    }
}

impl RowWriter for Rows {
    fn begin_row(&mut self) {
        self.0.push(String::new());
    }
    fn put_null(&mut self) {
        self.put("NULL");
    }
    fn put_int(&mut self, value: i64) {
        self.put(value);
    }
    fn put_uint(&mut self, value: u64) {
        self.put(value);
    }
    fn put_double(&mut self, value: f64) {
        self.put(value);
    }
    fn put_decimal(&mut self, value: Decimal) {
        self.put(value.unscaled());
    }
    fn put_bytes(&mut self, value: &[u8]) {
        self.put(String::from_utf8_lossy(value));
    }
    fn put_date(&mut self, value: Date) {
        self.put(value.to_text());
    }
    fn put_datetime(&mut self, value: DateTime) {
        self.put(value.to_text(0));
    }
    fn put_time(&mut self, value: Time) {
        self.put(value.to_text(0));
    }
    fn end_row(&mut self) {}
}

fn database() -> TestDatabase {
    let mut db = TestDatabase::new(vec![
        table("t", &[("id", SqlType::INT, false), ("k", SqlType::INT, false), ("c", text(10), true)], 1),
        table("pair", &[("a", text(10), false), ("b", SqlType::INT, false)], 2),
        with_index(
            table("mail", &[("id", SqlType::INT, false), ("address", text(40), true)], 1),
            "m",
            &["address"],
            true,
        ),
    ]);
    db.ok("INSERT INTO mail VALUES (1, 'ann@example.org'), (2, NULL), (3, NULL)");
    db.ok("INSERT INTO t VALUES (1, 10, 'b'), (2, 20, 'A'), (3, 30, 'a'), (4, 40, NULL)");
    db.ok("INSERT INTO pair VALUES ('x', 1), ('X', 2)");
    db
}

fn plan(db: &TestDatabase, sql: &str) -> Option<PointSelect> {
    let ast::Statement::Query(query) = parse(sql) else { panic!("not a query") };
    let table_of = |name: &ast::ObjectName| {
        let def = db.catalog.table("test", &name.name)?;
        Some(("test".into(), def.clone()))
    };
    recognize(&query, sql.as_bytes(), &db.context(), &db.registry, &*db.store, &table_of).expect("no error")
}

fn run(db: &TestDatabase, sql: &str, parameters: &[Value]) -> Vec<String> {
    let plan = authorized(plan(db, sql).unwrap_or_else(|| panic!("no point plan: {sql}")));
    let lookup = plan.prepare(parameters).expect("no error").expect("usable parameters");
    let mut rows = Rows::default();
    let context = db.context();
    let read = PointSelect::read(plan.as_ref(), &lookup, PointSource::Committed(&*db.store))
        .expect("reads")
        .expect("few rows");
    plan.write(&read, lookup.limit, || context, &TimeZone::utc(), &mut rows).expect("writes");
    rows.0
}

#[test]
fn keys_and_short_ranges() {
    let db = database();
    assert_eq!(run(&db, "SELECT c, k FROM t WHERE id = 2", &[]), ["A|20"]);
    assert_eq!(run(&db, "SELECT * FROM t WHERE id = ?", &[Value::Int(4)]), ["4|40|NULL"]);
    assert_eq!(run(&db, "SELECT c FROM t AS u WHERE u.id = '1' LIMIT 1", &[]), ["b"]);
    assert!(run(&db, "SELECT c FROM t WHERE id = 99", &[]).is_empty());
    assert_eq!(run(&db, "SELECT b FROM pair WHERE b = 2 AND a = 'x'", &[]), ["2"]);
    assert_eq!(run(&db, "SELECT id FROM mail WHERE address = 'ANN@example.org'", &[]), ["1"]);
    assert!(run(&db, "SELECT id FROM mail WHERE address = ?", &[Value::Null]).is_empty());
    assert_eq!(run(&db, "SELECT id FROM t WHERE id BETWEEN ? AND ?", &[Value::Int(2), Value::Int(9)]), ["2", "3", "4"]);
    assert_eq!(run(&db, "SELECT c FROM t WHERE id BETWEEN 1 AND 3 ORDER BY c", &[]), ["A", "a", "b"]);
    assert_eq!(run(&db, "SELECT DISTINCT c FROM t WHERE id BETWEEN 1 AND 9 ORDER BY c", &[]), ["NULL", "A", "b"]);
    assert_eq!(run(&db, "SELECT SUM(k) FROM t WHERE id BETWEEN 1 AND 3", &[]), ["60"]);
    assert_eq!(run(&db, "SELECT k FROM t WHERE id = ? LIMIT ?", &[Value::Int(2), Value::Int(1)]), ["20"]);
    assert!(run(&db, "SELECT k FROM t WHERE id = ? LIMIT ?", &[Value::Int(2), Value::Int(0)]).is_empty());
}

#[test]
fn whatever_does_not_fit_is_left_to_the_binder() {
    let db = database();
    for sql in [
        "SELECT c FROM t",
        "SELECT c FROM t WHERE k = 1",
        "SELECT c FROM t WHERE id = 1 AND k = 1",
        "SELECT c FROM t WHERE id = k",
        "SELECT c + 1 FROM t WHERE id = 1",
        "SELECT c FROM t WHERE id = 1 LIMIT 1 OFFSET 1",
        "SELECT c FROM t WHERE id = 1 FOR UPDATE",
        "SELECT c FROM t, pair WHERE id = 1",
        "SELECT nope FROM t WHERE id = 1",
        "SELECT COUNT(DISTINCT c) FROM t WHERE id = 1",
        "SELECT a FROM pair WHERE b = 1",
        "SELECT c FROM t GROUP BY c",
    ] {
        assert!(plan(&db, sql).is_none(), "{sql}");
    }
}
