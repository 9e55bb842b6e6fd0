//! The procedures of the schema `sys`.

use super::setup::{self, CONSUMERS, INSTRUMENTS};
use super::statements::{literal, quoted, texts};
use super::{DATABASE, analyzer, histogram, report, saved_setup, trace};
use squall_session::api::{LocalFuture, OkInfo};
use squall_session::procedure::{Parameter, ParameterMode, ProcedureHead};
use squall_session::result::ResultSet;
use squall_session::{Failure, Procedure, ProcedureCall};
use squall_types::{CollationId, SqlError, SqlType, Value};
use std::sync::Arc;

/// Characters of a name.
const NAME_CHARACTERS: u32 = 64;
/// Characters of a pattern of consumers or instruments.
const PATTERN_CHARACTERS: u32 = 128;

/// Which of the procedures.
#[derive(Clone, Copy, Debug)]
enum Task {
    TableExists,
    ExecutePrepared,
    CreateSynonymDatabase,
    TruncateAll,
    /// `setup_consumers` or `setup_instruments`; whether it is turned on.
    Setup(&'static str, bool),
    /// The same; whether those are shown that are on.
    Show(&'static str, bool),
    /// Whether the threads of connections are counted, or of the server's own work.
    SetupThread(bool),
    SetupBackgroundThreads(bool),
    /// All that is on, or off.
    ShowAll(bool),
    ResetSetup,
    SaveSetup,
    ReloadSetup,
    AnalyzeStatements,
    TraceDigest,
    TraceThread,
    Diagnostics,
    LatencyHistogram,
}

#[derive(Debug)]
struct SysProcedure {
    task: Task,
    head: ProcedureHead,
}

/// A procedure as it is declared: its work, name, parameters and comment.
type Declared = (Task, &'static str, Vec<Parameter>, &'static str);

fn text(name: &'static str, length: u32) -> Parameter {
    Parameter::new(name, SqlType::varchar(length, CollationId::UTF8MB4_0900_AI_CI))
}

/// All of them.
pub(super) fn all() -> Vec<Arc<dyn Procedure>> {
    let declared = [for_objects(), for_setup(), for_reports()];
    let procedure = |(task, name, parameters, comment)| {
        let head = ProcedureHead { database: DATABASE, name, parameters, comment };
        Arc::new(SysProcedure { task, head }) as Arc<dyn Procedure>
    };
    declared.into_iter().flatten().map(procedure).collect()
}

/// Procedures about tables and texts.
fn for_objects() -> Vec<Declared> {
    let name = |name| text(name, NAME_CHARACTERS);
    let exists = vec![name("in_db"), name("in_table"), name("out_exists").with_mode(ParameterMode::Out)];
    let synonym = vec![name("in_db_name"), name("in_synonym")];
    vec![
        (
            Task::TableExists,
            "table_exists",
            exists,
            "Tells what a name stands for: a table, a view, a temporary table, or nothing.",
        ),
        (Task::ExecutePrepared, "execute_prepared_stmt", vec![Parameter::text("in_query")], "Runs a text."),
        (
            Task::CreateSynonymDatabase,
            "create_synonym_db",
            synonym,
            "Makes a database of views of all tables of another.",
        ),
    ]
}

/// Procedures that show and change what performance_schema counts.
fn for_setup() -> Vec<Declared> {
    let pattern = |name| vec![text(name, PATTERN_CHARACTERS)];
    let connection = || vec![Parameter::new("in_connection_id", SqlType::BIGINT)];
    let what_else =
        || ["in_show_instruments", "in_show_threads"].map(|name| Parameter::new(name, SqlType::BOOL)).to_vec();
    let verbose = || vec![Parameter::new("in_verbose", SqlType::INT)];
    vec![
        (Task::TruncateAll, "ps_truncate_all_tables", verbose(), "Forgets what performance_schema has counted."),
        (Task::Setup(CONSUMERS, true), "ps_setup_enable_consumer", pattern("consumer"), "Turns consumers on."),
        (Task::Setup(CONSUMERS, false), "ps_setup_disable_consumer", pattern("consumer"), "Turns consumers off."),
        (Task::Setup(INSTRUMENTS, true), "ps_setup_enable_instrument", pattern("in_pattern"), "Turns instruments on."),
        (
            Task::Setup(INSTRUMENTS, false),
            "ps_setup_disable_instrument",
            pattern("in_pattern"),
            "Turns instruments off.",
        ),
        (Task::Show(CONSUMERS, true), "ps_setup_show_enabled_consumers", Vec::new(), "Shows consumers that are on."),
        (Task::Show(CONSUMERS, false), "ps_setup_show_disabled_consumers", Vec::new(), "Shows consumers that are off."),
        (
            Task::Show(INSTRUMENTS, true),
            "ps_setup_show_enabled_instruments",
            Vec::new(),
            "Shows instruments that are on.",
        ),
        (
            Task::Show(INSTRUMENTS, false),
            "ps_setup_show_disabled_instruments",
            Vec::new(),
            "Shows instruments that are off.",
        ),
        (Task::SetupThread(true), "ps_setup_enable_thread", connection(), "Counts what a connection does."),
        (Task::SetupThread(false), "ps_setup_disable_thread", connection(), "Does not count what a connection does."),
        (
            Task::SetupBackgroundThreads(true),
            "ps_setup_enable_background_threads",
            Vec::new(),
            "Counts what the server's own threads do.",
        ),
        (
            Task::SetupBackgroundThreads(false),
            "ps_setup_disable_background_threads",
            Vec::new(),
            "Would not count what the server's own threads do, which cannot be had.",
        ),
        (Task::ShowAll(true), "ps_setup_show_enabled", what_else(), "Shows all of performance_schema that is on."),
        (Task::ShowAll(false), "ps_setup_show_disabled", what_else(), "Shows all of performance_schema that is off."),
        (Task::ResetSetup, "ps_setup_reset_to_default", verbose(), "Turns on again what performance_schema counts."),
        (
            Task::SaveSetup,
            "ps_setup_save",
            vec![Parameter::new("in_timeout", SqlType::INT)],
            "Keeps what performance_schema counts, to be changed for a while.",
        ),
        (Task::ReloadSetup, "ps_setup_reload_saved", Vec::new(), "Makes it again what ps_setup_save() has kept."),
    ]
}

/// Procedures that watch statements, threads and the server.
fn for_reports() -> Vec<Declared> {
    vec![
        (
            Task::AnalyzeStatements,
            "statement_performance_analyzer",
            analyzer::parameters(),
            "Shows what statements have done, in all or since a snapshot.",
        ),
        (
            Task::TraceDigest,
            "ps_trace_statement_digest",
            trace::digest_parameters(),
            "Watches statements with a digest for a while.",
        ),
        (
            Task::TraceThread,
            "ps_trace_thread",
            trace::thread_parameters(),
            "Watches a thread for a while, and writes what it did as a graph.",
        ),
        (
            Task::Diagnostics,
            "diagnostics",
            report::parameters(),
            "Watches the server for a while, and shows its state and what has changed.",
        ),
        (
            Task::LatencyHistogram,
            "ps_statement_avg_latency_histogram",
            Vec::new(),
            "Draws how many statements are how fast.",
        ),
    ]
}

impl Procedure for SysProcedure {
    fn head(&self) -> &ProcedureHead {
        &self.head
    }

    fn call<'a>(&'a self, call: &'a mut ProcedureCall<'_>) -> LocalFuture<'a, Result<OkInfo, Failure>> {
        Box::pin(async move {
            match self.task {
                Task::TableExists => table_exists(call).await?,
                Task::ExecutePrepared => return execute_prepared(call).await,
                Task::CreateSynonymDatabase => create_synonym_database(call).await?,
                Task::TruncateAll => truncate_all(call).await?,
                Task::Setup(table, enabled) => setup::turn(call, table, enabled).await?,
                Task::Show(table, enabled) => return setup::show(call, table, enabled).await,
                Task::SetupThread(enabled) => setup::turn_thread(call, enabled).await?,
                Task::SetupBackgroundThreads(enabled) => setup::turn_background_threads(call, enabled).await?,
                Task::ShowAll(enabled) => return setup::show_all(call, enabled).await,
                Task::ResetSetup => setup::reset(call).await?,
                Task::SaveSetup => {
                    let seconds = call.number(0).unwrap_or(0);
                    saved_setup::save(call, seconds).await?;
                }
                Task::ReloadSetup => saved_setup::reload(call).await?,
                Task::AnalyzeStatements => analyzer::analyze(call).await?,
                Task::TraceDigest => trace::digest(call).await?,
                Task::TraceThread => trace::thread(call).await?,
                Task::Diagnostics => report::diagnostics(call).await?,
                Task::LatencyHistogram => histogram::show(call).await?,
            }
            Ok(OkInfo::default())
        })
    }
}

async fn table_exists(call: &mut ProcedureCall<'_>) -> Result<(), Failure> {
    let (database, table) =
        (call.text(0).unwrap_or_default().to_string(), call.text(1).unwrap_or_default().to_string());
    let name = format!("{}.{}", quoted(&database), quoted(&table));
    let sql = format!(
        "SELECT TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
        literal(&database),
        literal(&table)
    );
    let kind = texts(call, &sql).await?.into_iter().flatten().next().unwrap_or_default();
    // A TEMPORARY table hides any other; only SHOW CREATE TABLE tells of it.
    let shown = texts(call, &format!("SHOW CREATE TABLE {name}")).await;
    let is_temporary = shown.is_ok_and(|rows| {
        rows.iter().any(|row| row.get(1).is_some_and(|text| text.starts_with("CREATE TEMPORARY TABLE")))
    });
    call.set_argument(2, Value::from(if is_temporary { "TEMPORARY" } else { &*kind }));
    Ok(())
}

async fn execute_prepared(call: &mut ProcedureCall<'_>) -> Result<OkInfo, Failure> {
    /// The shortest statement there is.
    const SHORTEST: usize = 4;
    let Some(query) = call.text(0).filter(|query| query.chars().count() >= SHORTEST).map(str::to_string) else {
        let message = "The @sys.execute_prepared_stmt.sql must contain a query";
        return Err(SqlError::signal(*b"45000", message).into());
    };
    let debug = matches!(call.user_variable("sys.debug"), Some(Value::String(text)) if text.eq_ignore_ascii_case("on"));
    if debug {
        let mut shown = ResultSet::of_texts(&["Debug"]);
        shown.rows.push(vec![Value::String(query.clone())]);
        call.send_rows(&shown).await?;
    }
    let before = call.user_variable("sys.execute_prepared_stmt.sql");
    call.set_user_variable("sys.execute_prepared_stmt.sql", Value::String(query))?;
    call.query("PREPARE `__sys.execute_prepared_stmt` FROM @`sys.execute_prepared_stmt.sql`").await?;
    let done = call.send("EXECUTE `__sys.execute_prepared_stmt`").await;
    let dropped = call.query("DEALLOCATE PREPARE `__sys.execute_prepared_stmt`").await;
    call.set_user_variable("sys.execute_prepared_stmt.sql", before.unwrap_or_default())?;
    let done = done?;
    dropped?;
    Ok(done)
}

async fn create_synonym_database(call: &mut ProcedureCall<'_>) -> Result<(), Failure> {
    let (database, synonym) =
        (call.text(0).unwrap_or_default().to_string(), call.text(1).unwrap_or_default().to_string());
    let find = |name: &str| {
        format!("SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = {}", literal(name))
    };
    if texts(call, &find(&database)).await?.is_empty() {
        return Err(SqlError::signal(*b"HY000", format!("Unknown database {database}")).into());
    }
    if !texts(call, &find(&synonym)).await?.is_empty() {
        let message = format!("Can't create database {synonym}; database exists");
        return Err(SqlError::signal(*b"HY000", message).into());
    }
    let sql = format!(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} ORDER BY TABLE_NAME",
        literal(&database)
    );
    let tables = texts(call, &sql).await?;
    call.query(&format!("CREATE DATABASE {}", quoted(&synonym))).await?;
    let mut views = 0;
    for table in tables.iter().flatten() {
        let (table, from, to) = (quoted(table), quoted(&database), quoted(&synonym));
        call.query(&format!("CREATE SQL SECURITY INVOKER VIEW {to}.{table} AS SELECT * FROM {from}.{table}")).await?;
        views += 1;
    }
    let mut summary = ResultSet::of_texts(&["summary"]);
    let plural = if views == 1 { "" } else { "s" };
    let text = format!("Created {views} view{plural} in the {} database", quoted(&synonym));
    summary.rows.push(vec![Value::String(text)]);
    call.send_rows(&summary).await
}

async fn truncate_all(call: &mut ProcedureCall<'_>) -> Result<(), Failure> {
    let is_verbose = call.number(0).unwrap_or(0) != 0;
    let sql = "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'performance_schema' AND \
               (TABLE_NAME LIKE '%summary%' OR TABLE_NAME LIKE '%history%') ORDER BY TABLE_NAME";
    let tables = texts(call, sql).await?;
    let mut truncated = 0;
    for table in tables.iter().flatten() {
        if is_verbose {
            let mut status = ResultSet::of_texts(&["status"]);
            status.rows.push(vec![Value::String(format!("Running: TRUNCATE TABLE performance_schema.{table}"))]);
            call.send_rows(&status).await?;
        }
        // Tables of what is not counted have nothing to forget, and say so by an error.
        match call.query(&format!("TRUNCATE TABLE performance_schema.{}", quoted(table))).await {
            Ok(_) => truncated += 1,
            Err(error) if error.is(squall_types::ErrorCode::DbAccessDenied) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let mut summary = ResultSet::of_texts(&["summary"]);
    summary.rows.push(vec![Value::String(format!("Truncated {truncated} tables"))]);
    call.send_rows(&summary).await
}
