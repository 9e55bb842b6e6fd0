//! Routes: the ways to run a statement, with their plans.

pub(crate) mod cached_query;
pub(crate) mod long_statement;
pub(crate) mod parameter_use;
pub(crate) mod prepared;
pub(crate) mod routine_cache;
pub(crate) mod session_cache;
pub(crate) mod shared_cache;
pub(crate) mod slot;
pub(crate) mod statements;
pub(crate) mod trigger_cache;

use crate::plans::prepared::PreparedStatement;
use crate::result::column_meta::columns;
use crate::result::writer::ColumnMeta;
use squall_accounting::PlanCounts;
use squall_catalog::{Authorized, Need, Touches};
use squall_instrumentation::tables::TableKey;
use squall_parser::Digest;
use squall_planner::ParameterKind;
use squall_planner::dml::DmlPlan;
use squall_planner::point::{ConstantRow, PointSelect};
use squall_planner::rowwise::RowPlan;
use squall_statement_context::{StatementContext, TableUse};
use squall_types::{SqlResult, Value};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// How a statement is run, with the plan that it has for that.
#[derive(Clone, Debug)]
pub(crate) enum Route {
    /// A query of one table by a key: it reads the store on the connection's thread.
    PointLookup(Arc<Authorized<SelectPlan>>),
    /// A query without tables: one row.
    Constant(Arc<ConstantPlan>),
    /// A query of few rows: nested loops over indexes on the connection's thread, left for the full planner as soon as it reads many rows.
    RowByRow(Arc<RowsPlan>),
    /// Any other query: DataFusion plans it and runs it on the query pool.
    FullPlanner,
    /// A change of single rows by a plan that holds for other values too.
    PointChange(Arc<ChangePlan>),
    /// Any other INSERT, UPDATE, REPLACE or DELETE.
    Change,
    /// CALL.
    Procedure,
    /// Any other statement.
    Command,
}

impl Route {
    /// Its name in EXPLAIN.
    pub fn name(&self) -> &'static str {
        match self {
            Route::PointLookup(_) => "point_lookup",
            Route::Constant(_) => "constant",
            Route::RowByRow(_) => "row_by_row",
            Route::FullPlanner => "full_planner",
            Route::PointChange(_) | Route::Change => "change",
            Route::Procedure => "procedure",
            Route::Command => "command",
        }
    }

    /// Whether a query by this route is answered on the connection's thread.
    pub fn is_short(&self) -> bool {
        matches!(self, Route::PointLookup(_) | Route::Constant(_) | Route::RowByRow(_))
    }

    /// The route for these values, if the plan holds for them. Asked once for each statement.
    pub fn for_values(&self, parameters: &[Value]) -> Option<Route> {
        match self {
            Route::RowByRow(rows) if !fit(&rows.kinds, parameters) => None,
            Route::RowByRow(rows) if !rows.attempts.begin() => Some(Route::FullPlanner),
            Route::PointChange(change) if !fit(&change.kinds, parameters) => None,
            route => Some(route.clone()),
        }
    }
}

/// `query_route`: the routes that a session lets queries take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryRoute {
    /// The cheapest.
    Auto,
    /// Row by row where that is possible, without point lookups and constants.
    RowByRow,
    /// The full planner.
    FullPlanner,
}

impl QueryRoute {
    /// By the variable's words.
    pub fn of(word: &str) -> QueryRoute {
        match word {
            "ROW_BY_ROW" => QueryRoute::RowByRow,
            "FULL_PLANNER" => QueryRoute::FullPlanner,
            _ => QueryRoute::Auto,
        }
    }
}

/// Whether values are of the kinds that a plan was made for.
fn fit(kinds: &[ParameterKind], parameters: &[Value]) -> bool {
    kinds.len() == parameters.len() && kinds.iter().zip(parameters).all(|(kind, value)| kind.holds_for(value))
}

/// One row of constants.
#[derive(Debug)]
pub(crate) struct ConstantPlan {
    pub row: ConstantRow,
    /// Its values, if they are the same each time.
    pub values: Option<Vec<Value>>,
    pub columns: Arc<[ColumnMeta]>,
    /// Of its text, once it has been counted.
    pub digest: OnceLock<Arc<Digest>>,
}

impl ConstantPlan {
    /// A row whose values are computed each time.
    pub fn new(row: ConstantRow) -> ConstantPlan {
        let columns = columns(&row.columns).into();
        ConstantPlan { row, values: None, columns, digest: OnceLock::new() }
    }

    /// The row with its values, if they are the same each time; `context` is that of the statement that asks.
    pub fn of_literals(row: ConstantRow, context: &StatementContext) -> SqlResult<Option<ConstantPlan>> {
        if !row.is_literal {
            return Ok(None);
        }
        let values = row.values(context)?;
        let is_the_same_each_time = context.diagnostics.count() == 0;
        Ok(is_the_same_each_time.then(|| ConstantPlan { values: Some(values), ..ConstantPlan::new(row) }))
    }
}

/// A small query, run row by row.
#[derive(Debug)]
pub(crate) struct RowsPlan {
    pub plan: Authorized<Arc<RowPlan>>,
    pub columns: Arc<[ColumnMeta]>,
    /// The kinds of parameters for which the plan is valid.
    pub kinds: Box<[ParameterKind]>,
    pub attempts: Attempts,
}

impl RowsPlan {
    /// A plan for values of these kinds.
    pub fn new(plan: Authorized<Arc<RowPlan>>, kinds: Box<[ParameterKind]>) -> RowsPlan {
        let columns = columns(plan.columns()).into();
        RowsPlan { plan, columns, kinds, attempts: Attempts::default() }
    }
}

/// Decides whether what a query could not be is tried again: to run row by row, or to be planned with parameters. If several sessions
/// ask at once, they may try a few times more or fewer.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    /// How often the query has come since it was last possible.
    failed: AtomicU32,
}

/// What was not possible this many times in a row is not tried any more …
const FAILED_MAX: u32 = 3;
/// … but for one time in this many: tables may have become small, or values others.
const TRIED_AGAIN_EACH: u32 = 64;

impl Attempts {
    /// Whether the query is to be tried; one that is not counts as failed.
    pub fn begin(&self) -> bool {
        let failed = self.failed.load(Ordering::Relaxed);
        let tries = failed < FAILED_MAX || failed.is_multiple_of(TRIED_AGAIN_EACH);
        if !tries {
            self.failed.store(failed.saturating_add(1), Ordering::Relaxed);
        }
        tries
    }

    /// Notes whether a try was a success.
    pub fn end(&self, answered: bool) {
        let failed = if answered { 0 } else { self.failed.load(Ordering::Relaxed).saturating_add(1) };
        self.failed.store(failed, Ordering::Relaxed);
    }
}

/// A look-up by key.
#[derive(Clone, Debug)]
pub(crate) struct SelectPlan {
    pub point: PointSelect,
    pub columns: Arc<[ColumnMeta]>,
}

impl Touches for SelectPlan {
    fn needs(&self) -> Vec<Need> {
        self.point.needs()
    }
}

/// A change of single rows.
#[derive(Debug)]
pub(crate) struct ChangePlan {
    pub plan: Arc<Authorized<DmlPlan>>,
    /// The kinds of values for which the plan is valid.
    pub kinds: Box<[ParameterKind]>,
}

/// The result of trying a statement on the connection's thread.
#[derive(Debug)]
pub enum AtOnce {
    /// It has been answered.
    Answered,
    /// Nothing has happened.
    Left(Unanswered),
}

/// The facts about a statement that was not answered at once. The call that follows with the same text or number takes it.
#[derive(Debug, Default)]
pub struct Unanswered(pub(crate) Option<Found>);

impl Unanswered {
    /// The route that was found.
    pub(crate) fn route(&self) -> Option<&Route> {
        self.0.as_ref().map(|found| &found.route)
    }

    /// The change of single rows that the statement was found to be.
    pub(crate) fn change(&self) -> Option<&ChangePlan> {
        match &self.0 {
            Some(Found { route: Route::PointChange(change), .. }) => Some(change),
            _ => None,
        }
    }
}

/// A statement with its route.
#[derive(Debug)]
pub(crate) struct Found {
    /// The normalized statement; of a prepared one the session knows it.
    pub statement: Option<Arc<PreparedStatement>>,
    pub route: Route,
    /// The values of its literals.
    pub parameters: Vec<Value>,
}

/// The counts of a statement that was answered, for statistics.
#[derive(Debug, Default)]
pub(crate) struct Answered {
    /// How it used tables.
    pub uses: Vec<TableUse>,
    /// The table and the index of a look-up by key.
    pub looked_up: Option<TableKey>,
    /// Rows that it read.
    pub rows_examined: u64,
    /// How it read and sorted.
    pub counts: PlanCounts,
}

#[cfg(test)]
mod tests {
    use super::{Attempts, FAILED_MAX, TRIED_AGAIN_EACH};

    fn tries_of(attempts: &Attempts, statements: u32, answered: bool) -> u32 {
        (0..statements).filter(|_| attempts.begin()).map(|_| attempts.end(answered)).count() as u32
    }

    #[test]
    fn a_large_query_is_tried_seldom() {
        let attempts = Attempts::default();
        assert_eq!(tries_of(&attempts, FAILED_MAX, false), FAILED_MAX);
        let hundreds = tries_of(&attempts, 10 * TRIED_AGAIN_EACH, false);
        assert!((9..=10).contains(&hundreds), "{hundreds}");
    }

    #[test]
    fn a_query_that_has_become_small_is_tried_each_time() {
        let attempts = Attempts::default();
        tries_of(&attempts, FAILED_MAX, false);
        assert_eq!(tries_of(&attempts, TRIED_AGAIN_EACH - FAILED_MAX, true), 0);
        assert_eq!(tries_of(&attempts, 5, true), 5);
    }
}
