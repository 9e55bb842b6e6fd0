//! CREATE TABLE … SELECT: the catalog gets the table when all its rows are durable.
//!
//! Until then only this session knows its files, under a name that no statement uses by accident. If the statement ends early (an
//! error, KILL, a crash), no table remains: the next start removes files that the catalog does not name.

use crate::database::Shared;
use crate::query::{Filling, SessionTables};
use crate::result::writer::OkInfo;
use crate::result::{Failure, Outcome};
use crate::session::{Session, StatementRun};
use squall_catalog::{Authorized, Catalog, ColumnDef, IndexId, TableDef, TableEntry};
use squall_definitions::create::{
    check_constraint_names, definition, refuse_if_referenced, tables_concerned, written_parents,
};
use squall_definitions::edit::ReservedId;
use squall_definitions::edit::define_after;
use squall_definitions::edit::reserve_table_id;
use squall_definitions::execute::{DdlEnv, QualifiedName};
use squall_definitions::locked::LockedTables;
use squall_executor::StatementEnv;
use squall_parser::ast::{CreateTable, Ident, LoadDuplicates, ObjectName, Query};
use squall_planner::dml::foreign_key::check_parents_in;
use squall_planner::dml::plan::InsertRows;
use squall_planner::dml::target::Target;
use squall_planner::dml::{DmlContext, DmlPlan, fill_table};
use squall_row_store::{Direction, ValueRange};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::collections::HashSet;
use std::sync::Arc;

impl Session {
    /// The plan that fills a table that was just created with the rows of a query.
    pub(crate) fn bind_created(
        &self,
        statement: &CreateTable,
        table: &QualifiedName,
        columns: &[ColumnDef],
        query: &Query,
        run: &StatementRun<'_>,
        catalog: &Arc<Catalog>,
    ) -> SqlResult<Authorized<DmlPlan>> {
        let name = ObjectName { schema: Some(Ident::new(table.0.as_str())), name: Ident::new(table.1.as_str()) };
        let columns: Vec<Ident> = columns.iter().map(|column| Ident::new(column.name.as_str())).collect();
        let filling = Filling {
            table: &name,
            partitions: &[],
            columns: &columns,
            duplicates: statement.duplicates,
            ignore: statement.duplicates == LoadDuplicates::Ignore,
        };
        let tables = SessionTables::new(self, &run.context, None);
        let binder = self.binder(run.request.sql, run.request.parameters, catalog, &run.context, &tables);
        let rows = binder.bind_query(query)?;
        let plan = self.bind_filling(&filling, InsertRows::Query(Box::new(rows)), &binder)?;
        self.security().authorize(DmlPlan::Insert(Box::new(plan)))
    }

    /// CREATE TABLE … SELECT of a base table.
    pub(super) async fn create_from_query(
        &mut self,
        statement: &CreateTable,
        name: &QualifiedName,
        query: &Query,
        selected: Vec<ColumnDef>,
        run: &StatementRun<'_>,
    ) -> Result<Outcome, Failure> {
        // A table that is filled around all transactions cannot be one with what they change.
        if run.context.programs.are_called() {
            let feature =
                "stored functions with statements in CREATE TABLE … SELECT (an INSERT … SELECT after it may call them)";
            return Err(SqlError::unsupported(feature).into());
        }
        let mut names = HashSet::new();
        if let Some(twice) = selected.iter().find(|column| !names.insert(column.name.to_lowercase())) {
            return Err(SqlError::new(ErrorCode::DuplicateFieldName, &[&twice.name]).into());
        }
        let env = self.ddl_env(&run.context);
        let catalog = self.shared.catalog.load();
        if let Some(entry) = catalog.entry(&name.0, &name.1)
            && !(statement.or_replace && matches!(entry, TableEntry::Table(_)))
        {
            let error = SqlError::new(ErrorCode::TableExists, &[&name.1]);
            if statement.if_not_exists {
                env.note(error);
                return Ok(Outcome::done());
            }
            return Err(error.into());
        }
        let mut table = definition(&catalog, &env, statement, name, &selected, None)?;
        check_constraint_names(&catalog, &name.0, &table)?;
        let (table, reserved) = self
            .blocking(move |shared| {
                let reserved = reserve_table_id(shared, &mut table)?;
                let table = Arc::new(table);
                shared.store.create_data(&table)?;
                Ok((table, reserved))
            })
            .await?;
        let hidden = (name.0.clone(), format!("#sql-create-{}", table.id.0));
        self.temporary_tables.insert(hidden.clone(), table.clone());
        let catalog = self.shared.catalog.load();
        let filled = match self.bind_created(statement, &hidden, &selected, query, run, &catalog) {
            Ok(plan) => self.fill_hidden(plan, run, catalog).await,
            Err(error) => Err(error),
        };
        self.temporary_tables.remove(&hidden);
        let created = match filled {
            Ok(filled) => {
                let (name, table, or_replace) = (name.clone(), table.clone(), statement.or_replace);
                let parents = written_parents(statement, &name.0);
                let publish =
                    move |shared: &Shared| publish_table(shared, &env, &name, &reserved, &table, &parents, or_replace);
                self.waiting(publish).await.map(|()| filled)
            }
            Err(error) => Err(error),
        };
        if created.is_err() {
            self.statement_failed().await;
            let made = table.clone();
            self.blocking(move |shared| shared.store.drop_data(&made)).await?;
        }
        Ok(Outcome::Ok(created?))
    }

    /// Fills the table and makes its rows durable.
    async fn fill_hidden(
        &mut self,
        plan: Authorized<DmlPlan>,
        run: &StatementRun<'_>,
        catalog: Arc<Catalog>,
    ) -> SqlResult<OkInfo> {
        self.begin_statement_transaction();
        let (env, session) = (self.change_env(run, catalog), self.process.id);
        let fill = move |dml: &mut DmlContext<'_>| {
            let Some(plan) = plan.as_ref().optional_part(DmlPlan::insert) else {
                return Err(SqlError::internal("an INSERT that is bound as something else"));
            };
            fill_table(dml, plan, session).map_err(SqlError::from)
        };
        let result = self.change_on_pool(env, fill).await?;
        self.end_statement(run.request.statement).await?;
        self.commit().await?;
        self.use_insert_id(result.generated_id);
        let (affected_rows, last_insert_id) = (result.affected_rows, run.packet_id(&result));
        Ok(OkInfo { affected_rows, last_insert_id, info: result.info, tells_warnings: true })
    }
}

/// Puts a filled table into the catalog, in the place of another one with OR REPLACE.
pub(super) fn publish_table(
    shared: &Shared,
    env: &DdlEnv,
    name: &QualifiedName,
    reserved: &ReservedId,
    table: &Arc<TableDef>,
    parents: &[QualifiedName],
    or_replace: bool,
) -> SqlResult<()> {
    let wanted = |catalog: &Catalog| Ok(tables_concerned(catalog, name, parents, or_replace));
    // Parents that were there when the rows were inserted may have gone since.
    let prepare = |tables: &LockedTables| check_rows(shared, env, tables, &name.0, table);
    define_after(shared, env, wanted, prepare, |tables, catalog| {
        if let Some(old) = catalog.table(&name.0, &name.1).filter(|_| or_replace) {
            let id = old.id;
            refuse_if_referenced(catalog, env, name)?;
            catalog.drop_table(tables.by_id(id)?, tables)?;
        }
        check_constraint_names(catalog, &name.0, table)?;
        catalog.create_filled(&name.0, reserved, table.clone(), tables)
    })
}

/// Checks that every row of a table that no other session knows yet has its parents.
fn check_rows(
    shared: &Shared,
    env: &DdlEnv,
    tables: &LockedTables,
    database: &str,
    table: &Arc<TableDef>,
) -> SqlResult<()> {
    let rules = shared.rules.get(&shared.registry, tables.catalog(), database, table)?;
    if !rules.checks_parents(env.foreign_key_checks) {
        return Ok(());
    }
    let store = shared.store.clone();
    let view = store.read_view();
    let target = Target {
        database: database.into(),
        alias: table.name.as_str().into(),
        table: store.table(table)?,
        rules,
        view: None,
        triggers: None,
    };
    let range = target.table.range(IndexId(0), ValueRange::ALL)?;
    let mut rows = view.scan(&target.table, &range, Direction::Forward);
    let statement = StatementEnv::new(env.context.clone(), tables.catalog().clone(), store, Some(view.clone()));
    while let Some(row) = rows.next_row()? {
        env.context.kill.check()?;
        let row = target.read_row(&row, &env.context.settings.time_zone)?;
        check_parents_in(&statement, &view, &target, table, &table.foreign_keys, &row)?;
    }
    Ok(())
}
