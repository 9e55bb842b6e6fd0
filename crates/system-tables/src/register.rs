//! Registers the tables.

use crate::names::PERFORMANCE;
use crate::source::{Server, Source};
use crate::spec::{ColumnSpec, MakeRows, RowsOf, TableSpec, no_rows};
use crate::{
    column_segments, columns, constraints, described, dictionary, events, files, grant_tables, help, innodb, jobs,
    locks, logs, ndbinfo, performance, performance_empty, performance_events, performance_files, performance_objects,
    performance_replication, performance_sessions, performance_setup, performance_sockets, performance_sums,
    performance_waits, plain, plan_cache, roles, routines, server, server_lists, sessions, spatial, statistics, tables,
    triggers, usage, variable_items, variables,
};
use squall_registry::{Registry, VirtualChange, VirtualColumn, VirtualScan, VirtualTable};
use squall_statement_context::StatementContext;
use squall_types::{SqlError, SqlResult, Value};
use std::sync::{Arc, Weak};

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

    fn change(&self, change: VirtualChange<'_>, context: &StatementContext) -> SqlResult<()> {
        let server = self.server.upgrade().ok_or_else(|| SqlError::internal("the database is closing"))?;
        match self.change {
            Some(carry_out) => carry_out(server.state(), change, context),
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
        triggers::TABLES,
        events::TABLES,
        routines::TABLES,
        plan_cache::TABLES,
        server::TABLES,
        sessions::TABLES,
        plain::TABLES,
        files::TABLES,
        grant_tables::TABLES,
        help::TABLES,
        server_lists::TABLES,
        jobs::TABLES,
        logs::TABLES,
        column_segments::TABLES,
        performance::TABLES,
        locks::TABLES,
        variable_items::TABLES,
        variables::TABLES,
        roles::TABLES,
        spatial::TABLES,
        usage::TABLES,
    ];
    for spec in lists.into_iter().flatten().chain(innodb::tables()).chain(dictionary::tables()) {
        register_table(registry, server, spec, Box::new(spec.rows));
    }
    register_ndbinfo(registry, server);
    dictionary::generators::register(registry);
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

/// Declares the views of ndbinfo.
fn register_ndbinfo(registry: &mut Registry, server: &Weak<dyn Server>) {
    for view in ndbinfo::views() {
        registry.register_virtual_table(Arc::new(InformationTable {
            server: server.clone(),
            database: ndbinfo::DATABASE,
            name: view.name,
            columns: described::columns(view.columns),
            rows: Box::new(view.rows),
            change: None,
        }));
    }
}

/// Declares a table.
fn register_table(registry: &mut Registry, server: &Weak<dyn Server>, spec: &TableSpec, rows: RowsOf) {
    registry.register_virtual_table(Arc::new(InformationTable {
        server: server.clone(),
        database: spec.database,
        name: spec.name,
        columns: spec.columns.iter().map(ColumnSpec::column).collect(),
        rows,
        change: performance_setup::change_of(spec.name).filter(|_| spec.database == PERFORMANCE),
    }));
}
