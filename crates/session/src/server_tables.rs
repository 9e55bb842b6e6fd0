//! What the tables about the server ask of sessions.

use crate::database::{Parameter, ParameterMode, Procedure, Shared};
use crate::plans::shared_cache::{CacheEntry, PlanUse, Totals};
use crate::session::parse_options;
use squall_catalog::{Catalog, ColumnDef, RoutineParameter, RoutineParameterMode, ViewDef};
use squall_instrumentation::process::Process;
use squall_parser::ast::{Ident, ObjectName};
use squall_planner::{Binder, KeptParameters};
use squall_server_state::ServerState;
use squall_server_state::event_definition::EventDef;
use squall_statement_context::StatementContext;
use squall_system_tables::{BuiltInProcedure, LoadedModule, PlanCacheEntry, PlanCacheSize, ProcessorSampler, Server};
use std::collections::HashMap;
use std::sync::Arc;

/// The counts of a statement, over some sessions.
struct Counts {
    entry: Arc<CacheEntry>,
    totals: Totals,
    sessions: u64,
}

impl Counts {
    fn into_entry(self) -> PlanCacheEntry {
        let Counts { entry, totals, sessions } = self;
        PlanCacheEntry {
            digest: squall_parser::digest(&entry.text, &parse_options(&entry.settings)),
            settings: entry.settings.clone(),
            kind: entry.kind(),
            hits: totals.hits,
            shared_hits: totals.shared_hits,
            misses: totals.misses,
            sessions,
            last_used_micros: totals.last_used_micros,
            bytes: entry.bytes(),
        }
    }
}

/// A procedure of a module, as tables show it.
fn built_in(procedure: &dyn Procedure) -> BuiltInProcedure {
    let head = procedure.head();
    let parameter = |parameter: &Parameter| RoutineParameter {
        name: parameter.name.to_string(),
        mode: match parameter.mode {
            ParameterMode::In => RoutineParameterMode::In,
            ParameterMode::Out => RoutineParameterMode::Out,
            ParameterMode::InOut | ParameterMode::InOutOrValue => RoutineParameterMode::InOut,
        },
        sql_type: parameter.sql_type.clone(),
    };
    BuiltInProcedure {
        database: head.database,
        name: head.name,
        parameters: head.parameters.iter().map(parameter).collect(),
        comment: head.comment,
    }
}

impl Server for Shared {
    fn state(&self) -> &ServerState {
        &self.state
    }

    fn plan_cache_size(&self) -> PlanCacheSize {
        self.plans.size()
    }

    fn plan_cache_entries(&self, retired: bool, processes: &[Arc<Process>]) -> Vec<PlanCacheEntry> {
        let mut found: HashMap<*const CacheEntry, Counts> = HashMap::new();
        if retired {
            for entry in self.plans.all() {
                let counts = Counts { totals: entry.retired(), sessions: 0, entry };
                found.insert(Arc::as_ptr(&counts.entry), counts);
            }
        }
        for plan_use in processes.iter().flat_map(|process| process.plan_uses::<PlanUse>()) {
            let entry = &plan_use.entry;
            let new = || Counts { entry: entry.clone(), totals: Totals::default(), sessions: 0 };
            let counts = found.entry(Arc::as_ptr(entry)).or_insert_with(new);
            counts.totals.add(plan_use.totals());
            counts.sessions += 1;
        }
        found.into_values().map(Counts::into_entry).collect()
    }

    fn events(&self) -> Vec<Arc<EventDef>> {
        self.events.list()
    }

    fn built_in_procedures(&self) -> Vec<BuiltInProcedure> {
        self.procedures.all().map(|procedure| built_in(&**procedure)).collect()
    }

    fn processor_sampler(&self) -> &Arc<ProcessorSampler> {
        &self.processor_sampler
    }

    fn modules(&self) -> Vec<LoadedModule> {
        let loaded = self.modules.iter().map(|module| {
            let procedures = module.procedures();
            let procedures = procedures.iter().map(|procedure| {
                let head = procedure.head();
                (format!("{}.{}", head.database, head.name), "PROCEDURE")
            });
            LoadedModule {
                name: module.name().to_string(),
                description: module.description().to_string(),
                plugins: procedures.collect(),
            }
        });
        loaded.collect()
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
            kept_parameters: KeptParameters::None,
            insert_values: None,
            source_subqueries: &[],
            row_keys_of_views: false,
            change_locks: Default::default(),
        };
        let bound = binder.bind_query(&crate::query::select_all(object)).ok()?;
        Some(bound.columns.iter().map(crate::query::column_of_output).collect())
    }
}
