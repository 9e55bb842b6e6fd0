//! Chooses the route of a statement.

use crate::authorization::SecurityContext;
use crate::plans::{ChangePlan, ConstantPlan, QueryRoute, Route, RowsPlan, SelectPlan};
use crate::query::SessionTables;
use crate::session::{Request, Session, StatementRun};
use squall_catalog::{Authorized, Catalog};
use squall_parser::ast::{self, Query, Statement};
use squall_planner::dml::DmlPlan;
use squall_planner::dml::plan::InsertRows;
use squall_planner::point::{self, ConstantRow};
use squall_planner::rowwise::{self, RowPlan};
use squall_planner::{Binder, ParameterKind};
use squall_registry::StatementContext;
use squall_row_store::ReadView;
use squall_types::{SqlResult, Value};
use std::sync::Arc;

impl Session {
    /// Chooses how a statement is run. What goes wrong here is left to the chosen route to report.
    pub(crate) fn choose(&mut self, run: &StatementRun<'_>) -> Route {
        // Whether a cached plan may be used at all is looked at where it is kept.
        if let Some(route @ (Route::PointChange(_) | Route::FullPlanner)) = run.request.route {
            return route.clone();
        }
        match run.request.statement {
            Statement::Query(_) if run.request.long_statement().is_some() => Route::FullPlanner,
            Statement::Query(query) => self.choose_for_query(query, run),
            Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => Route::Change,
            Statement::Call(_) => Route::Procedure,
            _ => Route::Command,
        }
    }

    /// Chooses for a query with these very values.
    pub(crate) fn choose_for_query(&mut self, query: &Query, run: &StatementRun<'_>) -> Route {
        let allowed = self.settings.query_route;
        if allowed == QueryRoute::FullPlanner || self.settings.select_limit != u64::MAX {
            return Route::FullPlanner;
        }
        // LOCK TABLES is looked at by the full planner.
        let may_read = self.held_locks.tables.is_none();
        // Variables of a stored program hide columns, which only the binder knows.
        if allowed == QueryRoute::Auto && self.locals.is_none() {
            if may_read && let Ok(Some(plan)) = self.point_select(query, run) {
                return Route::PointLookup(Arc::new(plan));
            }
            if let Some(row) = self.constant_row(query, run.request.sql, run.request.parameters, &run.context) {
                return Route::Constant(Arc::new(ConstantPlan::new(row)));
            }
        }
        // A view may begin a transaction: not for what cannot be small.
        if may_read && rowwise::may_be_small(query) {
            let view = self.view_at_once();
            let plan = self.row_plan(query, run, &view, false);
            if let Some(plan) = plan {
                return Route::RowByRow(Arc::new(RowsPlan::new(plan, Box::default())));
            }
        }
        Route::FullPlanner
    }

    /// The route of a statement for all values of the kinds that these have; `None` if there is none, and it is to be chosen each time.
    pub(crate) fn choose_for_kinds(
        &mut self,
        statement: &Statement,
        sql: &[u8],
        parameters: &[Value],
    ) -> Option<Route> {
        let request = Request {
            parameters,
            placeholders: parameters.len() as u32,
            ..Request::without_parameters(statement, sql)
        };
        let run = self.statement_run(request);
        match statement {
            Statement::Query(query) => {
                if let Some(plan) = self.point_select(query, &run).ok()? {
                    return Some(Route::PointLookup(Arc::new(plan)));
                }
                let row = self.constant_row(query, run.request.sql, run.request.parameters, &run.context);
                let constant = row.and_then(|row| ConstantPlan::of_literals(row, &run.context).ok().flatten());
                match constant {
                    Some(plan) => Some(Route::Constant(Arc::new(plan))),
                    None => self.rows_for_kinds(query, &run),
                }
            }
            change if point::is_point_change(change) => {
                Some(Route::PointChange(Arc::new(self.point_change(&run).ok()??)))
            }
            _ => None,
        }
    }

    /// The plan of a query that is a look-up by key, if the session may read what it reads.
    fn point_select(&self, query: &Query, run: &StatementRun<'_>) -> SqlResult<Option<Authorized<SelectPlan>>> {
        let catalog = self.shared.catalog.load();
        let table_of = |name: &ast::ObjectName| base_table(&self.security(), &catalog, name);
        let registry = &self.shared.registry;
        let Some(plan) =
            point::recognize(query, run.request.sql, &run.context, registry, &*self.shared.store, &table_of)?
        else {
            return Ok(None);
        };
        let columns = crate::result::column_meta::columns(plan.columns()).into();
        self.security().authorize(SelectPlan { point: plan, columns }).map(Some)
    }

    /// The row that a query is, if it is one of constants.
    pub(crate) fn constant_row(
        &self,
        query: &Query,
        sql: &[u8],
        parameters: &[Value],
        context: &Arc<StatementContext>,
    ) -> Option<ConstantRow> {
        let (catalog, tables) = (self.shared.catalog.load(), SessionTables::new(self, context, None));
        point::constant_row(query, &self.binder(sql, parameters, &catalog, context, &tables))
    }

    fn rows_for_kinds(&mut self, query: &Query, run: &StatementRun<'_>) -> Option<Route> {
        let kinds = run.request.parameters.iter().map(ParameterKind::of).collect::<Option<Box<[_]>>>()?;
        // Variables are bound with the values and types that they have.
        if run.request.sql.contains(&b'@') || !rowwise::may_be_small(query) {
            return None;
        }
        let view = self.view_at_once();
        let plan = self.row_plan(query, run, &view, true)?;
        plan.is_valid_for_kinds().then(|| Route::RowByRow(Arc::new(RowsPlan::new(plan, kinds))))
    }

    /// The plan of a small query, if the session may read what it reads.
    fn row_plan(
        &self,
        query: &Query,
        run: &StatementRun<'_>,
        view: &ReadView,
        keeps_parameters: bool,
    ) -> Option<Authorized<Arc<RowPlan>>> {
        let catalog: Arc<Catalog> = self.shared.catalog.load();
        let table_of = |name: &ast::ObjectName| base_table(&self.security(), &catalog, name);
        let tables = SessionTables::new(self, &run.context, None);
        let (sql, parameters) = (run.request.sql, run.request.parameters);
        let binder = Binder { keeps_parameters, ..self.binder(sql, parameters, &catalog, &run.context, &tables) };
        let plan = rowwise::plan(query, &binder, &*self.shared.store, view, &table_of)?;
        // Stored programs have a transaction, which short routes do without.
        if run.context.programs.are_called() {
            return None;
        }
        self.security().authorize(Arc::new(plan)).ok()
    }

    fn point_change(&self, run: &StatementRun<'_>) -> SqlResult<Option<ChangePlan>> {
        let Some(kinds) = run.request.parameters.iter().map(ParameterKind::of).collect::<Option<Box<[_]>>>() else {
            return Ok(None);
        };
        let plan = self.bind_change(run, &self.shared.catalog.load(), true)?;
        if run.context.programs.are_called() {
            return Ok(None);
        }
        let by_key = match &*plan {
            DmlPlan::Insert(insert) => insert.target.view.is_none() && matches!(insert.source, InsertRows::Values(_)),
            DmlPlan::Update(update) => update.selection.key.is_some(),
            DmlPlan::Delete(delete) => delete.selection.key.is_some(),
            DmlPlan::ByQuery(_) => false,
        };
        // Bodies of triggers are bound for one statement.
        let by_key = by_key && plan.targets().all(|target| target.triggers.is_none());
        Ok(by_key.then(|| ChangePlan { plan: Arc::new(plan), kinds }))
    }
}

/// The base table that a name stands for, if it does; TEMPORARY tables are left to the full planner.
fn base_table(security: &SecurityContext<'_>, catalog: &Catalog, name: &ast::ObjectName) -> point::FoundTable {
    if security.temporary_table_named(name).is_some() {
        return None;
    }
    let (database, table) = security.qualify(name).ok()?;
    let definition = catalog.table(&database, &table)?.clone();
    Some((Arc::from(database), definition))
}
