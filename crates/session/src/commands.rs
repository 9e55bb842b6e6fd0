//! Small commands: KILL, SHUTDOWN, FLUSH, RESET, DO, PREPARE and EXECUTE, table maintenance.

use crate::authorization::SecurityContext;
use crate::authorization::accounts::check_may_end;
use crate::authorization::grants::require_server;
use crate::database::Shared;
use crate::result::writer::ResultWriter;
use crate::result::{Failure, Outcome, ResultSet};
use crate::session::{Request, Session, StatementRun};
use crate::stack::{CALLS_MAX, OnGrowingStack, check_stack};
use crate::state::log::Logged;
use squall_catalog::{Privileges, TableDef, TableEntry};
use squall_definitions::execute::QualifiedName;
use squall_definitions::locked::hold_table;
use squall_functions::operators::coerce;
use squall_instrumentation::process::count;
use squall_logs::error_log::{Severity, error_log};
use squall_logs::logs::OpenError;
use squall_parser::ast::{
    Execute, ExecuteImmediate, Expr, Flush, FlushLock, FlushTarget, Kill, KillKind, KillTarget, MaintenanceKind,
    Prepare, Reset, TableMaintenance,
};
use squall_row_store::{Direction, HeldTable, LevelFault, LockWait, Optimized, TablePart, ValueRange};
use squall_server_state::log_settings::open_error;
use squall_server_state::now_micros;
use squall_server_state::variables::{Values, ids};
use squall_statement_context::StatementContext;
use squall_types::convert::text::write_text;
use squall_types::{ErrorCode, Level, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Ends a connection or its statement, if it is the session's own account's or privileges allow it. `own` is the session's number.
pub(crate) fn end_session(security: &SecurityContext<'_>, own: u64, id: u64, connection: bool) -> SqlResult<()> {
    let shared = security.shared;
    let process = shared.processes.get(id).ok_or_else(|| SqlError::new(ErrorCode::NoSuchThread, &[&id]))?;
    // What is limited to databases ends only itself.
    let is_own = match security.access.is_limited() {
        true => process.id == own,
        false => process.user == security.client_user(),
    };
    if !is_own && !security.access.has_dynamic("CONNECTION_ADMIN") {
        return Err(SqlError::new(ErrorCode::KillDenied, &[&id]));
    }
    if !is_own {
        check_may_end(security, &process)?;
    }
    shared.kill(&process, connection);
    Ok(())
}

/// Type and text of what a statement about tables says.
type Note = (&'static str, String);

impl Session {
    /// KILL.
    pub(crate) async fn run_kill(&mut self, kill: &Kill, run: &StatementRun<'_>) -> SqlResult<Outcome> {
        let KillTarget::Id { id, query_id: false } = &kill.target else {
            return Err(SqlError::unsupported("KILL of a user or a statement's number"));
        };
        let (value, sql_type) = self.evaluate(id, run.request.sql, run.request.parameters, &run.context).await?;
        let id = match value {
            Value::UInt(id) => id,
            // NULL and texts without digits are 0, which nobody has.
            value => coerce::to_i64(&value, &sql_type, &run.context)?.unwrap_or_default() as u64,
        };
        self.kill_process(id, kill.kind == KillKind::Connection)?;
        Ok(Outcome::done())
    }

    /// See [`end_session`].
    pub(crate) fn kill_process(&mut self, id: u64, connection: bool) -> SqlResult<()> {
        end_session(&self.security(), self.process.id, id, connection)
    }

    /// SHUTDOWN and COM_SHUTDOWN: the server stops as it does at SIGTERM, once this statement's client has its answer.
    ///
    /// # Errors
    /// 1227 without the privilege; 1235 where the server is part of a program that ends by itself.
    pub(crate) fn shut_down_server(&self) -> SqlResult<()> {
        require_server(&self.security(), Privileges::SHUTDOWN, &[], "SHUTDOWN")?;
        let Some(shutdown) = &self.shared.shutdown else {
            return Err(SqlError::unsupported("SHUTDOWN of a server that is part of another program"));
        };
        let version = Values(&self.variables.session).text(ids::VERSION).to_owned();
        let user = &self.identity.info.user;
        let message = format!("Received SHUTDOWN from user {user}. Shutting down the server (Version: {version}).");
        error_log().write(Severity::Note, &message);
        shutdown.notify_one();
        Ok(())
    }

    /// FLUSH STATUS: all sessions begin to count again; what they have counted stays among the server's.
    fn flush_status(&self) {
        let accounts = &self.shared.statistics.accounts;
        self.shared.processes.flush_status(now_micros(), |process, counted| accounts.keep_status(process, counted));
        for process in self.shared.processes.all() {
            process.tables.retire(&self.shared.statistics.tables);
        }
    }

    /// FLUSH.
    pub(crate) async fn run_flush(&mut self, flush: &Flush) -> SqlResult<Outcome> {
        for target in &flush.targets {
            match target {
                FlushTarget::Tables { names, lock: Some(FlushLock::ReadLock) } => self.flush_and_lock(names).await?,
                FlushTarget::Tables { lock: Some(FlushLock::Export), .. } => {
                    return Err(SqlError::unsupported(
                        "FLUSH TABLES … FOR EXPORT (no other server reads files of tables)",
                    ));
                }
                FlushTarget::Tables { lock: Some(FlushLock::ReadLockDisableCheckpoint), .. } => {
                    return Err(SqlError::unsupported("AND DISABLE CHECKPOINT"));
                }
                FlushTarget::Status => self.flush_status(),
                // MySQL's FLUSH TABLES empties the cache of prepared statements too.
                FlushTarget::Tables { .. } => self.shared.plans.clear(),
                // MariaDB's. There is no cache of results.
                FlushTarget::Other(what) if &**what == "QUERY CACHE" => {}
                FlushTarget::Other(what) => return Err(SqlError::unsupported(format_args!("FLUSH {what}"))),
                FlushTarget::Logs => self.flush_logs(true, true, true)?,
                FlushTarget::GeneralLogs => self.flush_logs(true, false, false)?,
                FlushTarget::SlowLogs => self.flush_logs(false, true, false)?,
                FlushTarget::ErrorLogs => self.flush_logs(false, false, true)?,
                // MySQL reads the accounts again, and with them begins to count. There is no copy of the grants to renew.
                FlushTarget::Privileges => {
                    self.shared.accounts.hourly_uses.reset();
                    self.shared.accounts.failed_logins.reset();
                }
                FlushTarget::UserResources => self.shared.accounts.hourly_uses.reset(),
                // Nothing is kept that these could renew: no host cache, no binary log, no cost tables.
                FlushTarget::BinaryLogs
                | FlushTarget::EngineLogs
                | FlushTarget::RelayLogs { .. }
                | FlushTarget::Hosts
                | FlushTarget::OptimizerCosts => {}
            }
        }
        Ok(Outcome::done())
    }

    /// FLUSH LOGS and its kin: files are opened again by their names.
    fn flush_logs(&self, general: bool, slow: bool, error: bool) -> SqlResult<()> {
        let mut result = self.shared.logs.reopen(general, slow).map_err(|error| open_error(&error));
        if error && let Err(error) = error_log().reopen() {
            let path = Values(&self.shared.globals.load_values()).text(ids::LOG_ERROR).into();
            result = result.and(Err(open_error(&OpenError { path, error })));
        }
        result
    }

    /// RESET PERSIST; the others are about replication.
    pub(crate) async fn run_reset(&mut self, reset: &Reset, run: &StatementRun<'_>) -> SqlResult<Outcome> {
        match reset {
            Reset::Persist { if_exists, variable } => {
                let name = variable.as_ref().map(|variable| variable.name.to_ascii_lowercase());
                self.reset_persisted(name, *if_exists, run.request.sql).await
            }
            Reset::PersistVersion { version } => self.reset_to_version(*version, run.request.sql).await,
            // MariaDB's. There is none, so it is empty.
            Reset::QueryCache => Ok(Outcome::done()),
            Reset::BinaryLogs { .. } => Err(SqlError::new(ErrorCode::BinaryLogClosed, &[])),
            Reset::Replica { .. } => Err(SqlError::unsupported("RESET REPLICA (there is no replication)")),
        }
    }

    /// DO: values are computed and forgotten.
    pub(crate) async fn run_do(&mut self, exprs: &[Expr], run: &StatementRun<'_>) -> SqlResult<Outcome> {
        for expr in exprs {
            self.evaluate(expr, run.request.sql, run.request.parameters, &run.context).await?;
        }
        Ok(Outcome::done())
    }

    /// PREPARE name FROM text.
    pub(crate) async fn run_prepare(
        &mut self,
        prepare: &Prepare,
        context: &Arc<StatementContext>,
    ) -> SqlResult<Outcome> {
        let text = self.statement_text(&prepare.source, context).await?;
        if self.prepared.named(&prepare.name).is_some_and(|old| self.prepared.is_running(&old)) {
            return Err(SqlError::new(ErrorCode::PsNoRecursion, &[]));
        }
        // A name that is taken loses its statement even when the new one does not parse.
        self.remove_named_statement(&prepare.name);
        let start = now_micros();
        // Its names do not mean the variables of the program around it.
        let locals = self.locals.take();
        let prepared = self.prepare_text(&text).await;
        self.locals = locals;
        let (prepared, _) = prepared?;
        let id = self.prepared.take_id();
        let shown = self.shown(&prepared.sql);
        self.instruments().count_prepared((id, Some(&prepare.name)), &prepared, shown, start);
        self.log_command("Prepare", &text);
        self.prepared.set_named(&prepare.name, prepared);
        self.shared.prepared_count.fetch_add(1, Ordering::Relaxed);
        Ok(Outcome::Ok(crate::result::writer::OkInfo { info: "Statement prepared".to_string(), ..Default::default() }))
    }

    pub(crate) fn remove_named_statement(&mut self, name: &str) -> bool {
        let removed = self.prepared.remove_named(name);
        if removed {
            self.shared.prepared_count.fetch_sub(1, Ordering::Relaxed);
        }
        removed
    }

    /// The text of a statement that is a value. Its bytes are what a client could have sent: those of literals need not be UTF-8.
    async fn statement_text(&mut self, source: &Expr, context: &Arc<StatementContext>) -> SqlResult<Vec<u8>> {
        Ok(match self.evaluate(source, b"", &[], context).await?.0 {
            Value::String(text) => text.into_bytes(),
            Value::Bytes(bytes) => bytes,
            Value::Null => b"NULL".to_vec(),
            other => squall_functions::operators::coerce::to_text(&other, &squall_types::SqlType::BIGINT)
                .map(|text| text.into_owned().into_bytes())
                .unwrap_or_default(),
        })
    }

    /// EXECUTE name USING ….
    pub(crate) async fn run_execute(
        &mut self,
        execute: &Execute,
        run: &StatementRun<'_>,
        writer: &mut dyn ResultWriter,
    ) -> Result<Outcome, Failure> {
        let Some(prepared) = self.prepared.named(&execute.name) else {
            let error = ErrorCode::UnknownStatementHandler;
            return Err(SqlError::new(error, &[&execute.name.as_str(), &"EXECUTE"]).into());
        };
        if self.prepared.is_running(&prepared) {
            return Err(SqlError::new(ErrorCode::PsNoRecursion, &[]).into());
        }
        self.execute_with(prepared, &execute.using, run, writer).await
    }

    /// EXECUTE IMMEDIATE text USING ….
    pub(crate) async fn run_execute_immediate(
        &mut self,
        execute: &ExecuteImmediate,
        run: &StatementRun<'_>,
        writer: &mut dyn ResultWriter,
    ) -> Result<Outcome, Failure> {
        let text = self.statement_text(&execute.source, &run.context).await?;
        let locals = self.locals.take();
        let prepared = self.prepare_text(&text).await;
        self.locals = locals;
        let (prepared, _) = prepared?;
        self.execute_with(prepared, &execute.using, run, writer).await
    }

    async fn execute_with(
        &mut self,
        prepared: Arc<crate::plans::prepared::PreparedStatement>,
        using: &[Expr],
        run: &StatementRun<'_>,
        writer: &mut dyn ResultWriter,
    ) -> Result<Outcome, Failure> {
        count(&self.process.status.stmt_execute);
        if using.len() != prepared.placeholders as usize {
            return Err(SqlError::new(ErrorCode::WrongArguments, &[&"EXECUTE"]).into());
        }
        let mut parameters = Vec::with_capacity(using.len());
        for expr in using {
            parameters.push(self.evaluate(expr, &prepared.sql, &[], &run.context).await?.0);
        }
        if self.nesting.prepared_depth == CALLS_MAX {
            return Err(SqlError::new(ErrorCode::StackOverrun, &[]).into());
        }
        check_stack()?;
        self.nesting.prepared_depth += 1;
        let locals = self.locals.take();
        self.prepared.begin_running(&prepared);
        let outcome = OnGrowingStack(Box::pin(self.execute_in_place(prepared, &parameters, run, writer))).await;
        self.prepared.end_running();
        self.locals = locals;
        self.nesting.prepared_depth -= 1;
        outcome
    }

    /// Runs a prepared statement in the place of another one, with as many values as it has `?`.
    pub(crate) async fn execute_in_place(
        &mut self,
        prepared: Arc<crate::plans::prepared::PreparedStatement>,
        parameters: &[Value],
        run: &StatementRun<'_>,
        writer: &mut dyn ResultWriter,
    ) -> Result<Outcome, Failure> {
        let request = Request::of_prepared(&prepared, parameters);
        self.count_executed(request.statement)?;
        self.log_inner("Execute", Logged { sql: &prepared.sql, executed: Some((prepared.places(), parameters)) });
        self.dispatch_inner(request, run, writer).await
    }

    /// Dispatches a statement as if it stood in the place of the one that executes it, in the same transaction: in its context, or in
    /// one of its own if values that do not fit are errors in one of the two only.
    pub(crate) async fn dispatch_inner(
        &mut self,
        request: Request<'_>,
        run: &StatementRun<'_>,
        writer: &mut dyn ResultWriter,
    ) -> Result<Outcome, Failure> {
        if self.is_strict_for(request.statement) == run.context.strict_write {
            return Box::pin(self.dispatch(&run.with_request(request), writer)).await;
        }
        let inner = run.with_context(Arc::new(self.statement_context(request.statement)));
        let result = Box::pin(self.dispatch(&inner.with_request(request), writer)).await;
        run.context.take_over(&inner.context);
        result
    }

    /// ANALYZE, CHECK, CHECKSUM, OPTIMIZE and REPAIR TABLE.
    pub(crate) async fn maintain_tables(
        &mut self,
        statement: &TableMaintenance,
        context: &Arc<StatementContext>,
    ) -> SqlResult<Outcome> {
        if statement.histogram.is_some() {
            return Err(SqlError::unsupported("ANALYZE TABLE … HISTOGRAM"));
        }
        if statement.kind == MaintenanceKind::Checksum {
            return self.checksum_tables(statement, context).await;
        }
        let operation = operation_of(statement.kind);
        let mut result = maintenance_result(statement.kind);
        for table in &statement.tables {
            let name = self.security().qualify(table)?;
            let shown = format!("{}.{}", name.0, name.1);
            let mut row = |kind: &str, text: &str| {
                let values = [shown.as_str(), operation, kind, text];
                result.rows.push(values.iter().map(|text| Value::from(*text)).collect());
            };
            let temporary = self.security().temporary_table_named(table);
            match self.maintain_table(statement.kind, &name, temporary, context).await {
                Ok(notes) => {
                    let is_maintained = notes.first() != Some(&not_maintained(statement.kind));
                    let is_done = is_maintained && notes.iter().all(|(kind, _)| *kind != "error");
                    for (kind, text) in notes {
                        row(kind, &text);
                    }
                    if is_done {
                        row("status", "OK");
                    }
                }
                Err(error) if error.is(ErrorCode::NoSuchTable) || error.is(ErrorCode::BadDatabase) => {
                    row("Error", &error.message);
                    row("status", "Operation failed");
                }
                // A file that cannot even be opened: others are looked at all the same.
                Err(error) if statement.kind == MaintenanceKind::Check && error.is(ErrorCode::CorruptedRow) => {
                    row("error", &error.message);
                    row("error", "Corrupt");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Outcome::Rows(result))
    }

    async fn maintain_table(
        &mut self,
        kind: MaintenanceKind,
        name: &QualifiedName,
        temporary: Option<Arc<TableDef>>,
        context: &Arc<StatementContext>,
    ) -> SqlResult<Vec<Note>> {
        let catalog = self.shared.catalog.load();
        match catalog.entry(&name.0, &name.1) {
            _ if temporary.is_some() => {}
            Some(TableEntry::Table(table)) if table.is_sequence() => return Ok(vec![not_maintained(kind)]),
            Some(TableEntry::Table(_)) => {}
            Some(TableEntry::View(_)) => return Ok(Vec::new()),
            None => return Err(squall_definitions::execute::no_such_table(name)),
        }
        if kind == MaintenanceKind::Repair {
            return Ok(vec![not_maintained(kind)]);
        }
        let session = self.process.id;
        let wait = LockWait::Timeout(Duration::from_secs(self.settings.table_lock_wait_seconds));
        let context = context.clone();
        let name = name.clone();
        self.waiting(move |shared| {
            let check = || context.kill.check();
            // Its definition stays as it is meanwhile.
            let table = match &temporary {
                Some(definition) => shared.store.hold_temporary(session, definition)?,
                None => hold_table(shared, session, &name, wait)?,
            };
            match kind {
                MaintenanceKind::Analyze => shared.store.analyze(&table)?,
                MaintenanceKind::Check => return damages(shared, &table, &check),
                _ => return optimize(shared, &table, &check),
            }
            Ok(Vec::new())
        })
        .await
    }

    async fn checksum_tables(
        &mut self,
        statement: &TableMaintenance,
        context: &Arc<StatementContext>,
    ) -> SqlResult<Outcome> {
        let mut result = maintenance_result(statement.kind);
        for table in &statement.tables {
            let name = self.security().qualify(table)?;
            let temporary = self.security().temporary_table_named(table);
            let definition = temporary.or_else(|| self.shared.catalog.load().table(&name.0, &name.1).cloned());
            let checksum = match definition {
                Some(definition) => {
                    let sum = self
                        .blocking(move |shared| {
                            let table = shared.store.table(&definition)?;
                            checksum(shared, &table)
                        })
                        .await?;
                    Value::UInt(sum)
                }
                None => {
                    let missing = squall_definitions::execute::no_such_table(&name);
                    context.diagnostics.push(Level::Error, missing);
                    Value::Null
                }
            };
            result.rows.push(vec![Value::String(format!("{}.{}", name.0, name.1)), checksum]);
        }
        Ok(Outcome::Rows(result))
    }
}

fn operation_of(kind: MaintenanceKind) -> &'static str {
    match kind {
        MaintenanceKind::Analyze => "analyze",
        MaintenanceKind::Check => "check",
        MaintenanceKind::Optimize => "optimize",
        MaintenanceKind::Repair | MaintenanceKind::Checksum => "repair",
    }
}

/// What is said of tables that have nothing to repair, and of sequences.
fn not_maintained(kind: MaintenanceKind) -> Note {
    ("note", format!("The storage engine for the table doesn't support {}", operation_of(kind)))
}

/// The empty answer of a statement about tables, with its columns.
pub(crate) fn maintenance_result(kind: MaintenanceKind) -> ResultSet {
    match kind {
        MaintenanceKind::Checksum => {
            // NULL for a table that is not there.
            let checksum = crate::result::typed_column("Checksum", SqlType::BIGINT, false);
            ResultSet::new(vec![crate::result::text_column("Table", 128), checksum])
        }
        _ => ResultSet::of_texts(&["Table", "Op", "Msg_type", "Msg_text"]),
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// CHECK TABLE's message about a table with damaged files, or with indexes and copies that differ from the rows.
pub(crate) fn damages(
    shared: &Shared,
    table: &HeldTable,
    check: &(dyn Fn() -> SqlResult<()> + Sync),
) -> SqlResult<Vec<Note>> {
    let mut notes = damaged_level(shared, table, TablePart::Rows, check)?;
    if !notes.is_empty() {
        return Ok(notes);
    }
    notes = damaged_indexes(shared, table, check)?;
    if let Some(copy) = table.def().column_copy() {
        notes.extend(damaged_level(shared, table, TablePart::Copy(copy.id), check)?);
    }
    Ok(notes)
}

/// CHECK TABLE's messages about a table's level outside of the row store.
fn damaged_level(
    shared: &Shared,
    table: &HeldTable,
    part: TablePart,
    check: &dyn Fn() -> SqlResult<()>,
) -> SqlResult<Vec<Note>> {
    let faults = shared.store.check_level(table, part, check)?;
    let note = |fault| match fault {
        LevelFault::Damaged(text) => ("error", text),
        LevelFault::RowCount { copied, rows } => {
            wrong_count(table.def().column_copy().map_or("", |index| &index.name), copied, rows)
        }
    };
    let mut notes: Vec<Note> = faults.into_iter().map(note).collect();
    if !notes.is_empty() {
        notes.push(corrupt());
    }
    Ok(notes)
}

/// OPTIMIZE TABLE.
fn optimize(shared: &Shared, table: &HeldTable, check: &dyn Fn() -> SqlResult<()>) -> SqlResult<Vec<Note>> {
    let note = match shared.store.optimize(table, cores(), check)? {
        Optimized::Busy => return Ok(vec![("note", "The table is being sealed in the background".to_string())]),
        Optimized::Done => None,
        Optimized::Unsupported => Some("Table does not support optimize, doing recreate + analyze instead"),
    };
    shared.store.analyze(table)?;
    Ok(note.map(|text| ("note", text.to_string())).into_iter().collect())
}

/// InnoDB's words for an index that has more or fewer entries than rows give.
fn wrong_count(name: &str, entries: u64, expected: u64) -> Note {
    ("Warning", format!("InnoDB: Index '{name}' contains {entries} entries, should be {expected}."))
}

/// The last word on a table with damage.
fn corrupt() -> Note {
    ("error", "Corrupt".to_string())
}

/// CHECK TABLE's message about indexes that differ from the rows: InnoDB's words, and where to look. Reads every row, which fails on a
/// damaged one.
fn damaged_indexes(
    shared: &Shared,
    table: &HeldTable,
    check: &(dyn Fn() -> SqlResult<()> + Sync),
) -> SqlResult<Vec<Note>> {
    let mut notes = Vec::new();
    for fault in shared.store.check_indexes(table, |_| check())? {
        let name = &fault.index;
        notes.push(match fault.entries == fault.expected {
            true => ("Warning", format!("InnoDB: The B-tree of index {name} is corrupted.")),
            false => wrong_count(name, fault.entries, fault.expected),
        });
        if let Some(entry) = fault.missing {
            notes.push(("error", format!("Index '{name}' lacks the entry '{entry}' of a row")));
        }
        if let Some(entry) = fault.surplus {
            notes.push(("error", format!("Index '{name}' has an entry '{entry}' of no row")));
        }
    }
    if !notes.is_empty() {
        notes.push(corrupt());
    }
    Ok(notes)
}

/// A number that depends on the rows as a client sees them, and on nothing else: not on their order, nor on how and where they are
/// stored.
fn checksum(shared: &crate::database::Shared, table: &Arc<squall_row_store::Table>) -> SqlResult<u64> {
    let range = table.range(squall_catalog::IndexId(0), ValueRange::ALL)?;
    let mut cursor = shared.store.read_view().scan(table, &range, Direction::Forward);
    let (mut sum, mut text) = (0u32, Vec::new());
    while let Some(row) = cursor.next_row()? {
        // FNV-1a.
        let mut hash = 2_166_136_261u32;
        let values = row.values(table)?;
        for (column, value) in table.def().columns.iter().zip(&values).filter(|(column, _)| !column.is_hidden()) {
            text.clear();
            if !value.is_null() {
                // The length tells "a", "bc" from "ab", "c", and an empty text from NULL.
                text.extend([0; 4]);
                write_text(value, &column.sql_type, &mut text);
                let length = (text.len() as u32).to_le_bytes();
                text[..length.len()].copy_from_slice(&length);
            }
            text.push(0);
            for byte in &text {
                hash = (hash ^ u32::from(*byte)).wrapping_mul(16_777_619);
            }
        }
        sum = sum.wrapping_add(hash);
    }
    Ok(u64::from(sum))
}
