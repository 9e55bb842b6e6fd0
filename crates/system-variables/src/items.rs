//! The items of variables whose value is a list: switches (`optimizer_switch`) and sets (`sql_mode`).

use super::definition::{DefaultValue, Kind, VariableDef};
use squall_types::{SqlMode, Value};

/// An item of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListItem {
    /// Its name.
    pub name: String,
    /// Whether it is on, or in the set.
    pub is_on: bool,
}

impl VariableDef {
    /// Whether its value is a list of items that are known.
    pub fn is_list(&self) -> bool {
        matches!(self.kind, Kind::Switches(_) | Kind::Flags(_) | Kind::SqlMode)
    }

    /// The items of a value, in the order in which they are printed; empty unless it [is a list](VariableDef::is_list).
    pub fn items(&self, value: &Value) -> Vec<ListItem> {
        let Value::String(list) = value else { return Vec::new() };
        let is_member = |name: &str| list.split(',').any(|item| item.trim().eq_ignore_ascii_case(name));
        let is_on = |name: &str| {
            let pairs = list.split(',').filter_map(|item| item.trim().split_once('='));
            pairs.into_iter().any(|(item, state)| item.eq_ignore_ascii_case(name) && state.eq_ignore_ascii_case("on"))
        };
        let set = |names: &mut dyn Iterator<Item = &str>| {
            names.map(|name| ListItem { name: name.to_string(), is_on: is_member(name) }).collect()
        };
        match self.kind {
            Kind::Switches(names) => {
                names.iter().map(|name| ListItem { name: name.to_string(), is_on: is_on(name) }).collect()
            }
            Kind::Flags(names) => set(&mut names.iter().copied()),
            Kind::SqlMode => set(&mut SqlMode::names()),
            _ => Vec::new(),
        }
    }

    /// The items of the default.
    pub fn default_items(&self) -> Vec<ListItem> {
        match self.default {
            DefaultValue::Text(text) => self.items(&Value::from(text)),
            _ => Vec::new(),
        }
    }

    /// An item of a value by its name, in any letter case.
    pub fn item(&self, value: &Value, name: &str) -> Option<ListItem> {
        self.items(value).into_iter().find(|item| item.name.eq_ignore_ascii_case(name))
    }

    /// How the state of an item is shown: `on` and `off` for switches, 1 and 0 for members of a set.
    pub fn item_state(&self, item: &ListItem) -> &'static str {
        match (self.kind, item.is_on) {
            (Kind::Switches(_), true) => "on",
            (Kind::Switches(_), false) => "off",
            (_, true) => "1",
            (_, false) => "0",
        }
    }

    /// What SET is to be given so that one item of a value changes and the others stay.
    pub fn with_item(&self, value: &Value, name: &str, is_on: bool) -> String {
        if let Kind::Switches(_) = self.kind {
            return format!("{name}={}", if is_on { "on" } else { "off" });
        }
        let items = self.items(value).into_iter().filter(|item| match item.name.eq_ignore_ascii_case(name) {
            true => is_on,
            false => item.is_on,
        });
        items.map(|item| item.name).collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::super::VariableRegistry;
    use super::*;

    #[test]
    fn items_are_read_and_changed() {
        let registry = VariableRegistry::default();
        let switches = registry.definition(registry.find("optimizer_switch").unwrap());
        let default = switches.default.to_value();
        assert!(switches.item(&default, "MRR").unwrap().is_on);
        assert!(!switches.item(&default, "batched_key_access").unwrap().is_on);
        assert_eq!(switches.item(&default, "bogus"), None);
        assert_eq!(switches.with_item(&default, "mrr", false), "mrr=off");
        let mode = registry.definition(registry.find("sql_mode").unwrap());
        let value = Value::from("STRICT_TRANS_TABLES,NO_ZERO_DATE");
        assert_eq!(mode.with_item(&value, "ansi_quotes", true), "ANSI_QUOTES,STRICT_TRANS_TABLES,NO_ZERO_DATE");
        assert_eq!(mode.with_item(&value, "strict_trans_tables", false), "NO_ZERO_DATE");
        assert_eq!(mode.item_state(&mode.item(&value, "NO_ZERO_DATE").unwrap()), "1");
    }
}
