//! LOAD DATA [LOCAL] INFILE.
//!
//! The file's text comes through a bounded channel, from the client or from a file of the server, to a thread that may
//! block, where it is cut into fields and stored row by row. A large file goes into a bulk load, which becomes visible
//! as a whole; otherwise rows are part of the session's transaction.

mod reader;

use crate::api::{OkInfo, ResultWriter};
use crate::database::Shared;
use crate::process::count;
use crate::query::Format;
use crate::result::Outcome;
use crate::session::{Failure, Request, Session};
use crate::settings::{Values, ids};
use reader::{LineReader, Row, Rows};
use squall_catalog::NameKey;
use squall_functions::expr::{BoundExpr, ParameterisedRow};
use squall_parser::ast::{
    ColumnName, Expr, Ident, Insert, InsertSource, LoadData, LoadDuplicates, Statement, VariableTarget,
};
use squall_planner::bind::RowTable;
use squall_planner::dml::plan::InsertRows;
use squall_planner::dml::{DmlBinder, DmlContext, InsertPlan, Inserter};
use squall_planner::exec::StatementEnv;
use squall_registry::StatementContext;
use squall_row_store::{LockWait, OnDuplicate, Transaction};
use squall_types::collation::Charset;
use squall_types::convert::{ConversionContext, store_value};
use squall_types::{CollationId, Date, ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::io::Read;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Text from which on a load goes around the transaction.
const BULK_BYTES_MIN: usize = 1 << 20;
/// Pieces of text that may wait.
const CHUNKS_AHEAD: usize = 4;
const CHUNK_BYTES: usize = 256 << 10;

/// A place that fields of the file go to.
enum Target {
    /// Position among the columns of the plan, with its charset rules.
    Column {
        position: usize,
        kind: FieldKind,
    },
    Variable(NameKey),
}

/// What a column makes of a field's bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldKind {
    /// Text in the file's character set.
    Text,
    /// Bytes as they are.
    Binary,
    /// A number, as a rule of plain digits; text if it is anything else.
    Integer,
}

/// What the loading thread works with.
struct Load {
    plan: InsertPlan,
    targets: Vec<Target>,
    /// Positions among the columns of the plan and their expressions.
    assignments: Vec<(usize, Option<BoundExpr>)>,
    charset: Charset,
    format: Format,
    skip: u64,
    ignore: bool,
    strict: bool,
    bulk_allowed: bool,
    /// What fields are before they are converted.
    text: SqlType,
    bytes: SqlType,
}

#[derive(Default)]
struct Loaded {
    records: u64,
    deleted: u64,
    skipped: u64,
    generated_id: Option<u64>,
}

impl Session {
    /// LOAD DATA.
    pub(crate) async fn load_data(
        &mut self,
        statement: &LoadData,
        request: Request<'_>,
        context: &Arc<StatementContext>,
        writer: &mut dyn ResultWriter,
    ) -> Result<Outcome, Failure> {
        count(&self.process.status.load);
        self.check_writable()?;
        if statement.xml {
            return Err(SqlError::unsupported("LOAD XML").into());
        }
        let load = self.prepare_load(statement, request, context)?;
        self.begin_statement_transaction();
        let options = self.dml_options(self.lock_wait());
        let (sender, receiver) = mpsc::channel(CHUNKS_AHEAD);
        let shared = self.shared.clone();
        let (task_context, session) = (context.clone(), self.process.id);
        let catalog = self.shared.catalog.load();
        let Some(mut transaction) = self.transaction.take() else {
            return Err(SqlError::internal("a statement without its transaction").into());
        };
        let task = self.shared.runtime.pool().spawn_blocking(move || {
            let result = run_load(&shared, &task_context, catalog, &mut transaction, options, load, receiver, session);
            (transaction, result)
        });
        let fed = self.feed(statement, sender, writer).await;
        let joined = task.await;
        let result = match joined {
            Ok((transaction, result)) => {
                self.transaction.put_back(transaction);
                result
            }
            Err(error) => Err(SqlError::internal(format_args!("loading failed: {error}"))),
        };
        fed?;
        let loaded = result?;
        if let Some(id) = loaded.generated_id {
            context.last_insert_id.store(id, std::sync::atomic::Ordering::Relaxed);
        }
        let stored = loaded.records - loaded.skipped;
        Ok(Outcome::Ok(OkInfo {
            affected_rows: stored + loaded.deleted,
            last_insert_id: loaded.generated_id.unwrap_or(0),
            info: format!(
                "Records: {}  Deleted: {}  Skipped: {}  Warnings: ",
                loaded.records, loaded.deleted, loaded.skipped
            ),
        }))
    }

    /// Sends the text to the loading thread until its end or until that thread stops.
    async fn feed(
        &mut self,
        statement: &LoadData,
        sender: mpsc::Sender<Vec<u8>>,
        writer: &mut dyn ResultWriter,
    ) -> Result<(), SqlError> {
        if !statement.local {
            let path = self.server_file(&statement.path)?;
            return self
                .blocking(move |_| {
                    let failed = |error: std::io::Error| {
                        let number = error.raw_os_error().unwrap_or(0);
                        let code = ErrorCode::FileOpen;
                        SqlError::with_message(
                            code,
                            format!("File '{}' not found (OS errno {number} - {error})", path.display()),
                        )
                    };
                    let mut file = std::fs::File::open(&path).map_err(failed)?;
                    loop {
                        let mut chunk = vec![0; CHUNK_BYTES];
                        let length = file.read(&mut chunk).map_err(failed)?;
                        chunk.truncate(length);
                        if length == 0 || sender.blocking_send(chunk).is_err() {
                            return Ok(());
                        }
                    }
                })
                .await;
        }
        let allowed = Values(&self.shared.globals.load_values()).on(ids::LOCAL_INFILE) && self.info.local_files;
        if !allowed {
            return Err(SqlError::new(ErrorCode::LocalInfileDisabled, &[]));
        }
        writer.local_infile(&statement.path).await?;
        let mut failed = None;
        // The client sends its file whatever happens here: it is read to the end.
        while let Some(chunk) = writer.local_infile_chunk().await? {
            if failed.is_none() && sender.send(chunk).await.is_err() {
                failed = Some(());
            }
        }
        Ok(())
    }

    fn prepare_load(
        &self,
        statement: &LoadData,
        request: Request<'_>,
        context: &Arc<StatementContext>,
    ) -> SqlResult<Load> {
        let catalog = self.shared.catalog.load();
        let ignore = statement.duplicates == LoadDuplicates::Ignore
            || (statement.local && statement.duplicates == LoadDuplicates::Default);
        let mut names: Vec<Ident> = Vec::new();
        let mut targets = Vec::new();
        for column in &statement.columns {
            match column {
                VariableTarget::User(name) => targets.push(Target::Variable(NameKey::new(name))),
                VariableTarget::Local(ColumnName { column, .. }) => {
                    targets.push(Target::Column { position: names.len(), kind: FieldKind::Text });
                    names.push(column.clone());
                }
            }
        }
        let given = !statement.columns.is_empty();
        let definition = self.load_definition(statement, &catalog)?;
        if !given {
            for column in definition.columns.iter().filter(|column| !column.invisible) {
                targets.push(Target::Column { position: names.len(), kind: FieldKind::Text });
                names.push(Ident::new(column.name.as_str()));
            }
        }
        let first_assigned = names.len();
        names.extend(statement.assignments.iter().map(|assignment| assignment.column.column.clone()));
        let insert = Statement::Insert(Box::new(Insert {
            replace: statement.duplicates == LoadDuplicates::Replace,
            hints: None,
            priority: None,
            ignore,
            table: statement.table.clone(),
            partitions: statement.partitions.clone(),
            source: InsertSource::Values(vec![vec![Expr::Default; names.len()]]),
            columns: names,
            row_alias: None,
            on_duplicate: Vec::new(),
            returning: Vec::new(),
        }));
        self.check_change_privileges(&insert)?;
        self.declare_variables(&targets);
        let tables = crate::query::SessionTables::new(self, context, None);
        // The text tells the binder that variables change from row to row.
        let binder = self.binder(b":=", request.parameters, &catalog, context, &tables);
        let dml = DmlBinder { binder: &binder, store: &self.shared.store, rules: &self.shared.rules };
        let Statement::Insert(insert) = &insert else { return Err(SqlError::internal("not an INSERT")) };
        let plan = dml.bind_insert(insert)?;
        let definition = plan.target.def().clone();
        let scope = [RowTable::of(&plan.target.database, &plan.target.alias, &definition)];
        let mut assignments = Vec::with_capacity(statement.assignments.len());
        for (at, assignment) in statement.assignments.iter().enumerate() {
            let expr = match &assignment.value {
                Expr::Default => None,
                value => Some(binder.bind_expr(value, &scope)?),
            };
            assignments.push((first_assigned + at, expr));
        }
        let charset = match &statement.charset {
            Some(name) => crate::charset::charset(name)?,
            None => {
                let values = Values(&self.variables.session);
                crate::charset::charset(values.text(ids::CHARACTER_SET_DATABASE)).unwrap_or(Charset::Utf8mb4)
            }
        };
        for target in &mut targets {
            if let Target::Column { position, kind } = target {
                *kind = match &definition.columns[plan.columns[*position]].sql_type {
                    SqlType::Bit { .. } => FieldKind::Binary,
                    sql_type if sql_type.is_binary_string() => FieldKind::Binary,
                    SqlType::Int { .. } if matches!(charset, Charset::Utf8mb4 | Charset::Utf8mb3) => FieldKind::Integer,
                    _ => FieldKind::Text,
                };
            }
        }
        let format = Format::new(&statement.format);
        if format.fields_terminated.is_empty() && format.enclosed.is_none() {
            return Err(SqlError::unsupported("LOAD DATA of fields with fixed widths"));
        }
        let bulk_allowed = self.reads_committed_now()
            && statement.duplicates != LoadDuplicates::Replace
            && definition.foreign_keys.is_empty()
            && !definition.temporary;
        Ok(Load {
            plan,
            targets,
            assignments,
            charset,
            format,
            skip: statement.ignore_lines,
            ignore,
            strict: self.settings.sql_mode.is_strict() && !ignore,
            bulk_allowed,
            text: text_type(),
            bytes: SqlType::longtext(CollationId::BINARY),
        })
    }

    fn load_definition(
        &self,
        statement: &LoadData,
        catalog: &squall_catalog::Catalog,
    ) -> SqlResult<Arc<squall_catalog::TableDef>> {
        if let Some(table) = self.temporary_table_named(&statement.table) {
            return Ok(table);
        }
        let name = self.qualify(&statement.table)?;
        crate::ddl::execute::base_table(catalog, &name).cloned()
    }

    /// Variables that the file fills are texts.
    fn declare_variables(&self, targets: &[Target]) {
        let mut variables = self.user_variables.lock();
        for target in targets {
            if let Target::Variable(name) = target {
                variables.insert(name.clone(), (Value::Null, text_type()));
            }
        }
    }
}

fn text_type() -> SqlType {
    SqlType::longtext(CollationId::UTF8MB4_0900_AI_CI)
}

#[expect(clippy::too_many_arguments, reason = "everything that the loading thread is given")]
fn run_load(
    shared: &Shared,
    context: &Arc<StatementContext>,
    catalog: Arc<squall_catalog::Catalog>,
    transaction: &mut Transaction,
    options: squall_planner::dml::DmlOptions,
    load: Load,
    mut receiver: mpsc::Receiver<Vec<u8>>,
    session: u64,
) -> SqlResult<Loaded> {
    let view = transaction.read_view();
    let env = Arc::new(StatementEnv::new(context.clone(), catalog, (*shared.store).clone(), Some(view)));
    let savepoint = transaction.savepoint();
    let mut dml = DmlContext {
        env: &env,
        runtime: &shared.runtime,
        transaction,
        parameters: &[],
        options,
        rules: &shared.rules,
        registry: &shared.registry,
    };
    let result = load_rows(shared, context, &mut dml, &load, &mut receiver, session, options.lock_wait);
    if result.is_err() && !dml.transaction.is_aborted() {
        dml.transaction.rollback_to(savepoint);
    }
    result
}

fn load_rows(
    shared: &Shared,
    context: &Arc<StatementContext>,
    dml: &mut DmlContext<'_>,
    load: &Load,
    receiver: &mut mpsc::Receiver<Vec<u8>>,
    session: u64,
    wait: LockWait,
) -> SqlResult<Loaded> {
    debug_assert!(matches!(load.plan.source, InsertRows::Values(_)), "an INSERT of values was bound");
    let mut first = Vec::new();
    let mut ended = false;
    while first.len() < BULK_BYTES_MIN && !ended {
        match receiver.blocking_recv() {
            Some(chunk) => first.extend_from_slice(&chunk),
            None => ended = true,
        }
    }
    let mut inserter = Inserter::new(dml, &load.plan, false);
    if load.bulk_allowed && first.len() >= BULK_BYTES_MIN {
        inserter.begin_bulk(shared.store.bulk_load(&load.plan.target.table));
    }
    let reader = LineReader::new(load.format.clone(), load.skip);
    let mut records = 0;
    let (sender, batches) = std::sync::mpsc::sync_channel(CHUNKS_AHEAD);
    std::thread::scope(|scope| -> SqlResult<()> {
        // Cutting lines into fields takes a good part of the time, so it has a thread of its own.
        scope.spawn(move || cut_batches(reader, first, ended, receiver, &sender));
        for rows in batches {
            for row in rows.iter() {
                records += 1;
                store_row(context, load, &mut inserter, row, records)?;
            }
        }
        Ok(())
    })?;
    let duplicates = inserter.duplicates();
    let bulk = inserter.take_bulk();
    let result = inserter.finish(true);
    let mut loaded = Loaded { records, generated_id: result.generated_id, ..Default::default() };
    if let Some(bulk) = bulk {
        let on_duplicate = if load.ignore { OnDuplicate::Skip } else { OnDuplicate::Fail };
        let outcome = bulk.finish(session, wait, on_duplicate).map_err(SqlError::from)?;
        loaded.skipped = outcome.skipped.len() as u64;
        for row in outcome.skipped {
            let message =
                format!("Duplicate entry in row {} for key of table '{}'", row + 1, load.plan.target.def().name);
            context.diagnostics.warn(SqlError::with_message(ErrorCode::DuplicateEntry, message));
        }
    } else if load.ignore {
        loaded.skipped = duplicates;
    } else {
        loaded.deleted = duplicates;
    }
    Ok(loaded)
}

/// Cuts the text into batches of rows until it ends or nobody takes them any more.
fn cut_batches(
    mut reader: LineReader,
    mut chunk: Vec<u8>,
    mut ended: bool,
    receiver: &mut mpsc::Receiver<Vec<u8>>,
    sender: &std::sync::mpsc::SyncSender<Rows>,
) {
    loop {
        reader.feed(&chunk, ended);
        let mut rows = Rows::default();
        reader.cut_rows(&mut rows);
        if (!rows.is_empty() && sender.send(rows).is_err()) || ended {
            return;
        }
        match receiver.blocking_recv() {
            Some(next) => chunk = next,
            None => {
                chunk = Vec::new();
                ended = true;
            }
        }
    }
}

/// A number written as digits only, with a sign at most, that is sure to fit.
fn plain_integer(field: &[u8]) -> Option<i64> {
    let (negative, digits) = match field {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0'));
    Some(if negative { -number } else { number })
}

fn store_row(
    context: &Arc<StatementContext>,
    load: &Load,
    inserter: &mut Inserter<'_, '_, '_>,
    row: Row<'_>,
    number: u64,
) -> SqlResult<()> {
    check_field_count(context, load, row.len(), number)?;
    let definition = load.plan.target.def();
    let (text, bytes) = (&load.text, &load.bytes);
    let mut values: Vec<Option<(Value, &SqlType)>> = vec![None; load.plan.columns.len()];
    let mut fields = row.fields();
    for target in &load.targets {
        let field = fields.next();
        match target {
            Target::Column { position, kind } => {
                let Some(field) = field else { continue };
                let integer = || (*kind == FieldKind::Integer).then(|| field.and_then(plain_integer)).flatten();
                values[*position] = Some(match (field, kind, integer()) {
                    (None, ..) => (Value::Null, &SqlType::Null),
                    (_, _, Some(number)) => (Value::Int(number), &SqlType::BIGINT),
                    (Some(field), FieldKind::Binary, _) => (Value::Bytes(field.to_vec()), bytes),
                    (Some(field), ..) => (Value::String(decode(load.charset, field)), text),
                });
            }
            Target::Variable(name) => {
                let value = match field.flatten() {
                    Some(field) => Value::String(decode(load.charset, field)),
                    None => Value::Null,
                };
                context.user_variables.lock().insert(name.clone(), (value, text_type()));
            }
        }
    }
    let mut types = Vec::with_capacity(load.assignments.len());
    if !load.assignments.is_empty() {
        let mut so_far = vec![Value::Null; definition.columns.len()];
        for (position, value) in values.iter().enumerate() {
            if let Some((value, from)) = value {
                let ordinal = load.plan.columns[position];
                let column = &definition.columns[ordinal];
                let conversion = ConversionContext {
                    mode: context.sql_mode,
                    time_zone: &context.time_zone,
                    current_date: Date::ZERO,
                    column: &column.name,
                    row: number,
                };
                // What is wrong with a value is said when it is stored.
                so_far[ordinal] = store_value(value.clone(), from, &column.sql_type, &conversion).value;
            }
        }
        for (position, expr) in &load.assignments {
            let Some(expr) = expr else { continue };
            let source = ParameterisedRow { row: so_far.as_slice(), parameters: &[] };
            types.push((*position, expr.eval(&source, context)?, expr.sql_type()));
        }
    }
    for (position, value, sql_type) in &types {
        values[*position] = Some((value.clone(), sql_type));
    }
    inserter.insert_values(values.into_iter()).map_err(SqlError::from)
}

fn check_field_count(context: &StatementContext, load: &Load, fields: usize, number: u64) -> SqlResult<()> {
    let code = match fields.cmp(&load.targets.len()) {
        std::cmp::Ordering::Equal => return Ok(()),
        std::cmp::Ordering::Less => ErrorCode::WarnTooFewRecords,
        std::cmp::Ordering::Greater => ErrorCode::WarnTooManyRecords,
    };
    let error = SqlError::new(code, &[&number]);
    if load.strict {
        return Err(error);
    }
    context.diagnostics.warn(error);
    Ok(())
}

fn decode(charset: Charset, bytes: &[u8]) -> String {
    if matches!(charset, Charset::Utf8mb4 | Charset::Utf8mb3) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    charset.decode(bytes).text.into_owned()
}
