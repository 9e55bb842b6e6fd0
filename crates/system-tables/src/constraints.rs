//! TABLE_CONSTRAINTS, KEY_COLUMN_USAGE, REFERENTIAL_CONSTRAINTS, CHECK_CONSTRAINTS.

use super::{Source, TableSpec, choice, long_text, s, s_or_null, small_uint, text, u, yes_no};
use crate::create_table::{action_words, foreign_keys_by_name};
use squall_catalog::{Catalog, TableDef, TableEntry};
use squall_registry::VirtualScan;
use squall_types::{SqlResult, Value};

pub(crate) const TABLES: &[TableSpec] = &[
    TableSpec {
        database: "information_schema",
        name: "TABLE_CONSTRAINTS",
        columns: &[
            text("CONSTRAINT_CATALOG", 64),
            text("CONSTRAINT_SCHEMA", 64),
            text("CONSTRAINT_NAME", 64).or_null(),
            text("TABLE_SCHEMA", 64),
            text("TABLE_NAME", 64),
            text("CONSTRAINT_TYPE", 11),
            text("ENFORCED", 3),
        ],
        rows: table_constraints,
    },
    TableSpec {
        database: "information_schema",
        name: "KEY_COLUMN_USAGE",
        columns: &[
            text("CONSTRAINT_CATALOG", 64),
            text("CONSTRAINT_SCHEMA", 64),
            text("CONSTRAINT_NAME", 64).or_null(),
            text("TABLE_CATALOG", 64),
            text("TABLE_SCHEMA", 64),
            text("TABLE_NAME", 64),
            text("COLUMN_NAME", 64).or_null(),
            small_uint("ORDINAL_POSITION"),
            small_uint("POSITION_IN_UNIQUE_CONSTRAINT").or_null(),
            text("REFERENCED_TABLE_SCHEMA", 64).or_null(),
            text("REFERENCED_TABLE_NAME", 64).or_null(),
            text("REFERENCED_COLUMN_NAME", 64).or_null(),
        ],
        rows: key_column_usage,
    },
    TableSpec {
        database: "information_schema",
        name: "REFERENTIAL_CONSTRAINTS",
        columns: &[
            text("CONSTRAINT_CATALOG", 64),
            text("CONSTRAINT_SCHEMA", 64),
            text("CONSTRAINT_NAME", 64).or_null(),
            text("UNIQUE_CONSTRAINT_CATALOG", 64),
            text("UNIQUE_CONSTRAINT_SCHEMA", 64),
            text("UNIQUE_CONSTRAINT_NAME", 64).or_null(),
            choice("MATCH_OPTION", &["NONE", "PARTIAL", "FULL"]),
            choice("UPDATE_RULE", &["NO ACTION", "RESTRICT", "CASCADE", "SET NULL", "SET DEFAULT"]),
            choice("DELETE_RULE", &["NO ACTION", "RESTRICT", "CASCADE", "SET NULL", "SET DEFAULT"]),
            text("TABLE_NAME", 64),
            text("REFERENCED_TABLE_NAME", 64),
        ],
        rows: referential_constraints,
    },
    TableSpec {
        database: "information_schema",
        name: "CHECK_CONSTRAINTS",
        columns: &[
            text("CONSTRAINT_CATALOG", 64),
            text("CONSTRAINT_SCHEMA", 64),
            text("CONSTRAINT_NAME", 64),
            long_text("CHECK_CLAUSE"),
        ],
        rows: check_constraints,
    },
];

fn base_tables<'s>(source: &'s Source<'_>, database: Option<&'s str>) -> impl Iterator<Item = (&'s str, &'s TableDef)> {
    source.entries(database, None).filter_map(|(database, _, entry)| match entry {
        TableEntry::Table(table) => Some((database.name.as_str(), &**table)),
        TableEntry::View(_) => None,
    })
}

fn table_constraints(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for (database, table) in base_tables(source, scan.equal_text(1)) {
        let mut push = |name: &str, kind: &str, enforced: bool| {
            let texts = [s("def"), s(database), s(name), s(database), s(&table.name), s(kind), yes_no(enforced)];
            rows.push(texts.to_vec());
        };
        for index in table.indexes.iter().filter(|index| index.unique) {
            push(&index.name, if index.primary { "PRIMARY KEY" } else { "UNIQUE" }, true);
        }
        for key in foreign_keys_by_name(table) {
            push(&key.name, "FOREIGN KEY", true);
        }
        for check in &table.checks {
            push(&check.name, "CHECK", check.enforced);
        }
    }
    Ok(rows)
}

fn key_column_usage(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for (database, table) in base_tables(source, scan.equal_text(4)) {
        let mut push = |name: &str, ordinal: usize, at: usize, parent: Option<(&str, &str, &str)>| {
            if !source.access.sees_column(database, &table.name, &table.columns[ordinal].name) {
                return;
            }
            rows.push(vec![
                s("def"),
                s(database),
                s(name),
                s("def"),
                s(database),
                s(&table.name),
                s(&table.columns[ordinal].name),
                u(at as u64 + 1),
                parent.map_or(Value::Null, |_| u(at as u64 + 1)),
                s_or_null(parent.map(|(database, ..)| database)),
                s_or_null(parent.map(|(_, table, _)| table)),
                s_or_null(parent.map(|(.., column)| column)),
            ]);
        };
        for index in table.indexes.iter().filter(|index| index.unique) {
            let named = |(_, ordinal): &(usize, usize)| !table.columns[*ordinal].is_hidden();
            for (at, ordinal) in table.index_ordinals(index).into_iter().enumerate().filter(named) {
                push(&index.name, ordinal, at, None);
            }
        }
        for key in foreign_keys_by_name(table) {
            let columns = key.columns.iter().filter_map(|id| table.ordinal(*id));
            let parent = source.catalog.parent_of(key).map(|parent| &**parent);
            for (at, (ordinal, parent)) in columns.zip(key.parent_columns.names(parent)).enumerate() {
                push(&key.name, ordinal, at, Some((&key.parent_database, &key.parent_table, parent)));
            }
        }
    }
    Ok(rows)
}

/// The unique key that a foreign key refers to.
fn parent_key_name(catalog: &Catalog, key: &squall_catalog::ForeignKey) -> Option<String> {
    let parent = catalog.parent_of(key)?;
    let columns = key.parent_columns.ordinals(parent)?;
    let found = parent.indexes.iter().find(|index| index.unique && parent.index_ordinals(index) == columns);
    found.map(|index| index.name.clone())
}

fn referential_constraints(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for (database, table) in base_tables(source, scan.equal_text(1)) {
        for key in foreign_keys_by_name(table) {
            rows.push(vec![
                s("def"),
                s(database),
                s(&key.name),
                s("def"),
                s(&key.parent_database),
                s_or_null(parent_key_name(&source.catalog, key)),
                s("NONE"),
                s(action_words(key.on_update)),
                s(action_words(key.on_delete)),
                s(&table.name),
                s(&key.parent_table),
            ]);
        }
    }
    Ok(rows)
}

fn check_constraints(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for (database, table) in base_tables(source, scan.equal_text(1)) {
        for check in &table.checks {
            rows.push(vec![s("def"), s(database), s(&check.name), s(&check.expression)]);
        }
    }
    Ok(rows)
}
