//! The values of all variables as a statement sees them.

use super::{VariableId, VariableRegistry};
use squall_types::Value;
use std::sync::Arc;

/// Which of a variable's values is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReadScope {
    /// `@@x`: the session's value if there is one.
    Any,
    /// `@@global.x`.
    Global,
    /// `@@session.x`.
    Session,
}

/// Global and session values by id. Both are shared, so a copy per statement costs two counters.
#[derive(Clone, Debug)]
pub struct VariableValues {
    /// Every variable; for session-only ones the default.
    pub global: Arc<Vec<Value>>,
    /// Every variable; for global-only ones not used.
    pub session: Arc<Vec<Value>>,
    /// `@@warning_count`: of the statement before.
    pub warning_count: u64,
    /// `@@error_count`: of the statement before.
    pub error_count: u64,
}

impl Default for VariableValues {
    fn default() -> Self {
        let registry = VariableRegistry::default();
        let values: Arc<Vec<Value>> = Arc::new(registry.all().iter().map(|d| d.default.to_value()).collect());
        VariableValues { global: values.clone(), session: values, warning_count: 0, error_count: 0 }
    }
}

impl VariableValues {
    /// The stored value of a variable. Pseudo variables (`warning_count`, `last_insert_id`, `timestamp` …) are
    /// [`StatementContext::system_variable`](crate::StatementContext::system_variable)'s to fill in.
    pub fn get(&self, id: VariableId, scope: ReadScope, has_session: bool) -> &Value {
        let values = match scope {
            ReadScope::Global => &self.global,
            ReadScope::Session => &self.session,
            ReadScope::Any if has_session => &self.session,
            ReadScope::Any => &self.global,
        };
        values.get(usize::from(id.0)).unwrap_or(&Value::Null)
    }
}
