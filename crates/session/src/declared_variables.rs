//! System variables and the checks of their values, for programs without a database.

use crate::database::Module;
use crate::opening::{declared, storage_engines};
use squall_column_store::ColumnCache;
use squall_row_store::Engines;
use squall_server_state::check::check;
use squall_system_variables::{VariableDef, VariableRegistry};
use squall_types::{SqlError, SqlResult, Value};
use std::path::Path;
use std::sync::Arc;

/// What SET knows of variables: the core's and those of modules.
pub struct DeclaredVariables {
    registry: VariableRegistry,
    engines: Engines,
}

impl DeclaredVariables {
    /// The variables of a server with these modules.
    pub fn of(modules: &[Arc<dyn Module>]) -> Self {
        let (registry, _) = declared(Default::default(), modules);
        // Their names are asked for alone, so no file of the folder is touched.
        let engines = storage_engines(Path::new(""), &Arc::new(ColumnCache::new(0)), modules);
        Self { registry: registry.variables, engines: Engines::with(engines) }
    }

    /// The variable of that name, in any letter case.
    pub fn find(&self, name: &str) -> Option<&VariableDef> {
        self.registry.find(name).map(|id| self.registry.definition(id))
    }

    /// All of them.
    pub fn all(&self) -> &[VariableDef] {
        self.registry.all()
    }

    /// A value as SET keeps it, and a warning if a number was moved into its range.
    ///
    /// # Errors
    /// Those of SET for values that the variable does not accept.
    pub fn check(&self, definition: &VariableDef, value: &Value) -> SqlResult<(Value, Option<SqlError>)> {
        check(definition, value, &self.engines, false).map(|checked| (checked.value, checked.warning))
    }
}
