//! User variables (`@name`) of a session.

use parking_lot::{Mutex, MutexGuard};
use squall_accounting::{GrowingCharge, SessionMemory};
use squall_catalog::NameKey;
use squall_types::{CollationId, SqlResult, SqlType, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// Values by name, as [`held_by_variable`] has them.
pub type VariablesByName = HashMap<NameKey, (Value, SqlType)>;

/// The variables of a session, which its memory is charged with.
#[derive(Debug, Default)]
pub struct UserVariables {
    values: Mutex<VariablesByName>,
    /// Of all values; `None` where they are not charged.
    charge: Mutex<Option<GrowingCharge>>,
}

impl UserVariables {
    /// None yet, of a session.
    pub fn new(memory: &Arc<SessionMemory>) -> Self {
        Self { values: Mutex::default(), charge: Mutex::new(Some(GrowingCharge::new(memory))) }
    }

    /// The value of one, if it has been given one.
    pub fn value(&self, name: &str) -> Option<Value> {
        self.values.lock().get(&NameKey::new(name)).map(|(value, _)| value.clone())
    }

    /// The values, to be read.
    pub fn lock(&self) -> MutexGuard<'_, VariablesByName> {
        self.values.lock()
    }

    /// Gives a variable a value; error 1041 if there is no memory for it, and then it has the value that it had.
    pub fn assign(&self, name: NameKey, value: Value, sql_type: SqlType) -> SqlResult<()> {
        /// What a map holds beside a name and a short value.
        const ENTRY_BYTES: usize = 128;
        let mut values = self.values.lock();
        if let Some(charge) = &mut *self.charge.lock() {
            let before = values.get(&name).map_or(0, |(value, _)| ENTRY_BYTES + value.heap_bytes());
            let now = ENTRY_BYTES + value.heap_bytes();
            if let Err(error) = charge.grow(now) {
                charge.shrink(now);
                return Err(error);
            }
            charge.shrink(before);
        }
        values.insert(name, (value, sql_type));
        Ok(())
    }
}

/// Variables that are charged to no session: a copy of a session's.
impl From<VariablesByName> for UserVariables {
    fn from(values: VariablesByName) -> Self {
        Self { values: Mutex::new(values), charge: Mutex::default() }
    }
}

/// What a user variable holds of a value: a document becomes its text, as MySQL has no variables of type JSON.
pub fn held_by_variable(value: Value, sql_type: SqlType) -> (Value, SqlType) {
    match value {
        Value::Json(document) => (Value::String(document.into_text()), SqlType::longtext(CollationId::UTF8MB4_BIN)),
        Value::Null if sql_type == SqlType::Json => (Value::Null, SqlType::longtext(CollationId::UTF8MB4_BIN)),
        value => (value, sql_type),
    }
}
