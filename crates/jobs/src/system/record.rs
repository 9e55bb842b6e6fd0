//! Jobs as rows: `mysql.job`, a row for each, and `mysql.job_output`, a row for each part of an output.

use crate::system::job::{JobInfo, JobState};
use squall_catalog::{ColumnDef, ColumnDefault, ColumnId, IndexDef, IndexId, IndexPart, TableDef, TableId};
use squall_types::{CollationId, IntWidth, SqlError, SqlResult, SqlType, StringKind, TextSize, Value};

/// The table of jobs.
pub(crate) const JOB: &str = "job";
/// The table of outputs.
pub(crate) const OUTPUT: &str = "job_output";

const NAME: SqlType = SqlType::String { kind: StringKind::Varchar, length: 64, collation: CollationId::UTF8MB4_BIN };
const OWNER: SqlType = SqlType::String { kind: StringKind::Varchar, length: 288, collation: CollationId::UTF8MB4_BIN };
const BYTES: SqlType =
    SqlType::String { kind: StringKind::Text(TextSize::Long), length: u32::MAX, collation: CollationId::BINARY };
const TEXT: SqlType = SqlType::String {
    kind: StringKind::Text(TextSize::Medium),
    length: (1 << 24) - 1,
    collation: CollationId::UTF8MB4_0900_AI_CI,
};
const MICROS: SqlType = SqlType::BIGINT;

/// Columns of `mysql.job`; times are microseconds since 1970 UTC.
const JOB_COLUMNS: &[(&str, SqlType, bool)] = &[
    ("kind", NAME, false),
    ("number", SqlType::BIGINT_UNSIGNED, false),
    ("state", SqlType::Int { width: IntWidth::Tiny, unsigned: false, zerofill: false, display_width: None }, false),
    ("priority", SqlType::Int { width: IntWidth::Small, unsigned: false, zerofill: false, display_width: None }, false),
    ("attempts", SqlType::BIGINT, false),
    ("created", MICROS, false),
    ("started", MICROS, true),
    ("finished", MICROS, true),
    ("owner", OWNER, false),
    ("error_number", SqlType::BIGINT, true),
    ("sqlstate", NAME, true),
    ("message", TEXT, true),
    ("payload", BYTES, false),
    // Since 2026-11-23; NULL in rows from before, whose outputs are all in the other table.
    ("output_bytes", SqlType::BIGINT_UNSIGNED, true),
    ("output", BYTES, true),
];

/// An output of one part that is no longer than this is in the job's row.
pub(crate) const OUTPUT_BYTES_IN_ROW: usize = 1 << 10;

const OUTPUT_COLUMNS: &[(&str, SqlType, bool)] = &[
    ("kind", NAME, false),
    ("number", SqlType::BIGINT_UNSIGNED, false),
    ("part", SqlType::BIGINT_UNSIGNED, false),
    ("content", BYTES, false),
];

/// The definitions of the tables, to be put into the database `mysql` under the ids that `next_id` gives.
pub fn tables(mut next_id: impl FnMut() -> TableId, now_micros: i64) -> Vec<TableDef> {
    vec![
        table(next_id(), JOB, JOB_COLUMNS, 2, "Jobs of the server", now_micros),
        table(next_id(), OUTPUT, OUTPUT_COLUMNS, 3, "What jobs have put out", now_micros),
    ]
}

/// A definition of an earlier version with the columns that it has not got; `None` if it has all.
pub fn with_missing_columns(table: &TableDef) -> Option<TableDef> {
    let all = match table.name.as_str() {
        JOB => JOB_COLUMNS,
        OUTPUT => OUTPUT_COLUMNS,
        _ => return None,
    };
    let missing = all.get(table.columns.len()..).filter(|missing| !missing.is_empty())?;
    let mut table = table.clone();
    for of_column in missing {
        table.columns.push(column(table.next_column_id, of_column));
        table.next_column_id += 1;
    }
    table.version += 1;
    Some(table)
}

fn column(id: u32, (name, sql_type, nullable): &(&str, SqlType, bool)) -> ColumnDef {
    ColumnDef {
        id: ColumnId(id),
        name: (*name).to_string(),
        sql_type: sql_type.clone(),
        nullable: *nullable,
        default: ColumnDefault::None,
        on_update_now: false,
        auto_increment: false,
        generated: None,
        invisible: false,
        comment: String::new(),
        value_for_older_rows: Value::Null,
    }
}

fn table(
    id: TableId,
    name: &str,
    columns: &[(&str, SqlType, bool)],
    key_columns: u32,
    comment: &str,
    created_micros: i64,
) -> TableDef {
    let parts = (0..key_columns).map(|at| IndexPart::of(ColumnId(at)));
    let primary = IndexDef::primary(IndexId(0), parts.collect());
    TableDef {
        id,
        name: name.to_string(),
        version: 1,
        columns: (0..).zip(columns).map(|(id, of_column)| column(id, of_column)).collect(),
        indexes: vec![primary],
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        triggers: Vec::new(),
        partitioning: None,
        collation: CollationId::UTF8MB4_0900_AI_CI,
        comment: comment.to_string(),
        engine: Default::default(),
        auto_increment_start: 1,
        options: Vec::new(),
        next_column_id: columns.len() as u32,
        next_index_id: 1,
        created_micros,
        temporary: false,
    }
}

/// The key of a job's row.
pub(crate) fn job_key(kind: &str, number: u64) -> [Value; 2] {
    [Value::from(kind), Value::UInt(number)]
}

/// The row of a part of an output.
pub(crate) fn output_row(kind: &str, number: u64, part: u64, content: Vec<u8>) -> Vec<Value> {
    vec![Value::from(kind), Value::UInt(number), Value::UInt(part), Value::Bytes(content)]
}

/// A job's row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JobRecord {
    pub info: JobInfo,
    pub payload: Vec<u8>,
    /// Its output, if it is short.
    pub output: Option<Vec<u8>>,
}

impl JobRecord {
    /// The values of its columns.
    pub fn into_row(self) -> Vec<Value> {
        let JobRecord { info, payload, output } = self;
        let time = |micros: Option<i64>| micros.map_or(Value::Null, Value::Int);
        let (code, sqlstate, message) = match info.error {
            Some(error) => {
                let sqlstate = Value::String(String::from_utf8_lossy(&error.sqlstate).into_owned());
                (Value::Int(i64::from(error.code)), sqlstate, Value::String(error.message))
            }
            None => (Value::Null, Value::Null, Value::Null),
        };
        vec![
            Value::String(info.kind),
            Value::UInt(info.number),
            Value::Int(info.state as i64),
            Value::Int(i64::from(info.priority)),
            Value::Int(i64::from(info.attempts)),
            Value::Int(info.created_micros),
            time(info.started_micros),
            time(info.finished_micros),
            Value::String(info.owner),
            code,
            sqlstate,
            message,
            Value::Bytes(payload),
            info.output_bytes.map_or(Value::Null, Value::UInt),
            output.map_or(Value::Null, Value::Bytes),
        ]
    }

    /// Reads the values of a row.
    ///
    /// # Errors
    /// When they are not what [`JobRecord::into_row`] has made.
    pub fn of_row(row: Vec<Value>) -> SqlResult<JobRecord> {
        let damaged = || SqlError::internal("a row of mysql.job is damaged");
        let [
            kind,
            number,
            state,
            priority,
            attempts,
            created,
            started,
            finished,
            owner,
            code,
            sqlstate,
            message,
            payload,
            output_bytes,
            output,
        ] = <[Value; 15]>::try_from(row).map_err(|_| damaged())?;
        let number_of = |value: &Value| match value {
            Value::Int(number) => Ok(*number),
            _ => Err(damaged()),
        };
        let optional = |value: Value| match value {
            Value::Int(number) => Some(number),
            _ => None,
        };
        let (Value::String(kind), Value::UInt(number), Value::String(owner)) = (kind, number, owner) else {
            return Err(damaged());
        };
        let error = match (code, sqlstate, message) {
            (Value::Int(code), Value::String(sqlstate), Value::String(message)) => {
                let sqlstate = sqlstate.as_bytes().try_into().unwrap_or(*b"HY000");
                Some(SqlError::of_parts(u16::try_from(code).unwrap_or(1105), sqlstate, message))
            }
            _ => None,
        };
        let info = JobInfo {
            kind,
            number,
            state: JobState::of_number(number_of(&state)?).ok_or_else(damaged)?,
            priority: i16::try_from(number_of(&priority)?).map_err(|_| damaged())?,
            owner,
            attempts: u32::try_from(number_of(&attempts)?).map_err(|_| damaged())?,
            created_micros: number_of(&created)?,
            started_micros: optional(started),
            finished_micros: optional(finished),
            progress: (0, 0),
            error,
            output_bytes: match output_bytes {
                Value::UInt(bytes) => Some(bytes),
                _ => None,
            },
        };
        let output = match output {
            Value::Bytes(output) => Some(output),
            _ => None,
        };
        match payload {
            Value::Bytes(payload) => Ok(JobRecord { info, payload, output }),
            _ => Err(damaged()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_as_they_were_written() {
        let info = JobInfo {
            kind: "seal".to_string(),
            number: 7,
            state: JobState::Failed,
            priority: -3,
            owner: "a@b".to_string(),
            attempts: 2,
            created_micros: 1,
            started_micros: Some(2),
            finished_micros: None,
            progress: (0, 0),
            error: Some(crate::system::job::restart_error()),
            output_bytes: Some(3),
        };
        let record = JobRecord { info, payload: vec![0, 255], output: Some(vec![1, 0, 2]) };
        let row = record.clone().into_row();
        assert_eq!(row.len(), JOB_COLUMNS.len());
        assert_eq!(JobRecord::of_row(row).expect("a record"), record);
        assert!(JobRecord::of_row(vec![Value::Null; 15]).is_err());
        assert!(JobRecord::of_row(Vec::new()).is_err());
    }

    #[test]
    fn earlier_definitions_get_the_columns_that_they_have_not_got() {
        let mut next = 0;
        let next_id = || {
            next += 1;
            TableId(next)
        };
        let new = tables(next_id, 0);
        assert!(new.iter().all(|table| with_missing_columns(table).is_none()));
        let mut old = new[0].clone();
        old.columns.truncate(13);
        old.next_column_id = 13;
        let mended = with_missing_columns(&old).expect("a change");
        assert_eq!(mended, TableDef { version: old.version + 1, ..new[0].clone() });
    }
}
