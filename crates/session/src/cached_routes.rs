//! Finds the route of a text or of a prepared statement.

use crate::plans::prepared::{PreparedStatement, StatementTree};
use crate::plans::session_cache::{CachedStatement, Known, values};
use crate::plans::shared_cache::{CacheEntry, PlanUse, SharedRows, TEXT_BYTES_MAX};
use crate::plans::slot::{PlanVersions, Slot};
use crate::plans::{Found, QueryRoute, Route, RowsPlan};
use crate::session::Session;
use crate::state::prepared_statements::PreparedEntry;
use bytes::Bytes;
use squall_instrumentation::process::{Process, count};
use squall_parser::ast::Statement;
use squall_planner::point;
use squall_types::Value;
use std::sync::{Arc, OnceLock};

impl Session {
    /// The current versions that cached routes depend on.
    pub(crate) fn plan_versions(&mut self) -> PlanVersions {
        self.refresh_access();
        PlanVersions {
            schema: self.shared.schema_versions(),
            accounts: self.identity.access.version,
            session: self.settings_version.get(),
        }
    }

    /// The cached route of a prepared statement.
    pub(crate) fn route_of_prepared(&mut self, id: u32, parameters: &[Value]) -> Option<Route> {
        let now = self.plan_versions();
        let PreparedEntry { statement, slot, plan_use, .. } = self.state.prepared.entry(id)?;
        if parameters.len() != statement.placeholders as usize {
            return None;
        }
        match slot.get(now, parameters) {
            Slot::Uncached => return None,
            Slot::Route(route) => {
                count_hit(&self.process, &route, plan_use.as_deref(), self.state.command.start_micros);
                return Some(route);
            }
            Slot::Unknown => {}
        }
        if slot.is_outdated(now)
            && let Some(counted) = statement.counted.get()
        {
            counted.reprepare();
        }
        let (statement, plan_use) = (statement.clone(), plan_use.clone());
        // It was read as the session was then.
        let settings = self.settings.bind.clone();
        let plan_use = plan_use.filter(|plan_use| *plan_use.entry.settings == *settings);
        let route = self.find_route(&statement, parameters, now, plan_use.as_deref());
        if let Some(PreparedEntry { slot, .. }) = self.prepared.entry(id) {
            slot.set(now, route.clone());
        }
        route
    }

    /// The cached route of a text with its literals, and its normalized statement.
    pub(crate) fn route_of_text(&mut self, sql: &[u8]) -> Option<Found> {
        let now = self.plan_versions();
        let (normalized, parameters, is_known) = match self.state.session_plans.find(sql) {
            Known::Nothing => return None,
            Known::Entry(CachedStatement { statement, slot, plan_use }, parameters) => {
                let statement = statement.as_ref()?;
                match slot.get(now, &parameters) {
                    Slot::Uncached => {
                        self.session_plans.give_back(parameters);
                        return None;
                    }
                    Slot::Route(route) => {
                        count_hit(&self.process, &route, plan_use.as_deref(), self.state.command.start_micros);
                        return Some(Found { statement: Some(statement.clone()), route, parameters });
                    }
                    Slot::Unknown => (statement.sql.to_vec(), parameters, true),
                }
            }
            Known::New(normalized, literals) => (normalized.to_vec(), values(sql, literals).collect(), false),
        };
        let (statement, route) = self.find_normalized(normalized, &parameters, now, is_known)?;
        Some(Found { statement: Some(statement), route: route?, parameters })
    }

    /// The cached route of a text with a `?` for each of these values: it is normalized as it is.
    pub(crate) fn route_of_values(&mut self, sql: &[u8], values: &[Value]) -> Option<Found> {
        // Variables are bound with the types that they have.
        if values.is_empty() || sql.len() > TEXT_BYTES_MAX || sql.contains(&b'@') {
            return None;
        }
        let now = self.plan_versions();
        let known = self.state.session_plans.entry(sql);
        let is_known = known.is_some();
        if let Some(CachedStatement { statement, slot, plan_use }) = known {
            let statement = statement.as_ref().filter(|known| known.placeholders as usize == values.len())?;
            match slot.get(now, values) {
                Slot::Uncached => return None,
                Slot::Route(route) => {
                    count_hit(&self.process, &route, plan_use.as_deref(), self.state.command.start_micros);
                    return Some(Found { statement: Some(statement.clone()), route, parameters: Vec::new() });
                }
                Slot::Unknown => {}
            }
        }
        let (statement, route) = self.find_normalized(sql.to_vec(), values, now, is_known)?;
        Some(Found { statement: Some(statement), route: route?, parameters: Vec::new() })
    }

    /// Finds the route of a normalized statement that the session has none of, and caches it. `None`: it cannot have one that is cached, or it is
    /// met for the first time and no other session knows it.
    fn find_normalized(
        &mut self,
        normalized: Vec<u8>,
        parameters: &[Value],
        now: PlanVersions,
        is_known: bool,
    ) -> Option<(Arc<PreparedStatement>, Option<Route>)> {
        let (settings, shared) = (self.settings.bind.clone(), self.shared.clone());
        let entry = shared.plans.find(&normalized, &settings);
        if entry.is_none() && !is_known && !shared.plans.met_before(&normalized, &settings) {
            return None;
        }
        // A text that has become another statement under another sql_mode is read again.
        let statement = match entry.as_ref().and_then(|entry| entry.statement()) {
            Some(statement) => Some(statement).filter(|statement| may_have_route(statement, parameters.len())),
            None => self.parse_normalized(&normalized, parameters.len()).map(Arc::new),
        };
        let Some(statement) = statement else {
            self.session_plans.insert(normalized, CachedStatement::default());
            return None;
        };
        let plan_use = entry.or_else(|| shared.plans.find_or_insert(&normalized, &settings)).map(|entry| {
            entry.set_statement(&statement);
            self.plan_use(entry)
        });
        let route = self.find_route(&statement, parameters, now, plan_use.as_deref());
        let mut slot = self.session_plans.take_slot(&normalized);
        slot.set(now, route.clone());
        self.session_plans.insert(normalized, CachedStatement { statement: Some(statement.clone()), slot, plan_use });
        Some((statement, route))
    }

    /// Begins to count what the session does with a statement.
    pub(crate) fn plan_use(&self, entry: Arc<CacheEntry>) -> Arc<PlanUse> {
        let plan_use = Arc::new(PlanUse::new(entry));
        self.process.add_plan_use(&plan_use);
        plan_use
    }

    /// The route of a statement: by the plan of another session, if there is one that this session may use, or a new one.
    fn find_route(
        &mut self,
        statement: &PreparedStatement,
        parameters: &[Value],
        now: PlanVersions,
        plan_use: Option<&PlanUse>,
    ) -> Option<Route> {
        // Another route is chosen for each statement.
        if self.settings.query_route != QueryRoute::Auto || statement.statement.long().is_some() {
            return None;
        }
        // Names may mean the session's own tables.
        let shares = self.temporary_tables.is_empty();
        let plan_use = plan_use.filter(|_| shares);
        if let Some(plan_use) = plan_use
            && let Some(route) = self.shared_route(&plan_use.entry, parameters, now)
        {
            count(&self.process.status.plan_shared_hits);
            plan_use.learned(true, self.command.start_micros);
            return Some(route);
        }
        let route = self.choose_for_kinds(statement, parameters);
        count(&self.process.status.plan_misses);
        if let Some(plan_use) = plan_use {
            plan_use.learned(false, self.command.start_micros);
            plan_use.entry.set_plan(now.schema, || self.shared.schema_versions(), route.as_ref());
        }
        route
    }

    /// The route that another session has found, if it is for values of these kinds and this session has the privileges.
    fn shared_route(&self, entry: &CacheEntry, parameters: &[Value], now: PlanVersions) -> Option<Route> {
        if let Some(plan) = entry.select(now.schema) {
            // The session's own, so that no two count references to one.
            return Some(Route::PointLookup(Arc::new(self.security().authorize((*plan).clone()).ok()?)));
        }
        let SharedRows { plan, kinds } = entry.rows(now.schema)?;
        let route = Route::RowByRow(Arc::new(RowsPlan::new(self.security().authorize(plan).ok()?, kinds)));
        route.for_values(parameters)
    }

    /// The row that a text always gives, if that is known.
    pub(crate) fn constant_of_text(&mut self, sql: &[u8]) -> Option<Route> {
        if !self.session_plans.has_constant(sql) {
            return None;
        }
        let now = self.plan_versions();
        self.session_plans.constant(sql, now)
    }

    /// A normalized statement, if its route can be cached.
    fn parse_normalized(&self, sql: &[u8], literals: usize) -> Option<PreparedStatement> {
        let parsed = squall_parser::parse_bytes(sql, &self.parse_options()).ok()?;
        let statement = PreparedStatement {
            sql: Bytes::copy_from_slice(sql),
            statement: StatementTree::Short(Arc::new(parsed.statement)),
            placeholders: parsed.placeholders,
            columns: Arc::default(),
            options: self.parse_options(),
            places: OnceLock::new(),
            digest: OnceLock::new(),
            may_hold_secrets: OnceLock::new(),
            counted: OnceLock::new(),
        };
        (parsed.rest.is_none() && may_have_route(&statement, literals)).then_some(statement)
    }
}

/// Counts that a route was cached; the full planner's plans are not.
fn count_hit(process: &Process, route: &Route, plan_use: Option<&PlanUse>, now_micros: i64) {
    if matches!(route, Route::FullPlanner) {
        return;
    }
    count(&process.status.plan_hits);
    if let Some(plan_use) = plan_use {
        plan_use.hit(now_micros);
    }
}

/// Whether the route of a statement with this many literals can be cached.
fn may_have_route(statement: &PreparedStatement, literals: usize) -> bool {
    statement.placeholders as usize == literals
        && (matches!(*statement.statement, Statement::Query(_)) || point::is_point_change(&statement.statement))
}
