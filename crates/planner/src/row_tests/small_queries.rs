//! Tests which queries are small enough to run row by row, on an event loop that other connections wait for.

use super::{Resolver, TestDatabase, parse, table, text, with_index};
use crate::rowwise::{self, RowPlan};
use squall_catalog::IndexType;
use squall_parser::ast;
use squall_test_support::privileges::authorized;
use squall_types::SqlType;
use std::sync::Arc;

/// Texts of 3 KB, 1.5 MB of them: all have the words `common` and `x`, one in a hundred has `rare`.
fn texts() -> TestDatabase {
    let columns = [("id", SqlType::INT, false), ("doc", text(8000), true), ("name", text(20), true)];
    let mut with_words = with_index(table("t", &columns, 1), "doc", &["doc"], false);
    with_words.indexes[1].index_type = IndexType::FullText;
    let mut db = TestDatabase::new(vec![with_words, table("short", &columns, 1)]);
    for id in 0..500 {
        let rare = if id % 100 == 0 { "rare" } else { "" };
        db.ok(&format!("INSERT INTO t VALUES ({id}, 'common {rare} {}', 'n')", "filler of some length ".repeat(135)));
        db.ok(&format!("INSERT INTO short VALUES ({id}, 'common {rare}', 'n')"));
    }
    db
}

#[derive(Debug, PartialEq)]
enum Outcome {
    /// It is not tried.
    NotPlanned,
    /// It is tried, and left to the full planner.
    Left,
    Answered,
}

fn outcome(db: &TestDatabase, sql: &str) -> Outcome {
    let context = db.context();
    let resolver = Resolver(db);
    let ast::Statement::Query(query) = parse(sql) else { panic!("not a query: {sql}") };
    let table_of = |name: &ast::ObjectName| {
        let definition = db.catalog.table("test", name.name.as_str())?;
        Some((Arc::from("test"), definition.clone()))
    };
    let view = db.store.read_view();
    let plan = rowwise::plan(&query, &db.binder(sql, &context, &resolver), &*db.store, &table_of);
    match plan.map(|plan| RowPlan::run(authorized(plan).as_ref(), (&view, &*db.store), &[], &context).is_some()) {
        None => Outcome::NotPlanned,
        Some(false) => Outcome::Left,
        Some(true) => Outcome::Answered,
    }
}

#[test]
fn the_work_on_a_row_decides_how_many_bytes_are_few() {
    let db = texts();
    let of = |sql: &str| outcome(&db, sql);
    assert_eq!(of("SELECT id, doc FROM t"), Outcome::Answered);
    assert_eq!(of("SELECT id FROM t WHERE doc IN ('a', 'b')"), Outcome::Answered);
    assert_eq!(of("SELECT COUNT(*) FROM t WHERE doc LIKE '%rare%'"), Outcome::Left);
    assert_eq!(of("SELECT SUM(LENGTH(doc)) FROM t"), Outcome::Left);
    assert_eq!(of("SELECT id FROM t ORDER BY UPPER(doc)"), Outcome::Left);
    assert_eq!(of("SELECT COUNT(*) FROM short WHERE doc LIKE '%rare%'"), Outcome::Answered);
    assert_eq!(of("SELECT ABS(id), doc FROM t"), Outcome::Answered);
    assert_eq!(of("SELECT UPPER(name), doc FROM t WHERE name LIKE 'n%' ORDER BY UPPER(name)"), Outcome::Answered);
}

#[test]
fn a_match_of_long_texts_is_small_with_few_hits_alone() {
    let mut db = texts();
    assert_eq!(outcome(&db, "SELECT COUNT(*) FROM t WHERE MATCH(doc) AGAINST ('rare')"), Outcome::Answered);
    assert_eq!(outcome(&db, "SELECT COUNT(*) FROM t WHERE MATCH(doc) AGAINST ('common')"), Outcome::Left);
    let boolean = "SELECT id FROM t WHERE MATCH(doc) AGAINST ('common' IN BOOLEAN MODE) > 0 LIMIT 1";
    assert_eq!(outcome(&db, boolean), Outcome::Answered);
    // The most relevant row is among all of them.
    assert_eq!(outcome(&db, "SELECT id FROM t WHERE MATCH(doc) AGAINST ('common') LIMIT 1"), Outcome::Left);
    let more: Vec<String> = (500..1500).map(|id| format!("({id}, 'common', 'n')")).collect();
    db.ok(&format!("INSERT INTO t VALUES {}", more.join(", ")));
    // Entries of words are counted, so there is nothing to try.
    assert_eq!(outcome(&db, "SELECT COUNT(*) FROM t WHERE MATCH(doc) AGAINST ('common')"), Outcome::NotPlanned);
}
