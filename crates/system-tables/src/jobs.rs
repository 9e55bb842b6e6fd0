//! `information_schema.JOBS`: the jobs of the reader's account, or with PROCESS all jobs.

use super::{Source, TableSpec, int, local_micros, long_text, moment, s, s_or_null, text, u, uint};
use squall_catalog::Privileges;
use squall_registry::VirtualScan;
use squall_types::{SqlResult, Value};

pub(crate) const TABLES: &[TableSpec] = &[TableSpec {
    database: "information_schema",
    name: "JOBS",
    columns: &[
        text("KIND", 64),
        uint("NUMBER"),
        text("OWNER", 288),
        text("STATE", 9),
        int("PRIORITY"),
        uint("ATTEMPTS"),
        moment("CREATED"),
        moment("STARTED").or_null(),
        moment("FINISHED").or_null(),
        uint("WORK_DONE"),
        uint("WORK_TOTAL"),
        uint("ERROR_NUMBER").or_null(),
        text("SQLSTATE", 5).or_null(),
        long_text("ERROR_MESSAGE").or_null(),
        uint("OUTPUT_BYTES").or_null(),
    ],
    rows: jobs,
}];

fn jobs(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let all = source.access.global.contains(Privileges::PROCESS);
    let wanted = scan.equal_text(0);
    let moment = |micros: Option<i64>| micros.map_or(Value::Null, |micros| local_micros(scan.context, micros));
    let mut rows = Vec::new();
    for kind in source.state.jobs.kinds() {
        if wanted.is_some_and(|wanted| !kind.name().eq_ignore_ascii_case(wanted)) {
            continue;
        }
        kind.for_each_of(scan.numbers(1), |job, _| {
            if !all && *job.owner != *source.context.current_user {
                return Ok(());
            }
            rows.push(vec![
                s(job.kind),
                u(job.number),
                s(job.owner),
                s(job.state.word()),
                Value::Int(i64::from(job.priority)),
                u(u64::from(job.attempts)),
                moment(Some(job.created_micros)),
                moment(job.started_micros),
                moment(job.finished_micros),
                u(job.progress.0),
                u(job.progress.1),
                job.error.as_ref().map_or(Value::Null, |error| u(u64::from(error.code))),
                s_or_null(job.error.as_ref().map(|error| error.sqlstate_str())),
                s_or_null(job.error.as_ref().map(|error| error.message.as_str())),
                job.output_bytes.map_or(Value::Null, u),
            ]);
            Ok(())
        })?;
    }
    Ok(rows)
}
