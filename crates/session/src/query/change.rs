//! INSERT, REPLACE, UPDATE and DELETE.

use super::ChangeEnv;
use crate::query::virtual_change::changed_virtual_table;
use crate::result::writer::{ColumnMeta, OkInfo};
use crate::result::{Failure, Outcome, ResultSet, typed_column};
use crate::session::{Bindable, Session, SessionState, StatementRun};
use crate::statement_programs::tables_of_change;
use squall_catalog::{Authorized, Catalog};
use squall_definitions::edit::newer_catalog;
use squall_parser::ast::Statement;
use squall_planner::dml::{ChangeLocks, DmlBinder, DmlContext, DmlOptions, DmlPlan, DmlResult, execute, execute_once};
use squall_planner::{Binder, KeptParameters};
use squall_row_store::{IsolationLevel, LockWait, StoreError, StoreResult};
use squall_server_state::variables::ids;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::sync::Arc;

/// Columns of RETURNING.
pub(crate) fn returned_columns(plan: &DmlPlan) -> Vec<ColumnMeta> {
    plan.returning()
        .iter()
        .map(|column| typed_column(&column.name, column.expr.sql_type(), !column.expr.nullable()))
        .collect()
}

impl Session {
    /// Binds a data change with this session's settings; see [`Binder::kept_parameters`].
    pub(crate) fn bind_change(
        &self,
        run: &Bindable<'_>,
        catalog: &Arc<Catalog>,
        kept_parameters: KeptParameters<'_>,
    ) -> SqlResult<Authorized<DmlPlan>> {
        self.bind_change_as(run, catalog, kept_parameters, false)
    }

    /// [`Session::bind_change`]; see [`DmlBinder::by_query`].
    pub(crate) fn bind_change_as(
        &self,
        run: &Bindable<'_>,
        catalog: &Arc<Catalog>,
        kept_parameters: KeptParameters<'_>,
        by_query: bool,
    ) -> SqlResult<Authorized<DmlPlan>> {
        self.check_may_change(run.request.statement)?;
        let tables = super::SessionTables::new(self, &run.context, None);
        let binder = self.binder(run.request.sql, run.request.parameters, catalog, &run.context, &tables);
        let binder = Binder { kept_parameters, ..binder };
        let locks = self.change_locks();
        let dml = DmlBinder { by_query, locks, ..DmlBinder::new(&binder, &*self.shared.store, &self.shared.rules) };
        self.security().authorize(dml.bind(run.request.statement)?)
    }

    /// [`Session::bind_change`], where a long statement belongs.
    pub(crate) async fn bind_change_of(
        &self,
        run: &Bindable<'_>,
        catalog: &Arc<Catalog>,
    ) -> SqlResult<Authorized<DmlPlan>> {
        if run.request.long_statement().is_none() {
            return self.bind_change(run, catalog, KeptParameters::None);
        }
        self.check_may_change(run.request.statement)?;
        let locks = self.change_locks();
        let bind = move |binder: &Binder<'_>, statement: &Statement, shared: &crate::database::Shared| {
            DmlBinder { locks, ..DmlBinder::new(binder, &*shared.store, &shared.rules) }.bind(statement)
        };
        let bound = self.bind_long(run, catalog, bind).await?;
        self.security().authorize(bound.ok_or_else(|| SqlError::internal("a long statement is not long"))?)
    }

    fn check_may_change(&self, statement: &Statement) -> SqlResult<()> {
        self.check_names(statement)?;
        self.check_safe_update(statement)
    }

    /// Carries a data change out, by a cached plan if there is one.
    pub(crate) async fn run_data_change(
        &mut self,
        run: &StatementRun<'_>,
        plan: Option<&Arc<Authorized<DmlPlan>>>,
    ) -> Result<Outcome, Failure> {
        if plan.is_none()
            && let Some(table) = changed_virtual_table(&self.security(), run.request.statement)
        {
            return Ok(self.change_virtual_table(table, run).await?);
        }
        let catalog = self.shared.catalog.load();
        // A cached plan may be of an earlier catalog than this one.
        let version = plan.is_none().then_some(catalog.version);
        let bound = match plan {
            Some(plan) => Ok(plan.clone()),
            None => self.bind_change_of(run, &catalog).await.map(Arc::new),
        };
        let mut returning = Vec::new();
        let changed = match bound {
            Ok(plan) => {
                // TEMPORARY tables are no part of what is read-only.
                if plan.targets().any(|target| !target.def().temporary) {
                    self.check_writable()?;
                }
                self.check_unused(&plan)?;
                returning = returned_columns(&plan);
                let inline = plan.runs_inline(self.settings.foreign_key_checks);
                self.change_rows(plan, run, catalog, inline).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = &changed
            && matches!(run.request.statement, Statement::Insert(_))
            && !error.is(ErrorCode::DoesNotSupportSchemaChange)
        {
            self.forget_insert_id();
        }
        let result = match changed {
            // The table was defined again while the statement was bound, or waited for it.
            // Boxed: it is rare, and what every change keeps while it runs would be twice as large.
            Err(error) if error.is(ErrorCode::DoesNotSupportSchemaChange) => {
                let anew = Box::pin(self.change_rows_anew(run, version, error)).await?;
                returning = anew.1;
                anew.0
            }
            changed => changed?,
        };
        Ok(self.change_outcome(result, returning, run))
    }

    /// Repeats a change that met a definition, with the current catalog; as often as the catalog is newer than `version` (`None`:
    /// the version is unknown).
    async fn change_rows_anew(
        &mut self,
        run: &StatementRun<'_>,
        mut version: Option<u64>,
        mut error: SqlError,
    ) -> SqlResult<(DmlResult, Vec<ColumnMeta>)> {
        loop {
            let catalog = match version {
                Some(version) => newer_catalog(&self.shared, version),
                None => self.shared.catalog.load(),
            };
            if version == Some(catalog.version) {
                return Err(error);
            }
            run.context.kill.check()?;
            version = Some(catalog.version);
            let changed = match self.bind_change_of(run, &catalog).await {
                Ok(plan) => {
                    let returning = returned_columns(&plan);
                    let changed = self.change_rows(Arc::new(plan), run, catalog, false).await;
                    changed.map(|result| (result, returning))
                }
                Err(error) => Err(error),
            };
            match changed {
                Err(again) if again.is(ErrorCode::DoesNotSupportSchemaChange) => error = again,
                changed => return changed,
            }
        }
    }

    pub(crate) fn change_outcome(
        &mut self,
        result: DmlResult,
        returning: Vec<ColumnMeta>,
        run: &StatementRun<'_>,
    ) -> Outcome {
        self.use_insert_id(result.generated_id);
        let last_insert_id = run.packet_id(&result);
        if !returning.is_empty() {
            return Outcome::Rows(ResultSet { columns: returning, rows: result.returned });
        }
        let (affected_rows, info) = (result.affected_rows, result.info);
        Outcome::Ok(OkInfo { affected_rows, last_insert_id, tells_warnings: !info.is_empty(), info })
    }

    /// Runs a plan in the statement's transaction: on this thread if it is short and meets no lock, or may wait for it here, else on the pool.
    pub(crate) async fn change_rows(
        &mut self,
        plan: Arc<Authorized<DmlPlan>>,
        run: &StatementRun<'_>,
        catalog: Arc<Catalog>,
        inline: bool,
    ) -> SqlResult<DmlResult> {
        if inline && !run.context.programs.are_called() {
            let variables = run.context.user_variables.remember();
            match self.change_rows_here((*plan).as_ref(), run, catalog.clone()) {
                Err(StoreError::WouldBlock) => {
                    variables.restore();
                    run.context.begin_again();
                }
                result => return result.map_err(SqlError::from),
            }
        }
        if let Some(target) = &self.command.target {
            target.before_pool().await?;
        }
        let bulk_session = self.reads_committed_now().then_some(self.process.id);
        self.begin_statement_transaction();
        self.open_programs(&run.context, tables_of_change(&plan))?;
        let mut env = self.change_env(run, catalog);
        env.options.bulk_session = bulk_session;
        let change = move |dml: &mut DmlContext<'_>| {
            let result = match Arc::try_unwrap(plan) {
                Ok(plan) => execute_once(dml, plan),
                Err(cached) => execute(dml, (*cached).as_ref()),
            };
            result.map_err(SqlError::from)
        };
        self.change_on_pool(env, change).await
    }

    fn change_rows_here(
        &mut self,
        plan: Authorized<&DmlPlan>,
        run: &StatementRun<'_>,
        catalog: Arc<Catalog>,
    ) -> StoreResult<DmlResult> {
        self.begin_statement_transaction();
        // A part of another statement runs where it may wait, and reads in that one's view.
        let is_part = self.nesting.inside.is_some();
        let lock_wait = if is_part { self.lock_wait() } else { LockWait::WouldBlock };
        let env = ChangeEnv {
            shared: self.shared.clone(),
            context: run.context.clone(),
            catalog,
            parameters: run.request.parameters.into(),
            options: self.dml_options(lock_wait),
        };
        let Some(transaction) = self.transaction.current() else {
            return Err(SqlError::internal("a statement without its transaction").into());
        };
        if !is_part {
            transaction.begin_statement(lock_wait);
        }
        env.run(transaction, |dml| execute(dml, plan))
    }

    /// Fills a table that CREATE TEMPORARY TABLE … SELECT has just made; when that fails the table goes again.
    pub(crate) async fn fill_created(
        &mut self,
        statement: &squall_parser::ast::CreateTable,
        name: &(String, String),
        query: &squall_parser::ast::Query,
        run: &StatementRun<'_>,
    ) -> Result<Outcome, Failure> {
        let filled = self.fill_temporary(statement, name, query, run).await;
        if filled.is_err() {
            self.statement_failed().await;
            if let Some(table) = self.temporary_tables.remove(name) {
                self.shared.store.drop_data(&table)?;
            }
        }
        Ok(self.change_outcome(filled?, Vec::new(), run))
    }

    async fn fill_temporary(
        &mut self,
        statement: &squall_parser::ast::CreateTable,
        name: &(String, String),
        query: &squall_parser::ast::Query,
        run: &StatementRun<'_>,
    ) -> SqlResult<DmlResult> {
        let columns = self.columns_of_query(query, run).await?;
        let mut catalog = self.shared.catalog.load();
        loop {
            let version = catalog.version;
            let plan = self.bind_created(statement, name, &columns, query, run, &catalog)?;
            self.check_unused(&plan)?;
            let filled = self.change_rows(Arc::new(plan), run, catalog, false).await;
            let Err(error) = filled else { return filled };
            // The table that is read was defined again meanwhile.
            catalog = newer_catalog(&self.shared, version);
            if !error.is(ErrorCode::DoesNotSupportSchemaChange) || catalog.version == version {
                return Err(error);
            }
            run.context.kill.check()?;
        }
    }

    /// The columns that CREATE TABLE … SELECT makes for a query's.
    pub(crate) async fn columns_of_query(
        &mut self,
        query: &squall_parser::ast::Query,
        run: &StatementRun<'_>,
    ) -> SqlResult<Vec<squall_catalog::ColumnDef>> {
        let catalog = self.shared.catalog.load();
        let bound = self.bind_query(query, run.request.sql, run.request.parameters, &catalog, &run.context, None)?;
        let bound = self.security().authorize(bound)?;
        let mut columns = Vec::with_capacity(bound.columns.len());
        for output in &bound.columns {
            squall_definitions::names::check_column_name(&output.name)?;
            columns.push(super::view::column_of_output(output));
        }
        Ok(columns)
    }
}

impl SessionState {
    /// The locks of changes whose rows a query finds. A statement of its own locks only what it changes.
    fn change_locks(&self) -> ChangeLocks {
        if self.reads_committed_now() {
            ChangeLocks::None
        } else if self.isolation_now() >= IsolationLevel::RepeatableRead {
            ChangeLocks::All
        } else {
            ChangeLocks::Changed
        }
    }

    /// The value of `insert_id` is for one statement: the first that generates an AUTO_INCREMENT value, or fails to.
    pub(crate) fn use_insert_id(&mut self, generated_id: Option<u64>) {
        if generated_id.is_some() {
            self.forget_insert_id();
        }
    }

    fn forget_insert_id(&mut self) {
        if self.settings.insert_id != 0 {
            self.set_session_value(ids::INSERT_ID, Value::UInt(0));
            self.settings_changed();
        }
    }

    pub(crate) fn dml_options(&self, lock_wait: LockWait) -> DmlOptions {
        DmlOptions {
            found_rows: self.identity.info.found_rows,
            foreign_key_checks: self.settings.foreign_key_checks,
            auto_increment_increment: self.settings.auto_increment_increment,
            auto_increment_offset: self.settings.auto_increment_offset,
            // Statements inside of another one have none.
            insert_id: if self.nesting.session_depth > 0 { 0 } else { self.settings.insert_id },
            lock_wait,
            bulk_session: None,
        }
    }

    /// 1442 for a change of what the statements around read or change.
    fn check_unused(&self, plan: &DmlPlan) -> SqlResult<()> {
        let Some(inside) = &self.nesting.inside else { return Ok(()) };
        for target in plan.targets() {
            let name = target.def().name.as_str();
            if inside.used.iter().any(|(database, table)| *database == target.database && **table == *name) {
                return Err(SqlError::new(ErrorCode::CantUpdateUsedTable, &[&name]));
            }
        }
        Ok(())
    }

    /// `sql_safe_updates` (1175).
    fn check_safe_update(&self, statement: &Statement) -> SqlResult<()> {
        let unbounded = match statement {
            Statement::Update(update) => update.selection.is_none() && update.limit.is_none(),
            Statement::Delete(delete) => delete.selection.is_none() && delete.limit.is_none(),
            _ => false,
        };
        if self.settings.bind.safe_updates && unbounded {
            return Err(SqlError::new(ErrorCode::UpdateWithoutKeyInSafeMode, &[]));
        }
        Ok(())
    }
}
