//! User variables (`@name`) of a session.

use parking_lot::{Mutex, MutexGuard};
use squall_accounting::{GrowingCharge, SessionMemory};
use squall_catalog::NameKey;
use squall_types::{CollationId, SqlResult, SqlType, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// Values by name, as [`held_by_variable`] has them.
pub type VariablesByName = HashMap<NameKey, (Value, SqlType)>;

/// What variables held before a statement; `None`: nothing.
type HeldBefore = HashMap<NameKey, Option<(Value, SqlType)>>;

/// The variables of a session, which its memory is charged with.
#[derive(Debug, Default)]
pub struct UserVariables {
    values: Mutex<VariablesByName>,
    /// Of all values; `None` where they are not charged.
    charge: Mutex<Option<GrowingCharge>>,
    /// What variables held before the statements that remember it, the innermost last. It is charged, too.
    before: Mutex<Vec<HeldBefore>>,
}

/// What a map holds beside a name and a short value.
const ENTRY_BYTES: usize = 128;

fn charged_bytes(held: Option<&(Value, SqlType)>) -> usize {
    held.map_or(0, |(value, _)| ENTRY_BYTES + value.heap_bytes())
}

impl UserVariables {
    /// None yet, of a session.
    pub fn new(memory: &Arc<SessionMemory>) -> Self {
        Self { charge: Mutex::new(Some(GrowingCharge::new(memory))), ..Self::default() }
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
        let mut values = self.values.lock();
        if let Some(charge) = &mut *self.charge.lock() {
            let now = ENTRY_BYTES + value.heap_bytes();
            if let Err(error) = charge.grow(now) {
                charge.shrink(now);
                return Err(error);
            }
        }
        let mut remembered = self.before.lock();
        match remembered.last_mut().filter(|remembered| !remembered.contains_key(&name)) {
            Some(remembered) => {
                let before = values.insert(name.clone(), (value, sql_type));
                remembered.insert(name, before);
            }
            None => self.give_up(charged_bytes(values.insert(name, (value, sql_type)).as_ref())),
        }
        Ok(())
    }

    fn give_up(&self, bytes: usize) {
        if let Some(charge) = &mut *self.charge.lock() {
            charge.shrink(bytes);
        }
    }

    /// Remembers what variables hold, for a statement that may begin again.
    pub fn remember(self: &Arc<Self>) -> RememberedVariables {
        self.before.lock().push(HashMap::new());
        RememberedVariables(self.clone())
    }
}

/// What the variables of a session held when a statement began, until this is dropped.
#[derive(Debug)]
pub struct RememberedVariables(Arc<UserVariables>);

impl RememberedVariables {
    /// Gives variables what they held.
    pub fn restore(&self) {
        let variables = &*self.0;
        let mut values = variables.values.lock();
        let remembered = variables.before.lock().last_mut().map(std::mem::take).unwrap_or_default();
        for (name, before) in remembered {
            let after = match before {
                Some(before) => values.insert(name, before),
                None => values.remove(&name),
            };
            variables.give_up(charged_bytes(after.as_ref()));
        }
    }
}

impl Drop for RememberedVariables {
    fn drop(&mut self) {
        let variables = &*self.0;
        let mut before = variables.before.lock();
        let remembered = before.pop().unwrap_or_default();
        let mut bytes = 0;
        for (name, held) in remembered {
            match before.last_mut() {
                Some(outer) if !outer.contains_key(&name) => {
                    outer.insert(name, held);
                }
                _ => bytes += charged_bytes(held.as_ref()),
            }
        }
        variables.give_up(bytes);
    }
}

/// Variables that are charged to no session: a copy of a session's.
impl From<VariablesByName> for UserVariables {
    fn from(values: VariablesByName) -> Self {
        Self { values: Mutex::new(values), ..Self::default() }
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
