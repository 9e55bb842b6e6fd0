//! Repeated queries of the full planner. The shared plan cache has their plans, by the exact text of the query.
//!
//! A plan is cached when its text comes for the second time. It is used while its inputs are the same: the catalog and the session's
//! settings. No name may mean a TEMPORARY table or a variable of a stored program. The sizes of tables are compared before each run
//! ([`ReusablePlan::holds`](squall_executor::reusable::ReusablePlan::holds)). The session that runs it checks its own privileges.

use super::RunningQuery;
use crate::plans::shared_cache::TEXT_BYTES_MAX;
use crate::plans::slot::SchemaVersions;
use crate::plans::{CachedQuery, QueryRoute};
use crate::result::writer::ResultWriter;
use crate::result::{Failure, Outcome};
use crate::session::{Session, StatementRun};
use squall_catalog::Catalog;
use squall_instrumentation::process::count;
use squall_instrumentation::stages;
use squall_planner::BoundQuery;
use squall_statement_context::BindSettings;
use std::sync::Arc;

/// Where the plan of a query is, or may be kept.
pub(super) struct CachePlace {
    text: Vec<u8>,
    settings: Arc<BindSettings>,
    /// The versions that it is bound and planned with.
    versions: SchemaVersions,
    /// Whether it is worth keeping.
    keeps: bool,
}

impl Session {
    /// The place of a query's plan; `None` if its text does not tell what it means.
    pub(super) fn place_in_plan_cache(&self, run: &StatementRun<'_>, catalog: &Catalog) -> Option<CachePlace> {
        let request = &run.request;
        let text = request.text();
        let tells_all = request.placeholders == 0
            && request.long_statement().is_none()
            && self.nesting.inside.is_none()
            && self.locals.is_none()
            && self.held_locks.tables.is_none()
            && self.temporary_tables.is_empty()
            && self.settings.select_limit == u64::MAX
            && text.len() <= TEXT_BYTES_MAX;
        if !tells_all {
            return None;
        }
        let settings = self.settings.bind.clone();
        let versions = SchemaVersions { catalog: catalog.version, functions: self.shared.registry.functions_version() };
        let is_forced = self.settings.query_route == QueryRoute::FullPlanner;
        let keeps = is_forced || self.shared.plans.met_before(text, &settings);
        Some(CachePlace { text: text.to_vec(), settings, versions, keeps })
    }

    /// Runs a query by its cached plan; `None` if there is no valid one.
    pub(super) async fn run_cached_query(
        &mut self,
        place: &CachePlace,
        run: &StatementRun<'_>,
        catalog: &Arc<Catalog>,
        writer: &mut dyn ResultWriter,
    ) -> Result<Option<Outcome>, Failure> {
        let Some(entry) = self.shared.plans.find(&place.text, &place.settings) else { return Ok(None) };
        let Some(cached) = entry.take_query(place.versions) else { return Ok(None) };
        let query = match self.security().authorize(cached.query.clone()) {
            Ok(query) => query,
            Err(error) => {
                self.keep_plan(place, cached);
                return Err(error.into());
            }
        };
        let (env, lent) = self.query_env(&query, &run.context, catalog.clone())?;
        if !cached.plan.holds(&env) {
            self.take_back(lent, &run.context).await?;
            return Ok(None);
        }
        count(&self.process.status.plan_hits);
        entry.note_query(self.command.start_micros);
        let plan = cached.plan.next_execution(run.context.clone())?;
        let stream = self.shared.runtime.run(&env, plan);
        let mut running = RunningQuery { stream, lent, context: run.context.clone() };
        self.instruments().stage(stages::EXECUTING);
        let result = self.send_rows(&query, &mut running, writer).await;
        let ended = self.end_query(running).await;
        let outcome = result?;
        ended?;
        self.keep_plan(place, cached);
        Ok(Some(outcome))
    }

    /// Keeps the plan of a query that has ended well.
    pub(super) fn keep_plan(&self, place: &CachePlace, cached: CachedQuery) {
        cached.plan.end_execution();
        let current = || self.shared.schema_versions();
        self.shared.plans.keep_query(&place.text, &place.settings, place.versions, current, cached);
    }
}

impl CachePlace {
    /// Whether the plan of this query is kept: it is the same for all sessions.
    pub(super) fn keeps(&self, query: &BoundQuery) -> bool {
        self.keeps && query.is_told_by_text && !query.row_order_matters && !query.locks() && query.into.is_none()
    }
}
