//! Repeated queries of the full planner. The shared plan cache has their plans: those with parameters by their normalized texts, those
//! for literals alone by their exact texts.
//!
//! A plan with parameters is cached when a text comes for the second time that differs in its literals alone (see
//! [`super::for_kinds`]), a plan for literals when its very text does. It is used while its inputs are the same: the catalog and the
//! session's settings. No name may mean a TEMPORARY table or a variable of a stored program. Before each run the sizes of tables are
//! compared, and paths to rows are chosen again ([`ReusablePlan`](squall_executor::reusable::ReusablePlan)). The session that runs it
//! checks its own privileges.

use super::RunningQuery;
use crate::plans::QueryRoute;
use crate::plans::cached_query::CachedQuery;
use crate::plans::parameter_use::{CONSTANTS_MAX, ParameterUse, QueryValues, ValueKinds};
use crate::plans::session_cache::values;
use crate::plans::shared_cache::{PlanKey, TEXT_BYTES_MAX};
use crate::plans::slot::SchemaVersions;
use crate::result::writer::ResultWriter;
use crate::result::{Failure, Outcome};
use crate::session::{Session, StatementRun};
use squall_catalog::Catalog;
use squall_instrumentation::process::count;
use squall_instrumentation::stages;
use squall_parser::{NormalizedLiteral, Normalizer};
use squall_planner::BoundQuery;
use squall_statement_context::BindSettings;
use squall_types::Value;
use std::sync::Arc;

/// Where the plan of a query is, or may be kept.
pub(super) struct CachePlace {
    /// The text as it was sent, if its plan may be for its literals alone.
    pub text: Option<Vec<u8>>,
    /// Whether such a plan is worth keeping.
    keeps: bool,
    /// Where a plan with parameters is.
    pub with_parameters: Option<ParameterPlace>,
    pub settings: Arc<BindSettings>,
    /// The versions that it is bound and planned with.
    pub versions: SchemaVersions,
}

/// Where the plan with parameters of a query is, or may be kept.
pub(super) struct ParameterPlace {
    /// The normalized text, or the text of a prepared statement.
    pub text: Vec<u8>,
    /// The literals or parameters that belong into it.
    pub values: QueryValues,
    /// Their kinds.
    pub kinds: ValueKinds,
    /// Whether such a plan is worth making.
    pub keeps: bool,
}

impl ParameterPlace {
    /// By what plans are kept with these constants fixed.
    pub fn key<'a>(&'a self, constants: &'a [u8]) -> PlanKey<'a> {
        PlanKey { text: &self.text, constants }
    }
}

impl Session {
    /// The place of a query's plan; `None` if its text does not tell what it means.
    pub(super) fn place_in_plan_cache(&self, run: &StatementRun<'_>, catalog: &Catalog) -> Option<CachePlace> {
        let request = &run.request;
        let text = request.text();
        let tells_all = request.long_statement().is_none()
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
        let parameters = match request.placeholders {
            0 => normalized(text),
            _ => of_prepared(text, request.parameters),
        };
        let with_parameters = parameters.map(|(text, values)| {
            let keeps = is_forced || self.shared.plans.planned_before(&text, &settings);
            ParameterPlace { kinds: values.kinds(), text, values, keeps }
        });
        let text = (request.placeholders == 0).then(|| text.to_vec());
        let keeps = text.as_ref().is_some_and(|text| is_forced || self.shared.plans.met_before(text, &settings));
        Some(CachePlace { text, keeps, with_parameters, settings, versions })
    }

    /// Runs a query by its cached plan; `None` if there is no valid one.
    pub(super) async fn run_cached_query(
        &mut self,
        place: &CachePlace,
        run: &StatementRun<'_>,
        catalog: &Arc<Catalog>,
        writer: &mut dyn ResultWriter,
    ) -> Result<Option<Outcome>, Failure> {
        if let Some(with_parameters) = &place.with_parameters
            && let Some(known) = self.parameter_use(place, with_parameters)
            && let Some(constants) = known.constants(&with_parameters.values.values)
            && let Some(parameters) = known.parameters(&with_parameters.values.values)
        {
            let key = with_parameters.key(&constants);
            let outcome = self.run_cached_plan(place, key, parameters, run, catalog, writer).await?;
            if outcome.is_some() {
                return Ok(outcome);
            }
        }
        match &place.text {
            Some(text) => self.run_cached_plan(place, text.into(), Vec::new(), run, catalog, writer).await,
            None => Ok(None),
        }
    }

    /// How plans use the constants of a query, if that is known, and one of them is a parameter.
    fn parameter_use(&self, place: &CachePlace, with_parameters: &ParameterPlace) -> Option<Arc<ParameterUse>> {
        let entry = self.shared.plans.find(&with_parameters.text, &place.settings)?;
        entry.parameter_use(place.versions, &with_parameters.kinds).filter(|known| !known.has_none())
    }

    /// Runs a query by one of the plans of a key; `None` if there is none that suits these parameters.
    async fn run_cached_plan(
        &mut self,
        place: &CachePlace,
        key: PlanKey<'_>,
        parameters: Vec<Value>,
        run: &StatementRun<'_>,
        catalog: &Arc<Catalog>,
        writer: &mut dyn ResultWriter,
    ) -> Result<Option<Outcome>, Failure> {
        let Some(entry) = self.shared.plans.find(key, &place.settings) else { return Ok(None) };
        let parameters = Arc::new(parameters);
        // Plans that are good for other values.
        let mut passed_over = Vec::new();
        let mut outcome = Ok(None);
        while let Some(cached) = entry.take_query(place.versions) {
            let query = match self.security().authorize(cached.query.clone()) {
                Ok(query) => query,
                Err(error) => {
                    passed_over.push(cached);
                    outcome = Err(error.into());
                    break;
                }
            };
            let (env, lent) = self.query_env(&query, &run.context, catalog.clone())?;
            if !cached.plan.holds(&env) {
                self.take_back(lent, &run.context).await?;
                continue;
            }
            let Some(plan) = cached.plan.next_execution(&env, parameters.clone())? else {
                self.take_back(lent, &run.context).await?;
                passed_over.push(cached);
                continue;
            };
            count(&self.process.status.plan_hits);
            entry.note_query(self.command.start_micros);
            self.keep_passed_over(place, key, passed_over);
            let stream = self.shared.runtime.run(&env, plan);
            let mut running = RunningQuery { stream, lent, context: run.context.clone() };
            self.instruments().stage(stages::EXECUTING);
            let result = self.send_rows(&query, &mut running, writer).await;
            let ended = self.end_query(running).await;
            let rows = result?;
            ended?;
            self.keep_plan(place, key, cached);
            return Ok(Some(rows));
        }
        self.keep_passed_over(place, key, passed_over);
        outcome
    }

    /// Puts plans back in the order in which they have run.
    fn keep_passed_over(&self, place: &CachePlace, key: PlanKey<'_>, plans: Vec<CachedQuery>) {
        plans.into_iter().rev().for_each(|plan| self.keep_plan(place, key, plan));
    }

    /// Keeps the plan of a query that has ended well.
    pub(super) fn keep_plan(&self, place: &CachePlace, key: PlanKey<'_>, cached: CachedQuery) {
        cached.plan.end_execution();
        let current = || self.shared.schema_versions();
        self.shared.plans.keep_query(key, &place.settings, place.versions, current, cached);
    }
}

impl CachePlace {
    /// By what the plan of this query is kept if it is for these literals alone; `None` if it is not kept.
    pub fn key_of_literals(&self, query: &BoundQuery) -> Option<PlanKey<'_>> {
        let text = self.text.as_ref().filter(|_| self.keeps && is_same_for_all(query))?;
        Some(text.into())
    }
}

/// Whether the plan of a query may be kept: it is the same for all sessions.
pub(super) fn is_same_for_all(query: &BoundQuery) -> bool {
    query.is_told_by_text && !query.row_order_matters && !query.locks() && query.into.is_none()
}

/// The normalized text of a query with its literals, if it has some.
fn normalized(text: &[u8]) -> Option<(Vec<u8>, QueryValues)> {
    let mut normalizer = Normalizer::default();
    let (normalized, literals) = normalizer.normalize(text)?;
    if literals.is_empty() || literals.len() > CONSTANTS_MAX {
        return None;
    }
    // `01` names a column otherwise than `1` does.
    let digits = |number: i64| number.checked_ilog10().map_or(1, |log| log as usize + 1);
    let length = |literal: &NormalizedLiteral| match literal {
        NormalizedLiteral::Integer(number) => digits(*number),
        NormalizedLiteral::String(range) => range.len() + "''".len(),
    };
    let tells_all = normalized.len() - literals.len() + literals.iter().map(length).sum::<usize>() == text.len();
    let values = QueryValues { values: values(text, literals).collect(), are_of_prepared: false };
    tells_all.then(|| (normalized.to_vec(), values))
}

/// The text of a prepared query with its parameters, if they are few and short.
fn of_prepared(text: &[u8], parameters: &[Value]) -> Option<(Vec<u8>, QueryValues)> {
    let bytes: usize = parameters.iter().map(Value::heap_bytes).sum();
    let is_short = parameters.len() <= CONSTANTS_MAX && bytes <= TEXT_BYTES_MAX;
    is_short.then(|| (text.to_vec(), QueryValues { values: parameters.to_vec(), are_of_prepared: true }))
}

#[cfg(test)]
mod tests {
    use super::normalized;

    #[test]
    fn a_text_whose_literals_are_more_than_their_values_is_not_normalized() {
        let is_normalized = |text: &str| normalized(text.as_bytes()).is_some();
        assert!(is_normalized("SELECT a + 1, 0 FROM t WHERE b = 10 AND c = '01' AND d IN (999, 1000, 0)"));
        assert!(!is_normalized("SELECT 01 FROM t"));
        assert!(!is_normalized("SELECT 1 FROM t WHERE a = 00"));
        assert!(!is_normalized("SELECT a FROM t"));
    }
}
