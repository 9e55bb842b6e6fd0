//! information_schema, performance_schema and data_dictionary: tables made from the catalog, the variables, the process list and what is counted
//! when they are read; and definitions as SHOW CREATE shows them.
//!
//! Knows: [`ServerState`]. Must not know: sessions, which it asks through [`Server`].

mod column_segments;
mod columns;
mod constraints;
pub mod create_table;
mod described;
mod files;
mod jobs;
mod locks;
mod logs;
mod memory_parts;
mod performance;
mod performance_empty;
mod performance_events;
mod performance_files;
mod performance_objects;
mod performance_replication;
mod performance_sessions;
mod performance_setup;
mod performance_sockets;
mod performance_sums;
mod performance_truncate;
mod performance_waits;
mod plain;
pub mod quoting;
mod server;
mod statistics;
mod tables;
pub mod type_text;
mod variable_items;

pub use columns::{column_default, column_key, column_privileges, extra, type_facts};
pub use performance_truncate::{is_counted_table, truncate};
pub use server::{charsets, collation_rows, engine_rows, process_rows, status_rows, variable_rows};
pub use statistics::index_rows;

use squall_catalog::{AccessMap, Catalog, ColumnDef, ViewDef};
use squall_instrumentation::process::Process;
use squall_registry::{Registry, StatementContext, VirtualChange, VirtualColumn, VirtualScan, VirtualTable};
use squall_server_state::ServerState;
use squall_types::{CollationId, IntWidth, SqlError, SqlResult, SqlType, StringKind, TextSize, Value};
use std::sync::{Arc, Weak};

/// The database of performance tables.
pub const PERFORMANCE: &str = "performance_schema";

/// Databases that are not in the catalog.
const VIRTUAL_DATABASES: &[&str] = &["data_dictionary", "information_schema", "performance_schema"];

/// The proper name of a database without storage, whatever its case.
pub fn virtual_database(name: &str) -> Option<&'static str> {
    VIRTUAL_DATABASES.iter().find(|database| database.eq_ignore_ascii_case(name)).copied()
}

/// All databases without storage.
pub fn virtual_databases() -> &'static [&'static str] {
    VIRTUAL_DATABASES
}

/// Those tables of performance_schema that everybody may read, as in MySQL. Where they tell of connections, it is of those that the reader may see.
const PUBLIC_TABLES: [&str; 10] = [
    "global_status",
    "global_variable_attributes",
    "global_variables",
    "persisted_variables",
    "processlist",
    "session_account_connect_attrs",
    "session_status",
    "session_variables",
    "variables_info",
    "variables_metadata",
];

/// Whether everybody may read a table: of information_schema and data_dictionary all, which tell everybody of what he may see.
pub fn is_public(database: &str, table: &str) -> bool {
    match virtual_database(database) {
        Some(PERFORMANCE) => PUBLIC_TABLES.iter().any(|name| name.eq_ignore_ascii_case(table)),
        database => database.is_some(),
    }
}

/// Whether a table tells of the files and transactions of all accounts, so that reading it needs PROCESS.
pub fn needs_process(database: &str, table: &str) -> bool {
    database == "information_schema"
        && (table.eq_ignore_ascii_case("FILES")
            || table.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("INNODB_")))
}

/// What the rows are made from.
pub struct Source<'a> {
    /// What is known below sessions.
    pub state: &'a ServerState,
    /// What only sessions know.
    pub server: &'a dyn Server,
    /// The catalog as it is now.
    pub catalog: Arc<Catalog>,
    /// What the reader may see.
    pub access: AccessMap,
    /// The statement that reads.
    pub context: &'a Arc<StatementContext>,
}

impl<'a> Source<'a> {
    /// As the account of a statement sees it.
    pub fn of(server: &'a dyn Server, context: &'a Arc<StatementContext>) -> Source<'a> {
        let state = server.state();
        Source { state, server, catalog: state.catalog.load(), access: state.access_of(context), context }
    }
}

impl Source<'_> {
    /// The connection that reads.
    pub fn process(&self) -> Option<Arc<Process>> {
        self.state.processes.get(self.context.connection_id)
    }

    /// Whether another connection may be seen.
    pub fn sees_process(&self, process: &Process) -> bool {
        let user = self.context.user.rsplit_once('@').map_or(&*self.context.user, |(user, _)| user);
        process.user == user || self.access.global.contains(squall_catalog::Privileges::PROCESS)
    }
}

/// What the tables ask of the parts of a server that are above them.
pub trait Server: Send + Sync {
    /// The parts below.
    fn state(&self) -> &ServerState;

    /// How much the cache of plans of all sessions has.
    fn plan_cache_size(&self) -> PlanCacheSize;

    /// Status variables of modules.
    fn module_status(&self) -> Vec<(String, String)>;

    /// The columns of a view, found by binding it; `None` if it refers to what is gone.
    fn columns_of_view(
        &self,
        catalog: &Catalog,
        context: &Arc<StatementContext>,
        name: (&str, &str),
        view: &ViewDef,
    ) -> Option<Vec<ColumnDef>>;
}

/// How much the cache of plans has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanCacheSize {
    /// Statements.
    pub entries: u64,
    /// Bytes that they take, about.
    pub bytes: u64,
    /// How many had to go for others.
    pub evictions: u64,
}

/// A table of `mysql` that the server writes, whatever privileges say.
pub fn is_system_table(database: &str, table: &str) -> bool {
    database == "mysql" && matches!(table, "job" | "job_output")
}

/// Makes the rows of a table.
type MakeRows = fn(&Source<'_>, &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>>;

/// Makes the rows of a table that is declared above.
pub type RowsOf = Box<dyn Fn(&Source<'_>, &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> + Send + Sync>;

/// One of the tables.
struct InformationTable {
    server: Weak<dyn Server>,
    database: &'static str,
    name: &'static str,
    columns: Vec<VirtualColumn>,
    rows: RowsOf,
    /// Carries a change out, if it takes any.
    change: Option<performance_setup::Change>,
}

impl std::fmt::Debug for InformationTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InformationTable").field("name", &self.name).finish_non_exhaustive()
    }
}

impl VirtualTable for InformationTable {
    fn database(&self) -> &str {
        self.database
    }

    fn name(&self) -> &str {
        self.name
    }

    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }

    fn rows(&self, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
        let server = self.server.upgrade().ok_or_else(|| SqlError::internal("the database is closing"))?;
        (self.rows)(&Source::of(&*server, scan.context), scan)
    }

    fn takes_changes(&self) -> bool {
        self.change.is_some()
    }

    fn change(&self, change: VirtualChange<'_>, _context: &StatementContext) -> SqlResult<()> {
        let server = self.server.upgrade().ok_or_else(|| SqlError::internal("the database is closing"))?;
        match self.change {
            Some(carry_out) => carry_out(server.state(), change),
            None => Err(SqlError::internal("a table that takes no changes")),
        }
    }
}

/// Declares all tables.
pub fn register(registry: &mut Registry, server: &Weak<dyn Server>) {
    let lists = [
        tables::TABLES,
        columns::TABLES,
        statistics::TABLES,
        constraints::TABLES,
        server::TABLES,
        plain::TABLES,
        files::TABLES,
        jobs::TABLES,
        logs::TABLES,
        column_segments::TABLES,
        performance::TABLES,
        locks::TABLES,
        variable_items::TABLES,
    ];
    for spec in lists.into_iter().flatten() {
        register_table(registry, server, spec, Box::new(spec.rows));
    }
    let empty = performance_empty::TABLES
        .iter()
        .chain(performance_replication::TABLES)
        .map(|(name, columns)| (*name, *columns, no_rows as MakeRows));
    let live = [
        performance_events::TABLES,
        performance_files::TABLES,
        performance_objects::TABLES,
        performance_sessions::TABLES,
        performance_setup::TABLES,
        performance_sockets::TABLES,
        performance_sums::TABLES,
        performance_waits::TABLES,
    ];
    let live = live.into_iter().flatten().copied();
    for (name, columns, rows) in empty.chain(live) {
        let (server, columns, rows) = (server.clone(), described::columns(columns), Box::new(rows));
        let (database, change) = (PERFORMANCE, performance_setup::change_of(name));
        registry.register_virtual_table(Arc::new(InformationTable { server, database, name, columns, rows, change }));
    }
}

/// Declares a table.
pub fn register_table(registry: &mut Registry, server: &Weak<dyn Server>, spec: &TableSpec, rows: RowsOf) {
    registry.register_virtual_table(Arc::new(InformationTable {
        server: server.clone(),
        database: spec.database,
        name: spec.name,
        columns: spec.columns.iter().map(ColumnSpec::column).collect(),
        rows,
        change: performance_setup::change_of(spec.name).filter(|_| spec.database == PERFORMANCE),
    }));
}

/// A table as it is declared in a [short form](described): name, columns, rows.
type DescribedTable = (&'static str, &'static str, MakeRows);

/// A table as it is declared.
pub struct TableSpec {
    /// Its database.
    pub database: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its columns.
    pub columns: &'static [ColumnSpec],
    /// Makes its rows; [`no_rows`] where [`register_table`] is given what does.
    pub rows: MakeRows,
}

/// A column as it is declared.
pub struct ColumnSpec {
    name: &'static str,
    kind: ColumnKind,
    nullable: bool,
}

/// The few types that the tables need.
#[derive(Clone, Copy)]
enum ColumnKind {
    Text(u32),
    LongText,
    MediumText,
    Int,
    UInt,
    SmallUInt,
    Time,
    Moment,
    Duration,
    Int32,
    Blob,
    Double,
    Bool,
    Enum(&'static [&'static str]),
    Json,
}

/// NOT NULL text.
pub const fn text(name: &'static str, length: u32) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::Text(length), nullable: false }
}

/// NOT NULL long text.
pub const fn long_text(name: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::LongText, nullable: false }
}

/// NOT NULL MEDIUMTEXT.
pub const fn medium_text(name: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::MediumText, nullable: false }
}

/// NOT NULL BIGINT.
pub const fn int(name: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::Int, nullable: false }
}

/// NOT NULL BIGINT UNSIGNED.
pub const fn uint(name: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::UInt, nullable: false }
}

/// NOT NULL INT UNSIGNED.
pub const fn small_uint(name: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::SmallUInt, nullable: false }
}

/// NOT NULL TIMESTAMP.
pub const fn time(name: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::Time, nullable: false }
}

/// NOT NULL TIMESTAMP(6).
pub const fn moment(name: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::Moment, nullable: false }
}

/// NOT NULL TIME(6).
pub const fn duration(name: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::Duration, nullable: false }
}

/// NOT NULL INT.
pub const fn int32(name: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::Int32, nullable: false }
}

/// NOT NULL MEDIUMBLOB.
pub const fn blob(name: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::Blob, nullable: false }
}

/// NOT NULL DOUBLE.
pub const fn double(name: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::Double, nullable: false }
}

/// NOT NULL ENUM.
pub const fn choice(name: &'static str, words: &'static [&'static str]) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::Enum(words), nullable: false }
}

/// NOT NULL JSON.
pub const fn json(name: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::Json, nullable: false }
}

impl ColumnKind {
    fn sql_type(self) -> SqlType {
        let collation = CollationId::UTF8MB3_GENERAL_CI;
        match self {
            ColumnKind::Text(length) => SqlType::varchar(length, collation),
            ColumnKind::LongText => {
                SqlType::String { kind: StringKind::Text(TextSize::Long), length: u32::MAX, collation }
            }
            ColumnKind::MediumText => {
                SqlType::String { kind: StringKind::Text(TextSize::Medium), length: (1 << 24) - 1, collation }
            }
            ColumnKind::Int => SqlType::BIGINT,
            ColumnKind::UInt => SqlType::BIGINT_UNSIGNED,
            ColumnKind::SmallUInt => {
                SqlType::Int { width: IntWidth::Int, unsigned: true, zerofill: false, display_width: None }
            }
            ColumnKind::Time => SqlType::DateTime { fsp: 0 },
            ColumnKind::Moment => SqlType::Timestamp { fsp: 6 },
            ColumnKind::Duration => SqlType::Time { fsp: 6 },
            ColumnKind::Int32 => SqlType::INT,
            ColumnKind::Bool => SqlType::BOOL,
            ColumnKind::Double => SqlType::DOUBLE,
            ColumnKind::Blob => SqlType::String {
                kind: StringKind::Text(TextSize::Medium),
                length: (1 << 24) - 1,
                collation: CollationId::BINARY,
            },
            // Shown as the words themselves; a VARCHAR keeps comparisons those of text.
            ColumnKind::Enum(words) => {
                let longest = words.iter().map(|word| word.len()).max().unwrap_or(1);
                SqlType::varchar(longest as u32, collation)
            }
            ColumnKind::Json => SqlType::Json,
        }
    }
}

impl ColumnSpec {
    /// NULL can come out.
    pub const fn or_null(mut self) -> Self {
        self.nullable = true;
        self
    }

    fn column(&self) -> VirtualColumn {
        let sql_type = self.kind.sql_type();
        VirtualColumn { name: self.name.into(), sql_type, nullable: self.nullable, invisible: false }
    }
}

/// A text value.
pub fn s(text: impl Into<String>) -> Value {
    Value::String(text.into())
}

/// An unsigned value.
pub fn u(number: u64) -> Value {
    Value::UInt(number)
}

/// A text or NULL.
pub fn s_or_null(text: Option<impl Into<String>>) -> Value {
    text.map_or(Value::Null, |text| Value::String(text.into()))
}

/// `YES` or `NO`.
pub fn yes_no(yes: bool) -> Value {
    Value::from(if yes { "YES" } else { "NO" })
}

/// Tables without rows.
pub fn no_rows(_source: &Source<'_>, _scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    Ok(Vec::new())
}

/// Microseconds since 1970 as the session's local time.
pub fn local_time(context: &StatementContext, micros: i64) -> Value {
    let zone = &context.settings.time_zone;
    zone.from_unix_micros(micros - micros.rem_euclid(1_000_000)).map_or(Value::Null, Value::DateTime)
}

/// The same with its microseconds.
pub fn local_micros(context: &StatementContext, micros: i64) -> Value {
    context.settings.time_zone.from_unix_micros(micros).map_or(Value::Null, Value::DateTime)
}
