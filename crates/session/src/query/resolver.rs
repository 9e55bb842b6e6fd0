//! Resolves tables and variables for the planner.

use crate::database::Shared;
use crate::query::found_columns::FoundColumns;
use crate::query::rows_table::RowsTable;
use crate::session::Session;
use crate::set::check_read_scope;
use crate::state::locals::{Locals, SharedLocals};
use crate::stored_functions::StoredFunctions;
use crate::table_triggers::BoundTriggers;
use datafusion::catalog::TableProvider;
use squall_catalog::{Invoker, Privileges, TableDef};
use squall_definitions::data_type::{TypeRules, resolve_type};
use squall_executor::access::{RowTable, TableLock, VirtualTableProvider};
use squall_functions::expr::BoundExpr;
use squall_parser::ast::{ColumnName, DataType, SystemVariable, VariableScope};
use squall_planner::bind::RowTriggers;
use squall_planner::partition::selected_partitions;
use squall_planner::{TableRequest, TableResolver};
use squall_registry::{AggregateFunction, Registry, ScalarFunction};
use squall_row_store::TableStore;
use squall_server_state::key_caches::{DEFAULT_CACHE, KeyCaches, is_of_key_cache};
use squall_statement_context::StatementContext;
use squall_system_variables::ReadScope;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// A session's tables and variables at the start of a statement.
#[derive(Debug)]
pub(crate) struct SessionTables {
    store: Arc<dyn TableStore>,
    registry: Arc<Registry>,
    context: Arc<StatementContext>,
    temporary: HashMap<(String, String), Arc<TableDef>>,
    lock_wait: Duration,
    key_caches: Arc<KeyCaches>,
    /// The table of [`RowsTable::DATABASE`].
    rows: Option<Arc<dyn TableProvider>>,
    /// Variables of the stored program that runs.
    locals: Option<SharedLocals>,
    /// Stored functions, for the account that asks; `None` is the server itself.
    functions: Option<StoredFunctions>,
    /// Where to record the names of columns, if the caller wants them.
    found: Option<FoundColumns>,
}

/// The privileges of which a statement needs one on a table that it names, SELECT or one to change it.
const KNOWS: Privileges =
    Privileges::SELECT.union(Privileges::INSERT).union(Privileges::UPDATE).union(Privileges::DELETE);

impl SessionTables {
    pub fn new(
        session: &Session,
        context: &Arc<StatementContext>,
        rows: Option<Arc<dyn TableProvider>>,
    ) -> SessionTables {
        SessionTables {
            store: session.shared.store.clone(),
            registry: session.shared.registry.clone(),
            context: context.clone(),
            temporary: session.temporary_tables.clone(),
            lock_wait: Duration::from_secs(session.settings.lock_wait_seconds),
            key_caches: session.shared.globals.key_caches.clone(),
            rows,
            locals: session.locals.clone(),
            functions: Some(StoredFunctions::of(session, context)),
            found: None,
        }
    }
}

impl SessionTables {
    /// The same, writing down what columns' names are found to be.
    pub fn telling(self, found: &FoundColumns) -> SessionTables {
        SessionTables { found: Some(found.clone()), ..self }
    }

    /// The tables of the catalog alone, for what belongs to no session.
    pub fn of_catalog(shared: &Shared, context: &Arc<StatementContext>) -> SessionTables {
        SessionTables {
            store: shared.store.clone(),
            registry: shared.registry.clone(),
            context: context.clone(),
            temporary: HashMap::new(),
            lock_wait: Duration::ZERO,
            key_caches: shared.globals.key_caches.clone(),
            rows: None,
            locals: None,
            functions: None,
            found: None,
        }
    }
}

impl SessionTables {
    /// The same for the body of a trigger, which has variables of its own.
    fn for_body(&self, functions: &StoredFunctions) -> SessionTables {
        SessionTables {
            store: self.store.clone(),
            registry: self.registry.clone(),
            context: self.context.clone(),
            temporary: HashMap::new(),
            lock_wait: self.lock_wait,
            key_caches: self.key_caches.clone(),
            rows: None,
            locals: None,
            functions: Some(functions.fork()),
            found: None,
        }
    }
}

impl TableResolver for SessionTables {
    fn base_table(&self, request: &TableRequest<'_>, definition: &Arc<TableDef>) -> SqlResult<Arc<dyn TableProvider>> {
        let partitions = selected_partitions(definition, request.partitions)?;
        let lock = request.lock.map(|(strength, wait)| TableLock::of(strength, wait, self.lock_wait));
        for name in request.hints.iter().flat_map(|hint| &hint.indexes) {
            if definition.index(name).is_none() {
                return Err(SqlError::new(ErrorCode::KeyDoesNotExist, &[&name.as_str(), &request.alias]));
            }
        }
        let table = RowTable::new(request.database, request.alias, definition.clone(), self.store.clone())?;
        let table = table.with_lock(lock).with_hints(request.hints);
        Ok(Arc::new(match partitions {
            Some(partitions) => table.with_partitions(partitions),
            None => table,
        }))
    }

    fn wants_columns(&self) -> bool {
        self.found.is_some()
    }

    fn found_column(&self, name: &ColumnName, database: Option<&str>, table: &str) {
        if let Some(found) = &self.found {
            found.add(name, database, table);
        }
    }

    fn temporary_table(&self, database: &str, name: &str) -> Option<Arc<TableDef>> {
        if self.temporary.is_empty() {
            return None;
        }
        self.temporary.get(&(database.to_string(), name.to_string())).cloned()
    }

    fn check_known(&self, database: &str, name: &str) -> SqlResult<()> {
        let Some(functions) = &self.functions else { return Ok(()) };
        let who = functions.who();
        let is_public = database == RowsTable::DATABASE || squall_system_tables::virtual_database(database).is_some();
        if is_public || who.access.on_any_column(database, name).intersects(KNOWS) {
            return Ok(());
        }
        Err(SqlError::new(ErrorCode::TableAccessDenied, &[&"SELECT", &who.account.user, &who.client_host, &name]))
    }

    fn virtual_table(&self, database: &str, name: &str) -> SqlResult<Option<Arc<dyn TableProvider>>> {
        if database == RowsTable::DATABASE
            && let Some(rows) = &self.rows
        {
            return Ok(Some(rows.clone()));
        }
        let table = self.registry.virtual_table(database, name).cloned();
        Ok(table.map(|table| Arc::new(VirtualTableProvider::new(table)) as Arc<dyn TableProvider>))
    }

    fn resolved_table(&self, database: &str, name: &str) -> Option<Arc<dyn TableProvider>> {
        let table = self.registry.resolved_table(database, name)?;
        Some(Arc::new(VirtualTableProvider::new(table)))
    }

    fn virtual_database(&self, database: &str) -> bool {
        database == RowsTable::DATABASE || squall_system_tables::virtual_database(database).is_some()
    }

    fn column_type(&self, data_type: &DataType, name: &str) -> SqlResult<SqlType> {
        let rules = TypeRules { collation: self.context.settings.collation, sql_mode: self.context.settings.sql_mode };
        resolve_type(data_type, name, rules)
    }

    fn local_variable(&self, name: &str) -> Option<BoundExpr> {
        let (value, ty) = self.locals.as_ref()?.lock().value(name)?;
        Some(BoundExpr::Literal(value, ty))
    }

    fn row_column(&self, row: &str, column: &str) -> Option<BoundExpr> {
        let mut locals = self.locals.as_ref()?.lock();
        let (value, ty) = locals.value(&Locals::row_column(row, column))?;
        Some(BoundExpr::Literal(value, ty))
    }

    fn row_triggers(&self, database: &str, definition: &Arc<TableDef>) -> SqlResult<Arc<dyn RowTriggers>> {
        let Some(functions) = &self.functions else { return Err(SqlError::unsupported("triggers here")) };
        let tables = Box::new(self.for_body(functions));
        Ok(Arc::new(BoundTriggers::new(database, definition, tables, functions.fork())?))
    }

    fn stored_aggregate(
        &self,
        database: &str,
        name: &str,
        invoker: &Invoker,
    ) -> SqlResult<Option<Arc<dyn AggregateFunction>>> {
        match &self.functions {
            Some(functions) => functions.find_aggregate(database, name, invoker),
            None => Ok(None),
        }
    }

    fn stored_function(
        &self,
        database: &str,
        name: &str,
        invoker: &Invoker,
    ) -> SqlResult<Option<Arc<dyn ScalarFunction>>> {
        match &self.functions {
            Some(functions) => functions.find(database, name, invoker, self),
            None => Ok(None),
        }
    }

    fn system_variable(&self, variable: &SystemVariable) -> SqlResult<(Value, SqlType)> {
        let unknown = |name: &dyn std::fmt::Display| SqlError::new(ErrorCode::UnknownSystemVariable, &[name]);
        let variables = &self.registry.variables;
        let cache = variable.prefix.as_ref().filter(|_| is_of_key_cache(&variable.name));
        if let Some(cache) = cache {
            if variable.scope == Some(VariableScope::Session) {
                let name = variable.name.as_str();
                return Err(SqlError::new(ErrorCode::IncorrectGlobalLocalVar, &[&name, &"GLOBAL"]));
            }
            if !cache.is(DEFAULT_CACHE) {
                let value = self.key_caches.value(cache, &variable.name);
                return Ok((Value::UInt(value), SqlType::BIGINT_UNSIGNED));
            }
        }
        let prefix = variable.prefix.as_ref().filter(|_| cache.is_none());
        let whole = prefix.unwrap_or(&variable.name);
        let id = variables.find(whole).ok_or_else(|| unknown(&whole.as_str()))?;
        let definition = variables.definition(id);
        check_read_scope(definition, variable.scope)?;
        if let Some(warning) = definition.deprecation() {
            self.context.diagnostics.warn(warning);
        }
        let scope = match variable.scope {
            None => ReadScope::Any,
            Some(VariableScope::Session) => ReadScope::Session,
            Some(_) => ReadScope::Global,
        };
        let value = self.context.system_variable(id, scope, definition);
        let Some(prefix) = prefix else { return Ok((value, definition.sql_type())) };
        // An item of a list.
        let item = definition
            .item(&value, &variable.name)
            .ok_or_else(|| unknown(&format_args!("{}.{}", prefix.as_str(), variable.name.as_str())))?;
        Ok((Value::from(definition.item_state(&item)), definition.sql_type()))
    }
}
