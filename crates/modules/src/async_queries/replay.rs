//! Gives the recorded answer of an ended query.

use super::recording::{COLUMNS, END, FORMAT, PART_BYTES, ROW, SUCCESS, WARNING};
use squall_jobs::{JobInfo, Kind};
use squall_row_store::{Malformed, Reader, read_type, read_value};
use squall_session::api::{ColumnFlags, ColumnMeta, OkInfo, StatusInfo};
use squall_session::result::put_value;
use squall_session::{Failure, ProcedureCall};
use squall_types::{Level, SqlError, SqlResult, Value, Warning};

/// An entry of an output.
enum Entry {
    Columns(Vec<ColumnMeta>),
    Row(Vec<Value>),
    End { warnings: u16 },
    Success(OkInfo),
    Warning(Warning),
}

/// The error for a query that is not kept any more.
pub(super) fn removed() -> SqlError {
    let message = "Invalid QUERY_NUMBER: the query has been removed, with its result. Results are kept until async.drop(), for \
                   async_result_retention seconds, and up to async_result_total_bytes_max bytes";
    SqlError::signal(*b"99998", message)
}

/// Sends every result set of a query to the client; gives what its statements without rows said last. `short` is its output if
/// that is short.
pub(super) async fn replay(
    call: &mut ProcedureCall<'_>,
    kind: &Kind,
    info: &JobInfo,
    mut short: Option<Vec<u8>>,
) -> Result<OkInfo, Failure> {
    let (mut ok, mut bytes_read, number) = (OkInfo::default(), 0, info.number);
    for part in 0.. {
        let found = match (short.take(), info.output_bytes) {
            (Some(short), _) => Some(short),
            (None, Some(bytes)) if bytes_read == bytes => None,
            // Most answers have one part, which was written shortly before.
            (None, _) if part == 0 => kind.output(number, part)?,
            (None, _) => {
                let kind = kind.clone();
                call.blocking(move || kind.output(number, part)).await?
            }
        };
        let Some(bytes) = found else { break };
        bytes_read += bytes.len() as u64;
        for entry in entries(&bytes)? {
            match entry {
                Entry::Columns(columns) => call.writer().begin_result_set(&columns),
                Entry::Row(cells) => {
                    let writer = call.writer();
                    writer.begin_row();
                    cells.iter().for_each(|value| put_value(writer, value));
                    writer.end_row();
                    if writer.needs_flush() {
                        writer.flush().await?;
                    }
                }
                Entry::End { warnings } => {
                    let status = StatusInfo { warnings, ..call.more_results() };
                    call.writer().end_result_set(&status);
                    ok = OkInfo::default();
                }
                Entry::Success(said) => ok = said,
                Entry::Warning(warning) => call.context().diagnostics.push(warning.level, warning.error),
            }
        }
        if bytes.len() < PART_BYTES {
            break;
        }
    }
    if info.output_bytes.is_some_and(|bytes| bytes != bytes_read) {
        // Half of an answer must not look like a whole one.
        return Err(removed().into());
    }
    Ok(ok)
}

fn entries(part: &[u8]) -> SqlResult<Vec<Entry>> {
    let mut reader = Reader::new(part);
    let mut read = || {
        if reader.u8()? != FORMAT {
            return Err(Malformed);
        }
        let mut found = Vec::new();
        while !reader.is_empty() {
            found.push(read_entry(&mut Reader::new(reader.bytes()?))?);
        }
        Ok(found)
    };
    read().map_err(|_| SqlError::internal("the result of a query is damaged"))
}

fn read_entry(reader: &mut Reader<'_>) -> Result<Entry, Malformed> {
    Ok(match reader.u8()? {
        COLUMNS => Entry::Columns(reader.list(read_column)?),
        ROW => Entry::Row(reader.list(read_value)?),
        END => Entry::End { warnings: u16::try_from(reader.uint()?).unwrap_or(u16::MAX) },
        SUCCESS => Entry::Success(OkInfo {
            affected_rows: reader.uint()?,
            last_insert_id: reader.uint()?,
            info: reader.string()?,
            ..OkInfo::default()
        }),
        WARNING => {
            let level = match reader.u8()? {
                0 => Level::Note,
                1 => Level::Warning,
                _ => Level::Error,
            };
            let code = u16::try_from(reader.uint()?).map_err(|_| Malformed)?;
            let sqlstate = reader.string()?.as_bytes().try_into().map_err(|_| Malformed)?;
            Entry::Warning(Warning { level, error: SqlError::of_parts(code, sqlstate, reader.string()?) })
        }
        _ => return Err(Malformed),
    })
}

fn read_column(reader: &mut Reader<'_>) -> Result<ColumnMeta, Malformed> {
    let mut name = || reader.string().map(Into::into);
    let (database, table, org_table, own, org_name) = (name()?, name()?, name()?, name()?, name()?);
    let sql_type = read_type(reader)?;
    let bits = reader.u8()?;
    let flag = |at: u8| bits >> at & 1 == 1;
    let flags = ColumnFlags {
        not_null: flag(0),
        primary_key: flag(1),
        unique_key: flag(2),
        multiple_key: flag(3),
        part_key: flag(4),
        auto_increment: flag(5),
        no_default_value: flag(6),
        on_update_now: flag(7),
    };
    Ok(ColumnMeta { database, table, org_table, name: own, org_name, sql_type, flags })
}
