//! Golden scripts: queries over tables in memory, bound, optimized and run.
//!
//! `queries/*.sql` hold blocks that blank lines separate: a statement, then `----` and its result. `UPDATE_EXPECT=1` rewrites the
//! files.

mod database;
mod script;

use database::TestDatabase;

#[test]
fn queries() {
    // Plans are as deep as statements are nested, and a test's own thread is small.
    let run = std::thread::Builder::new().stack_size(16 << 20).spawn(|| script::run_all("tests/planner/queries"));
    let failures = run.expect("a thread").join().expect("no panic");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn joins_of_61_tables_plan_in_time() {
    let run = std::thread::Builder::new().stack_size(16 << 20).spawn(|| {
        let mut database = TestDatabase::new();
        database.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)").expect("a table");
        database.run("INSERT INTO t VALUES (1, 10), (2, 20)").expect("rows");
        let mut sql = "SELECT t1.v FROM t t1".to_string();
        for number in 2..=61 {
            sql.push_str(&format!(" JOIN t t{number} ON t{number}.id = t{}.id", number - 1));
        }
        let started = std::time::Instant::now();
        let rows = database.run(&format!("{sql} WHERE t1.id = 2")).expect("an answer");
        assert_eq!(rows, "v\n20\n");
        assert!(started.elapsed().as_secs() < 20, "planning took {:?}", started.elapsed());
        sql.push_str(" JOIN t t62 ON t62.id = t61.id");
        let error = database.run(&sql).expect_err("too many tables");
        assert_eq!(error.code, 1116);
    });
    run.expect("a thread").join().expect("no panic");
}

#[test]
fn binding_deep_expressions_needs_no_deep_stack() {
    let run = std::thread::Builder::new().stack_size(2 << 20).spawn(|| {
        let mut database = TestDatabase::new();
        database.run("CREATE TABLE t (id INT PRIMARY KEY)").expect("a table");
        let sum = vec!["id"; 1400].join(" + ");
        database.bind(&format!("SELECT {sum} AS n FROM t WHERE {sum} > 3")).expect("a plan");
        let nested = format!("SELECT {}1{}", "(".repeat(1000), ")".repeat(1000));
        database.bind(&nested).expect("a plan");
        let queries = format!("{}SELECT 1{}", "SELECT * FROM (".repeat(1100), ") t".repeat(1100));
        assert_eq!(database.bind(&queries).expect_err("too deep").code, 1473);
    });
    run.expect("a thread").join().expect("no panic");
}

#[test]
fn deep_expressions_are_answered() {
    let run = std::thread::Builder::new().stack_size(16 << 20).spawn(|| {
        let mut database = TestDatabase::new();
        let sum = vec!["1"; 500].join(" + ");
        assert_eq!(database.run(&format!("SELECT {sum} AS n")).expect("an answer"), "n\n500\n");
        database.run("CREATE TABLE t (id INT PRIMARY KEY)").expect("a table");
        database.run("INSERT INTO t VALUES (1)").expect("rows");
        let any = (0..2000).map(|number| format!("id = {number}")).collect::<Vec<_>>().join(" OR ");
        assert_eq!(database.run(&format!("SELECT id FROM t WHERE {any}")).expect("an answer"), "id\n1\n");
        let sum = vec!["id"; 300].join(" + ");
        assert_eq!(database.run(&format!("SELECT {sum} AS n FROM t")).expect("an answer"), "n\n300\n");
    });
    run.expect("a thread").join().expect("no panic");
}
