//! Tables of information_schema whose data only sessions have: events, procedures, the shared plan cache.

mod events;
mod plan_cache;
mod routines;

pub(crate) use routines::routine_status;

use crate::database::Shared;
use squall_catalog::{Catalog, ColumnDef, ViewDef};
use squall_parser::ast::{Ident, ObjectName};
use squall_planner::Binder;
use squall_registry::{Registry, VirtualScan};
use squall_server_state::ServerState;
use squall_statement_context::StatementContext;
use squall_system_tables::{PlanCacheSize, Server, Source, TableSpec};
use squall_types::{SqlError, SqlResult, Value};
use std::sync::{Arc, Weak};

/// Makes the rows of a table.
type MakeRows = fn(&Shared, &Source<'_>, &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>>;

/// Declares all tables about the server.
pub(crate) fn register(registry: &mut Registry, shared: &Weak<Shared>) {
    let server: Weak<dyn Server> = shared.clone();
    squall_system_tables::register(registry, &server);
    let tables: [(&TableSpec, MakeRows); 4] = [
        (&events::EVENTS_TABLE, crate::event::event_rows),
        (&plan_cache::PLAN_CACHE, plan_cache::rows),
        (&routines::ROUTINES_TABLE, routines::routines),
        (&routines::PARAMETERS_TABLE, routines::parameters),
    ];
    for (spec, rows) in tables {
        let shared = shared.clone();
        let rows = Box::new(move |source: &Source<'_>, scan: &VirtualScan<'_>| {
            let shared = shared.upgrade().ok_or_else(|| SqlError::internal("the database is closing"))?;
            rows(&shared, source, scan)
        });
        squall_system_tables::register_table(registry, &server, spec, rows);
    }
}

impl Server for Shared {
    fn state(&self) -> &ServerState {
        &self.state
    }

    fn plan_cache_size(&self) -> PlanCacheSize {
        self.plans.size()
    }

    fn module_status(&self) -> Vec<(String, String)> {
        let status = self.modules.iter().flat_map(|module| module.status());
        status.map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    fn columns_of_view(
        &self,
        catalog: &Catalog,
        context: &Arc<StatementContext>,
        (database, name): (&str, &str),
        view: &ViewDef,
    ) -> Option<Vec<ColumnDef>> {
        let object = ObjectName { schema: Some(Ident::new(database)), name: Ident::new(name) };
        let tables = crate::query::SessionTables::of_catalog(self, context);
        let binder = Binder {
            catalog,
            default_database: None,
            registry: &self.registry,
            context,
            tables: &tables,
            params: &[],
            text: view.query.as_bytes(),
            keeps_parameters: false,
            insert_values: None,
            row_keys_of_views: false,
            change_locks: Default::default(),
        };
        let bound = binder.bind_query(&crate::query::select_all(object)).ok()?;
        Some(bound.columns.iter().map(crate::query::column_of_output).collect())
    }
}
