//! The values of all variables for a statement.

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

/// Values in a page. A session that sets a few variables has pages of its own for those alone.
const PAGE: usize = 16;

/// A value for each variable, by number. Copies share what neither has changed: ten thousand sessions set the character
/// sets of their clients, and nothing else.
#[derive(Clone, Debug, Default)]
pub struct ValueTable {
    pages: Arc<Vec<Arc<Vec<Value>>>>,
}

impl ValueTable {
    /// The value of a variable; NULL for a number that none has.
    pub fn get(&self, id: VariableId) -> &Value {
        let number = usize::from(id.0);
        self.pages.get(number / PAGE).and_then(|page| page.get(number % PAGE)).unwrap_or(&Value::Null)
    }

    /// Sets a value; nothing happens for a number that no variable has.
    pub fn set(&mut self, id: VariableId, value: Value) {
        let number = usize::from(id.0);
        let page = Arc::make_mut(&mut self.pages).get_mut(number / PAGE);
        if let Some(place) = page.and_then(|page| Arc::make_mut(page).get_mut(number % PAGE)) {
            *place = value;
        }
    }

    /// Whether it is a copy of another table, and neither has been changed since.
    pub fn is_same(&self, other: &ValueTable) -> bool {
        Arc::ptr_eq(&self.pages, &other.pages)
    }

    /// The values that are not those of another table for the same variables. What the two share is not compared.
    pub fn differences<'a>(&'a self, other: &'a ValueTable) -> impl Iterator<Item = (VariableId, &'a Value)> {
        let pages = self.pages.iter().zip(other.pages.iter()).enumerate();
        let changed = pages.filter(|(_, (own, others))| !Arc::ptr_eq(own, others));
        changed.flat_map(|(page, (own, others))| {
            let values = own.iter().zip(others.iter()).enumerate();
            let differing = values.filter(|(_, (own, other))| own != other);
            differing.map(move |(at, (own, _))| (VariableId((page * PAGE + at) as u16), own))
        })
    }
}

impl FromIterator<Value> for ValueTable {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Self {
        let values: Vec<Value> = values.into_iter().collect();
        ValueTable { pages: Arc::new(values.chunks(PAGE).map(|page| Arc::new(page.to_vec())).collect()) }
    }
}

/// Global and session values by id. Both are shared, so a copy per statement costs two counters.
#[derive(Clone, Debug)]
pub struct VariableValues {
    /// Every variable; for session-only ones the default.
    pub global: ValueTable,
    /// Every variable; for global-only ones not used.
    pub session: ValueTable,
    /// `@@warning_count`: of the statement before.
    pub warning_count: u64,
    /// `@@error_count`: of the statement before.
    pub error_count: u64,
}

impl Default for VariableValues {
    fn default() -> Self {
        let values = VariableRegistry::default().defaults().clone();
        VariableValues { global: values.clone(), session: values, warning_count: 0, error_count: 0 }
    }
}

impl VariableValues {
    /// The stored value of a variable. Pseudo variables (`warning_count`, `last_insert_id`, `timestamp` …) are
    /// `StatementContext::system_variable`'s to fill in.
    pub fn get(&self, id: VariableId, scope: ReadScope, has_session: bool) -> &Value {
        let values = match scope {
            ReadScope::Global => &self.global,
            ReadScope::Session => &self.session,
            ReadScope::Any if has_session => &self.session,
            ReadScope::Any => &self.global,
        };
        values.get(id)
    }
}
