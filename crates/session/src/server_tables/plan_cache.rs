//! `information_schema.PLAN_CACHE`: the shared statements and plans, and the number of their uses.

use crate::database::Shared;
use crate::plans::shared_cache::{CacheEntry, PlanKind, PlanUse, Totals};
use crate::session::parse_options;
use squall_catalog::Privileges;
use squall_registry::VirtualScan;
use squall_system_tables::{
    Source, TableSpec, choice, local_micros, long_text, moment, no_rows, s, s_or_null, text, u, uint,
};
use squall_types::{SqlResult, Value};
use std::collections::HashMap;
use std::sync::Arc;

pub(super) const PLAN_CACHE: TableSpec = TableSpec {
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
    rows: no_rows,
};

/// The counts of a statement, over the sessions that may be seen.
struct Row {
    entry: Arc<CacheEntry>,
    totals: Totals,
    sessions: u64,
}

/// Accounts with PROCESS see all statements. Others see the statements of their own sessions' plans, as in the process list.
pub(super) fn rows(shared: &Shared, source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut found: HashMap<*const CacheEntry, Row> = HashMap::new();
    if source.access.global.contains(Privileges::PROCESS) {
        for entry in shared.plans.all() {
            let row = Row { totals: entry.retired(), sessions: 0, entry };
            found.insert(Arc::as_ptr(&row.entry), row);
        }
    }
    for process in source.state.processes.all().iter().filter(|process| source.sees_process(process)) {
        for plan_use in process.plan_uses::<PlanUse>() {
            let entry = &plan_use.entry;
            let row = found.entry(Arc::as_ptr(entry)).or_insert_with(|| Row {
                entry: entry.clone(),
                totals: Totals::default(),
                sessions: 0,
            });
            row.totals.add(plan_use.totals());
            row.sessions += 1;
        }
    }
    Ok(found
        .into_values()
        .map(|Row { entry, totals, sessions }| {
            let digest = squall_parser::digest(&entry.text, &parse_options(&entry.settings));
            vec![
                s(format!("{:032x}", digest.hash)),
                s(digest.text),
                s_or_null(entry.settings.database.as_deref()),
                s(entry.settings.sql_mode.to_string()),
                s(entry.kind().word()),
                u(totals.hits),
                u(totals.shared_hits),
                u(totals.misses),
                u(sessions),
                match totals.last_used_micros {
                    0 => Value::Null,
                    micros => local_micros(scan.context, micros),
                },
                u(entry.bytes()),
            ]
        })
        .collect())
}
