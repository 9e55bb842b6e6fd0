//! The source of the tables' rows.

use squall_catalog::{AccessMap, Catalog, ColumnDef, ViewDef};
use squall_instrumentation::process::Process;
use squall_server_state::ServerState;
use squall_statement_context::StatementContext;
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
    pub access: AccessMap,
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
        process.user == user || self.access.global.contains(squall_catalog::Privileges::PROCESS)
    }
}

/// The interface of the tables to the parts of a server above them.
pub trait Server: Send + Sync {
    /// The parts below.
    fn state(&self) -> &ServerState;

    /// How much the cache of plans of all sessions has.
    fn plan_cache_size(&self) -> PlanCacheSize;

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
