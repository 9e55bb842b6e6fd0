//! `data_dictionary.execute_history`: the lists of statements that were queued, and their ends.

use super::background::{Jobs, read_outcome, read_parent};
use squall_jobs::{JobInfo, JobState};
use squall_registry::{RowParts, VirtualColumn, VirtualScan, VirtualTable};
use squall_statement_context::StatementContext;
use squall_types::{CollationId, SqlResult, SqlType, StringKind, TextSize, Value};
use std::sync::Arc;

const COLLATION: CollationId = CollationId::UTF8MB4_0900_AI_CI;
const TEXT: SqlType =
    SqlType::String { kind: StringKind::Text(TextSize::Normal), length: u16::MAX as u32, collation: COLLATION };

/// The table.
#[derive(Debug)]
pub(super) struct History {
    jobs: Arc<Jobs>,
    columns: Vec<VirtualColumn>,
}

impl History {
    pub fn new(jobs: Arc<Jobs>) -> Self {
        let moment = SqlType::DateTime { fsp: 6 };
        let columns = [
            ("id", SqlType::BIGINT_UNSIGNED, false),
            ("user", SqlType::varchar(288, COLLATION), false),
            ("started", moment.clone(), true),
            ("finished", moment, true),
            ("state", SqlType::varchar(9, COLLATION), false),
            ("statements", SqlType::BIGINT_UNSIGNED, true),
            ("failed_statement", SqlType::BIGINT_UNSIGNED, true),
            ("error", SqlType::INT, true),
            ("message", TEXT, true),
            ("parent_id", SqlType::BIGINT_UNSIGNED, true),
        ];
        let column = |(name, sql_type, nullable): (&'static str, _, _)| VirtualColumn {
            name: name.into(),
            sql_type,
            nullable,
            invisible: false,
        };
        Self { jobs, columns: columns.into_iter().map(column).collect() }
    }
}

fn row(jobs: &Jobs, info: &JobInfo, payload: &[u8], context: &StatementContext) -> SqlResult<Vec<Value>> {
    let time = |micros: Option<i64>| {
        let local = micros.and_then(|micros| context.settings.time_zone.from_unix_micros(micros));
        local.map_or(Value::Null, Value::DateTime)
    };
    let output = if info.state.is_final() { jobs.kind()?.output(info.number, 0)? } else { None };
    let outcome = output.as_deref().and_then(read_outcome);
    let (statements, failed) = outcome.map_or((None, None), |outcome| (Some(outcome.statements), outcome.failed));
    // That of the job itself is for a list that was not run to an end.
    let error = info.error.as_ref().map(|error| (error.code, error.message.clone()));
    let state = if failed.is_some() { JobState::Failed } else { info.state };
    let ordinal = failed.as_ref().map(|(ordinal, ..)| *ordinal);
    let (code, message) = failed.map(|(_, code, message)| (code, message)).or(error).unzip();
    let number = |number: Option<u64>| number.map_or(Value::Null, Value::UInt);
    Ok(vec![
        Value::UInt(info.number),
        Value::from(info.owner.as_str()),
        time(info.started_micros),
        time(info.finished_micros),
        Value::from(state.word()),
        number(statements),
        number(ordinal),
        code.map_or(Value::Null, |code| Value::Int(i64::from(code))),
        message.map_or(Value::Null, Value::String),
        number(read_parent(payload)),
    ])
}

impl VirtualTable for History {
    fn database(&self) -> &str {
        "data_dictionary"
    }

    fn name(&self) -> &str {
        "execute_history"
    }

    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }

    fn has_parts(&self) -> bool {
        true
    }

    /// Everybody sees the own lists; those of others need PROCESS.
    fn parts(&self, scan: &VirtualScan<'_>) -> SqlResult<RowParts> {
        let access = self.jobs.database()?.access_of(scan.context);
        let (jobs, context) = (self.jobs.clone(), scan.context.clone());
        let pages = jobs.kind()?.pages(scan.numbers(0));
        Ok(Box::new(pages.map(move |page| {
            let page = page?;
            let seen = page.iter().filter(|(info, _)| access.sees_statements(*info.owner == *context.current_user));
            seen.map(|(info, payload)| row(&jobs, info, payload, &context)).collect()
        })))
    }
}
