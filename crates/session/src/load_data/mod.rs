//! LOAD DATA [LOCAL] INFILE, and LOAD XML.
//!
//! The file's text comes through a bounded channel, from the client or from a file of the server ([`feed`]), to a thread that may block
//! ([`run`]). A small file is split into fields ([`reader`]) and stored row by row in the session's transaction. Formats whose fields
//! have names are converted to such text first ([`named`], [`xml`]). A large file goes into a bulk load, which becomes visible as a
//! whole. Its text is split into blocks of whole rows ([`split`]), and several threads make stored rows of them ([`parallel`],
//! [`convert`]).

mod convert;
mod feed;
mod named;
mod parallel;
mod reader;
mod rows;
mod run;
mod split;
mod text;
mod xml;

use crate::query::{Filling, Format, later_values};
use crate::result::writer::{OkInfo, ResultWriter};
use crate::result::{Failure, Outcome};
use crate::session::{Session, SessionState, StatementRun};
use run::run_load;
use squall_catalog::{Authorized, NameKey, TableDef};
use squall_functions::expr::BoundExpr;
use squall_instrumentation::process::Transfer;
use squall_parser::ast::{Expr, Ident, LoadData, LoadDuplicates, LoadSource, VariableTarget};
use squall_planner::Binder;
use squall_planner::bind::RowTable;
use squall_planner::dml::{InsertPlan, RowEvent, WayOptions, Ways};
use squall_planner::needs;
use squall_server_state::variables::{Values, ids};
use squall_types::collation::Charset;
use squall_types::{CollationId, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;
use text::LoadContext;
use tokio::sync::mpsc;
use xml::XmlRows;

/// Pieces of text that may wait.
const CHUNKS_AHEAD: usize = 4;

/// A place that fields of the file go to.
enum Target {
    /// Position among the columns of the plan, with its charset rules.
    Column {
        position: usize,
        kind: FieldKind,
    },
    Variable(NameKey),
}

impl Target {
    fn kind(&self) -> FieldKind {
        match self {
            Target::Column { kind, .. } => *kind,
            Target::Variable(_) => FieldKind::Text,
        }
    }
}

/// How a column reads a field's bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldKind {
    /// Text in the file's character set.
    Text,
    /// Bytes as they are.
    Binary,
    /// Bytes as they are, of a BIT column.
    Bits,
    /// Text of a JSON document.
    Json,
    /// A number, as a rule of plain digits; text if it is anything else.
    Integer,
}

impl FieldKind {
    /// The kind of a column's fields in a file of this character set.
    fn of(sql_type: &SqlType, charset: Charset) -> FieldKind {
        match sql_type {
            SqlType::Bit { .. } => FieldKind::Bits,
            SqlType::Json => FieldKind::Json,
            sql_type if sql_type.is_binary_string() => FieldKind::Binary,
            SqlType::Int { .. } if matches!(charset, Charset::Utf8mb4 | Charset::Utf8mb3) => FieldKind::Integer,
            _ => FieldKind::Text,
        }
    }
}

/// The assignment of SET to a column: its position among the columns of the plan, and the expression with its type; `None`
/// is DEFAULT.
type LoadAssignment = (usize, Option<(BoundExpr, SqlType)>);

/// The state of the loading thread.
struct Load {
    plan: Authorized<InsertPlan>,
    targets: Vec<Target>,
    assignments: Vec<LoadAssignment>,
    charset: Charset,
    format: Format,
    skip: u64,
    ignore: bool,
    strict: bool,
    ways: Ways,
    /// Rows that may be left out because they cannot be stored; `None` if the first one is an error.
    reject_limit: Option<u64>,
    /// The type of a field's text before it is converted.
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
        run: &StatementRun<'_>,
        writer: &mut dyn ResultWriter,
    ) -> Result<Outcome, Failure> {
        if self.security().temporary_table_named(&statement.table).is_none() {
            self.check_writable()?;
        }
        if statement.named_format.is_some()
            && let Some(name) = &statement.charset
            && Charset::named(name)? != Charset::Utf8mb4
        {
            return Err(SqlError::unsupported("LOAD DATA with FORMAT in another CHARACTER SET").into());
        }
        let named = match statement.named_format {
            Some(format) => Some(self.open_named(statement, format, &run.context, writer).await?),
            None => None,
        };
        let with_columns = named.as_ref().map(|file| file.with_columns(statement));
        let statement = with_columns.as_ref().unwrap_or(statement);
        let load = self.prepare_load(statement, run)?;
        let kinds: Vec<FieldKind> = load.targets.iter().map(Target::kind).collect();
        if statement.xml {
            xml::check(statement, load.charset)?;
        }
        let rows = statement.xml.then(|| XmlRows::new(statement, field_names(statement, &load)));
        self.begin_statement_transaction();
        let target = &load.plan.target;
        let used = (target.database.clone(), target.def().name.as_str().into());
        self.open_programs(&run.context, std::iter::once(used))?;
        let (sender, receiver) = mpsc::channel(CHUNKS_AHEAD);
        let loading = LoadContext {
            change: self.change_env(run, self.shared.catalog.load()),
            session: self.process.id,
            process: self.process.clone(),
        };
        let place = self.shared.runtime.waiting_threads().take()?;
        self.process.transfer.begin(Transfer::Loading);
        let Some(mut transaction) = self.transaction.take() else {
            return Err(SqlError::internal("a statement without its transaction").into());
        };
        self.lend_state(&run.context);
        let task = self.shared.runtime.spawn_waiting(place, move || {
            let result = run_load(&loading, &mut transaction, &load, receiver);
            (transaction, result)
        });
        let fed = match named {
            Some(file) => {
                let process = self.process.clone();
                let columns = named_columns(statement, &kinds);
                self.waiting(move |_| file.send(columns, &sender, &process)).await
            }
            None => self.feed(statement, rows, sender, &run.context, writer).await,
        };
        let joined = task.await;
        self.process.transfer.end();
        self.take_state_back(&run.context).await?;
        let result = match joined {
            Ok((transaction, result)) => {
                self.transaction.put_back(transaction);
                result
            }
            Err(error) => Err(SqlError::internal(format_args!("loading failed: {error}"))),
        };
        fed?;
        let loaded = result?;
        self.use_insert_id(loaded.generated_id);
        if let Some(id) = loaded.generated_id {
            run.context.last_insert_id.store(id, std::sync::atomic::Ordering::Relaxed);
        }
        let stored = loaded.records - loaded.skipped;
        Ok(Outcome::Ok(OkInfo {
            affected_rows: stored + loaded.deleted,
            last_insert_id: loaded.generated_id.unwrap_or(0),
            info: format!("Records: {}  Deleted: {}  Skipped: {}", loaded.records, loaded.deleted, loaded.skipped),
            tells_warnings: true,
        }))
    }

    fn prepare_load(&self, statement: &LoadData, run: &StatementRun<'_>) -> SqlResult<Load> {
        let catalog = self.shared.catalog.load();
        let ignore = statement.duplicates == LoadDuplicates::Ignore
            || (statement.source == LoadSource::Client
                && statement.duplicates == LoadDuplicates::Default
                && statement.reject_limit.is_none());
        if statement.reject_limit.is_some() && statement.duplicates != LoadDuplicates::Default {
            return Err(SqlError::unsupported("REJECT LIMIT together with IGNORE or REPLACE"));
        }
        let definition = self.load_definition(statement, &catalog)?;
        let (mut targets, mut names) = targets_of(statement, &definition);
        let first_assigned = names.len();
        names.extend(statement.assignments.iter().map(|assignment| assignment.column.column.clone()));
        let filling = Filling {
            table: &statement.table,
            partitions: &statement.partitions,
            columns: &names,
            duplicates: statement.duplicates,
            ignore,
        };
        self.declare_variables(&targets);
        let tables = crate::query::SessionTables::new(self, &run.context, None);
        // The text tells the binder that variables change from row to row.
        let binder = self.binder(b":=", run.request.parameters, &catalog, &run.context, &tables);
        let plan = self.bind_filling(&filling, later_values(&filling), &binder)?;
        let plan = self.security().authorize(plan)?;
        let assignments = self.bind_load_assignments(statement, &binder, &plan, first_assigned)?;
        let charset = self.load_charset(statement)?;
        let definition = plan.target.def().clone();
        for target in &mut targets {
            if let Target::Column { position, kind } = target {
                *kind = FieldKind::of(&definition.columns[plan.columns[*position]].sql_type, charset);
            }
        }
        let format = Format {
            null_text: statement.null_text.as_ref().map(|text| text.as_bytes().to_vec()),
            fields_min: if statement.trailing_nullcols { targets.len() } else { 0 },
            ..Format::new(&statement.format)
        };
        if format.fields_terminated.is_empty() && format.enclosed.is_none() {
            return Err(SqlError::unsupported("LOAD DATA of fields with fixed widths"));
        }
        let event = match statement.duplicates {
            LoadDuplicates::Replace => RowEvent::Replace,
            LoadDuplicates::Default | LoadDuplicates::Ignore => RowEvent::Insert,
        };
        let options = WayOptions {
            foreign_key_checks: self.settings.foreign_key_checks,
            alone: self.reads_committed_now(),
            calls_programs: run.context.programs.are_called(),
            // Threads that make rows take their values from the table's counter.
            one_by_one: self.settings.insert_id != 0,
            ..WayOptions::default()
        };
        let ways = plan.target.ways(event, options);
        if statement.reject_limit.is_some() && !ways.bulk {
            let feature =
                "REJECT LIMIT inside of a transaction, or for a TEMPORARY table or one with foreign keys or triggers";
            return Err(SqlError::unsupported(feature));
        }
        Ok(Load {
            plan,
            targets,
            assignments,
            charset,
            format,
            skip: statement.ignore_lines,
            ignore,
            strict: self.settings.bind.sql_mode.is_strict() && !ignore,
            ways,
            reject_limit: statement.reject_limit,
            text: text_type(),
            bytes: SqlType::longtext(CollationId::BINARY),
        })
    }

    /// Binds what SET gives columns, the first of which is at `first` among the columns of the plan.
    fn bind_load_assignments(
        &self,
        statement: &LoadData,
        binder: &Binder<'_>,
        plan: &InsertPlan,
        first: usize,
    ) -> SqlResult<Vec<LoadAssignment>> {
        let scope = [RowTable::of(&plan.target.database, &plan.target.alias, plan.target.def())];
        let mut assignments = Vec::with_capacity(statement.assignments.len());
        for (at, assignment) in statement.assignments.iter().enumerate() {
            let expr = match &assignment.value {
                Expr::Default => None,
                value => {
                    let expr = binder.bind_assigned(value, &scope)?;
                    self.security().check_needs(&needs::of_expr(&plan.target, &expr))?;
                    let sql_type = expr.sql_type();
                    Some((expr, sql_type))
                }
            };
            assignments.push((first + at, expr));
        }
        Ok(assignments)
    }

    fn load_definition(&self, statement: &LoadData, catalog: &squall_catalog::Catalog) -> SqlResult<Arc<TableDef>> {
        if let Some(table) = self.security().temporary_table_named(&statement.table) {
            return Ok(table);
        }
        let name = self.security().qualify(&statement.table)?;
        squall_definitions::execute::base_table(catalog, &name).cloned()
    }
}

impl SessionState {
    /// The character set of the file's text.
    fn load_charset(&self, statement: &LoadData) -> SqlResult<Charset> {
        match &statement.charset {
            _ if statement.named_format.is_some() => Ok(Charset::Utf8mb4),
            Some(name) => Charset::named(name),
            None => {
                let values = Values(&self.variables.session);
                Ok(Charset::named(values.text(ids::CHARACTER_SET_DATABASE)).unwrap_or(Charset::Utf8mb4))
            }
        }
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

/// The targets of the file's fields, and the names of the columns among them. Without a list of columns they are the table's.
fn targets_of(statement: &LoadData, definition: &TableDef) -> (Vec<Target>, Vec<Ident>) {
    let (mut targets, mut names) = (Vec::new(), Vec::new());
    let mut column = |name: Ident| {
        names.push(name);
        Target::Column { position: names.len() - 1, kind: FieldKind::Text }
    };
    for listed in &statement.columns {
        targets.push(match listed {
            VariableTarget::User(name) => Target::Variable(NameKey::new(name)),
            VariableTarget::Local(name) => column(name.column.clone()),
        });
    }
    if statement.columns.is_empty() {
        let visible = definition.columns.iter().filter(|column| !column.invisible);
        targets.extend(visible.map(|visible| column(Ident::new(visible.name.as_str()))));
    }
    (targets, names)
}

/// The names of a load's fields.
fn field_names(statement: &LoadData, load: &Load) -> Vec<String> {
    if !statement.columns.is_empty() {
        return statement.columns.iter().map(name_of).collect();
    }
    let definition = load.plan.target.def();
    let columns = load.plan.columns.iter().take(load.targets.len());
    columns.map(|ordinal| definition.columns[*ordinal].name.clone()).collect()
}

fn name_of(target: &VariableTarget) -> String {
    match target {
        VariableTarget::User(name) => name.to_string(),
        VariableTarget::Local(name) => name.column.as_str().to_owned(),
    }
}

/// The file's columns that a statement takes, and how their values are to be written for it.
fn named_columns(statement: &LoadData, kinds: &[FieldKind]) -> Vec<(String, squall_file_formats::FieldKind)> {
    use squall_file_formats::FieldKind as Written;
    let written = |kind: &FieldKind| match kind {
        FieldKind::Binary => Written::Bytes,
        FieldKind::Bits => Written::Bits,
        FieldKind::Json => Written::Json,
        FieldKind::Text | FieldKind::Integer => Written::Text,
    };
    statement.columns.iter().map(name_of).zip(kinds.iter().map(written)).collect()
}

fn text_type() -> SqlType {
    SqlType::longtext(CollationId::UTF8MB4_0900_AI_CI)
}
