//! Bounded memory, KILL, and locking reads.

use super::{Resolver, TestDatabase, parse, plan_of, table, text};
use crate::bind::{TableRequest, TableResolver};
use datafusion::catalog::TableProvider;
use squall_catalog::TableDef;
use squall_executor::access::{RowTable, TableLock};
use squall_executor::env::{SharedTransaction, StatementEnv};
use squall_executor::runtime::{QueryRuntime, RuntimeOptions};
use squall_parser::ast;
use squall_row_store::{IsolationLevel, LockMode, LockRequest, LockWait};
use squall_test_support::privileges::authorized;
use squall_types::{SqlResult, SqlType, Value};
use std::sync::Arc;
use std::time::Duration;

fn long_rows(count: usize) -> TestDatabase {
    let mut db = TestDatabase::new(vec![table("t", &[("id", SqlType::INT, false), ("s", text(200), true)], 1)]);
    for chunk in 0..count / 1000 {
        let rows: Vec<String> =
            (chunk * 1000..(chunk + 1) * 1000).map(|id| format!("({id}, '{:0>180}')", id * 7919 % 100_003)).collect();
        db.ok(&format!("INSERT INTO t VALUES {}", rows.join(", ")));
    }
    db
}

fn with_memory(db: &mut TestDatabase, bytes: usize) {
    let runtime = QueryRuntime::open(&RuntimeOptions {
        memory_bytes_max: bytes,
        spill_directory: db._directory.path().join("spill2"),
        spill_bytes_max: 1 << 30,
        threads: 1,
        waiting_threads_max: 64,
    });
    db.runtime = Arc::new(runtime.expect("a runtime"));
}

#[test]
fn a_sort_that_does_not_fit_goes_to_disk() {
    let mut db = long_rows(30_000);
    with_memory(&mut db, 5 << 20);
    let rows = db.rows("SELECT s, id FROM t ORDER BY s, id");
    assert_eq!(rows.len(), 30_000);
    assert!(rows.is_sorted());
}

#[test]
fn a_join_that_does_not_fit_goes_to_disk() {
    let mut db = long_rows(5_000);
    with_memory(&mut db, 512 << 10);
    let rows = db.rows("SELECT a.id, b.id FROM t a JOIN t b ON a.s = b.s");
    assert_eq!(rows.len(), 5_000);
}

#[test]
fn what_fits_nowhere_is_an_error_and_the_next_statement_runs() {
    let mut db = long_rows(5_000);
    with_memory(&mut db, 16 << 10);
    let context = db.context();
    let resolver = Resolver(&db);
    let sql = "SELECT s FROM t ORDER BY s";
    let ast::Statement::Query(query) = parse(sql) else { panic!("a query") };
    let bound = authorized(db.binder(sql, &context, &resolver).bind_query(&query).expect("binds"));
    let mut stream = futures::executor::block_on(db.runtime.query(&db.env(&context), plan_of(&bound))).expect("plans");
    let error = loop {
        match stream.next_blocking() {
            Some(Ok(_)) => {}
            Some(Err(error)) => break error,
            None => panic!("16 KB were enough"),
        }
    };
    assert!([1037, 1038, 1041, 3170].contains(&error.code), "{error}");
    assert_eq!(db.rows("SELECT id FROM t WHERE id = 3"), ["3"]);
}

#[test]
fn kill_ends_a_query() {
    let db = long_rows(3_000);
    let context = db.context();
    let resolver = Resolver(&db);
    let sql = "SELECT a.id FROM t a, t b, t c WHERE a.id + b.id + c.id < 0";
    let ast::Statement::Query(query) = parse(sql) else { panic!("a query") };
    let bound = authorized(db.binder(sql, &context, &resolver).bind_query(&query).expect("binds"));
    let mut stream = futures::executor::block_on(db.runtime.query(&db.env(&context), plan_of(&bound))).expect("plans");
    let kill = context.kill.clone();
    let killer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        kill.kill_query();
    });
    let begun = std::time::Instant::now();
    let error = stream.next_blocking().expect("ends with an error").expect_err("was killed");
    assert_eq!(error.code, 1317);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    killer.join().expect("the killer ends");
}

/// Gives every table a lock.
struct Locking<'a>(&'a TestDatabase, LockWait);

impl TableResolver for Locking<'_> {
    fn base_table(&self, request: &TableRequest<'_>, def: &Arc<TableDef>) -> SqlResult<Arc<dyn TableProvider>> {
        let lock = TableLock { mode: LockMode::Exclusive, wait: self.1 };
        let table = RowTable::new(request.database, request.alias, def.clone(), self.0.store.clone())?;
        Ok(Arc::new(table.with_lock(Some(lock))))
    }

    fn system_variable(&self, variable: &ast::SystemVariable) -> SqlResult<(Value, SqlType)> {
        Resolver(self.0).system_variable(variable)
    }
}

fn locked_ids(db: &TestDatabase, sql: &str, wait: LockWait) -> SqlResult<usize> {
    let context = db.context();
    let resolver = Locking(db, wait);
    let ast::Statement::Query(query) = parse(sql) else { panic!("a query") };
    let plain = Resolver(db);
    let mut binder = db.binder(sql, &context, &plain);
    binder.tables = &resolver;
    let bound = authorized(binder.bind_query(&query)?);
    let mut transaction = db.store.begin(IsolationLevel::RepeatableRead, false);
    let view = transaction.read_view();
    let (shared, lent) = SharedTransaction::lend(transaction);
    let env = StatementEnv { view: Some(view), transaction: Some(shared), ..(*db.env(&context)).clone() };
    let mut stream = futures::executor::block_on(db.runtime.query(&Arc::new(env), plan_of(&bound)))?;
    let mut count = 0;
    let ended = loop {
        match stream.next_blocking() {
            Some(Ok(batch)) => count += batch.num_rows(),
            Some(Err(error)) => break Err(error),
            None => break Ok(count),
        }
    };
    drop(stream);
    // The locks last as long as the transaction.
    drop(futures::executor::block_on(lent.returned())?);
    ended
}

#[test]
fn locking_reads_lock_what_they_find() {
    let db = long_rows(1_000);
    let sql = "SELECT id FROM t WHERE id BETWEEN 10 AND 19 FOR UPDATE";
    assert_eq!(locked_ids(&db, sql, LockWait::Nowait).expect("no other session has locks"), 10);
    let def = db.catalog.table("test", "t").expect("a table");
    let table = db.store.table(def).expect("a table");
    let mut other = db.store.begin(IsolationLevel::RepeatableRead, false);
    let key = table.row_key(&[Value::Int(12)]).expect("a key");
    let request = LockRequest { mode: LockMode::Exclusive, wait: LockWait::Nowait };
    other.get_locked(&table, &key, request).expect("locks").expect("is there");
    assert_eq!(locked_ids(&db, sql, LockWait::Nowait).expect_err("one row is locked").code, 3572);
    assert_eq!(locked_ids(&db, sql, LockWait::SkipLocked).expect("skips"), 9);
    let short = LockWait::Timeout(Duration::from_millis(20));
    assert_eq!(locked_ids(&db, sql, short).expect_err("waits in vain").code, 1205);
}
