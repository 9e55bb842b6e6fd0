//! Global variables: the current values, and the persisted ones.

use crate::check::check_kept;
use crate::key_caches::KeyCaches;
use crate::variables::{Values, alias, ids};
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use squall_row_store::{Durability, RowStore, SystemChange};
use squall_system_variables::{ValueTable, VariableId, VariableRegistry};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The kind of records that hold persisted variables.
const SPACE: &str = "variable";

/// The values that new sessions start with, behind an atomic pointer.
#[derive(Debug)]
pub struct GlobalVariables {
    values: ArcSwap<ValueTable>,
    /// Held while new values are made.
    change: Mutex<()>,
    persisted: Mutex<BTreeMap<String, String>>,
    /// Key caches with names.
    pub key_caches: Arc<KeyCaches>,
}

impl GlobalVariables {
    /// Defaults, then what was persisted.
    pub fn load(registry: &VariableRegistry, store: &RowStore) -> SqlResult<GlobalVariables> {
        let mut values = registry.defaults().clone();
        let mut persisted = BTreeMap::new();
        for (key, record) in store.system_records(SPACE)? {
            let (name, text) = (String::from_utf8_lossy(&key).into_owned(), decode_value(&record));
            // A variable of a module that is gone, or a value no longer allowed, must not keep the server from starting.
            if let Some(id) = registry.find(&name)
                && let Ok(checked) = check_kept(registry.definition(id), &text, store.engines(), false)
            {
                set_by_all_names(&mut values, id, &checked.value);
            }
            persisted.insert(name, shown(&text));
        }
        Ok(GlobalVariables {
            values: ArcSwap::from_pointee(values),
            change: Mutex::new(()),
            persisted: Mutex::new(persisted),
            key_caches: Arc::default(),
        })
    }

    /// The values now.
    pub fn load_values(&self) -> ValueTable {
        ValueTable::clone(&self.values.load())
    }

    /// The store's form of `durability`.
    #[inline]
    pub fn durability(&self) -> Durability {
        // Each transaction asks: the guard, unlike a copy, counts nothing that all share.
        match Values(&self.values.load()).text(ids::DURABILITY) {
            "os" => Durability::Os,
            "lazy" => Durability::Lazy,
            _ => Durability::Full,
        }
    }

    /// Sets some values at once, aliases included.
    pub fn set(&self, changes: &[(VariableId, Value)]) {
        let _changing = self.change.lock();
        let mut values = self.load_values();
        for (id, value) in changes {
            set_by_all_names(&mut values, *id, value);
            set_durability(&mut values, *id);
        }
        self.values.store(Arc::new(values));
    }

    /// Sets a value that only the start knows.
    pub fn set_startup(&self, registry: &VariableRegistry, name: &str, value: Value) -> SqlResult<()> {
        let id = registry.find(name).ok_or_else(|| SqlError::new(ErrorCode::UnknownSystemVariable, &[&name]))?;
        self.set(&[(id, value)]);
        Ok(())
    }

    /// Persists values; durable when it returns.
    pub fn persist(&self, store: &RowStore, changes: &[(&str, Value)]) -> SqlResult<()> {
        let records: Vec<SystemChange> = changes
            .iter()
            .map(|(name, value)| SystemChange {
                space: SPACE,
                key: name.as_bytes().to_vec(),
                value: Some(encode_value(value)),
            })
            .collect();
        store.commit_system(&records)?;
        self.persisted.lock().extend(changes.iter().map(|(name, value)| (name.to_string(), shown(value))));
        Ok(())
    }

    /// Forgets one persisted value, or all.
    pub fn reset_persisted(&self, store: &RowStore, name: Option<&str>) -> SqlResult<bool> {
        let names: Vec<String> = {
            let persisted = self.persisted.lock();
            match name {
                Some(name) => persisted.get_key_value(name).map(|(name, _)| name.clone()).into_iter().collect(),
                None => persisted.keys().cloned().collect(),
            }
        };
        let records: Vec<SystemChange> = names
            .iter()
            .map(|name| SystemChange { space: SPACE, key: name.as_bytes().to_vec(), value: None })
            .collect();
        if records.is_empty() {
            return Ok(false);
        }
        store.commit_system(&records)?;
        self.persisted.lock().retain(|name, _| !names.contains(name));
        Ok(true)
    }

    /// Persisted names and values.
    pub fn persisted(&self) -> Vec<(String, String)> {
        self.persisted.lock().iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

fn set_by_all_names(values: &mut ValueTable, id: VariableId, value: &Value) {
    values.set(id, value.clone());
    if let Some(other) = alias(id) {
        values.set(other, value.clone());
    }
}

/// `durability` and InnoDB's number for it are one setting.
fn set_durability(values: &mut ValueTable, changed: VariableId) {
    let (words, number) = (ids::DURABILITY, ids::INNODB_FLUSH_LOG_AT_TRX_COMMIT);
    if changed == words {
        let value = match values.get(words) {
            Value::String(word) if word == "lazy" => 0,
            Value::String(word) if word == "os" => 2,
            _ => 1,
        };
        values.set(number, Value::UInt(value));
    } else if changed == number {
        let word = match values.get(number) {
            Value::UInt(0) => "lazy",
            Value::UInt(2) => "os",
            _ => "full",
        };
        values.set(words, Value::from(word));
    }
}

/// A letter for the type, then the text.
fn encode_value(value: &Value) -> Vec<u8> {
    let kind = match value {
        Value::Null => 'n',
        Value::Int(_) => 'i',
        Value::UInt(_) => 'u',
        Value::Double(_) => 'd',
        _ => 's',
    };
    format!("{kind}{}", shown(value)).into_bytes()
}

fn decode_value(record: &[u8]) -> Value {
    let text = String::from_utf8_lossy(record.get(1..).unwrap_or_default()).into_owned();
    match record.first() {
        Some(b'i') => text.parse().map_or(Value::Null, Value::Int),
        Some(b'u') => text.parse().map_or(Value::Null, Value::UInt),
        Some(b'd') => text.parse().map_or(Value::Null, Value::Double),
        Some(b's') => Value::String(text),
        _ => Value::Null,
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Double(number) => number.to_string(),
        Value::String(text) => text.clone(),
        _ => String::new(),
    }
}
