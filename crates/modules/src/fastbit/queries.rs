//! `fb_query`, `fb_inlist` and `fb_rows`.

use super::DATABASE;
use super::place::{Place, is_fatal, is_no_table, nested, no_table, parse, query_fault, run};
use squall_fastbit::query::{Output, Query, QueryError};
use squall_fastbit::result_file;
use squall_functions::library::support::{Args, Def, result};
use squall_functions::operators::coerce::to_text;
use squall_registry::TableFunction;
use squall_statement_context::StatementContext;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("FB_QUERY", (3, 3), result::utf8mb4_text, query).waiting().in_database(DATABASE),
    Def::new("FB_INLIST", (2, 2), result::utf8mb4_text, in_list).waiting().in_database(DATABASE),
];

/// The SQLSTATE of what routines raise.
pub const ROUTINE_STATE: [u8; 5] = *b"45000";

/// Why a query was not run.
#[derive(Debug)]
pub enum Fault {
    /// The path names no table.
    NoTable,
    /// The query is wrong.
    Query(QueryError),
    /// SQL refused it.
    Sql(SqlError),
}

impl Fault {
    /// An error of a statement that was written for a query.
    pub fn of(error: SqlError) -> Fault {
        if is_no_table(&error) { Fault::NoTable } else { Fault::Sql(error) }
    }

    /// What a routine raises: the reason with SQLSTATE 45000; an account without the privilege gets the error of any
    /// statement.
    pub fn raised(self, path: &str) -> SqlError {
        match self {
            Fault::NoTable => SqlError::signal(ROUTINE_STATE, no_table(path).message),
            Fault::Query(error) => SqlError::signal(ROUTINE_STATE, error.to_string()),
            Fault::Sql(error) if is_fatal(&error) => error,
            Fault::Sql(error) => SqlError::signal(ROUTINE_STATE, error.message),
        }
    }
}

impl From<QueryError> for Fault {
    fn from(error: QueryError) -> Fault {
        Fault::Query(error)
    }
}

/// Names and types of a query's columns.
type Columns = Vec<(String, SqlType)>;

/// A query with `*` resolved, and its columns.
fn prepare(place: &Place, text: &str, context: &StatementContext) -> Result<(Query, Columns), Fault> {
    let mut query = parse(text)?;
    let columns = run(&place.sql(&query, Output::Columns)?, context).map_err(Fault::of)?.columns;
    query.name_columns(columns.iter().map(|(name, _)| name.clone()));
    Ok((query, columns))
}

fn query(args: &Args<'_>) -> SqlResult<Value> {
    let (path, file, text) = (args.text(0), args.text(1), args.text(2));
    let Some(place) = Place::of(&path, args.context) else { return Ok(args.string(result_file::NO_TABLE)) };
    let status = match write_file(&place, &file, &text, args.context) {
        Ok(status) => status,
        Err(Fault::NoTable) => result_file::NO_TABLE.to_string(),
        Err(Fault::Query(error)) => {
            args.context.diagnostics.warn(query_fault(&error));
            result_file::failed(error.code())
        }
        Err(Fault::Sql(error)) if error.code == ErrorCode::FileExists.number() => result_file::FILE_EXISTS.to_string(),
        Err(Fault::Sql(error)) if is_fatal(&error) => return Err(error),
        Err(Fault::Sql(error)) => {
            args.context.diagnostics.warn(error);
            result_file::failed(QueryError::Failed(String::new()).code())
        }
    };
    Ok(args.string(status))
}

/// Writes the rows of a query to a file, or counts them if its name is empty, and gives the status.
fn write_file(place: &Place, file: &str, text: &str, context: &StatementContext) -> Result<String, Fault> {
    if !file.is_empty() {
        let path = nested(context).and_then(|nested| nested.server_file(file)).map_err(Fault::Sql)?;
        if path.exists() {
            return Err(Fault::Sql(SqlError::new(ErrorCode::FileExists, &[&file])));
        }
    }
    let (query, columns) = prepare(place, text, context)?;
    let rows = if file.is_empty() {
        let sql = place.sql(&query, Output::Rows)?;
        run(&sql, context).map_err(Fault::of)?.rows.len() as u64
    } else {
        let texts: Vec<bool> = columns.iter().map(|(_, sql_type)| sql_type.is_string()).collect();
        let sql = place.sql(&query, Output::File { path: file, texts: &texts })?;
        run(&sql, context).map_err(Fault::of)?.affected_rows
    };
    let types: Vec<String> = columns.iter().map(|(_, sql_type)| type_name(sql_type)).collect();
    let shown = columns.iter().zip(&types).map(|((name, _), type_name)| (name.as_str(), type_name.as_str()));
    Ok(result_file::status(rows, shown))
}

/// A type as the status shows it.
fn type_name(sql_type: &SqlType) -> String {
    squall_session::type_text(sql_type).to_uppercase()
}

/// The values of a query's one column in brackets, `(NULL)` if there are none.
fn in_list(args: &Args<'_>) -> SqlResult<Value> {
    let path = args.text(0);
    let Some(place) = Place::of_routine(&path, args.context) else {
        return Err(Fault::NoTable.raised(&path));
    };
    let list = list(&place, &args.text(1), args.context).map_err(|fault| fault.raised(place.path().as_str()))?;
    Ok(args.string(if list.is_empty() { "(NULL)".to_string() } else { format!("({list})") }))
}

/// `FROM fb_rows(path, query) alias`: the rows of a query, without a list or a file between.
#[derive(Debug)]
pub struct Rows;

impl TableFunction for Rows {
    fn name(&self) -> &str {
        "FB_ROWS"
    }

    fn database(&self) -> Option<&str> {
        Some(DATABASE)
    }

    fn arity(&self) -> usize {
        2
    }

    fn query(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<String> {
        let text = |at: usize| match arguments.get(at) {
            Some(Value::String(text)) => Ok(text.as_str()),
            _ => Err(SqlError::new(ErrorCode::WrongArguments, &[&"fb_rows"])),
        };
        let (path, query) = (text(0)?, text(1)?);
        let Some(place) = Place::of_routine(path, context) else { return Err(Fault::NoTable.raised(path)) };
        let sql = parse(query).and_then(|query| place.sql(&query, Output::Rows));
        sql.map_err(|error| Fault::from(error).raised(path))
    }
}

fn list(place: &Place, text: &str, context: &StatementContext) -> Result<String, Fault> {
    let (query, columns) = prepare(place, text, context)?;
    let [(_, sql_type)] = columns.as_slice() else {
        return Err(QueryError::Failed("a list is made of one column".to_string()).into());
    };
    let text = !sql_type.is_numeric();
    if query.is_plain() {
        let sql = place.sql(&query, Output::List { text })?;
        let sql = format!("SET SESSION group_concat_max_len = {}; {sql}", context.settings.max_allowed_packet);
        let listed = run(&sql, context).map_err(Fault::of)?;
        return Ok(match listed.rows.into_iter().flatten().next() {
            Some(Value::String(list)) => list,
            _ => String::new(),
        });
    }
    let rows = run(&place.sql(&query, Output::Rows)?, context).map_err(Fault::of)?.rows;
    let mut list = String::new();
    for value in rows.iter().flatten() {
        let Some(shown) = to_text(value, sql_type) else { continue };
        if !list.is_empty() {
            list.push(',');
        }
        if text { place.dialect().push_text(&shown, &mut list) } else { list.push_str(&shown) }
    }
    Ok(list)
}
