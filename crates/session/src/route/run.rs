//! Runs a statement by its route.

use super::Route;
use crate::authorization::AuthorizedStatement;
use crate::result::writer::ResultWriter;
use crate::result::{Failure, Outcome};
use crate::session::Session;
use squall_parser::ast::Statement;

impl Route {
    /// Whether a statement by this route takes less time than another thread does to be woken, as long as it waits for no lock.
    pub(crate) fn is_brief(&self, foreign_key_checks: bool) -> bool {
        match self {
            Route::PointLookup(plan) => plan.point.reads_one_row(),
            Route::Constant(plan) => plan.values.is_some(),
            Route::PointChange(change) => change.plan.runs_inline(foreign_key_checks),
            _ => false,
        }
    }

    /// Runs a statement that the session may run, up to its answer. A query that is too large for a short route goes to the full
    /// planner; nothing has happened then.
    pub(crate) async fn run(
        self,
        session: &mut Session,
        run: AuthorizedStatement<'_, '_>,
        writer: &mut dyn ResultWriter,
    ) -> Result<Outcome, Failure> {
        let run = run.run();
        let answered = match (self, run.request.statement) {
            (Route::PointChange(change), _) => return session.run_data_change(run, Some(&change.plan)).await,
            (Route::Change, _) => return session.run_data_change(run, None).await,
            (Route::Procedure, Statement::Call(call)) => return session.run_call(call, run, writer).await,
            (Route::PointLookup(plan), _) => session.run_point_lookup((*plan).as_ref(), run, writer)?,
            (Route::Constant(plan), _) => Some(session.run_constant(plan, run, writer)?),
            (Route::RowByRow(plan), _) => session.run_row_by_row(&plan, run, writer)?,
            (Route::FullPlanner, _) => None,
            (Route::Procedure | Route::Command, _) => return session.run_command(run, writer).await,
        };
        match (answered, run.request.statement) {
            (Some(outcome), _) => Ok(outcome),
            (None, Statement::Query(query)) => session.run_by_full_planner(query, run, writer).await,
            (None, _) => session.run_command(run, writer).await,
        }
    }
}
