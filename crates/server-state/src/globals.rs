//! Global variables: the current values, and the persisted ones.

use crate::action_times::ActionTimes;
use crate::check::check_kept;
use crate::configuration_history::{
    BeforeAfter, ConfigurationChange, ConfigurationHistory, HistoryEntry, VariableChange,
};
use crate::key_caches::KeyCaches;
use crate::variable_origin::VariableOrigin;
use crate::variables::{Values, alias, ids};
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use squall_row_store::{Durability, Engines, SystemChange, SystemRecords};
use squall_system_variables::{ValueTable, VariableDef, VariableId, VariableRegistry};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

/// The kind of records that hold persisted variables.
const SPACE: &str = "variable";
/// The kind of records that say who persisted them.
const ORIGIN_SPACE: &str = "variable_origin";

/// What a statement changes of global variables.
#[derive(Clone, Debug, Default)]
pub struct GlobalChange {
    /// The statement, with passwords masked.
    pub statement: String,
    /// Names of variables with the values that held before, and that hold now.
    pub running: Vec<(String, Value, Value)>,
    /// Names with the values that are kept for the next start; `None` is kept no longer.
    pub persisted: Vec<(String, Option<Value>)>,
    /// Why all of it was taken back.
    pub error: Option<String>,
}

/// Values of an earlier version.
#[derive(Clone, Debug, Default)]
pub struct ValuesAt {
    /// Values that held.
    pub running: Vec<(String, Value)>,
    /// Values that were kept; `None` if none was.
    pub persisted: Vec<(String, Option<Value>)>,
}

/// A value of the history, as SHOW VARIABLES prints it.
pub fn shown_record(definition: Option<&VariableDef>, record: &[u8]) -> String {
    let value = decode_value(record);
    definition.map_or_else(|| shown_value(&value), |definition| definition.show(&value))
}

/// The values that new sessions start with, behind an atomic pointer.
#[derive(Debug)]
pub struct GlobalVariables {
    values: ArcSwap<ValueTable>,
    /// Held while new values are made.
    change: Mutex<()>,
    /// Held while the server follows new values.
    following: Mutex<()>,
    /// Records of kept values, by name.
    persisted: Mutex<BTreeMap<String, Vec<u8>>>,
    /// Held while kept values change: the history has their order.
    committing: Mutex<()>,
    history: ConfigurationHistory,
    /// Origins of values that are not the compiled ones.
    origins: Mutex<HashMap<VariableId, VariableOrigin>>,
    /// Key caches with names.
    pub key_caches: Arc<KeyCaches>,
    /// How long the steps of changes have taken.
    pub action_times: ActionTimes,
}

impl GlobalVariables {
    /// Runs what makes the server follow new values, for one caller at a time: it reads the values, and the last one to do so must have the
    /// newest.
    pub fn follow<T>(&self, follow: impl FnOnce() -> T) -> T {
        let _alone = self.following.lock();
        follow()
    }

    /// Defaults, then what was persisted.
    pub fn load(
        registry: &VariableRegistry,
        records: &dyn SystemRecords,
        engines: &Engines,
    ) -> SqlResult<GlobalVariables> {
        let mut values = registry.defaults().clone();
        let mut persisted = BTreeMap::new();
        let mut origins = HashMap::new();
        let kept: HashMap<_, _> = records.system_records(ORIGIN_SPACE)?.into_iter().collect();
        for (key, record) in records.system_records(SPACE)? {
            let (name, text) = (String::from_utf8_lossy(&key).into_owned(), decode_value(&record));
            // A variable of a module that is gone, or a value no longer allowed, must not keep the server from starting.
            if let Some(id) = registry.find(&name)
                && let Ok(checked) = check_kept(registry.definition(id), &text, engines, false)
            {
                set_by_all_names(&mut values, id, &checked.value);
                let origin = VariableOrigin::of_record(kept.get(&key).map(|record| &**record));
                origins.extend(all_names(id).map(|id| (id, origin.clone())));
            }
            persisted.insert(name, record);
        }
        Ok(GlobalVariables {
            values: ArcSwap::from_pointee(values),
            change: Mutex::new(()),
            following: Mutex::default(),
            persisted: Mutex::new(persisted),
            committing: Mutex::default(),
            history: ConfigurationHistory::load(records)?,
            origins: Mutex::new(origins),
            key_caches: Arc::default(),
            action_times: ActionTimes::default(),
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

    /// Sets some values at once, aliases included. Origins stay as they are: [`set_by`](Self::set_by) is for statements.
    pub fn set(&self, changes: &[(VariableId, Value)]) {
        self.change_values(changes, |_, _| {});
    }

    /// Sets some values at once, aliases included, and notes where they come from.
    pub fn set_by(&self, changes: &[(VariableId, Value)], origin: &VariableOrigin) {
        self.change_values(changes, |origins, id| drop(origins.insert(id, origin.clone())));
    }

    /// Sets values and origins as they were before.
    pub fn set_back(&self, before: &[(VariableId, Value, VariableOrigin)]) {
        let values: Vec<_> = before.iter().map(|(id, value, _)| (*id, value.clone())).collect();
        self.change_values(&values, |origins, id| {
            let was = before.iter().find(|(of, ..)| all_names(*of).any(|name| name == id));
            origins.insert(id, was.map_or_else(VariableOrigin::default, |(.., origin)| origin.clone()));
        });
    }

    fn change_values(
        &self,
        changes: &[(VariableId, Value)],
        note: impl Fn(&mut HashMap<VariableId, VariableOrigin>, VariableId),
    ) {
        let _changing = self.change.lock();
        let mut values = self.load_values();
        let mut origins = self.origins.lock();
        for (id, value) in changes {
            set_by_all_names(&mut values, *id, value);
            set_durability(&mut values, *id);
            all_names(*id).for_each(|id| note(&mut origins, id));
        }
        self.values.store(Arc::new(values));
    }

    /// Where a variable's value comes from.
    pub fn origin(&self, id: VariableId) -> VariableOrigin {
        self.origins.lock().get(&id).cloned().unwrap_or_default()
    }

    /// Sets a value that only the start knows.
    pub fn set_startup(&self, registry: &VariableRegistry, name: &str, value: Value) -> SqlResult<()> {
        let id = registry.find(name).ok_or_else(|| SqlError::new(ErrorCode::UnknownSystemVariable, &[&name]))?;
        self.set_by(&[(id, value)], &VariableOrigin::COMMAND_LINE);
        Ok(())
    }

    /// Keeps values for the next start, or forgets them, and notes in the history what a statement has changed: all or nothing, durable
    /// when it returns.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn commit(&self, store: &dyn SystemRecords, change: &GlobalChange, origin: &VariableOrigin) -> SqlResult<()> {
        let _alone = self.committing.lock();
        let record = |space, name: &str, value| SystemChange { space, key: name.as_bytes().to_vec(), value };
        // A change that was taken back has changed nothing.
        let kept = if change.error.is_none() { change.persisted.as_slice() } else { &[] };
        let records = kept.iter().flat_map(|(name, value)| {
            let by = value.as_ref().and_then(|_| origin.to_record());
            [record(SPACE, name, value.as_ref().map(encode_value)), record(ORIGIN_SPACE, name, by)]
        });
        let records = records.collect();
        let began = Instant::now();
        self.history.commit(store, &self.history_of(change, origin), records)?;
        self.action_times.keep.note(began.elapsed());
        let mut persisted = self.persisted.lock();
        for (name, value) in kept {
            match value {
                Some(value) => persisted.insert(name.clone(), encode_value(value)),
                None => persisted.remove(name),
            };
        }
        Ok(())
    }

    fn history_of(&self, change: &GlobalChange, origin: &VariableOrigin) -> ConfigurationChange {
        let persisted = self.persisted.lock();
        let mut changes: Vec<VariableChange> = Vec::new();
        for (name, before, after) in &change.running {
            let running = BeforeAfter { before: Some(encode_value(before)), after: Some(encode_value(after)) };
            changes.push(VariableChange { name: name.clone(), running: Some(running), persisted: None });
        }
        for (name, value) in &change.persisted {
            let values = BeforeAfter { before: persisted.get(name).cloned(), after: value.as_ref().map(encode_value) };
            match changes.iter_mut().find(|change| change.name == *name) {
                Some(change) => change.persisted = Some(values),
                None => changes.push(VariableChange { name: name.clone(), running: None, persisted: Some(values) }),
            }
        }
        let user = origin.set.as_ref().map_or_else(String::new, |set| format!("{}@{}", set.user, set.host));
        ConfigurationChange { user, statement: change.statement.clone(), changes, error: change.error.clone() }
    }

    /// The history of changes, the oldest first.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn history(&self, records: &dyn SystemRecords) -> SqlResult<Vec<HistoryEntry>> {
        self.history.entries(records)
    }

    /// The newest version of the history; 0 if there is none.
    pub fn version(&self) -> u64 {
        self.history.version()
    }

    /// The values that held after a version of the history, where others hold now: of running ones, and of kept ones.
    ///
    /// # Errors
    /// 1210 if the version is not known, or no longer.
    pub fn values_at(&self, records: &dyn SystemRecords, version: u64) -> SqlResult<ValuesAt> {
        let mut values = ValuesAt::default();
        for change in self.history.changes_since(records, version)? {
            if let Some(before) = change.running.and_then(|values| values.before) {
                values.running.push((change.name.clone(), decode_value(&before)));
            }
            if let Some(persisted) = change.persisted {
                values.persisted.push((change.name, persisted.before.as_deref().map(decode_value)));
            }
        }
        Ok(values)
    }

    /// The value that is kept under a name.
    pub fn persisted_value(&self, name: &str) -> Option<Value> {
        self.persisted.lock().get(name).map(|record| decode_value(record))
    }

    /// Persisted names and values.
    pub fn persisted(&self) -> Vec<(String, String)> {
        self.persisted.lock().iter().map(|(name, record)| (name.clone(), shown_value(&decode_value(record)))).collect()
    }
}

/// A variable, and the other name that it may have.
fn all_names(id: VariableId) -> impl Iterator<Item = VariableId> {
    std::iter::once(id).chain(alias(id))
}

fn set_by_all_names(values: &mut ValueTable, id: VariableId, value: &Value) {
    all_names(id).for_each(|id| values.set(id, value.clone()));
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
    format!("{kind}{}", shown_value(value)).into_bytes()
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

/// A value of a variable that is not known any more.
pub fn shown_value(value: &Value) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Double(number) => number.to_string(),
        Value::String(text) => text.clone(),
        _ => String::new(),
    }
}
