//! `async.q`: the queries, in the form of the original.

use super::{NAME, Shared};
use crate::captured;
use squall_catalog::AccessMap;
use squall_jobs::{JobInfo, JobState};
use squall_registry::{RowParts, VirtualColumn, VirtualScan, VirtualTable};
use squall_statement_context::StatementContext;
use squall_types::{CollationId, SqlResult, SqlType, StringKind, TextSize, Value};
use std::sync::Arc;

const COLLATION: CollationId = CollationId::UTF8MB4_0900_AI_CI;
const LONGTEXT: SqlType =
    SqlType::String { kind: StringKind::Text(TextSize::Long), length: u32::MAX, collation: COLLATION };
const TEXT: SqlType =
    SqlType::String { kind: StringKind::Text(TextSize::Normal), length: u16::MAX as u32, collation: COLLATION };
const STATES: [&str; 5] = ["CHECKING", "COMPLETED", "WAITING", "RUNNING", "ERROR"];

/// The columns, with whether they can be NULL.
pub(super) fn columns() -> Vec<(&'static str, SqlType, bool)> {
    vec![
        ("q_id", SqlType::BIGINT, false),
        ("sql_text", LONGTEXT, false),
        ("created_on", SqlType::Timestamp { fsp: 0 }, false),
        ("started_on", SqlType::DateTime { fsp: 0 }, true),
        ("completed_on", SqlType::DateTime { fsp: 0 }, true),
        ("parent", SqlType::BIGINT, true),
        ("completed", SqlType::BOOL, true),
        ("state", SqlType::varchar(9, COLLATION), false),
        ("errno", SqlType::varchar(10, COLLATION), true),
        ("errmsg", TEXT, true),
    ]
}

/// A query's row, which shows no passwords.
pub(super) fn row(info: &JobInfo, payload: &[u8], context: &StatementContext) -> SqlResult<Vec<Value>> {
    let time = |micros: Option<i64>| {
        let whole = micros.map(|micros| micros - micros.rem_euclid(1_000_000));
        let local = whole.and_then(|micros| context.settings.time_zone.from_unix_micros(micros));
        local.map_or(Value::Null, Value::DateTime)
    };
    let sql = captured::split(payload)?.0;
    let error = info.error.as_ref();
    let message =
        error.map(|error| squall_parser::message_without_secrets(&error.message, sql.as_bytes()).into_owned());
    let state = match info.state {
        JobState::Queued => STATES[2],
        JobState::Running => STATES[3],
        JobState::Done => STATES[1],
        JobState::Failed | JobState::Cancelled => STATES[4],
    };
    // A query that was cancelled while it waited has no start; the original has none that ended without one.
    let started = info.started_micros.or(info.finished_micros);
    Ok(vec![
        Value::Int(info.number as i64),
        Value::from(&*squall_parser::without_secrets(sql)),
        time(Some(info.created_micros)),
        time(started),
        time(info.finished_micros),
        Value::Null,
        Value::from(info.state.is_final()),
        Value::from(state),
        error.map_or(Value::Null, |error| Value::from(error.sqlstate_str())),
        message.map_or(Value::Null, Value::String),
    ])
}

/// Whether an account may know of a query: its own, and of all with PROCESS.
pub(super) fn sees(access: &AccessMap, current_user: &str, info: &JobInfo) -> bool {
    access.sees_statements(info.owner == current_user)
}

/// The table.
#[derive(Debug)]
pub(super) struct QueueTable {
    shared: Arc<Shared>,
    columns: Vec<VirtualColumn>,
}

impl QueueTable {
    pub fn new(shared: Arc<Shared>) -> Self {
        let column = |(name, sql_type, nullable): (&'static str, _, _)| VirtualColumn {
            name: name.into(),
            sql_type,
            nullable,
            invisible: false,
        };
        Self { shared, columns: columns().into_iter().map(column).collect() }
    }
}

impl VirtualTable for QueueTable {
    fn database(&self) -> &str {
        NAME
    }

    fn name(&self) -> &str {
        "q"
    }

    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }

    fn has_parts(&self) -> bool {
        true
    }

    fn parts(&self, scan: &VirtualScan<'_>) -> SqlResult<RowParts> {
        let access = self.shared.database()?.access_of(scan.context);
        let (pages, context) = (self.shared.kind()?.pages(scan.numbers(0)), scan.context.clone());
        Ok(Box::new(pages.map(move |page| {
            let page = page?;
            let seen = page.iter().filter(|(info, _)| sees(&access, &context.current_user, info));
            seen.map(|(info, payload)| row(info, payload, &context)).collect()
        })))
    }
}
