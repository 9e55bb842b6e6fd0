//! One statement of the cache, with the parts that sessions read and write.

use super::PlanKey;
use crate::plans::cached_query::CachedQuery;
use crate::plans::parameter_use::{KnownUses, ParameterUse, ValueKinds};
use crate::plans::prepared::PreparedStatement;
use crate::plans::slot::SchemaVersions;
use crate::plans::{Route, SelectPlan};
use parking_lot::Mutex;
use squall_catalog::Need;
use squall_instrumentation::process::count;
use squall_planner::ParameterKind;
use squall_planner::rowwise::RowPlan;
use squall_statement_context::BindSettings;
use squall_system_tables::PlanKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64, Ordering};

/// Bytes of an entry whatever its text, by estimate.
const ENTRY_BYTES: u64 = 2 << 10;
/// Bytes of syntax tree, plan and result columns for each byte of text, by estimate.
const BYTES_PER_TEXT_BYTE: u64 = 20;

/// Most plans of the full planner that are kept of one statement: for values that want different plans, and for executions at the
/// same time.
const QUERIES_MAX: usize = 8;

/// The kind of a route.
fn kind_of(route: &Route) -> PlanKind {
    match route {
        Route::PointLookup(_) => PlanKind::Select,
        Route::RowByRow(_) => PlanKind::Rows,
        Route::PointChange(_) => PlanKind::Change,
        Route::Constant(_) => PlanKind::Constant,
        Route::FullPlanner | Route::Change | Route::Procedure | Route::Command => PlanKind::General,
    }
}

/// A statement under a session's settings.
#[derive(Debug)]
pub(crate) struct CacheEntry {
    pub text: Arc<[u8]>,
    /// The constants that belong to it, see [`PlanKey::constants`](super::PlanKey::constants).
    constants: Box<[u8]>,
    pub settings: Arc<BindSettings>,
    known: Mutex<Known>,
    /// Whether a session has asked for it since space was last needed.
    found: AtomicBool,
    /// A [`PlanKind`].
    kind: AtomicU8,
    /// Bytes of the full planner's plans, those that are running included.
    plan_bytes: AtomicU64,
    /// What sessions have counted that have dropped it.
    retired: Counts,
}

#[derive(Debug, Default)]
struct Known {
    statement: Option<Arc<PreparedStatement>>,
    /// With the versions that it was made at.
    select: Option<(SchemaVersions, Arc<SelectPlan>)>,
    rows: Option<(SchemaVersions, SharedRows)>,
    described: Option<(SchemaVersions, Arc<Described>)>,
    /// Those that no execution has, the one that has run last behind the others.
    queries: Option<(SchemaVersions, Vec<CachedQuery>)>,
    /// How plans of the full planner use the statement's constants.
    uses: KnownUses,
}

/// The plan of a small query.
#[derive(Clone, Debug)]
pub(crate) struct SharedRows {
    pub plan: Arc<RowPlan>,
    /// The kinds of parameters for which the plan is valid.
    pub kinds: Box<[ParameterKind]>,
}

/// The results of PREPARE.
#[derive(Debug)]
pub(crate) struct Described {
    /// The statement with the columns of its result.
    pub statement: PreparedStatement,
    /// The privileges that a session needs to run it.
    pub needs: Vec<Need>,
}

#[derive(Debug, Default)]
struct Counts {
    hits: AtomicU64,
    shared_hits: AtomicU64,
    misses: AtomicU64,
    last_used_micros: AtomicI64,
}

/// Counts as numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    /// Executions by a plan that the session had.
    pub hits: u64,
    /// Times that a session took over what another had made.
    pub shared_hits: u64,
    /// Times that it had to be parsed or planned.
    pub misses: u64,
    /// Microseconds since 1970 UTC.
    pub last_used_micros: i64,
}

impl Totals {
    /// Adds another set.
    pub fn add(&mut self, other: Totals) {
        self.hits += other.hits;
        self.shared_hits += other.shared_hits;
        self.misses += other.misses;
        self.last_used_micros = self.last_used_micros.max(other.last_used_micros);
    }
}

impl Counts {
    fn totals(&self) -> Totals {
        Totals {
            hits: self.hits.load(Ordering::Relaxed),
            shared_hits: self.shared_hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            last_used_micros: self.last_used_micros.load(Ordering::Relaxed),
        }
    }
}

impl CacheEntry {
    pub(super) fn new(key: PlanKey<'_>, settings: Arc<BindSettings>) -> Self {
        CacheEntry {
            text: key.text.into(),
            constants: key.constants.into(),
            settings,
            known: Mutex::default(),
            found: AtomicBool::new(false),
            kind: AtomicU8::new(PlanKind::General as u8),
            plan_bytes: AtomicU64::new(0),
            retired: Counts::default(),
        }
    }

    pub(super) fn is_of(&self, key: PlanKey<'_>, settings: &BindSettings) -> bool {
        *self.text == *key.text
            && *self.constants == *key.constants
            && (std::ptr::eq(&*self.settings, settings) || *self.settings == *settings)
    }

    pub(super) fn note_found(&self) {
        self.found.store(true, Ordering::Relaxed);
    }

    pub(super) fn take_found(&self) -> bool {
        self.found.swap(false, Ordering::Relaxed)
    }

    /// Bytes by estimate.
    pub fn bytes(&self) -> u64 {
        let text_bytes = BYTES_PER_TEXT_BYTE * self.text.len() as u64 + self.constants.len() as u64;
        ENTRY_BYTES + text_bytes + self.plan_bytes.load(Ordering::Relaxed)
    }

    /// The kind of its last plan.
    pub fn kind(&self) -> PlanKind {
        PlanKind::ALL[usize::from(self.kind.load(Ordering::Relaxed)) % PlanKind::ALL.len()]
    }

    /// The statement, a copy for the session that asks: nothing of it is written by several.
    pub fn statement(&self) -> Option<Arc<PreparedStatement>> {
        let statement = self.known.lock().statement.clone()?;
        Some(Arc::new((*statement).clone()))
    }

    /// Keeps the statement, with its digest: a session that runs it once needs that as well.
    pub fn set_statement(&self, statement: &PreparedStatement) {
        self.known.lock().statement.get_or_insert_with(|| {
            statement.digest();
            Arc::new(statement.clone())
        });
    }

    /// The plan, if it is a look-up by key and made at these versions.
    pub fn select(&self, now: SchemaVersions) -> Option<Arc<SelectPlan>> {
        let known = self.known.lock();
        known.select.as_ref().filter(|(made, _)| *made == now).map(|(_, plan)| plan.clone())
    }

    /// The plan, if it is one of a small query and made at these versions.
    pub fn rows(&self, now: SchemaVersions) -> Option<SharedRows> {
        let known = self.known.lock();
        known.rows.as_ref().filter(|(made, _)| *made == now).map(|(_, plan)| plan.clone())
    }

    /// Keeps what can be shared of a plan: look-ups, and small queries whose expressions keep nothing between two runs.
    pub fn set_plan(&self, made: SchemaVersions, current: impl Fn() -> SchemaVersions, route: Option<&Route>) {
        // A session without the privileges for a plan says nothing of others.
        if let Some(route) = route {
            self.kind.store(kind_of(route) as u8, Ordering::Relaxed);
        }
        let mut known = self.known.lock();
        // A definition comes here after it has changed the catalog: a plan of an older one would stay.
        if current() != made {
            return;
        }
        match route {
            Some(Route::PointLookup(select)) => known.select = Some((made, Arc::new((***select).clone()))),
            Some(Route::RowByRow(rows)) if rows.plan.is_shareable() => {
                let shared = SharedRows { plan: Arc::clone(&rows.plan), kinds: rows.kinds.clone() };
                known.rows = Some((made, shared));
            }
            _ => {}
        }
    }

    /// The results of PREPARE at these versions.
    pub fn described(&self, now: SchemaVersions) -> Option<Arc<Described>> {
        let known = self.known.lock();
        known.described.as_ref().filter(|(made, _)| *made == now).map(|(_, described)| described.clone())
    }

    /// Keeps what PREPARE has found out.
    pub fn set_described(&self, made: SchemaVersions, current: impl Fn() -> SchemaVersions, described: Described) {
        let mut known = self.known.lock();
        if current() == made {
            known.described = Some((made, Arc::new(described)));
        }
    }

    /// A plan of the full planner that was made at these versions and is not running, the one that has run last first.
    pub fn take_query(&self, now: SchemaVersions) -> Option<CachedQuery> {
        let mut known = self.known.lock();
        known.queries.as_mut().filter(|(made, _)| *made == now).and_then(|(_, queries)| queries.pop())
    }

    /// How plans of the full planner use constants of these kinds, if that is known.
    pub fn parameter_use(&self, now: SchemaVersions, kinds: &ValueKinds) -> Option<Arc<ParameterUse>> {
        self.known.lock().uses.find(now, kinds)
    }

    /// Remembers how plans of the full planner use constants of some kinds.
    pub fn set_parameter_use(&self, made: SchemaVersions, found: Arc<ParameterUse>) {
        self.known.lock().uses.put(made, found);
    }

    /// Keeps a plan of the full planner. The lock of the entry's part of the cache is held.
    pub(super) fn put_query(&self, made: SchemaVersions, current: impl Fn() -> SchemaVersions, query: CachedQuery) {
        let mut known = self.known.lock();
        if current() != made {
            return;
        }
        let (_, queries) = match &mut known.queries {
            Some(kept) if kept.0 == made => kept,
            kept => kept.insert((made, Vec::new())),
        };
        if queries.len() == QUERIES_MAX {
            queries.remove(0);
        }
        queries.push(query);
        let bytes = queries.iter().map(|query| query.plan.size_bytes()).sum();
        self.plan_bytes.fetch_max(bytes, Ordering::Relaxed);
        self.kind.store(PlanKind::FullPlanner as u8, Ordering::Relaxed);
    }

    /// A query runs by a plan of the full planner.
    pub fn note_query(&self, now_micros: i64) {
        self.retired.hits.fetch_add(1, Ordering::Relaxed);
        self.retired.last_used_micros.fetch_max(now_micros, Ordering::Relaxed);
    }

    /// Drops what was made of older catalogs. The lock of the entry's part of the cache is held.
    pub(super) fn forget_older(&self, catalog: u64) {
        self.kind.store(PlanKind::General as u8, Ordering::Relaxed);
        let mut known = self.known.lock();
        known.select.take_if(|(made, _)| made.catalog != catalog);
        known.rows.take_if(|(made, _)| made.catalog != catalog);
        known.described.take_if(|(made, _)| made.catalog != catalog);
        if known.queries.take_if(|(made, _)| made.catalog != catalog).is_some() {
            self.plan_bytes.store(0, Ordering::Relaxed);
        }
    }

    /// What sessions have counted that have dropped it.
    pub fn retired(&self) -> Totals {
        self.retired.totals()
    }
}

/// One session's use of a statement. Only that session counts here, so nothing is shared on the way of a statement;
/// readers add up the sessions' sums.
#[derive(Debug)]
pub(crate) struct PlanUse {
    pub entry: Arc<CacheEntry>,
    counts: Counts,
}

impl PlanUse {
    pub fn new(entry: Arc<CacheEntry>) -> Self {
        PlanUse { entry, counts: Counts::default() }
    }

    /// The session ran it by its own plan.
    pub fn hit(&self, now_micros: i64) {
        count(&self.counts.hits);
        self.counts.last_used_micros.store(now_micros, Ordering::Relaxed);
    }

    /// The session took over what another had made (`shared`), or had to make it.
    pub fn learned(&self, shared: bool, now_micros: i64) {
        count(if shared { &self.counts.shared_hits } else { &self.counts.misses });
        self.counts.last_used_micros.store(now_micros, Ordering::Relaxed);
    }

    /// Its counts.
    pub fn totals(&self) -> Totals {
        self.counts.totals()
    }
}

impl Drop for PlanUse {
    fn drop(&mut self) {
        let (own, retired) = (self.counts.totals(), &self.entry.retired);
        retired.hits.fetch_add(own.hits, Ordering::Relaxed);
        retired.shared_hits.fetch_add(own.shared_hits, Ordering::Relaxed);
        retired.misses.fetch_add(own.misses, Ordering::Relaxed);
        retired.last_used_micros.fetch_max(own.last_used_micros, Ordering::Relaxed);
    }
}
