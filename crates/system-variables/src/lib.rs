//! System variables: one list of names, types, ranges, defaults and docs; and the values.
//!
//! Reading order: [`definition`], [`action`], `forms`, then the lists by family, then [`values`]. SET and SHOW are the session's.

pub mod action;
pub mod definition;
mod forms;
pub mod items;
mod list_charset;
mod list_compat;
mod list_engine;
mod list_fulltext;
mod list_innodb;
mod list_log;
mod list_mariadb;
mod list_performance;
mod list_query;
mod list_replication;
mod list_server;
mod list_transaction;
pub mod values;

pub use action::Action;
pub use definition::{DefaultValue, Effect, Kind, Scope, Unit, VariableDef};
pub use values::{ReadScope, ValueTable, VariableValues};

use std::collections::HashMap;
use std::sync::OnceLock;

/// Names a variable by its place in the list; see [`VariableId::of`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VariableId(pub u16);

const FAMILIES: &[&[VariableDef]] = &[
    list_server::VARIABLES,
    list_charset::VARIABLES,
    list_query::VARIABLES,
    list_transaction::VARIABLES,
    list_engine::VARIABLES,
    list_fulltext::VARIABLES,
    list_innodb::VARIABLES,
    list_log::VARIABLES,
    list_replication::VARIABLES,
    list_performance::VARIABLES,
    list_compat::VARIABLES,
    list_mariadb::VARIABLES,
];

const fn equal(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    if left.len() != right.len() {
        return false;
    }
    let mut at = 0;
    while at < left.len() {
        if left[at] != right[at] {
            return false;
        }
        at += 1;
    }
    true
}

impl VariableId {
    /// The id of a variable of the core, found when the program is compiled: use it in constants only, since an
    /// unknown name is a panic.
    pub const fn of(name: &str) -> VariableId {
        let (mut family, mut id) = (0, 0);
        while family < FAMILIES.len() {
            let mut at = 0;
            while at < FAMILIES[family].len() {
                if equal(FAMILIES[family][at].name, name) {
                    return VariableId(id);
                }
                at += 1;
                id += 1;
            }
            family += 1;
        }
        panic!("no such variable")
    }
}

/// Every declared variable, the core's first.
#[derive(Clone, Debug)]
pub struct VariableRegistry {
    definitions: Vec<VariableDef>,
    by_name: HashMap<&'static str, VariableId>,
    /// Names of modules that declare variables, with the place from which on they do.
    modules: Vec<(usize, String)>,
    /// Made when it is first asked for, after the last declaration.
    defaults: OnceLock<ValueTable>,
}

impl Default for VariableRegistry {
    fn default() -> Self {
        let mut registry = VariableRegistry {
            definitions: Vec::new(),
            by_name: HashMap::new(),
            modules: Vec::new(),
            defaults: OnceLock::new(),
        };
        for definition in FAMILIES.iter().copied().flatten() {
            registry.declare(*definition);
        }
        registry
    }
}

impl VariableRegistry {
    /// Says that the module of that name declares what is declared from now on.
    pub fn begin_module(&mut self, name: &str) {
        self.modules.push((self.definitions.len(), name.to_owned()));
    }

    /// The module that has declared a variable; `None` for the server itself.
    pub fn module_of(&self, id: VariableId) -> Option<&str> {
        let (_, name) = self.modules.iter().rev().find(|(first, _)| *first <= usize::from(id.0))?;
        Some(name)
    }

    /// Declares a module's variable.
    pub fn declare(&mut self, definition: VariableDef) -> VariableId {
        let id = VariableId(self.definitions.len() as u16);
        self.definitions.push(definition);
        self.by_name.insert(definition.name, id);
        self.defaults = OnceLock::new();
        id
    }

    /// The values of variables that are not set.
    pub fn defaults(&self) -> &ValueTable {
        self.defaults.get_or_init(|| self.definitions.iter().map(|definition| definition.default.to_value()).collect())
    }

    /// The variable of that name, in any letter case.
    pub fn find(&self, name: &str) -> Option<VariableId> {
        self.by_name.get(name).copied().or_else(|| self.by_name.get(name.to_ascii_lowercase().as_str()).copied())
    }

    /// Its definition.
    pub fn definition(&self, id: VariableId) -> &VariableDef {
        &self.definitions[usize::from(id.0)]
    }

    /// All, in the order of their ids.
    pub fn all(&self) -> &[VariableDef] {
        &self.definitions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_ids_match() {
        let registry = VariableRegistry::default();
        assert_eq!(registry.by_name.len(), registry.definitions.len());
        const AUTOCOMMIT: VariableId = VariableId::of("autocommit");
        assert_eq!(registry.find("AutoCommit"), Some(AUTOCOMMIT));
        assert_eq!(registry.definition(AUTOCOMMIT).name, "autocommit");
    }

    #[test]
    fn defaults_are_in_range() {
        for definition in VariableRegistry::default().all() {
            let name = definition.name;
            match (definition.kind, definition.default) {
                (Kind::UInt { min, max, block }, DefaultValue::UInt(value)) => {
                    assert!((min..=max).contains(&value) && value % block == 0, "{name}")
                }
                (Kind::Int { min, max }, DefaultValue::Int(value)) => assert!((min..=max).contains(&value), "{name}"),
                (Kind::Double { min, max }, DefaultValue::Double(value)) => {
                    assert!((min..=max).contains(&value), "{name}")
                }
                (Kind::Enum(words), DefaultValue::Text(value)) => assert!(words.contains(&value), "{name}"),
                (Kind::Flags(words), DefaultValue::Text(value)) => {
                    assert!(value.split(',').all(|word| word.is_empty() || words.contains(&word)), "{name}")
                }
                (Kind::Bool, DefaultValue::Int(0 | 1)) => {}
                (Kind::NullableText | Kind::Charset { nullable: true }, DefaultValue::Null) => {}
                (
                    Kind::Text
                    | Kind::NullableText
                    | Kind::SqlMode
                    | Kind::Charset { .. }
                    | Kind::Collation
                    | Kind::TimeZone
                    | Kind::Locale
                    | Kind::Period
                    | Kind::Engine { .. }
                    | Kind::Switches(_),
                    DefaultValue::Text(_),
                ) => {}
                other => panic!("{name}: {other:?}"),
            }
            assert!(!definition.doc.is_empty() && definition.doc.ends_with('.'), "{name}");
        }
    }
}
