//! Built-in procedures and functions that run statements, as a module declares them.

use bytes::Bytes;
use squall_catalog::TableCompression;
use squall_registry::{
    Argument, BoundCall, Coercibility, ExprType, Registry, ScalarFunction, ScalarKernel, Volatility,
};
use squall_row_store::{EngineTraits, TableEngine};
use squall_session::api::{Backend, Connection, ConnectionInfo, FrontEndContext, LocalFuture, OkInfo, Unanswered};
use squall_session::collector::Collector;
use squall_session::procedure::{Parameter, ParameterMode, ProcedureCall, ProcedureHead};
use squall_session::result::{ResultSet, number_column};
use squall_session::{Database, Failure, Module, OpenOptions, Procedure, Session};
use squall_statement_context::StatementContext;
use squall_types::{CollationId, SqlError, SqlResult, SqlType, Value};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

/// The module `demo`.
#[derive(Debug)]
struct Demo;

impl Module for Demo {
    fn name(&self) -> &str {
        "demo"
    }
    fn databases(&self) -> &[&str] {
        &["demo"]
    }
    fn declare(&self, registry: &mut Registry) {
        registry.register_scalar(Arc::new(RunFunction));
    }
    fn storage_engines(&self, _directory: &Path) -> Vec<Arc<dyn TableEngine>> {
        vec![Arc::new(Packed)]
    }
    fn procedures(&self) -> Vec<Arc<dyn Procedure>> {
        let parameters = vec![
            Parameter::text("sql_text"),
            Parameter::new("times", SqlType::INT).with_mode(ParameterMode::InOut),
            Parameter::text("note").with_mode(ParameterMode::Out),
        ];
        let (database, name, comment) = ("demo", "repeat", "Runs a text some times");
        vec![Arc::new(Repeat(ProcedureHead { database, name, parameters, comment }))]
    }
}

/// The engine `PACKED`: rows of the store, always packed.
struct Packed;

impl TableEngine for Packed {
    fn name(&self) -> &'static str {
        "PACKED"
    }
    fn comment(&self) -> &'static str {
        "Row tables, packed"
    }
    fn traits(&self) -> EngineTraits {
        EngineTraits { compression: TableCompression::Zstd, ..EngineTraits::ROWS }
    }
}

/// `demo.repeat(sql_text, times, note)`: sends the results of a text some times.
#[derive(Debug)]
struct Repeat(ProcedureHead);

impl Procedure for Repeat {
    fn head(&self) -> &ProcedureHead {
        &self.0
    }
    fn call<'a>(&'a self, call: &'a mut ProcedureCall<'_>) -> LocalFuture<'a, Result<OkInfo, Failure>> {
        Box::pin(async move {
            let Some(text) = call.text(0).map(str::to_owned) else {
                return Err(SqlError::signal(*b"45000", "There is nothing to run").into());
            };
            let times = call.number(1).unwrap_or(0);
            let mut ok = OkInfo::default();
            for _ in 0..times {
                ok = call.send(&text).await?;
            }
            let collected = call.query("SELECT @seen, DATABASE()").await?;
            let mut summary = ResultSet::new(vec![number_column("times")]);
            summary.rows.push(vec![Value::Int(times)]);
            call.send_rows(&summary).await?;
            call.set_user_variable("seen", Value::Int(times))?;
            call.set_argument(1, Value::Int(times + 1));
            call.set_argument(2, Value::String(format!("{:?}", collected[0].rows)));
            Ok(ok)
        })
    }
}

/// `run(text)`: the first value of what a text answers.
#[derive(Debug)]
struct RunFunction;

impl ScalarFunction for RunFunction {
    fn name(&self) -> &str {
        "RUN"
    }
    fn database(&self) -> Option<&str> {
        Some("demo")
    }
    fn arity(&self) -> (usize, usize) {
        (1, 1)
    }
    fn bind(&self, _arguments: &[Argument<'_>], _context: &StatementContext) -> SqlResult<BoundCall> {
        let sql_type = SqlType::varchar(100, CollationId::UTF8MB4_0900_AI_CI);
        let result = ExprType { sql_type, nullable: true, coercibility: Coercibility::Implicit };
        Ok(BoundCall { result, kernel: Arc::new(RunKernel) })
    }
    fn volatility(&self) -> Volatility {
        Volatility::Volatile
    }
}

#[derive(Debug)]
struct RunKernel;

impl ScalarKernel for RunKernel {
    fn eval(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        let (Some(nested), Some(Value::String(sql))) = (&context.nested, arguments.first()) else {
            return Ok(Value::Null);
        };
        let results = nested.run(sql, context)?;
        let value = results.last().and_then(|result| result.rows.first()).and_then(|row| row.first());
        Ok(match value {
            Some(Value::Int(number)) => Value::String(number.to_string()),
            other => other.cloned().unwrap_or_default(),
        })
    }
    fn waits(&self) -> bool {
        true
    }
}

/// Runs a text and prints what came back, a line per row.
async fn run(session: &mut dyn Connection, sql: &str) -> String {
    let mut collector = Collector::default();
    session
        .query(&Bytes::copy_from_slice(sql.as_bytes()), Unanswered::default(), &mut collector)
        .await
        .expect("a collector is never gone");
    match collector.into_results() {
        Err(error) => format!("{error}\n"),
        Ok(results) => results.iter().fold(String::new(), |mut text, result| {
            match result.columns.is_empty() {
                true => writeln!(text, "ok {}", result.affected_rows).expect("a string"),
                false => result.rows.iter().for_each(|row| writeln!(text, "{row:?}").expect("a string")),
            }
            text
        }),
    }
}

/// The stack of the thread that a session is on, the least of those of the server's.
const STACK_BYTES: usize = 8 << 20;

fn scenario(check: impl AsyncFnOnce(&Database, &mut Session) + Send) {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        let run = thread.spawn_scoped(scope, || run_scenario(check)).expect("a thread");
        run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

fn run_scenario(check: impl AsyncFnOnce(&Database, &mut Session)) {
    let folder = tempfile::tempdir().expect("a folder");
    run_with(folder.path(), vec![Arc::new(Demo)], check);
}

fn run_with(folder: &Path, modules: Vec<Arc<dyn Module>>, check: impl AsyncFnOnce(&Database, &mut Session)) {
    let options = OpenOptions { modules, ..OpenOptions::default() };
    let database = Database::open(folder, options).expect("a database");
    let mut session = database.connect().expect("a session");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(check(&database, &mut session));
}

#[test]
fn a_call_answers_with_its_result_sets_and_then_with_ok() {
    scenario(async |_, session| {
        assert_eq!(run(session, "CREATE TABLE demo.t (a INT); SET @n = 2, @seen = NULL").await, "ok 0\nok 0\n");
        let call = "CALL Demo.REPEAT('INSERT INTO demo.t VALUES (7); SELECT a FROM demo.t', @n, @note)";
        assert_eq!(run(session, call).await, "[Int(7)]\n[Int(7)]\n[Int(7)]\n[Int(2)]\nok 1\n");
        let variables = "SELECT @n, @note, @seen";
        assert_eq!(run(session, variables).await, "[Int(3), String(\"[[Null, Null]]\"), Int(2)]\n");
        assert_eq!(run(session, "USE demo; CALL `repeat`('DO 1', @n, @note)").await, "ok 0\n[Int(3)]\nok 0\n");
        assert_eq!(run(session, "SELECT @n").await, "[Int(4)]\n");
    });
}

#[test]
fn what_is_wrong_with_a_call_is_said_as_mysql_says_it() {
    scenario(async |_, session| {
        for (sql, error) in [
            ("CALL demo.nothing()", "1305 (42000): PROCEDURE demo.nothing does not exist"),
            ("CALL `repeat`()", "1046 (3D000): No database selected"),
            (
                "CALL demo.repeat('DO 1')",
                "1318 (42000): Incorrect number of arguments for PROCEDURE demo.repeat; expected 3, got 1",
            ),
            (
                "CALL demo.repeat('DO 1', 1, @a)",
                "1414 (42000): OUT or INOUT argument 2 for routine demo.repeat is not a variable or NEW \
                 pseudo-variable in BEFORE trigger",
            ),
            ("CALL demo.repeat(NULL, @a, @b)", "1644 (45000): There is nothing to run"),
            ("SET @a = 'x'", ""),
            (
                "CALL demo.repeat('DO 1', @a, @b)",
                "1366 (HY000): Incorrect integer value: 'x' for column 'times' at row 1",
            ),
            ("SET @a = 1", ""),
            ("CALL demo.repeat('SELECT * FROM demo.none', @a, @b)", "1146 (42S02): Table 'demo.none' doesn't exist"),
            ("CALL demo.repeat('CALL demo.repeat(', @a, @b)", "1064 (42000): "),
            ("CALL demo.repeat('', @a, @b)", "1065 (42000): Query was empty"),
            ("SET @a = 1, @s = 'CALL demo.repeat(@s, @a, @b)'", ""),
            (
                "CALL demo.repeat(@s, @a, @b)",
                "1456 (HY000): Recursive limit 128 (as set by the max_sp_recursion_depth variable) was exceeded for \
                 routine repeat",
            ),
            ("DROP DATABASE demo", "3552 (HY000): Access to system schema 'demo' is rejected."),
            ("SELECT demo.none(1)", "1305 (42000): FUNCTION demo.none does not exist"),
            ("SELECT other.run('SELECT 1')", "1305 (42000): FUNCTION other.run does not exist"),
        ] {
            let answer = run(session, sql).await;
            assert!(answer.contains(error), "{sql}: {answer}");
        }
    });
}

#[test]
fn execute_is_needed() {
    scenario(async |database, session| {
        run(session, "CREATE USER u; SET @a = 0").await;
        let account = FrontEndContext::account(database, "u", None).expect("an account");
        let info = ConnectionInfo { user: "u".into(), ..Default::default() };
        let mut user = Backend::connect(database, database.next_connection_id(), &account, info, Arc::new(|| {}))
            .expect("a session");
        let denied = "1370 (42000): execute command denied to user 'u'@'localhost' for routine 'demo.repeat'";
        assert!(run(&mut *user, "CALL demo.repeat('DO 1', @a, @b)").await.contains(denied));
        run(session, "GRANT EXECUTE ON PROCEDURE demo.repeat TO u").await;
        assert_eq!(run(&mut *user, "CALL demo.repeat('DO 1', @a, @b)").await, "[Int(0)]\nok 0\n");
        let listed = "SELECT COUNT(*) FROM information_schema.routines WHERE routine_schema = 'demo'";
        assert_eq!(run(&mut *user, listed).await, "[Int(1)]\n");
        run(session, "REVOKE EXECUTE ON PROCEDURE demo.repeat FROM u").await;
        assert_eq!(run(&mut *user, listed).await, "[Int(0)]\n");
    });
}

#[test]
fn functions_run_statements_in_transactions_of_their_own() {
    scenario(async |_, session| {
        run(session, "CREATE TABLE demo.t (a INT); USE demo; SET @x = 5, sql_mode = 'ANSI_QUOTES'").await;
        assert_eq!(
            run(session, "SELECT run('SELECT @x'), demo.run('SELECT DATABASE()')").await,
            "[String(\"5\"), String(\"demo\")]\n"
        );
        assert_eq!(run(session, "SELECT RUN('SELECT \"a\" + 1 FROM (SELECT 1 AS a) AS d')").await, "[String(\"2\")]\n");
        run(session, "BEGIN; INSERT INTO t VALUES (1)").await;
        assert_eq!(
            run(session, "SELECT run('INSERT INTO t VALUES (2); SET @x = 6; SELECT COUNT(*) FROM t')").await,
            "[String(\"1\")]\n"
        );
        assert_eq!(run(session, "ROLLBACK; SELECT * FROM t; SELECT @x").await, "ok 0\n[Int(2)]\n[Int(6)]\n");
        assert!(run(session, "SELECT run('SELECT * FROM none')").await.contains("1146"));
        run(session, "SET @s = 'SELECT run(@s)'").await;
        assert!(run(session, "SELECT run(@s)").await.contains("1424"));
        assert_eq!(run(session, "SELECT GROUP_CONCAT(run(CONCAT('SELECT ', a))) FROM t").await, "[String(\"2\")]\n");
    });
}

#[test]
fn a_module_brings_a_storage_engine() {
    let folder = tempfile::tempdir().expect("a folder");
    run_with(folder.path(), vec![Arc::new(Demo)], async |_, session| {
        assert_eq!(run(session, "CREATE TABLE demo.p (a INT PRIMARY KEY) ENGINE=Packed").await, "ok 0\n");
        assert_eq!(run(session, "INSERT INTO demo.p VALUES (1), (2)").await, "ok 2\n");
        let engine = "SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_NAME = 'p'";
        assert_eq!(run(session, engine).await, "[String(\"PACKED\")]\n");
        let comment = "SELECT COMMENT FROM information_schema.ENGINES WHERE ENGINE = 'PACKED'";
        assert_eq!(run(session, comment).await, "[String(\"Row tables, packed\")]\n");
    });
    run_with(folder.path(), Vec::new(), async |_, session| {
        let none = "ERROR 1286 (42000): Unknown storage engine 'PACKED'\n";
        assert_eq!(run(session, "SELECT SUM(a) FROM demo.p").await, none);
        assert_eq!(run(session, "CREATE TABLE demo.q (a INT) ENGINE=PACKED").await, none);
    });
    run_with(folder.path(), vec![Arc::new(Demo)], async |_, session| {
        assert_eq!(run(session, "SELECT COUNT(*) FROM demo.p").await, "[Int(2)]\n");
    });
}
