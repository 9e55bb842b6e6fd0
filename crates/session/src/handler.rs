//! HANDLER … OPEN, READ and CLOSE: reads of a table step by step.

use crate::authorization::programs::tables_of_triggers;
use crate::query::SessionTables;
use crate::result::column_meta::columns;
use crate::result::writer::ResultWriter;
use crate::result::{Failure, Outcome};
use crate::session::{Session, SessionState, StatementRun};
use crate::state::open_handler::OpenHandler;
use squall_catalog::name::eq_ignore_case;
use squall_catalog::{Authorized, TableDef, TableEntry};
use squall_definitions::execute::{QualifiedName, missing};
use squall_executor::StatementEnv;
use squall_parser::ast::{self, FlushTarget, Handler, Ident, MaintenanceKind, ObjectName, Statement};
use squall_planner::handler::{HandlerRead, HandlerRows};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Tables that a session may have open at once.
const OPEN_MAX: usize = 1_000;

impl Session {
    /// HANDLER.
    pub(crate) async fn run_handler(
        &mut self,
        handler: &Handler,
        run: &StatementRun<'_>,
        writer: &mut dyn ResultWriter,
    ) -> Result<Outcome, Failure> {
        if self.held_locks.tables.is_some() {
            return Err(SqlError::new(ErrorCode::LockOrActiveTransaction, &[]).into());
        }
        match handler {
            Handler::Open { table, alias } => Ok(self.open_handler(table, alias.as_ref())?),
            Handler::Close { table } => {
                let at = self.handler_called(&table.name)?;
                self.handlers.remove(at);
                Ok(Outcome::done())
            }
            Handler::Read { table, read, selection, limit } => {
                let wanted = (read, selection.as_ref(), limit.as_ref());
                self.read_handler(&table.name, wanted, run, writer).await
            }
        }
    }

    fn open_handler(&mut self, table: &ObjectName, alias: Option<&Ident>) -> SqlResult<Outcome> {
        let alias = alias.unwrap_or(&table.name);
        let name = self.security().qualify(table)?;
        if self.handlers.iter().any(|open| eq_ignore_case(&open.alias, alias)) {
            return Err(SqlError::new(ErrorCode::NonUniqueTable, &[&alias.as_str()]));
        }
        if eq_ignore_case(&name.0, "information_schema") {
            return Err(SqlError::new(ErrorCode::WrongUsage, &[&"HANDLER OPEN", &"information_schema"]));
        }
        let definition = self.handled_table(&name)?;
        if self.handlers.len() >= OPEN_MAX {
            return Err(SqlError::new(ErrorCode::OutOfResources, &[]));
        }
        self.handlers.push(OpenHandler { alias: alias.clone(), name, definition, position: None });
        Ok(Outcome::done())
    }

    /// The definition of a table that can be stepped through.
    fn handled_table(&self, name: &QualifiedName) -> SqlResult<Arc<TableDef>> {
        if let Some(table) = self.temporary_tables.get(name) {
            return Ok(table.clone());
        }
        let catalog = self.shared.catalog.load();
        let has_no_order = || SqlError::new(ErrorCode::IllegalHandler, &[&name.1]);
        match catalog.entry(&name.0, &name.1) {
            // Rows of column tables are found by column, and have no order that a key could be looked up in.
            Some(TableEntry::Table(table)) if self.shared.store.table(table)?.traits().reads_by_column => {
                Err(has_no_order())
            }
            Some(TableEntry::Table(table)) => Ok(table.clone()),
            Some(TableEntry::View(_)) => Err(SqlError::new(ErrorCode::WrongObject, &[&name.0, &name.1, &"BASE TABLE"])),
            None if self.shared.registry.virtual_table(&name.0, &name.1).is_some() => Err(has_no_order()),
            None => Err(missing(&catalog, name)),
        }
    }

    async fn read_handler(
        &mut self,
        alias: &Ident,
        wanted: (&ast::HandlerRead, Option<&ast::Expr>, Option<&ast::Limit>),
        run: &StatementRun<'_>,
        writer: &mut dyn ResultWriter,
    ) -> Result<Outcome, Failure> {
        let at = self.handler_called(alias)?;
        // Another session may have dropped the table, or made it another one.
        let Ok(definition) = self.handled_table(&self.handlers[at].name) else {
            let open = self.handlers.remove(at);
            return Err(SqlError::new(ErrorCode::UnknownTable, &[&open.alias.as_str(), &"HANDLER"]).into());
        };
        let open = &mut self.handlers[at];
        if !Arc::ptr_eq(&open.definition, &definition) {
            open.definition = definition;
            open.position = None;
        }
        let plan = Arc::new(self.bind_handler(at, wanted, run)?);
        let rows = self.handler_rows(at, plan.clone(), run).await?;
        run.context.rows_examined.fetch_add(rows.rows_read, Ordering::Relaxed);
        writer.begin_result_set(&columns(plan.columns()));
        rows.write(&plan, writer);
        let sent = rows.len();
        self.handlers[at].position = Some(rows.position);
        Ok(Outcome::Streamed { rows: sent })
    }

    fn bind_handler(
        &self,
        at: usize,
        wanted: (&ast::HandlerRead, Option<&ast::Expr>, Option<&ast::Limit>),
        run: &StatementRun<'_>,
    ) -> SqlResult<Authorized<HandlerRead>> {
        let open = &self.handlers[at];
        let catalog = self.shared.catalog.load();
        let tables = SessionTables::new(self, &run.context, None);
        let binder = self.binder(run.request.sql, run.request.parameters, &catalog, &run.context, &tables);
        let name = open.object_name();
        let stores = (&*self.shared.store, &self.shared.rules);
        let read = HandlerRead::bind(&binder, stores, (&name, &open.alias), wanted)?;
        if run.context.programs.are_called() {
            return Err(SqlError::unsupported("stored functions with statements of their own in HANDLER … READ"));
        }
        self.security().authorize(read)
    }

    /// Reads on a thread that may take its time: a condition may be true of no row.
    async fn handler_rows(
        &mut self,
        at: usize,
        plan: Arc<Authorized<HandlerRead>>,
        run: &StatementRun<'_>,
    ) -> SqlResult<HandlerRows> {
        let view = self.view();
        let (context, catalog) = (run.context.clone(), self.shared.catalog.load());
        let (parameters, position) = (run.request.parameters.to_vec(), self.handlers[at].position.clone());
        self.blocking(move |shared| {
            let env = StatementEnv::new(context, catalog, shared.store.clone(), None);
            HandlerRead::run((*plan).as_ref(), (&env, &view), &parameters, position.as_ref())
        })
        .await
    }

    /// Closes tables that a statement of the session redefines or maintains. FLUSH TABLES leaves them open, but forgets where they
    /// stand, save those of TEMPORARY tables.
    pub(crate) fn close_handlers(&mut self, statement: &Statement) -> SqlResult<()> {
        if self.handlers.is_empty() {
            return Ok(());
        }
        if let Statement::Flush(flush) = statement {
            for target in &flush.targets {
                if let FlushTarget::Tables { names, .. } = target {
                    self.lose_positions(names)?;
                }
            }
            return Ok(());
        }
        let closed = match statement {
            Statement::LockTables(_) => {
                self.handlers.clear();
                return Ok(());
            }
            Statement::DropDatabase(drop) => {
                self.handlers.retain(|open| !drop.name.is(&open.name.0));
                return Ok(());
            }
            Statement::DropTrigger(drop) => tables_of_triggers(&self.security(), drop)?,
            other => {
                let names = tables_of(other).into_iter();
                names.map(|name| self.security().qualify(name)).collect::<SqlResult<Vec<_>>>()?
            }
        };
        self.handlers.retain(|open| !closed.iter().any(|name| open.is_of(name)));
        Ok(())
    }

    fn lose_positions(&mut self, names: &[ObjectName]) -> SqlResult<()> {
        let names = names.iter().map(|name| self.security().qualify(name)).collect::<SqlResult<Vec<_>>>()?;
        for open in self.handlers.iter_mut().filter(|open| !open.definition.temporary) {
            if names.is_empty() || names.iter().any(|name| open.is_of(name)) {
                open.position = None;
            }
        }
        Ok(())
    }
}

impl SessionState {
    /// The place of what HANDLER has opened by a name (1109).
    fn handler_called(&self, alias: &Ident) -> SqlResult<usize> {
        let found = self.handlers.iter().position(|open| eq_ignore_case(&open.alias, alias));
        found.ok_or_else(|| SqlError::new(ErrorCode::UnknownTable, &[&alias.as_str(), &"HANDLER"]))
    }
}

/// The tables that a statement closes.
fn tables_of(statement: &Statement) -> Vec<&ObjectName> {
    match statement {
        Statement::CreateTable(create) => vec![&create.name],
        Statement::AlterTable(alter) => vec![&alter.name],
        Statement::DropTable(drop) => drop.names.iter().collect(),
        Statement::TruncateTable(name) => vec![name],
        Statement::RenameTable(rename) => rename.renames.iter().map(|(from, _)| from).collect(),
        Statement::CreateIndex(create) => vec![&create.table],
        Statement::DropIndex(drop) => vec![&drop.table],
        Statement::CreateTrigger(create) => vec![&create.table],
        Statement::TableMaintenance(maintenance) if maintenance.kind != MaintenanceKind::Checksum => {
            maintenance.tables.iter().collect()
        }
        _ => Vec::new(),
    }
}
