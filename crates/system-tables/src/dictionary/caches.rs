//! TABLE_CACHE and TABLE_DEFINITION_CACHE. A table is open from the start, or from when it is made, until it is dropped; sessions use it
//! by locks.

use super::DATABASE;
use crate::s;
use crate::source::Source;
use crate::spec::{TableSpec, flag, text, u, uint};
use squall_catalog::{Database, TableDef, TableEntry, TableId};
use squall_registry::VirtualScan;
use squall_row_store::LockStrength;
use squall_types::{SqlResult, Value};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

pub(crate) const TABLES: &[TableSpec] = &[
    TableSpec {
        database: DATABASE,
        name: "TABLE_CACHE",
        columns: &[
            uint("SESSION_ID").or_null(),
            text("TABLE_SCHEMA", 64),
            text("TABLE_NAME", 64),
            uint("VERSION"),
            flag("IS_NAME_LOCKED"),
            uint("ROWS"),
            uint("AVG_ROW_LENGTH"),
            uint("TABLE_SIZE"),
            uint("AUTO_INCREMENT").or_null(),
        ],
        rows: open_tables,
    },
    TableSpec {
        database: DATABASE,
        name: "TABLE_DEFINITION_CACHE",
        columns: &[
            text("TABLE_SCHEMA", 64),
            text("TABLE_NAME", 64),
            uint("VERSION"),
            uint("TABLE_COUNT"),
            flag("IS_NAME_LOCKED"),
        ],
        rows: definitions,
    },
];

/// Who uses a table.
#[derive(Default)]
struct Uses {
    /// The sessions that the reader may see.
    sessions: BTreeSet<u64>,
    /// A definition has it.
    is_locked: bool,
}

fn uses(source: &Source<'_>) -> HashMap<TableId, Uses> {
    let mut uses: HashMap<TableId, Uses> = HashMap::new();
    for lock in source.state.store.locks().iter().filter(|lock| lock.key.is_empty() && !lock.is_waiting) {
        let of_table = uses.entry(lock.table).or_default();
        of_table.is_locked |= lock.strength == LockStrength::Exclusive;
        let process = lock.session.and_then(|session| source.state.processes.get(session));
        of_table.sessions.extend(process.filter(|process| source.sees_process(process)).map(|process| process.id));
    }
    uses
}

/// The base tables that may be seen.
fn tables<'s>(
    source: &'s Source<'_>,
    scan: &'s VirtualScan<'_>,
    database: usize,
) -> impl Iterator<Item = (&'s Database, &'s Arc<TableDef>)> {
    let entries = source.entries(scan.equal_text(database), scan.equal_text(database + 1));
    entries.filter_map(|(database, _, entry)| match entry {
        TableEntry::Table(table) => Some((database, table)),
        TableEntry::View(_) => None,
    })
}

/// A row for each session that uses a table, and one without a session for a table that none uses.
fn open_tables(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let (store, uses) = (&source.state.store, uses(source));
    let mut rows = Vec::new();
    for (database, table) in tables(source, scan, 1) {
        let data = store.table(table)?;
        let (statistics, level) = (store.table_stats(&data), store.level_bytes(&data)?);
        let bytes = statistics.data_bytes + level.data;
        let next = table.auto_increment_ordinal().map(|_| store.peek_auto_increment(&data));
        let used = uses.get(&table.id);
        let mut sessions: Vec<Value> = used.iter().flat_map(|used| &used.sessions).map(|id| u(*id)).collect();
        if sessions.is_empty() {
            sessions.push(Value::Null);
        }
        rows.extend(sessions.into_iter().map(|session| {
            vec![
                session,
                s(&database.name),
                s(&table.name),
                u(table.version),
                Value::from(used.is_some_and(|used| used.is_locked)),
                u(statistics.row_count),
                u(bytes.checked_div(statistics.row_count).unwrap_or(0)),
                u(bytes + statistics.index_bytes + level.index),
                next.map_or(Value::Null, u),
            ]
        }));
    }
    Ok(rows)
}

fn definitions(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let uses = uses(source);
    let row = |(database, table): (&Database, &Arc<TableDef>)| {
        let used = uses.get(&table.id);
        vec![
            s(&database.name),
            s(&table.name),
            u(table.version),
            u(used.map_or(0, |used| used.sessions.len() as u64)),
            Value::from(used.is_some_and(|used| used.is_locked)),
        ]
    };
    Ok(tables(source, scan, 0).map(row).collect())
}
