//! EXPLAIN and EXPLAIN ANALYZE.

use crate::change_plan::ChangePlan;
use crate::plans::Route;
use crate::result::writer::ResultWriter;
use crate::result::{Failure, Outcome, ResultSet, text_column, typed_column};
use crate::session::{Session, StatementRun};
use squall_executor::StatementEnv;
use squall_parser::ast::{Explain, ExplainTarget, Query, Statement};
use squall_planner::dml::DmlContext;
use squall_planner::explain::{
    ExplainRow, explain_change, explain_change_tree, explain_columns, explain_json, explain_table, explain_tree,
    explain_tree_json,
};
use squall_planner::{BoundQuery, KeptParameters, needs};
use squall_server_state::variables::{Values, ids};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::sync::Arc;

/// How a plan is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Table,
    Json,
    Tree,
}

impl Session {
    /// EXPLAIN.
    pub(crate) async fn run_explain(
        &mut self,
        explain: &Explain,
        run: &StatementRun<'_>,
        _writer: &mut dyn ResultWriter,
    ) -> Result<Outcome, Failure> {
        let ExplainTarget::Statement(statement) = &explain.target else {
            return Err(SqlError::unsupported("EXPLAIN FOR CONNECTION").into());
        };
        if explain.into.is_some() || explain.schema.is_some() {
            return Err(SqlError::unsupported("EXPLAIN INTO and FOR SCHEMA").into());
        }
        let default = Values(&self.variables.session).text(ids::EXPLAIN_FORMAT).to_string();
        let format = match explain.format.as_deref().or(Some(default.as_str())) {
            None | Some("TRADITIONAL" | "DEFAULT") if explain.analyze => Format::Tree,
            None | Some("TRADITIONAL" | "DEFAULT") => Format::Table,
            Some("TREE") => Format::Tree,
            Some("JSON") => Format::Json,
            Some(other) => return Err(SqlError::new(ErrorCode::UnknownExplainFormat, &[&other]).into()),
        };
        match &**statement {
            Statement::Query(query) => {
                Ok(self.explain_query(query, explain.analyze, format, &run.with_statement(statement)).await?)
            }
            Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) if !explain.analyze => {
                Ok(self.explain_data_change(format, &run.with_statement(statement)).await?)
            }
            Statement::Set(_) | Statement::Reset(_) if !explain.analyze => {
                let plan = self.explain_configuration(&run.with_statement(statement)).await?;
                let plan = plan.ok_or_else(|| SqlError::unsupported("EXPLAIN of this statement"))?;
                Ok(Outcome::Rows(shown_plan(&plan, format)))
            }
            Statement::AlterTable(alter) if !explain.analyze => {
                let plan = self.explain_alter_table(alter, &run.with_statement(statement))?;
                Ok(Outcome::Rows(shown_plan(&plan, format)))
            }
            // MySQL's words, also for changes of several tables, which it analyzes.
            _ if explain.analyze => Err(SqlError::unsupported("EXPLAIN ANALYZE on this query").into()),
            _ => Err(SqlError::unsupported("EXPLAIN of this statement").into()),
        }
    }

    async fn explain_query(
        &mut self,
        query: &Query,
        analyze: bool,
        format: Format,
        run: &StatementRun<'_>,
    ) -> SqlResult<Outcome> {
        let catalog = self.shared.catalog.load();
        let bound = self.bind_query(query, run.request.sql, run.request.parameters, &catalog, &run.context, None)?;
        let bound = self.security().authorize(bound)?;
        self.check_may_explain(&bound)?;
        if analyze && bound.locks() {
            return Err(SqlError::unsupported("EXPLAIN ANALYZE of a locking read"));
        }
        let view = self.view();
        let store = self.shared.store.clone();
        let env = Arc::new(StatementEnv::new(run.context.clone(), catalog, store, Some(view)));
        let runtime = self.shared.runtime.clone();
        let plan = runtime.plan_on_pool(&env, bound.as_ref().part(|bound| &bound.plan)).await?;
        if analyze {
            let mut stream = runtime.run(&env, plan.clone());
            while let Some(batch) = stream.next().await {
                batch?;
            }
        }
        Ok(Outcome::Rows(match format {
            Format::Table => table_of(&explain_table(&plan)),
            Format::Json if analyze => one_text(explain_tree_json(&plan, self.choose(run).name())),
            Format::Json => {
                let route = self.choose(run);
                one_text(explain_json(&explain_table(&plan), route.name()))
            }
            Format::Tree => one_text(explain_tree(&plan, analyze)),
        }))
    }

    /// EXPLAIN shows what views are made of (1345).
    fn check_may_explain(&self, bound: &BoundQuery) -> SqlResult<()> {
        let needs = needs::of_shown_views(bound);
        self.security().check_needs(&needs).map_err(|_| SqlError::new(ErrorCode::ViewNoExplain, &[]))
    }

    async fn explain_data_change(&mut self, format: Format, run: &StatementRun<'_>) -> SqlResult<Outcome> {
        let catalog = self.shared.catalog.load();
        let plan = self.bind_change_as(run, &catalog, KeptParameters::None, format == Format::Tree)?;
        self.begin_statement_transaction();
        let env = self.change_env(run, catalog);
        let explain = move |dml: &mut DmlContext<'_>| {
            Ok(match format {
                Format::Tree => one_text(explain_change_tree(dml, plan.as_ref())?),
                Format::Table => table_of(&explain_change(dml, plan.as_ref())?),
                Format::Json => one_text(explain_json(&explain_change(dml, plan.as_ref())?, Route::Change.name())),
            })
        };
        self.change_on_pool(env, explain).await.map(Outcome::Rows)
    }
}

fn shown_plan(plan: &ChangePlan, format: Format) -> ResultSet {
    match format {
        Format::Table => plan.table(),
        Format::Json => one_text(plan.json()),
        Format::Tree => one_text(plan.tree()),
    }
}

fn table_of(rows: &[ExplainRow]) -> ResultSet {
    let columns = explain_columns().into_iter().map(|(name, sql_type)| typed_column(name, sql_type, false)).collect();
    ResultSet { columns, rows: rows.iter().map(ExplainRow::values).collect() }
}

fn one_text(text: String) -> ResultSet {
    ResultSet { columns: vec![text_column("EXPLAIN", 16_383)], rows: vec![vec![Value::String(text)]] }
}
