//! Drizzle's tables of `data_dictionary`, over the sources of information_schema and performance_schema.
//!
//! Without PROCESS an account sees its own sessions, barriers, locks and counts alone. Reading order: `mod` (lists, settings and status),
//! `sessions`, `commands` (counts by session and user), `named` (what users have given names to), `caches`, `environment`, `generators`
//! (tables without end).

mod caches;
mod commands;
mod environment;
pub(crate) mod generators;
mod named;
mod sessions;

use crate::source::Source;
use crate::spec::{ColumnSpec, TableSpec, flag, long_text, s, text, u, uint};
use squall_registry::VirtualScan;
use squall_types::{ErrorCode, SqlResult, Value};

const DATABASE: &str = "data_dictionary";
/// The module of what every server has.
const CORE: &str = "core";

const NAME_AND_VALUE: &[ColumnSpec] = &[text("VARIABLE_NAME", 64), text("VARIABLE_VALUE", 1024).or_null()];

const LISTS: &[TableSpec] = &[
    TableSpec {
        database: DATABASE,
        name: "MODULES",
        columns: &[
            text("MODULE_NAME", 64),
            text("MODULE_VERSION", 20),
            text("MODULE_AUTHOR", 64),
            flag("IS_BUILTIN"),
            text("MODULE_LIBRARY", 254),
            long_text("MODULE_DESCRIPTION"),
            text("MODULE_LICENSE", 80),
        ],
        rows: modules,
    },
    TableSpec {
        database: DATABASE,
        name: "PLUGINS",
        columns: &[text("PLUGIN_NAME", 64), text("PLUGIN_TYPE", 64), flag("IS_ACTIVE"), text("MODULE_NAME", 64)],
        rows: plugins,
    },
    TableSpec {
        database: DATABASE,
        name: "ERRORS",
        columns: &[uint("ERROR_CODE"), text("ERROR_NAME", 64), text("ERROR_MESSAGE", 512), text("ERROR_SQL_STATE", 5)],
        rows: errors,
    },
    TableSpec { database: DATABASE, name: "FUNCTIONS", columns: &[text("FUNCTION_NAME", 64)], rows: functions },
    TableSpec {
        database: DATABASE,
        name: "CHARACTER_SETS",
        columns: crate::server::CHARACTER_SET_COLUMNS,
        rows: |_, _| Ok(crate::server::charset_rows()),
    },
    TableSpec {
        database: DATABASE,
        name: "COLLATIONS",
        columns: crate::server::COLLATION_COLUMNS,
        rows: |_, _| Ok(crate::collation_rows()),
    },
    TableSpec {
        database: DATABASE,
        name: "SESSION_VARIABLES",
        columns: NAME_AND_VALUE,
        rows: |source, _| Ok(crate::variable_rows(source, false)),
    },
    TableSpec {
        database: DATABASE,
        name: "GLOBAL_VARIABLES",
        columns: NAME_AND_VALUE,
        rows: |source, _| Ok(crate::variable_rows(source, true)),
    },
    TableSpec {
        database: DATABASE,
        name: "SESSION_STATUS",
        columns: NAME_AND_VALUE,
        rows: |source, _| Ok(crate::status_rows(source, false)),
    },
    TableSpec {
        database: DATABASE,
        name: "GLOBAL_STATUS",
        columns: NAME_AND_VALUE,
        rows: |source, _| Ok(crate::status_rows(source, true)),
    },
];

/// All of them but those without end.
pub(crate) fn tables() -> impl Iterator<Item = &'static TableSpec> {
    let lists = [LISTS, caches::TABLES, commands::TABLES, environment::TABLES, named::TABLES, sessions::TABLES];
    lists.into_iter().flatten()
}

impl Source<'_> {
    /// Whether counts of a user, and what its sessions have named, may be seen.
    fn sees_user(&self, user: &str) -> bool {
        self.access.sees_statements(user == self.user())
    }

    /// The user as the client has named it.
    fn user(&self) -> &str {
        self.context.user.rsplit_once('@').map_or(&*self.context.user, |(user, _)| user)
    }
}

fn modules(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let row = |name: &str, description: &str| {
        vec![
            s(name),
            s(env!("CARGO_PKG_VERSION")),
            s("Squall"),
            Value::from(true),
            s(""),
            s(description),
            s(env!("CARGO_PKG_LICENSE")),
        ]
    };
    let core = row(CORE, "What every server has: SQL, tables, accounts, logs, MySQL's protocol.");
    let modules = source.server.modules();
    Ok(std::iter::once(core).chain(modules.iter().map(|module| row(&module.name, &module.description))).collect())
}

fn plugins(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let row = |(name, kind): (&str, &str)| vec![s(name), s(kind), Value::from(true), s(CORE)];
    let mut rows: Vec<Vec<Value>> = crate::plugins(source.state.store.engines()).map(row).collect();
    for module in source.server.modules() {
        for (name, kind) in module.plugins {
            rows.push(vec![s(name), s(kind), Value::from(true), s(&module.name)]);
        }
    }
    Ok(rows)
}

/// `ER_WRONG_USER_LOCK_NAME` of `WrongUserLockName`.
fn error_name(name: &str) -> String {
    let mut text = "ER".to_string();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            text.push('_');
        }
        text.push(letter.to_ascii_uppercase());
    }
    text
}

fn errors(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let row = |number: u16, name: String, message: &str, state: [u8; 5]| {
        vec![u(u64::from(number)), s(name), s(message), s(String::from_utf8_lossy(&state))]
    };
    let of_mysql =
        ErrorCode::ALL.iter().map(|code| row(code.number(), error_name(code.name()), code.template(), code.sqlstate()));
    let own = source.state.registry.errors().into_iter();
    let own = own.map(|(name, error)| row(error.number(), name.to_string(), error.template(), error.sqlstate()));
    Ok(of_mysql.chain(own).collect())
}

/// All functions that can be called by name, those of modules too.
fn functions(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let registry = &source.state.registry;
    let mut names: Vec<&str> = registry.scalars().into_iter().map(|(name, _)| name).collect();
    names.extend(registry.aggregates().into_iter().map(|(name, _)| name));
    names.extend(squall_functions::build::CONTROL_FUNCTIONS.iter().map(|(name, _)| *name));
    // Operators are declared as functions, too, under signs and words that no call can be spelt with.
    names.retain(|name| name.starts_with(|first: char| first.is_ascii_alphabetic()) && !name.contains(' '));
    names.sort_unstable();
    names.dedup();
    Ok(names.into_iter().map(|name| vec![s(name)]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_errors_are_in_capital_letters() {
        assert_eq!(error_name("WrongUserLockName"), "ER_WRONG_USER_LOCK_NAME");
        let mut names: Vec<&str> = tables().map(|table| table.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
