//! Tables about the server: engines, character sets, processes, privileges, variables, status.

use super::{ColumnSpec, PERFORMANCE, Source, TableSpec, int, long_text, s, s_or_null, text, u, uint, yes_no};
use squall_catalog::{AccountDef, Privileges};
use squall_registry::VirtualScan;
use squall_row_store::Engines;
use squall_server_state::now_micros;
use squall_types::collation::{Charset, registry};
use squall_types::{SqlResult, Value};

const INFORMATION: &str = "information_schema";

/// The columns of CHARACTER_SETS.
pub(crate) const CHARACTER_SET_COLUMNS: &[ColumnSpec] =
    &[text("CHARACTER_SET_NAME", 64), text("DEFAULT_COLLATE_NAME", 64), text("DESCRIPTION", 2048), uint("MAXLEN")];

/// The columns of COLLATIONS.
pub(crate) const COLLATION_COLUMNS: &[ColumnSpec] = &[
    text("COLLATION_NAME", 64),
    text("CHARACTER_SET_NAME", 64),
    uint("ID"),
    text("IS_DEFAULT", 3),
    text("IS_COMPILED", 3),
    uint("SORTLEN"),
    text("PAD_ATTRIBUTE", 9),
];

pub(crate) const TABLES: &[TableSpec] = &[
    TableSpec {
        database: INFORMATION,
        name: "ENGINES",
        columns: &[
            text("ENGINE", 64),
            text("SUPPORT", 8),
            text("COMMENT", 80),
            text("TRANSACTIONS", 3).or_null(),
            text("XA", 3).or_null(),
            text("SAVEPOINTS", 3).or_null(),
        ],
        rows: |source, _| Ok(engine_rows(source.state.store.engines())),
    },
    TableSpec {
        database: INFORMATION,
        name: "CHARACTER_SETS",
        columns: CHARACTER_SET_COLUMNS,
        rows: |_, _| Ok(charset_rows()),
    },
    TableSpec {
        database: INFORMATION,
        name: "COLLATIONS",
        columns: COLLATION_COLUMNS,
        rows: |_, _| Ok(collation_rows()),
    },
    TableSpec {
        database: INFORMATION,
        name: "COLLATION_CHARACTER_SET_APPLICABILITY",
        columns: &[text("COLLATION_NAME", 64), text("CHARACTER_SET_NAME", 64)],
        rows: |_, _| Ok(collation_rows().into_iter().map(|row| row[..2].to_vec()).collect()),
    },
    TableSpec {
        database: INFORMATION,
        name: "PROCESSLIST",
        columns: &[
            uint("ID"),
            text("USER", 32),
            text("HOST", 261),
            text("DB", 64).or_null(),
            text("COMMAND", 16),
            int("TIME"),
            text("STATE", 64).or_null(),
            long_text("INFO").or_null(),
        ],
        rows: processes,
    },
    TableSpec {
        database: PERFORMANCE,
        name: "processlist",
        columns: &[
            uint("ID"),
            text("USER", 32).or_null(),
            text("HOST", 261).or_null(),
            text("DB", 64).or_null(),
            text("COMMAND", 16).or_null(),
            int("TIME").or_null(),
            text("STATE", 64).or_null(),
            long_text("INFO").or_null(),
            text("EXECUTION_ENGINE", 9).or_null(),
        ],
        rows: |source, scan| {
            let mut rows = processes(source, scan)?;
            rows.iter_mut().for_each(|row| row.push(s("PRIMARY")));
            Ok(rows)
        },
    },
    TableSpec {
        database: INFORMATION,
        name: "PLUGINS",
        columns: &[
            text("PLUGIN_NAME", 64),
            text("PLUGIN_VERSION", 20),
            text("PLUGIN_STATUS", 10),
            text("PLUGIN_TYPE", 80),
            text("PLUGIN_TYPE_VERSION", 20),
            text("PLUGIN_LIBRARY", 64).or_null(),
            text("PLUGIN_LIBRARY_VERSION", 20).or_null(),
            text("PLUGIN_AUTHOR", 64).or_null(),
            long_text("PLUGIN_DESCRIPTION").or_null(),
            text("PLUGIN_LICENSE", 80).or_null(),
            text("LOAD_OPTION", 64),
        ],
        rows: |source, _| Ok(plugin_rows(source.state.store.engines())),
    },
    TableSpec {
        database: INFORMATION,
        name: "USER_PRIVILEGES",
        columns: &[
            text("GRANTEE", 292),
            text("TABLE_CATALOG", 512),
            text("PRIVILEGE_TYPE", 64),
            text("IS_GRANTABLE", 3),
        ],
        rows: user_privileges,
    },
    TableSpec {
        database: INFORMATION,
        name: "SCHEMA_PRIVILEGES",
        columns: &[
            text("GRANTEE", 292),
            text("TABLE_CATALOG", 512),
            text("TABLE_SCHEMA", 64),
            text("PRIVILEGE_TYPE", 64),
            text("IS_GRANTABLE", 3),
        ],
        rows: schema_privileges,
    },
    TableSpec {
        database: INFORMATION,
        name: "TABLE_PRIVILEGES",
        columns: &[
            text("GRANTEE", 292),
            text("TABLE_CATALOG", 512),
            text("TABLE_SCHEMA", 64),
            text("TABLE_NAME", 64),
            text("PRIVILEGE_TYPE", 64),
            text("IS_GRANTABLE", 3),
        ],
        rows: table_privileges,
    },
    TableSpec {
        database: INFORMATION,
        name: "COLUMN_PRIVILEGES",
        columns: &[
            text("GRANTEE", 292),
            text("TABLE_CATALOG", 512),
            text("TABLE_SCHEMA", 64),
            text("TABLE_NAME", 64),
            text("COLUMN_NAME", 64),
            text("PRIVILEGE_TYPE", 64),
            text("IS_GRANTABLE", 3),
        ],
        rows: column_privileges,
    },
    TableSpec {
        database: PERFORMANCE,
        name: "global_variables",
        columns: &[text("VARIABLE_NAME", 64), text("VARIABLE_VALUE", 1024).or_null()],
        rows: |source, _| Ok(variable_rows(source, true)),
    },
    TableSpec {
        database: PERFORMANCE,
        name: "session_variables",
        columns: &[text("VARIABLE_NAME", 64), text("VARIABLE_VALUE", 1024).or_null()],
        rows: |source, _| Ok(variable_rows(source, false)),
    },
    TableSpec {
        database: PERFORMANCE,
        name: "persisted_variables",
        columns: &[text("VARIABLE_NAME", 64), text("VARIABLE_VALUE", 1024).or_null()],
        rows: |source, _| {
            let persisted = source.state.globals.persisted();
            Ok(persisted.into_iter().map(|(name, value)| vec![s(name), s(value)]).collect())
        },
    },
    TableSpec {
        database: PERFORMANCE,
        name: "global_status",
        columns: &[text("VARIABLE_NAME", 64), text("VARIABLE_VALUE", 1024).or_null()],
        rows: |source, _| Ok(crate::status::status_rows(source, true)),
    },
    TableSpec {
        database: PERFORMANCE,
        name: "session_status",
        columns: &[text("VARIABLE_NAME", 64), text("VARIABLE_VALUE", 1024).or_null()],
        rows: |source, _| Ok(crate::status::status_rows(source, false)),
    },
    // MariaDB's places of the four, and MySQL's before 8.0.
    TableSpec {
        database: INFORMATION,
        name: "GLOBAL_STATUS",
        columns: &[text("VARIABLE_NAME", 64), text("VARIABLE_VALUE", 2048).or_null()],
        rows: |source, _| Ok(with_names_in_capitals(crate::status::status_rows(source, true))),
    },
    TableSpec {
        database: INFORMATION,
        name: "SESSION_STATUS",
        columns: &[text("VARIABLE_NAME", 64), text("VARIABLE_VALUE", 2048).or_null()],
        rows: |source, _| Ok(with_names_in_capitals(crate::status::status_rows(source, false))),
    },
    TableSpec {
        database: INFORMATION,
        name: "GLOBAL_VARIABLES",
        columns: &[text("VARIABLE_NAME", 64), text("VARIABLE_VALUE", 2048).or_null()],
        rows: |source, _| Ok(with_names_in_capitals(variable_rows(source, true))),
    },
    TableSpec {
        database: INFORMATION,
        name: "SESSION_VARIABLES",
        columns: &[text("VARIABLE_NAME", 64), text("VARIABLE_VALUE", 2048).or_null()],
        rows: |source, _| Ok(with_names_in_capitals(variable_rows(source, false))),
    },
    TableSpec {
        database: PERFORMANCE,
        name: "session_connect_attrs",
        columns: &[
            uint("PROCESSLIST_ID"),
            text("ATTR_NAME", 32),
            text("ATTR_VALUE", 1024).or_null(),
            int("ORDINAL_POSITION").or_null(),
        ],
        rows: connect_attributes,
    },
];

/// Rows whose first column is a name, as information_schema has them.
fn with_names_in_capitals(mut rows: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    for name in rows.iter_mut().filter_map(|row| row.first_mut()) {
        if let Value::String(name) = name {
            name.make_ascii_uppercase();
        }
    }
    rows
}

/// Character sets by name.
pub fn charsets() -> Vec<Charset> {
    let mut sets: Vec<Charset> = Charset::all().collect();
    sets.sort_by_key(|set| set.name());
    sets.dedup_by_key(|set| set.name());
    sets
}

/// Rows of CHARACTER_SETS, by name.
pub(crate) fn charset_rows() -> Vec<Vec<Value>> {
    let row = |set: Charset| {
        vec![
            s(set.name()),
            s(set.default_collation().name()),
            s(set.description()),
            u(u64::from(set.bytes_per_character_max())),
        ]
    };
    charsets().into_iter().map(row).collect()
}

/// Rows of COLLATIONS, by name.
pub fn collation_rows() -> Vec<Vec<Value>> {
    let mut collations: Vec<_> = registry::all().collect();
    collations.sort_by(|left, right| left.name.cmp(&right.name));
    collations
        .into_iter()
        .map(|collation| {
            vec![
                s(&collation.name),
                s(collation.charset.name()),
                u(u64::from(collation.id.0)),
                s(if collation.is_default { "Yes" } else { "" }),
                s("Yes"),
                u(u64::from(collation.sort_length)),
                s(if collation.pads_space { "PAD SPACE" } else { "NO PAD" }),
            ]
        })
        .collect()
}

/// Rows of ENGINES.
pub fn engine_rows(engines: &Engines) -> Vec<Vec<Value>> {
    let rows = engines.all().map(|engine| {
        let support = if engine.name() == engines.default_engine().name() { "DEFAULT" } else { "YES" };
        // Transactions, branches of XA and savepoints are the store's, whatever the engine.
        vec![s(engine.name()), s(support), s(engine.comment()), s("YES"), s("YES"), s("YES")]
    });
    rows.collect()
}

/// Names and types of PLUGINS: ways to authenticate, and storage engines.
pub fn plugins(engines: &Engines) -> impl Iterator<Item = (&'static str, &'static str)> {
    let authentication = ["mysql_native_password", "caching_sha2_password"].map(|name| (name, "AUTHENTICATION"));
    authentication.into_iter().chain(engines.all().map(|engine| (engine.name(), "STORAGE ENGINE")))
}

fn plugin_rows(engines: &Engines) -> Vec<Vec<Value>> {
    let row = |(name, kind): (&str, &str)| {
        vec![
            s(name),
            s("1.0"),
            s("ACTIVE"),
            s(kind),
            s("1.0"),
            Value::Null,
            Value::Null,
            s("Squall"),
            s(""),
            s("Apache-2.0"),
            s("FORCE"),
        ]
    };
    plugins(engines).map(row).collect()
}

fn processes(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    Ok(process_rows(source, usize::MAX))
}

/// Rows of PROCESSLIST with the first characters of each statement.
pub fn process_rows(source: &Source<'_>, info_characters: usize) -> Vec<Vec<Value>> {
    let now = now_micros();
    source
        .state
        .processes
        .all()
        .iter()
        .filter(|process| source.sees_process(process))
        .map(|process| {
            let activity = process.activity.lock();
            let shown = |text: &str| s_or_null(Some(text).filter(|text| !text.is_empty()));
            let info: String = activity.statement.chars().take(info_characters).collect();
            vec![
                u(process.id),
                s(&process.user),
                s(&process.host),
                shown(&activity.database),
                s(activity.command),
                Value::Int((now - process.since_micros.load(std::sync::atomic::Ordering::Relaxed)).max(0) / 1_000_000),
                process.transfer.shown().map_or_else(|| s(activity.state), Value::String),
                shown(&info),
            ]
        })
        .collect()
}

fn grantee(account: &AccountDef) -> Value {
    s(format!("'{}'@'{}'", account.user, account.host))
}

/// The accounts whose grants may be seen: all, or one's own.
pub(crate) fn visible_accounts(source: &Source<'_>) -> Vec<std::sync::Arc<AccountDef>> {
    let all = source.access.on_table("mysql", "user").contains(Privileges::SELECT);
    let own = &*source.context.current_user;
    let accounts = source.state.accounts.load_full();
    accounts
        .accounts
        .values()
        // Its grants outside of its limits are none of a limited session's business.
        .filter(|_| !source.access.is_limited())
        .filter(|account| all || format!("{}@{}", account.user, account.host) == own)
        .cloned()
        .collect()
}

fn user_privileges(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for account in visible_accounts(source) {
        let mut names: Vec<(String, bool)> = Vec::new();
        let grantable = account.global.contains(Privileges::GRANT_OPTION);
        names.extend(account.global.names().into_iter().map(|name| (name.to_string(), grantable)));
        if names.is_empty() {
            names.push(("USAGE".to_string(), false));
        }
        names.extend(account.dynamic.iter().map(|(name, grantable)| (name.clone(), *grantable)));
        for (name, grantable) in names {
            rows.push(vec![grantee(&account), s("def"), s(name), yes_no(grantable)]);
        }
    }
    Ok(rows)
}

fn schema_privileges(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for account in visible_accounts(source) {
        for (database, privileges) in &account.databases {
            let grantable = yes_no(privileges.contains(Privileges::GRANT_OPTION));
            for name in privileges.names() {
                rows.push(vec![grantee(&account), s("def"), s(database), s(name), grantable.clone()]);
            }
        }
    }
    Ok(rows)
}

fn table_privileges(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for account in visible_accounts(source) {
        for ((database, table), grant) in &account.tables {
            let grantable = yes_no(grant.table.contains(Privileges::GRANT_OPTION));
            for name in grant.table.names() {
                let row = vec![grantee(&account), s("def"), s(database), s(table), s(name), grantable.clone()];
                rows.push(row);
            }
        }
    }
    Ok(rows)
}

fn column_privileges(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for account in visible_accounts(source) {
        for ((database, table), grant) in &account.tables {
            let grantable = yes_no(grant.table.contains(Privileges::GRANT_OPTION));
            for (column, privileges) in &grant.columns {
                for name in privileges.names() {
                    let place = [grantee(&account), s("def"), s(database), s(table), s(column)];
                    rows.push(place.into_iter().chain([s(name), grantable.clone()]).collect());
                }
            }
        }
    }
    Ok(rows)
}

/// Names and values of SHOW VARIABLES, by name.
pub fn variable_rows(source: &Source<'_>, global: bool) -> Vec<Vec<Value>> {
    let registry = &source.state.registry.variables;
    let globals = source.state.globals.load_values();
    let mut rows: Vec<Vec<Value>> = Vec::with_capacity(registry.all().len());
    for (at, definition) in registry.all().iter().enumerate() {
        if definition.hidden || (global && !definition.has_global()) {
            continue;
        }
        let id = squall_system_variables::VariableId(at as u16);
        let value = if global || !definition.has_session() {
            globals.get(id).clone()
        } else {
            source.context.system_variable(id, squall_system_variables::ReadScope::Any, definition)
        };
        rows.push(vec![s(definition.name), s(definition.show(&value))]);
    }
    rows.sort_by(|left, right| match (&left[0], &right[0]) {
        (Value::String(left), Value::String(right)) => left.cmp(right),
        _ => std::cmp::Ordering::Equal,
    });
    rows
}

fn connect_attributes(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for process in source.state.processes.all().iter().filter(|process| source.sees_process(process)) {
        for (at, (name, value)) in process.attributes.iter().enumerate() {
            rows.push(vec![u(process.id), s(name), s(value), Value::Int(at as i64)]);
        }
    }
    Ok(rows)
}
