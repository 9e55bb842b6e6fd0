//! The requests of a front end to a session.

use crate::api::{
    Connection, FollowedTable, OnChanges, PreparedInfo, RoutineDescription, TableDescription, TextRequest,
};
use crate::plans::long_statement::{ParsedStatement, Text};
use crate::plans::prepared::{PreparedStatement, StatementTree};
use crate::plans::shared_cache::{self, Described, PlanUse};
use crate::plans::{AtOnce, Unanswered};
use crate::result::put_rows;
use crate::result::writer::{ColumnMeta, LocalFuture, NetTimeouts, ResultWriter, StatusInfo};
use crate::session::{Request, Session};
use crate::state::prepared_statements::RowCollector;
use bytes::Bytes;
use squall_accounting::SessionMemory;
use squall_accounting::work_meter::measured;
use squall_catalog::{Need, Privileges};
use squall_instrumentation::process::count;
use squall_parser::ast::{Statement, StatementKind};
use squall_server_state::now_micros;
use squall_server_state::variables::{Values, ids};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

/// Most parameters of a statement, by the protocol.
const PARAMETERS_MAX: u32 = 65_535;

impl Session {
    /// Runs a statement with a value for each `?` of it; tells whether it succeeded.
    ///
    /// # Errors
    /// When the client is gone.
    pub(crate) async fn run_with_values(
        &mut self,
        request: Request<'_>,
        parameters: &[Value],
        more_results: bool,
        writer: &mut dyn ResultWriter,
    ) -> std::io::Result<bool> {
        if parameters.is_empty() {
            return self.run(request, more_results, writer).await;
        }
        let prepared = match self.prepare_text(request.sql).await {
            Ok((prepared, _)) => prepared,
            Err(error) => {
                self.finish_with_error(&error, None);
                writer.error(&error);
                return Ok(false);
            }
        };
        let request = Request { own_text: request.own_text, ..Request::of_prepared(&prepared, parameters) };
        self.run(request, more_results, writer).await
    }

    /// A statement with what its result looks like, from the cache of all sessions if it is there, and where its uses are
    /// counted if it can be.
    pub(crate) async fn prepare_text(
        &mut self,
        sql: &[u8],
    ) -> SqlResult<(Arc<PreparedStatement>, Option<Arc<PlanUse>>)> {
        let limit = Values(&self.shared.globals.load_values()).number(ids::MAX_PREPARED_STMT_COUNT);
        if self.shared.prepared_count.load(Ordering::Relaxed) >= limit {
            return Err(SqlError::new(ErrorCode::MaxPreparedStatements, &[&limit]));
        }
        self.refresh_access();
        // Variables are bound with the types that they have; names may mean the session's own tables.
        let shares = sql.len() <= shared_cache::TEXT_BYTES_MAX
            && !sql.contains(&b'@')
            && self.temporary_tables.is_empty()
            && self.held_locks.tables.is_none();
        let (shared, settings, schema) =
            (self.shared.clone(), self.settings.bind.clone(), self.shared.schema_versions());
        if shares
            && let Some(entry) = shared.plans.find(sql, &settings)
            && let Some(described) = entry.described(schema)
            && self.check_names(&described.statement.statement).is_ok()
            && self.security().check_needs(&described.needs).is_ok()
        {
            count(&self.process.status.plan_shared_hits);
            let plan_use = self.plan_use(entry);
            plan_use.learned(true, self.command.start_micros);
            // The session's own, so that no two count references to one.
            return Ok((Arc::new(described.statement.clone()), Some(plan_use)));
        }
        let (statement, needs) = self.parse_and_describe(sql).await?;
        count(&self.process.status.plan_misses);
        if shares && matches!(*statement.statement, Statement::Query(_)) {
            // The first execution keeps its plan: a prepared query is expected to run again.
            let _met = match statement.placeholders {
                0 => shared.plans.met_before(&statement.sql, &settings),
                _ => shared.plans.planned_before(&statement.sql, &settings),
            };
        }
        let needs = needs.filter(|_| shares);
        let entry = needs.and_then(|needs| {
            let entry = shared.plans.find_or_insert(&statement.sql, &settings)?;
            entry.set_statement(&statement);
            let described = Described { statement: statement.clone(), needs };
            entry.set_described(schema, || shared.schema_versions(), described);
            Some(entry)
        });
        let plan_use = entry.map(|entry| self.plan_use(entry));
        if let Some(plan_use) = &plan_use {
            plan_use.learned(false, self.command.start_micros);
        }
        Ok((Arc::new(statement), plan_use))
    }

    /// Parses a statement, and finds its result's columns and, if these are valid for other sessions too, its needs.
    async fn parse_and_describe(&mut self, sql: &[u8]) -> SqlResult<(PreparedStatement, Option<Vec<Need>>)> {
        let sql = Bytes::copy_from_slice(sql);
        let text = Text::shared(&sql);
        let read = self.only_statement(&text).await?;
        let parsed = &read.parsed;
        if parsed.placeholders > PARAMETERS_MAX {
            return Err(SqlError::new(ErrorCode::PsManyParameters, &[]));
        }
        if matches!(
            parsed.statement,
            Statement::Prepare(_)
                | Statement::Execute(_)
                | Statement::ExecuteText(_)
                | Statement::Deallocate(_)
                | Statement::Handler(_)
                | Statement::Empty
        ) {
            return Err(SqlError::new(ErrorCode::UnsupportedPs, &[]));
        }
        let (columns, needs) = self.result_columns(Request::of_text(&read)).await?;
        let parsed = read.parsed;
        let statement = PreparedStatement {
            sql: sql.slice(..parsed.end),
            placeholders: parsed.placeholders,
            statement: match parsed {
                ParsedStatement::Short(parsed) => StatementTree::Short(Arc::new(parsed.statement)),
                ParsedStatement::Long(long) => StatementTree::Long(long),
            },
            columns: columns.into(),
            options: self.parse_options(),
            places: OnceLock::new(),
            digest: OnceLock::new(),
            may_hold_secrets: OnceLock::new(),
            counted: OnceLock::new(),
        };
        Ok((statement, needs))
    }

    async fn execute_prepared(
        &mut self,
        id: u32,
        parameters: Vec<Value>,
        cursor: bool,
        unanswered: Unanswered,
        writer: &mut dyn ResultWriter,
    ) -> std::io::Result<()> {
        count(&self.process.status.stmt_execute);
        let Some(prepared) = self.prepared.get(id) else {
            let error = SqlError::new(ErrorCode::UnknownStatementHandler, &[&id, &"mysqld_stmt_execute"]);
            self.finish_with_error(&error, None);
            writer.error(&error);
            return writer.flush().await;
        };
        self.begin_execution(&prepared);
        self.prepared.set_cursor(id, None);
        // With a cursor it has not been tried.
        let route = match unanswered.0 {
            Some(found) => Some(found.route),
            None if cursor => self.route_of_prepared(id, &parameters),
            None => None,
        };
        let request = Request { route: route.as_ref(), ..Request::of_prepared(&prepared, &parameters) };
        if parameters.len() != prepared.placeholders as usize {
            let error = SqlError::new(ErrorCode::WrongArguments, &[&"EXECUTE"]);
            self.finish_with_error(&error, None);
            writer.error(&error);
        } else if cursor && !prepared.columns.is_empty() {
            self.open_cursor(id, request, writer).await?;
        } else {
            self.run(request, false, writer).await?;
        }
        self.end_command(writer).await
    }

    /// Runs a query whose rows wait for COM_STMT_FETCH.
    async fn open_cursor(
        &mut self,
        id: u32,
        request: Request<'_>,
        writer: &mut dyn ResultWriter,
    ) -> std::io::Result<()> {
        let mut buffer = CursorBuffer::new(&self.process.memory);
        let ran = self.run(request, false, &mut buffer).await;
        if let Some(error) = buffer.rows.refused() {
            self.finish_with_error(error, None);
            writer.error(error);
            return Ok(());
        }
        if !ran? {
            if let Some(error) = &buffer.error {
                writer.error(error);
            }
            return Ok(());
        }
        let mut status = buffer.status.unwrap_or_default();
        if buffer.rows.result.columns.is_empty() {
            writer.ok(&buffer.ok, &status);
            return Ok(());
        }
        status.cursor_exists = true;
        writer.begin_result_set(&buffer.rows.result.columns);
        writer.end_result_set(&status);
        self.prepared.set_cursor(id, Some(buffer.rows));
        Ok(())
    }

    async fn fetch_rows(&mut self, id: u32, rows: u32, writer: &mut dyn ResultWriter) -> std::io::Result<()> {
        count(&self.process.status.stmt_fetch);
        let Some(cursor) = self.prepared.cursor(id) else {
            let error = SqlError::new(ErrorCode::UnknownStatementHandler, &[&id, &"mysqld_stmt_fetch"]);
            self.finish_with_error(&error, None);
            writer.error(&error);
            return writer.flush().await;
        };
        let end = cursor.result.rows.len().min(cursor.next + rows as usize);
        put_rows(writer, &cursor.result.rows[cursor.next..end]).await?;
        cursor.next = end;
        let last = end == cursor.result.rows.len();
        if last {
            self.prepared.set_cursor(id, None);
        }
        let mut status = self.status_info(false);
        status.cursor_exists = !last;
        status.last_row_sent = last;
        writer.end_result_set(&status);
        writer.flush().await
    }
}

/// Keeps what a statement sends.
pub(crate) struct CursorBuffer {
    pub(crate) rows: RowCollector,
    pub(crate) ok: crate::result::writer::OkInfo,
    pub(crate) status: Option<StatusInfo>,
    pub(crate) error: Option<SqlError>,
}

impl CursorBuffer {
    /// Nothing yet, of a session that is charged for it.
    pub(crate) fn new(memory: &Arc<SessionMemory>) -> Self {
        Self { rows: RowCollector::new(memory), ok: Default::default(), status: None, error: None }
    }
}

impl squall_types::RowWriter for CursorBuffer {
    fn begin_row(&mut self) {
        self.rows.begin_row();
    }
    fn put_null(&mut self) {
        self.rows.put_null();
    }
    fn put_int(&mut self, value: i64) {
        self.rows.put_int(value);
    }
    fn put_uint(&mut self, value: u64) {
        self.rows.put_uint(value);
    }
    fn put_double(&mut self, value: f64) {
        self.rows.put_double(value);
    }
    fn put_decimal(&mut self, value: squall_types::Decimal) {
        self.rows.put_decimal(value);
    }
    fn put_bytes(&mut self, value: &[u8]) {
        self.rows.put_bytes(value);
    }
    fn put_date(&mut self, value: squall_types::Date) {
        self.rows.put_date(value);
    }
    fn put_datetime(&mut self, value: squall_types::DateTime) {
        self.rows.put_datetime(value);
    }
    fn put_time(&mut self, value: squall_types::Time) {
        self.rows.put_time(value);
    }
    fn end_row(&mut self) {
        self.rows.end_row();
    }
}

impl ResultWriter for CursorBuffer {
    fn begin_result_set(&mut self, columns: &[ColumnMeta]) {
        self.rows.result.columns = columns.to_vec();
    }
    fn end_result_set(&mut self, status: &StatusInfo) {
        self.status = Some(status.clone());
    }
    fn ok(&mut self, ok: &crate::result::writer::OkInfo, status: &StatusInfo) {
        self.ok = ok.clone();
        self.status = Some(status.clone());
    }
    fn error(&mut self, error: &SqlError) {
        self.error = Some(error.clone());
    }
    fn needs_flush(&self) -> bool {
        self.rows.refused().is_some()
    }
    fn flush(&mut self) -> LocalFuture<'_, std::io::Result<()>> {
        let result = if self.needs_flush() { Err(std::io::ErrorKind::OutOfMemory.into()) } else { Ok(()) };
        Box::pin(async { result })
    }
}

impl Connection for Session {
    fn query<'a>(
        &'a mut self,
        sql: &'a Bytes,
        unanswered: Unanswered,
        writer: &'a mut dyn ResultWriter,
    ) -> LocalFuture<'a, std::io::Result<()>> {
        Box::pin(self.run_client_text(sql, unanswered, writer))
    }

    fn run_text<'a>(
        &'a mut self,
        text: TextRequest<'a>,
        writer: &'a mut dyn ResultWriter,
    ) -> LocalFuture<'a, std::io::Result<()>> {
        Box::pin(measured(self.instruments().work_meter(), self.run_text_request(text, writer)))
    }

    fn memory(&self) -> Arc<SessionMemory> {
        self.process.memory.clone()
    }

    fn describe_table(&mut self, database: &str, table: &str) -> Result<TableDescription, SqlError> {
        self.table_description(database, table)
    }

    fn follow_table(
        &mut self,
        database: &str,
        table: &str,
        from: Option<u64>,
        on_changes: OnChanges,
    ) -> Result<Option<FollowedTable>, SqlError> {
        self.followed_table(database, table, from, on_changes)
    }

    fn describe_routine(
        &mut self,
        database: &str,
        name: &str,
        is_function: bool,
    ) -> Result<RoutineDescription, SqlError> {
        self.routine_description(database, name, is_function)
    }

    fn set_read_only(&mut self) {
        self.nesting.is_within_read_only = true;
    }

    fn limit_to_databases(&mut self, databases: BTreeSet<String>) {
        self.limit_grants(databases);
    }

    fn has_privilege(&self, name: &str) -> bool {
        let access = &self.identity.access;
        access.has_dynamic(name) || (name == "PROCESS" && access.global.contains(Privileges::PROCESS))
    }

    fn account_has_privilege(&self, name: &str) -> bool {
        match self.identity.access.is_limited() {
            true => self.unlimited_access().has_dynamic(name),
            false => self.has_privilege(name),
        }
    }

    fn query_at_once(&mut self, sql: &[u8], writer: &mut dyn ResultWriter) -> AtOnce {
        if self.settings.client_is_utf8 {
            return self.answer_text(sql, |_| true, writer);
        }
        match self.read_short_client_text(sql) {
            Some(text) => self.answer_text(&text.utf8, |_| true, writer),
            None => AtOnce::Left(Unanswered::default()),
        }
    }

    fn execute_at_once(&mut self, id: u32, parameters: &[Value], writer: &mut dyn ResultWriter) -> AtOnce {
        self.answer_prepared(id, parameters, writer)
    }

    fn prepare<'a>(&'a mut self, sql: &'a [u8]) -> LocalFuture<'a, Result<PreparedInfo, SqlError>> {
        Box::pin(async move {
            count(&self.process.status.stmt_prepare);
            let text = self.read_client_text(sql).await?;
            let sql = &text.utf8[..];
            self.command.start_micros = now_micros();
            self.begin_unasked("Prepare", sql);
            let prepared = self.prepare_text(sql).await;
            self.process.begin("Sleep", "", now_micros());
            match prepared {
                Ok((prepared, plan_use)) => {
                    self.log_command("Prepare", sql);
                    let (parameters, columns) = (prepared.placeholders as u16, prepared.columns.to_vec());
                    self.shared.prepared_count.fetch_add(1, Ordering::Relaxed);
                    let id = self.prepared.take_id();
                    let text = self.shown(&prepared.sql);
                    self.instruments().count_prepared((id, None), &prepared, text, self.command.start_micros);
                    self.prepared.add(id, prepared, plan_use);
                    Ok(PreparedInfo { id, parameters, columns, warnings: 0 })
                }
                Err(error) => {
                    self.finish_with_error(&error, None);
                    self.count_not_prepared(sql);
                    Err(error)
                }
            }
        })
    }

    fn execute<'a>(
        &'a mut self,
        id: u32,
        parameters: Vec<Value>,
        cursor: bool,
        unanswered: Unanswered,
        writer: &'a mut dyn ResultWriter,
    ) -> LocalFuture<'a, std::io::Result<()>> {
        Box::pin(measured(
            self.instruments().work_meter(),
            self.execute_prepared(id, parameters, cursor, unanswered, writer),
        ))
    }

    fn fetch<'a>(
        &'a mut self,
        id: u32,
        rows: u32,
        writer: &'a mut dyn ResultWriter,
    ) -> LocalFuture<'a, std::io::Result<()>> {
        Box::pin(self.fetch_rows(id, rows, writer))
    }

    fn prepared_columns(&self, id: u32) -> Option<Arc<[ColumnMeta]>> {
        self.prepared.get(id).map(|prepared| prepared.columns.clone())
    }

    fn close_statement(&mut self, id: u32) {
        count(&self.process.status.stmt_close);
        self.log_command("Close stmt", b"");
        if self.prepared.remove(id) {
            self.shared.prepared_count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn count_long_data(&mut self) {
        count(&self.process.status.stmt_send_long_data);
    }

    fn reset_statement(&mut self, id: u32) -> Result<(), SqlError> {
        count(&self.process.status.stmt_reset);
        self.log_command("Reset stmt", b"");
        if self.prepared.set_cursor(id, None) {
            Ok(())
        } else {
            Err(SqlError::new(ErrorCode::UnknownStatementHandler, &[&id, &"mysqld_stmt_reset"]))
        }
    }

    fn use_database(&mut self, name: &str) -> Result<(), SqlError> {
        self.log_command("Init DB", name.as_bytes());
        self.process.status.statements.count(StatementKind::ChangeDb);
        let result = Session::use_database(self, name);
        self.settings_changed();
        if let Err(error) = &result {
            self.finish_with_error(error, None);
        }
        result
    }

    fn field_list(&mut self, table: &str, wildcard: &str) -> Result<Vec<ColumnMeta>, SqlError> {
        self.log_command("Field List", format!("{table} {wildcard}").as_bytes());
        self.refresh_access();
        self.columns_matching(table, wildcard)
    }

    fn statistics(&self) -> String {
        let status = self.shared.processes.total_status();
        let uptime = self.shared.started.elapsed().as_secs();
        let questions = status.questions.load(Ordering::Relaxed);
        format!(
            "Uptime: {uptime}  Threads: {}  Questions: {questions}  Slow queries: {}  Opens: 0  Flush tables: 0  Open \
             tables: 0  Queries per second avg: {:.3}",
            self.shared.processes.len(),
            status.slow_queries.load(Ordering::Relaxed),
            questions as f64 / uptime.max(1) as f64
        )
    }

    fn set_multi_statements(&mut self, on: bool) {
        self.multi_statements = on;
    }

    fn kill(&mut self, connection_id: u64) -> Result<(), SqlError> {
        self.log_command("Kill", connection_id.to_string().as_bytes());
        self.kill_process(connection_id, true)
    }

    fn shut_down(&mut self) -> Result<(), SqlError> {
        self.log_command("Shutdown", b"");
        self.refresh_access();
        self.shut_down_server()
    }

    fn reset(&mut self) {
        self.reset_state();
    }

    fn status(&mut self) -> StatusInfo {
        self.status_info(false)
    }

    fn connection_id(&self) -> u64 {
        self.process.id
    }

    fn busy_poll(&self) -> std::time::Duration {
        self.settings.busy_poll
    }

    fn idle_timeout_seconds(&self) -> u64 {
        let id = if self.identity.info.interactive { ids::INTERACTIVE_TIMEOUT } else { ids::WAIT_TIMEOUT };
        Values(&self.variables.session).number(id)
    }

    fn net_timeouts(&self) -> NetTimeouts {
        self.settings.net_timeouts
    }

    fn max_allowed_packet(&self) -> usize {
        usize::try_from(self.settings.bind.max_allowed_packet).unwrap_or(usize::MAX)
    }

    fn results_collation(&self) -> Option<u16> {
        self.settings.results_collation.map(|collation| collation.0)
    }

    fn knows_vectors(&self) -> bool {
        // These take the bytes of types that they do not know for text.
        const LIBRARIES: [&str; 2] = ["libmariadb", "pymysql"];
        let is_older = |(name, value): &(String, String)| name == "_client_name" && LIBRARIES.contains(&value.as_str());
        !self.identity.info.attributes.iter().any(is_older)
    }

    fn client_collation(&self) -> u16 {
        self.settings.bind.client_collation.0
    }

    fn is_killed(&self) -> bool {
        self.process.kill.is_connection_killed()
    }

    fn note_command(&mut self, name: &'static str) {
        self.log_command(name, b"");
    }
}
