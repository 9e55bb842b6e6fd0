//! The routines of the database `fastbit`.

use super::DATABASE;
use super::place::{Place, parse};
use super::queries::{Fault, ROUTINE_STATE};
use squall_fastbit::query::Output;
use squall_fastbit::quote;
use squall_parser::ParseOptions;
use squall_session::api::{LocalFuture, OkInfo};
use squall_session::procedure::{Parameter, ProcedureHead};
use squall_session::result::{ResultSet, text_column};
use squall_session::{Failure, Procedure, ProcedureCall};
use squall_types::{CollationId, SqlError, SqlMode, SqlType, Value};
use std::sync::Arc;

/// What a routine answers.
type Answer<'a> = LocalFuture<'a, Result<OkInfo, Failure>>;

/// A procedure as it is declared.
#[derive(Debug)]
struct Routine {
    head: ProcedureHead,
    body: for<'a> fn(&'a mut ProcedureCall<'_>) -> Answer<'a>,
}

impl Procedure for Routine {
    fn head(&self) -> &ProcedureHead {
        &self.head
    }

    fn call<'a>(&'a self, call: &'a mut ProcedureCall<'_>) -> Answer<'a> {
        (self.body)(call)
    }
}

/// All of them.
pub fn all() -> Vec<Arc<dyn Procedure>> {
    let routine = |name, parameters, comment, body| -> Arc<dyn Procedure> {
        Arc::new(Routine { head: ProcedureHead { database: DATABASE, name, parameters, comment }, body })
    };
    let name = |name| Parameter::new(name, SqlType::varchar(64, CollationId::UTF8MB4_0900_AI_CI));
    let path = || Parameter::new("v_path", SqlType::varchar(1024, CollationId::UTF8MB4_0900_AI_CI));
    vec![
        routine("select", vec![path(), Parameter::text("v_query")], "The rows of a FastBit query.", |call| {
            Box::pin(select(call))
        }),
        routine(
            "create",
            vec![path(), Parameter::text("v_columns")],
            "Makes a FastBit table; a result set with the code of fb_create.",
            |call| Box::pin(create(call)),
        ),
        routine(
            "bulk_insert",
            vec![path(), Parameter::text("v_source_table"), Parameter::text("v_column_list")],
            "Adds columns of a table's rows to a FastBit table.",
            |call| Box::pin(bulk_insert(call)),
        ),
        routine(
            "fb_helper",
            vec![
                path(),
                name("v_schema"),
                name("v_table"),
                Parameter::text("v_query"),
                Parameter::new("v_return_result", SqlType::BOOL),
                Parameter::new("v_drop_result", SqlType::BOOL),
            ],
            "Runs a FastBit query into a temporary table.",
            |call| Box::pin(helper(call)),
        ),
        routine("fb_throw", vec![Parameter::text("v_message")], "Raises SQLSTATE 45000 with a text.", |call| {
            Box::pin(throw(call))
        }),
    ]
}

/// The table that the first argument names, and the query with `select` before it where that is missing, as SQL.
fn translate(call: &ProcedureCall<'_>, path: &str, text: &str) -> Result<(Place, String), SqlError> {
    let place = Place::of_routine(path, call.context()).ok_or_else(|| Fault::NoTable.raised(path))?;
    let first = text.split_ascii_whitespace().next().unwrap_or_default();
    let known = ["select", "where", "from"].iter().any(|word| first.eq_ignore_ascii_case(word));
    let text = if known { text.to_string() } else { format!("select {text}") };
    let sql = parse(&text).and_then(|query| place.sql(&query, Output::Rows));
    match sql {
        Ok(sql) => Ok((place, sql)),
        Err(error) => Err(Fault::Query(error).raised(path)),
    }
}

/// An error of the SQL that a routine ran.
fn raised(failure: Failure, place: &Place) -> Failure {
    match failure {
        Failure::Sql(error) => Failure::Sql(Fault::of(error).raised(place.path().as_str())),
        client => client,
    }
}

/// Answers that an argument is NULL.
async fn null_argument(call: &mut ProcedureCall<'_>) -> Result<OkInfo, Failure> {
    let mut result = ResultSet::new(vec![text_column("errormessage", 64)]);
    result.rows.push(vec![Value::from("all arguments are NOT NULL")]);
    call.send_rows(&result).await?;
    Ok(OkInfo::default())
}

async fn select(call: &mut ProcedureCall<'_>) -> Result<OkInfo, Failure> {
    let (Some(path), Some(text)) = (call.text(0), call.text(1)) else { return null_argument(call).await };
    let (place, sql) = translate(call, path, text)?;
    call.send(&sql).await.map_err(|failure| raised(failure, &place))
}

async fn create(call: &mut ProcedureCall<'_>) -> Result<OkInfo, Failure> {
    let (Some(path), Some(columns)) = (call.text(0), call.text(1)) else { return null_argument(call).await };
    let place = Place::of_routine(path, call.context()).ok_or_else(|| Fault::NoTable.raised(path))?;
    let dialect = place.dialect();
    let (path, columns) = (dialect.text(place.path().as_str()), dialect.text(columns));
    call.send(&format!("SELECT fb_create({path}, {columns}) AS `fb_create`")).await
}

async fn bulk_insert(call: &mut ProcedureCall<'_>) -> Result<OkInfo, Failure> {
    let (Some(path), Some(source), Some(columns)) = (call.text(0), call.text(1), call.text(2)) else {
        return null_argument(call).await;
    };
    let place = Place::of_routine(path, call.context()).ok_or_else(|| Fault::NoTable.raised(path))?;
    let path = place.dialect().text(place.path().as_str());
    let inserted = format!("fb_insert2({path}, {columns})");
    let sql = format!("SELECT {inserted} AS `status`, COUNT(*) AS `count` FROM {source} GROUP BY 1");
    let options = ParseOptions {
        no_backslash_escapes: place.dialect().no_backslash_escapes,
        ansi_quotes: call.context().settings.sql_mode.contains(SqlMode::ANSI_QUOTES),
        ..ParseOptions::default()
    };
    // The list and the name are the caller's SQL, but of one statement.
    match squall_parser::parse_bytes(sql.as_bytes(), &options) {
        Ok(parsed) if parsed.rest.is_none() => {}
        _ => {
            let message = format!("'{columns}' of '{source}' cannot be selected");
            return Err(SqlError::signal(ROUTINE_STATE, message).into());
        }
    }
    call.send(&sql).await
}

async fn helper(call: &mut ProcedureCall<'_>) -> Result<OkInfo, Failure> {
    let (Some(path), Some(schema), Some(table), Some(text), Some(returns), Some(drops)) =
        (call.text(0), call.text(1), call.text(2), call.text(3), call.number(4), call.number(5))
    else {
        return null_argument(call).await;
    };
    let (place, select) = translate(call, path, text)?;
    let table = format!("{}.{}", quote::name(schema), quote::name(table));
    let fill = format!("DROP TEMPORARY TABLE IF EXISTS {table}; CREATE TEMPORARY TABLE {table} AS {select}");
    call.query(&fill).await.map_err(|error| raised(error.into(), &place))?;
    if returns != 0 {
        call.send(&format!("SELECT * FROM {table}")).await?;
    }
    if drops != 0 {
        call.query(&format!("DROP TEMPORARY TABLE {table}")).await?;
    }
    Ok(OkInfo::default())
}

async fn throw(call: &mut ProcedureCall<'_>) -> Result<OkInfo, Failure> {
    /// The number that goes with the SQLSTATE.
    const ERRNO: u16 = 45000;
    let message = call.text(0).unwrap_or_default().to_string();
    Err(SqlError::of_parts(ERRNO, ROUTINE_STATE, message).into())
}
