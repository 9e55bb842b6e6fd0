//! Chooses the route of a statement.

use crate::authorization::SecurityContext;
use crate::plans::prepared::PreparedStatement;
use crate::plans::{ChangePlan, ConstantPlan, QueryRoute, Route, RowsPlan, SelectPlan};
use crate::query::SessionTables;
use crate::session::{Bindable, Request, Session};
use squall_catalog::{Authorized, Catalog};
use squall_functions::expr::BoundExpr;
use squall_parser::ast::{self, Query, Statement};
use squall_planner::dml::DmlPlan;
use squall_planner::dml::plan::InsertRows;
use squall_planner::point::{self, ConstantRow};
use squall_planner::rowwise::{self, RowPlan};
use squall_planner::{Binder, KeptParameters, ParameterKind};
use squall_statement_context::StatementContext;
use squall_types::{SqlResult, Value};
use std::sync::Arc;

/// What a route has to be valid for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValidFor {
    /// The statement with the values that it has.
    Values,
    /// All values of the same kinds.
    Kinds,
}

impl Session {
    /// Chooses how a statement is run. It begins neither a transaction nor a snapshot, and leaves errors to the chosen route.
    pub(crate) fn choose(&self, run: &Bindable<'_>) -> Route {
        // Whether a cached plan may be used at all is looked at where it is kept. What LOCK TABLES allows is asked when a change is bound.
        match run.request.route {
            Some(route @ Route::PointChange(_)) if self.held_locks.tables.is_none() => return route.clone(),
            Some(route @ Route::FullPlanner) => return route.clone(),
            _ => {}
        }
        match run.request.statement {
            Statement::Query(_) if run.request.long_statement().is_some() => Route::FullPlanner,
            Statement::Query(query) => {
                self.choose_for_query(query, run, ValidFor::Values).unwrap_or(Route::FullPlanner)
            }
            Statement::Insert(insert) if self.sequence_of(&insert.table).is_some() => Route::Command,
            Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => Route::Change,
            Statement::Call(_) => Route::Procedure,
            _ => Route::Command,
        }
    }

    /// The route of a statement for all values of the kinds that these have; `None` if there is none, and it is to be chosen each time.
    pub(crate) fn choose_for_kinds(&mut self, statement: &PreparedStatement, parameters: &[Value]) -> Option<Route> {
        let request = Request::of_prepared(statement, parameters);
        let run = self.bindable(request);
        match request.statement {
            Statement::Query(query) => self.choose_for_query(query, &run, ValidFor::Kinds),
            change if point::is_point_change(change) => {
                Some(Route::PointChange(Arc::new(self.point_change(&run).ok()??)))
            }
            _ => None,
        }
    }

    /// The cheapest route of a query that the session allows; `None` if it depends on the values.
    fn choose_for_query(&self, query: &Query, run: &Bindable<'_>, valid_for: ValidFor) -> Option<Route> {
        let allowed = self.settings.query_route;
        if allowed == QueryRoute::FullPlanner || self.settings.select_limit != u64::MAX {
            return Some(Route::FullPlanner);
        }
        let is_for_kinds = valid_for == ValidFor::Kinds;
        // LOCK TABLES is looked at by the full planner, and where cached routes are used.
        let may_read = is_for_kinds || self.held_locks.tables.is_none();
        // Variables of a stored program hide columns, which only the binder knows.
        if allowed == QueryRoute::Auto && self.locals.is_none() {
            match self.point_select(query, run) {
                Ok(Some(plan)) if may_read => return Some(Route::PointLookup(Arc::new(plan))),
                Err(_) if is_for_kinds => return None,
                _ => {}
            }
            if let Some(row) = self.constant_row(query, run.request.sql, run.request.parameters, &run.context) {
                let plan = match valid_for {
                    ValidFor::Values => Some(ConstantPlan::new(row)),
                    ValidFor::Kinds => ConstantPlan::of_literals(row, &run.context).ok().flatten(),
                };
                return plan.map(|plan| Route::Constant(Arc::new(plan)));
            }
        }
        if !may_read {
            return Some(Route::FullPlanner);
        }
        match valid_for {
            ValidFor::Values => {
                let plan = self.row_plan(query, run, KeptParameters::None)?;
                Some(Route::RowByRow(Arc::new(RowsPlan::new(plan, Box::default()))))
            }
            ValidFor::Kinds => self.rows_for_kinds(query, run),
        }
    }

    /// The plan of a query that is a look-up by key, if the session may read what it reads.
    fn point_select(&self, query: &Query, run: &Bindable<'_>) -> SqlResult<Option<Authorized<SelectPlan>>> {
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

    /// The value that an expression outside of any query has without a plan.
    pub(crate) fn constant_value(
        &self,
        expr: &ast::Expr,
        sql: &[u8],
        parameters: &[Value],
        context: &Arc<StatementContext>,
    ) -> Option<BoundExpr> {
        let (catalog, tables) = (self.shared.catalog.load(), SessionTables::new(self, context, None));
        point::constant_value(expr, &self.binder(sql, parameters, &catalog, context, &tables))
    }

    /// The row that a query is, if it is one of constants.
    fn constant_row(
        &self,
        query: &Query,
        sql: &[u8],
        parameters: &[Value],
        context: &Arc<StatementContext>,
    ) -> Option<ConstantRow> {
        let (catalog, tables) = (self.shared.catalog.load(), SessionTables::new(self, context, None));
        point::constant_row(query, &self.binder(sql, parameters, &catalog, context, &tables))
    }

    /// A plan of a small query for all values of the kinds that these have. A query that is not small now is one of the full planner's,
    /// until it is looked at again.
    fn rows_for_kinds(&self, query: &Query, run: &Bindable<'_>) -> Option<Route> {
        let kinds = run.request.parameters.iter().map(ParameterKind::of).collect::<Option<Box<[_]>>>()?;
        // Variables are bound with the values and types that they have.
        if run.request.sql.contains(&b'@') {
            return None;
        }
        match self.row_plan(query, run, KeptParameters::All) {
            Some(plan) => plan.is_valid_for_kinds().then(|| Route::RowByRow(Arc::new(RowsPlan::new(plan, kinds)))),
            None => Some(Route::FullPlanner),
        }
    }

    /// The plan of a small query, if the session may read what it reads.
    fn row_plan(
        &self,
        query: &Query,
        run: &Bindable<'_>,
        kept_parameters: KeptParameters<'_>,
    ) -> Option<Authorized<Arc<RowPlan>>> {
        let catalog: Arc<Catalog> = self.shared.catalog.load();
        let table_of = |name: &ast::ObjectName| base_table(&self.security(), &catalog, name);
        let tables = SessionTables::new(self, &run.context, None);
        let (sql, parameters) = (run.request.sql, run.request.parameters);
        let binder = Binder { kept_parameters, ..self.binder(sql, parameters, &catalog, &run.context, &tables) };
        let plan = rowwise::plan(query, &binder, &*self.shared.store, &table_of)?;
        // Stored programs have a transaction, which short routes do without.
        if run.context.programs.are_called() {
            return None;
        }
        self.security().authorize(Arc::new(plan)).ok()
    }

    fn point_change(&self, run: &Bindable<'_>) -> SqlResult<Option<ChangePlan>> {
        let Some(kinds) = run.request.parameters.iter().map(ParameterKind::of).collect::<Option<Box<[_]>>>() else {
            return Ok(None);
        };
        let plan = self.bind_change(run, &self.shared.catalog.load(), KeptParameters::All)?;
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
