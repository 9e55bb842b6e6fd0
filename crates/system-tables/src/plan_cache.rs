//! `information_schema.PLAN_CACHE`: the shared statements and plans, and the number of their uses.

use crate::source::{PlanCacheEntry, PlanKind};
use crate::{Source, TableSpec, choice, local_micros, long_text, moment, s, s_or_null, text, u, uint};
use squall_catalog::Privileges;
use squall_registry::VirtualScan;
use squall_types::{SqlResult, Value};

pub(crate) const TABLES: &[TableSpec] = &[TableSpec {
    database: "information_schema",
    name: "PLAN_CACHE",
    columns: &[
        text("DIGEST", 64),
        long_text("DIGEST_TEXT"),
        text("SCHEMA_NAME", 64).or_null(),
        text("SQL_MODE", 512),
        choice("PLAN_KIND", PlanKind::WORDS),
        uint("HITS"),
        uint("SHARED_HITS"),
        uint("MISSES"),
        uint("SESSIONS"),
        moment("LAST_USED").or_null(),
        uint("BYTES"),
    ],
    rows,
}];

/// Accounts with PROCESS see all statements. Others see the statements of their own sessions' plans, as in the process list.
fn rows(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let sees_all = source.access.global.contains(Privileges::PROCESS);
    let mut processes = source.state.processes.all();
    processes.retain(|process| source.sees_process(process));
    let row = |entry: PlanCacheEntry| {
        vec![
            s(format!("{:032x}", entry.digest.hash)),
            s(entry.digest.text),
            s_or_null(entry.settings.database.as_deref()),
            s(entry.settings.sql_mode.to_string()),
            s(entry.kind.word()),
            u(entry.hits),
            u(entry.shared_hits),
            u(entry.misses),
            u(entry.sessions),
            match entry.last_used_micros {
                0 => Value::Null,
                micros => local_micros(scan.context, micros),
            },
            u(entry.bytes),
        ]
    };
    Ok(source.server.plan_cache_entries(sees_all, &processes).into_iter().map(row).collect())
}
