//! The source of the tables' rows.

use crate::processor_samples::ProcessorSampler;
use squall_catalog::{AccessMap, Catalog, ColumnDef, RoutineParameter, ViewDef};
use squall_instrumentation::process::Process;
use squall_parser::Digest;
use squall_server_state::ServerState;
use squall_server_state::event_definition::EventDef;
use squall_statement_context::{BindSettings, StatementContext};
use std::sync::Arc;

/// The source of the rows.
pub struct Source<'a> {
    /// The server's state below sessions.
    pub state: &'a ServerState,
    /// The part that only sessions know.
    pub server: &'a dyn Server,
    /// The catalog as it is now.
    pub catalog: Arc<Catalog>,
    /// The reader's grants.
    pub access: Arc<AccessMap>,
    /// The statement that reads.
    pub context: &'a Arc<StatementContext>,
}

impl<'a> Source<'a> {
    /// As the account of a statement sees it.
    pub fn of(server: &'a dyn Server, context: &'a Arc<StatementContext>) -> Source<'a> {
        let state = server.state();
        Source { state, server, catalog: state.catalog.load(), access: state.access_of(context), context }
    }
}

impl Source<'_> {
    /// The connection that reads.
    pub fn process(&self) -> Option<Arc<Process>> {
        self.state.processes.get(self.context.connection_id)
    }

    /// Whether another connection may be seen.
    pub fn sees_process(&self, process: &Process) -> bool {
        let user = self.context.user.rsplit_once('@').map_or(&*self.context.user, |(user, _)| user);
        process.id == self.context.connection_id || self.access.sees_statements(process.user == user)
    }
}

/// The interface of the tables to the parts of a server above them.
pub trait Server: Send + Sync {
    /// The parts below.
    fn state(&self) -> &ServerState;

    /// How much the cache of plans of all sessions has.
    fn plan_cache_size(&self) -> PlanCacheSize;

    /// Statements of that cache, in no order: those that these connections use, with their uses, and with `all` also the others, with
    /// the uses by sessions that have ended.
    fn plan_cache_entries(&self, all: bool, processes: &[Arc<Process>]) -> Vec<PlanCacheEntry>;

    /// All events.
    fn events(&self) -> Vec<Arc<EventDef>>;

    /// The procedures of modules.
    fn built_in_procedures(&self) -> Vec<BuiltInProcedure>;

    /// Samples of the time of processors.
    fn processor_sampler(&self) -> &Arc<ProcessorSampler>;

    /// The modules, in the order in which they start.
    fn modules(&self) -> Vec<LoadedModule>;

    /// Status variables of modules.
    fn module_status(&self) -> Vec<(String, String)>;

    /// The columns of a view, found by binding it; `None` if it refers to what is gone.
    fn columns_of_view(
        &self,
        catalog: &Catalog,
        context: &Arc<StatementContext>,
        name: (&str, &str),
        view: &ViewDef,
    ) -> Option<Vec<ColumnDef>>;
}

/// How much the cache of plans has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanCacheSize {
    /// Statements.
    pub entries: u64,
    /// Bytes that they take, about.
    pub bytes: u64,
    /// How many had to go for others.
    pub evictions: u64,
}

/// A statement of the cache of plans under a session's settings.
#[derive(Debug)]
pub struct PlanCacheEntry {
    /// Its digest.
    pub digest: Digest,
    /// The settings.
    pub settings: Arc<BindSettings>,
    /// Its plan.
    pub kind: PlanKind,
    /// Uses of the plan.
    pub hits: u64,
    /// Those of them that found it in the cache of all sessions.
    pub shared_hits: u64,
    /// How many times it was planned.
    pub misses: u64,
    /// Connections that use it now.
    pub sessions: u64,
    /// Microseconds since 1970 UTC; 0 if it was never used.
    pub last_used_micros: i64,
    /// Bytes that it takes, about.
    pub bytes: u64,
}

/// The plan of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PlanKind {
    /// Bound and planned each time.
    General,
    /// A look-up by key.
    Select,
    /// A small query, row by row.
    Rows,
    /// A change of single rows.
    Change,
    /// One row that is the same each time.
    Constant,
    /// The full planner's.
    FullPlanner,
}

impl PlanKind {
    /// The kinds in the order of their numbers.
    pub const ALL: [PlanKind; 6] = [
        PlanKind::General,
        PlanKind::Select,
        PlanKind::Rows,
        PlanKind::Change,
        PlanKind::Constant,
        PlanKind::FullPlanner,
    ];
    /// The words for them, in this order.
    pub const WORDS: &[&str] = &["general", "point select", "row by row", "change", "constant", "full planner"];

    /// The word for it.
    pub fn word(self) -> &'static str {
        Self::WORDS[self as usize]
    }
}

/// A module of the server.
#[derive(Clone, Debug)]
pub struct LoadedModule {
    /// Its name.
    pub name: String,
    /// What it brings, in a sentence.
    pub description: String,
    /// Names and types of its parts that have names: procedures, listeners.
    pub plugins: Vec<(String, &'static str)>,
}

/// A procedure of a module.
#[derive(Clone, Debug)]
pub struct BuiltInProcedure {
    /// Its database.
    pub database: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its parameters.
    pub parameters: Vec<RoutineParameter>,
    /// Its comment.
    pub comment: &'static str,
}
