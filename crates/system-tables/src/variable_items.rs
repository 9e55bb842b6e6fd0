//! `information_schema.VARIABLE_ITEMS`: the items of variables that are lists, one per row.

use super::{Source, TableSpec, s, text, u, uint, yes_no};
use squall_registry::VirtualScan;
use squall_system_variables::{Effect, Scope, VariableDef, VariableId};
use squall_types::{SqlResult, Value};

pub(crate) const TABLES: &[TableSpec] = &[TableSpec {
    database: "information_schema",
    name: "VARIABLE_ITEMS",
    columns: &[
        text("VARIABLE_NAME", 64),
        text("SCOPE", 7),
        uint("ORDINAL_POSITION"),
        text("ITEM", 64),
        text("ITEM_VALUE", 3),
        text("DEFAULT_VALUE", 3),
        text("IS_DEFAULT", 3),
    ],
    rows,
}];

fn rows(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let registry = &source.state.registry.variables;
    let values = &scan.context.variables;
    let mut rows = Vec::new();
    // As SHOW VARIABLES, without names that are there for other programs and do nothing.
    let does_nothing = |definition: &VariableDef| definition.hidden && definition.effect != Effect::Live;
    let is_shown = |definition: &VariableDef| definition.is_list() && !does_nothing(definition);
    for (id, definition) in registry.all().iter().enumerate().filter(|(_, definition)| is_shown(definition)) {
        let id = VariableId(id as u16);
        let defaults = definition.default_items();
        for (scope, value) in [("GLOBAL", values.global.get(id)), ("SESSION", values.session.get(id))] {
            let is_there = match definition.scope {
                Scope::Both => true,
                Scope::Global => scope == "GLOBAL",
                Scope::Session => scope == "SESSION",
            };
            if !is_there {
                continue;
            }
            for (at, (item, default)) in definition.items(value).iter().zip(&defaults).enumerate() {
                rows.push(vec![
                    s(definition.name),
                    s(scope),
                    u(at as u64 + 1),
                    s(&item.name),
                    s(definition.item_state(item)),
                    s(definition.item_state(default)),
                    yes_no(item == default),
                ]);
            }
        }
    }
    Ok(rows)
}
