//! `statement_performance_analyzer`: total counts of statements, or counts since a snapshot, in the form of the views of statements.
//!
//! A snapshot is a copy of events_statements_summary_by_digest in a TEMPORARY table of the session. The views are functions, so their
//! input can be the table, a snapshot, or the difference of two snapshots.

use super::config::{form, setting};
use super::statements::{literal, message, quoted, texts};
use crate::views::source::Tables;
use crate::views::view::{Kind, View};
use squall_session::api::ColumnMeta;
use squall_session::procedure::Parameter;
use squall_session::result::{ResultSet, typed_column};
use squall_session::{Failure, ProcedureCall};
use squall_types::{CollationId, SqlError, SqlResult, SqlType, Value};

/// What is copied.
const DIGESTS: &str = "performance_schema.events_statements_summary_by_digest";
/// Its name, for the views.
const DIGESTS_TABLE: &str = "events_statements_summary_by_digest";
/// The current snapshot.
const SNAPSHOT: &str = "`sys`.`tmp_digests`";
/// What has changed since an earlier one.
const DELTA: &str = "`sys`.`tmp_digests_delta`";
/// Rows of a view where no setting says anything.
const LIMIT: u64 = 100;

const ACTIONS: &[&str] = &["snapshot", "overall", "delta", "create_table", "create_tmp", "save", "cleanup"];
/// Characters of a table's name with its database.
const TABLE_CHARACTERS: u32 = 129;

/// The choices of views, the views themselves, and what is said before them; the last is a view of the user's.
const VIEWS: &[(&str, &str, &str)] = &[
    (
        "with_runtimes_in_95th_percentile",
        "statements_with_runtimes_in_95th_percentile",
        "Queries with Runtime in 95th Percentile",
    ),
    ("analysis", "statement_analysis", "Queries Ordered by Total Latency"),
    ("with_errors_or_warnings", "statements_with_errors_or_warnings", "Queries with Errors"),
    ("with_full_table_scans", "statements_with_full_table_scans", "Queries with Full Table Scan"),
    ("with_sorting", "statements_with_sorting", "Queries with Sorting"),
    ("with_temp_tables", "statements_with_temp_tables", "Queries with Internal Temporary Tables"),
    (CUSTOM, "", "Queries Using Custom View"),
];
const CUSTOM: &str = "custom";
/// The view that chooses its rows by itself.
const UNLIMITED: &str = "with_runtimes_in_95th_percentile";

/// The parameters.
pub(super) fn parameters() -> Vec<Parameter> {
    let collation = CollationId::UTF8MB4_0900_AI_CI;
    let members = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
    let views: Vec<&str> = VIEWS.iter().map(|(name, ..)| *name).collect();
    vec![
        Parameter::new("in_action", SqlType::Enum { members: members(ACTIONS), collation }),
        Parameter::new("in_table", SqlType::varchar(TABLE_CHARACTERS, collation)),
        Parameter::new("in_views", SqlType::Set { members: members(&views), collation }),
    ]
}

/// The procedure.
pub(super) async fn analyze(call: &mut ProcedureCall<'_>) -> Result<(), Failure> {
    let action = match call.argument(0) {
        Value::UInt(ordinal) => usize::try_from(*ordinal).ok().and_then(|at| ACTIONS.get(at.checked_sub(1)?)),
        _ => None,
    };
    let Some(action) = action.copied() else { return Err(refusal("in_action has to be said").into()) };
    let all_views = (1u64 << (VIEWS.len() - 1)) - 1;
    let views = match call.argument(2) {
        Value::UInt(views) if *views != 0 => *views,
        _ => all_views,
    };
    let table = call.text(1).map(str::to_string);
    match (action, table.as_deref()) {
        ("snapshot", None) => take(call, DIGESTS).await?,
        ("snapshot", Some(table)) => {
            let table = table_name(call, table)?;
            take(call, &table).await?;
        }
        ("overall", table) => {
            let source = match table {
                Some(now) if now.replace(' ', "").eq_ignore_ascii_case("now()") => {
                    take(call, DIGESTS).await?;
                    SNAPSHOT.to_string()
                }
                Some(table) => table_name(call, table)?,
                None => {
                    take_unless_taken(call).await?;
                    SNAPSHOT.to_string()
                }
            };
            report(call, &source, views).await?;
        }
        ("delta", Some(table)) => {
            let before = table_name(call, table)?;
            if !is_there(call, SNAPSHOT).await {
                return Err(refusal("A delta is that of a snapshot: the action 'snapshot' has to come first").into());
            }
            subtract(call, &before).await?;
            report(call, DELTA, views).await?;
        }
        ("create_table" | "create_tmp", Some(table)) => {
            let table = table_name(call, table)?;
            let kind = if action == "create_tmp" { "TEMPORARY TABLE" } else { "TABLE" };
            call.query(&format!("CREATE {kind} {table} AS SELECT * FROM {DIGESTS} LIMIT 0")).await?;
        }
        ("save", Some(table)) => {
            let table = table_name(call, table)?;
            take_unless_taken(call).await?;
            call.query(&format!("DELETE FROM {table}")).await?;
            call.query(&format!("INSERT INTO {table} SELECT * FROM {SNAPSHOT}")).await?;
        }
        ("cleanup", _) => {
            drop_temporary(call, SNAPSHOT).await?;
            drop_temporary(call, DELTA).await?;
        }
        (action, _) => return Err(refusal(format!("The action '{action}' needs in_table")).into()),
    }
    Ok(())
}

fn refusal(message: impl Into<String>) -> SqlError {
    SqlError::signal(*b"45000", message)
}

/// `table` or `database.table`, quoted. Names with quotes are not taken, as in MySQL.
fn table_name(call: &ProcedureCall<'_>, name: &str) -> SqlResult<String> {
    if name.is_empty() || name.contains('`') {
        return Err(refusal(format!(
            "'{name}' is no name of a table: without quotes it has to be table or schema.table"
        )));
    }
    match (name.split_once('.'), &call.context().settings.database) {
        (Some((database, table)), _) if !table.contains('.') => Ok(format!("{}.{}", quoted(database), quoted(table))),
        (None, Some(database)) => Ok(format!("{}.{}", quoted(database), quoted(name))),
        (None, None) => Err(SqlError::new(squall_types::ErrorCode::NoDatabase, &[])),
        _ => Err(refusal(format!("'{name}' is no name of a table: it has too many points"))),
    }
}

/// Drops a TEMPORARY table, if it is there.
pub(super) async fn drop_temporary(call: &mut ProcedureCall<'_>, table: &str) -> SqlResult<()> {
    if is_there(call, table).await {
        call.query(&format!("DROP TEMPORARY TABLE {table}")).await?;
    }
    Ok(())
}

async fn is_there(call: &mut ProcedureCall<'_>, table: &str) -> bool {
    call.query(&format!("SELECT 1 FROM {table} LIMIT 0")).await.is_ok()
}

async fn take(call: &mut ProcedureCall<'_>, source: &str) -> SqlResult<()> {
    drop_temporary(call, SNAPSHOT).await?;
    call.query(&format!("CREATE TEMPORARY TABLE {SNAPSHOT} AS SELECT * FROM {source}")).await?;
    Ok(())
}

async fn take_unless_taken(call: &mut ProcedureCall<'_>) -> SqlResult<()> {
    if is_there(call, SNAPSHOT).await { Ok(()) } else { take(call, DIGESTS).await }
}

/// The difference from an earlier snapshot: counts and sums are subtracted, averages are recalculated, all other columns are those
/// of this snapshot.
async fn subtract(call: &mut ProcedureCall<'_>, before: &str) -> SqlResult<()> {
    let result = call.query(&format!("SELECT * FROM {SNAPSHOT} LIMIT 0")).await?;
    let names = result.into_iter().flat_map(|result| result.columns).map(|column| column.name);
    let column = |name: std::sync::Arc<str>| {
        let quoted = quoted(&name);
        let difference = |name: &str| format!("CAST(e.{name} - IFNULL(b.{name}, 0) AS UNSIGNED)");
        let value = match &*name {
            "AVG_TIMER_WAIT" => format!("{} DIV {}", difference("SUM_TIMER_WAIT"), difference("COUNT_STAR")),
            name if name.starts_with("SUM_") || name.starts_with("COUNT_") => difference(&quoted),
            _ => format!("e.{quoted}"),
        };
        format!("{value} AS {quoted}")
    };
    let columns: Vec<String> = names.map(column).collect();
    drop_temporary(call, DELTA).await?;
    let sql = format!(
        "CREATE TEMPORARY TABLE {DELTA} AS SELECT {} FROM {SNAPSHOT} AS e LEFT JOIN {before} AS b ON b.SCHEMA_NAME <=> \
         e.SCHEMA_NAME AND b.DIGEST <=> e.DIGEST WHERE e.COUNT_STAR > IFNULL(b.COUNT_STAR, 0)",
        columns.join(", ")
    );
    call.query(&sql).await?;
    Ok(())
}

/// The chosen views of a table of digests.
async fn report(call: &mut ProcedureCall<'_>, source: &str, views: u64) -> Result<(), Failure> {
    let limit = setting(call.context(), "statement_performance_analyzer.limit");
    let limit = limit.and_then(|limit| limit.trim().parse().ok()).unwrap_or(LIMIT);
    let digests = call.query(&format!("SELECT * FROM {source}")).await?.pop().unwrap_or_default();
    let columns: Vec<String> = digests.columns.iter().map(|column| column.name.to_string()).collect();
    for (at, (choice, view, title)) in VIEWS.iter().enumerate() {
        if views >> at & 1 == 0 {
            continue;
        }
        let is_limited = limit > 0 && *choice != UNLIMITED;
        let title = if is_limited { format!("Top {limit} {title}") } else { title.to_string() };
        message(call, "Next Output", &title).await?;
        if *choice == CUSTOM {
            custom(call, source, limit).await?;
            continue;
        }
        let Some(view) = crate::views::all().find(|known| known.name == *view) else { continue };
        let mut tables = Tables::Given { table: DIGESTS_TABLE, columns: &columns, rows: &digests.rows };
        let mut rows = (view.rows)(&mut tables)?;
        if is_limited {
            rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        }
        call.send_rows(&shown(call, view, rows)).await?;
    }
    Ok(())
}

/// Rows of a view as `sys` shows them.
pub(super) fn shown(call: &ProcedureCall<'_>, view: &View, rows: Vec<Vec<Value>>) -> ResultSet {
    let form = form(call.context());
    let column = |column: &crate::views::view::Column| -> ColumnMeta {
        let declared = column.declared(true);
        typed_column(&declared.name, declared.sql_type, false)
    };
    let value = |(value, column): (Value, &crate::views::view::Column)| match (column.kind, column.shown(value, &form))
    {
        // Numbers that are none below zero are told as such.
        (Kind::Count, Value::Int(number)) => Value::UInt(u64::try_from(number).unwrap_or(0)),
        (_, value) => value,
    };
    let rows = rows.into_iter().map(|row| row.into_iter().zip(view.columns).map(value).collect());
    ResultSet { columns: view.columns.iter().map(column).collect(), rows: rows.collect() }
}

fn quoted_digests() -> String {
    format!("`performance_schema`.`{DIGESTS_TABLE}`")
}

/// A query of another table of digests, which stands in front of columns, too; `None` if it reads no digests.
fn of_source(query: &str, source: &str) -> Option<String> {
    let lower = query.to_ascii_lowercase();
    let written = [DIGESTS.to_string(), quoted_digests(), format!("performance_schema.`{DIGESTS_TABLE}`")];
    let (mut made, mut from) = (String::new(), 0);
    while let Some((at, name)) =
        written.iter().filter_map(|name| Some((from + lower[from..].find(name.as_str())?, name))).min()
    {
        made.push_str(&query[from..at]);
        made.push_str(source);
        from = at + name.len();
    }
    (from > 0).then(|| made + &query[from..])
}

/// The query or the view that a setting names, of another table of digests.
async fn custom(call: &mut ProcedureCall<'_>, source: &str, limit: u64) -> Result<(), Failure> {
    let Some(named) = setting(call.context(), "statement_performance_analyzer.view") else {
        return Err(refusal("The setting statement_performance_analyzer.view names no query and no view").into());
    };
    let query = match named.contains(' ') {
        true => named,
        false => {
            let name = table_name(call, &named)?;
            let sql = format!(
                "SELECT VIEW_DEFINITION FROM information_schema.VIEWS WHERE CONCAT('`', TABLE_SCHEMA, '`.`', TABLE_NAME, '`') = {}",
                literal(&name)
            );
            let found = texts(call, &sql).await?.into_iter().flatten().next();
            found.ok_or_else(|| refusal(format!("There is no view {name}")))?
        }
    };
    let Some(mut sql) = of_source(&query, source) else {
        return Err(refusal(format!("The query or view has to read {DIGESTS}")).into());
    };
    if limit > 0 {
        sql.push_str(&format!(" LIMIT {limit}"));
    }
    // One statement, whatever the text is.
    call.set_user_variable("sys.statement_performance_analyzer.query", Value::String(sql))?;
    call.query("PREPARE `__sys.statement_performance_analyzer` FROM @`sys.statement_performance_analyzer.query`")
        .await?;
    let done = call.send("EXECUTE `__sys.statement_performance_analyzer`").await;
    call.query("DEALLOCATE PREPARE `__sys.statement_performance_analyzer`").await?;
    done.map(|_| ())
}
